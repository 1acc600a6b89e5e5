"""A Ghost export is read row by row, whatever its frame, and never as a whole."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from tests.tiers import representatives

from masthead.faces.importers.files.decoding import CHUNK
from masthead.faces.importers.platforms.ghost.tables import MAX_VALUE, rows
from masthead.faces.importers.source import BadFile


def read(content: str | bytes, chunk: int = CHUNK) -> list[tuple[str, Any]]:
    stream = io.BytesIO(content if isinstance(content, bytes) else content.encode())
    return list(rows(stream, chunk))


DATA = '{"posts":[{"id":"1"},{"id":"2"}],"odd":{"a":[1]},"tags":[{"id":"t"}]}'
ROWS = [("posts", {"id": "1"}), ("posts", {"id": "2"}), ("tags", {"id": "t"})]


@pytest.mark.parametrize(
    "content",
    [
        f'{{"db":[{{"meta":{{"version":"5"}},"data":{DATA}}}]}}',
        f'{{"db":[{{"data":{DATA},"meta":{{"exported_on":NaN}}}}]}}',
        f'{{"meta":{{"version":"003"}},"data":{DATA}}}',
        f'{{"data":{DATA}}}',
        f'{{"data":{DATA},"data":{{"posts":[{{"id":"a second"}}]}}}}',
        f'{{"db":[{{"data":{DATA}}},{{"data":{{"posts":[{{"id":"other"}}]}}}}]}}',
        f' \n {{ "db" : [ {{ "data" : {DATA} }} , 5 ] , "x" : [[]] }} \n ',
        f'{{"data":{DATA}}}'.encode("utf-8-sig"),
        f'{{"data":{DATA}}}'.encode("utf-16"),
        json.dumps({"data": json.loads(DATA)}, indent=4).replace("\n", "\r\n"),
    ],
)
def test_frames(content: str | bytes) -> None:
    assert read(content) == ROWS


def test_a_table_that_stands_twice_is_read_twice() -> None:
    assert read('{"data":{"posts":[],"posts":[{"id":"1"}]}}') == [("posts", {"id": "1"})]


def test_strings_may_hold_line_ends_and_latin_letters() -> None:
    content = b'{"data":{"posts":[{"title":"D\xe9j\xe0\nvu","html":"\\ud83d"}]}}'
    assert read(content) == [("posts", {"title": "Déjà\nvu", "html": "\ud83d"})]


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64])
def test_where_the_pieces_end_does_not_matter(chunk: int) -> None:
    content = '{"meta":{"n":12345678},"data":{"posts":[{"n":1.5,"t":"é\\n😀"},12345,null,true]}}'
    found = [row for _, row in read(content, chunk)]
    assert found == [{"n": 1.5, "t": "é\n😀"}, 12345, None, True]


@pytest.mark.parametrize(
    "content",
    [
        "",
        " ",
        "null",
        "[]",
        "5",
        '"posts"',
        "{}",
        '{"db":[]}',
        '{"db":[5]}',
        '{"db":{"data":{"posts":[]}}}',
        '{"posts":[]}',
        '{"data":{}}',
        '{"data":{"rows":[]}}',
        '{"data":{"posts":{"0":{}}}}',
        '{"wrong":[{"data":{"posts":[]}}]}',
        f'{{"data":{DATA}',
        f'{{"data":{DATA}}} x',
        f'{{"data":{DATA[:-10]}',
        '{"data":{"posts":[{"id":"1"',
        '{"data":{"posts":[{"id":"1"} {"id":"2"}]}}',
        '{"data":{"posts":[' + "[" * 100_000,
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"data":{"posts":[' + "9" * 10_000 + "]}}",
        "PK\x03\x04",
        "<rss>",
    ],
)
def test_what_is_no_export_or_damaged_is_refused(content: str) -> None:
    with pytest.raises(BadFile):
        read(content)


@pytest.mark.parametrize(
    "row", ["[" + "{}," * 1_500_000 + "0]", "{" + '"a":1,' * 500_000 + '"b":1}']
)
def test_a_row_of_countless_parts_is_refused_before_they_take_room(row: str) -> None:
    with pytest.raises(BadFile, match=r"parts|brackets"):
        read(f'{{"data":{{"posts":[{row}]}}}}')


def test_a_long_text_is_a_row_like_any_other() -> None:
    inner = json.dumps({"root": {"children": [{"text": "a, b"}] * 30_000}})
    posts = [{"html": "é😀" * 2_000_000, "lexical": inner}]
    (row,) = read(json.dumps({"data": {"posts": posts}}, ensure_ascii=False))
    assert row[1]["lexical"] == inner


class _Endless(io.RawIOBase):
    def __init__(self, start: bytes) -> None:
        self.taken = 0
        self._start = io.BytesIO(start)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        piece = self._start.read(len(buffer)) or b"x" * len(buffer)
        buffer[: len(piece)] = piece
        self.taken += len(piece)
        return len(piece)


@pytest.mark.parametrize(
    "start",
    representatives([b'{"data":{"posts":[{"html":"', b'{"', b"{x", b'{"data":{"posts":[{}, x']),
)
def test_a_value_without_an_end_is_given_up_early(start: bytes) -> None:
    stream = _Endless(start)
    with pytest.raises(BadFile):
        list(rows(io.BufferedReader(stream)))
    assert stream.taken < 3 * MAX_VALUE
