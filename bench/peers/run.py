"""Programs that nobody here wrote, unchanged, reading from the local Kinesis across a split.

    make peers                                # minutes; needs Java and Maven, Go, Rust, Node.js
    python -m bench.peers.run kcl "hand-over" # only those whose name begins so

Each has to see every record at least once, and each key's records in their order. Ends with 1 if
one of them does not, and with 3 if something that one of them needs is missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from bench.peers.candidates import KCL_POLLING, PEERS, Missing, Peer
from bench.peers.hand_over import try_hand_over
from bench.peers.servers import local_aws
from bench.peers.trial import reads_across_a_split

RECORDS = 4_000
FAILED = 1
INCOMPLETE = 3

Trial = Callable[[], tuple[bool, str]]
"""Whether it holds, and a sentence."""


def line(title: str, told: str) -> None:
    print(f"{title:<22} {told}", flush=True)


def outcome_of(title: str, trial: Trial) -> int:
    """Prints what came of it; returns its part of the exit status."""
    try:
        holds, told = trial()
    except Missing as missing:
        line(title, f"skipped: {missing}")
        return INCOMPLETE
    except RuntimeError as error:
        line(title, f"FAILED: {error}")
        return FAILED
    line(title, told if holds else f"FAILED: {told}")
    return 0 if holds else FAILED


def try_peer(peer: Peer, records: int) -> tuple[bool, str]:
    peer.prepare()
    with local_aws() as services:
        seen = reads_across_a_split(peer, services.endpoint, records)
    told = (
        f"{seen.verdict}; first record after {seen.first_line_s:.1f} s, all {seen.reading_s:.1f} s "
        f"later ({seen.records_per_s:,.0f} records/s)"
    )
    return seen.verdict.holds, told


def try_leases() -> tuple[bool, str]:
    KCL_POLLING.prepare()
    return try_hand_over()


def trials(records: int) -> Iterator[tuple[str, Trial]]:
    for peer in PEERS:
        yield peer.title, partial(try_peer, peer, records)
    yield "hand-over kcl-ours-kcl", try_leases


def status_of(outcomes: Iterable[int]) -> int:
    """A failure says more than something that is missing."""
    found = set(outcomes)
    return FAILED if FAILED in found else max(found, default=0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="only peers whose name begins so")
    parser.add_argument("--records", type=int, default=RECORDS, help=f"default: {RECORDS}")
    given = parser.parse_args()
    names = tuple(given.names)
    chosen = [each for each in trials(given.records) if not names or each[0].startswith(names)]
    if not chosen:
        parser.error(f"there is none of: {', '.join(title for title, _ in trials(0))}")
    return status_of(outcome_of(title, trial) for title, trial in chosen)


if __name__ == "__main__":
    sys.exit(main())
