"""One invocation from its records to their outcome: this file wires the flow and decides nothing.

event → records → keys → quarantine → handler → outcome
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from shardlane.attempt import Call, Handler, bound_to, is_async
from shardlane.clock import Clock
from shardlane.deadline import Deadline, deadline_of, remaining_ms
from shardlane.drivers.inline import run_inline
from shardlane.errors import StoreUnavailable
from shardlane.event_entry import OURS, RawRecord
from shardlane.keyed_batch import BatchOutcome, KeyedBatch
from shardlane.lambda_batch import LambdaBatch
from shardlane.policy import FailurePolicy, Policies, reason_of

if TYPE_CHECKING:
    from shardlane.drivers.kept_loop import KeptLoop
    from shardlane.parking.desk import ParkingDesk
    from shardlane.typed_value import Model

PATIENCE_WITHOUT_DEADLINE_S = 30.0
"""How long a parking store that is unavailable is asked again where no context sets a time."""

_REDRIVE_POLICIES = Policies(FailurePolicy.stop())
"""A redriven record is tried once: the redrive decides what comes next."""


class Rules(NamedTuple):
    """What a processor was told, once for all of its invocations."""

    workers: int
    policies: Policies
    margin_ms: float | None
    model: Model | None
    clock: Clock
    draw: Callable[[], float]
    loop: KeptLoop
    """For async handlers."""


class Invocation:
    """What one invocation gave us, and later its outcome."""

    __slots__ = ("context", "entries", "handler", "outcome", "redriven")

    def __init__(self, entries: Sequence[RawRecord], handler: Handler, context: Any) -> None:
        self.entries = entries
        self.handler = handler
        self.context = context
        self.redriven = False
        """Whether a redrive sent the record, and not the mapping."""
        self.outcome: BatchOutcome | None = None


def process(invocation: Invocation, rules: Rules) -> BatchOutcome:
    """Runs the batch and returns what became of it; also sets ``redriven`` and ``outcome``.

    Raises ``BadEvent`` for an event that is no batch, ``ParkingError`` for a lot that is not set
    up, ``RedriveRefused`` for a redrive that does not hold its key; nothing was started then.
    """
    clock = rules.clock
    deadline = deadline_of(invocation.context, rules.margin_ms, clock.monotonic_s())
    records = LambdaBatch(invocation.entries)
    invocation.redriven = _is_redriven(invocation, records, rules)
    if invocation.redriven:
        batch, desk = KeyedBatch(records, _REDRIVE_POLICIES, rules.draw), None
    else:
        batch, desk = KeyedBatch(records, rules.policies, rules.draw), _desk(rules, deadline)
    if desk is None or _knows_quarantine(batch, desk):
        _drive(batch, desk, invocation, rules, deadline)
    invocation.outcome = batch.outcome()
    return invocation.outcome


def _is_redriven(invocation: Invocation, records: LambdaBatch, rules: Rules) -> bool:
    """Whether the event is a redrive's; one that does not hold its key is refused."""
    if not (invocation.entries and OURS in invocation.entries[0]):
        return False
    from shardlane.parking.redrive_marker import check_hold, marker_of

    marker = marker_of(invocation.entries)
    if marker is None:
        return False
    left_ms = remaining_ms(invocation.context) or 0.0
    check_hold(marker, rules.policies.lot, records.keys[0], rules.clock.wall_ms(), left_ms)
    return True


def _desk(rules: Rules, deadline: Deadline) -> ParkingDesk | None:
    lot = rules.policies.lot
    if lot is None:
        return None
    from shardlane.parking.desk import ParkingDesk

    until_s = deadline.stop_s
    if not isfinite(until_s):
        until_s = deadline.start_s + PATIENCE_WITHOUT_DEADLINE_S
    return ParkingDesk(lot, clock=rules.clock, until_s=until_s, draw=rules.draw)


def _knows_quarantine(batch: KeyedBatch, desk: ParkingDesk) -> bool:
    """Whether the batch may start: an earlier record of any key may be parked."""
    try:
        batch.quarantined = desk.quarantined_keys()
        batch.oldest_quarantine_ms = desk.oldest_ms
    except StoreUnavailable as error:
        batch.start_nothing(f"the quarantine cannot be read: {reason_of(error)}")
        return False
    return True


def _drive(
    batch: KeyedBatch,
    desk: ParkingDesk | None,
    invocation: Invocation,
    rules: Rules,
    deadline: Deadline,
) -> None:
    call, clock, workers = _call(invocation, rules), rules.clock, rules.workers
    if is_async(invocation.handler):
        from shardlane.drivers.event_loop import run_on_loop

        rules.loop.run(run_on_loop(batch, call, clock, deadline, desk, workers))
    elif workers > 1 or (desk is not None and isfinite(deadline.leave_s)):
        # Not at the top: a sequential function does not pay for it at cold start. A policy that
        # parks needs a thread for one worker too: a handler that hangs on the caller's thread
        # could not be parked.
        from shardlane.drivers.threads import run_in_threads

        run_in_threads(batch, call, clock, deadline, desk, workers)
    else:
        run_inline(batch, call, clock, deadline, desk)


def _call(invocation: Invocation, rules: Rules) -> Call:
    call, model = bound_to(invocation.handler, invocation.context), rules.model
    if model is None:
        return call
    from shardlane.typed_value import value_of

    return lambda record: call(record.with_value(value_of(record, model)))
