"""The HTTP server of `masthead serve` with peers that are broken, slow or hostile."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.loop_time import LoopTime
from tests.service.serve.nginx import caching, needs_nginx
from tests.service.serve.peer import Peer, echo, request, serving
from tests.world import World

from masthead.service.serve import unread_bodies
from masthead.service.serve.unread_bodies import LINGER_RATE, MAX_BYTES
from masthead.web.asgi import Message, Receive, Scope, Send

BEHIND = request("/smuggled")


def head(*lines: str, start: str = "POST /victim HTTP/1.1") -> bytes:
    return "\r\n".join([start, "Host: a.example", *lines, "", ""]).encode("latin-1")


CHUNKED = "Transfer-Encoding: chunked"
TERMINATED = b"0\r\n\r\n"

AMBIGUOUS = {
    "TE with something around": head("Transfer-Encoding: xchunked") + TERMINATED,
    "TE identity": head("Transfer-Encoding: identity"),
    "TE chunked, identity": head("Transfer-Encoding: chunked, identity") + TERMINATED,
    "TE space before the colon": head("Transfer-Encoding : chunked") + TERMINATED,
    "TE of HTTP/1.0": head(CHUNKED, start="POST /victim HTTP/1.0") + TERMINATED,
    "two lengths": head("Content-Length: 4", "Content-Length: 5") + b"abcde",
    "a signed length": head("Content-Length: +4") + b"abcd",
    "a negative length": head("Content-Length: -4") + b"abcd",
    "a hexadecimal length": head("Content-Length: 0x4") + b"abcd",
    "an enormous length": head("Content-Length: 99999999999999999999999") + b"abcd",
    "a length with a gap": head("Content-Length: 1 0") + b"abcdefghij",
    "a folded header": head("X-A: one", " two"),
    "a space before the colon": head("X-A : one"),
    "a header without a colon": head("X-A"),
    "a header without a name": head(": one"),
    "NUL in a value": head("X-A: o\0ne"),
    "NUL in a name": head("X-\0A: one"),
    "a bare carriage return in a value": head("X-A: one\rX-B: two"),
    "no version": b"GET /victim\r\nHost: a.example\r\n\r\n",
    "an old version": head(start="GET /victim HTTP/0.9"),
    "a space in the target": head(start="GET /vic tim HTTP/1.1"),
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n\r\n",
}


@pytest.mark.parametrize("raw", AMBIGUOUS.values(), ids=AMBIGUOUS)
async def test_ambiguously_framed_requests_are_refused(raw: bytes) -> None:
    async with serving(echo) as served:
        peer = await served.send(raw + BEHIND)
        assert (await peer.answer())[0] == 400
        assert await peer.rest() == b""
        assert "/smuggled" not in served.paths


async def test_no_request_is_smuggled_after_a_length_with_chunks() -> None:
    async with serving(echo) as served:
        peer = await served.send(head("Content-Length: 6", CHUNKED) + TERMINATED + BEHIND)
        await peer.rest()
        assert "/smuggled" not in served.paths


async def test_requests_in_a_row_are_answered_in_order() -> None:
    async with serving(echo) as served:
        peer = await served.send(request("/a") + request("/b", body=b"second") + request("/c"))
        assert [(await peer.answer())[1] for _ in range(3)] == [b"/a", b"second", b"/c"]
        peer.writer.close()


async def test_the_answer_to_head_has_the_length_of_the_body_and_no_body() -> None:
    async with serving(echo) as served:
        asked = request("/a", "Connection: close").replace(b"GET", b"HEAD", 1)
        answer = await (await served.send(asked)).rest()
        assert b"content-length: 2\r\n" in answer.lower()
        assert answer.endswith(b"\r\n\r\n")


async def test_a_huge_head_is_refused() -> None:
    async with serving(echo) as served:
        peer = await served.send(request("/", f"X-Long: {'v' * 200_000}"))
        assert (await peer.answer())[0] == 431
        assert await peer.rest() == b""
        assert served.paths == []


async def test_more_than_a_hundred_headers_are_refused() -> None:
    async with serving(echo) as served:
        peer = await served.send(request("/", *["X: v"] * 101))
        assert (await peer.answer())[0] == 431
        await peer.rest()
        assert served.paths == []


@pytest.mark.parametrize("raw", [b"", b"P", b"GET / HTTP/1.1\r\nHost: a.exam"])
async def test_a_client_that_sends_incomplete_headers_is_disconnected(raw: bytes) -> None:
    async with serving(echo, head_seconds=0.3) as served:
        peer = await served.send(raw)
        await peer.rest()
        assert served.paths == []


async def test_an_idle_client_is_disconnected() -> None:
    async with serving(echo, head_seconds=0.3) as served:
        peer = await served.send(request("/a"))
        assert (await peer.answer())[1] == b"/a"
        assert await peer.rest() == b""


async def test_an_upgrade_header_is_ignored() -> None:
    async with serving(echo) as served:
        asked = request("/a", "Connection: Upgrade", "Upgrade: websocket")
        peer = await served.send(asked)
        assert await peer.answer() == (200, b"/a")
        peer.writer.close()


async def answers_early(scope: Scope, receive: Receive, send: Send) -> None:
    length = (b"content-length", b"2")
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.mark.parametrize("is_chunked", [False, True])
async def test_a_connection_with_a_small_unread_body_is_used_again(is_chunked: bool) -> None:
    body = b"x" * MAX_BYTES
    raw = request("/early", body=body)
    if is_chunked:
        raw = head(CHUNKED) + b"%x\r\n%s\r\n" % (len(body), body) + TERMINATED
    async with serving(answers_early) as served:
        peer = await served.send(raw[:1_000])
        # What comes late must not be taken for a request.
        peer.writer.write(raw[1_000:] + request("/next"))
        assert [await peer.answer() for _ in range(2)] == [(200, b"ok")] * 2
        assert served.paths[1:] == ["/next"]
        peer.writer.close()


@pytest.mark.parametrize("size", [1, 5_000])
@pytest.mark.parametrize("is_chunked", [False, True])
async def test_the_end_of_a_body_comes_with_its_last_byte_unless_it_is_in_chunks(
    size: int, is_chunked: bool
) -> None:
    ends = list[bool]()

    async def listening(scope: Scope, receive: Receive, send: Send) -> None:
        async def noted() -> Message:
            message = await receive()
            ends.append(not message.get("more_body"))
            return message

        await echo(scope, noted, send)

    body = b"x" * size
    raw = request(body=body)
    if is_chunked:
        raw = head(CHUNKED) + b"%x\r\n%s\r\n" % (size, body) + TERMINATED
    async with serving(listening) as served:
        peer = await served.send(raw)
        assert await peer.answer() == (200, body)
        # The server has read it to its end.
        peer.writer.write(raw)
        assert await peer.answer() == (200, body)
        peer.writer.close()
    assert ends == ([False, True] if is_chunked else [True]) * 2


async def test_a_sender_of_a_large_body_is_told_that_the_connection_ends() -> None:
    async with serving(answers_early) as served:
        peer = await served.send(request("/early", body=b"x" * (MAX_BYTES + 1)) + BEHIND)
        said = await peer.rest()
        assert said.startswith(b"HTTP/1.1 200 ")
        assert b"connection: close" in said.lower()
        assert said.endswith(b"ok")
        assert served.paths == ["/early"]


async def test_a_sender_that_waits_for_a_word_is_not_asked_to_send_a_refused_body() -> None:
    async with serving(answers_early) as served:
        peer = await served.send(head("Content-Length: 100", "Expect: 100-continue"))
        said = await peer.rest()
        assert said.startswith(b"HTTP/1.1 200 ")
        assert b"100 Continue" not in said
        assert said.endswith(b"ok")


async def test_an_unread_body_is_not_parsed_as_the_next_request() -> None:
    async with serving(answers_early) as served:
        body = b"x" * 3_000_000 + BEHIND
        raw = request("/upload", body=body)
        peer = await served.send(raw[:1_000])
        assert await peer.answer() == (200, b"ok")
        peer.writer.write(raw[1_000:])
        await peer.rest()
        assert served.paths == ["/upload"]


async def test_sending_waits_for_a_slow_reader() -> None:
    sent = 0
    is_waiting = asyncio.Event()

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal sent
        leaving = asyncio.create_task(_left(receive))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while not leaving.done():
            piece = asyncio.ensure_future(
                send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
            )
            done, _ = await asyncio.wait({piece}, timeout=1)
            if not done:
                is_waiting.set()
                await asyncio.wait({piece, leaving}, return_when=asyncio.FIRST_COMPLETED)
            sent += 65_536

    async with serving(endless) as served:
        peer = await served.send(request("/"))
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.wait_for(is_waiting.wait(), 120)
        assert sent < 64 * 1024 * 1024
        peer.writer.transport.abort()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def test_no_more_connections_are_served_than_allowed_and_waiting_ones_get_their_turn() -> (
    None
):
    async with serving(echo, max_connections=2) as served:
        idle = [await served.send(b"") for _ in range(2)]
        waiting = await served.send(request("/waits"))
        await asyncio.sleep(0)
        for each in idle:
            each.writer.close()
        assert (await waiting.answer())[1] == b"/waits"
        waiting.writer.close()


LENIENT = {
    "two equal lengths": head("Content-Length: 4", "Content-Length: 4") + b"abcd",
    "lines that end in LF alone": head("Content-Length: 4").replace(b"\r\n", b"\n") + b"abcd",
}


@pytest.mark.parametrize("raw", LENIENT.values(), ids=LENIENT)
async def test_what_the_server_is_lenient_about_has_one_end_alone(raw: bytes) -> None:
    """docs/security.md says which proxies don't let it through."""
    async with serving(echo) as served:
        peer = await served.send(raw + BEHIND)
        assert [await peer.answer() for _ in range(2)] == [(200, b"abcd"), (200, b"/smuggled")]
        peer.writer.close()


