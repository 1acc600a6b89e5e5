"""The reader of event streams, cut anywhere and in every spelling."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.ai.event_stream import MAX_EVENT_BYTES, Event, EventReader, Garbled

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
    Event(b"first", b"one\ntwo"),
    Event(b"", "día 🌕".encode()),
    Event(b"", b"\n spaced"),
    Event(b"last", b"{}"),
]


@given(st.lists(st.integers(0, len(STREAM))))
def test_where_it_is_cut_makes_no_difference(cuts: list[int]) -> None:
    places = sorted({0, len(STREAM), *cuts})
    reader = EventReader()
    found = [event for start, end in pairwise(places) for event in reader.feed(STREAM[start:end])]
    assert found == EVENTS


@pytest.mark.parametrize("line", [b"data: " + b"x" * 1000, b"data: " + b"x" * 1000 + b"\n"])
def test_what_has_no_end_is_not_collected_for_ever(line: bytes) -> None:
    reader = EventReader()
    for _ in range(MAX_EVENT_BYTES // 1010):
        assert list(reader.feed(line)) == []
    with pytest.raises(Garbled):
        list(reader.feed(line * 20))


@pytest.mark.parametrize("junk", [b"\xff\xfe\n", b"data: {}\n\nna\xefve\n"])
def test_a_line_of_junk_is_told(junk: bytes) -> None:
    with pytest.raises(Garbled):
        list(EventReader().feed(junk))


@pytest.mark.parametrize("junk", [b"\xff\xfe", b"data: \xff"])
def test_junk_at_the_end_is_told(junk: bytes) -> None:
    reader = EventReader()
    assert list(reader.feed(junk)) == []
    with pytest.raises(Garbled):
        reader.end()
