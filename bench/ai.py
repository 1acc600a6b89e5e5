"""`python -m bench.ai`: the cost of many AI answers that one process streams at the same time.

Provider and readers run in one separate process. Posts are listed at a steady rate in three
situations, in turns: without streams; with streams from the provider to the readers directly; with
streams through Masthead. In every situation two other servers are measured, too: a second Masthead
without streams, and a control server that does as much work for an answer. Their delays are caused
by the busy machine.

A single bad moment of a shared host decides a p99. So time is divided into windows of some seconds,
and the figure is the median of the windows' p99. The p99 over all lists is reported, too.
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
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import add
from pathlib import Path
from statistics import median
from typing import cast

import uvloop

from bench import ai_control, ai_streams, data, masthead, process
from bench.ai_clients import Figures, percentiles
from bench.ai_lists import Target, Times, figures, poll
from bench.ai_streams import Load, Streams
from bench.http import request_bytes
from masthead.base.caller import system
from masthead.base.config.settings import Settings
from masthead.service.services import build as build_parts

TENANT = "t000"
_POSTS = 2_000
_MEMORY_SECONDS = 2.0
_WARM_UP_SECONDS = 1.0

MAX_GROWTH = 2.0
MAX_ADDED_MS = 20.0
MAX_KILOBYTES = 100.0


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
        uvloop.run(_set_ai_key(data_dir))
        idle_dir = shutil.copytree(data_dir, Path(folder) / "idle")
        with (
            ai_streams.running() as streams,
            ai_control.running(Path(folder) / "control.log") as control_port,
            process.masthead(data_dir, _settings(streams.port)) as (port, server),
            process.masthead(idle_dir, _settings(streams.port)) as (idle_port, _),
        ):
            bench = _Bench(streams, port, server.pid, (idle_port, control_port), options)
            bench.warm_up()
            return _report([bench.round() for _ in range(options.rounds)], options)


def read_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.ai", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each stream")
    # 30 tokens a second, three to a chunk.
    parser.add_argument("--per-second", type=float, default=10.0, help="chunks of each stream")
    parser.add_argument("--over", type=float, default=10.0, help="seconds to start all streams")
    parser.add_argument(
        "--calm", type=float, default=24.0, help="seconds without our streams, each time"
    )
    parser.add_argument("--lists", type=float, default=100.0, help="lists of posts a second")
    return parser.parse_args(arguments)


@dataclass(frozen=True)
class _Lists:
    """The times of lists in one situation, by server."""

    server: Times
    idle: Times
    control: Times

    def __add__(self, other: _Lists) -> _Lists:
        return _Lists(
            self.server + other.server, self.idle + other.idle, self.control + other.control
        )


@dataclass(frozen=True)
class _Round:
    calm: _Lists
    direct: _Lists
    through: _Lists
    streams_direct: Figures
    streams_through: Figures
    share: float
    """Of a core, used by the server with streams."""
    memory_kilobytes: float
    """Per stream."""


class _Bench:
    def __init__(
        self,
        streams: Streams,
        port: int,
        pid: int,
        others: tuple[int, int],
        options: argparse.Namespace,
    ) -> None:
        self._streams = streams
        self._port = port
        self._pid = pid
        self._options = options
        headers = {"Host": f"{TENANT}.localhost:{port}"}
        body = {"action": "generate", "prompt": "Write about tides."}
        path = "/api/collections/posts/records?perPage=20"
        self._ours = request_bytes("POST", "/api/ai/generate", headers, body)
        self._direct = request_bytes("POST", "/v1/chat/completions", headers, body)
        listing = request_bytes("GET", path, headers)
        # The others in turns, halfway between two requests to the server.
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
        self._streams.end()

    def round(self) -> _Round:
        options = self._options
        before = self._lists(options.calm)
        memory = process.pss_megabytes(self._pid)

        self._begin(self._streams.port, self._direct, options.over + options.calm)
        # Until all streams have started, here and below.
        time.sleep(options.over)
        direct = self._lists(options.calm)
        streams_direct = self._streams.end()

        self._begin(self._port, self._ours, options.seconds)
        time.sleep(options.over)
        busy, began = _cpu_seconds(self._pid), time.monotonic()
        through = self._lists(options.seconds - options.over - _MEMORY_SECONDS)
        share = (_cpu_seconds(self._pid) - busy) / (time.monotonic() - began)
        # After the lists, because the kernel stops the server while it counts.
        full_memory = process.pss_megabytes(self._pid)
        streams_through = self._streams.end()

        calm = before + self._lists(options.calm)
        kilobytes = (full_memory - memory) * 1024 / options.streams
        return _Round(calm, direct, through, streams_direct, streams_through, share, kilobytes)

    def _begin(self, port: int, request: bytes, seconds: float, streams: int | None = None) -> None:
        options = self._options
        streams = streams or options.streams
        over = min(options.over, seconds)
        load = Load(port, request.decode(), streams, seconds, options.per_second, over)
        self._streams.begin(load)

    def _lists(self, seconds: float) -> _Lists:
        return _Lists(*poll(self._targets, seconds))


def _report(rounds: list[_Round], options: argparse.Namespace) -> dict[str, object]:
    calm, direct, through = (
        _figures(reduce(add, (getattr(each, name) for each in rounds)))
        for name in ("calm", "direct", "through")
    )
    growth = {name: _growth(calm[name], through[name]) for name in calm}
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
            "streams without Masthead": direct,
            "streams through Masthead": through,
        },
        "windows": {"calm": len(rounds[0].calm.server), "through": len(rounds[0].through.server)},
        "p99 of a list grows, times": growth,
        "verdict": {
            "all completed": completed == options.streams * options.rounds,
            f"added to a chunk, p99, at most {MAX_ADDED_MS} ms": added["p99"] <= MAX_ADDED_MS,
            f"memory a stream, at most {MAX_KILOBYTES} KB": memory <= MAX_KILOBYTES,
            f"p99 of a list grows less than {MAX_GROWTH} times": growth["server"]["p99"]
            < MAX_GROWTH,
        },
        "rounds": [
            {
                "without Masthead": asdict(each.streams_direct),
                "through Masthead": asdict(each.streams_through),
                "p99 of the server's windows": {
                    name: [percentiles(window)["p99"] for window in getattr(each, name).server]
                    for name in ("calm", "direct", "through")
                },
            }
            for each in rounds
        ],
    }


def _figures(lists: _Lists) -> dict[str, dict[str, float]]:
    return {
        "server": figures(lists.server),
        "server without streams": figures(lists.idle),
        "control": figures(lists.control),
    }


def _growth(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    return {name: round(after[name] / before[name], 2) for name in before}


def _added(each: _Round, name: str) -> float:
    return each.streams_through.delay_ms[name] - each.streams_direct.delay_ms[name]


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _set_ai_key(data_dir: Path) -> None:
    parts = await build_parts(Settings.from_environ({}, data_dir=data_dir))
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


def _settings(provider_port: int) -> dict[str, str]:
    return {
        "MASTHEAD_RATE_LIMITS": "off",
        "MASTHEAD_AI_PROVIDER": "openai",
        "MASTHEAD_AI_BASE_URL": f"http://127.0.0.1:{provider_port}/v1",
        "MASTHEAD_LOG": "json",
    }


if __name__ == "__main__":
    sys.exit(main())
