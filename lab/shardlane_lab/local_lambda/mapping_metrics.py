"""What the service counts of a mapping (source: "Types of metrics for Lambda functions", event
source mapping metrics, Lambda Developer Guide)."""

from __future__ import annotations

from collections.abc import Callable

from shardlane_lab.local_lambda.mapping_config import MappingIdentity
from shardlane_lab.metric import Datum, Dimensions, Observer, dimensions

NAMESPACE = "AWS/Lambda"


class MappingMetrics:
    """Tells the observer; the event counts only if the mapping asks for them."""

    def __init__(
        self,
        identity: MappingIdentity,
        observer: Observer | None,
        event_counts: bool,
        wall_ms: Callable[[], float],
    ) -> None:
        self._function = dimensions(FunctionName=identity.function_name)
        self._mapping = dimensions(EventSourceMappingUUID=identity.uuid)
        self._observer = observer
        self._event_counts = event_counts
        self._wall_ms = wall_ms

    def polled(self, count: int, filtered_out: int) -> None:
        """Also of an empty poll, with 0: that it is there at all shows that the mapping lives."""
        self._count("PolledEventCount", count)
        if count:
            self._count("FilteredOutEventCount", filtered_out)

    def invoking(self, count: int, age_ms: float) -> None:
        """``age_ms`` is of the oldest record. The Developer Guide speaks of the last one of the
        batch; the published values fit the oldest only."""
        self._count("InvokedEventCount", count)
        self._tell("IteratorAge", self._function, age_ms, "Milliseconds")

    def failed(self, count: int) -> None:
        """Records that have to be sent again; 0 after a success."""
        self._count("FailedInvokeEventCount", count)

    def dropped(self, count: int) -> None:
        """Given up, and not at an on-failure destination either: what gets there is not counted
        here."""
        self._count("DroppedEventCount", count)

    def delivered(self, count: int) -> None:
        self._count("OnFailureDestinationDeliveredEventCount", count)

    def not_delivered(self) -> None:
        """To the on-failure destination; counted for the function."""
        self._tell("DestinationDeliveryFailures", self._function, 1.0, "Count")

    def _count(self, name: str, value: int) -> None:
        if self._event_counts:
            self._tell(name, self._mapping, float(value), "Count")

    def _tell(self, name: str, where: Dimensions, value: float, unit: str) -> None:
        if self._observer is not None:
            self._observer(Datum(NAMESPACE, name, where, value, self._wall_ms(), unit))
