"""HTTP/2 on one connection, with h2 as the protocol's state machine.

The AWS SDK for JavaScript sends GOAWAY as soon as it has a response's headers and goes on reading.
Stock h2 then refuses to send DATA, so ``_Connection`` takes the frame as the announcement it is:
no new streams from that side, the open ones go on (RFC 9113, section 6.8).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RequestReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import ProtocolError
from hyperframe.frame import Frame, GoAwayFrame

from shardlane_lab.local_kinesis.wire.http1 import Handler, reset_later
from shardlane_lab.local_kinesis.wire.reply import WireRequest

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_BUFFERED_BYTES = 256 * 1024
"""How much of one answer waits for the client's window before its pusher has to."""


class _Connection(H2Connection):
    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[Event]]:
        return [], [ConnectionTerminated()]


class Http2Reply:
    """The answer on one stream."""

    def __init__(self, connection: Http2Connection, stream_id: int) -> None:
        self.closed = False
        self.on_closed: Callable[[], None] | None = None
        self.waiting: deque[bytes] = deque()
        """What the client's window does not let through yet."""
        self.ending = False
        """The stream ends once nothing is waiting."""
        self.full = False
        self.on_room: Callable[[], None] | None = None
        self._connection = connection
        self.stream_id = stream_id

    def send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        if not self.closed:
            length = {"content-length": str(len(body))}
            self._connection.send_headers(self, status, {**headers, **length})
            self._write(body)
            self.finish()

    def start(self, status: int, headers: Mapping[str, str]) -> None:
        if not self.closed:
            self._connection.send_headers(self, status, headers)

    def push(self, data: bytes) -> None:
        if not self.closed:
            self._write(data)
            self._connection.flush(self)

    def finish(self) -> None:
        if not self.closed:
            self.ending = True
            self._connection.flush(self)

    def cut(self, reset: bool) -> None:
        if not self.closed:
            self.closed = True  # nothing may follow, least of all a clean end
            self._connection.cut(reset)

    def _write(self, data: bytes) -> None:
        if data:
            self.waiting.append(data)
        if sum(map(len, self.waiting)) > _BUFFERED_BYTES:
            self.full = True

    def drained(self) -> None:
        """Nothing waits for the client's window any more."""
        if self.full:
            self.full = False
            if self.on_room is not None:
                self.on_room()

    def done(self) -> None:
        """Nothing more can be sent."""
        self.closed = True
        self.waiting.clear()

    def lost(self) -> None:
        """The client reset the stream, or the connection is gone."""
        if not self.closed:
            self.done()
            if self.on_closed is not None:
                self.on_closed()


class _Incoming:
    """A request that is still arriving."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self.headers = headers
        self.body: list[bytes] = []
        self.size_bytes = 0


class Http2Connection:
    def __init__(self, transport: asyncio.Transport, handler: Handler, body_cap: int) -> None:
        self._transport = transport
        self._handler = handler
        self._body_cap = body_cap
        self._http = _Connection(H2Configuration(client_side=False, header_encoding="latin-1"))
        self._incoming: dict[int, _Incoming] = {}
        self._replies: dict[int, Http2Reply] = {}
        self._paused = False
        self._http.initiate_connection()
        self._transmit()

    # --- from the socket --------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        try:
            events = self._http.receive_data(data)
        except ProtocolError:
            self._transmit()  # h2 has written the GOAWAY that says what was wrong
            self._transport.close()
            return
        for event in events:
            self._take(event)
        self._transmit()

    def lost(self) -> None:
        for reply in list(self._replies.values()):
            reply.lost()
        self._replies.clear()

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self._flush_all()

    # --- from h2 ----------------------------------------------------------------------------

    def _take(self, event: Event) -> None:
        if isinstance(event, RequestReceived):
            headers = {str(name): str(value) for name, value in event.headers}
            self._incoming[event.stream_id] = _Incoming(headers)
        elif isinstance(event, DataReceived):
            self._body(event)
        elif isinstance(event, StreamEnded):
            self._request(event.stream_id)
        elif isinstance(event, StreamReset):
            self._forget(event.stream_id)
        elif isinstance(event, WindowUpdated):
            self._flush_all()

    def _body(self, event: DataReceived) -> None:
        self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        incoming = self._incoming.get(event.stream_id)
        if incoming is None:
            return
        incoming.size_bytes += len(event.data)
        if incoming.size_bytes > self._body_cap:
            del self._incoming[event.stream_id]
            self._http.reset_stream(event.stream_id, ErrorCodes.CANCEL)
        else:
            incoming.body.append(event.data)

    def _request(self, stream_id: int) -> None:
        incoming = self._incoming.pop(stream_id, None)
        if incoming is None:
            return
        reply = self._replies[stream_id] = Http2Reply(self, stream_id)
        request = WireRequest(
            incoming.headers.get(":method", ""),
            incoming.headers.get(":path", ""),
            incoming.headers,
            b"".join(incoming.body),
        )
        self._handler(request, reply)

    def _forget(self, stream_id: int) -> None:
        self._incoming.pop(stream_id, None)
        reply = self._replies.pop(stream_id, None)
        if reply is not None:
            reply.lost()

    # --- answers ----------------------------------------------------------------------------

    def send_headers(self, reply: Http2Reply, status: int, headers: Mapping[str, str]) -> None:
        self._http.send_headers(reply.stream_id, [(":status", str(status)), *headers.items()])

    def flush(self, reply: Http2Reply) -> None:
        self._send_waiting(reply)
        self._transmit()

    def _flush_all(self) -> None:
        for reply in list(self._replies.values()):
            self._send_waiting(reply)
        self._transmit()

    def _send_waiting(self, reply: Http2Reply) -> None:
        """As much as the client's window takes."""
        while reply.waiting and not self._paused:
            window = self._http.local_flow_control_window(reply.stream_id)
            size = min(window, self._http.max_outbound_frame_size, len(reply.waiting[0]))
            if size <= 0:
                return
            data = reply.waiting.popleft()
            if size < len(data):
                reply.waiting.appendleft(data[size:])
            self._http.send_data(reply.stream_id, data[:size])
        if not reply.waiting:
            reply.drained()
            if reply.ending and not reply.closed:
                self._http.end_stream(reply.stream_id)
                reply.done()
                self._replies.pop(reply.stream_id, None)

    def _transmit(self) -> None:
        data = self._http.data_to_send()
        if data:
            self._transport.write(data)

    def cut(self, reset: bool) -> None:
        if reset:
            reset_later(self._transport)
        else:
            self._transport.close()
