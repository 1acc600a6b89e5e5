"""Posts, pages and products of an export become records, once, and follow the source after that."""

from __future__ import annotations

import asyncio
import dataclasses
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any

import asyncpg
import pytest
from tests.faces.importers.write.exports import (
    CutOff,
    WrittenExport,
    end_state,
    everything,
    imported,
    imported_with_redirects,
    new_run,
    post,
    rows,
)
from tests.world import TenantWorld

from masthead.base.errors import Forbidden
from masthead.faces.importers.collection import import_runs
from masthead.faces.importers.report import read_report
from masthead.faces.importers.source import Skipped
from masthead.faces.importers.write.batches import DELETED, EDITED, UNCHANGED
from masthead.storage.urls import sqlite_path


async def only(tenant: TenantWorld, table: str = "posts") -> dict[str, Any]:
    (found,) = await rows(tenant, table)
    return found


async def test_a_post_comes_over_whole(tenant: TenantWorld) -> None:
    source = post(
        1,
        title="  Hello   world ",
        slug="%d0%bf%d1%80%d0%b8",
        html="<p>Text <b>1</b></p><script>bad()</script>",
        excerpt="x" * 400,
        visibility="paid",
        tags=("one", "two", "one"),
        featured_image="https://old.example/a.png",
        seo_title="s" * 80,
        seo_description="d",
    )
    report = await imported(tenant, WrittenExport([source]))

    (found,) = await tenant.world.parts.records.find(
        tenant.world.collection("posts"), {}, tenant_id=tenant.id
    )
    assert found["title"] == "Hello world"
    assert found["slug"] == "при"
    assert found["content_html"] == "<p>Text <b>1</b></p>"
    assert found["content_json"]["type"] == "doc"
    assert found["excerpt"] == "x" * 300
    assert (found["status"], found["visibility"]) == ("published", "paid")
    assert found["published_at"] == found["created"] == "2020-05-04T03:02:01.000Z"
    assert found["tags"] == ["one", "two"]
    assert found["featured_image"] == "https://old.example/a.png"
    assert found["seo_title"] == "s" * 60
    assert found["seo_description"] == "d"
    assert [note.reason for note in report.warnings] == ["SEO title: cut to 60 characters."]
    assert report.summary()["posts"] == {"imported": 1, "skipped": 0, "failed": 0, "updated": 0}
    assert report.summary()["images"] == {"copied": 0, "failed": 1}


async def test_pages_and_products_have_their_own_collections(tenant: TenantWorld) -> None:
    page = post(1, kind="page", status="draft", published_at="")
    product = post(2, kind="product", price_cents=1999, currency="EUR")
    await imported(tenant, WrittenExport([page, product]))
    assert (await only(tenant, "pages"))["status"] == "draft"
    found = await only(tenant, "products")
    assert (found["price"], found["currency"], bool(found["active"])) == (1999, "EUR", True)
    assert await rows(tenant, "redirects") == []


async def test_a_published_post_without_a_date_gets_the_time_of_the_import(
    tenant: TenantWorld,
) -> None:
    await imported(tenant, WrittenExport([post(1, published_at="")]))
    found = await only(tenant)
    assert found["published_at"].startswith("2026-11-14T09:3")
    assert found["created"].startswith("2026-11-14T09:3")


async def test_a_second_run_changes_nothing(tenant: TenantWorld) -> None:
    source = WrittenExport([post(number) for number in range(7)])
    await imported(tenant, source, batch_size=3)
    before = await everything(tenant)
    tenant.world.clock.advance(days=1)

    report = await imported(tenant, source, batch_size=2)

    assert report.posts.skipped == {UNCHANGED: 7}
    assert await everything(tenant) == before


async def test_a_changed_source_updates_and_the_address_stays(tenant: TenantWorld) -> None:
    await imported(tenant, WrittenExport([post(1), post(2)]))
    changed = post(1, title="New", slug="other-slug", html="<p>New</p>")

    report = await imported(tenant, WrittenExport([changed, post(2)]))

    assert report.summary()["posts"] == {"imported": 0, "skipped": 1, "failed": 0, "updated": 1}
    found = {row["title"]: row for row in await rows(tenant, "posts")}
    assert found["New"]["slug"] == "post-1"
    assert found["New"]["content_html"] == "<p>New</p>"
    again = await imported(tenant, WrittenExport([changed, post(2)]))
    assert again.posts.skipped == {UNCHANGED: 2}


