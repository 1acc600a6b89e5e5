"""The load generator against a tiny server that answers in every framing it must understand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from tests.tiers import representatives

from bench import load

Answer = Callable[[bytes, int], bytes]
Measure = Callable[..., Awaitable[load.Result]]

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def sized(body: bytes, status: int = 200) -> bytes:
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


def chunked(*chunks: bytes) -> bytes:
    framed = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + framed + b"0\r\n\r\n"


@asynccontextmanager
async def serving(answer: Answer, *, split_at: int = 0) -> AsyncIterator[int]:
    """A server that answers the n-th request with `answer(request, n)`, in two writes if asked, or
    closes the connection without an answer."""
    count = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                response = answer(request, count)
                count += 1
                if not response:
                    return
                if split_at:
                    writer.write(response[:split_at])
                    await writer.drain()
                    await asyncio.sleep(0)
                    response = response[split_at:]
                writer.write(response)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def measure(answer: Answer, *, split_at: int = 0, **changes: object) -> load.Result:
    async with serving(answer, split_at=split_at) as port:
        plan = load.Plan(port, [GET], seconds=0.1, warm_up_seconds=0.02, connections=3)
        return await asyncio.to_thread(load.run, replace(plan, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("response", "body_bytes"),
    [
        (sized(b"x" * 17), 17),
        (b"HTTP/1.1 200 OK\r\ncontent-length:5\r\nx: y\r\n\r\nhello", 5),
        (chunked(b"x" * 10, b"y" * 300), 310),
        (chunked(b"a\r\n0\r\n\r\nb"), 9),
    ],
    ids=["content-length", "lower case", "chunks", "chunk that looks like an end"],
)
@pytest.mark.parametrize("split_at", representatives([9, 0, 50]))
async def test_each_framing_is_read_whole(response: bytes, body_bytes: int, split_at: int) -> None:
    result = await measure(lambda *_: response, split_at=split_at)
    assert result.is_valid, result.problems
    assert result.requests > 0
    assert result.statuses == {"200": result.requests}
    assert result.body_bytes == result.requests * body_bytes
    assert 0 < result.p50_ms <= result.p95_ms <= result.p99_ms


@pytest.mark.parametrize("response", [sized(b"x" * 17), chunked(b"x" * 10, b"y" * 300)])
def test_a_response_is_reported_only_once_complete(response: bytes) -> None:
    assert [load.parse(response[:length]) for length in range(len(response))] == [None] * len(
        response
    )
    assert load.parse(response) is not None


async def test_an_error_status_is_counted_and_makes_the_measurement_invalid() -> None:
    result = await measure(lambda _, n: sized(b"no", 500) if n % 2 else sized(b"ok"))
    assert not result.is_valid
    assert set(result.statuses) == {"200", "500"}
    assert any("status 500" in problem for problem in result.problems)


async def test_an_answer_that_changes_its_size_makes_the_measurement_invalid() -> None:
    result = await measure(lambda _, n: sized(b"x" * (1 + n % 2)))
    assert any("changed their size" in problem for problem in result.problems)
    assert (await measure(lambda _, n: sized(b"x" * (1 + n % 2)), is_repeatable=False)).is_valid


async def test_a_body_that_is_too_small_makes_the_measurement_invalid() -> None:
    result = await measure(lambda *_: sized(b"[]"), min_body_bytes=100)
    assert any("under 100 bytes" in problem for problem in result.problems)


async def test_a_connection_the_server_closes_makes_the_measurement_invalid() -> None:
    result = await measure(lambda *_: b"")
    assert not result.is_valid
    result = await measure(lambda *_: b"HTTP/1.0 200 OK\r\n\r\n")
    assert any("not an HTTP/1.1 response" in problem for problem in result.problems)


async def test_requests_are_sent_in_turn_and_serials_never_repeat() -> None:
    seen: list[bytes] = []

    def answer(request: bytes, _: int) -> bytes:
        seen.append(request.split()[1])
        return sized(b"ok")

    requests = [GET.replace(b"/ ", b"/%s/" % name + load.SERIAL + b" ") for name in (b"a", b"b")]
    result = await measure(answer, requests=requests, connections=1, first_serial=70)
    assert result.is_valid
    assert seen[:3] == [b"/a/00000070", b"/b/00000071", b"/a/00000072"]
    assert len(set(seen)) == len(seen)
