"""What hostile or broken peers may not do: huge heads, slow heads, idling, not taking answers."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest
from starlette.types import Receive, Scope, Send
from tests.serving.peer import Answer, Served, answer, echo, request, serving, whole_body

from masthead.serving.limits import MAX_PIECE, Limits

HALF_A_HEAD = b"GET / HTTP/1.1\r\nHost: a.example\r\nX-A: "


def is_refusal(got: Answer, status: int) -> bool:
    error = json.loads(got.body)["error"]
    assert set(error) == {"code", "message", "details"}
    assert got.headers["connection"] == "close"
    assert got.headers["x-request-id"]
    assert got.headers["content-type"] == "application/json"
    return (got.status, error["code"]) == (status, "BAD_REQUEST")


class TestHeads:
    @pytest.mark.parametrize("size", [65_000, MAX_PIECE, 3 * MAX_PIECE])
    def test_a_head_of_nearly_64_kib_is_fine(self, size: int) -> None:
        with serving(echo) as served, served.connect() as peer:
            peer.send(request("/a", X_Long="v" * size))
            assert peer.answer().body == b"/a"
            peer.send(request("/" + "p" * size) + request("/b"))
            assert [len(peer.answer().body), peer.answer().body] == [size + 1, b"/b"]

    @pytest.mark.parametrize(
        "raw",
        [
            request("/", X_Long="v" * 66_000),
            request("/" + "p" * 66_000),
            request("/", X_A="v" * 33_000, X_B="v" * 33_000),
            HALF_A_HEAD + b"v" * 200_000,
            b"GET /" + b"p" * 200_000,
            request("/") + request("/second", X_Long="v" * 66_000),
        ],
    )
    def test_a_larger_one_is_refused(self, raw: bytes) -> None:
        with serving(echo) as served, served.connect() as peer:
            peer.send(raw)
            while (got := peer.answer()).status == 200:
                pass
            assert is_refusal(got, 431)
            assert peer.is_closed()
            assert "/second" not in served.paths

    def test_one_header_too_many_is_refused(self) -> None:
        lines = [f"x-{number}: v\r\n".encode() for number in range(100)]
        with serving(echo) as served:
            with served.connect() as peer:
                peer.send(b"GET /a HTTP/1.1\r\n" + b"".join(lines) + b"\r\n")
                assert peer.answer().body == b"/a"
            with served.connect() as peer:
                peer.send(b"GET /b HTTP/1.1\r\nhost: a\r\n" + b"".join(lines) + b"\r\n")
                assert is_refusal(peer.answer(), 431)
            assert served.paths == ["/a"]

    def test_so_is_one_in_a_head_that_goes_on(self) -> None:
        with serving(echo) as served, served.connect() as peer:
            peer.send(b"GET /a HTTP/1.1\r\n" + b"x: v\r\n" * 102)
            assert is_refusal(peer.answer(), 431)
            assert served.paths == []


def awaits_body(served: Served) -> bool:
    return any(each.current and each.current.awaits_body for each in served.connections)


class TestTimes:
    def test_a_head_that_drips_is_refused_after_30_seconds(self) -> None:
        with serving(echo) as served, served.connect() as peer:
            peer.send(HALF_A_HEAD)
            served.wait_until(lambda: any(not c.is_between for c in served.connections))
            served.look_after(1)
            peer.send(b"a")
            served.look_after(6, 11, 16, 21)
            assert peer.is_silent()
            peer.send(b"a")
            served.look_after(26, 31)
            assert is_refusal(peer.answer(), 408)
            assert peer.is_closed()

    def test_so_is_a_second_head_on_the_same_connection(self) -> None:
        with serving(echo) as served, served.connect() as peer:
            peer.send(request("/a") + HALF_A_HEAD)
            assert peer.answer().body == b"/a"
            served.look_after(1, 31)
            assert is_refusal(peer.answer(), 408)

    def test_who_says_nothing_at_all_is_left_after_30_seconds(self) -> None:
        with serving(echo) as served, served.connect() as peer:
            served.wait_until(lambda: bool(served.connections))
            served.look_after(0, 24)
            assert peer.is_silent()
            served.look_after(30)
            assert peer.is_closed()

    def test_who_says_nothing_more_is_left_after_75(self) -> None:
        with serving(echo) as served, served.connect() as peer:
            peer.send(request())
            peer.answer()
            served.look_after(0, 40, 69)
            assert peer.is_silent()
            peer.send(request())
            assert peer.answer().status == 200
            served.look_after(70, 139)
            assert peer.is_silent()
            served.look_after(145)
            assert peer.is_closed()

    def test_empty_lines_are_no_sign_of_life(self) -> None:
        with serving(echo) as served, served.connect() as peer:
            peer.send(request())
            peer.answer()
            served.look_after(0)
            peer.send(b"\r\n\r\n")
            served.look_after(40, 76)
            assert peer.is_closed()

    def test_a_request_may_take_as_long_as_it_takes(self) -> None:
        release = asyncio.Event()

        async def slow(scope: Scope, receive: Receive, send: Send) -> None:
            await release.wait()
            await echo(scope, receive, send)

        with serving(slow) as served, served.connect() as peer:
            peer.send(request("/", "POST", Content_Length="4") + b"bo")
            served.wait_until(lambda: bool(served.paths))
            served.look_after(0, 100, 1000)
            peer.send(b"dy")
            served.call(release.set)
            assert peer.answer().body == b"body"

    def test_a_body_that_is_waited_for_must_go_on_within_60(self) -> None:
        with serving(echo) as served, served.connect() as peer:
            peer.send(request("/", "POST", Content_Length="9") + b"ha")
            served.wait_until(lambda: awaits_body(served))
            served.look_after(0, 54)
            assert peer.is_silent()
            before = served.only_connection().awaited_pieces
            peer.send(b"lf")
            served.wait_until(lambda: served.only_connection().awaited_pieces > before)
            served.wait_until(lambda: awaits_body(served))
            served.look_after(59, 113)
            assert peer.is_silent()
            served.look_after(119)
            assert is_refusal(peer.answer(), 408)
            assert peer.is_closed()
            peer.socket.shutdown(socket.SHUT_WR)
            served.wait_until(lambda: not served.connections)

    def test_the_framing_of_chunks_is_no_body(self) -> None:
        with serving(echo) as served, served.connect() as peer:
            peer.send(request("/", "POST", Transfer_Encoding="chunked") + b"2\r\nha\r\n0000")
            served.wait_until(lambda: awaits_body(served))
            for seconds in range(0, 56, 5):
                served.look_after(seconds)
                peer.send(b"0")
            served.look_after(60)
            assert is_refusal(peer.answer(), 408)

    def test_nobody_is_refused_while_the_application_does_something_else(self) -> None:
        """It has asked for more of the body once, and has given that up."""
        has_given_up, release = asyncio.Event(), asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await receive()
            asking = asyncio.ensure_future(receive())
            await asyncio.sleep(0)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            has_given_up.set()
            await release.wait()
            await echo(scope, receive, send)

        with serving(app) as served, served.connect() as peer:
            peer.send(request("/", "POST", Content_Length="8") + b"half")
            served.on_the_loop(has_given_up.wait())
            served.look_after(0, 100, 1000)
            peer.send(b"body")
            served.call(release.set)
            assert peer.answer().body == b"body"

    def test_nor_while_it_only_waits_for_the_client_to_leave(self) -> None:
        has_read, release = asyncio.Event(), asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            body = await whole_body(receive)
            leaving = asyncio.ensure_future(receive())
            has_read.set()
            await release.wait()
            await answer(send, body)
            await leaving

        with serving(app) as served, served.connect() as peer:
            peer.send(request("/", "POST", b"body"))
            served.on_the_loop(has_read.wait())
            served.look_after(0, 100, 1000)
            served.call(release.set)
            assert peer.answer().body == b"body"

    def test_who_reads_slowly_but_steadily_is_not_cut_off(self) -> None:
        """What the kernel holds goes down for long before it asks us for more."""

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await answer(send, b"x" * 50_000_000)

        with serving(app) as served, served.connect() as peer:
            peer.send(request())
            peer.until(b"xxx")
            connection = served.only_connection()
            served.wait_until(lambda: connection.is_full)
            for look in range(10):
                # More than the peer's own memory holds, so that some of it comes from here.
                peer.take(300_000)
                served.wait_until_steady(connection._untaken)
                served.look_after(50 * look)
            assert not connection.is_lost
            served.look_after(450 + 55)
            assert connection.is_lost

    @pytest.mark.parametrize("is_stream", [True, False])
    def test_who_does_not_take_the_answer_is_cut_off_after_60(self, is_stream: bool) -> None:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for _ in range(1000 if is_stream else 1):
                size = 65_536 if is_stream else 50_000_000
                await send({"type": "http.response.body", "body": b"x" * size, "more_body": True})
            await send({"type": "http.response.body"})

        with serving(app) as served, served.connect() as peer:
            peer.send(request(Connection="close"))
            peer.until(b"xxx")
            connection = served.only_connection()
            served.wait_until(lambda: connection.is_full)
            served.wait_until_steady(connection.transport.get_write_buffer_size)
            served.look_after(0, 54)
            assert served.connections
            # Whoever takes something has another minute for the next of it.
            for _ in range(40):
                peer._more()
            served.wait_until_steady(connection.transport.get_write_buffer_size)
            served.look_after(60, 100)
            assert served.connections
            served.look_after(121)
            served.wait_until(lambda: not served.connections)
            with pytest.raises(ConnectionResetError):
                peer.rest()

    def test_a_short_answer_that_is_not_taken_does_not_keep_the_connection(self) -> None:
        """It fits into the transport's memory, so that nothing tells of it but the closing."""

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for _ in range(200):
                await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
            await send({"type": "http.response.body"})

        with serving(app) as served, served.connect() as peer:
            peer.send(request(Connection="close"))
            peer.until(b"xxx")
            connection = served.only_connection()
            served.wait_until_steady(connection.transport.get_write_buffer_size)
            served.look_after(0, 60, 120, 180)
            served.wait_until(lambda: not served.connections)

    def test_one_timer_looks_at_all_of_them(self) -> None:
        limits = Limits(sweep_seconds=0.01, head_seconds=0.05)
        with serving(echo, limits) as served, served.connect() as one, served.connect() as other:
            other.send(HALF_A_HEAD)
            assert one.is_closed()
            assert is_refusal(other.answer(), 408)
