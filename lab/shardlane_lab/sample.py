"""One record seen by one consumer: the only contract between measuring and reporting.

AWS, local and simulated runs all write the same JSON lines, one ``Sample`` a line, and every
report, plot and comparison reads nothing else about latency.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardlane import Record
    from shardlane.latency import LoadPayload


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A record as one consumer received it. All times are epoch milliseconds.

    ``arrival_ms`` is the service's clock (``ApproximateArrivalTimestamp``), ``sent_ms`` and
    ``scheduled_ms`` the producer's, ``recv_ms`` and ``done_ms`` the consumer's: a difference of
    two of them may cross two clocks, and so may be negative.
    """

    label: str
    """The consumer, e.g. ``lambda-efo`` or ``boto3-get-records-2``."""
    seq: int
    """The producer's number, 0, 1, 2 …; a record that was sent twice has it twice."""
    sent_ms: float
    arrival_ms: float
    recv_ms: float
    batch: int
    """How many records came together with this one (itself included)."""
    run: str = ""
    key: str | None = None
    shard_id: str | None = None
    sequence_number: str | None = None
    scheduled_ms: float | None = None
    done_ms: float | None = None

    @property
    def arrival_to_receive_ms(self) -> float:
        return self.recv_ms - self.arrival_ms

    @property
    def send_to_arrival_ms(self) -> float:
        return self.arrival_ms - self.sent_ms

    @property
    def send_to_receive_ms(self) -> float:
        return self.recv_ms - self.sent_ms

    def to_json(self) -> str:
        """One line of JSON; fields that nobody filled are left out."""
        values = {name: value for name, value in asdict(self).items() if value not in (None, "")}
        return json.dumps(values, separators=(",", ":"))


_FIELDS = frozenset(field.name for field in fields(Sample))


def sample_from(values: Any) -> Sample:
    """The sample that ``values``, a JSON object, describes; fields that we do not know are left
    out. Raises ``ValueError`` naming the field that is missing.
    """
    if not isinstance(values, dict):
        raise ValueError(f"not a sample: {values!r} is no JSON object")
    known = {name: value for name, value in values.items() if name in _FIELDS}
    try:
        return Sample(**known)
    except TypeError as error:
        raise ValueError(f"not a sample: {error}; found the fields {sorted(values)}") from error


def sample_values(
    record: Record, load: LoadPayload, *, label: str, recv_ms: float, batch: int
) -> dict[str, Any]:
    """What a consumer that gets whole records knows when one comes; ``run`` is the run's to say,
    and ``done_ms`` comes later."""
    return {
        "label": label,
        "seq": load.seq,
        "sent_ms": load.sent_ms,
        "scheduled_ms": load.scheduled_ms,
        "arrival_ms": record.arrival_ms,
        "recv_ms": recv_ms,
        "batch": batch,
        "key": record.partition_key,
        "shard_id": record.shard_id,
        "sequence_number": record.sequence_number,
    }


def write_samples(path: Path, samples: Iterable[Sample]) -> int:
    """Writes one line a sample and returns how many there were."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for sample in samples:
            file.write(sample.to_json() + "\n")
            count += 1
    return count


def read_samples(path: Path) -> Iterator[Sample]:
    """The samples of a file in its order. A last line that was cut off (a run that was killed)
    is left out; any other line that is not a sample raises ``ValueError`` with its number."""
    lines = path.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            yield sample_from(json.loads(line))
        except json.JSONDecodeError as error:
            if number == len(lines):
                return  # only the last line has no newline: the writer died in it
            raise ValueError(f"{path}:{number}: not JSON: {error}") from error
        except ValueError as error:
            raise ValueError(f"{path}:{number}: {error}") from error
