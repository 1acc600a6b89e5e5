"""`python -m bench.admin`: the time of every page of the admin on a site of 100,000 posts, and the
bytes of its first and second visit in Chromium. Exits with 1 if a page misses its target.

Measured is every sample of `tests/faces/admin/every_page.py` that is a GET of a site with content,
so a new page is measured, too; and each list with its filters, orders and searches, and from its
middle.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import http.client
import json
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import uvloop
from playwright.async_api import Browser, async_playwright
from tests.browser import CHROMIUM

from bench import (
    admin_data,
    admin_deliveries,
    admin_fill,
    admin_operated,
    admin_pages,
    admin_readers,
    datasets,
    process,
)
from bench.admin_data import Size
from bench.admin_pages import Page
from bench.databases import POSTGRESQL, SQLITE
from bench.http import call
from bench.privacy_folders import DataFolder, opened
from masthead.service.services import bring_up_to_date
from masthead.service.services import build as build_parts

MAX_MS: Final = 50.0
MAX_FIRST: Final = {"list": 120_000, "editor": 300_000}
MAX_SECOND: Final = 20_000
RESULTS: Final = Path(__file__).with_name("results")
_HOST: Final = f"{admin_data.SLUG}.localhost"
_NAMES: Final = "names.json"
_WITH_EDITOR: Final = ("post", "post-new", "page", "page-new")


@dataclass
class Timing:
    page: Page
    milliseconds: list[float] = field(default_factory=list)
    processor_ms: list[float] = field(default_factory=list)

    def at(self, share: float) -> float:
        ordered = sorted(self.milliseconds)
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)]

    @property
    def is_met(self) -> bool:
        return self.at(0.95) <= MAX_MS


def main() -> int:
    options = _options()
    size = Size(options.posts, options.members, options.comments, options.deliveries)
    is_good = True
    for engine in (SQLITE, POSTGRESQL) if options.engine == "both" else (options.engine,):
        with _site(engine, size, is_fresh=options.fresh) as folder:
            is_good &= _measured(engine, folder, options)
    return 0 if is_good else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.admin", description=__doc__)
    parser.add_argument("--engine", choices=(SQLITE, POSTGRESQL, "both"), default="both")
    parser.add_argument("--posts", type=int, default=100_000)
    parser.add_argument("--members", type=int, default=0)
    parser.add_argument("--comments", type=int, default=0)
    parser.add_argument("--deliveries", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=40, help="requests of each page")
    parser.add_argument("--only", default="", help="pages with this in their name or address")
    parser.add_argument("--fresh", action="store_true", help="make the site anew")
    parser.add_argument("--no-browser", action="store_true", help="no bytes, only times")
    return parser.parse_args()


@contextmanager
def _site(engine: str, size: Size, *, is_fresh: bool) -> Iterator[DataFolder]:
    name = f"admin-{engine}-{size.name}-{_version()}"
    is_postgres = engine == POSTGRESQL

    def build(folder: Path) -> None:
        with opened(folder, postgres=is_postgres) as data:
            uvloop.run(_seed(data, size))

    with (
        datasets.copy_of(name, build, is_fresh=is_fresh) as folder,
        opened(folder, postgres=is_postgres) as data,
    ):
        # It may have been made by an older version.
        asyncio.run(bring_up_to_date(data.settings))
        yield data


async def _seed(data: DataFolder, size: Size) -> None:
    await bring_up_to_date(data.settings)
    parts = await build_parts(data.settings)
    try:
        names = await admin_data.seed(parts, size)
        (data.folder / _NAMES).write_text(json.dumps(names))
    finally:
        await parts.close()


def _version() -> str:
    """Of the sources of the data."""
    modules = (admin_data, admin_fill, admin_readers, admin_deliveries, admin_operated)
    sources = b"".join(Path(each.__file__).read_bytes() for each in modules)
    return hashlib.sha256(sources).hexdigest()[:12]


def _measured(engine: str, data: DataFolder, options: argparse.Namespace) -> bool:
    with process.masthead(data.folder, data.environment) as (port, server):
        tokens = {who: _token(port, email) for who, email in admin_data.ACCOUNTS.items()}
        names = json.loads((data.folder / _NAMES).read_text())
        pages = [
            each
            for each in admin_pages.pages(names, datetime.now(UTC))
            if options.only in each.name or options.only in each.path
        ]
        print(f"\n{engine}, ten million additions took {_additions():.2f} s, load {_load()}")
        timings = _time_pages(port, server.pid, tokens, pages, options.rounds)
        print(_table(timings))
        is_good = all(each.is_met for each in timings)
        figures: dict[str, Any] = {each.page.name: each.milliseconds for each in timings}
        if not options.no_browser:
            visits = asyncio.run(_visits(port, tokens["owner"], pages))
            is_good &= _report(visits)
            figures["bytes"] = {name: [each[0], each[1]] for name, each in visits.items()}
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"admin-{engine}.json").write_text(json.dumps(figures))
    return is_good


def _additions() -> float:
    """How quick the machine is just now."""
    began, total = time.perf_counter(), 0
    for number in range(10_000_000):
        total += number
    return time.perf_counter() - began


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def _token(port: int, email: str) -> str:
    path = "/api/collections/_superusers/auth-with-password"
    credentials = {"identity": email, "password": admin_data.PASSWORD}
    return str(call(port, "POST", path, credentials, {"Host": _HOST})["token"])


def _time_pages(
    port: int, pid: int, tokens: dict[str, str], pages: list[Page], rounds: int
) -> list[Timing]:
    """In turns, so that a busy second of the machine does not fall on one page alone."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    timings = []
    for page in pages:
        status, _ = _ask(connection, page, tokens[page.who])
        if status == page.status:
            timings.append(Timing(page))
        else:
            print(f"not measured: {page.name}, {page.path}: {status}")
    for number in range(-1, rounds):
        for timing in timings:
            before = process.processor_seconds([pid])
            _, took = _ask(connection, timing.page, tokens[timing.page.who])
            if number >= 0:
                timing.milliseconds.append(took)
                timing.processor_ms.append((process.processor_seconds([pid]) - before) * 1_000)
    connection.close()
    return timings


