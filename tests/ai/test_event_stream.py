"""The reader of event streams, cut anywhere and in every spelling."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.ai.event_stream import MAX_EVENT_CHARACTERS, Event, EventReader, Garbled

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
    Event("first", "one\ntwo"),
    Event("", "día 🌕"),
    Event("", "\n spaced"),
    Event("last", "{}"),
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
    for _ in range(MAX_EVENT_CHARACTERS // 1010):
        assert list(reader.feed(line)) == []
    with pytest.raises(Garbled):
        list(reader.feed(line * 20))


def test_broken_text_is_told() -> None:
    with pytest.raises(Garbled):
        list(EventReader().feed(b"data: \xff\n\n"))
