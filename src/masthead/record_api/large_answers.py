"""Answers of megabytes: made a record at a time, counted, and sent as the client takes them."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import msgspec
from starlette.types import Send

from masthead.errors import AnswerTooLarge
from masthead.records.collection import Record
from masthead.web.answers import JSON, encode

AT_ONCE = 256 * 1024
"""Bytes that are encoded before other requests have their turn, and that are sent in one piece."""


async def in_pieces(
    head: dict[str, Any], name: str, items: list[Record], max_bytes: int
) -> deque[bytes]:
    """The JSON object `head` with the items under `name`. Takes the items out of their list, so
    that none is in memory twice. Raises `AnswerTooLarge` before there is more than `max_bytes`."""
    pieces = deque([encode(head)[:-1] + b"," + encode(name) + b":["])
    size = since = 0
    items.reverse()
    while items:
        item = items.pop()
        check_size(item, max_bytes)
        piece = encode(item)
        size += len(piece)
        if size > max_bytes:
            # Else the error's traceback holds them.
            pieces.clear()
            raise AnswerTooLarge(max_bytes)
        pieces.append(piece + b"," if items else piece)
        since += len(piece)
        if since > AT_ONCE:
            since = 0
            await asyncio.sleep(0)
    pieces.append(b"]}")
    return pieces


async def send_pieces(send: Send, pieces: deque[bytes]) -> None:
    length = str(sum(map(len, pieces))).encode()
    headers = [JSON, (b"content-length", length)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    while pieces:
        piece = pieces.popleft()
        for start in range(0, len(piece), AT_ONCE):
            part = piece[start : start + AT_ONCE]
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def check_size(record: Record, max_bytes: int) -> None:
    """Expanded records may be shown in many places, and be encoded for each of them."""
    if "expand" in record and _size(record, max_bytes) > max_bytes:
        raise AnswerTooLarge(max_bytes)


def _size(value: Any, enough: int) -> int:
    """At least so many bytes of JSON; counting ends soon after `enough`."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, msgspec.Raw):
        return len(memoryview(value))
    size = 2
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        size += _size(each, enough)
        if size > enough:
            break
    return size
