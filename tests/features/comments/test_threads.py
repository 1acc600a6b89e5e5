"""Long discussions: a page of threads, whatever their number, size and depth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import msgspec
import pytest
from lxml import html
from tests.counting import CountingDatabase
from tests.features.comments.readers import Browser, nested, number, shown
from tests.world import TenantWorld, World

from masthead.base import clock
from masthead.base.caller import system
from masthead.engine.records.engine import Records
from masthead.faces.reader.discussion import ANSWERS_A_PAGE, LEVELS, THREADS_A_PAGE
from masthead.service.schema import registry, tables
from masthead.storage.database import Database


@pytest.fixture
async def site(tenant: TenantWorld) -> TenantWorld:
    await tenant.settings(comments_by="everyone", comments_moderation="none")
    await tenant.published(title="Fog")
    return tenant


async def write(
    site: TenantWorld, count: int, *, below: str = "", chain: bool = False
) -> list[str]:
    """Comments of one transaction, a second apart; as a chain each answers the one before it."""
    records = site.world.parts.records
    comments = site.world.collection("comments")
    [post] = await records.find(site.world.collection("posts"), {"slug": "fog"}, tenant_id=site.id)
    ids: list[str] = []
    async with records.unit(system(site.id), emit_events=False) as unit:
        for n in range(count):
            site.world.clock.advance(seconds=1)
            stamped = {"created": clock.to_text(site.world.clock())}
            given = {
                "post_id": post["id"],
                "author_name": "A",
                "body": f"Number {n}",
                "parent_id": ids[-1] if chain and ids else below,
            }
            ids.append((await unit.create(comments, given, stamped=stamped))["id"])
    return ids


def link(page: Any, words: str) -> str:
    [found] = [each for each in page.xpath("//a") if each.text_content() == words]
    return str(found.get("href")).partition("#")[0].removeprefix("/posts/fog")


async def test_threads_are_paged_from_the_newest(site: TenantWorld) -> None:
    await write(site, 2 * THREADS_A_PAGE + 20)
    browser = Browser(site, "fog")
    page = await browser.page()
    assert number(page) == 2 * THREADS_A_PAGE + 20
    assert shown(page) == [
        f"Number {n}" for n in range(THREADS_A_PAGE + 20, 2 * THREADS_A_PAGE + 20)
    ]
    older = await browser.page(link(page, "Older comments"))
    assert shown(older) == [f"Number {n}" for n in range(20, THREADS_A_PAGE + 20)]
    oldest = await browser.page(link(older, "Older comments"))
    assert shown(oldest) == [f"Number {n}" for n in range(20)]
    assert "Older comments" not in oldest.text_content()
    assert link(oldest, "Newest comments") == ""


async def test_an_answer_on_an_older_page_leads_back_there(site: TenantWorld) -> None:
    ids = await write(site, THREADS_A_PAGE + 1)
    browser = Browser(site, "fog")
    query = link(await browser.page(), "Older comments")
    older = await browser.page(query)
    [action] = older.xpath(f"//*[@id='comment-{ids[0]}']//form/@action")
    answer = await browser.http.post(
        action,
        data={"body": "Late", "name": "Gale", "email": "a@example.com", "parent_id": ids[0]},
        headers={"sec-fetch-site": "same-origin"},
    )
    landed = await browser.http.get(answer.headers["location"])
    assert nested(html.fromstring(landed.text)) == [(1, "Number 0"), (2, "Late")]


async def test_a_chain_of_a_thousand_answers_is_flat_from_the_third_level_on(
    site: TenantWorld,
) -> None:
    ids = await write(site, 1_001, chain=True)
    browser = Browser(site, "fog")
    page = await browser.page()
    levels = [level for level, _ in nested(page)]
    assert levels[:4] == [1, 2, 3, 3]
    assert max(levels) == LEVELS
    # A page has a limit, and the whole thread has pages of its own.
    assert len(levels) == ANSWERS_A_PAGE + 1
    thread = await browser.page(link(page, "Show the whole thread"))
    assert len(shown(thread)) == ANSWERS_A_PAGE + 1
    more = await browser.page(link(thread, "More replies"))
    assert shown(more)[:2] == ["Number 0", f"Number {ANSWERS_A_PAGE + 1}"]
    assert number(more) == 1_001
    pages = 1
    while "More replies" in more.text_content():
        more, pages = await browser.page(link(more, "More replies")), pages + 1
    assert (shown(more)[-1], pages) == ("Number 1000", 1_000 // ANSWERS_A_PAGE - 1)
    [last] = await site.world.parts.records.find(
        site.world.collection("comments"), {"id": ids[-1]}, tenant_id=site.id
    )
    assert last["thread_id"] == ids[0]


async def test_a_flat_answer_names_whom_it_answers(site: TenantWorld) -> None:
    await write(site, 4, chain=True)
    page = await Browser(site, "fog").page()
    heads = [" ".join(each.text_content().split()) for each in page.find_class("comment-head")]
    assert [" to " in each or "to A" in each for each in heads] == [False, False, False, True]


async def test_an_answer_to_a_comment_that_is_held_back_stays_in_its_thread(
    site: TenantWorld,
) -> None:
    [first] = await write(site, 1)
    [second] = await write(site, 1, below=first)
    await write(site, 1, below=second)
    await site.update("comments", second, {"status": "spam"})
    page = await Browser(site, "fog").page()
    assert nested(page) == [(1, "Number 0"), (2, "Number 0")]
    assert number(page) == 2


async def test_an_address_that_names_no_thread_shows_the_discussion(
    site: TenantWorld, other_tenant: TenantWorld
) -> None:
    [first] = await write(site, 1)
    [answer] = await write(site, 1, below=first)
    elsewhere = await site.published(title="Elsewhere")
    other = await site.create(
        "comments", {"post_id": elsewhere["id"], "author_name": "A", "body": "Elsewhere"}
    )
    there = await other_tenant.published(title="There")
    foreign = await other_tenant.create(
        "comments", {"post_id": there["id"], "author_name": "A", "body": "Foreign"}
    )
    browser = Browser(site, "fog")
    for thread in ("", "x", "'", other["id"], foreign["id"], answer, "a" * 15):
        page = await browser.page(f"?thread={thread}")
        assert shown(page) == ["Number 0", "Number 0"], thread
    for query in ("?before=", "?before=_", "?before=x_y", f"?thread={first}&after=%27_{first}"):
        await browser.page(query)


def counted(site: TenantWorld) -> tuple[TenantWorld, CountingDatabase]:
    """The same site in a service of its own, which counts what it reads of records."""
    parts, clock_ = site.world.parts, site.world.clock
    database = CountingDatabase(parts.database)
    records = Records(
        cast("Database", database),
        registry,
        tables,
        parts.keyring,
        now=clock_,
        origin_of=lambda slug, _: slug,
    )
    return replace(
        site, world=World(msgspec.structs.replace(parts, records=records), clock_)
    ), database


async def test_the_number_of_statements_does_not_grow(site: TenantWorld) -> None:
    watched, database = counted(site)
    browser = Browser(watched, "fog")
    seen = []
    for count in (1, 30, 60):
        first, *_ = await write(site, count)
        await write(site, count, below=first)
        # The first one compiles and fills caches of its own.
        await browser.text("?x=1")
        database.reads = 0
        await browser.text(f"?x={count + 1}")
        seen.append(database.reads)
    assert len(set(seen)) == 1, seen
    assert seen[0] < 15


async def test_the_total_is_right_after_every_kind_of_change(site: TenantWorld) -> None:
    author, other = Browser(site, "fog"), Browser(site, "fog")
    first = await author.comment("First")
    second = await other.comment("Second", parent_id=first)
    third = await other.comment("Third")

    async def total() -> int:
        page = await Browser(site, "fog").page()
        assert number(page) == len(shown(page))
        return number(page)

    assert await total() == 3
    await site.update("comments", third, {"status": "spam"})
    assert await total() == 2
    await site.update("comments", third, {"status": "approved"})
    assert await total() == 3
    await author.send(f"/{first}/delete")
    assert await total() == 2
    await other.send(f"/{second}/delete")
    assert await total() == 1
    records, comments = site.world.parts.records, site.world.collection("comments")
    await records.delete(system(site.id), comments, first)
    assert await total() == 1
    await records.delete(system(site.id), comments, third)
    assert await total() == 0