def _ask(connection: http.client.HTTPConnection, page: Page, token: str) -> tuple[int, float]:
    """The status and the milliseconds."""
    host = _HOST if page.is_of_site else "localhost"
    began = time.perf_counter()
    headers = {"Host": host, "Cookie": f"pb_auth={token}"}
    if not page.is_whole:
        headers["HX-Request"] = "true"
    connection.request("GET", page.path, headers=headers)
    response = connection.getresponse()
    response.read()
    return response.status, (time.perf_counter() - began) * 1_000


def _table(timings: list[Timing]) -> str:
    lines = [f"| page | p50 ms | p95 ms, target {MAX_MS:.0f} | processor ms |", "|---|---|---|---|"]
    for each in sorted(timings, key=lambda timing: -timing.at(0.95)):
        mark = "" if each.is_met else " **missed**"
        times = f"{each.at(0.5):.1f} | {each.at(0.95):.1f}{mark}"
        spent = statistics.median(each.processor_ms)
        lines.append(f"| {each.page.name} | {times} | {spent:.1f} |")
    return "\n".join(lines)


async def _visits(port: int, token: str, pages: list[Page]) -> dict[str, tuple[float, float]]:
    """The bytes of the first and of the second visit."""
    found = {}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--host-resolver-rules=MAP *.localhost 127.0.0.1"],
        )
        for page in pages:
            # Lists weigh the same with any filter.
            if page.who == "owner" and page.is_whole and "?" not in page.path:
                found[page.name] = await _visit(browser, port, token, page.path)
        await browser.close()
    return found


async def _visit(browser: Browser, port: int, token: str, path: str) -> tuple[float, float]:
    origin = f"http://{_HOST}:{port}"
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    await context.add_cookies([{"name": "pb_auth", "value": token, "url": origin}])
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    await session.send("Network.enable")
    sizes: list[float] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    totals = []
    for _ in range(2):
        sizes.clear()
        await page.goto(origin + path, wait_until="networkidle", timeout=60_000)
        totals.append(sum(sizes))
        await page.goto("about:blank")
    await context.close()
    return totals[0], totals[1]


def _report(visits: dict[str, tuple[float, float]]) -> bool:
    is_good = True
    print("\n| page | first visit, kB | second visit, kB |\n|---|---|---|")
    for name, (first, second) in visits.items():
        is_editor = name in _WITH_EDITOR
        limit = MAX_FIRST["editor" if is_editor else "list"]
        is_met = first <= limit and second <= MAX_SECOND
        is_good &= is_met
        mark = "" if is_met else " **missed**"
        print(f"| {name} | {first / 1_000:.1f} | {second / 1_000:.1f}{mark} |")
    return is_good


if __name__ == "__main__":
    raise SystemExit(main())
