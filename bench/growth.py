"""`python -m bench.growth`: whether requests slow down as a site gets more posts, or a service more
sites. Compares the processor time of the server for a request, in turn, so that other work of the
machine matters little. Exits with 1 if a request takes more than 1.3 times as long."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

import uvloop

from bench import datasets
from bench.data import Content, Post
from bench.figures import processor, ratio_of
from bench.masthead import Masthead, MastheadService
from bench.rows import OPERATIONS, Operation, write
from bench.service import EMAIL, KEYS, PASSWORD, Service
from bench.special import Figure, finish, options
from bench.tasks import Request, Settings
from masthead.base import clock
from masthead.base.caller import system
from masthead.base.config import settings
from masthead.base.ids import TenantId, new_id
from masthead.identity.setup import create_operator
from masthead.service.services import Services, bring_up_to_date, build

MOST: Final = 1.3
FEW_POSTS: Final = 1_000
FEW_SITES: Final = 100
"""A page of the operators' list is full."""
POSTS_OF_A_SITE: Final = 200
"""The posts of the site that is measured; the other sites have none."""
ROWS: Final = (
    *("record view, first read", "record list, first read", "last page, first read"),
    *("admin list", "record update", "record create"),
)
_BATCH: Final = 64


def main() -> None:
    given = options(
        "growth",
        __doc__,
        has_engines=False,
        posts=100_000,
        sites=10_000,
        only="",
        rounds=5,
        seconds=1.0,
        fresh=0,
    )
    finish([*_by_posts(given), *_by_sites(given)])


def _by_posts(given: argparse.Namespace) -> Iterator[Figure]:
    sizes = [Content(1, FEW_POSTS, "small"), Content(1, given.posts, "large")]
    with serving(sizes, 0, given) as service:
        subjects = [(service, content) for content in sizes]
        yield from _figures(f"{given.posts:,} to {FEW_POSTS:,} posts", [], subjects, given)


def _by_sites(given: argparse.Namespace) -> Iterator[Figure]:
    own = Content(1, POSTS_OF_A_SITE, "own")
    with ExitStack() as stack:
        subjects = [
            (stack.enter_context(serving([own], others, given)), own)
            for others in (FEW_SITES, given.sites)
        ]
        more = [write("operators' list of sites", _sites)]
        yield from _figures(f"{given.sites:,} to {FEW_SITES} sites", more, subjects, given)


def _sites(service: Service, _: Content) -> Iterator[Request]:
    assert isinstance(service, MastheadService)
    host = {"Host": f"localhost:{service.port}"}
    raw = service.page("", "/admin/tenants", is_signed_in=True)
    own = service.host("")["Host"].encode()
    yield Request(raw.replace(own, host["Host"].encode(), 1), lambda body: b"own000" in body)


def _figures(
    name: str,
    more: list[Operation],
    subjects: list[tuple[MastheadService, Content]],
    given: argparse.Namespace,
) -> Iterator[Figure]:
    rows = [each for each in (*more, *OPERATIONS) if each.name in ROWS or each in more]
    for operation in rows:
        if given.only not in operation.name:
            continue
        tasks = [operation.prepare(service, content) for service, content in subjects]
        samples: list[list[float]] = [[], []]
        for number in range(given.rounds):
            for (service, _), task, taken in zip(subjects, tasks, samples, strict=True):
                done = task.round(service, number, Settings(given.seconds, 4))
                if done.problems:
                    raise RuntimeError(f"{operation.name}: {done.problems}")
                taken += processor([done.sample])
        ratio = ratio_of(*samples, higher_is_better=True)
        assert ratio is not None
        micros = min(samples[0]) * 1e6
        said = f"{operation.name}, {name} (from {micros:,.0f} µs, ± {ratio.spread:.2f})"
        yield Figure(said, ratio.median, "times", most=MOST)


@contextmanager
def serving(
    contents: list[Content], others: int, given: argparse.Namespace
) -> Iterator[MastheadService]:
    side, names = Masthead(), "-".join(content.name for content in contents)
    copy = datasets.copy_of(
        f"growth-{names}-{others}-{side.version}",
        lambda folder: uvloop.run(_build(folder, contents, others)),
        is_fresh=bool(given.fresh),
    )
    with copy as folder, side.serving(folder) as service:
        service.wait_until_calm()
        yield service


async def _build(folder: Path, contents: list[Content], others: int) -> None:
    """Uses the engine: the commands would take hours for ten thousand sites."""
    chosen = settings.Settings.from_environ({}, data_dir=folder)
    await bring_up_to_date(chosen)
    moment: ContextVar[datetime] = ContextVar("moment")
    moment.set(clock.now())
    parts = await build(chosen, now=moment.get)
    try:
        await create_operator(parts.records, EMAIL, PASSWORD)
        for number in range(others):
            await _new_site(parts, f"other-{number}")
        for content in contents:
            # After the others: the operators' list shows the newest sites first.
            moment.set(clock.now())
            tenant_id, remaining = await _new_site(parts, content.site_names[0]), iter(content)
            create = partial(_create, parts, tenant_id, moment)
            while batch := list(islice(remaining, _BATCH)):
                await asyncio.gather(*map(create, batch))
        while (await parts.records.search_index.run_batch()).indexed:
            pass
        (folder / KEYS).write_text(json.dumps({}))
    finally:
        await parts.close()


async def _create(
    parts: Services, tenant_id: TenantId, moment: ContextVar[datetime], post: Post
) -> None:
    # Each task has its own context, so this sets the time of this post only.
    moment.set(post.created)
    async with parts.records.unit(system(tenant_id), emit_events=False) as unit:
        await unit.create(parts.records.registry["posts"], post.fields())


async def _new_site(parts: Services, slug: str) -> TenantId:
    tenant_id = TenantId(new_id())
    async with parts.records.unit(system(tenant_id), emit_events=False) as unit:
        tenant = {"id": tenant_id, "slug": slug, "name": slug, "plan": "enterprise"}
        await unit.create(parts.records.registry["tenants"], tenant)
        site = {"slug": slug, "site_name": slug}
        await unit.create(parts.records.registry["site_settings"], site)
    return tenant_id


if __name__ == "__main__":
    main()
