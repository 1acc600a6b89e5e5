"""The head of an HTTP/1.1 answer, and where its body ends: three ways, each fed as bytes come."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

MAX_HEADS = 10
"""Of which all but the last are interim ones."""
MAX_HEAD_BYTES = 64 * 1024
_MAX_SIZE_LINE = 4096
_USUAL_SIZE_LINE = 8
_MAX_BODY_BYTES = 1 << 62

_STATUS = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: [^\r\n\0]*)?\Z")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n\0]*)?\Z")


class Body(Protocol):
    is_complete: bool

    def feed(self, data: bytes) -> bytes:
        """The content in these bytes; raises ValueError where they can't be what was announced."""
        ...

    def end(self) -> bool:
        """The connection is closed: whether that is all right."""
        ...


@dataclass(frozen=True, slots=True)
class Head:
    status: int
    headers: Mapping[str, str]
    """By name in lower case."""


def read_head(received: bytes) -> tuple[Head, bytes] | None:
    """The head and what has come after it, once it is complete; raises ValueError."""
    for _ in range(MAX_HEADS):
        raw, found, rest = received.partition(b"\r\n\r\n")
        if len(raw) > MAX_HEAD_BYTES:
            raise ValueError("the head of the answer is too long")
        if not found:
            return None
        head = _parsed(raw)
        if head.status >= 200:
            return head, rest
        # "100 Continue", "103 Early Hints": the answer itself is still to come.
        received = rest
    raise ValueError("the answer itself does not come")


def body_of(head: Head) -> Body:
    coding = head.headers.get("transfer-encoding")
    if coding is not None:
        if coding.lower() != "chunked":
            raise ValueError("the answer has a transfer coding that nobody asked for")
        return Chunked()
    length = head.headers.get("content-length")
    if length is None:
        return UntilClosed()
    if not (length.isascii() and length.isdigit()) or int(length[:20]) > _MAX_BODY_BYTES:
        raise ValueError("the length of the answer is no number")
    return Counted(int(length))


class Chunked:
    def __init__(self) -> None:
        self._rest = b""
        self._left = 0
        """Of the chunk under way, with the line end after it."""
        self.is_complete = False

    def feed(self, data: bytes) -> bytes:
        if not (self._left or self._rest):
            # What nearly every read brings: one chunk, all of it.
            end = data.find(b"\r\n")
            size = _usual_size(data[:end]) if 0 < end <= _USUAL_SIZE_LINE else 0
            if size and len(data) == end + size + 4 and data[-2:] == b"\r\n":
                return data[end + 2 : -2]
        return self._by_chunk(data)

    def _by_chunk(self, data: bytes) -> bytes:
        if self._rest:
            data = self._rest + data
        parts: list[bytes] = []
        start = 0
        while start < len(data):
            if not self._left:
                end = data.find(b"\r\n", start)
                if end < 0:
                    break
                self._left = _chunk_size(data[start:end]) + 2
                start = end + 2
                if self._left == 2:
                    # What may follow are trailers, which nobody reads.
                    self.is_complete = True
                    return b"".join(parts)
            stop = start + self._left
            if stop > len(data):
                part = data[start : min(stop - 2, len(data))]
                self._left -= len(part)
                self._rest = data[start + len(part) :]
                return b"".join((*parts, part))
            if data[stop - 2 : stop] != b"\r\n":
                raise ValueError("a chunk is longer than it said")
            parts.append(data[start : stop - 2])
            self._left = 0
            start = stop
        self._rest = data[start:]
        if len(self._rest) > _MAX_SIZE_LINE:
            raise ValueError("the size of a chunk has no end")
        return b"".join(parts)

    def end(self) -> bool:
        return self.is_complete


class Counted:
    def __init__(self, length: int) -> None:
        self._left = length
        self.is_complete = length == 0

    def feed(self, data: bytes) -> bytes:
        content = data[: self._left]
        self._left -= len(content)
        self.is_complete = not self._left
        return content

    def end(self) -> bool:
        return self.is_complete


class UntilClosed:
    def __init__(self) -> None:
        self.is_complete = False

    def feed(self, data: bytes) -> bytes:
        return data

    def end(self) -> bool:
        self.is_complete = True
        return True


def _parsed(raw: bytes) -> Head:
    first, *lines = raw.split(b"\r\n")
    status = _STATUS.match(first)
    if status is None:
        raise ValueError("the answer is no HTTP")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _NAME.match(name):
            raise ValueError("the answer has a header that is none")
        key, text = name.decode("ascii").lower(), value.strip().decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return Head(int(status[1]), headers)


def _chunk_size(line: bytes) -> int:
    size = _SIZE.match(line)
    if size is None:
        raise ValueError("the size of a chunk is no number")
    return int(size[1], 16)


# The chunks of streams are of a few sizes, which come again and again.
_usual_size = lru_cache(maxsize=1024)(_chunk_size)
