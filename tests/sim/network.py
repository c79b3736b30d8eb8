"""What lies between a machine and a service: delays, losses, and cuts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass
from random import Random
from typing import TypeVar

T = TypeVar("T")

WORLD_CONTEXT = Context()
"""For what a frozen or crashed machine cannot hold up: messages that are on their way."""


@dataclass(slots=True)
class Weather:
    """Chances of a fault, for every message of every machine."""

    lost_request: float = 0.0
    lost_answer: float = 0.0
    late_request: float = 0.0
    refused: float = 0.0
    """An error of the service's: throttled, or an internal failure."""
    broken_stream: float = 0.0
    """For each event of a subscription."""


CALM = Weather()
STORMS = {
    1: Weather(lost_request=0.1, lost_answer=0.15, late_request=0.1),
    2: Weather(refused=0.4),
    3: Weather(refused=0.1, lost_answer=0.1, broken_stream=0.3),
}


class Sky:
    """The weather now; the world sets it."""

    def __init__(self) -> None:
        self.weather = CALM


class Link:
    """One machine's connection to one service. Draws from a generator of its own, so that one
    more message here changes nothing elsewhere."""

    def __init__(self, sky: Sky, random: Random) -> None:
        self._sky = sky
        self.random = random
        self.is_cut = False

    @property
    def weather(self) -> Weather:
        return self._sky.weather

    def happens(self, chance: float) -> bool:
        """Draws always, so that the same call draws the same number in any weather."""
        return self.random.random() < chance

    async def ask(self, effect: Callable[[], T], timed_out: Callable[[], T], wait_s: float) -> T:
        """Has ``effect`` happen at the service, if the request arrives, and returns what it
        returned, if the answer does; else what ``timed_out`` returns, after ``wait_s``."""
        loop = asyncio.get_running_loop()
        reply: asyncio.Future[T] = loop.create_future()
        there_s, back_s = self.random.uniform(0.001, 0.02), self.random.uniform(0.001, 0.02)
        lost_request = self.happens(self.weather.lost_request)
        lost_answer = self.happens(self.weather.lost_answer)
        if self.happens(self.weather.late_request):
            there_s += self.random.uniform(0.3, 3.0)

        def deliver(answer: T) -> None:
            if not reply.done() and not self.is_cut:
                reply.set_result(answer)

        def arrive() -> None:
            answer = effect()
            if not lost_answer:
                loop.call_later(back_s, deliver, answer, context=WORLD_CONTEXT)

        def give_up() -> None:
            if not reply.done():
                reply.set_result(timed_out())

        if not self.is_cut and not lost_request:
            loop.call_later(there_s, arrive, context=WORLD_CONTEXT)
        timer = loop.call_later(wait_s, give_up)
        try:
            return await reply
        finally:
            timer.cancel()
