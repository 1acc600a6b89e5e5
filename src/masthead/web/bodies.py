"""Reads request bodies with a size limit and decodes them into JSON objects that are safe to store.

`multipart.py` reads multipart bodies.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

from masthead.base.errors import BadRequest
from masthead.web.arriving import ArrivingBody
from masthead.web.asgi import Receive, Scope

SMALL_FORM_BYTES = 16 * 1024
"""For logins and other forms with a few short values."""
SMALL_FORM_VALUES = 1_000
LARGE_BYTES = 128 * 1024
"""A larger body is decoded in a thread."""
MAX_VALUES = 250_000
"""The values of a JSON body: one needs many times the memory of its two bytes, and time to
decode."""
MAX_DEPTH = 128
"""Deeper than real documents, and shallow enough for recursive code."""

_INT64 = range(-(2**63), 2**63)

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

_decode = msgspec.json.Decoder().decode


async def read_body(scope: Scope, receive: Receive, *, limit: int) -> bytes:
    """The whole body, or TooLarge as soon as it is known to be longer than `limit` bytes."""
    reading = ArrivingBody(scope, receive, limit, limit)
    chunk = await reading.next()
    if reading.is_whole:
        # As nearly every body.
        return chunk
    chunks = [chunk]
    while not reading.is_whole:
        chunks.append(await reading.next())
    return b"".join(chunks)


async def body_chunks(
    scope: Scope, receive: Receive, *, limit: int, in_memory: int
) -> AsyncIterator[bytes]:
    """The body in chunks as received, of which its reader keeps at most `in_memory` bytes in
    memory. Raises as `ArrivingBody.next`."""
    reading = ArrivingBody(scope, receive, limit, in_memory)
    while not reading.is_whole:
        if chunk := await reading.next():
            yield chunk


def _not_json(raw: bytes, reason: str) -> str:
    if not raw.strip():
        return "The request body is empty. Send a JSON object."
    if "truncated" in reason:
        reason = "it ends before the object does"
    return f"The request body is not valid JSON: {reason}."


async def json_object(raw: bytes) -> dict[str, Any]:
    """As `decode_json_object`, beside the event loop where that takes a while; one at a time,
    because several would compete with it for the interpreter."""
    if len(raw) <= LARGE_BYTES:
        return decode_json_object(raw)
    return await decode_beside(decode_json_object, raw)


async def decode_beside(decode: Callable[[bytes], T], raw: bytes) -> T:
    return await asyncio.get_running_loop().run_in_executor(_thread, decode, raw)


_thread = ThreadPoolExecutor(1, thread_name_prefix="bodies")


def decode_json_object(raw: bytes, *, max_values: int = MAX_VALUES) -> dict[str, Any]:
    """The JSON object in `raw`; anything else is BadRequest. The last of repeated names counts."""
    _check_structure(raw, max_values)
    try:
        value = _decode(raw)
    except RecursionError as error:
        raise BadRequest(_TOO_DEEP) from error
    except UnicodeDecodeError as error:
        raise BadRequest("The request body is not valid UTF-8.") from error
    except msgspec.DecodeError as error:
        raise BadRequest(_not_json(raw, str(error))) from error
    if not isinstance(value, dict):
        raise BadRequest("The request body must be a JSON object.")
    _check_nested(value)
    # A search for one byte is far faster than for several, and most bodies escape nothing.
    if b"\\" in raw and b"\\u0000" in raw:
        _check_texts(value)
    return value


def struct_of(kind: type[S], given: dict[str, Any]) -> S:
    """A decoded body as a struct; null is as if it were not there."""
    try:
        return msgspec.convert(
            {name: each for name, each in given.items() if each is not None}, kind
        )
    except msgspec.ValidationError as error:
        raise BadRequest(f"The request body is not valid: {error}.") from error


def _check_structure(raw: bytes, max_values: int) -> None:
    """Refuses too many or too deeply nested values before they are decoded.

    The first, quick count includes punctuation inside texts. Texts are removed only if that count
    is high."""
    if raw.count(b",") + raw.count(b"[") + raw.count(b"{") <= min(max_values, _FEW):
        return
    nested = b"".join(_marks(raw, max_values)).translate(None, b",")
    for _ in range(MAX_DEPTH + 1):
        shorter = nested.replace(b"[]", b"").replace(b"{}", b"")
        if len(shorter) == len(nested):
            # Balanced, or malformed, which the parser reports.
            return
        nested = shorter
    raise BadRequest(_TOO_DEEP)


def _marks(raw: bytes, max_values: int) -> Iterator[bytes]:
    """The punctuation outside of texts. In short steps, between which other threads run, and no
    further than to the last value that is accepted."""
    at = values = 0
    while at < len(raw):
        step = _STEP.match(raw, at)
        # A text without an end, which the parser reports.
        end = step.end() if step and step.end() > at else len(raw)
        marks = _TEXT.sub(b"", raw[at:end]).translate(None, _NO_MARKS)
        values += len(marks) - marks.count(b"]") - marks.count(b"}")
        if values > max_values:
            raise BadRequest(f"The request body contains more than {max_values:,} values.")
        yield marks
        at = end


_FEW = 20_000
_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_STEP = re.compile(rb'(?:[^"]*+"(?:[^"\\]++|\\.)*+"){1,2000}+|[^"]++', re.DOTALL)
"""Two thousand texts with the characters before them, or the rest after the last one."""
_NO_MARKS = bytes(set(range(256)) - set(b",[]{}"))

_TOO_DEEP = f"The request body is nested deeper than {MAX_DEPTH} levels."


def _check_nested(value: dict[str, Any]) -> None:
    """Refuses deep nesting and integers beyond 64 bits. It skips texts, so the cost does not depend
    on their length."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        children: list[Any] = []
        for outer in level:
            for item in outer.values() if type(outer) is dict else outer:
                kind = type(item)
                if kind is str:
                    continue
                if kind is dict or kind is list:
                    children.append(item)
                elif kind is int and item not in _INT64:
                    raise BadRequest("The request body contains an integer of more than 64 bits.")
        if not children:
            return
        level = children
    raise BadRequest(_TOO_DEEP)


def _check_texts(value: dict[str, Any]) -> None:
    """Refuses NUL in names and values: no text column can hold it."""
    level: list[Any] = [value]
    while level:
        children: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                children += item
                children += item.values()
            elif isinstance(item, list):
                children += item
            elif isinstance(item, str) and "\0" in item:
                raise BadRequest(
                    "The request body contains a NUL character, which text can't contain."
                )
        level = children
