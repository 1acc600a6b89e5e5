"""Reading a provider's `text/event-stream` as it arrives, cut anywhere, in any of its spellings."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

MAX_EVENT_CHARACTERS = 1_000_000


class Garbled(Exception):
    """What came is no event stream, or none that fits into memory."""


@dataclass(frozen=True, slots=True)
class Event:
    name: str
    data: str


class EventReader:
    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._rest = ""
        self._name = ""
        self._data: list[str] = []
        self._size = 0
        self.has_read_anything = False
        self.has_found_anything = False

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that are complete with this chunk; raises Garbled."""
        self.has_read_anything = True
        try:
            text = self._rest + self._decoder.decode(chunk)
        except UnicodeDecodeError:
            raise Garbled from None
        # A line feed that follows a carriage return may only come with the next chunk.
        held_back = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")
        *lines, last = text.split("\n")
        self._rest = last + held_back
        for line in lines:
            event = self._take(line)
            if event is not None:
                self.has_found_anything = True
                yield event
        if self._size + len(self._rest) > MAX_EVENT_CHARACTERS:
            raise Garbled

    def _take(self, line: str) -> Event | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
            self._size += len(value)
        elif field == "event":
            self._name = value
        return None

    def _dispatch(self) -> Event | None:
        name, data = self._name, self._data
        self._name, self._data, self._size = "", [], 0
        return Event(name, "\n".join(data)) if data else None
