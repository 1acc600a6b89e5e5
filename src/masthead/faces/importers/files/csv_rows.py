"""Reads CSV files of any spreadsheet program as a stream of rows."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import BinaryIO, Final, NamedTuple

from masthead.base.languages.words import staff_words
from masthead.base.spreadsheet_cells import unguard_cell
from masthead.faces.importers.files.decoding import CHUNK, decoded
from masthead.faces.importers.files.densities import LINES, Density
from masthead.faces.importers.source import BadFile

MAX_CELL: Final = 1_000_000
"""Characters. Without a limit, an unclosed quote would read the rest of the file into one cell."""
_MAX_COLUMNS: Final = 500
# Only text in quotes has so many commas in a line.
_MAX_CELLS: Final = 50_000
_DELIMITERS: Final = ",;\t|"
_END: Final = "\x00"
"""Marks the end of the file. No file can hold it, because NULs are removed while reading."""
_SEPARATOR_LINE: Final = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
_BLANKS: Final = re.compile(r"[\s_-]+")
_YES: Final = frozenset({"true", "1", "yes", "y", "t", "on"})
_NO: Final = frozenset({"", "false", "0", "no", "n", "f", "off", "null", "none"})

Row = Mapping[str, str]


class CsvTable:
    """A CSV file whose first line names the columns, which opening reads."""

    def __init__(self, open_stream: Callable[[], AbstractContextManager[BinaryIO]]) -> None:
        self._open = open_stream
        with open_stream() as stream:
            lines = _lines(decoded(stream))
            head = _header(lines)
        self._skipped, self._first_number = head.lines, head.number + 1
        self.delimiter = head.delimiter
        self.headings = tuple(name.strip("\ufeff\t ") for name in head.names)
        """The names of the columns as they are written."""
        self.columns = tuple(_column(name) for name in head.names)
        self._backwards = self.columns[::-1]

    def count_lines(self) -> int:
        """Without parsing rows, for a quick check of limits."""
        with self._open() as stream:
            return sum(piece.count(b"\n") for piece in iter(lambda: stream.read(CHUNK), b""))

    def rows(self, density: Density = LINES) -> Iterator[Row]:
        """Cells by column; '' for the missing cells of a short row. Raises `BadFile`."""
        for _, row in self.numbered_rows(density):
            yield row

    def numbered_rows(self, density: Density = LINES) -> Iterator[tuple[int, Row]]:
        """Rows with the numbers that a spreadsheet program shows: empty rows count, and a cell with
        line breaks is one row."""
        # A setting of the whole process, which this only ever raises.
        csv.field_size_limit(max(MAX_CELL, csv.field_size_limit()))
        with self._open() as stream:
            lines = _lines(decoded(stream), density)
            for _ in range(self._skipped):
                next(lines)
            reader = csv.reader(self._checked(lines), delimiter=self.delimiter)
            try:
                for number, cells in enumerate(reader, start=self._first_number):
                    if not cells:
                        continue
                    if _END in cells[-1]:
                        _check_end(cells)
                        return
                    yield number, self._row(cells)
            except csv.Error as error:
                raise BadFile(
                    staff_words(
                        "The list can't be read from line %(line)s on.", line=reader.line_num
                    )
                ) from error

    def _checked(self, lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            if len(line) > _MAX_CELLS and line.count(self.delimiter) > _MAX_CELLS:
                raise BadFile(
                    staff_words(
                        "The list has a row of more than %(number)s cells.",
                        number=f"{_MAX_CELLS:,}",
                    )
                )
            yield line

    def _row(self, cells: list[str]) -> Row:
        width = len(self.columns)
        cells = cells[:width] + [""] * (width - len(cells))
        # Reversed, so that the first of two columns with the same name wins.
        row = dict(zip(self._backwards, reversed(cells), strict=True))
        for name, cell in row.items():
            if cell[:1] == "'":
                row[name] = unguard_cell(cell)
        return row


def is_yes(cell: str) -> bool:
    return cell.strip().lower() in _YES


def is_no(cell: str) -> bool:
    """Not the opposite of `is_yes`: a word may be neither."""
    return cell.strip().lower() in _NO


def _check_end(cells: list[str]) -> None:
    if cells != [_END]:
        raise BadFile(staff_words("The list has a quote that is never closed."))


def _lines(pieces: Iterator[str], density: Density = LINES) -> Iterator[str]:
    """Lines with `\\n` for every kind of line end, then `_END`."""
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    rest = ""
    count = size = 0
    for piece in pieces:
        text = newlines.decode(piece.replace("\x00", ""))
        *whole, rest = (rest + text).split("\n")
        count, size = count + len(whole), size + len(text)
        density.check(count, size)
        for line in whole:
            yield line + "\n"
        if len(rest) > MAX_CELL:
            raise BadFile(staff_words("The list has a line of more than a million characters."))
    rest += newlines.decode("", final=True)
    if rest:
        yield rest + "\n"
    yield _END


class _Header(NamedTuple):
    lines: int
    """Up to the first row."""
    number: int
    """The number of its row. Spreadsheet programs don't show the line that names the separator."""
    names: list[str]
    delimiter: str


def _header(lines: Iterator[str]) -> _Header:
    delimiters, hidden = _DELIMITERS, 0
    for number, line in enumerate(lines, start=1):
        if line == _END:
            break
        separator = _SEPARATOR_LINE.fullmatch(line.strip("\n"))
        if separator:
            delimiters, hidden = separator[1], hidden + 1
        elif line.strip():
            return _Header(number, number - hidden, *_split_header(line, delimiters))
    raise BadFile(staff_words("The list is empty."))


def _split_header(line: str, delimiters: str) -> tuple[list[str], str]:
    """Splits the header at the delimiter that occurs most often."""
    if len(line) > MAX_CELL:
        raise BadFile(staff_words("The first line of the list does not name columns."))
    delimiter = max(delimiters, key=line.count)
    try:
        names = next(csv.reader([line], delimiter=delimiter))
    except csv.Error:
        names = []
    if not 0 < len(names) <= _MAX_COLUMNS:
        raise BadFile(staff_words("The first line of the list does not name columns."))
    return names, delimiter


def _column(name: str) -> str:
    """`Email Address`, `email-address` and `EMAIL_ADDRESS` are one name."""
    return _BLANKS.sub("_", name.strip("\ufeff\t ").lower()).strip("_")
