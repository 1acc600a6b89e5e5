"""However the bytes are cut, requests are the same; and whatever they are, the server goes on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.serving.peer import Served, echo, request, serving

BODIES = st.binary(max_size=200)
PATHS = st.text("abc/", max_size=20).map(lambda text: "/" + text)
PLAIN = st.builds(request, PATHS, st.sampled_from(["GET", "DELETE"]))
SIZED = st.builds(request, PATHS, st.just("POST"), BODIES)
CHUNKED = st.lists(st.binary(min_size=1, max_size=50), max_size=5).map(
    lambda chunks: (
        request("/chunks", "POST", Transfer_Encoding="chunked")
        + b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in chunks)
        + b"0\r\n\r\n"
    )
)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(echo) as found:
        yield found


def answers_to(served: Served, pieces: list[bytes], count: int) -> list[bytes]:
    with served.connect() as peer:
        for each in pieces:
            peer.send(each)
        return [peer.answer().body for _ in range(count)]


@settings(max_examples=60, deadline=None)
@given(st.data(), st.lists(st.one_of(PLAIN, SIZED, CHUNKED), min_size=1, max_size=6))
def test_cuts_make_no_difference(
    served: Served, data: st.DataObject, requests: list[bytes]
) -> None:
    raw = b"".join(requests)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(raw) - 1), max_size=8)))
    pieces = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    one_by_one = [answers_to(served, [each], 1)[0] for each in requests]
    assert answers_to(served, pieces, len(requests)) == one_by_one


@settings(max_examples=60, deadline=None)
@given(st.one_of(PLAIN, SIZED, CHUNKED), st.data())
def test_a_broken_request_is_answered_or_waited_for(
    served: Served, raw: bytes, data: st.DataObject
) -> None:
    """Never a request too many, and never an end of the server."""
    before = len(served.scopes)
    at = data.draw(st.integers(0, len(raw) - 1))
    put = data.draw(st.binary(max_size=4))
    with served.connect() as peer:
        peer.send(raw[:at] + put + raw[at + 1 :])
        peer.socket.shutdown(1)
        got = peer.rest()
    assert got == b"" or got.startswith(b"HTTP/1.1 ")
    assert len(served.scopes) - before <= 1
    assert answers_to(served, [request("/alive")], 1) == [b"/alive"]
