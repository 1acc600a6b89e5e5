"""The head of an answer as bytes, and how its body is told from what follows it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from email.utils import formatdate
from http import HTTPStatus

NO_BODY, UNTIL_CLOSE, CHUNKED = -1, -2, -3
"""Instead of a length."""

_STATUS_LINES = {
    each.value: f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode() for each in HTTPStatus
}
_date_second = 0
_date_line = b""


class BadHead(Exception):
    """The application's headers can't be sent: they would be read as something else."""


def head_of(
    status: int,
    headers: Iterable[tuple[bytes, bytes]],
    *,
    keep_alive: bool,
    is_head: bool,
    knows_chunks: bool,
) -> tuple[bytes, int, bool]:
    """The head, the length of the body or one of the above, and whether the connection stays."""
    lines = [_STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status, _date()]
    length = NO_BODY
    for name, value in headers:
        if name in _FRAMING:
            if name == b"connection":
                keep_alive = keep_alive and b"close" not in value.lower()
            if name != b"content-length" or status == 204:
                continue
            length = _length(value, length)
        lines += (name, b": ", value, b"\r\n")
    count = 3 + len(lines) // 4
    if is_head or status == 204 or status == 304:
        length = NO_BODY
    elif length == NO_BODY:
        length = _unsaid_length(headers, knows_chunks=knows_chunks)
        keep_alive = keep_alive and knows_chunks
        if knows_chunks:
            lines.append(b"transfer-encoding: chunked\r\n")
            count += 1
    if not keep_alive:
        lines.append(b"connection: close\r\n")
        count += 1
    lines.append(b"\r\n")
    head = b"".join(lines)
    # Every line's end is one that was put there, and nothing cuts a line short.
    if len(head) - len(head.translate(None, b"\r\n\0")) != 2 * count:
        raise BadHead("a header holds a line break or NUL")
    return head, length, keep_alive


_FRAMING = frozenset({b"content-length", b"connection", b"transfer-encoding", b"date"})
"""What the server says by itself; of these only a length and a wish to close count."""


def _length(value: bytes, before: int) -> int:
    if not value.isdigit() or before != NO_BODY:
        raise BadHead("not one content-length")
    return int(value)


def _unsaid_length(headers: Iterable[tuple[bytes, bytes]], *, knows_chunks: bool) -> int:
    # Only here, so that it costs nothing where all is well: ASGI has names in lower case.
    if any(name.lower() in _FRAMING and name not in _FRAMING for name, _ in headers):
        raise BadHead("a header's name is not in lower case")
    return CHUNKED if knows_chunks else UNTIL_CLOSE


def _date() -> bytes:
    global _date_second, _date_line
    now = int(time.time())
    if now != _date_second:
        _date_line = b"date: " + formatdate(now, usegmt=True).encode() + b"\r\n"
        _date_second = now
    return _date_line
