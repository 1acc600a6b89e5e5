"""The parser of event streams, with chunks of any size."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.features.ai.event_stream import MAX_EVENT_BYTES, EventReader, InvalidStream

STREAM = (
    "\ufeff: a comment\r\n"
    "event: first\r\ndata: one\r\ndata:two\r\n\r\n"
    "data: día 🌕\n\n"
    "id: 7\nretry: 10\n\n"
    "data\rdata:  spaced\r\r"
    "unknown\nevent: last\ndata: {}\n\n"
    "data: never finished"
).encode()
EVENTS = [
    (b"first", b"one\ntwo"),
    (b"", "día 🌕".encode()),
    (b"", b"\n spaced"),
    (b"last", b"{}"),
]


@given(st.lists(st.integers(0, len(STREAM))))
def test_the_size_of_chunks_makes_no_difference(cuts: list[int]) -> None:
    places = sorted({0, len(STREAM), *cuts})
    reader = EventReader()
    found = [event for start, end in pairwise(places) for event in reader.feed(STREAM[start:end])]
    assert found == EVENTS


LINES = [
    b"data: one",
    b"data:two",
    b"data: ",
    b"event: name",
    b"event: ",
    b": comment",
    b"id: 7",
    b"",
]


@given(st.lists(st.sampled_from(LINES)), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_an_event_in_one_chunk_is_parsed_like_one_in_several(
    lines: list[bytes], end: bytes
) -> None:
    stream = b"".join(line + end for line in lines)
    chunks = [block + end * 2 for block in stream.split(end * 2)]
    whole, cut = EventReader(), EventReader()
    assert [event for chunk in chunks for event in whole.feed(chunk)] == [
        event for byte in b"".join(chunks) for event in cut.feed(bytes([byte]))
    ]


def test_empty_lines_count_towards_the_limit() -> None:
    with pytest.raises(InvalidStream):
        list(EventReader().feed(b"data:\n" * (MAX_EVENT_BYTES + 1)))


@pytest.mark.parametrize("line", [b"data: " + b"x" * 1000, b"data: " + b"x" * 1000 + b"\n"])
def test_an_endless_event_is_refused(line: bytes) -> None:
    reader = EventReader()
    for _ in range(MAX_EVENT_BYTES // 1010):
        assert list(reader.feed(line)) == []
    with pytest.raises(InvalidStream):
        list(reader.feed(line * 20))


@pytest.mark.parametrize("junk", [b"\xff\xfe\n", b"data: {}\n\nna\xefve\n"])
def test_an_invalid_line_is_refused(junk: bytes) -> None:
    with pytest.raises(InvalidStream):
        list(EventReader().feed(junk))


@pytest.mark.parametrize("junk", [b"\xff\xfe", b"data: \xff"])
def test_invalid_text_at_the_end_is_refused(junk: bytes) -> None:
    reader = EventReader()
    assert list(reader.feed(junk)) == []
    with pytest.raises(InvalidStream):
        reader.end()