MALFORMED = {
    "no size": b"zz\r\nabc\r\n0\r\n\r\n",
    "no size of the second": b"3\r\nabc\r\nzz\r\n0\r\n\r\n",
    "a signed size": b"-3\r\nabc\r\n0\r\n\r\n",
    "an enormous size": b"fffffffffffffffff\r\nabc\r\n",
    "more than its size": b"3\r\nabcdef\r\n0\r\n\r\n",
    "bare LF after a size": b"3\nabc\n0\n\n",
}
HEALTH = "/api/health"


async def test_malformed_chunks_get_400_and_the_end_of_the_connection(app: World) -> None:
    """One route reads its body, the other does not."""
    smuggled = request(HEALTH)
    async with serving(app.http) as served:
        for name, chunks in MALFORMED.items():
            for path in ("/api/admins/auth-with-password", "/api/v1/posts"):
                raw = head(CHUNKED, start=f"POST {path} HTTP/1.1") + chunks + smuggled
                peer = await served.send(raw.replace(b"a.example", b"localhost"))
                status, _ = await peer.answer()
                assert status == (400 if "admins" in path else 401), (name, path)
                assert await peer.rest() == b"", (name, path)
    assert HEALTH not in served.paths


async def test_another_transfer_coding_gets_400_and_the_end_of_the_connection(app: World) -> None:
    coded = head("Transfer-Encoding: gzip, chunked", start="POST /api/v1/posts HTTP/1.1")
    async with serving(app.http) as served:
        raw = coded + b"3\r\nabc\r\n0\r\n\r\n" + request(HEALTH)
        peer = await served.send(raw.replace(b"a.example", b"localhost"))
        assert (await peer.answer())[0] == 400
        assert await peer.rest() == b""
    assert HEALTH not in served.paths


