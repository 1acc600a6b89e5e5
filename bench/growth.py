"""`python -m bench.growth`: whether requests slow down as a site gets more posts, or a service
more sites. Compares the processor time of the server for each request, so that other work of
the machine matters little. Exits with 1 if a request takes more than 1.3 times as long."""

from __future__ import annotations

import argparse
import random
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Final

from bench import data, datasets, load, masthead, process
from bench.http import answer_to, request_bytes
from bench.masthead import Masthead
from bench.operations import PER_PAGE, new_post, with_serial

MOST: Final = 1.3
FEW_POSTS: Final = 1_000
FEW_SITES: Final = 100
"""A page of the admin's list is full."""
POSTS_OF_A_SITE: Final = 200
"""Of the one that is measured among other sites, which have one post each."""
SMALL, LARGE = "small", "large"
_IN_TURN: Final = 100
_SERIALS: Final = 1_000_000
_FIRST_SERIAL: Final = 99_000_000
_CALM_SECONDS: Final = 3.0


@dataclass(frozen=True)
class Subject:
    """A site of a running service."""

    server: Masthead
    tenant: str
    posts: list[data.Post]

    @property
    def signed_in(self) -> dict[str, str]:
        """As the browser of the operator, who works in the site."""
        host = f"{self.tenant}.localhost:{self.server.port}"
        return {"Host": host, "Cookie": f"pb_auth={self.server.token}"}


Requests = Callable[[Subject], list[bytes]]


def _list(page: Callable[[int], int]) -> Requests:
    """Each with an address of its own, which no cache knows."""

    def requests(subject: Subject) -> list[bytes]:
        public = sum(post.is_public for post in subject.posts)
        number = page(-(-public // PER_PAGE))
        raw = subject.server.list_posts(subject.tenant, perPage=PER_PAGE, page=number)
        return [with_serial(raw)]

    return requests


def _view(subject: Subject) -> list[bytes]:
    return [with_serial(subject.server.view_post(post)) for post in _some(subject)]


def _update(subject: Subject) -> list[bytes]:
    title = {"title": f"Bench {load.SERIAL.decode()} renamed"}
    return [subject.server.update_post(post, title) for post in _some(subject)]


def _create(subject: Subject) -> list[bytes]:
    return [subject.server.create_post(subject.tenant, new_post(random.Random(data.VERSION)))]


def _admin_posts(subject: Subject) -> list[bytes]:
    return [request_bytes("GET", "/admin/posts", subject.signed_in)]


def _admin_sites(subject: Subject) -> list[bytes]:
    host = {"Host": f"localhost:{subject.server.port}"}
    return [request_bytes("GET", "/admin/tenants", subject.signed_in | host)]


def _some(subject: Subject) -> list[data.Post]:
    """Public posts of all ages."""
    public = [post for post in subject.posts if post.is_public]
    return public[:: max(len(public) // _IN_TURN, 1)][:_IN_TURN]


READS: Final[dict[str, Requests]] = {
    "view": _view,
    "first page with total": _list(lambda _: 1),
    "last page with total": _list(lambda last: last),
    "admin's posts": _admin_posts,
}
WRITES: Final[dict[str, Requests]] = {"update": _update, "create": _create}
"""After the reads: what they leave to do in the background would disturb them."""


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    # So that SIGTERM runs the context managers that stop the servers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    is_flat = True
    for name, micros in chain(_by_posts(options), _by_sites(options)):
        ratios = [large / small for small, large in zip(micros[SMALL], micros[LARGE], strict=True)]
        small, large = (statistics.median(micros[each]) for each in (SMALL, LARGE))
        ratio, is_slower = statistics.median(ratios), statistics.median(ratios) > MOST
        is_flat &= not is_slower
        print(
            f"{name:50} {small:8,.0f} {large:8,.0f} us  {ratio:5.2f} "
            f"({min(ratios):.2f} to {max(ratios):.2f}){'  SLOWER' if is_slower else ''}"
        )
    return 0 if is_flat else 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.growth", description=__doc__)
    parser.add_argument("--posts", type=int, default=100_000, help="of the large site")
    parser.add_argument("--sites", type=int, default=10_000, help="of the large installation")
    parser.add_argument("--only", default="", help="measure rows with this in their name")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each round")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--fresh", action="store_true", help="load the data again")
    return parser.parse_args(arguments)


Measured = tuple[str, dict[str, list[float]]]
"""Its name, and microseconds by size."""


def _by_posts(options: argparse.Namespace) -> Iterator[Measured]:
    sizes = {SMALL: FEW_POSTS, LARGE: options.posts}
    posts = {each: list(data.posts_of_one(each, size)) for each, size in sizes.items()}
    with ExitStack() as stack:
        every = [*posts[SMALL], *posts[LARGE]]
        server = stack.enter_context(_serving(f"posts-{options.posts}", every, options))
        subjects = {each: Subject(server, each, posts[each]) for each in sizes}
        label = f"{FEW_POSTS:,} and {options.posts:,} posts"
        yield from _measured(label, READS | WRITES, subjects, options)


def _by_sites(options: argparse.Namespace) -> Iterator[Measured]:
    own = list(data.posts_of_one("measured", POSTS_OF_A_SITE))
    with ExitStack() as stack:
        subjects = {}
        for size, sites in ((SMALL, FEW_SITES), (LARGE, options.sites)):
            others = [next(data.posts_of_one(f"s{number}", 1)) for number in range(sites - 1)]
            server = stack.enter_context(_serving(f"sites-{sites}", [*own, *others], options))
            subjects[size] = Subject(server, "measured", own)
        label = f"{FEW_SITES} and {options.sites:,} sites"
        rows = READS | {"admin's sites": _admin_sites} | WRITES
        yield from _measured(label, rows, subjects, options)


@contextmanager
def _serving(name: str, posts: list[data.Post], options: argparse.Namespace) -> Iterator[Masthead]:
    side = masthead.side(1)
    copy = datasets.copy_of(
        f"growth-{side.version}-{name}",
        lambda folder: side.build(folder, posts),
        is_fresh=options.fresh,
    )
    with copy as folder, side.serving(folder) as server:
        # What runs at a start ends.
        time.sleep(_CALM_SECONDS)
        assert isinstance(server, Masthead)
        yield server


def _measured(
    label: str,
    rows: dict[str, Requests],
    subjects: dict[str, Subject],
    options: argparse.Namespace,
) -> Iterator[Measured]:
    for name, requests in rows.items():
        if options.only not in name:
            continue
        for subject in subjects.values():
            # The first one also loads what it needs.
            answer = answer_to(subject.server.port, requests(subject)[0], _FIRST_SERIAL)
            assert answer.is_good, (name, answer)
        micros: dict[str, list[float]] = {size: [] for size in subjects}
        for number in range(options.rounds):
            for size, subject in subjects.items():
                micros[size].append(_microseconds(subject, requests(subject), number, options))
        yield f"{name}, {label}", micros


def _microseconds(
    subject: Subject, requests: list[bytes], number: int, options: argparse.Namespace
) -> float:
    pid = subject.server.pid
    plan = load.Plan(
        port=subject.server.port,
        requests=requests,
        seconds=options.seconds,
        warm_up_seconds=options.seconds / 2,
        connections=options.connections,
        first_serial=number * _SERIALS,
        is_repeatable=False,
        server_pids=[pid, *process.descendants(pid)],
    )
    result = load.run(plan)
    if not result.is_valid:
        raise RuntimeError(f"{requests[0][:80]!r}: {result.problems}")
    return 1_000_000 * result.server_seconds / result.requests


if __name__ == "__main__":
    sys.exit(main())