async def test_an_edit_made_here_is_kept(tenant: TenantWorld) -> None:
    await imported(tenant, WrittenExport([post(1)]))
    record = await only(tenant)
    await tenant.update("posts", record["id"], {"title": "Mine"})

    report = await imported(tenant, WrittenExport([post(1, title="Theirs")]))

    assert report.posts.skipped == {EDITED: 1}
    assert (await only(tenant))["title"] == "Mine"


async def test_what_was_deleted_here_stays_deleted(tenant: TenantWorld, owner: Any) -> None:
    await imported(tenant, WrittenExport([post(1)]))
    record = await only(tenant)
    answer = await owner.api.delete(f"/api/collections/posts/records/{record['id']}")
    assert answer.status_code == 204
    report = await imported(tenant, WrittenExport([post(1, title="Changed")]))
    assert report.posts.skipped == {DELETED: 1}
    assert await rows(tenant, "posts") == []


async def test_a_taken_slug_gets_a_number_and_the_redirect_follows(tenant: TenantWorld) -> None:
    await tenant.published(title="Taken", slug="same")
    entries = [post(1, slug="same"), post(2, slug="same"), post(3, slug="same")]
    _, listed = await imported_with_redirects(tenant, WrittenExport(entries), batch_size=2)
    slugs = {row["slug"] for row in await rows(tenant, "posts")}
    assert slugs == {"same", "same-2", "same-3", "same-4"}
    stored = {row["source"]: row["destination"] for row in await rows(tenant, "redirects")}
    assert stored == {
        "/post-1/": "/posts/same-2",
        "/post-2/": "/posts/same-3",
        "/post-3/": "/posts/same-4",
    }
    assert listed.splitlines()[:2] == [
        "source,destination,status_code",
        "/post-1/,/posts/same-2,301",
    ]


async def test_redirects_are_of_published_posts_whose_address_changes(
    tenant: TenantWorld,
) -> None:
    entries = [
        post(1, old_path="/posts/post-1"),
        post(2, status="draft", published_at=""),
        post(3, old_path=""),
        post(4, old_path="/?p=4"),
        post(5, old_path="/?p=4"),
        post(6, old_path="/" + "x" * 700),
    ]
    report, listed = await imported_with_redirects(tenant, WrittenExport(entries))
    assert [row["source"] for row in await rows(tenant, "redirects")] == ["/?p=4"]
    assert listed.splitlines()[1:] == ["/?p=4,/posts/post-4,301"]
    assert sorted(note.source_id for note in report.warnings) == ["id-5", "id-6"]
    assert report.posts.imported == 6


async def test_a_second_run_lists_all_redirects_again(tenant: TenantWorld) -> None:
    source = WrittenExport([post(number) for number in range(3)])
    _, first = await imported_with_redirects(tenant, source)
    _, second = await imported_with_redirects(tenant, source)
    assert second == first
    assert len(first.splitlines()) == 4


async def test_an_invalid_post_is_counted_and_the_others_come_over(tenant: TenantWorld) -> None:
    entries = [post(1), post(2, html="<p>" + "word " * 1_000_001), post(3)]
    report = await imported(tenant, WrittenExport(entries))
    assert report.summary()["posts"] == {"imported": 2, "skipped": 0, "failed": 1, "updated": 0}
    (error,) = report.errors
    assert (error.kind, error.source_id) == ("post", "id-2")
    assert "content_html: Must be no more than" in error.reason


@asynccontextmanager
async def refusing(tenant: TenantWorld, title: str) -> AsyncIterator[None]:
    """Lets the database itself refuse posts of this title."""
    url = tenant.world.parts.settings.database_url
    path = sqlite_path(url)
    if path is not None:
        create = (
            f"CREATE TRIGGER refusal BEFORE INSERT ON posts WHEN NEW.title = '{title}' "
            "BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
            # In a thread: the service may be in a transaction, which only this loop can end.
            await asyncio.to_thread(connection.executescript, create)
            try:
                yield
            finally:
                await asyncio.to_thread(connection.executescript, "DROP TRIGGER refusal")
        return
    other = await asyncpg.connect(url)
    await other.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'no'; END $$; "
        "CREATE TRIGGER refusal BEFORE INSERT ON posts FOR EACH ROW "
        f"WHEN (NEW.title = '{title}') EXECUTE FUNCTION refuse()"
    )
    try:
        yield
    finally:
        await other.execute("DROP TRIGGER refusal ON posts; DROP FUNCTION refuse")
        await other.close()


