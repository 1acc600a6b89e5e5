"""`python -m bench.ai`: many AI answers streamed at once by one process, and what they cost.

Provider and readers are a process of their own beside the server's. A third one lists posts at a
steady, modest rate in four situations, in turn and several times over: nothing else happens; the
streams run between provider and readers, so that the machine has them but Masthead has not; they
run through Masthead, and the lists are asked of the same server, and by turns of a second one that
streams nothing. What the last one suffers is the busy machine's doing, and not the streams'.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import uvloop

from bench import ai_far_side, data, masthead, process
from bench.ai_clients import Figures, percentiles
from bench.ai_far_side import FarSide, Load
from bench.http import request_bytes
from masthead import app
from masthead.caller import system
from masthead.settings import Settings

TENANT = "t000"
_POSTS = 2_000
_WEIGHING_SECONDS = 2.0
_TURN_SECONDS = 4.0
_PERCENTILES = ("p50", "p99")


def main() -> int:
    options = read_options()
    report = run(options, _POSTS)
    print(json.dumps(report, indent=2))
    return 0 if report["completed"] == options.streams * options.rounds else 1


def run(options: argparse.Namespace, posts: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="masthead-bench-ai-") as folder:
        data_dir = Path(folder) / "data"
        data_dir.mkdir()
        masthead.build(data_dir, itertools.islice(data.posts(), posts))
        uvloop.run(_give_key(data_dir))
        idle_dir = shutil.copytree(data_dir, Path(folder) / "idle")
        with (
            ai_far_side.running() as far,
            _server(data_dir, far.port) as (port, pid),
            _server(idle_dir, far.port) as (idle_port, _),
        ):
            bench = _Bench(far, port, pid, idle_port, options)
            bench.warm_up()
            return _report([bench.round() for _ in range(options.rounds)], options)


def read_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.ai", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each stream")
    # 30 tokens a second, three to a chunk.
    parser.add_argument("--per-second", type=float, default=10.0, help="chunks of each stream")
    parser.add_argument("--over", type=float, default=10.0, help="seconds for starting them all")
    parser.add_argument("--calm", type=float, default=20.0, help="seconds without our streams")
    parser.add_argument("--lists", type=float, default=100.0, help="lists of posts a second")
    return parser.parse_args(arguments)


@dataclass(frozen=True)
class _Round:
    """Milliseconds of each list in the four situations, and what the streams gave."""

    calm: list[float]
    beside: list[float]
    meanwhile: list[float]
    elsewhere: list[float]
    straight: Figures
    through: Figures
    share: float
    """Of a core, the server's while the streams ran through it."""
    memory_kilobytes: float
    """A stream."""


class _Bench:
    def __init__(
        self, far: FarSide, port: int, pid: int, idle_port: int, options: argparse.Namespace
    ) -> None:
        self._far = far
        self._port = port
        self._pid = pid
        self._idle_port = idle_port
        self._options = options
        headers = {"Host": f"{TENANT}.localhost:{port}"}
        wish = {"action": "generate", "prompt": "Write about tides."}
        path = "/api/collections/posts/records?perPage=20"
        self._ours = request_bytes("POST", "/api/ai/generate", headers, wish)
        self._direct = request_bytes("POST", "/v1/chat/completions", headers, wish)
        self._listing = request_bytes("GET", path, headers)

    def warm_up(self) -> None:
        self._begin(self._port, self._ours, seconds=1, streams=min(20, self._options.streams))
        self._lists(1)
        self._lists(1, self._idle_port)
        self._far.end()

    def round(self) -> _Round:
        options = self._options
        calm = self._lists(options.calm)
        memory = process.pss_megabytes(self._pid)

        self._begin(self._far.port, self._direct, options.over + options.calm)
        # Until all of them have begun, here and below.
        time.sleep(options.over)
        beside = self._lists(options.calm)
        straight = self._far.end()

        self._begin(self._port, self._ours, options.seconds)
        time.sleep(options.over)
        busy, began = _cpu_seconds(self._pid), time.monotonic()
        meanwhile, elsewhere = self._by_turns(options.seconds - options.over - _WEIGHING_SECONDS)
        share = (_cpu_seconds(self._pid) - busy) / (time.monotonic() - began)
        # Only now: the kernel stops the server while it counts.
        full_memory = process.pss_megabytes(self._pid)
        through = self._far.end()
        kilobytes = (full_memory - memory) * 1024 / options.streams
        return _Round(calm, beside, meanwhile, elsewhere, straight, through, share, kilobytes)

    def _by_turns(self, seconds: float) -> tuple[list[float], list[float]]:
        """Lists of the server that streams, and of the one that does not."""
        meanwhile: list[float] = []
        elsewhere: list[float] = []
        until = time.monotonic() + seconds
        while not elsewhere or time.monotonic() + 2 * _TURN_SECONDS <= until:
            turn = min(_TURN_SECONDS, max(seconds, 0.0) / 2)
            meanwhile += self._lists(turn)
            elsewhere += self._lists(turn, self._idle_port)
        return meanwhile, elsewhere

    def _begin(self, port: int, request: bytes, seconds: float, streams: int | None = None) -> None:
        options = self._options
        streams = streams or options.streams
        over = min(options.over, seconds)
        self._far.begin(Load(port, request.decode(), streams, seconds, options.per_second, over))

    def _lists(self, seconds: float, port: int | None = None) -> list[float]:
        """Milliseconds of each list, asked at a steady rate whether the last one was quick or not.

        At least one. One that is due before the last one has come waits, which counts as its own.
        """
        taken: list[float] = []
        with socket.create_connection(("127.0.0.1", port or self._port)) as connection:
            due = time.monotonic()
            end = due + seconds
            while due < end or not taken:
                started = due
                pause = due - time.monotonic()
                if pause > 0:
                    # The pause between two readers' calls.
                    time.sleep(pause)
                    # Waking up late is not the server's fault.
                    started = time.monotonic()
                _ask(connection, self._listing)
                taken.append((time.monotonic() - started) * 1000)
                due += 1 / self._options.lists
        return taken


