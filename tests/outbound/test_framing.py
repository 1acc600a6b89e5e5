"""Heads and bodies of answers, cut anywhere."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.outbound.framing import (
    MAX_HEAD_BYTES,
    MAX_HEADS,
    Chunked,
    Counted,
    Head,
    UntilClosed,
    body_of,
    read_head,
)

CONTENT = b"data: one\n\ndata: two\r\n\r\n" + b"x" * 300
ENCODED = (
    b"A;name=value\r\n" + CONTENT[:10] + b"\r\n"
    b"01 \r\n" + CONTENT[10:11] + b"\r\n"
    b"%x\r\n" % len(CONTENT[11:]) + CONTENT[11:] + b"\r\n"
    b"0\r\nTrailer: 7\r\n\r\n"
)


@given(st.lists(st.integers(0, len(ENCODED))))
def test_where_chunks_are_cut_makes_no_difference(cuts: list[int]) -> None:
    body = Chunked()
    places = sorted({0, len(ENCODED), *cuts})
    content = b""
    for start, end in pairwise(places):
        if not body.is_complete:
            content += body.feed(ENCODED[start:end])
    assert content == CONTENT
    assert body.is_complete


@pytest.mark.parametrize(
    "raw",
    [
        b"\r\n",
        b"-1\r\n",
        b"+5\r\nhello\r\n",
        b"0x5\r\nhello\r\n",
        b"5_0\r\n",
        b" 5\r\nhello\r\n",
        b"5\r\nhello, world\r\n",
        b"5\r\nhello5\r\nworld\r\n",
        b"f" * 16 + b"\r\n",
        b"1" * 5000,
    ],
)
def test_chunks_that_are_none(raw: bytes) -> None:
    with pytest.raises(ValueError, match="chunk"):
        Chunked().feed(raw)


def test_a_chunk_without_its_end_is_not_complete() -> None:
    body = Chunked()
    assert body.feed(b"5\r\nhel") == b"hel"
    assert not body.end()


def test_a_body_with_a_length_ends_there() -> None:
    body = body_of(Head(200, {"content-length": "5"}))
    assert body.feed(b"hel") == b"hel"
    assert not body.end()
    assert body.feed(b"lo, world") == b"lo"
    assert body.is_complete
    assert body.end()
    assert body_of(Head(200, {"content-length": "0"})).is_complete


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    body = body_of(Head(200, {}))
    assert isinstance(body, UntilClosed)
    assert body.feed(b"hello") == b"hello"
    assert not body.is_complete
    assert body.end()
    assert body.is_complete


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        ({"transfer-encoding": "Chunked", "content-length": "5"}, Chunked),
        ({"content-length": "5"}, Counted),
    ],
)
def test_how_a_body_is_framed(headers: dict[str, str], kind: type) -> None:
    assert isinstance(body_of(Head(200, headers)), kind)


@pytest.mark.parametrize(
    "headers",
    [
        {"transfer-encoding": "gzip, chunked"},
        {"transfer-encoding": ""},
        {"content-length": "-5"},
        {"content-length": "5, 5"},
        {"content-length": "²"},
        {"content-length": "9" * 19},
        {"content-length": "9" * 5000},
    ],
)
def test_framings_that_are_none(headers: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="answer"):
        body_of(Head(200, headers))


HEAD = (
    b"HTTP/1.1 200 Gut\r\nContent-Type: text/plain\r\nretry-after:  7 \r\nX-A: 1\r\nx-a: 2\r\n\r\n"
)


def test_a_head_is_read_once_it_is_complete() -> None:
    for end in range(len(HEAD)):
        assert read_head(HEAD[:end]) is None
    found = read_head(HEAD + b"rest")
    assert found == (
        Head(200, {"content-type": "text/plain", "retry-after": "7", "x-a": "1, 2"}),
        b"rest",
    )


def test_what_comes_before_the_answer_is_skipped() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    assert read_head(early) is None
    found = read_head(early + b"HTTP/1.1 100\r\n\r\n" + HEAD)
    assert found is not None
    assert found[0].status == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 20\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: 1\r\n folded\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nName : 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * MAX_HEAD_BYTES,
    ],
)
def test_heads_that_are_none(raw: bytes) -> None:
    with pytest.raises(ValueError, match="answer"):
        read_head(raw)


def test_interim_answers_have_an_end() -> None:
    interim, answer = b"HTTP/1.1 103 Early Hints\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\nx"
    assert read_head(interim * (MAX_HEADS - 1) + answer) == (Head(200, {}), b"x")
    with pytest.raises(ValueError, match="does not come"):
        read_head(interim * MAX_HEADS)
