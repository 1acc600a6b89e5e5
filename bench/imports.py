"""`python -m bench.imports`: the time and memory of imports, as whole commands.

Every import runs into a new tenant, and then a second time, when nothing has changed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path

from bench import datasets, process
from bench.databases import POSTGRESQL, SQLITE, databases
from bench.import_files import Pictures, write_ghost, write_wxr

RESULTS = Path(__file__).parent / "results"
_ROOT = Path(__file__).parents[1]
POSTS, GHOST_POSTS, PICTURES = 20_000, 1_000, 2_000
GHOST_ROUNDS = 5
LOADED_ROUNDS = 3
_NUMBER = re.compile(r"/(\d+)\.png")
_SAMPLE_SECONDS = 0.1


@dataclass(frozen=True)
class Limits:
    seconds: float
    megabytes: float | None = None


@dataclass(frozen=True)
class Case:
    name: str
    platform: str
    file: Path
    limits: Limits
    posts: int
    pictures: int = 0
    rounds: int = 1


@dataclass(frozen=True)
class Measured:
    seconds: float
    cpu_seconds: float
    megabytes: float
    posts: int
    pictures: int


def main() -> None:
    arguments = _arguments()
    RESULTS.mkdir(exist_ok=True)
    engine = arguments.engine
    with (
        datasets.run_folder() as folder,
        databases(engine, folder) as new_database,
        process.child(_serve_pictures) as pipe,
    ):
        cases = _cases(folder, f"http://127.0.0.1:{pipe.recv()}", arguments.only)
        found = _measure_all(folder, new_database(), cases)
    path = RESULTS / f"imports-{engine}.json"
    path.write_text(json.dumps(found, indent=2))
    print(f"\n{engine}; every round is in {path}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.imports", description=__doc__)
    parser.add_argument("--engine", choices=(SQLITE, POSTGRESQL), default=SQLITE)
    parser.add_argument("--only", default="", help="imports with this in their name")
    return parser.parse_args()


def _cases(folder: Path, site: str, only: str) -> list[Case]:
    """Also writes their files."""
    wxr, ghost, shown = folder / "posts.xml", folder / "ghost.json", folder / "pictures.xml"
    cases = [
        Case(f"WXR, {POSTS:,} posts", "wordpress", wxr, Limits(40, 250), POSTS),
        Case(
            f"Ghost, {GHOST_POSTS:,} posts",
            "ghost",
            ghost,
            Limits(1.5),
            GHOST_POSTS,
            rounds=GHOST_ROUNDS,
        ),
        Case(f"{PICTURES:,} pictures", "wordpress", shown, Limits(30), 500, PICTURES),
    ]
    writers: dict[Path, Callable[[], None]] = {
        wxr: lambda: write_wxr(wxr, POSTS, site="https://old.example.com"),
        ghost: lambda: write_ghost(ghost, GHOST_POSTS),
        shown: lambda: write_wxr(shown, 500, site=site, pictures=PICTURES),
    }
    wanted = [case for case in cases if only.lower() in case.name.lower()]
    for case in wanted:
        writers[case.file]()
    return wanted


def _measure_all(folder: Path, url: str, cases: list[Case]) -> dict[str, list[dict[str, object]]]:
    masthead = Masthead(folder, url)
    found: dict[str, list[dict[str, object]]] = {}
    print(f"{'import':28} {'wall':>9} {'cpu':>9} {'memory':>9}  target")
    for case in cases:
        size = case.file.stat().st_size / 1e6
        first, second = [], []
        for number in range(case.rounds):
            slug = f"{case.file.stem}-{number}"
            masthead.create_tenant(slug)
            first.append(_checked(masthead.run(case, slug), case))
            second.append(masthead.run(case, slug))
        _print(f"{case.name} ({size:.0f} MB)", first, case.limits)
        _print("  again", second, None)
        if case.platform == "ghost":
            seconds = masthead.run_loaded(case)
            print(f"{'  without loading Python':28} {seconds:7.2f} s")
            found[f"{case.name}, loaded"] = [{"seconds": seconds}]
        found[case.name] = [asdict(each) for each in first]
        found[f"{case.name}, again"] = [asdict(each) for each in second]
    return found


def _checked(measured: Measured, case: Case) -> Measured:
    """Only complete imports count."""
    if (measured.posts, measured.pictures) != (case.posts, case.pictures):
        sys.exit(f"{case.name}: only {measured.posts} posts and {measured.pictures} pictures")
    return measured


def _print(name: str, rounds: list[Measured], limits: Limits | None) -> None:
    wall = statistics.median(each.seconds for each in rounds)
    cpu = statistics.median(each.cpu_seconds for each in rounds)
    peak = max(each.megabytes for each in rounds)
    target = ""
    if limits is not None:
        limit = limits.megabytes
        is_met = wall <= limits.seconds and (limit is None or peak <= limit)
        target = f"<= {limits.seconds:g} s" + (f", <= {limit:g} MB" if limit else "")
        target += "" if is_met else "  NOT MET"
    print(f"{name:28} {wall:7.2f} s {cpu:7.2f} s {peak:6.0f} MB  {target}", flush=True)


class Masthead:
    """Runs the command on one database."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self._folder = folder
        self._environment = {
            **os.environ,
            "MASTHEAD_DATA_DIR": str(folder / "data"),
            "MASTHEAD_DATABASE_URL": database_url,
            "MASTHEAD_OUTBOUND_ALLOW": "127.0.0.0/8",
        }
        # An installed service has bytecode files.
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def create_tenant(self, slug: str) -> None:
        options = ("--slug", slug, "--name", slug, "--plan", "pro")
        owner = ("--owner-email", f"{slug}@example.com", "--owner-password", "correct horse")
        command = [process.COMMAND, "tenant", "create", *options, *owner]
        subprocess.run(command, env=self._environment, check=True, stdout=subprocess.DEVNULL)

    def run(self, case: Case, slug: str) -> Measured:
        options = ("--file", str(case.file), "--tenant-id", slug, "--json")
        command = [process.COMMAND, "import", case.platform, *options]
        started = time.perf_counter()
        with subprocess.Popen(
            command, env=self._environment, cwd=self._folder, stdout=subprocess.PIPE
        ) as running:
            with _peak_memory(running.pid) as peak:
                _, status, used = os.wait4(running.pid, 0)
                seconds = time.perf_counter() - started
            running.returncode = os.waitstatus_to_exitcode(status)
            assert running.stdout is not None
            printed = running.stdout.read()
        if running.returncode:
            sys.exit(f"{case.name}: the command ended with {running.returncode}")
        summary = json.loads(printed)
        return Measured(
            seconds,
            used.ru_utime + used.ru_stime,
            peak(),
            summary["posts"]["imported"],
            summary["images"]["copied"],
        )

    def run_loaded(self, case: Case) -> float:
        """Seconds of an import in a process that has run imports before."""
        slugs = [f"{case.file.stem}-loaded-{number}" for number in range(LOADED_ROUNDS)]
        for slug in slugs:
            self.create_tenant(slug)
        command = [sys.executable, "-m", "bench.import_warm", case.platform, str(case.file), *slugs]
        path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH", ""))))
        environment = {**self._environment, "PYTHONPATH": path}
        done = subprocess.run(
            command, env=environment, cwd=self._folder, check=True, stdout=subprocess.PIPE
        )
        return float(done.stdout.split()[-1])


@contextmanager
def _peak_memory(pid: int) -> Iterator[Callable[[], float]]:
    """Of the process and its descendants, sampled in a thread."""
    samples, is_over = [0.0], threading.Event()

    def sample() -> None:
        while not is_over.wait(_SAMPLE_SECONDS):
            # The process may have ended.
            with suppress(OSError):
                samples.append(process.pss_megabytes(pid))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield lambda: max(samples)
    finally:
        is_over.set()
        thread.join()


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
