"""GetRecords without boto3's way through its models, which is most of what a read costs.

botocore still finds the endpoint and the credentials, signs, and says what a refusal means. What is
left is to carry one small request and its answer, and the loop does that without a thread.
"""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from shardlane.consumer.daemon_pool import DaemonPool
from shardlane.consumer.http_connection import Answer
from shardlane.consumer.http_pool import Host, HttpPool, Limits

_LARGE_BYTES = 64 * 1024
"""A longer answer is taken apart in a thread: the loop has other things to do meanwhile."""


class DirectReads:
    """Asks for records as one client of boto3's would."""

    def __init__(self, client: Any, credentials: Any, parser: Any, tls: Any) -> None:
        """``credentials`` and ``parser`` are botocore's; ``tls`` is an ``SSLContext``, or None."""
        self._meta = client.meta
        self._url = client.meta.endpoint_url.rstrip("/") + "/"
        url = urlsplit(self._url)
        usual_port = 80 if tls is None else 443
        self._shape = client.meta.service_model.operation_model("GetRecords").output_shape
        self._headers = {
            "Host": _host_header(url, usual_port),
            "X-Amz-Target": f"{client.meta.service_model.metadata['targetPrefix']}.GetRecords",
            "Content-Type": "application/x-amz-json-1.1",
            "User-Agent": client.meta.config.user_agent,
        }
        self._credentials = credentials
        self._parser = parser
        self._threads = DaemonPool("shardlane-reads", 8)
        host = Host(name=str(url.hostname), port=url.port or usual_port, tls=tls)
        self._resolver = DaemonPool("shardlane-resolver", 4)
        self._pool = HttpPool(host, self._resolver, Limits())

    async def get_records(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """As boto3's ``get_records``. Raises what that raises, and ``OSError``."""
        from botocore.exceptions import ClientError

        prepared = self._signed(json.dumps(request).encode(), await self._keys())
        answer = self._answer_of_stand_in(prepared) or await self._pool.ask(_on_the_wire(prepared))
        if len(answer.body) > _LARGE_BYTES:
            parsed = await self._threads.run(self._parsed, answer)
        else:
            parsed = self._parsed(answer)
        if answer.status != 200:
            raise ClientError(parsed, "GetRecords")
        return parsed

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

    def _signed(self, body: bytes, keys: Any) -> Any:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        request = AWSRequest("POST", self._url, data=body, headers=self._headers)
        SigV4Auth(keys, "kinesis", self._meta.region_name).add_auth(request)
        return request.prepare()

    def _answer_of_stand_in(self, prepared: Any) -> Answer | None:
        """moto in the same process answers by botocore's hook for that."""
        for _, answer in self._meta.events.emit("before-send.kinesis.GetRecords", request=prepared):
            if answer is not None:
                headers = {name.lower(): value for name, value in answer.headers.items()}
                return Answer(answer.status_code, headers, answer.content)
        return None

    def _parsed(self, answer: Answer) -> Mapping[str, Any]:
        parsed: Mapping[str, Any] = self._parser.parse(
            {"status_code": answer.status, "headers": answer.headers, "body": answer.body},
            self._shape,
        )
        return parsed


def direct_reads(
    session: Any, client: Any, parser: Any, options: Mapping[str, Any]
) -> DirectReads | None:
    """None if only boto3 can send what ``client`` sends: through a proxy, to an endpoint below a
    path, without checking certificates, without httptools or without credentials."""
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
    tls = _tls(verify) if parts.scheme == "https" else None
    return DirectReads(client, credentials, parser, tls)


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
