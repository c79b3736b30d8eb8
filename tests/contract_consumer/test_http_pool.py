"""Requests over kept connections to servers that behave, and to those that do not."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlane.consumer.daemon_pool import DaemonPool
from shardlane.consumer.http_connection import Answer, HttpConnection
from shardlane.consumer.http_pool import Host, HttpPool, Limits
from tests.contract_consumer.http_peer import Peer, Serve, answer, serving

T = TypeVar("T")

PATIENCE_S = 20.0
REQUEST = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\n{}"


class Served:
    def __init__(self, port: int, limits: Limits) -> None:
        self._threads = DaemonPool("resolver", 2)
        host = Host(name="127.0.0.1", port=port, tls=None)
        self.pool = HttpPool(host, self._threads, limits)

    async def ask(self) -> Answer:
        return await self.pool.ask(REQUEST)

    def close(self) -> None:
        self.pool.close()
        self._threads.close()


def play(
    serve: Serve, scene: Callable[[Served], Coroutine[Any, Any, T]], limits: Limits | None = None
) -> T:
    """Runs ``scene`` beside a server that serves each connection with ``serve``, and then closes
    it."""

    async def main() -> T:
        async with serving(serve) as port:
            served = Served(port, limits or Limits())
            try:
                async with asyncio.timeout(PATIENCE_S):
                    return await scene(served)
            finally:
                served.close()
                await asyncio.sleep(0)  # the transports close in the loop's next round

    return asyncio.run(main())


async def echo(peer: Peer) -> None:
    """Answers each request with the connection's number."""
    while True:
        await peer.request()
        await peer.send(answer(b"%d" % peer.number))


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - the other end tells nobody
        await asyncio.sleep(0.005)


# --- answers ------------------------------------------------------------------------------------


def test_one_after_the_other_go_over_one_connection() -> None:
    async def scene(served: Served) -> list[bytes]:
        return [(await served.ask()).body for _ in range(5)]

    assert play(echo, scene) == [b"1"] * 5


def test_those_together_have_a_connection_each_and_leave_them_to_the_next() -> None:
    async def scene(served: Served) -> tuple[set[bytes], set[bytes]]:
        first = await asyncio.gather(*(served.ask() for _ in range(4)))
        later = [await served.ask() for _ in range(4)]
        return {each.body for each in first}, {each.body for each in later}

    first, later = play(echo, scene)
    assert first == {b"1", b"2", b"3", b"4"}
    assert len(later) == 1  # the one that was used last
    assert later < first


def test_no_more_connections_than_allowed() -> None:
    async def scene(served: Served) -> int:
        await asyncio.gather(*(served.ask() for _ in range(20)))
        return len(served.pool._all)

    assert play(echo, scene, Limits(connections=3)) == 3


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (answer(b"{}", b"HTTP/1.1 503 Slow\r\nX-Amzn-RequestId: 7\r\n"), (503, b"{}")),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + answer(b"{}"), (200, b"{}")),
        (answer(b""), (200, b"")),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
            (200, b"abcde"),
        ),
        (answer(b"x" * 3_000_000), (200, b"x" * 3_000_000)),
    ],
    ids=["refusal", "interim first", "empty", "chunked", "long"],
)
def test_an_answer_comes_whole(sent: bytes, expected: tuple[int, bytes]) -> None:
    async def serve(peer: Peer) -> None:
        while True:
            await peer.request()
            await peer.send(sent)

    async def scene(served: Served) -> tuple[list[Answer], int]:
        answers = [await served.ask() for _ in range(3)]
        return answers, len(served.pool._all)

    answers, connections = play(serve, scene)
    assert [(each.status, each.body) for each in answers] == [expected] * 3
    assert connections == 1
    if expected[0] == 503:
        assert answers[0].headers["x-amzn-requestid"] == "7"


@given(st.lists(st.integers(1, 400), max_size=12))
def test_wherever_it_is_cut_into_pieces(cuts: list[int]) -> None:
    whole = (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ndate: now\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    )
    at = sorted({0, len(whole), *(cut % len(whole) for cut in cuts)})

    class Transport:
        aborted = False

        def write(self, data: bytes) -> None:
            pass

        def get_extra_info(self, name: str) -> None:
            return None

        def abort(self) -> None:
            self.aborted = True

    async def main() -> Answer:
        connection, transport = HttpConnection(1.0), Transport()
        connection.connection_made(transport)  # type: ignore[arg-type]
        asking = asyncio.create_task(connection.ask(REQUEST))
        await asyncio.sleep(0)
        for start, end in pairwise(at):
            assert not asking.done()
            connection.data_received(whole[start:end])
        found = await asking
        assert connection.is_open
        assert not transport.aborted
        return found

    headers = {"date": "now", "transfer-encoding": "chunked"}
    assert asyncio.run(main()) == Answer(200, headers, b"{}")


