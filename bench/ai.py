"""`python -m bench.ai`: many AI answers that one server process streams at the same time: what it
adds to a chunk, its memory, and how long another site's lists take meanwhile. Provider and readers
are one separate process. Exits with 1 if a goal is missed."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Final

import uvloop

from bench import process
from bench.http import request_bytes
from bench.special import (
    NEIGHBOUR,
    Figure,
    Neighbour,
    finish,
    growths,
    new_neighbour,
    new_site,
    options,
    place,
)
from masthead.base.caller import system
from masthead.features.site.collection import site_settings
from masthead.service.services import Services

SITE: Final = "writes"
MOST_ADDED_MS: Final = 20
MOST_KILOBYTES: Final = 100
MOST_TIMES: Final = 2
_STAMP: Final = b"at:"
_STAMP_BYTES: Final = len(_STAMP) + 17
_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
)
_EVENT: Final = (
    b'data: {"id":"chatcmpl-BrT8y0Zw3cQm5uFh","object":"chat.completion.chunk",'
    b'"created":1763184000,"model":"gpt-4.1-mini-2025-04-14","choices":[{"index":0,'
    b'"delta":{"content":" tides %s"},"logprobs":null,"finish_reason":null}],"usage":null}\n\n'
)
_LAST: Final = (
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":57,"completion_tokens":600}}\n\n'
    b"data: [DONE]\n\n"
)


def main() -> None:
    given = options("ai", __doc__, streams=500, seconds=30.0, per_second=10.0, quiet=20.0)
    with process.child(_provide, given) as pipe:
        provider = pipe.recv()
        address = f"http://127.0.0.1:{provider}/v1"
        openai = {"MASTHEAD_AI_PROVIDER": "openai", "MASTHEAD_AI_BASE_URL": address}
        with place(given.engine, MASTHEAD_RATE_LIMITS="off", **openai) as installed:
            installed.make(seed)
            with installed.serving() as (port, pid):
                finish(measured(given, pipe, provider, port, pid))


async def seed(parts: Services) -> None:
    tenant_id = await new_site(parts, SITE)
    [site] = await parts.records.find(site_settings, {"slug": SITE})
    limits = {"ai_api_key": "sk-bench", "ai_per_minute": 1_000_000, "ai_per_day": 1_000_000}
    await parts.records.update(system(tenant_id), site_settings, site["id"], limits)
    await new_neighbour(parts)


def measured(
    given: argparse.Namespace, pipe: Connection, provider: int, port: int, pid: int
) -> Iterator[Figure]:
    headers = {"Host": f"{SITE}.localhost:{port}"}
    body = {"action": "generate", "prompt": "Write about tides."}
    direct = request_bytes("POST", "/v1/chat/completions", headers, body)
    ours = request_bytes("POST", "/api/ai/generate", headers, body)
    records = "/api/collections/posts/records?perPage=20"
    host = {"Host": f"{NEIGHBOUR}.localhost:{port}"}
    other = Neighbour(port, {"list": ("GET", records, host, None)})

    def streamed(to: int, request: bytes) -> Streamed:
        pipe.send((to, request))
        found: Streamed = pipe.recv()
        return found

    streamed(port, ours)  # loads what it needs
    quiet = other.quiet(given.quiet)
    alone = streamed(provider, direct)
    before, peak, through = process.pss_megabytes(pid), 0.0, Streamed()
    used, began = process.processor_seconds(pid), time.monotonic()

    def stream() -> None:
        nonlocal peak, through
        pipe.send((port, ours))
        while not pipe.poll(1.0):
            peak = max(peak, process.pss_megabytes(pid))
        through = pipe.recv()

    busy = other.during(stream)
    share = (process.processor_seconds(pid) - used) / (time.monotonic() - began)
    added = through.p99_ms - alone.p99_ms
    kilobytes = (peak - before) * 1024 / given.streams
    yield Figure("streams that ended in order", through.completed, least=given.streams)
    yield Figure("chunks", through.chunks)
    yield Figure("added to a chunk, p99", added, "ms", most=MOST_ADDED_MS)
    yield Figure("memory of a stream", kilobytes, "KB", most=MOST_KILOBYTES)
    yield Figure("the server's share of a core", share)
    yield from growths(quiet, busy, MOST_TIMES, "during the streams")


@dataclass(frozen=True)
class Streamed:
    completed: int = 0
    chunks: int = 0
    p99_ms: float = 0.0
    """From the provider's write of a chunk to its arrival."""


def _provide(given: argparse.Namespace, to_parent: Connection) -> None:
    uvloop.run(_serve(given, to_parent))


async def _serve(given: argparse.Namespace, to_parent: Connection) -> None:
    """The provider; reads as many streams as are asked for, from it or through the service."""
    chunks, pause = round(given.seconds * given.per_second), 1 / given.per_second

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(_HEAD)
        for _ in range(chunks):
            event = _EVENT % (_STAMP + b"%017.6f" % time.monotonic())
            writer.write(b"%x\r\n%s\r\n" % (len(event), event))
            await asyncio.sleep(pause)
        writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(_LAST), _LAST))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
    to_parent.send(server.sockets[0].getsockname()[1])
    while True:
        port, request = await asyncio.to_thread(to_parent.recv)
        readers = [_Reader() for _ in range(given.streams)]
        # Spread over some seconds, as real requests are.
        step = given.seconds / 6 / given.streams
        await asyncio.gather(
            *(each.read(port, request, number * step) for number, each in enumerate(readers))
        )
        delays = sorted(delay for each in readers for delay in each.delays_ms[1:])
        completed = sum(each.is_complete for each in readers)
        p99 = delays[int(len(delays) * 0.99)] if delays else 0.0
        to_parent.send(Streamed(completed, len(delays), p99))


@dataclass
class _Reader:
    delays_ms: list[float] = field(default_factory=list)
    is_complete: bool = False

    async def read(self, port: int, request: bytes, after: float) -> None:
        await asyncio.sleep(after)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        rest = b""
        while data := await reader.read(65_536):
            now, data = time.monotonic(), rest + data
            start = 0
            while (found := data.find(_STAMP, start)) >= 0 and found + _STAMP_BYTES <= len(data):
                start = found + _STAMP_BYTES
                self.delays_ms.append((now - float(data[found + len(_STAMP) : start])) * 1000)
            if data.find(b"[DONE]", start) >= 0:
                self.is_complete = True
                break
            # A stamp, or the end, may be split over two reads.
            rest = data[max(start, len(data) - _STAMP_BYTES) :]
        writer.close()


if __name__ == "__main__":
    main()