async def test_what_the_database_refuses_does_not_sink_its_batch(tenant: TenantWorld) -> None:
    log = await new_run(tenant)
    entries = [post(1), post(2, title="Refused"), post(3)]
    async with refusing(tenant, "Refused"):
        report = await imported(tenant, WrittenExport(entries), log=log)
    assert report.summary()["posts"] == {"imported": 2, "skipped": 0, "failed": 1, "updated": 0}
    assert sorted(row["title"] for row in await rows(tenant, "posts")) == ["Post 1", "Post 3"]


async def test_no_event_unless_asked_for(tenant: TenantWorld) -> None:
    await imported(tenant, WrittenExport([post(1)]))
    assert "post.created" not in await tenant.event_names()
    await imported(tenant, WrittenExport([post(2)]), emit_events=True)
    assert [name for name in await tenant.event_names() if name.startswith("post.")] == [
        "post.created",
        "post.published",
    ]


async def test_skipped_entries_are_counted_by_reason(tenant: TenantWorld) -> None:
    entries = [
        Skipped("page", "1", "page"),
        Skipped("post", "2", "scheduled"),
        Skipped("page", "3", "page"),
        post(4),
        post(4),
    ]
    report = await imported(tenant, WrittenExport(entries))
    assert report.posts.skipped == {"page": 2, "scheduled": 1, "the same item again": 1}
    assert report.posts.imported == 1


async def test_a_dry_run_says_what_a_real_one_does_and_writes_nothing(
    tenant: TenantWorld,
) -> None:
    await imported(tenant, WrittenExport([post(1), post(2)]))
    entries = [
        post(1),
        post(2, title="Changed"),
        post(3, featured_image="https://old.example/a.png"),
        post(4, html="<p>" + "word " * 1_000_001),
        Skipped("post", "5", "scheduled"),
    ]
    before = await everything(tenant)

    dry = (await imported(tenant, WrittenExport(entries), dry_run=True)).summary()

    assert await everything(tenant) == before
    real = (await imported(tenant, WrittenExport(entries))).summary()
    assert dry.pop("dry_run") is True
    assert real.pop("dry_run") is False
    assert dry.pop("images") == {"copied": 0, "failed": 0, "to_fetch": 1}
    assert real.pop("images") == {"copied": 0, "failed": 1}
    assert dry == real


async def test_another_tenant_is_untouched(tenant: TenantWorld, other_tenant: TenantWorld) -> None:
    await imported(other_tenant, WrittenExport([post(1)]))
    before = await everything(other_tenant)
    report = await imported(tenant, WrittenExport([post(1, title="Changed"), post(2)]))
    assert report.posts.imported == 2
    assert await everything(other_tenant) == before


async def test_two_wordpress_blogs_may_number_their_posts_alike(tenant: TenantWorld) -> None:
    for site in ("https://one.example", "https://two.example"):
        source = WrittenExport([post(1, title=site)], platform="wordpress", site_url=site)
        await imported(tenant, source)
    titles = {row["title"] for row in await rows(tenant, "posts")}
    assert titles == {"https://one.example", "https://two.example"}


async def test_a_run_that_was_cut_off_goes_on_and_its_report_is_whole(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    entries = [post(number) for number in range(10)]
    entries[2] = post(2, html="<p>" + "word " * 1_000_001)
    whole = WrittenExport([*entries, Skipped("page", "p", "page")])
    log = await new_run(tenant)
    with pytest.raises(CutOff):
        await imported(tenant, dataclasses.replace(whole, breaks_after=8), log=log, batch_size=3)
    # All but the last batch stands in the row: those after it were being made ready.
    (run,) = await rows(tenant, "import_runs")
    assert run["state"] == "running"

    report, listed = await imported_with_redirects(tenant, whole, log=log, batch_size=3)

    clean, clean_list = await imported_with_redirects(other_tenant, whole, batch_size=3)
    assert report.summary() == clean.summary()
    assert report.errors == clean.errors
    assert listed == clean_list
    parts = tenant.world.parts
    assert await end_state(parts, tenant.id) == await end_state(parts, other_tenant.id)
    (record,) = await parts.records.find(import_runs, {}, tenant_id=tenant.id)
    assert record["state"] == "done"
    assert read_report(record["report"]).summary() == report.summary()


async def test_a_site_that_is_read_only_takes_no_import(tenant: TenantWorld) -> None:
    await tenant.settings(read_only_mode=True)
    with pytest.raises(Forbidden):
        await imported(tenant, WrittenExport([post(1)]))
    assert await rows(tenant, "posts") == []
