"""The library's long-running consumer in virtual time."""

from __future__ import annotations

from random import Random

from shardlane import BadRecord, Drop, Record
from shardlane.consumer import Position, Source, Subscription, Tuning, by_key, workers
from shardlane.consumer.machine import Machine
from shardlane_lab.collector import Collector
from shardlane_lab.experiment import Consumer
from shardlane_lab.in_process_port import InProcessPort
from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.run_record import ConsumerRecord
from shardlane_lab.simulated.receipt import handle
from shardlane_lab.virtual_time import wall_ms


class LibraryConsumer:
    """``run`` reads from now on until it is cancelled."""

    def __init__(
        self,
        named: ConsumerRecord,
        consumer: Consumer,
        kinesis: InProcessKinesis,
        stream: str,
        collector: Collector,
        random: Random,
    ) -> None:
        self.label = named.label
        self._collector = collector
        self._plan = workers(consumer.workers, by_key)
        machine = Machine(
            owner=lambda: f"shardlane/{named.label}",
            wall_ms=wall_ms,
            random=random,
            has_threads=False,
        )
        self.subscription = Subscription(
            stream,
            source=Source.fan_out(named.efo_consumer)
            if named.efo_consumer
            else Source.polling(consumer.interval_ms / 1000),
            start=Position.timestamp(int(wall_ms())),
            kinesis=InProcessPort(kinesis, wall_ms),
            tuning=Tuning(machine=machine),
        )

    async def run(self) -> None:
        await self.subscription.run(self._handle, self._plan)

    async def _handle(self, record: Record) -> None:
        try:
            await handle(record, self._collector, label=self.label, batch=1)
        except BadRecord as error:
            self._collector.event({"event": "unreadable", "label": self.label})
            raise Drop(str(error)) from error
