"""LIKE for long texts on SQLite, in linear time.

SQLite's own LIKE restarts at every character: a pattern that nearly matches everywhere takes the
length of the text times that of the pattern. Python's substring search does not.
"""

from __future__ import annotations

import sqlite3
from functools import lru_cache

import msgspec

LIKE_FUNCTION = "masthead_like"
FUNCTION_FAILED = "user-defined function raised exception"
"""SQLite's message when the function raises."""
MAX_CHECKS = 500_000
"""Limits the comparisons around a `_` in one text, which are not linear."""

_CACHED_CHARACTERS = 4_000


def add_like(connection: sqlite3.Connection) -> None:
    connection.create_function(LIKE_FUNCTION, 2, is_like, deterministic=True)


def is_like(text: str | None, pattern: str | None) -> bool | None:
    """Whether the text is LIKE the pattern, whose escape is a backslash."""
    if text is None or pattern is None:
        return None
    read = _read_with_cache if len(pattern) <= _CACHED_CHARACTERS else _read
    return read(pattern).matches(_folded(text))


def _folded(text: str) -> str:
    """ASCII letters in lower case, as SQLite's LIKE compares them."""
    return text.lower() if text.isascii() else text.encode().lower().decode()


class _Segment(msgspec.Struct, frozen=True):
    """The part between two `%`: texts with their offsets, and a gap for each `_`."""

    length: int
    runs: tuple[tuple[int, str], ...]

    def is_at(self, text: str, at: int) -> bool:
        return all(text.startswith(run, at + offset) for offset, run in self.runs)

    def find(self, text: str, start: int, end: int) -> int:
        if not self.runs:
            return start if start + self.length <= end else -1
        offset, lead = max(self.runs, key=lambda run: len(run[1]))
        end -= self.length - offset - len(lead)
        checks = 0
        while (found := text.find(lead, start + offset, end)) >= 0:
            start = found - offset
            if len(self.runs) == 1 or self.is_at(text, start):
                return start
            start += 1
            checks += len(self.runs)
            if checks > MAX_CHECKS:
                raise TimeoutError("the pattern takes too long")
        return -1


class _Pattern(msgspec.Struct, frozen=True):
    segments: tuple[_Segment, ...]

    def matches(self, text: str) -> bool:
        first, last = self.segments[0], self.segments[-1]
        if len(self.segments) == 1:
            return len(text) == first.length and first.is_at(text, 0)
        at, end = first.length, len(text) - last.length
        if at > end or not first.is_at(text, 0) or not last.is_at(text, end):
            return False
        for segment in self.segments[1:-1]:
            found = segment.find(text, at, end)
            if found < 0:
                return False
            at = found + segment.length
        return True


def _read(pattern: str) -> _Pattern:
    segments, runs, run, length = [], list[tuple[int, str]](), "", 0
    characters = iter(_folded(pattern))
    for character in characters:
        if character in "%_" and run:
            runs.append((length - len(run), run))
            run = ""
        if character == "%":
            segments.append(_Segment(length, tuple(runs)))
            runs, length = [], 0
            continue
        length += 1
        if character != "_":
            run += next(characters, character) if character == "\\" else character
    if run:
        runs.append((length - len(run), run))
    return _Pattern((*segments, _Segment(length, tuple(runs))))


_read_with_cache = lru_cache(maxsize=64)(_read)
