"""`python -m bench.ai`: many AI answers streamed at once by one process, and what they cost.

Provider and readers are a process of their own beside the server's. A third one lists posts at a
steady, modest rate in three situations, in turn and several times over: nothing else happens; the
streams run between provider and readers, so that the machine has them but Masthead has not; they
run through Masthead. Side by side with that server, two others are asked in every situation: a
second Masthead that streams nothing, and a witness that is no Masthead at all and works as much for
an answer. What these two suffer is the busy machine's doing, and not the streams'.

The machine may have bad moments of its own, such as the bursts of a shared host, and one of them
decides a p99 over everything. So time is cut into windows of some seconds, as many calm ones as
with streams, the calm ones before and after them, and the figure is the median of the windows' p99.
That over everything stands beside it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import reduce
from operator import add
from pathlib import Path
from statistics import median
from typing import cast

import uvloop

from bench import ai_far_side, ai_witness, data, masthead, process
from bench.ai_clients import Figures, percentiles
from bench.ai_far_side import FarSide, Load
from bench.ai_lists import Target, Times, ask, figures
from bench.http import request_bytes
from masthead import app
from masthead.caller import system
from masthead.config.settings import Settings

TENANT = "t000"
_POSTS = 2_000
_WEIGHING_SECONDS = 2.0
_WARM_UP_SECONDS = 1.0

MOST_TIMES = 2.0
MOST_ADDED_MS = 20.0
MOST_KILOBYTES = 100.0


def main() -> int:
    options = read_options()
    report = run(options, _POSTS)
    print(json.dumps(report, indent=2))
    verdict = cast(dict[str, bool], report["verdict"])
    return 0 if all(verdict.values()) else 1


def run(options: argparse.Namespace, posts: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="masthead-bench-ai-") as folder:
        data_dir = Path(folder) / "data"
        data_dir.mkdir()
        masthead.build(data_dir, itertools.islice(data.posts(), posts))
        uvloop.run(_give_key(data_dir))
        idle_dir = shutil.copytree(data_dir, Path(folder) / "idle")
        with (
            ai_far_side.running() as far,
            ai_witness.running(Path(folder) / "witness.log") as witness_port,
            _server(data_dir, far.port) as (port, pid),
            _server(idle_dir, far.port) as (idle_port, _),
        ):
            bench = _Bench(far, port, pid, (idle_port, witness_port), options)
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
    parser.add_argument(
        "--calm", type=float, default=24.0, help="seconds without our streams, each time"
    )
    parser.add_argument("--lists", type=float, default=100.0, help="lists of posts a second")
    return parser.parse_args(arguments)


@dataclass(frozen=True)
class _Lists:
    """What lists took in one situation: of the server, of one that streams nothing, and of the
    witness."""

    server: Times
    idle: Times
    witness: Times

    def __add__(self, other: _Lists) -> _Lists:
        return _Lists(
            self.server + other.server, self.idle + other.idle, self.witness + other.witness
        )


@dataclass(frozen=True)
class _Round:
    calm: _Lists
    beside: _Lists
    through: _Lists
    streams_beside: Figures
    streams_through: Figures
    share: float
    """Of a core, the server's while the streams ran through it."""
    memory_kilobytes: float
    """A stream."""


