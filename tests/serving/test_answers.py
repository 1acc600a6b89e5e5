"""How an answer is framed, whatever the application does, and that nothing follows a broken one."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.serving.peer import Answer, echo, request, serving

Headers = list[tuple[bytes, bytes]]


def app_that_sends(*messages: dict[str, Any], raises: bool = False) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for each in messages:
            await send(dict(each))
        if raises:
            raise ValueError("after that")

    return app


def start(status: int = 200, *headers: tuple[bytes, bytes]) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": list(headers)}


def body(content: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": content, "more_body": more}


def length(number: int) -> tuple[bytes, bytes]:
    return (b"content-length", b"%d" % number)


def asked(app: ASGIApp, raw: bytes, *, is_head: bool = False) -> tuple[Answer, bytes | None]:
    """The answer, and what followed it; None if the connection stayed for a next request."""
    with serving(app) as served, served.connect() as peer:
        peer.send(raw)
        got = peer.answer(is_head=is_head)
        if "connection" in got.headers:
            return got, peer.rest()
        peer.send(request("/next", "HEAD", Connection="close"))
        peer.answer(is_head=True)
        assert peer.is_closed()
        return got, None


def test_the_head_has_a_date_and_says_nothing_of_the_server() -> None:
    got, _ = asked(echo, request())
    assert re.search(rb"\r\ndate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n", got.head)
    assert set(got.headers) == {"date", "content-length"}


def test_a_date_of_the_applications_own_is_not_sent_twice() -> None:
    app = app_that_sends(start(200, (b"date", b"today"), length(0)), body(b""))
    assert asked(app, request())[0].head.count(b"date: ") == 1


def test_http_1_0_is_answered_without_chunks_and_closed() -> None:
    app = app_that_sends(start(), body(b"first ", more=True), body(b"second"))
    got, _ = asked(app, request(version="1.0", Connection="keep-alive"))
    assert got.body == b"first second"
    assert got.headers["connection"] == "close"
    assert "transfer-encoding" not in got.headers


@pytest.mark.parametrize("wish", ["close", "x, Close"])
def test_a_client_that_wants_to_close_is_told_so(wish: str) -> None:
    got, rest = asked(echo, request("/a", Connection=wish) + request("/b"))
    assert (got.headers["connection"], got.body, rest) == ("close", b"/a", b"")


def test_an_application_that_wants_to_close_does() -> None:
    app = app_that_sends(start(200, length(1), (b"connection", b"close")), body(b"x"))
    got, rest = asked(app, request() + request())
    assert (got.head.count(b"connection: close"), rest) == (1, b"")


def test_an_answer_without_a_length_comes_in_chunks() -> None:
    app = app_that_sends(start(), body(b"a" * 300, more=True), body(b"", more=True), body(b"b"))
    got, rest = asked(app, request())
    assert (got.headers["transfer-encoding"], got.body, rest) == (
        "chunked",
        b"a" * 300 + b"b",
        None,
    )


def test_an_empty_answer_without_a_length_ends() -> None:
    assert asked(app_that_sends(start(), body(b"")), request())[0].body == b""


def test_the_applications_own_framing_is_not_sent() -> None:
    app = app_that_sends(start(200, (b"transfer-encoding", b"chunked"), length(2)), body(b"ok"))
    got, rest = asked(app, request())
    assert ("transfer-encoding" in got.headers, got.body, rest) == (False, b"ok", None)


def test_a_head_request_gets_the_length_and_no_body() -> None:
    app = app_that_sends(start(200, length(5)), body(b"hello"))
    got, rest = asked(app, request(method="HEAD"), is_head=True)
    assert (got.headers["content-length"], rest) == ("5", None)


def test_a_head_request_to_a_stream_gets_no_chunks() -> None:
    app = app_that_sends(start(), body(b"hello", more=True), body(b""))
    got, rest = asked(app, request(method="HEAD"), is_head=True)
    assert ("transfer-encoding" in got.headers, rest) == (False, None)


@pytest.mark.parametrize(("status", "has_length"), [(204, False), (304, True)])
def test_answers_that_have_no_body_have_none(status: int, has_length: bool) -> None:
    app = app_that_sends(start(status, length(5)), body(b"hello"))
    got, rest = asked(app, request())
    assert (got.status, "content-length" in got.headers, rest) == (status, has_length, None)


def test_a_large_body_arrives() -> None:
    content = b"0123456789" * 1_000_000
    app = app_that_sends(start(200, length(len(content))), body(content))
    assert asked(app, request())[0].body == content


def test_a_status_without_a_name_is_sent() -> None:
    assert asked(app_that_sends(start(299, length(0)), body(b"")), request())[0].status == 299


class TestBrokenAnswers:
    def cut(self, app: ASGIApp) -> bytes:
        """All that a client gets which sends two requests."""
        with serving(app) as served, served.connect() as peer:
            peer.send(request("/a") + request("/b"))
            got = peer.rest()
            assert served.paths == ["/a"]
            return got

    def test_a_body_that_is_too_short_ends_the_connection(self) -> None:
        got = self.cut(app_that_sends(start(200, length(10)), body(b"short")))
        assert got.endswith(b"content-length: 10\r\n\r\nshort")

    def test_a_body_that_is_too_long_is_cut_off(self) -> None:
        got = self.cut(app_that_sends(start(200, length(4)), body(b"much longer")))
        assert got.endswith(b"content-length: 4\r\n\r\nmuch")

    def test_so_is_one_whose_last_part_is_too_long(self) -> None:
        messages = start(200, length(4)), body(b"much", more=True), body(b"longer")
        assert self.cut(app_that_sends(*messages)).endswith(b"\r\n\r\nmuch")

    def test_an_application_that_breaks_off_a_stream_cuts_the_connection(self) -> None:
        got = self.cut(app_that_sends(start(), body(b"part", more=True), raises=True))
        assert got.endswith(b"4\r\npart\r\n")

    def test_so_does_one_that_returns_in_the_middle(self) -> None:
        got = self.cut(app_that_sends(start(200, length(9)), body(b"part", more=True)))
        assert got.endswith(b"\r\n\r\npart")

    @pytest.mark.parametrize(
        "app",
        [
            app_that_sends(raises=True),
            app_that_sends(),
            app_that_sends(start(200, length(3))),
            app_that_sends(start(200, length(3)), raises=True),
            app_that_sends(start(200, (b"content-length", b"x")), body(b"")),
            app_that_sends(start(200, length(3), length(3)), body(b"abc")),
            app_that_sends(start(200, (b"Content-Length", b"3")), body(b"abc")),
            app_that_sends(body(b"no start")),
        ],
    )
    def test_an_application_without_an_answer_is_answered_for(self, app: ASGIApp) -> None:
        got = self.cut(app)
        assert got.startswith(b"HTTP/1.1 500 ")
        head, _, content = got.partition(b"\r\n\r\n")
        assert b"\r\nconnection: close" in head
        assert b"\r\nx-request-id: " in head
        assert json.loads(content)["error"]["code"] == "INTERNAL_ERROR"

    def test_a_cut_answer_to_http_1_0_does_not_look_complete(self) -> None:
        app = app_that_sends(start(), body(b"part", more=True), raises=True)
        with serving(app) as served, served.connect() as peer:
            peer.send(request(version="1.0"))
            with pytest.raises(ConnectionResetError):
                peer.rest()

    @pytest.mark.parametrize("evil", [b"a\r\nset-cookie: x", b"a\nb", b"a\rb", b"a\0b"])
    @pytest.mark.parametrize("in_name", [False, True])
    def test_no_header_gets_a_line_of_its_own(self, evil: bytes, in_name: bool) -> None:
        header = (evil, b"value") if in_name else (b"name", evil)
        got = self.cut(app_that_sends(start(200, length(0), header), body(b"")))
        assert got.startswith(b"HTTP/1.1 500 ")
        assert b"set-cookie" not in got


def test_sending_waits_for_a_slow_reader_and_for_nobody_else() -> None:
    piece = b"z" * 100_000
    sent: list[int] = []
    went_on = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start())
        for number in range(150):
            await send(body(piece, more=True))
            sent.append(number)
        await send(body(b""))
        went_on.set()

    with serving(app) as served, served.connect() as peer:
        peer.send(request())
        peer.until(b"zzz")
        assert 0 < served.wait_until_steady(lambda: len(sent)) < 150
        assert peer.answer().body == piece * 150
        served.on_the_loop(went_on.wait())


def test_the_head_of_a_stream_is_sent_before_its_body() -> None:
    begun, release = asyncio.Event(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start())
        begun.set()
        await release.wait()
        await send(body(b"end"))

    with serving(app) as served, served.connect() as peer:
        peer.send(request())
        peer.until(b"\r\n\r\n")
        served.call(release.set)
        assert peer.answer().body == b"end"


def test_an_answer_is_one_piece() -> None:
    """So that a client that looks at the head has the body as well."""
    app = app_that_sends(start(200, length(1000)), body(b"x" * 1000))
    with serving(app) as served, served.connect() as peer:
        peer.send(request())
        assert peer.socket.recv(65536).endswith(b"x" * 1000)
