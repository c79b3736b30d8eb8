"""Which figures of a run were drawn from the published distributions, and which came out of a
mechanism.

The local service and the simulator draw enhanced fan-out's push delay, the way to the service,
and the rare long waits of a standard mapping from fits to the published measurement. Polling,
throttling, retries and batching are run, not drawn.
"""

from __future__ import annotations

from shardlane_lab.report.compared import Basis, Statistic
from shardlane_lab.run_record import Kind, RunRecord

FAN_OUT: frozenset[Kind] = frozenset({"lambda-efo", "boto3-efo", "shardlane-efo"})
_TAIL: frozenset[Statistic] = frozenset({"p99", "max"})


def basis(record: RunRecord, *, drawn: bool) -> Basis:
    """The basis of a figure of ``record``; ``drawn`` says whether it is a drawn delay."""
    if record.target == "aws":
        return "measured"
    if record.environment.get("delays") != "measured":
        return "local"
    return "calibrated" if drawn else "predicted"


def latency_basis(record: RunRecord, kind: Kind, statistic: Statistic) -> Basis:
    """The basis of a latency percentile of a consumer of ``kind``."""
    hiccups = kind == "lambda-standard" and statistic in _TAIL
    return basis(record, drawn=kind in FAN_OUT or hiccups)
