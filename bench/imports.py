"""`python -m bench.imports`: the time and memory of imports, as whole commands. Each runs into a
new site, and then a second time, when nothing has changed. Exits with 1 if a goal is missed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path

from bench import process
from bench.import_files import Pictures, write_ghost, write_wxr
from bench.special import Figure, Place, finish, new_site, options, place

_NUMBER = re.compile(r"/(\d+)\.png")
_SAMPLE_SECONDS = 0.1


@dataclass(frozen=True)
class Case:
    name: str
    platform: str
    write: Callable[[Path], None]
    most_seconds: float
    posts: int
    pictures: int = 0


@dataclass(frozen=True)
class Import:
    seconds: float
    processor_seconds: float
    megabytes: float
    posts: int
    pictures: int


def main() -> None:
    given = options("imports", __doc__, only="", posts=20_000, ghost=1_000, pictures=2_000)
    loopback = {"MASTHEAD_OUTBOUND_ALLOW": "127.0.0.0/8"}
    with process.child(_serve_pictures) as pipe, place(given.engine, **loopback) as installed:
        site, shown = f"http://127.0.0.1:{pipe.recv()}", given.pictures // 4
        wxr = Case(
            f"WXR, {given.posts:,} posts",
            "wordpress",
            lambda path: write_wxr(path, given.posts, site="https://old.example.com"),
            40,
            given.posts,
        )
        ghost = Case(
            f"Ghost, {given.ghost:,} posts",
            "ghost",
            lambda path: write_ghost(path, given.ghost),
            1.5,
            given.ghost,
        )
        pictures = Case(
            f"{given.pictures:,} pictures",
            "wordpress",
            lambda path: write_wxr(path, shown, site=site, pictures=given.pictures),
            30,
            shown,
            given.pictures,
        )
        cases = [each for each in (wxr, ghost, pictures) if given.only in each.name.lower()]
        finish(
            figure
            for number, case in enumerate(cases)
            for figure in measured(installed, case, number)
        )


def measured(installed: Place, case: Case, number: int) -> Iterator[Figure]:
    slug, path = f"site-{number}", installed.folder / f"export-{number}"
    case.write(path)
    installed.make(lambda parts: new_site(parts, slug))
    first, again = (_run(installed, case, path, slug) for _ in range(2))
    size = path.stat().st_size / 1e6
    yield Figure(f"{case.name}, {size:.0f} MB", first.seconds, "s", most=case.most_seconds)
    yield Figure(f"{case.name}, processor", first.processor_seconds, "s")
    yield Figure(f"{case.name}, memory", first.megabytes, "MB", most=250)
    # Only complete imports count.
    yield Figure(f"{case.name}, imported", first.posts, least=case.posts)
    if case.pictures:
        yield Figure(f"{case.name}, copied", first.pictures, least=case.pictures)
    yield Figure(f"{case.name}, again", again.seconds, "s")


def _run(installed: Place, case: Case, path: Path, slug: str) -> Import:
    arguments = ("--file", str(path), "--tenant-id", slug, "--json")
    began, peak = time.perf_counter(), 0.0
    with subprocess.Popen(
        [process.COMMAND, "import", case.platform, *arguments],
        cwd=installed.folder,
        env=os.environ | installed.environment | {"PYTHONDONTWRITEBYTECODE": ""},
        stdout=subprocess.PIPE,
    ) as running:
        while running.poll() is None:
            used = process.processor_seconds(running.pid)
            peak = max(peak, process.pss_megabytes(running.pid))
            time.sleep(_SAMPLE_SECONDS)
        seconds = time.perf_counter() - began
        assert running.stdout is not None
        summary = json.loads(running.stdout.read())
    imported, copied = summary["posts"]["imported"], summary["images"]["copied"]
    return Import(seconds, used, peak, imported, copied)


def _serve_pictures(to_parent: Connection) -> None:
    """The old site, in a child process; sends its port."""
    pictures = Pictures()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found = _NUMBER.search(self.path)
            content = pictures[int(found[1])] if found else b""
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "image/png")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *given: object) -> None:
            """Without two thousand lines of log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    to_parent.send(server.server_address[1])
    server.serve_forever()


if __name__ == "__main__":
    main()
