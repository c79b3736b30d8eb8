"""A Kinesis client that costs nothing: a socket, the bytes, and no parsing of what comes back."""

from __future__ import annotations

import socket
from typing import Any

import orjson


class Client:
    """One keep-alive connection, opened again where the server closes it after an answer."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket = self._opened()

    def _opened(self) -> socket.socket:
        opened = socket.create_connection(("127.0.0.1", self._port), timeout=60)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened

    def close(self) -> None:
        self._socket.close()

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Raises ``RuntimeError`` with the answer if it is a refusal."""
        answer = self.exchange(framed(operation, orjson.dumps(request)))
        return dict(orjson.loads(answer)) if answer else {}

    def exchange(self, request: bytes) -> bytes:
        self._socket.sendall(request)
        head, rest = self._head()
        length = content_length(head)
        parts, have = [rest], len(rest)
        while length is None or have < length:
            part = self._socket.recv(1 << 20)
            parts.append(part)
            have += len(part)
            if length is None and part.endswith(b"0\r\n\r\n"):
                break  # chunked: the client does not care where the chunks end
        body = b"".join(parts)
        if b"connection: close" in head.lower():
            self._socket.close()
            self._socket = self._opened()
        if b" 200 " not in head[:15]:
            raise RuntimeError(body[:300].decode(errors="replace"))
        return body if length is not None else _dechunked(body)

    def _head(self) -> tuple[bytes, bytes]:
        data = b""
        while b"\r\n\r\n" not in data:
            part = self._socket.recv(1 << 20)
            if not part:
                raise ConnectionError("the server closed the connection")
            data += part
        head, _, rest = data.partition(b"\r\n\r\n")
        return head, rest


def content_length(head: bytes) -> int | None:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.split(b":")[1])
    return None


def _dechunked(body: bytes) -> bytes:
    found = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        found, body = found + body[: int(size, 16)], body[int(size, 16) + 2 :]
    return found


def framed(operation: str, body: bytes) -> bytes:
    authorization = (
        "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/kinesis/aws4_request, "
        "SignedHeaders=host, Signature=0"
    )
    head = (
        f"POST / HTTP/1.1\r\nhost: kinesis.us-east-1.amazonaws.com\r\n"
        f"x-amz-target: Kinesis_20131202.{operation}\r\nx-amz-date: 20260101T000000Z\r\n"
        f"authorization: {authorization}\r\ncontent-type: application/x-amz-json-1.1\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
