"""`python -m bench.admin`: the time of every page of the admin on a site of 100,000 posts, and the
bytes of its first and second visit in Chromium. Exits with 1 if a page misses its target.

A list is asked for with each filter, order, search and a cursor in its middle, as owner and as an
author of half of the posts. Every page without a parameter is measured, so a new one is, too.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import http.client
import json
import os
import shutil
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import uvloop
from playwright.async_api import Browser, async_playwright

from bench import admin_data, datasets, process
from bench.admin_data import Size
from bench.databases import POSTGRESQL, SQLITE
from bench.http import call
from bench.privacy_folders import DataFolder, opened
from masthead import app
from masthead.admin.endpoint import AdminPages
from masthead.admin.routes import admin_routes

MAX_MS: Final = 50.0
MAX_FIRST: Final = {"list": 120_000, "editor": 300_000}
MAX_SECOND: Final = 20_000
RESULTS: Final = Path(__file__).with_name("results")
_HOST: Final = f"{admin_data.SLUG}.localhost"
_LEFT_OUT: Final = ("/admin/form-token", "/admin/sign-in", "/admin/forgot", "/admin/reset")
"""Not pages, or not for one who is signed in."""


@dataclass(frozen=True)
class Page:
    name: str
    path: str
    as_author: bool = False


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
        asyncio.run(app.bring_up_to_date(data.settings))
        yield data


async def _seed(data: DataFolder, size: Size) -> None:
    await app.bring_up_to_date(data.settings)
    parts = await app.build(data.settings)
    try:
        await admin_data.seed(parts, size)
    finally:
        await parts.close()


def _version() -> str:
    return hashlib.sha256(Path(admin_data.__file__).read_bytes()).hexdigest()[:12]


def _measured(engine: str, data: DataFolder, options: argparse.Namespace) -> bool:
    with process.masthead(data.folder, data.environment) as (port, server):
        tokens = {email: _token(port, email) for email in (admin_data.OWNER, admin_data.AUTHOR)}
        pages = [
            each
            for each in _pages(port, tokens[admin_data.OWNER])
            if options.only in each.name or options.only in each.path
        ]
        print(f"\n{engine}, ten million additions took {_additions():.2f} s, load {_load()}")
        timings = _time_pages(port, server.pid, tokens, pages, options.rounds)
        print(_table(timings))
        is_good = all(each.is_met for each in timings)
        figures: dict[str, Any] = {each.page.name: each.milliseconds for each in timings}
        if not options.no_browser:
            visits = asyncio.run(_visits(port, tokens[admin_data.OWNER], pages))
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


def _records(port: int, token: str, collection: str, **query: str | int) -> list[dict[str, Any]]:
    path = f"/api/collections/{collection}/records?{urlencode({**query, 'skipTotal': 1})}"
    answer = call(port, "GET", path, headers={"Host": _HOST, "Authorization": token})
    return list(answer["items"])


def _pages(port: int, token: str) -> list[Page]:
    author = _records(port, token, "_superusers", filter=f"email='{admin_data.AUTHOR}'")[0]["id"]
    post = _records(port, token, "posts", perPage=1, sort="-created", fields="id")[0]["id"]
    return [
        *_plain_pages(),
        *_post_lists(port, token, author),
        Page("editor", f"/admin/posts/{post}"),
        Page("post, delete", f"/admin/posts/{post}/delete"),
        Page("palette, search", "/admin/palette?q=lorem"),
        Page("person", f"/admin/staff/{author}"),
        Page("home of an author", "/admin", as_author=True),
        Page("posts of an author", "/admin/posts", as_author=True),
        Page("posts of an author, drafts", "/admin/posts?status=draft", as_author=True),
        Page("posts of an author, search", "/admin/posts?q=lorem", as_author=True),
    ]


def _plain_pages() -> list[Page]:
    """Every page without a parameter in its path."""
    routes = admin_routes(AdminPages(None))  # type: ignore[arg-type]
    return [
        Page(each.path.removeprefix("/admin/") or "home", each.path)
        for each in routes
        if "{" not in each.path
        and not each.path.startswith(_LEFT_OUT)
        and "GET" in getattr(each.endpoint, "_handlers", ())
    ]


def _post_lists(port: int, token: str, author: str) -> list[Page]:
    filters = {
        "drafts": {"status": "draft"},
        "scheduled": {"status": "scheduled"},
        "published": {"status": "published"},
        "public": {"visibility": "public"},
        "paid": {"visibility": "paid"},
        "paid drafts": {"status": "draft", "visibility": "paid"},
        "paid and published": {"status": "published", "visibility": "paid"},
        "tag": {"tag": admin_data.COMMON_TAG},
        "rare tag": {"tag": admin_data.RARE_TAG},
        "tag, drafts": {"tag": admin_data.COMMON_TAG, "status": "draft"},
        "tag, paid": {"tag": admin_data.COMMON_TAG, "visibility": "paid"},
        "author": {"author": author},
        "author, drafts": {"author": author, "status": "draft"},
        "author, tag": {"author": author, "tag": admin_data.RARE_TAG},
        "search": {"q": "lorem"},
        "search, rare": {"q": admin_data.RARE_WORD},
        "search, drafts": {"q": "lorem", "status": "draft"},
        "search, rare tag": {"q": "lorem", "tag": admin_data.RARE_TAG},
    }
    orders = {"by title": "title", "by title, down": "-title", "oldest change": "changed"}
    lists = {f"posts, {name}": query for name, query in filters.items()}
    for order, sort in orders.items():
        lists[f"posts {order}"] = {"sort": sort}
        for name in ("drafts", "published", "paid", "paid drafts"):
            lists[f"posts, {name}, {order}"] = {**filters[name], "sort": sort}
    found = [Page(name, f"/admin/posts?{urlencode(query)}") for name, query in lists.items()]
    return [*found, *_deep(port, token)]


def _deep(port: int, token: str) -> list[Page]:
    """From the middle of the list, to either side."""
    found = []
    for name, field_name, sort in (("posts", "updated", ""), ("posts by title", "title", "title")):
        order = sort or f"-{field_name}"
        query = {"perPage": 20, "page": 1_000, "sort": order, "fields": f"id,{field_name}"}
        records = _records(port, token, "posts", **query)
        for each in records[:1]:
            mark = quote(f"{each[field_name]}~{each['id']}")
            for side in ("after", "before"):
                path = f"/admin/posts?{side}={mark}&at=20000" + (f"&sort={sort}" if sort else "")
                found.append(Page(f"{name}, {side} the middle", path))
    return found


def _time_pages(
    port: int, pid: int, tokens: dict[str, str], pages: list[Page], rounds: int
) -> list[Timing]:
    """In turns, so that a busy second of the machine does not fall on one page alone."""
    timings = [Timing(each) for each in pages]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for number in range(-2, rounds):
        for timing in timings:
            email = admin_data.AUTHOR if timing.page.as_author else admin_data.OWNER
            before = _processor_ms(pid)
            took = _ask(connection, timing.page.path, tokens[email])
            if number >= 0:
                timing.milliseconds.append(took)
                timing.processor_ms.append(_processor_ms(pid) - before)
    connection.close()
    return timings


def _processor_ms(pid: int) -> float:
    """What the threads of the server have used. Other work of the machine does not change it much,
    and a database of its own is not in it."""
    spent = 0
    for stat in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            spent += int(stat.read_text().split()[0])
        except OSError:
            continue
    return spent / 1_000_000


def _ask(connection: http.client.HTTPConnection, path: str, token: str) -> float:
    began = time.perf_counter()
    connection.request("GET", path, headers={"Host": _HOST, "Cookie": f"pb_auth={token}"})
    response = connection.getresponse()
    response.read()
    took = (time.perf_counter() - began) * 1_000
    # An operator's page is refused, which is a page as well.
    if response.status not in (200, 303, 403, 404):
        raise RuntimeError(f"GET {path}: {response.status}")
    return took


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
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    found = {}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--host-resolver-rules=MAP *.localhost 127.0.0.1"],
        )
        for page in pages:
            if not page.as_author and not page.path.startswith("/admin/posts?"):
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
        is_editor = name == "editor" or name.endswith("/new")
        limit = MAX_FIRST["editor" if is_editor else "list"]
        is_met = first <= limit and second <= MAX_SECOND
        is_good &= is_met
        mark = "" if is_met else " **missed**"
        print(f"| {name} | {first / 1_000:.1f} | {second / 1_000:.1f}{mark} |")
    return is_good


if __name__ == "__main__":
    raise SystemExit(main())
