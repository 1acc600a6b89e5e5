"""Lists as spreadsheet programs leave them behind are read alike."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import BinaryIO

import pytest

from masthead.faces.importers.files.csv_rows import MAX_CELL, CsvTable, is_no, is_yes
from masthead.faces.importers.source import BadFile


def table(content: str | bytes, encoding: str = "utf-8") -> CsvTable:
    raw = content if isinstance(content, bytes) else content.encode(encoding)
    return CsvTable(lambda: io.BytesIO(raw))


PLAIN = "email,name\na@example.com,Ann\nb@example.com,Bo\n"
TWO = [{"email": "a@example.com", "name": "Ann"}, {"email": "b@example.com", "name": "Bo"}]


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        PLAIN.rstrip("\n"),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        PLAIN.replace("\n", "\n\n"),
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        PLAIN.replace(",", "|"),
        "sep=,\n" + PLAIN,
        '"sep=;"\r\n' + PLAIN.replace(",", ";"),
        "\n\n" + PLAIN,
        PLAIN.replace("email,name", " Email , NAME"),
        PLAIN.replace("email,name", '"email","name"'),
        PLAIN.replace("Ann", '"Ann"'),
        PLAIN.replace("Ann", "A\x00nn"),
        PLAIN.replace("Ann", "Ann,cells,too,many"),
        PLAIN.encode("utf-8-sig"),
        PLAIN.encode("utf-16"),
        PLAIN.encode("utf-16-le"),
        PLAIN.encode("utf-16-be"),
    ],
)
def test_all_spellings_of_a_list_are_the_same_list(content: str | bytes) -> None:
    assert list(table(content).rows()) == TWO


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ('"one\ntwo"', "one\ntwo"),
        ('"say ""hi"", all"', 'say "hi", all'),
        ('5" nails', '5" nails'),
        ("'=1+1", "=1+1"),
        ("'+44 1", "+44 1"),
        ("'-5", "-5"),
        ("'@SUM(A1)", "@SUM(A1)"),
        ('"\'\t=1"', "\t=1"),
        ("'tis", "'tis"),
        ("''=1", "'=1"),
        ("=1+1", "=1+1"),
    ],
)
def test_a_cell_is_what_was_meant(cell: str, value: str) -> None:
    (row,) = table(f"email,name\na@example.com,{cell}\n").rows()
    assert row["name"] == value


def test_a_short_row_has_empty_cells_and_an_empty_row_is_a_row() -> None:
    rows = list(table("email,name,plan\na@example.com\n,,\n").rows())
    assert [row["email"] for row in rows] == ["a@example.com", ""]
    assert rows[0]["plan"] == ""


def test_bytes_that_are_no_utf8_are_windows_letters_one_by_one() -> None:
    content = b"email,name\na@example.com,Ren\xe9\nb@example.com,Zo\xc3\xab \x80\n"
    assert [row["name"] for row in table(content).rows()] == ["René", "Zoë €"]


def test_of_two_columns_with_one_name_the_first_counts() -> None:
    (row,) = table("email,Email\na@example.com,b@example.com\n").rows()
    assert row["email"] == "a@example.com"


def test_rows_are_read_as_often_as_asked() -> None:
    members = table(PLAIN)
    assert list(members.rows()) == list(members.rows()) == TWO


@pytest.mark.parametrize("content", ["", "\n\n", "\x00", "\ufeff", "sep=,\n"])
def test_an_empty_list_is_refused_when_it_is_opened(content: str) -> None:
    with pytest.raises(BadFile, match="empty"):
        table(content)


def test_a_list_of_no_columns_is_refused() -> None:
    with pytest.raises(BadFile, match="name columns"):
        table("," * 1_000)


@pytest.mark.parametrize(
    "content",
    [
        'email\n"a@example.com\nb@example.com\n',
        'email,name\na@example.com,"Ann\nb@example.com,Bo\n',
    ],
)
def test_a_quote_that_is_never_closed_is_refused_rather_than_swallowing_rows(content: str) -> None:
    with pytest.raises(BadFile, match="never closed"):
        list(table(content).rows())


class _Endless(io.RawIOBase):
    """A stream that never ends, and counts how much was taken from it."""

    def __init__(self, piece: Callable[[int], bytes]) -> None:
        self.taken = 0
        self._piece = piece

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        piece = self._piece(len(buffer))
        buffer[: len(piece)] = piece
        self.taken += len(piece)
        return len(piece)


@pytest.mark.parametrize("filling", [b"x", b"\n", b"x\n"])
def test_a_cell_without_an_end_is_given_up_early(filling: bytes) -> None:
    streams: list[_Endless] = []

    def opened() -> BinaryIO:
        start = io.BytesIO(b'email\n"')
        stream = _Endless(lambda size: start.read(size) or filling * (size // len(filling)))
        streams.append(stream)
        return io.BufferedReader(stream)

    with pytest.raises(BadFile):
        list(CsvTable(opened).rows())
    assert all(stream.taken < 4 * MAX_CELL for stream in streams)


def test_words_for_yes_and_no() -> None:
    for word in ("true", "TRUE", "1", "yes", " t "):
        assert is_yes(word)
        assert not is_no(word)
    for word in ("", "false", "No", "0", "f"):
        assert is_no(word)
        assert not is_yes(word)
    assert not is_yes("perhaps")
    assert not is_no("perhaps")