# --- connections that break ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (b"", "closed before its answer was whole"),
        (answer(b"12345")[:-2], "closed before its answer was whole"),
        (b"HTTP/1.1 200 OK\r\n\r\nwithout a length", "closed before its answer was whole"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "the answer is not HTTP"),
    ],
    ids=["nothing", "half a body", "no length", "no HTTP", "no number"],
)
def test_what_is_no_whole_answer_is_an_error_once(sent: bytes, message: str) -> None:
    async def serve(peer: Peer) -> None:
        if peer.number == 1:
            await peer.request()
            await peer.send(sent)
        else:
            await echo(peer)

    async def scene(served: Served) -> bytes:
        with pytest.raises(ConnectionError, match=message):
            await served.ask()
        return (await served.ask()).body

    assert play(serve, scene) == b"2"


def test_nothing_for_too_long_is_a_time_out_and_a_slow_answer_is_not() -> None:
    async def serve(peer: Peer) -> None:
        await peer.request()
        if peer.number == 1:
            await peer.closed()
            return
        for piece in (answer(b"1234")[:10], answer(b"1234")[10:-2], b"34"):
            await asyncio.sleep(0.2)
            await peer.send(piece)

    async def scene(served: Served) -> bytes:
        with pytest.raises(TimeoutError, match=r"nothing came for 0\.4 s"):
            await served.ask()
        return (await served.ask()).body

    assert play(serve, scene, Limits(silence_s=0.4)) == b"1234"


@pytest.mark.parametrize("extra", [b"HTTP/1.1 200 OK\r\n", answer(b"surplus")])
def test_who_sends_more_than_was_asked_for_is_not_asked_again(extra: bytes) -> None:
    async def serve(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer(b"%d" % peer.number) + extra)
        await peer.closed()

    async def scene(served: Served) -> list[bytes]:
        return [(await served.ask()).body for _ in range(2)]

    assert play(serve, scene) == [b"1", b"2"]


def test_a_late_answer_is_nobodys_and_its_connection_serves_again() -> None:
    """Who asks next must not get what a cancelled request was owed."""
    late = asyncio.Event()

    async def serve(peer: Peer) -> None:
        await peer.request()
        await late.wait()
        await peer.send(answer(b"late"))
        await echo(peer)

    async def scene(served: Served) -> list[bytes]:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await served.ask()
        asking = asyncio.create_task(served.ask())
        await asyncio.sleep(0.1)
        assert not asking.done()  # the only place is taken
        late.set()
        return [(await asking).body, (await served.ask()).body]

    assert play(serve, scene, Limits(connections=1)) == [b"1", b"1"]


def test_attempts_that_are_given_up_do_not_pile_up_at_a_slow_server() -> None:
    asked: list[int] = []

    async def serve(peer: Peer) -> None:
        await peer.request()
        asked.append(peer.number)
        await peer.closed()

    async def scene(served: Served) -> None:
        for _ in range(10):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await asyncio.gather(*(served.ask() for _ in range(5)))

    play(serve, scene, Limits(connections=2))
    assert asked == [1, 2]


def test_what_is_cancelled_before_its_turn_is_not_sent() -> None:
    bodies: list[bytes] = []
    go_on = asyncio.Event()

    async def serve(peer: Peer) -> None:
        while True:
            bodies.append(await peer.request())
            await go_on.wait()
            await peer.send(answer(b"{}"))

    async def scene(served: Served) -> None:
        first = asyncio.create_task(served.ask())
        await until(lambda: len(bodies) == 1)
        second = asyncio.create_task(served.ask())
        await asyncio.sleep(0)
        second.cancel()
        go_on.set()
        await first
        await served.ask()

    play(serve, scene, Limits(connections=1))
    assert len(bodies) == 2


def test_one_that_the_server_closed_while_it_was_idle_is_not_used() -> None:
    async def serve(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer(b"%d" % peer.number))

    async def scene(served: Served) -> list[bytes]:
        bodies = []
        for _ in range(3):
            bodies.append((await served.ask()).body)
            await until(lambda: not served.pool._idle[0].is_open)
        return bodies

    assert play(serve, scene) == [b"1", b"2", b"3"]


def test_one_that_says_it_will_close_is_not_kept() -> None:
    async def serve(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer(b"%d" % peer.number, b"HTTP/1.1 200 OK\r\nConnection: close\r\n"))
        await peer.closed()

    async def scene(served: Served) -> list[bytes]:
        return [(await served.ask()).body for _ in range(3)]

    assert play(serve, scene) == [b"1", b"2", b"3"]


