"""`python -m bench.ai`: many AI answers streamed at once by one process, and what they cost.

A provider in a process of its own writes a time stamp into every chunk; the clients here read it.
The same streams are first read from the provider itself, so that what Masthead adds can be told
from what the machine adds. Meanwhile somebody lists posts at a steady, modest rate.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from bench import data, masthead, process
from bench.http import request_bytes
from masthead import app
from masthead.caller import system
from masthead.settings import Settings

TENANT = "t000"
_POSTS = 2_000
_LISTS_PER_SECOND = 25
_GRACE_SECONDS = 30.0
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
_STAMP = b"at:"


def main() -> int:
    options = read_options()
    if options.provider:
        uvloop.run(_provide(options.provider, options.seconds, options.interval))
        return 0
    report = run(options, _POSTS)
    print(json.dumps(report, indent=2))
    return 0 if report["completed"] == options.streams else 1


def run(options: argparse.Namespace, posts: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="masthead-bench-ai-") as folder:
        data_dir = Path(folder) / "data"
        data_dir.mkdir()
        masthead.build(data_dir, itertools.islice(data.posts(), posts))
        uvloop.run(_give_key(data_dir))
        return _measured(data_dir, options)


def read_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.ai", description=__doc__)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--interval", type=float, default=0.5, help="seconds between chunks")
    parser.add_argument("--provider", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _measured(data_dir: Path, options: argparse.Namespace) -> dict[str, object]:
    with (
        _provider(options) as provider_port,
        _server(data_dir, provider_port) as (port, pid),
    ):
        return uvloop.run(_measure(port, pid, provider_port, options))


async def _measure(
    port: int, pid: int, provider_port: int, options: argparse.Namespace
) -> dict[str, object]:
    headers = {"Host": f"{TENANT}.localhost:{port}"}
    wish = {"action": "generate", "prompt": "Write about tides."}
    ours = request_bytes("POST", "/api/ai/generate", headers, wish)
    direct = request_bytes("POST", "/v1/chat/completions", headers, wish)
    listing = request_bytes("GET", "/api/collections/posts/records?perPage=20", headers)

    warm_up = asyncio.create_task(_read_stream(port, ours, Streams()))
    straight = Streams()
    await _all(options.streams, lambda: _read_stream(provider_port, direct, straight))
    await warm_up
    calm = await _list_for(port, listing, options.seconds / 4)
    before, busy_before = process.pss_megabytes(pid), _cpu_seconds(pid)
    began = time.monotonic()
    through = Streams()
    listing_meanwhile = asyncio.create_task(_list_for(port, listing, options.seconds))
    weighing = asyncio.create_task(_weigh(pid, options.seconds / 2))
    await _all(options.streams, lambda: _read_stream(port, ours, through))
    meanwhile, during = await listing_meanwhile, await weighing
    cpu_share = (_cpu_seconds(pid) - busy_before) / (time.monotonic() - began)
    return {
        "streams": options.streams,
        "seconds": options.seconds,
        "chunks": len(through.delays_ms),
        "completed": through.completed,
        "chunk delay p50 ms": _percentile(through.delays_ms, 50),
        "chunk delay p99 ms": _percentile(through.delays_ms, 99),
        "without Masthead p99 ms": _percentile(straight.delays_ms, 99),
        "server's share of a core": round(cpu_share, 2),
        "memory a stream KB": round((during - before) * 1024 / options.streams, 1),
        "list p50 ms": [_percentile(calm, 50), _percentile(meanwhile, 50)],
        "list p99 ms": [_percentile(calm, 99), _percentile(meanwhile, 99)],
    }


@dataclass
class Streams:
    delays_ms: list[float] = field(default_factory=list)
    completed: int = 0


async def _all(count: int, start: Callable[[], Awaitable[None]]) -> None:
    tasks = []
    for _ in range(count):
        tasks.append(asyncio.ensure_future(start()))
        # People do not all click in the same millisecond.
        await asyncio.sleep(0.004)
    await asyncio.gather(*tasks)


async def _read_stream(port: int, request: bytes, streams: Streams) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        is_first = True
        async with asyncio.timeout(600):
            while line := await reader.readline():
                now = time.monotonic()
                _, found, stamp = line.partition(_STAMP)
                if found and not is_first:
                    streams.delays_ms.append((now - float(stamp.split(b";")[0])) * 1000)
                # The first chunk comes with the connection, which is no delay of a chunk.
                is_first = is_first and not found
                if line.startswith(b"data: [DONE]"):
                    streams.completed += 1
                    # The connection stays open for the next request.
                    return
    finally:
        writer.close()


async def _list_for(port: int, request: bytes, seconds: float) -> list[float]:
    """Milliseconds of each list, asked at a steady rate whether the last one was quick or not."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    taken: list[float] = []
    end = time.monotonic() + seconds
    due = time.monotonic()
    while due < end:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        started = time.monotonic()
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if not head.startswith(b"http/1.1 200"):
            raise RuntimeError(head.decode())
        length = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
        taken.append((time.monotonic() - started) * 1000)
        due += 1 / _LISTS_PER_SECOND
    writer.close()
    return taken


async def _weigh(pid: int, after_seconds: float) -> float:
    await asyncio.sleep(after_seconds)
    return process.pss_megabytes(pid)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _percentile(values: list[float], percent: int) -> float:
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, len(ordered) * percent // 100)], 2)


async def _give_key(data_dir: Path) -> None:
    parts = await app.build(Settings.from_environ({}, data_dir=data_dir))
    try:
        collections = parts.records.registry
        (site,) = await parts.records.find(collections["site_settings"], {"slug": TENANT})
        await parts.records.update(
            system(site["tenant_id"]),
            collections["site_settings"],
            site["id"],
            {"ai_api_key": "sk-bench", "ai_per_minute": 1_000_000, "ai_per_day": 1_000_000},
        )
    finally:
        await parts.close()


@contextmanager
def _server(data_dir: Path, provider_port: int) -> Iterator[tuple[int, int]]:
    port = process.free_port()
    command = [str(Path(sys.executable).with_name("masthead")), "serve", f"--port={port}"]
    environment = {
        "MASTHEAD_DATA_DIR": str(data_dir),
        "MASTHEAD_RATE_LIMITS": "off",
        "MASTHEAD_AI_PROVIDER": "openai",
        "MASTHEAD_AI_BASE_URL": f"http://127.0.0.1:{provider_port}/v1",
        "MASTHEAD_LOG": "json",
    }
    log = data_dir.with_name("server.log")
    with process.running(command, port, log, environment) as server:
        yield port, server.pid


@contextmanager
def _provider(options: argparse.Namespace) -> Iterator[int]:
    port = process.free_port()
    command = [sys.executable, "-m", "bench.ai", f"--provider={port}"]
    command += [f"--seconds={options.seconds}", f"--interval={options.interval}"]
    child = subprocess.Popen(command, cwd=Path(__file__).resolve().parents[1])
    try:
        yield port
    finally:
        child.terminate()
        child.wait(_GRACE_SECONDS)


async def _provide(port: int, seconds: float, interval: float) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(_HEAD)
        due = time.monotonic()
        for _ in range(round(seconds / interval)):
            writer.write(_chunk(f"{_STAMP.decode()}{time.monotonic()}; and so on "))
            due += interval
            await asyncio.sleep(max(0.0, due - time.monotonic()))
        writer.write(b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port, backlog=1024)
    async with server:
        await server.serve_forever()


def _chunk(text: str) -> bytes:
    value = {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"content": text}}]}
    return b"data: " + json.dumps(value).encode() + b"\n\n"


if __name__ == "__main__":
    sys.exit(main())
