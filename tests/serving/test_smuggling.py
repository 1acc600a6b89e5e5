"""Requests that two readers could see differently are refused, and nothing behind them is done."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs
from tests.serving.peer import echo, request, serving

BEHIND = request("/smuggled")


def head(*lines: str, start: str = "POST /victim HTTP/1.1") -> bytes:
    return "\r\n".join([start, "Host: a.example", *lines, "", ""]).encode("latin-1")


CHUNKED = "Transfer-Encoding: chunked"
TERMINATED = b"0\r\n\r\n"

CLASSICS = {
    "CL.TE": head("Content-Length: 6", CHUNKED) + TERMINATED + b"G",
    "TE.CL": head(CHUNKED, "Content-Length: 4") + b"5c\r\nGPOST / HTTP/1.1\r\n" + TERMINATED,
    "TE.TE": head(CHUNKED, "Transfer-Encoding: cow") + TERMINATED,
    "TE.TE the other way round": head("Transfer-Encoding: cow", CHUNKED, "Content-Length: 4"),
    "TE with something around": head("Transfer-Encoding: xchunked") + TERMINATED,
    "TE identity": head("Transfer-Encoding: identity"),
    "TE chunked, identity": head("Transfer-Encoding: chunked, identity") + TERMINATED,
    "TE space before the colon": head("Transfer-Encoding : chunked") + TERMINATED,
    "TE with a vertical tab": head("Transfer-Encoding: \x0bchunked") + TERMINATED,
    "TE of HTTP/1.0": head(CHUNKED, start="POST /victim HTTP/1.0") + TERMINATED,
    "two lengths": head("Content-Length: 4", "Content-Length: 5") + b"abcde",
    "one length twice": head("Content-Length: 4", "Content-Length: 4") + b"abcd",
    "a list of lengths": head("Content-Length: 4, 4") + b"abcd",
    "a signed length": head("Content-Length: +4") + b"abcd",
    "a negative length": head("Content-Length: -4") + b"abcd",
    "a hexadecimal length": head("Content-Length: 0x4") + b"abcd",
    "an empty length": head("Content-Length: ") + b"abcd",
    "an enormous length": head("Content-Length: 99999999999999999999999") + b"abcd",
    "a length with a gap": head("Content-Length: 1 0") + b"abcdefghij",
    "a folded header": head("X-A: one", " two"),
    "a folded length": head("Content-Length:", " 4") + b"abcd",
    "a space before the colon": head("X-A : one"),
    "a header without a colon": head("X-A"),
    "a header without a name": head(": one"),
    "a header that begins with a space": head(" X-A: one"),
    "NUL in a value": head("X-A: o\0ne"),
    "NUL in a name": head("X-\0A: one"),
    "a bare line feed in a value": head("X-A: one\nX-B: two"),
    "a bare carriage return in a value": head("X-A: one\rX-B: two"),
    "bare line feeds": b"GET /victim HTTP/1.1\nHost: a.example\n\n",
    "a bare line feed at the head's end": b"GET /victim HTTP/1.1\r\nHost: a.example\r\n\n",
    "a chunk's size of nothing": head(CHUNKED) + b"\r\nabcd\r\n" + TERMINATED,
    "a chunk's size in words": head(CHUNKED) + b"four\r\nabcd\r\n" + TERMINATED,
    "a chunk's size with 0x": head(CHUNKED) + b"0x4\r\nabcd\r\n" + TERMINATED,
    "a negative chunk": head(CHUNKED) + b"-4\r\nabcd\r\n" + TERMINATED,
    "an overflowing chunk": head(CHUNKED) + b"fffffffffffffffff\r\nabcd\r\n" + TERMINATED,
    "a chunk with a space in its size": head(CHUNKED) + b"4 \r\nabcd\r\n" + TERMINATED,
    "a chunk that is longer than its size": head(CHUNKED) + b"4\r\nabcdef\r\n" + TERMINATED,
    "a chunk that ends with a line feed": head(CHUNKED) + b"4\r\nabcd\n" + TERMINATED,
    "a size that ends with a line feed": head(CHUNKED) + b"4\nabcd\r\n" + TERMINATED,
    "a line feed in a chunk's note": head(CHUNKED) + b"4;a\nb\r\nabcd\r\n" + TERMINATED,
    "no version": b"GET /victim\r\nHost: a.example\r\n\r\n",
    "an old version": head(start="GET /victim HTTP/0.9"),
    "a new version": head(start="GET /victim HTTP/2.0"),
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no such method": head(start="SMUGGLE /victim HTTP/1.1"),
    "a method in lower case": head(start="get /victim HTTP/1.1"),
    "a space in the target": head(start="GET /vic tim HTTP/1.1"),
    "a control character in the target": head(start="GET /vic\x01tim HTTP/1.1"),
    "a target for OPTIONS alone": head(start="GET * HTTP/1.1"),
    "a relative target": head(start="GET victim HTTP/1.1"),
    "a path that is no UTF-8": head(start="GET /%ff HTTP/1.1"),
    "another host in the target": head(start="GET http://b.example/victim HTTP/1.1"),
    "a tunnel": head(start="CONNECT b.example:443 HTTP/1.1"),
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n\r\n",
}


@pytest.mark.parametrize("raw", CLASSICS.values(), ids=CLASSICS)
def test_what_is_ambiguous_is_refused_and_the_connection_ends(raw: bytes) -> None:
    with serving(echo) as served, served.connect() as peer:
        peer.send(raw + BEHIND)
        got = peer.answer()
        assert got.status == 400
        assert b"BAD_REQUEST" in got.body
        assert peer.is_closed()
        assert "/smuggled" not in served.paths


def test_what_came_before_is_still_answered_and_first() -> None:
    with serving(echo) as served, served.connect() as peer:
        peer.send(request("/a") + request("/b") + CLASSICS["CL.TE"] + BEHIND)
        assert [peer.answer().body for _ in range(2)] == [b"/a", b"/b"]
        assert peer.answer().status == 400
        assert peer.is_closed()
        assert served.paths == ["/a", "/b"]


class TestUpgrades:
    WISH = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk")

    def test_the_request_is_answered_as_if_none_were_asked_for(self) -> None:
        with serving(echo) as served, served.connect() as peer:
            peer.send(head(*self.WISH, start="GET /plain HTTP/1.1"))
            got = peer.answer()
            assert (got.status, got.body, got.headers["connection"]) == (200, b"/plain", "close")
            assert peer.is_closed()

    def test_what_follows_is_not_executed(self) -> None:
        with serving(echo) as served, served.connect() as peer:
            peer.send(head(*self.WISH, start="GET /plain HTTP/1.1") + BEHIND)
            assert peer.answer().body == b"/plain"
            assert peer.is_closed()
            assert served.paths == ["/plain"]

    @pytest.mark.parametrize("is_split", [False, True])
    @pytest.mark.parametrize(
        ("framing", "body"),
        [("Content-Length: 8", b"the body"), (CHUNKED, b"8\r\nthe body\r\n0\r\n\r\n")],
    )
    def test_its_body_belongs_to_it(self, framing: str, body: bytes, is_split: bool) -> None:
        with serving(echo) as served, served.connect() as peer:
            behind = BEHIND + request("/smuggled", "POST", b"more body")
            peer.send(head(*self.WISH, framing) + (b"" if is_split else body + behind))
            if is_split:
                served.wait_until(lambda: bool(served.paths))
                peer.send(body[:4])
                peer.send(body[4:] + behind)
            assert peer.answer().body == b"the body"
            assert peer.is_closed()
            assert served.paths == ["/victim"]

    @pytest.mark.parametrize("size", [8, 15_000, 100_000])
    def test_so_does_one_behind_another_request(self, size: int) -> None:
        body = b"b" * size
        wish = head(*self.WISH, f"Content-Length: {size}")
        with serving(echo) as served, served.connect() as peer:
            peer.send(request("/first", "POST", b"f" * 20_000) + wish + body + BEHIND)
            assert [len(peer.answer().body), peer.answer().body] == [20_000, body]
            assert peer.is_closed()
            assert served.paths == ["/first", "/victim"]

    @pytest.mark.parametrize("start", ["POST /a HTTP/1.1", "CONNECT /a HTTP/1.1"])
    @pytest.mark.parametrize("is_second", [False, True])
    @pytest.mark.parametrize("coding", ["identity", "chunked, identity", "xchunked", ""])
    def test_a_body_that_has_no_end_is_refused(
        self, coding: str, is_second: bool, start: str
    ) -> None:
        wish = head(*self.WISH, f"Transfer-Encoding: {coding}", start=start)
        with capture_logs() as lines, serving(echo) as served, served.connect() as peer:
            if is_second:
                peer.send(request("/first") + wish + TERMINATED + BEHIND)
                assert peer.answer().body == b"/first"
            else:
                peer.send(wish + TERMINATED + BEHIND)
            got = peer.answer()
            assert (got.status, got.headers["connection"]) == (400, "close")
            assert peer.is_closed()
            assert "/smuggled" not in served.paths
        assert "connection.failed" not in [each["event"] for each in lines]

    @pytest.mark.parametrize("framing", ["Content-Length: 0", "Content-Length: 4", CHUNKED])
    @pytest.mark.parametrize("behind", [BEHIND, b"\0\1\2", b"\x81\x05hello"])
    def test_what_is_behind_its_body_is_nobodys_fault(self, framing: str, behind: bytes) -> None:
        body = {"Content-Length: 0": b"", "Content-Length: 4": b"body"}.get(
            framing, b"4\r\nbody\r\n0\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"
        )
        with capture_logs() as lines, serving(echo) as served, served.connect() as peer:
            peer.send(head(*self.WISH, framing) + body + behind)
            assert peer.answer().body in (b"body", b"/victim")
            assert peer.is_closed()
            assert served.paths == ["/victim"]
        assert "connection.failed" not in [each["event"] for each in lines]

    def test_a_websocket_is_a_plain_request(self) -> None:
        wish = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x")
        with serving(echo) as served, served.connect() as peer:
            peer.send(head(*wish, start="GET /socket HTTP/1.1") + b"\x81\x05hello")
            assert peer.answer().body == b"/socket"
            assert served.scopes[0]["type"] == "http"
