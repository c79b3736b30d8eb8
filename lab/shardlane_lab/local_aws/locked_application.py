"""moto, one request at a time.

Measured: moto's own server runs requests of one table in parallel and is not atomic in that; two
clients won the same compare-and-swap, and puts that had been acknowledged were gone when another
client's transaction was cancelled. So a lock lies around its whole application.
"""

from __future__ import annotations

import io
import json
import re
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

SERVICES = {
    "dynamodb": "DynamoDB",
    "logs": "CloudWatch Logs",
    "monitoring": "CloudWatch",
    "s3": "S3",
    "sns": "SNS",
    "sqs": "SQS",
    "sts": "STS",
}
"""By the name that a request is signed with. moto has more, its own Kinesis among them; a client
that ended up there by a wrong endpoint would see another stream and no limits."""
BODY_BYTES = 64 * 1024 * 1024
_SIGNED_FOR = re.compile(r"Credential=[^/]+/[^/]*/[^/]*/([^/]+)/aws4_request")


class LockedApplication:
    """A WSGI application."""

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application
        self._lock = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        service = signed_for(environ)
        if service is not None and service not in SERVICES:
            return _refuse(start_response, f"{service!r} is not served here; served are {_NAMES}")
        body = _body(environ)
        if body is None:
            return _refuse(start_response, f"the body is longer than {BODY_BYTES} bytes")
        # Read before the lock: a client that sends slowly holds up nobody.
        environ["wsgi.input"] = io.BytesIO(body)
        environ["CONTENT_LENGTH"] = str(len(body))
        with self._lock:
            return [_whole(self._application(environ, start_response))]


_NAMES = ", ".join(sorted(SERVICES.values()))


def signed_for(environ: WSGIEnvironment) -> str | None:
    """The service in the signature; ``None`` without one (a presigned URL of S3, say)."""
    found = _SIGNED_FOR.search(environ.get("HTTP_AUTHORIZATION", ""))
    return found.group(1).lower() if found else None


def _body(environ: WSGIEnvironment) -> bytes | None:
    stream = environ["wsgi.input"]
    if environ.get("wsgi.input_terminated"):
        body: bytes = stream.read(BODY_BYTES + 1)
    else:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = stream.read(length) if length <= BODY_BYTES else b"x" * (BODY_BYTES + 1)
    return body if len(body) <= BODY_BYTES else None


def _whole(chunks: Iterable[bytes]) -> bytes:
    try:
        return b"".join(chunks)
    finally:
        close: Callable[[], Any] | None = getattr(chunks, "close", None)
        if close is not None:
            close()


def _refuse(start_response: StartResponse, message: str) -> list[bytes]:
    body = json.dumps({"__type": "UnknownOperationException", "message": message}).encode()
    headers = [("Content-Type", "application/x-amz-json-1.1"), ("Content-Length", str(len(body)))]
    start_response("400 Bad Request", headers)
    return [body]
