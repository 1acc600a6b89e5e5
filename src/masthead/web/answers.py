"""Responses: whole ones as values that the front door sends, others message by message to ASGI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import msgspec

from masthead.base.languages.words import as_text
from masthead.web.asgi import Scope, Send

RawHeaders = list[tuple[bytes, bytes]]


_encoder = msgspec.json.Encoder(enc_hook=as_text)
JSON = (b"content-type", b"application/json")
_LINES = "masthead.header_lines"


class ClientDisconnected(Exception):
    """The client closed the connection while it got its response."""


class Answer(msgspec.Struct):
    """A whole response. Its length and what all responses have are added when it is sent."""

    status: int
    body: bytes = b""
    headers: RawHeaders = msgspec.field(default_factory=list)


class Stream(msgspec.Struct, frozen=True):
    """A response that is sent piece by piece."""

    send: Callable[[Send], Awaitable[None]]


def json_answer(status: int, value: Any, headers: Iterable[tuple[bytes, bytes]] = ()) -> Answer:
    return Answer(status, _encoder.encode(value), [JSON, *headers])


def encode(value: Any) -> bytes:
    return _encoder.encode(value)


def header(scope: Scope, name: bytes) -> str | None:
    """A request header that was sent exactly once; None if it is missing or repeated."""
    values = (scope.get(_LINES) or header_lines(scope)).get(name)
    return values[0].decode("latin-1") if values and len(values) == 1 else None


def header_list(scope: Scope, name: bytes) -> str | None:
    """A request header that may have several lines, joined to one list (RFC 9110)."""
    values = (scope.get(_LINES) or header_lines(scope)).get(name)
    return b", ".join(values).decode("latin-1") if values else None


def header_lines(scope: Scope) -> dict[bytes, list[bytes]]:
    """All request headers by name, parsed once per request."""
    lines: dict[bytes, list[bytes]] | None = scope.get(_LINES)
    if lines is None:
        lines = scope[_LINES] = {}
        for name, value in scope["headers"]:
            if name in lines:
                lines[name].append(value)
            else:
                lines[name] = [value]
    return lines