def test_one_that_was_idle_for_too_long_is_closed() -> None:
    gone: list[int] = []

    async def serve(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer(b"%d" % peer.number))
        await peer.closed()
        gone.append(peer.number)

    async def scene(served: Served) -> bytes:
        await served.ask()
        await asyncio.sleep(0.3)
        found = (await served.ask()).body
        await until(lambda: gone == [1])
        return found

    assert play(serve, scene, Limits(idle_s=0.2)) == b"2"


# --- getting there, and the end -----------------------------------------------------------------


def test_it_tries_every_address_of_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def two(name: str, port: int, **options: Any) -> list[Any]:
        return real("127.0.0.2", port, **options) + real("127.0.0.1", port, **options)

    async def scene(served: Served) -> bytes:
        monkeypatch.setattr(socket, "getaddrinfo", two)
        return (await served.ask()).body

    assert play(echo, scene) == b"1"


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]

    async def main() -> None:
        served = Served(free, Limits())
        with pytest.raises(ConnectionRefusedError):
            await served.ask()
        served.close()

    asyncio.run(main())


def test_a_name_server_that_does_not_answer_holds_up_nobodys_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ever = threading.Event()

    def waits(*_: Any, **__: Any) -> list[Any]:
        ever.wait(PATIENCE_S)
        return []

    async def main() -> None:
        served = Served(1, Limits())
        monkeypatch.setattr(socket, "getaddrinfo", waits)
        asking = asyncio.create_task(served.ask())
        await asyncio.sleep(0.1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        served.close()

    began_s = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - began_s < PATIENCE_S / 2
    ever.set()


def test_closing_ends_what_is_under_way() -> None:
    asked: list[int] = []

    async def serve(peer: Peer) -> None:
        await peer.request()
        asked.append(peer.number)
        await peer.closed()

    async def scene(served: Served) -> None:
        asking = asyncio.create_task(served.ask())
        await until(lambda: bool(asked))
        served.close()
        with pytest.raises(ConnectionError):
            await asking

    play(serve, scene)


@pytest.mark.parametrize("limits", [Limits(), Limits(connections=1)], ids=["new", "waits"])
def test_closing_lets_nothing_begin_that_was_asked_before(limits: Limits) -> None:
    """Nobody would close its connection."""
    asked: list[int] = []

    async def serve(peer: Peer) -> None:
        await peer.request()
        asked.append(peer.number)
        if peer.number == 1:
            await peer.closed()
        else:
            await peer.send(answer(b"{}"))

    async def scene(served: Served) -> None:
        first = asyncio.create_task(served.ask())
        await until(lambda: bool(asked))
        second = asyncio.create_task(served.ask())
        await asyncio.sleep(0)  # it has its turn or waits for it, and nothing is sent yet
        served.close()
        for each in (first, second):
            with pytest.raises(ConnectionError):
                await each
        assert not served.pool._all

    play(serve, scene, limits)
    assert asked == [1]


def test_a_long_answer_does_not_outlive_its_use() -> None:
    """Up to 10 MiB each, and the collector may be a while."""

    def kept() -> int:
        return sum(isinstance(each, Answer) for each in gc.get_objects())

    async def scene(served: Served) -> int:
        before = kept()
        for _ in range(20):
            await served.ask()
        return kept() - before

    gc.collect()
    gc.disable()
    try:
        assert play(echo, scene) <= 1
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore:unclosed")  # the first loop's end
def test_it_can_be_closed_after_its_loop() -> None:
    closed = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        peer, _ = listening.accept()
        with peer:
            peer.recv(1000)
            peer.sendall(answer(b"{}"))
            closed.wait(PATIENCE_S)

    async def close() -> None:
        served.close()

    thread = threading.Thread(target=serve)
    thread.start()
    served = Served(listening.getsockname()[1], Limits())
    try:
        assert asyncio.run(served.ask()).body == b"{}"
        asyncio.run(close())
    finally:
        closed.set()
        thread.join()
        listening.close()
    gc.collect()  # now, while the warning is expected


def test_it_goes_on_in_another_loop() -> None:
    """``asyncio.run`` again: the connections ended with the first loop."""
    started, stop = threading.Event(), threading.Event()
    ports: list[int] = []

    async def server() -> None:
        async with serving(echo) as port:
            ports.append(port)
            started.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(server()))
    thread.start()
    started.wait(PATIENCE_S)
    served = Served(ports[0], Limits())

    async def asked() -> bytes:
        try:
            return (await served.ask()).body
        finally:
            served.pool.close()
            await asyncio.sleep(0)

    try:
        assert [asyncio.run(asked()) for _ in range(2)] == [b"1", b"2"]
    finally:
        served.close()
        stop.set()
        thread.join()
