"""Actors that take turns: every interleaving is chosen by one seeded random, and comes again with
its seed. An actor is a thread that runs only while it has the turn."""

from __future__ import annotations

import threading
from collections.abc import Callable
from random import Random

PATIENCE_S = 30.0
"""For a turn to end; only a test that hangs waits for it."""


class Killed(BaseException):
    """Raised in an actor that is to die where it stands: no ``except Exception`` survives it."""


class Actor:
    """One thread of the play. ``alive`` until its function has ended."""

    def __init__(self, turns: Turns, name: str, act: Callable[[], None]) -> None:
        self.name = name
        self.alive = True
        self.failure: BaseException | None = None
        self._turns = turns
        self._act = act
        self._killed = False
        self._turn = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def kill(self) -> None:
        """It dies at its next turn."""
        self._killed = True

    def take_turn(self) -> None:
        self._turn.release()
        if not self._turns.over.acquire(timeout=PATIENCE_S):
            raise RuntimeError(f"{self.name} does not give its turn back")

    def end_turn(self) -> None:
        self._turns.over.release()
        self._turn.acquire()
        if self._killed:
            raise Killed(self.name)

    def _run(self) -> None:
        self._turn.acquire()
        self._turns.here.actor = self
        try:
            if not self._killed:
                self._act()
        except Killed:
            pass
        except BaseException as failure:  # raised again by the play
            self.failure = failure
        finally:
            self.alive = False
            self._turns.over.release()


class Turns:
    """The play: who is alive, and whose turn is next."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.actors: list[Actor] = []
        self.over = threading.Semaphore(0)
        self.here = threading.local()

    def spawn(self, name: str, act: Callable[[], None]) -> Actor:
        actor = Actor(self, name, act)
        self.actors.append(actor)
        return actor

    def pause(self) -> None:
        """Called by the actor that has the turn, wherever others may come in between."""
        actor: Actor = self.here.actor
        actor.end_turn()

    def step(self) -> bool:
        """One turn of one actor; False when nobody is alive."""
        self.actors = [actor for actor in self.actors if actor.alive]
        if not self.actors:
            return False
        actor = self.random.choice(self.actors)
        actor.take_turn()
        if actor.failure is not None:
            raise actor.failure
        return True

    def end(self) -> None:
        """Kills everybody who is left, so that no thread outlives the play."""
        for actor in self.actors:
            actor.kill()
        while self.step():
            pass
