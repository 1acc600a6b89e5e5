"""From bytes to requests: parsed by llhttp, in their order, never more than can be worked on.

llhttp refuses what could be read in two ways. What a peer may send beyond one request at a time is
held back in its own machine's memory, not in ours.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Any

import httptools
import structlog

from masthead.serving.exchange import Exchange
from masthead.serving.limits import MAX_BEGUN, MAX_PIECE, SMALL_PIECE
from masthead.serving.refusals import HeadTooLarge, Malformed, NoAnswer, Refused
from masthead.serving.scopes import Address, Headers, scope_of

if TYPE_CHECKING:
    from masthead.serving.server import HttpServer

log = structlog.get_logger()

_FRAMING = (b"content-length", b"transfer-encoding")
_NO_TRAILERS = frozenset({*_FRAMING, b"connection", b"proxy-connection", b"upgrade"})
_LINE_END = b"/1.1\r\n"
"""Every request line that another may follow has it."""


class Intake(asyncio.Protocol, ABC):
    """The half of a connection that reads. The parser calls the methods that begin with `on_`."""

    __slots__ = (
        "_headers",
        "_latest",
        "_limits",
        "_parser",
        "_refused",
        "_unfed",
        "_unproductive",
        "_url",
        "_waiting",
        "client",
        "current",
        "discarded",
        "is_between",
        "is_deaf",
        "is_held",
        "own",
        "server",
        "transport",
    )

    transport: asyncio.Transport

    def __init__(self, server: HttpServer) -> None:
        self.server = server
        self._limits = server.limits
        self._parser: Any = httptools.HttpRequestParser(self)
        self.client: Address = None
        self.own: Address = None
        self._url = b""
        self._headers: Headers = []
        self.is_between = True
        """No part of a request has come that is not complete."""
        self._unproductive = 0
        """Bytes that came since anything was made of them."""
        self.current: Exchange | None = None
        self._latest: Exchange | None = None
        """The one whose body is arriving, or has arrived last."""
        self._waiting: deque[Exchange] = deque()
        self._unfed = b""
        self.is_held = False
        """No more is read until the application has caught up."""
        self.is_deaf = False
        """What comes is thrown away: there will be no further request."""
        self.discarded = 0
        self._refused: Refused | None = None
        """To be answered when those before it are."""

    @abstractmethod
    def begin(self, scope: dict[str, Any], *, keep_alive: bool) -> Exchange:
        """A request's head is complete."""

    @abstractmethod
    def refuse_now(self) -> None:
        """Answers `_refused`: all before it is answered."""

    def data_received(self, data: bytes) -> None:
        if self.is_held or self.is_deaf or len(data) > SMALL_PIECE:
            self._take(data)
        else:
            self._feed(data)

    def let_more_in(self) -> None:
        """The application has taken something; called while `is_held`."""
        latest = self._latest
        if self._waiting or (latest is not None and latest.buffered > self._limits.max_unread):
            return
        self.is_held = False
        if self._unfed:
            self._feed_on()
        if not self.is_held and not self.transport.is_closing():
            self.transport.resume_reading()

    def hold(self) -> None:
        if not self.is_held:
            self.is_held = True
            if not self.transport.is_closing():
                self.transport.pause_reading()

    def _take(self, data: bytes) -> None:
        if self.is_deaf:
            self.discarded += len(data)
            if self.discarded > self._limits.max_discarded:
                self.transport.abort()
            return
        self._unfed += data
        if not self.is_held:
            self._feed_on()

    def _feed_on(self) -> None:
        data, begin = self._unfed, 0
        while begin < len(data) and not self.is_held and not self.is_deaf:
            piece = data[begin : begin + MAX_PIECE]
            # Most that is long is one request, whose lines end soon; counting takes its time.
            if piece.rfind(b"\r") >= SMALL_PIECE and piece.count(_LINE_END) >= MAX_BEGUN:
                # The parser can't be stopped before a piece's end.
                piece = piece[:SMALL_PIECE]
            self._feed(piece)
            begin += len(piece)
        self._unfed = data[begin:]
        if self.is_deaf:
            self.discarded += len(self._unfed)
            self._unfed = b""

    def _feed(self, data: bytes) -> None:
        behind = None
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            behind = data[upgrade.args[0] :]
        except httptools.HttpParserError as error:
            self.refuse(_refusal_for(error))
        if behind is not None:
            # Not before: an error's cause is its context, which would be the upgrade.
            self._stay_with_http(behind)
        if not self.is_between:
            self._not_yet(data)

    def _not_yet(self, data: bytes) -> None:
        """A request goes on behind what has come."""
        limits = self._limits
        self._unproductive += len(data)
        if (
            self._unproductive > limits.max_head + MAX_PIECE
            or len(self._headers) > limits.max_headers
        ):
            self.refuse(HeadTooLarge())

    def refuse(self, refused: Refused) -> None:
        """What came can't be answered otherwise; whatever is behind it is thrown away."""
        if self.is_deaf:
            self.discarded += 1
            return
        self.is_deaf = True
        self._refused = refused
        if self._latest is not None and not self._latest.is_whole:
            self._latest.left()
        if self.current is None:
            self.refuse_now()

    def _stay_with_http(self, rest: bytes) -> None:
        """An upgrade is asked for. It is answered as if it were not, and as the last request: what
        follows may be of the other protocol. The parser has left out the body."""
        exchange = self._latest
        assert exchange is not None
        exchange.keep_alive = False
        framing = [each for each in exchange.scope["headers"] if each[0] in _FRAMING]
        if not framing:
            self.is_deaf = True
            self.discarded += len(rest)
            return
        exchange.is_whole = self.is_between = self.is_deaf = False
        self._parser = httptools.HttpRequestParser(_BodyOnly(self))
        lines = b"".join(b"%b: %b\r\n" % each for each in framing)
        self._feed(b"POST / HTTP/1.1\r\n%b\r\n" % lines)
        if self.is_deaf:
            self.discarded += len(rest)
        elif rest:
            self._feed(rest)

    def on_message_begin(self) -> None:
        if self.is_deaf:
            raise Malformed
        self.is_between = False
        self._unproductive = 0
        self._url = b""
        self._headers = []

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        headers = self._headers
        # A body may have trailers, which nobody has asked for: they must not become headers.
        self._headers = _NOWHERE
        if self._unproductive or len(headers) > self._limits.max_headers:
            self._check_head(headers)
        parser = self._parser
        version = parser.get_http_version()
        scope = scope_of(parser.get_method(), self._url, version, headers, self.client, self.own)
        keep_alive = version == "1.1" and parser.should_keep_alive()
        self._latest = self.begin(scope, keep_alive=keep_alive)

    def _check_head(self, headers: Headers) -> None:
        size = len(self._url) + sum(len(name) + len(value) + 4 for name, value in headers)
        if size > self._limits.max_head or len(headers) > self._limits.max_headers:
            raise HeadTooLarge
        self._unproductive = 0

    def on_body(self, chunk: bytes) -> None:
        exchange = self._latest
        assert exchange is not None
        self._unproductive = 0
        exchange.body_came(chunk)
        if exchange.buffered > self._limits.max_unread:
            self.hold()

    def on_message_complete(self) -> None:
        exchange = self._latest
        assert exchange is not None
        self.is_between = True
        exchange.body_ended()
        if not exchange.keep_alive:
            self.is_deaf = True


def _refusal_for(error: httptools.HttpParserError) -> Refused:
    if not isinstance(error, httptools.HttpParserCallbackError):
        return Malformed()
    cause = error.__context__
    if isinstance(cause, Refused):
        return cause
    log.error("connection.failed", exc_info=cause)
    return NoAnswer()


class _BodyOnly:
    """A parser's view of a request whose head another parser has read."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self.on_body = intake.on_body
        self.on_message_complete = intake.on_message_complete

    def on_message_begin(self) -> None:
        if self._intake.is_between:
            # The body is over, and whatever this is, it is none of it.
            raise Malformed


class _Nowhere(Headers):
    def append(self, header: tuple[bytes, bytes]) -> None:
        if header[0] in _NO_TRAILERS:
            # The parser would go by it with the next request, when this one's answer is said.
            raise Malformed


_NOWHERE = _Nowhere()
