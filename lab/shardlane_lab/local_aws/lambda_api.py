"""The part of the Lambda API that a person needs to look at a mapping and to call a function
(source: Lambda API reference): ListEventSourceMappings, GetEventSourceMapping,
GetFunctionConfiguration, GetFunctionConcurrency, Invoke.

The functions run in this process's sandboxes, so this is served here and not by moto.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from shardlane_lab.local_aws.lambda_shapes import function_shape, mapping_shape
from shardlane_lab.local_kinesis.wire.listener import Listener
from shardlane_lab.local_lambda.errors import InvocationRefused
from shardlane_lab.local_lambda.function import LocalFunction
from shardlane_lab.local_lambda.invoke_result import InvokeResult
from shardlane_lab.local_lambda.mapping_config import MappingIdentity
from shardlane_lab.local_lambda.ports import Invoke
from shardlane_lab.local_lambda.runtime_http import Request, Response, RuntimeConnection
from shardlane_lab.local_lambda.template_values import MappingSpec

HOST = "127.0.0.1"
"""Nothing of this listens to other machines."""
MOST_ITEMS = 100
NOTHING_YET = "No records processed"
_STATUS = {
    "InvalidParameterValueException": 400,
    "InvalidRequestContentException": 400,
    "RequestEntityTooLargeException": 413,
    "ResourceNotFoundException": 404,
    "TooManyRequestsException": 429,
    "UnsupportedOperationException": 404,
}

_Query = Mapping[str, str]
_Handler = Callable[[str, _Query, bytes], Awaitable[Response]]


class _Refusal(Exception):
    """An answer of the service that is an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class LambdaApi:
    """Serves ``functions``, which may still grow, and the mappings that ``add`` names."""

    def __init__(self, functions: Mapping[str, LocalFunction]) -> None:
        self._functions = functions
        self._mappings: dict[str, tuple[MappingSpec, MappingIdentity]] = {}
        self._results: dict[str, str] = {}
        self._connections: set[RuntimeConnection] = set()
        self._invocations: set[asyncio.Task[InvokeResult]] = set()
        self._listener = Listener(self._connection, None)
        self.endpoint = ""

    async def start(self, port: int = 0) -> None:
        """Listens on 127.0.0.1 (0: any free port). Raises ``OSError`` if the port is taken."""
        self.endpoint = f"http://{HOST}:{self._listener.start(HOST, port)}"

    async def stop(self) -> None:
        """Ends every connection; what a caller still waits for is not answered."""
        await self._listener.stop()
        for connection in list(self._connections):
            connection.abort()
        for task in self._invocations:
            task.cancel()
        await asyncio.gather(*self._invocations, return_exceptions=True)

    def variables(self) -> dict[str, str]:
        """For the environment of the AWS CLI, an SDK, or a function."""
        return {"AWS_ENDPOINT_URL_LAMBDA": self.endpoint}

    def add(self, spec: MappingSpec, identity: MappingIdentity) -> None:
        """From now on the mapping is listed."""
        self._mappings[spec.uuid] = (spec, identity)

    def watched(self, uuid: str, invoke: Invoke) -> Invoke:
        """``invoke`` of a mapping, whose result its ``LastProcessingResult`` shows from then on."""

        async def watch(event: dict[str, Any]) -> InvokeResult:
            try:
                result = await invoke(event)
            except InvocationRefused:
                self._results[uuid] = "PROBLEM: Function call failed"
                raise
            self._results[uuid] = "PROBLEM: Function call failed" if result.failed else "OK"
            return result

        return watch

    def _connection(self) -> RuntimeConnection:
        return RuntimeConnection(self._answer, self._connections)

    async def _answer(self, request: Request) -> Response:
        url = urlsplit(request.path)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        try:
            for method, pattern, handler in self._routes:
                match = re.fullmatch(pattern, url.path)
                if match and method == request.method:
                    return await handler(unquote(match["name"] or ""), query, request.body)
            raise _Refusal(
                "UnsupportedOperationException", f"{request.method} {url.path} is not served here"
            )
        except _Refusal as refusal:
            return _refused(refusal.code, str(refusal))
        except InvocationRefused as refusal:
            code, _, message = str(refusal).partition(": ")
            return _refused(code, message)

    @property
    def _routes(self) -> tuple[tuple[str, str, _Handler], ...]:
        mappings = "/2015-03-31/event-source-mappings"
        function = r"/functions/(?P<name>[^/]+)"
        return (
            ("GET", rf"{mappings}/?(?P<name>)", self._list_mappings),
            ("GET", rf"{mappings}/(?P<name>[^/]+)", self._get_mapping),
            ("GET", rf"/2015-03-31{function}/configuration", self._get_configuration),
            ("GET", rf"/2019-09-30{function}/concurrency", self._get_concurrency),
            ("POST", rf"/2015-03-31{function}/invocations", self._invoke),
        )

    async def _list_mappings(self, _: str, query: _Query, body: bytes) -> Response:
        arn, name = query.get("EventSourceArn"), query.get("FunctionName")
        function = self._function(name) if name else None
        found = [
            self._shape(uuid)
            for uuid, (spec, identity) in sorted(self._mappings.items())
            if arn in (None, identity.source_arn)
            and (function is None or spec.function == function.config.name)
        ]
        start, size = _page(query)
        answer: dict[str, Any] = {"EventSourceMappings": found[start : start + size]}
        if start + size < len(found):
            answer["NextMarker"] = str(start + size)
        return _answered(answer)

    async def _get_mapping(self, uuid: str, query: _Query, body: bytes) -> Response:
        if uuid not in self._mappings:
            raise _Refusal(
                "ResourceNotFoundException", "The resource you requested does not exist."
            )
        return _answered(self._shape(uuid))

    async def _get_configuration(self, name: str, query: _Query, body: bytes) -> Response:
        return _answered(function_shape(self._function(name).config))

    async def _get_concurrency(self, name: str, query: _Query, body: bytes) -> Response:
        reserved = self._function(name).config.reserved_concurrency
        return _answered({} if reserved is None else {"ReservedConcurrentExecutions": reserved})

    async def _invoke(self, name: str, query: _Query, body: bytes) -> Response:
        function = self._function(name)
        try:
            event = json.loads(body or b"{}")
        except ValueError as error:
            message = f"Could not parse request body into json: {error}"
            raise _Refusal("InvalidRequestContentException", message) from error
        # A caller that goes away does not end the invocation, on AWS neither.
        task = asyncio.create_task(function.invoke(event))
        self._invocations.add(task)
        task.add_done_callback(self._invocations.discard)
        return _result(await asyncio.shield(task))

    def _shape(self, uuid: str) -> dict[str, Any]:
        spec, identity = self._mappings[uuid]
        return mapping_shape(spec, identity, self._results.get(uuid, NOTHING_YET))

    def _function(self, name: str) -> LocalFunction:
        """By name, ARN or partial ARN, with any qualifier: there is one version of each here."""
        plain = re.sub(r"^.*\bfunction:", "", name).split(":")[0]
        if plain not in self._functions:
            raise _Refusal("ResourceNotFoundException", f"Function not found: {name}")
        return self._functions[plain]


def _page(query: _Query) -> tuple[int, int]:
    try:
        return int(query.get("Marker", 0)), max(
            1, min(MOST_ITEMS, int(query.get("MaxItems", MOST_ITEMS)))
        )
    except ValueError as error:
        message = "Marker or MaxItems is not what this service gave or takes"
        raise _Refusal("InvalidParameterValueException", message) from error


def _answered(values: Mapping[str, Any]) -> Response:
    return Response(200, json.dumps(values).encode())


def _refused(code: str, message: str) -> Response:
    body = json.dumps({"Type": "User", "Message": message}).encode()
    return Response(_STATUS.get(code, 400), body, (("x-amzn-ErrorType", code),))


def _result(result: InvokeResult) -> Response:
    headers = [("X-Amz-Executed-Version", "$LATEST"), ("x-amzn-RequestId", result.request_id)]
    if result.function_error is not None:
        headers.append(("X-Amz-Function-Error", result.function_error))
    payload = result.error if result.failed else result.payload
    return Response(200, json.dumps(payload).encode(), tuple(headers))
