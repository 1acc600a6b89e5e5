"""Bodies that are waited for, bodies that nobody wants, and clients that leave."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send
from tests.serving.peer import answer, echo, request, serving, whole_body

from masthead.serving.limits import Limits


async def refuses(scope: Scope, receive: Receive, send: Send) -> None:
    await answer(send, b"too large", 413)


class TestExpect:
    def test_the_body_is_asked_for_when_the_application_wants_it(self) -> None:
        with serving(echo) as served, served.connect() as peer:
            head = request("/", "POST", Expect="100-continue", Content_Length="4")
            peer.send(head)
            assert peer.answer().status == 100
            peer.send(b"body")
            assert peer.answer().body == b"body"

    def test_it_is_not_asked_for_by_one_that_answers_without_it(self) -> None:
        with serving(refuses) as served, served.connect() as peer:
            peer.send(request("/", "POST", Expect="100-continue", Content_Length="4"))
            got = peer.answer()
            assert (got.status, got.headers["connection"]) == (413, "close")
            assert peer.is_closed()

    def test_nor_when_it_is_there_already(self) -> None:
        with serving(echo) as served, served.connect() as peer:
            peer.send(request("/", "POST", b"body", Expect="100-continue"))
            assert peer.answer().body == b"body"

    def test_http_1_0_does_not_know_it(self) -> None:
        with serving(echo) as served, served.connect() as peer:
            peer.send(
                request("/", "POST", version="1.0", Expect="100-continue", Content_Length="4")
            )
            served.wait_until(lambda: len(served.paths) == 1)
            assert peer.is_silent()
            peer.send(b"body")
            assert peer.answer().body == b"body"


class TestEarlyAnswers:
    @pytest.mark.parametrize("framing", ["length", "chunks"])
    def test_who_sends_everything_first_gets_the_answer_all_the_same(self, framing: str) -> None:
        piece, count = b"x" * 1_000_000, 100
        headers = {"Content_Length": str(len(piece) * count)}
        if framing == "chunks":
            headers = {"Transfer_Encoding": "chunked"}
            piece = b"f4240\r\n" + piece + b"\r\n"
        with serving(refuses) as served, served.connect() as peer:
            peer.send(request("/", "POST", b"", "1.1", **headers))
            for _ in range(count):
                peer.send(piece)
            got = peer.answer()
            assert (got.status, got.body) == (413, b"too large")
            assert got.headers["connection"] == "close"
            assert peer.is_closed()
            assert served.paths == ["/"]

    def test_nothing_of_it_is_kept_and_nothing_in_it_is_executed(self) -> None:
        with serving(refuses) as served, served.connect() as peer:
            peer.send(request("/", "POST", Content_Length="1000000"))
            assert peer.answer().status == 413
            peer.send(request("/smuggled") * 10_000)
            connection = served.only_connection()
            served.wait_until(lambda: connection.discarded > 300_000)
            assert connection._unfed == b""
            peer.socket.shutdown(socket.SHUT_WR)
            served.wait_until(lambda: not served.connections)
            assert served.paths == ["/"]

    def test_who_never_stops_is_cut_off(self) -> None:
        with serving(refuses, Limits(max_discarded=10_000_000)) as served, served.connect() as peer:
            peer.send(request("/", "POST", Content_Length="10000000000"))
            # The rest of it fits into no socket's memory.
            with pytest.raises((ConnectionResetError, BrokenPipeError)):
                peer.send(b"x" * 100_000_000)

    def test_who_stays_on_is_cut_off_after_a_while(self) -> None:
        with serving(refuses) as served, served.connect() as peer:
            peer.send(request("/", "POST", Content_Length="1000000"))
            assert peer.answer().status == 413
            served.look_after(0, 24)
            assert len(served.connections) == 1
            served.look_after(31)
            served.wait_until(lambda: not served.connections)


class Watcher:
    """Reads the body, then waits for the client to leave."""

    def __init__(self, *, answers: bool = False) -> None:
        self.messages: list[dict[str, Any]] = []
        self.ended = asyncio.Event()
        self._answers = answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            while not self.messages or self.messages[-1]["type"] != "http.disconnect":
                self.messages.append(dict(await receive()))
            # As in other servers, nobody is there to mind.
            await answer(send, b"late")
        finally:
            self.ended.set()

    @property
    def kinds(self) -> list[str]:
        return [each["type"] for each in self.messages]


class TestDisconnects:
    @pytest.mark.parametrize("body", [b"", b"body"])
    @pytest.mark.parametrize("is_reset", [False, True])
    def test_whoever_waits_is_told_that_the_client_has_left(
        self, body: bytes, is_reset: bool
    ) -> None:
        watcher = Watcher()
        with serving(watcher) as served:
            with served.connect() as peer:
                peer.send(request("/", "POST", body))
                served.wait_until(lambda: bool(watcher.messages))
                if is_reset:
                    lingers = struct.pack("ii", 1, 0)
                    peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, lingers)
            served.on_the_loop(watcher.ended.wait())
            assert watcher.kinds == ["http.request", "http.disconnect"]
            served.wait_until(lambda: not served.connections)

    def test_a_body_that_breaks_off_is_a_disconnect(self) -> None:
        watcher = Watcher()
        with serving(watcher) as served:
            with served.connect() as peer:
                peer.send(request("/", "POST", Content_Length="10") + b"half")
                served.wait_until(lambda: bool(watcher.messages))
            served.on_the_loop(watcher.ended.wait())
            assert watcher.messages[-1]["type"] == "http.disconnect"
            assert all(each.get("more_body", True) for each in watcher.messages)

    def test_who_only_stops_sending_is_answered(self) -> None:
        release = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            body = await whole_body(receive)
            await release.wait()
            await answer(send, body)

        with serving(app) as served, served.connect() as peer:
            peer.send(request("/", "POST", b"one") + request("/", "POST", b"two"))
            peer.socket.shutdown(socket.SHUT_WR)
            served.wait_until(lambda: bool(served.paths))
            served.call(release.set)
            assert [peer.answer().body for _ in range(2)] == [b"one", b"two"]
            assert peer.is_closed()

    def test_once_answered_there_is_nothing_to_wait_for(self) -> None:
        kinds = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await answer(send, b"done")
            kinds.extend([(await receive())["type"] for _ in range(2)])

        with serving(app) as served, served.connect() as peer:
            peer.send(request())
            assert peer.answer().body == b"done"
            peer.send(request(Connection="close"))
            peer.rest()
            assert kinds == ["http.request", "http.disconnect"] * 2

    def test_a_sender_that_waits_for_a_reader_is_let_go_when_that_one_leaves(self) -> None:
        ended = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for _ in range(1000):
                await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
            ended.set()

        with serving(app) as served:
            with served.connect() as peer:
                peer.send(request())
                peer.until(b"xxx")
            served.on_the_loop(ended.wait())
            served.wait_until(lambda: not served.connections)

    def test_a_cancelled_wait_leaves_the_others_alone(self) -> None:
        """As in a stream that watches for its client's leaving only as long as it runs."""

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await whole_body(receive)
            for _ in range(3):
                leaving: asyncio.Future[Any] = asyncio.ensure_future(receive())
                await asyncio.sleep(0)
                leaving.cancel()
                await asyncio.gather(leaving, return_exceptions=True)
            await answer(send, b"fine")

        with serving(app) as served, served.connect() as peer:
            peer.send(request() + request())
            assert [peer.answer().body for _ in range(2)] == [b"fine", b"fine"]

    def test_so_does_one_of_two_that_wait_at_the_same_time(self) -> None:
        kinds: list[str] = []
        is_waiting, ended = asyncio.Event(), asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await whole_body(receive)
            both = [asyncio.ensure_future(receive()) for _ in range(2)]
            await asyncio.sleep(0)
            both[0].cancel()
            is_waiting.set()
            kinds.append((await both[1])["type"])
            ended.set()

        with serving(app) as served:
            with served.connect() as peer:
                peer.send(request())
                served.on_the_loop(is_waiting.wait())
            served.on_the_loop(ended.wait())
            assert kinds == ["http.disconnect"]
