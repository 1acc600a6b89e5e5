"""`python -m bench.imports`: how long imports take, as whole commands, and how much memory.

Every import goes into a tenant of its own, and then a second time, when nothing is left to do.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from pathlib import Path

from bench import datasets, postgres
from bench.import_files import Pictures, write_ghost, write_wxr
from bench.process import pss_megabytes

SQLITE, POSTGRESQL = "sqlite", "postgresql"
RESULTS = Path(__file__).parent / "results"
_ROOT = Path(__file__).parents[1]
POSTS, GHOST_POSTS, PICTURES = 20_000, 1_000, 2_000
GHOST_ROUNDS = 5
LOADED_ROUNDS = 3
_NUMBER = re.compile(r"/(\d+)\.png")
_LOOK_SECONDS = 0.1
_COMMAND = Path(sys.executable).with_name("masthead")


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
    folder_of_all = datasets.cache_folder()
    folder_of_all.mkdir(parents=True, exist_ok=True)
    # Not under /tmp, which is often in memory: a sync to disk must cost what it costs.
    with tempfile.TemporaryDirectory(dir=folder_of_all, prefix="imports-") as name:
        folder = Path(name)
        with _database(arguments, folder) as url, _old_site() as site:
            found = _measure_all(folder, url, _cases(folder, site, arguments.only))
    engine = "postgresql" if url.startswith("postgresql") else "sqlite"
    path = RESULTS / f"imports-{engine}.json"
    path.write_text(json.dumps(found, indent=2))
    print(f"\n{engine}; every round is in {path}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.imports", description=__doc__)
    parser.add_argument("--engine", choices=(SQLITE, POSTGRESQL), default=SQLITE)
    parser.add_argument("--database-url", default="", help="an empty database, instead of one made")
    parser.add_argument("--only", default="", help="what has this in its name")
    return parser.parse_args()


@contextmanager
def _database(arguments: argparse.Namespace, folder: Path) -> Iterator[str]:
    if arguments.database_url:
        yield arguments.database_url
    elif arguments.engine == SQLITE:
        yield f"sqlite:///{folder}/masthead.db"
    else:
        with postgres.server(folder) as new_database:
            yield new_database()


def _cases(folder: Path, site: str, only: str) -> list[Case]:
    """The files are made before anything is measured."""
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
    makers: dict[Path, Callable[[], None]] = {
        wxr: lambda: write_wxr(wxr, POSTS, site="https://old.example.com"),
        ghost: lambda: write_ghost(ghost, GHOST_POSTS),
        shown: lambda: write_wxr(shown, 500, site=site, pictures=PICTURES),
    }
    wanted = [case for case in cases if only.lower() in case.name.lower()]
    for case in wanted:
        makers[case.file]()
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
            masthead.make_tenant(slug)
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
    """An import that leaves something out is not fast."""
    if (measured.posts, measured.pictures) != (case.posts, case.pictures):
        sys.exit(f"{case.name}: {measured.posts} posts and {measured.pictures} pictures came over")
    return measured


def _print(name: str, rounds: list[Measured], limits: Limits | None) -> None:
    wall = statistics.median(each.seconds for each in rounds)
    cpu = statistics.median(each.cpu_seconds for each in rounds)
    most = max(each.megabytes for each in rounds)
    target = ""
    if limits is not None:
        room = limits.megabytes
        is_met = wall <= limits.seconds and (room is None or most <= room)
        target = f"<= {limits.seconds:g} s" + (f", <= {room:g} MB" if room else "")
        target += "" if is_met else "  NOT MET"
    print(f"{name:28} {wall:7.2f} s {cpu:7.2f} s {most:6.0f} MB  {target}", flush=True)


class Masthead:
    """The command, on one database."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self._folder = folder
        self._environment = {
            **os.environ,
            "MASTHEAD_DATA_DIR": str(folder / "data"),
            "MASTHEAD_DATABASE_URL": database_url,
            "MASTHEAD_OUTBOUND_ALLOW": "127.0.0.0/8",
        }
        # A service's bytecode is written once.
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def make_tenant(self, slug: str) -> None:
        options = ("--slug", slug, "--name", slug, "--plan", "pro")
        owner = ("--owner-email", f"{slug}@example.com", "--owner-password", "correct horse")
        command = [str(_COMMAND), "tenant", "create", *options, *owner]
        subprocess.run(command, env=self._environment, check=True, stdout=subprocess.DEVNULL)

    def run(self, case: Case, slug: str) -> Measured:
        options = ("--file", str(case.file), "--tenant-id", slug, "--json")
        command = [str(_COMMAND), "import", case.platform, *options]
        started = time.perf_counter()
        with subprocess.Popen(
            command, env=self._environment, cwd=self._folder, stdout=subprocess.PIPE
        ) as process:
            with _weighed(process.pid) as peak:
                _, status, used = os.wait4(process.pid, 0)
                seconds = time.perf_counter() - started
            process.returncode = os.waitstatus_to_exitcode(status)
            assert process.stdout is not None
            printed = process.stdout.read()
        if process.returncode:
            sys.exit(f"{case.name}: the command ended with {process.returncode}")
        summary = json.loads(printed)
        return Measured(
            seconds,
            used.ru_utime + used.ru_stime,
            peak(),
            summary["posts"]["imported"],
            summary["images"]["copied"],
        )

    def run_loaded(self, case: Case) -> float:
        """Seconds of an import in a process that has done some before."""
        slugs = [f"{case.file.stem}-loaded-{number}" for number in range(LOADED_ROUNDS)]
        for slug in slugs:
            self.make_tenant(slug)
        command = [sys.executable, "-m", "bench.import_warm", case.platform, str(case.file), *slugs]
        path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH", ""))))
        environment = {**self._environment, "PYTHONPATH": path}
        done = subprocess.run(
            command, env=environment, cwd=self._folder, check=True, stdout=subprocess.PIPE
        )
        return float(done.stdout.split()[-1])


@contextmanager
def _weighed(pid: int) -> Iterator[Callable[[], float]]:
    """The most memory of the process and those under it, looked at from a thread."""
    seen, is_over = [0.0], threading.Event()

    def look() -> None:
        while not is_over.wait(_LOOK_SECONDS):
            # It may end between two looks.
            with suppress(OSError):
                seen.append(pss_megabytes(pid))

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield lambda: max(seen)
    finally:
        is_over.set()
        looking.join()


@contextmanager
def _old_site() -> Iterator[str]:
    """Serves the pictures on loopback, from a process of its own; its address."""
    here, there = Pipe()
    process = Process(target=_serve_pictures, args=(there,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}"
    finally:
        process.terminate()
        process.join()


def _serve_pictures(told: Connection) -> None:
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
            """Two thousand lines would say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.send(server.server_address[1])
    server.serve_forever()


if __name__ == "__main__":
    main()
