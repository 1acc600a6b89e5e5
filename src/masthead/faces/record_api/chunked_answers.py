"""Large answers: encoded record by record with a size limit, and sent in chunks."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import msgspec

from masthead.base.errors import AnswerTooLarge
from masthead.engine.records.collection import Record
from masthead.web.answers import JSON, encode
from masthead.web.asgi import Send

PRIVATE = (b"cache-control", b"private, no-cache")
"""Each caller reads other records, so no cache may give an answer to the next caller."""
CHUNK_BYTES = 256 * 1024
"""Bytes that are encoded before other tasks run, and that are sent in one message."""


async def encode_chunks(
    head: dict[str, Any], name: str, items: list[Record], max_bytes: int
) -> deque[bytes]:
    """The JSON object `head` with the items under `name`. Empties the list of items, so that none
    is in memory twice. Raises `AnswerTooLarge` above `max_bytes`."""
    chunks = deque([encode(head)[:-1] + b"," + encode(name) + b":["])
    size = unyielded = 0
    items.reverse()
    while items:
        item = items.pop()
        check_size(item, max_bytes)
        chunk = encode(item)
        size += len(chunk)
        if size > max_bytes:
            # Otherwise the error's traceback would hold them.
            chunks.clear()
            raise AnswerTooLarge(max_bytes)
        chunks.append(chunk + b"," if items else chunk)
        unyielded += len(chunk)
        if unyielded > CHUNK_BYTES:
            unyielded = 0
            await asyncio.sleep(0)
    chunks.append(b"]}")
    return chunks


async def send_chunks(send: Send, chunks: deque[bytes]) -> None:
    length = str(sum(map(len, chunks))).encode()
    headers = [JSON, PRIVATE, (b"content-length", length)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    while chunks:
        chunk = chunks.popleft()
        for start in range(0, len(chunk), CHUNK_BYTES):
            part = chunk[start : start + CHUNK_BYTES]
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def check_size(record: Record, max_bytes: int) -> None:
    """An expanded record may occur many times in an answer, and is encoded each time."""
    if "expand" in record and _size(record, max_bytes) > max_bytes:
        raise AnswerTooLarge(max_bytes)


def _size(value: Any, limit: int) -> int:
    """A lower bound of the JSON's bytes; counting stops soon after `limit`."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, msgspec.Raw):
        return len(memoryview(value))
    size = 2
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        size += _size(each, limit)
        if size > limit:
            break
    return size