class _Bench:
    def __init__(
        self,
        far: FarSide,
        port: int,
        pid: int,
        others: tuple[int, int],
        options: argparse.Namespace,
    ) -> None:
        self._far = far
        self._port = port
        self._pid = pid
        self._options = options
        headers = {"Host": f"{TENANT}.localhost:{port}"}
        wish = {"action": "generate", "prompt": "Write about tides."}
        path = "/api/collections/posts/records?perPage=20"
        self._ours = request_bytes("POST", "/api/ai/generate", headers, wish)
        self._direct = request_bytes("POST", "/v1/chat/completions", headers, wish)
        listing = request_bytes("GET", path, headers)
        # The others by turns, halfway between two lists of the server's.
        step = 1 / options.lists
        self._targets = [
            Target(port, listing, options.lists, 0.0),
            Target(others[0], listing, options.lists / 2, step / 2),
            Target(others[1], listing, options.lists / 2, step * 3 / 2),
        ]

    def warm_up(self) -> None:
        streams = min(20, self._options.streams)
        self._begin(self._port, self._ours, _WARM_UP_SECONDS, streams)
        self._lists(_WARM_UP_SECONDS)
        self._far.end()

    def round(self) -> _Round:
        options = self._options
        before = self._lists(options.calm)
        memory = process.pss_megabytes(self._pid)

        self._begin(self._far.port, self._direct, options.over + options.calm)
        # Until all of them have begun, here and below.
        time.sleep(options.over)
        beside = self._lists(options.calm)
        streams_beside = self._far.end()

        self._begin(self._port, self._ours, options.seconds)
        time.sleep(options.over)
        busy, began = _cpu_seconds(self._pid), time.monotonic()
        through = self._lists(options.seconds - options.over - _WEIGHING_SECONDS)
        share = (_cpu_seconds(self._pid) - busy) / (time.monotonic() - began)
        # Only now: the kernel stops the server while it counts.
        full_memory = process.pss_megabytes(self._pid)
        streams_through = self._far.end()

        calm = before + self._lists(options.calm)
        kilobytes = (full_memory - memory) * 1024 / options.streams
        return _Round(calm, beside, through, streams_beside, streams_through, share, kilobytes)

    def _begin(self, port: int, request: bytes, seconds: float, streams: int | None = None) -> None:
        options = self._options
        streams = streams or options.streams
        over = min(options.over, seconds)
        self._far.begin(Load(port, request.decode(), streams, seconds, options.per_second, over))

    def _lists(self, seconds: float) -> _Lists:
        return _Lists(*ask(self._targets, seconds))


def _report(rounds: list[_Round], options: argparse.Namespace) -> dict[str, object]:
    calm, beside, through = (
        _figures(reduce(add, (getattr(each, name) for each in rounds)))
        for name in ("calm", "beside", "through")
    )
    grows = {name: _times(calm[name], through[name]) for name in calm}
    completed = sum(each.streams_through.completed for each in rounds)
    added = {
        name: round(median(_added(each, name) for each in rounds), 2) for name in ("p50", "p99")
    }
    memory = round(median(each.memory_kilobytes for each in rounds), 1)
    return {
        "streams": options.streams,
        "seconds": options.seconds,
        "chunks a second": options.streams * options.per_second,
        "completed": completed,
        "chunks": sum(each.streams_through.chunks for each in rounds),
        "added to a chunk ms": added,
        "memory a stream KB": memory,
        "server's share of a core": round(median(each.share for each in rounds), 2),
        "lists ms": {
            "calm": calm,
            "streams beside Masthead": beside,
            "streams through Masthead": through,
        },
        "windows": {"calm": len(rounds[0].calm.server), "through": len(rounds[0].through.server)},
        "p99 of a list grows, times": grows,
        "verdict": {
            "all completed": completed == options.streams * options.rounds,
            f"added to a chunk, p99, at most {MOST_ADDED_MS} ms": added["p99"] <= MOST_ADDED_MS,
            f"memory a stream, at most {MOST_KILOBYTES} KB": memory <= MOST_KILOBYTES,
            f"p99 of a list grows less than {MOST_TIMES} times": grows["server"]["p99"]
            < MOST_TIMES,
        },
        "rounds": [
            {
                "without Masthead": asdict(each.streams_beside),
                "through Masthead": asdict(each.streams_through),
                "p99 of the server's windows": {
                    name: [percentiles(window)["p99"] for window in getattr(each, name).server]
                    for name in ("calm", "beside", "through")
                },
            }
            for each in rounds
        ],
    }


def _figures(lists: _Lists) -> dict[str, dict[str, float]]:
    return {
        "server": figures(lists.server),
        "server without streams": figures(lists.idle),
        "witness": figures(lists.witness),
    }


def _times(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    return {name: round(after[name] / before[name], 2) for name in before}


def _added(each: _Round, name: str) -> float:
    return each.streams_through.delay_ms[name] - each.streams_beside.delay_ms[name]


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