@needs_nginx
async def test_behind_nginx_the_service_gets_strict_requests_alone(tmp_path: Path) -> None:
    heads = []

    async def noted(scope: Scope, receive: Receive, send: Send) -> None:
        heads.append([name for name, _ in scope["headers"]].count(b"content-length"))
        await echo(scope, receive, send)

    async with serving(noted) as served, caching(served.port, tmp_path) as front:
        statuses = {}
        for name, raw in LENIENT.items():
            port = int(front.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(raw)
            statuses[name] = (await Peer(reader, writer).answer())[0]
            writer.close()
    # It writes the second one anew, with whole line ends.
    assert statuses == {"two equal lengths": 400, "lines that end in LF alone": 200}
    assert heads == [1]


@pytest.mark.parametrize("is_flooded", [False, True])
async def test_a_flood_of_refused_bodies_is_not_read(
    loop_time: LoopTime, monkeypatch: pytest.MonkeyPatch, is_flooded: bool
) -> None:
    monkeypatch.setattr(unread_bodies, "_lingering", unread_bodies._Lingering())
    monkeypatch.setattr(unread_bodies._lingering, "_at", loop_time())
    if is_flooded:
        unread_bodies._lingering.room = -100.0 * LINGER_RATE
    taken, sent = 0, list[Message]()

    async def receive() -> Message:
        nonlocal taken
        taken += 1
        return {"type": "http.request", "body": b"x" * 65_536, "more_body": True}

    async def send(message: Message) -> None:
        sent.append(message)

    length = (b"content-length", b"100000000")
    scope = {"type": "http", "method": "POST", "http_version": "1.1", "headers": [length]}
    app = unread_bodies.UnreadBodies(answers_early)
    answering = asyncio.ensure_future(app(scope, receive, send))
    await loop_time.advance(2 * unread_bodies.LINGER_SECONDS)
    await answering
    assert (taken == 0) is is_flooded
    assert sent[-1].get("more_body", False) is False