def _ask(connection: socket.socket, request: bytes) -> None:
    connection.sendall(request)
    received = b""
    while b"\r\n\r\n" not in received:
        received += _received(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    head = head.lower()
    if not head.startswith(b"http/1.1 200"):
        raise RuntimeError(head.decode())
    left = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]) - len(body)
    while left > 0:
        left -= len(_received(connection))


def _received(connection: socket.socket) -> bytes:
    content = connection.recv(1 << 18)
    if not content:
        raise RuntimeError("the server has hung up")
    return content


def _report(rounds: list[_Round], options: argparse.Namespace) -> dict[str, object]:
    calm, beside, meanwhile, elsewhere = (
        [percentiles(getattr(each, name)) for each in rounds]
        for name in ("calm", "beside", "meanwhile", "elsewhere")
    )
    growth = [after["p99"] / before["p99"] for before, after in zip(calm, meanwhile, strict=True)]
    return {
        "streams": options.streams,
        "seconds": options.seconds,
        "chunks a second": options.streams * options.per_second,
        "completed": sum(each.through.completed for each in rounds),
        "chunks": sum(each.through.chunks for each in rounds),
        "added to a chunk ms": {
            name: round(median(_added(each, name) for each in rounds), 2) for name in _PERCENTILES
        },
        "memory a stream KB": round(median(each.memory_kilobytes for each in rounds), 1),
        "server's share of a core": round(median(each.share for each in rounds), 2),
        "lists": {
            "in each calm window": len(rounds[0].calm),
            "in each window with streams": len(rounds[0].meanwhile),
            "ms, calm": _medians(calm),
            "ms, streams beside Masthead": _medians(beside),
            "ms, streams through Masthead": _medians(meanwhile),
            "ms, of a server without streams meanwhile": _medians(elsewhere),
        },
        "p99 of a list grows, times": round(_medians(meanwhile)["p99"] / _medians(calm)["p99"], 2),
        "times that of a server without streams": round(
            _medians(meanwhile)["p99"] / _medians(elsewhere)["p99"], 2
        ),
        "rounds": [
            {
                "p99 of a list grows, times": round(times, 2),
                "lists ms": {
                    "calm": before,
                    "beside": next_to,
                    "through": after,
                    "elsewhere": away,
                },
                "without Masthead": asdict(each.straight),
                "through Masthead": asdict(each.through),
            }
            for each, times, before, next_to, after, away in zip(
                rounds, growth, calm, beside, meanwhile, elsewhere, strict=True
            )
        ],
    }


def _added(each: _Round, name: str) -> float:
    return each.through.delay_ms[name] - each.straight.delay_ms[name]


def _medians(windows: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(median(each[name] for each in windows), 2) for name in _PERCENTILES}


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
    log = data_dir.with_name(f"{data_dir.name}.log")
    with process.running(command, port, log, environment) as server:
        yield port, server.pid


if __name__ == "__main__":
    sys.exit(main())
