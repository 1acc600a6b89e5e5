"""Streams the rows of a Ghost export, one JSON document, without loading it into memory."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from json import JSONDecodeError
from typing import Any, BinaryIO, Final

from masthead.base.languages.words import staff_words
from masthead.faces.importers.files.decoding import CHUNK, decoded
from masthead.faces.importers.files.densities import (
    BRACKETS,
    GHOST_MEMBERS,
    GHOST_POSTS,
    VALUES,
    Density,
)
from masthead.faces.importers.source import BadFile

MAX_VALUE: Final = 10_000_000
"""Characters of one row; the longest post that can be stored needs half of it."""
_LONG: Final = 2_000_000
_MAX_PARTS: Final = 300_000
# Not the keys of a document that is a string in a row.
_KEY: Final = re.compile(r'[^\\]"\s*:')
NOT_AN_EXPORT: Final = staff_words("This is not a Ghost export: it has no tables of posts.")
_BROKEN: Final = staff_words("The JSON is damaged or cut off.")
_TOO_DEEP: Final = staff_words("The JSON is nested deeper than any export.")
_BLANKS: Final = re.compile(r"[ \t\n\r]*")
# One of these is enough: a site without posts may be imported for its members.
_KNOWN_TABLES: Final = frozenset({"posts", "tags", "users", "settings", "members"})
_DENSITIES: Final = {"posts": GHOST_POSTS, "members": GHOST_MEMBERS}
# Deep enough that a value read as a whole is at most a row.
_SKIP_LEVELS: Final = 6
_ROWS_PER_CHECK: Final = 500
_LONGEST_NUMBER: Final = 1_000

_Rows = Generator[tuple[str, Any], None, bool]


def _number(digits: str) -> int:
    """Parsing a number of thousands of digits takes longer than parsing a post."""
    if len(digits) > _LONGEST_NUMBER:
        raise BadFile(_BROKEN)
    return int(digits)


# Other tools write control characters into strings, which is harmless.
_decode: Final = json.JSONDecoder(strict=False, parse_int=_number).raw_decode


def rows(stream: BinaryIO, chunk: int = CHUNK) -> Iterator[tuple[str, Any]]:
    """Table name and row, for every row of the export's first database.

    An export is `{db: [{meta, data}]}`, `{meta, data}` or `{data}`. The document is read to its
    end, to find a truncated file. Raises `BadFile`.
    """
    cursor = _Cursor(decoded(stream, chunk), chunk)
    if cursor.peek() != "{":
        raise BadFile(NOT_AN_EXPORT if cursor.peek() else staff_words("The file is empty."))
    found = yield from _database(cursor)
    if not found:
        raise BadFile(NOT_AN_EXPORT)
    if cursor.peek():
        raise BadFile(_BROKEN)


def is_export(stream: BinaryIO) -> bool:
    """Reads up to the first row of a table."""
    try:
        next(rows(stream), None)
    except BadFile:
        return False
    return True


def _database(cursor: _Cursor) -> _Rows:
    """One level of the document; returns whether there were tables in it."""
    found = False
    for key in cursor.each_key():
        opening = cursor.peek()
        if key == "data" and opening == "{" and not found:
            found = yield from _tables(cursor)
        elif key == "db" and opening == "[" and not found:
            for number in cursor.each_item():
                if number == 0 and cursor.peek() == "{":
                    found = yield from _database(cursor)
                else:
                    cursor.skip()
        else:
            cursor.skip()
    return found


def _tables(cursor: _Cursor) -> _Rows:
    found = False
    for name in cursor.each_key():
        found = found or name in _KNOWN_TABLES
        if cursor.peek() == "[":
            yield from _rows_of(cursor, name)
        elif name == "posts":
            raise BadFile(NOT_AN_EXPORT)
        else:
            cursor.skip()
    return found


def _rows_of(cursor: _Cursor, name: str) -> Iterator[tuple[str, Any]]:
    density: Density | None = _DENSITIES.get(name)
    for number in cursor.each_item():
        if density is not None and number % _ROWS_PER_CHECK == 0:
            density.check(number, cursor.read)
        yield name, cursor.value()


def _has_too_many_parts(text: str) -> bool:
    """Millions of small values need far more memory when parsed than one long text."""
    if text.count("{") + text.count("[") > _MAX_PARTS:
        return True
    return sum(1 for _ in _KEY.finditer(text)) > _MAX_PARTS


class _Cursor:
    """A position in the document. Iterates over containers and parses single values only."""

    def __init__(self, pieces: Iterator[str], chunk: int) -> None:
        self._pieces = pieces
        self._chunk = chunk
        self._text = ""
        self._at = 0
        self._values = 0
        self._brackets = 0
        self.read = 0
        """Characters, so far."""

    def peek(self) -> str:
        """The next character that is no blank; '' at the end."""
        character = self._text[self._at : self._at + 1]
        # The fast path: called several times for every value, and blanks are rare.
        if character > " ":
            return character
        while True:
            blanks = _BLANKS.match(self._text, self._at)
            self._at = blanks.end() if blanks else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read_on():
                return ""

    def each_key(self) -> Iterator[str]:
        """The keys of an object. The caller must read each value before the next key."""
        self._expect("{")
        if self._accept("}"):
            return
        while True:
            key = self.value()
            self._expect(":")
            yield str(key)
            if self._accept("}"):
                return
            self._expect(",")

    def each_item(self) -> Iterator[int]:
        """The indexes of an array. The caller must read each value before the next index."""
        self._expect("[")
        if self._accept("]"):
            return
        number = 0
        while True:
            yield number
            number += 1
            if self._accept("]"):
                return
            self._expect(",")

    def skip(self, levels: int = _SKIP_LEVELS) -> None:
        opening = self.peek()
        if levels and opening == "{":
            for _ in self.each_key():
                self.skip(levels - 1)
        elif levels and opening == "[":
            for _ in self.each_item():
                self.skip(levels - 1)
        else:
            self.value()

    def value(self) -> Any:
        self._values += 1
        self.peek()
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except JSONDecodeError as error:
                # The document is broken, or the value is not read to its end yet.
                if not self._read_on():
                    raise BadFile(_BROKEN) from error
                continue
            except RecursionError as error:
                raise BadFile(_TOO_DEEP) from error
            if end == len(self._text) and isinstance(value, int | float) and self._read_on():
                continue
            self._at = end
            return value

    def _accept(self, character: str) -> bool:
        if self.peek() != character:
            return False
        self._at += 1
        return True

    def _expect(self, character: str) -> None:
        if not self._accept(character):
            raise BadFile(_BROKEN)

    def _read_on(self) -> bool:
        """Doubles the buffer, so that a long value is parsed a few times only."""
        waiting = [self._text[self._at :]]
        if len(waiting[0]) > MAX_VALUE:
            raise BadFile(
                staff_words("The export has an entry of more than ten million characters.")
            )
        if len(waiting[0]) > _LONG and _has_too_many_parts(waiting[0]):
            raise BadFile(staff_words("The export has an entry with far more parts than a post."))
        wanted = max(self._chunk, len(waiting[0]))
        VALUES.check(self._values, self.read)
        BRACKETS.check(self._brackets, self.read)
        for piece in self._pieces:
            waiting.append(piece)
            self.read += len(piece)
            self._brackets += piece.count("{") + piece.count("[")
            wanted -= len(piece)
            if wanted <= 0:
                break
        self._text, self._at = "".join(waiting), 0
        return len(waiting) > 1 and len(self._text) > len(waiting[0])
