"""The other end of the push benchmark: so many subscriptions, read by one process as cheaply as
Python can, so that the server is measured and not its client.

    python -m bench.push_subscriber PORT DELIVERIES < requests

Standard input holds the requests, a line of JSON each: ``[operation, body]``. It prints ``ready``
once every subscription has its first frame, and at the end a JSON list: for each record the
milliseconds from when its producer noted the time (its payload) until it was read here. Nothing is
parsed before the last record is there, or ten seconds brought none.
"""

from __future__ import annotations

import base64
import json
import select
import socket
import sys
import time

import orjson

from bench.plain_client import framed

SILENCE_S = 10.0
_RECORD = b'"Data":"'


def subscribed(port: int, request: bytes) -> socket.socket:
    """Returns once the first frame is there."""
    opened = socket.create_connection(("127.0.0.1", port), timeout=60)
    opened.sendall(request)
    received = b""
    while b"initial-response" not in received:
        part = opened.recv(65536)
        if not part:
            raise RuntimeError(f"a subscription ended at once: {received[:300]!r}")
        received += part
    opened.setblocking(False)
    return opened


def read(sockets: list[socket.socket], deliveries: int) -> list[tuple[float, bytes]]:
    """What came, with the time at which it was read, until that many records are there."""
    epoll, by_number = select.epoll(), {each.fileno(): each for each in sockets}
    for number in by_number:
        epoll.register(number, select.EPOLLIN)
    came: list[tuple[float, bytes]] = []
    seen = 0
    while seen < deliveries:
        ready = epoll.poll(SILENCE_S)
        if not ready:
            break
        for number, _ in ready:
            data = by_number[number].recv(65536)
            came.append((time.time(), data))
            seen += data.count(_RECORD)
            if not data:
                epoll.unregister(number)
    epoll.close()
    return came


def ages_ms(came: list[tuple[float, bytes]]) -> list[float]:
    """A frame is small and comes in one piece."""
    return [
        (at_s - float(base64.b64decode(part[: part.index(b'"')]))) * 1000
        for at_s, data in came
        for part in data.split(_RECORD)[1:]
    ]


def main() -> None:
    port, deliveries = int(sys.argv[1]), int(sys.argv[2])
    requests = [
        framed(operation, orjson.dumps(body)) for operation, body in map(json.loads, sys.stdin)
    ]
    sockets = [subscribed(port, request) for request in requests]
    print("ready", flush=True)
    print(json.dumps(ages_ms(read(sockets, deliveries))), flush=True)


if __name__ == "__main__":
    main()
