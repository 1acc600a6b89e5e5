"""The orderly end: whoever was let in is answered and asked to leave, and nobody holds it up."""

from __future__ import annotations

import asyncio
import threading

import pytest
from starlette.types import Receive, Scope, Send
from tests.serving.peer import Served, answer, echo, request, serving

from masthead.serving.limits import Limits
from masthead.serving.server import HttpServer


class Held:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.was_cancelled = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        await answer(send, scope["path"].encode())


async def ended(served: Served, seconds: float = 20) -> bool:
    server: HttpServer = served.server
    await server.gather()
    return await server.end(seconds) == 0


def test_idle_connections_are_closed_at_once() -> None:
    with serving(echo) as served, served.connect() as idle, served.connect() as new:
        idle.send(request())
        idle.answer()
        assert served.on_the_loop(ended(served))
        assert idle.is_closed()
        assert new.is_closed()


def test_what_is_in_flight_is_answered_with_a_farewell() -> None:
    held = Held()
    with serving(held) as served, served.connect() as peer:
        peer.send(request("/last"))
        served.wait_until(lambda: served.server.in_flight == 1)
        ending = served.begin(ended(served))
        served.wait_until(lambda: served.server.is_draining)
        served.call(held.release.set)
        got = peer.answer()
        assert (got.body, got.headers["connection"]) == (b"/last", "close")
        assert ending.result(20)


def test_a_busy_client_is_answered_until_it_has_been_asked_to_leave() -> None:
    with serving(echo) as served, served.connect() as peer:
        peer.send(request("/before"))
        assert "connection" not in peer.answer().headers
        ending = served.begin(ended(served))
        served.wait_until(lambda: served.server.is_draining)
        peer.send(request("/while"))
        got = peer.answer()
        assert (got.body, got.headers["connection"]) == (b"/while", "close")
        assert ending.result(20)


def test_who_comes_while_it_ends_is_answered() -> None:
    with serving(echo) as served:
        ending = served.begin(ended(served))
        served.wait_until(lambda: served.server.is_draining)
        with served.connect() as peer:
            peer.send(request("/late"))
            assert peer.answer().body == b"/late"
        assert ending.result(20)
        with pytest.raises(ConnectionRefusedError):
            served.connect()


def test_a_request_that_has_come_but_is_not_read_yet_is_answered() -> None:
    is_busy, is_sent = threading.Event(), threading.Event()

    async def end_after_that() -> bool:
        server: HttpServer = served.server
        server.is_draining = True
        is_busy.set()
        is_sent.wait(20)
        return await server.end(20) == 0

    with serving(echo) as served, served.connect() as peer:
        peer.send(request("/before"))
        peer.answer()
        ending = served.begin(end_after_that())
        assert is_busy.wait(20)
        peer.send(request("/unread"))
        is_sent.set()
        assert peer.answer().body == b"/unread"
        assert ending.result(20)


def test_an_answer_on_its_way_is_taken_to_its_end() -> None:
    content = b"x" * 30_000_000

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, content)

    with serving(app) as served, served.connect() as peer:
        peer.send(request())
        peer.until(b"xxx")
        ending = served.begin(ended(served))
        served.wait_until(lambda: served.server.is_draining)
        assert peer.answer().body == content
        assert ending.result(20)


def test_half_a_head_may_be_finished() -> None:
    raw = request("/whole")
    with serving(echo) as served, served.connect() as peer:
        peer.send(raw[:20])
        served.wait_until(lambda: any(not each.is_between for each in served.connections))
        ending = served.begin(ended(served))
        served.wait_until(lambda: served.server.is_draining)
        peer.send(raw[20:])
        assert peer.answer().body == b"/whole"
        assert ending.result(20)


def test_what_takes_too_long_is_cut_off_and_cancelled() -> None:
    held = Held()
    with serving(held) as served, served.connect() as peer:
        peer.send(request())
        served.wait_until(lambda: served.server.in_flight == 1)
        assert not served.on_the_loop(ended(served, 0.05))
        with pytest.raises(ConnectionResetError):
            peer.rest()
        assert held.was_cancelled
        assert not served.connections


def test_so_is_what_nobody_waits_for_any_more() -> None:
    held = Held()
    with serving(held) as served:
        with served.connect() as peer:
            peer.send(request("/", "POST", Content_Length="9"))
            served.wait_until(lambda: served.server.in_flight == 1)
        served.wait_until(lambda: served.only_connection().is_lost)
        assert not served.on_the_loop(ended(served, 0.05))
        assert held.was_cancelled
        assert not served.connections


def test_a_client_that_talks_on_after_its_answer_does_not_hold_it_up_for_long() -> None:
    async def refuses(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"no", 413)

    limits = Limits(last_linger_seconds=0.1)
    with serving(refuses, limits) as served, served.connect() as peer:
        peer.send(request("/", "POST", Content_Length="1000000"))
        assert peer.answer().body == b"no"
        assert served.on_the_loop(ended(served))
