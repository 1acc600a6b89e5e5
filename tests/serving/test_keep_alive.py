"""One request after another on one connection, in order, and no more of them than can be held."""

from __future__ import annotations

import asyncio
import threading

import pytest
from starlette.types import Receive, Scope, Send
from tests.serving.peer import answer, echo, request, serving, whole_body

from masthead.serving.limits import MAX_BEGUN, MAX_PIECE, Limits


def test_a_connection_stays_for_the_next_request() -> None:
    with serving(echo) as served, served.connect() as peer:
        for path in ("/first", "/second"):
            peer.send(request(path))
            got = peer.answer()
            assert (got.status, got.body) == (200, path.encode())
            assert "connection" not in got.headers
        assert {each["client"] for each in served.scopes} == {peer.socket.getsockname()}


def test_pipelined_requests_are_answered_in_order() -> None:
    async def later_first(scope: Scope, receive: Receive, send: Send) -> None:
        for _ in range(100 if scope["path"] == "/slow" else 0):
            await asyncio.sleep(0)
        await answer(send, scope["path"].encode())

    with serving(later_first) as served, served.connect() as peer:
        peer.send(request("/slow") + request("/b") + request("/c", "POST", b"body") + request("/d"))
        assert [peer.answer().body for _ in range(4)] == [b"/slow", b"/b", b"/c", b"/d"]


def test_one_request_may_come_byte_by_byte() -> None:
    with serving(echo) as served, served.connect() as peer:
        for each in request("/long/path?x=y", "POST", b"some body", X_Some_Header="value"):
            peer.send(bytes([each]))
        assert peer.answer().body == b"some body"
        assert (b"x-some-header", b"value") in served.scopes[0]["headers"]
        assert served.scopes[0]["query_string"] == b"x=y"


class Gate:
    """An application that waits until the test lets it go on."""

    def __init__(self, *, reads: bool = True) -> None:
        self.entered = threading.Event()
        self._open = threading.Event()
        self._reads = reads

    def open(self) -> None:
        self._open.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.entered.set()
        await asyncio.to_thread(self._open.wait, 20)
        body = await whole_body(receive) if self._reads else b""
        await answer(send, b"%d" % len(body))


def test_endless_pipelining_is_held_back() -> None:
    gate = Gate()
    with serving(gate) as served, served.connect() as peer:
        sent = peer.send_what_fits(request("/again") * 400)
        assert gate.entered.wait(20)
        connection = served.only_connection()
        assert served.call(lambda: connection.is_held)
        assert 0 < served.call(lambda: len(connection._waiting)) <= MAX_BEGUN
        assert len(served.paths) == 1
        gate.open()
        whole = sent // len(request("/again"))
        assert all(peer.answer().body == b"0" for _ in range(whole))
        assert served.paths == ["/again"] * whole


@pytest.mark.parametrize("has_body", [False, True])
def test_the_shortest_requests_are_begun_a_hundred_at_a_time(has_body: bool) -> None:
    """Whether they come alone or with the end of another one's body."""
    most = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal most
        most = max(most, len(served.only_connection()._waiting))
        await answer(send, await whole_body(receive))

    with serving(app) as served, served.connect() as peer:
        if has_body:
            peer.send(request("/", "POST", Content_Length="8") + b"half")
            served.wait_until(lambda: bool(served.paths))
            peer.send(b"body" + b"GET / HTTP/1.1\r\n\r\n" * 2000)
            assert peer.answer().body == b"halfbody"
        else:
            peer.send(b"GET / HTTP/1.1\r\n\r\n" * 2000)
        assert all(peer.answer().status == 200 for _ in range(2000))
        assert 0 < most <= MAX_BEGUN


def test_a_body_that_looks_like_requests_is_one() -> None:
    body = b"GET / HTTP/1.1\r\n\r\n" * 5000
    with serving(echo) as served, served.connect() as peer:
        peer.send(request("/a", "POST", body) + request("/b"))
        assert [peer.answer().body for _ in range(2)] == [body, b"/b"]


def test_a_body_that_nobody_reads_is_held_back_and_complete_in_the_end() -> None:
    gate = Gate()
    body = b"x" * 40_000_000
    with serving(gate) as served, served.connect() as peer:
        head = request("/upload", "POST", Content_Length=str(len(body)))
        sent = peer.send_what_fits(head + body)
        assert gate.entered.wait(20)
        connection = served.only_connection()
        assert sent < len(body)
        latest = connection._latest
        assert latest is not None
        held = served.call(lambda: latest.buffered + len(connection._unfed))
        assert served.call(lambda: connection.is_held)
        assert held <= 64 * 1024 + MAX_PIECE + 256 * 1024
        gate.open()
        peer.send((head + body)[sent:])
        assert peer.answer().body == b"40000000"


def test_what_was_pipelined_behind_a_large_body_is_answered_too() -> None:
    body = b"y" * 300_000
    with serving(echo) as served, served.connect() as peer:
        peer.send(request("/a", "POST", body) + request("/b") + request("/c", "POST", body))
        assert [peer.answer().body for _ in range(3)] == [body, b"/b", body]


@pytest.mark.parametrize("pieces", [1, 3])
def test_a_chunked_body_arrives_without_its_chunks_and_trailers(pieces: int) -> None:
    chunks = b"".join(b"5;note=x\r\nhello\r\n" for _ in range(pieces))
    with serving(echo) as served, served.connect() as peer:
        peer.send(request("/", "POST", Transfer_Encoding="chunked") + chunks)
        peer.send(b"0\r\nX-Tenant-Id: smuggled\r\nHost: b.example\r\n\r\n" + request("/next"))
        assert peer.answer().body == b"hello" * pieces
        assert peer.answer().body == b"/next"
        names = [name for name, _ in served.scopes[0]["headers"]]
        assert names == [b"host", b"transfer-encoding"]


@pytest.mark.parametrize(
    "trailer",
    [
        b"Connection: close",
        b"Proxy-Connection: close",
        b"Upgrade: h2c",
        b"Connection: upgrade\r\nUpgrade: h2c",
        b"Content-Length: 30",
        b"Transfer-Encoding: chunked",
    ],
)
def test_a_trailer_has_no_say_about_the_connection(trailer: bytes) -> None:
    """The answer to the request before would already have said that it stays."""
    with serving(echo) as served, served.connect() as peer:
        peer.send(request("/", "POST", Transfer_Encoding="chunked"))
        peer.send(b"5\r\nhello\r\n0\r\n" + trailer + b"\r\n\r\n" + request("/next"))
        assert peer.answer().status == 400
        assert peer.is_closed()
        assert served.paths == ["/"]


def test_endless_trailers_are_refused() -> None:
    with serving(echo, Limits(max_head=4096)) as served, served.connect() as peer:
        peer.send(request("/", "POST", Transfer_Encoding="chunked") + b"0\r\nX-A: ")
        peer.send(b"a" * (4096 + 2 * MAX_PIECE))
        assert peer.answer().status == 431
        assert peer.is_closed()


def test_a_large_body_that_is_never_read_does_not_stop_the_connection() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        # All of it has arrived by then, and is more than is read unasked.
        latest = served.only_connection()._latest
        while latest is None or not latest.is_whole:
            await asyncio.sleep(0.001)
        await answer(send, scope["path"].encode())

    with serving(app) as served, served.connect() as peer:
        for path in ("/a", "/b"):
            peer.send(request(path, "POST", b"x" * (64 * 1024 + 100)))
            assert peer.answer().body == path.encode()
