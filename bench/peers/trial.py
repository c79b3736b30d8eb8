"""One peer, one stream, one split while it reads."""

from __future__ import annotations

from dataclasses import dataclass

from bench.peers.candidates import Peer, Where
from bench.peers.program import Program, running
from bench.peers.records import Stream, Verdict, judged
from bench.peers.servers import REGION, local_kinesis
from shardlane_lab.local_aws.services import local_client

STREAM = "orders"
SHARDS = 2
FIRST_SHARD = "shardId-000000000000"
PER_S = 1_000.0
"""Half of what two shards take, so that no key's burst is refused."""
PATIENCE_S = 240.0
"""Some look for new shards every 30 s, and a virtual machine warms up."""


@dataclass(frozen=True)
class Seen:
    verdict: Verdict
    first_line_s: float
    reading_s: float

    @property
    def records_per_s(self) -> float:
        return self.verdict.records / self.reading_s if self.reading_s else 0.0


def reads_across_a_split(peer: Peer, dynamodb: str, records: int) -> Seen:
    """Half of the records are there when it starts; the others come after a split.

    Raises ``RuntimeError`` if it fails, or has not seen everything in time.
    """
    with local_kinesis(frame_gap_ms=peer.frame_gap_ms) as kinesis:
        client = local_client("kinesis", kinesis.endpoint, REGION)
        stream = Stream.create(client, STREAM, SHARDS)
        stream.put(records // 2, per_s=PER_S)
        application = f"{peer.name}-{peer.mode}"
        where = Where(kinesis.endpoint, dynamodb, STREAM, records, application)
        with running(Program(peer.started_as(where))) as program:
            program.wait_for_lines(records // 4, PATIENCE_S)
            stream.split(FIRST_SHARD)
            stream.put(records - records // 2, per_s=PER_S)
            program.wait(PATIENCE_S)
            verdict = judged(stream.puts, program.lines())
            return Seen(verdict, program.first_line_s(), program.reading_s())
