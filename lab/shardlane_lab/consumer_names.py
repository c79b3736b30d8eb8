"""What consumers are called in runs that read no template: as the CDK app that ships names them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from shardlane_lab.experiment import FAN_OUT_KINDS, MAPPING_KINDS
from shardlane_lab.run_record import ConsumerRecord, Kind

_UUIDS = uuid.UUID("00000000-0000-4000-8000-000000000000")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    stream: str = "order-events"
    function: str = "order-latency"
    """Followed by ``-standard`` or ``-efo``."""

    def of(self, label: str, kind: Kind, surfaced: int = 0) -> ConsumerRecord:
        """``surfaced``: throttles that got past the SDK's retries."""
        number = label.removeprefix(kind)
        further = "" if number in ("", "-1") else number  # the first one is the deployed one
        source = kind.removeprefix("lambda-")
        return ConsumerRecord(
            label=label,
            kind=kind,
            surfaced_throttles=surfaced,
            function=f"{self.function}-{source}{further}" if kind in MAPPING_KINDS else None,
            efo_consumer=f"{self.stream}-{kind}{further}" if kind in FAN_OUT_KINDS else None,
            mapping_uuid=virtual_mapping_uuid(label) if kind in MAPPING_KINDS else None,
        )


def virtual_mapping_uuid(label: str) -> str:
    """Of the event source mapping of the consumer ``label``; the same in every run."""
    return str(uuid.uuid5(_UUIDS, label))
