"""Calls without boto3's way through its models, which is most of what a small call costs.

botocore still finds the endpoint and the credentials, signs, and says what a refusal means. What is
left is to carry a small request and its answer, and the loop does that without a thread.
"""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from shardlane.consumer.daemon_pool import DaemonPool
from shardlane.consumer.http_connection import Answer
from shardlane.consumer.http_pool import Host, HttpPool, Limits

Read = Callable[[bytes], Any]
"""What the body of a good answer says. Raises ``ValueError`` for one that is none."""

_LARGE_BYTES = 64 * 1024
"""A longer answer is taken apart in a thread: the loop has other things to do meanwhile."""


class DirectCalls:
    """Asks a service that speaks AWS JSON as one client of botocore's would. For requests that
    JSON can say: no bytes, no times."""

    def __init__(self, client: Any, credentials: Any, tls: Any, limits: Limits, read: Read) -> None:
        """``credentials`` are botocore's; ``tls`` is an ``SSLContext``, or None."""
        from botocore.parsers import create_parser

        self._meta = client.meta
        self._service = client.meta.service_model
        self._url = client.meta.endpoint_url.rstrip("/") + "/"
        url = urlsplit(self._url)
        usual_port = 80 if tls is None else 443
        self._headers = {
            "Host": _host_header(url, usual_port),
            "Content-Type": f"application/x-amz-json-{self._service.metadata['jsonVersion']}",
            "User-Agent": client.meta.config.user_agent,
        }
        self._credentials = credentials
        self._read = read
        self._parser = create_parser("json")
        self._threads = DaemonPool("shardlane-calls", 8)
        self._resolver = DaemonPool("shardlane-resolver", 4)
        host = Host(name=str(url.hostname), port=url.port or usual_port, tls=tls)
        self._pool = HttpPool(host, self._resolver, limits)

    async def call(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """As botocore's method for ``operation`` (``GetRecords``), once. Raises what that raises,
        ``OSError`` and ``ValueError``."""
        prepared = self._signed(operation, json.dumps(request).encode(), await self._keys())
        stand_in = self._answer_of_stand_in(operation, prepared)
        answer = stand_in or await self._pool.ask(_on_the_wire(prepared))
        if answer.status != 200:
            raise self._refusal(operation, answer)
        if len(answer.body) > _LARGE_BYTES:
            told = await self._threads.run(self._read, answer.body)
        else:
            told = self._read(answer.body)
        if not isinstance(told, dict):
            raise ValueError(f"this is no answer of {operation}: {answer.body[:80]!r}")
        return {**told, "ResponseMetadata": metadata(answer.status, answer.headers)}

    def close(self) -> None:
        self._pool.close()
        self._resolver.close()
        self._threads.close()

    # --- inside -----------------------------------------------------------------------------

    async def _keys(self) -> Any:
        refresh_needed = getattr(self._credentials, "refresh_needed", None)
        if refresh_needed is not None and refresh_needed():  # that asks a service, or a program
            return await self._threads.run(self._credentials.get_frozen_credentials)
        return self._credentials.get_frozen_credentials()

    def _signed(self, operation: str, body: bytes, keys: Any) -> Any:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        target = f"{self._service.metadata['targetPrefix']}.{operation}"
        headers = {**self._headers, "X-Amz-Target": target}
        request = AWSRequest("POST", self._url, data=body, headers=headers)
        SigV4Auth(keys, self._service.signing_name, self._meta.region_name).add_auth(request)
        return request.prepare()

    def _answer_of_stand_in(self, operation: str, prepared: Any) -> Answer | None:
        """moto in the same process answers by botocore's hook for that."""
        hook = f"before-send.{self._service.service_id.hyphenize()}.{operation}"
        for _, answer in self._meta.events.emit(hook, request=prepared):
            if answer is not None:
                headers = {name.lower(): value for name, value in answer.headers.items()}
                return Answer(answer.status_code, headers, answer.content)
        return None

    def _refusal(self, operation: str, answer: Answer) -> Exception:
        from botocore.exceptions import ClientError

        told = {"status_code": answer.status, "headers": answer.headers, "body": answer.body}
        parsed = self._parser.parse(told, self._service.operation_model(operation).output_shape)
        if "Error" not in parsed:  # 204 and the like
            return ValueError(f"this is no answer of {operation}: status {answer.status}")
        shape = self._service.shape_for_error_code(parsed["Error"].get("Code"))
        if shape is not None:  # what the error carries beside its message
            parsed.update(self._parser.parse(told, shape))
        refusal: Exception = ClientError(parsed, operation)
        return refusal


def metadata(status: int, headers: Mapping[str, str]) -> dict[str, Any]:
    """``ResponseMetadata`` as boto3 has it; the names of ``headers`` are in lower case."""
    return {
        "HTTPStatusCode": status,
        "HTTPHeaders": headers,
        "RequestId": headers.get("x-amzn-requestid", ""),
    }


def direct_calls(
    session: Any,
    client: Any,
    options: Mapping[str, Any],
    *,
    limits: Limits,
    read: Read = json.loads,
) -> DirectCalls | None:
    """``client`` was made by botocore's ``session`` with ``options``.

    None if only it can send: through a proxy, to an endpoint below a path or one that it finds call
    by call, without checking certificates, without httptools or without credentials."""
    from botocore.credentials import Credentials
    from botocore.utils import get_environ_proxies

    try:
        import httptools  # noqa: F401
    except ImportError:
        return None
    url = client.meta.endpoint_url
    parts = urlsplit(url)
    if options.get("aws_access_key_id"):
        names = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
        credentials = Credentials(*[options.get(name) for name in names])
    else:
        credentials = session.get_credentials()
    verify = _verify(session, options)
    proxied = parts.scheme in get_environ_proxies(url)
    if proxied or parts.path not in ("", "/") or not verify or credentials is None:
        return None
    if _is_found_call_by_call(client.meta):
        return None
    tls = _tls(verify) if parts.scheme == "https" else None
    return DirectCalls(client, credentials, tls, limits, read)


def _is_found_call_by_call(meta: Any) -> bool:
    """Whether a call may go elsewhere, or be signed for another region, than ``meta`` says.

    Source: both compared for every region of botocore 1.44's. FIPS differs in GovCloud, dual-stack
    in the isolated regions, and ``local`` is signed for us-east-1.
    """
    config = meta.config
    return bool(
        config.use_fips_endpoint
        or config.use_dualstack_endpoint
        or getattr(config, "account_id_endpoint_mode", None) == "required"
        or meta.region_name == "local"
    )


def _verify(session: Any, options: Mapping[str, Any]) -> Any:
    """Whose certificates are trusted, in botocore's order: False, True for its own bundle, or a
    path."""
    verify = options.get("verify")
    if verify is None:
        verify = session.get_config_variable("ca_bundle")
    if verify is None:
        verify = os.environ.get("REQUESTS_CA_BUNDLE")
    return True if verify is None else verify


def _tls(verify: Any) -> ssl.SSLContext:
    from botocore.httpsession import get_cert_path

    # As boto3 checks, and no stricter: many companies' own authorities miss what Python 3.13's
    # default context asks for.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    path = Path(get_cert_path(verify))
    if path.is_dir():
        context.load_verify_locations(capath=path)
    else:
        context.load_verify_locations(cafile=path)
    return context


def _host_header(url: SplitResult, usual_port: int) -> str:
    """As botocore signs it."""
    name = f"[{url.hostname}]" if ":" in str(url.hostname) else str(url.hostname)
    return name if url.port in (None, usual_port) else f"{name}:{url.port}"


def _on_the_wire(prepared: Any) -> bytes:
    head = [f"{prepared.method} / HTTP/1.1", "Accept-Encoding: identity"]
    for name, value in prepared.headers.items():
        line = f"{name}: {value.decode() if isinstance(value, bytes) else value}"
        if "\n" in line or "\r" in line:  # a token that was read with the end of its line
            raise ValueError(f"the value of {name} has a line break in it")
        head.append(line)
    return "\r\n".join((*head, "", "")).encode() + bytes(prepared.body)
