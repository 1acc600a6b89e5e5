"""`python -m bench.ai`: many AI answers streamed at once by one process, and what they cost.

Provider, clients and server are processes of their own. The same streams are first read from the
provider itself, so that what Masthead adds can be told from what the machine adds. Meanwhile
somebody lists posts at a steady, modest rate.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import uvloop

from bench import ai_clients, data, masthead, process
from bench.ai_clients import Figures, percentiles
from bench.http import request_bytes
from masthead import app
from masthead.caller import system
from masthead.settings import Settings

TENANT = "t000"
_POSTS = 2_000
_LISTS_PER_SECOND = 50
_GRACE_SECONDS = 30.0


def main() -> int:
    options = read_options()
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
    parser.add_argument("--seconds", type=float, default=60.0, help="of each stream")
    parser.add_argument("--per-second", type=float, default=10.0, help="chunks of each stream")
    parser.add_argument("--over", type=float, default=10.0, help="seconds for starting them all")
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

    warm_up = asyncio.create_task(_read(port, ours, options, streams=1))
    straight = await _read(provider_port, direct, options, streams=options.streams)
    await warm_up
    await _list_for(port, listing, 1)
    calm = await _list_for(port, listing, options.seconds / 2)
    memory, busy, began = process.pss_megabytes(pid), _cpu_seconds(pid), time.monotonic()
    weighing = asyncio.create_task(_weigh(pid, options.over + options.seconds / 2))
    listing_meanwhile = asyncio.create_task(_list_for(port, listing, options.seconds))
    through = await _read(port, ours, options, streams=options.streams)
    share = (_cpu_seconds(pid) - busy) / (time.monotonic() - began)
    meanwhile, full_memory = await listing_meanwhile, await weighing
    return {
        "streams": options.streams,
        "seconds": options.seconds,
        "chunks a second": options.streams * options.per_second,
        "completed": through.completed,
        "chunks": through.chunks,
        "without Masthead": asdict(straight),
        "through Masthead": asdict(through),
        "added to a chunk ms": _added(straight, through),
        "server's share of a core": round(share, 2),
        "memory a stream KB": round((full_memory - memory) * 1024 / options.streams, 1),
        "list ms, calm": percentiles(calm),
        "list ms, meanwhile": percentiles(meanwhile),
    }


async def _read(port: int, request: bytes, options: argparse.Namespace, *, streams: int) -> Figures:
    return await ai_clients.run(
        port, request, streams=streams, seconds=options.seconds, over_seconds=options.over
    )


def _added(straight: Figures, through: Figures) -> dict[str, float]:
    return {
        name: round(delay - straight.delay_ms[name], 2) for name, delay in through.delay_ms.items()
    }


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
    command = [sys.executable, "-m", "bench.ai_provider", f"--port={port}"]
    command += [f"--seconds={options.seconds}", f"--per-second={options.per_second}"]
    child = subprocess.Popen(command, cwd=Path(__file__).resolve().parents[1])
    try:
        yield port
    finally:
        child.terminate()
        child.wait(_GRACE_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
