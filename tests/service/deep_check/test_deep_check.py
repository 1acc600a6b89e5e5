"""The deep check finds each kind of damage, repairs what can be derived again, and finds nothing
in a site as the service leaves it, also while it is written to."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa
from tests.features.media.pictures import picture
from tests.world import Account, TenantWorld, World, open_world, records_of

from masthead.base.caller import system
from masthead.engine.records.collection import Record
from masthead.engine.records.derived.list_items import listed_values
from masthead.engine.records.tables import record_counts
from masthead.faces.importers.tasks.actions import UNUSED_AFTER
from masthead.faces.importers.tasks.queue import sweep_later
from masthead.features.webhooks.tables import webhook_lanes
from masthead.service.deep_check.faults import Look
from masthead.service.deep_check.progress_file import Progress, ProgressFile, Reported
from masthead.service.deep_check.run import DeepCheck
from masthead.service.schema import registry, tables
from masthead.storage.database import EVERY_TENANT, Bound, Statement
from masthead.storage.full_text import documents
from masthead.storage.snapshot import SqliteSnapshot, open_snapshots


@pytest.fixture(scope="module")
async def look(service: World) -> AsyncIterator[Look]:
    """Compiles its statements once for all tests."""
    async with open_snapshots(service.parts.settings.database_url) as snapshots:
        yield Look(service.parts, snapshots)


class Site(NamedTuple):
    look: Look
    tenant: TenantWorld
    post: Record
    item: Record
    webhook: Record

    @property
    def app(self) -> World:
        return self.tenant.world


@pytest.fixture
async def site(look: Look, tenant: TenantWorld, owner: Account) -> Site:
    return await filled(look, tenant, owner)


@pytest.fixture
async def only_site(database_url: str, tmp_path: Path) -> AsyncIterator[Site]:
    """In a database of its own: a check of all sites takes as long as there are sites."""
    world = await open_world(database_url, tmp_path)
    tenant = await world.new_tenant("only")
    async with open_snapshots(database_url) as snapshots:
        yield await filled(Look(world.parts, snapshots), tenant, await tenant.owner())
    await world.parts.close()


async def filled(look: Look, tenant: TenantWorld, owner: Account) -> Site:
    """With some of everything, and changes of most kinds behind it."""
    files = {"file": ("fog.png", picture("PNG"))}
    item = (await owner.api.post(records_of("media"), files=files)).json()
    hook = {"name": "all", "url": "https://93.184.216.34/hook", "events": ["*"]}
    webhook = await tenant.world.parts.records.create(
        system(tenant.id),
        tenant.world.collection("webhook_subscriptions"),
        hook,
        stamped={"secret": "whsec_" + "a" * 40},
    )
    text = f'<p>Fog over the harbour</p><img src="{item["url"]}">'
    post = await tenant.published(title="Fog", content_html=text, tags=["Sea", "Weather"])
    await tenant.member(labels=["early"])
    await tenant.create("pages", {"title": "About", "content_html": f'<img src="{item["url"]}">'})
    comment = {"post_id": post["id"], "author_name": "Ann", "author_email": "ann@example.com"}
    await tenant.create("comments", comment | {"body": "Nice fog"})
    other = await tenant.post(title="Away", tags=["Sea"])
    await owner.api.delete(records_of("posts", other["id"]))
    await tenant.update("posts", post["id"], {"title": "Fog again", "tags": ["Sea", "Harbour"]})
    await tenant.world.parts.records.search_index.run_batch()
    return Site(look, tenant, post, item, webhook)


async def checked(look: Look, named: str = "", *, repairs: bool = False) -> Progress:
    progress = Progress(repairs=repairs, of_tenant=named)
    return await DeepCheck(look, progress, repairs, _no_bar, lambda _: None).run(named)


def _no_bar(_kind: str, _number: int) -> None:
    pass


async def faults(site: Site, *, repairs: bool = False) -> list[Reported]:
    found = await checked(site.look, site.tenant.slug, repairs=repairs)
    assert sum(found.found.values()) == len(found.faults)
    return found.faults


async def run(app: World, *statements: sa.ClauseElement) -> None:
    async with app.parts.database.transaction(EVERY_TENANT) as tx:
        for each in statements:
            statement = app.parts.database.compile(each)
            await tx.execute(*statement())


def change(site: Site, name: str, record_id: str, **values: Any) -> sa.Update:
    table = tables[name]
    found = (table.c.tenant_id == site.tenant.id, table.c.id == record_id)
    return sa.update(table).where(*found).values(**values)


def mine(site: Site, table: sa.Table, **values: str) -> list[Any]:
    equal = [table.c[name] == value for name, value in values.items()]
    return [table.c.tenant_id == site.tenant.id, *equal]


def a_total_of_another_number(site: Site) -> sa.ClauseElement:
    of_posts = mine(site, record_counts, collection="posts")
    return sa.update(record_counts).where(*of_posts).values(total=7)


def a_lost_total(site: Site) -> sa.ClauseElement:
    return sa.delete(record_counts).where(*mine(site, record_counts, collection="blog_members"))


def a_wrong_sum(site: Site) -> sa.ClauseElement:
    found = mine(site, record_counts, collection="media", counter="sum of size")
    return sa.update(record_counts).where(*found).values(total=record_counts.c.total + 1)


def a_lost_list_item(site: Site) -> sa.ClauseElement:
    found = mine(site, listed_values, collection="posts", field="tags", value="Harbour")
    return sa.delete(listed_values).where(*found)


def a_list_item_too_many(site: Site) -> sa.ClauseElement:
    return sa.insert(listed_values).values(
        tenant_id=site.tenant.id,
        collection="posts",
        field="tags",
        value="Never",
        created=site.post["created"],
        record_id=site.post["id"],
    )


def a_list_item_of_no_record(site: Site) -> sa.ClauseElement:
    found = mine(site, listed_values, collection="posts", field="tags", value="Harbour")
    return sa.update(listed_values).where(*found).values(record_id="a" * 15)


def a_wrong_count_of_uses(site: Site) -> sa.ClauseElement:
    return change(site, "media", site.item["id"], uses=5)


def a_lost_document(site: Site) -> sa.ClauseElement:
    return sa.delete(documents).where(*mine(site, documents, record_id=site.post["id"]))


def a_document_of_other_words(site: Site) -> sa.ClauseElement:
    """As if the indexer had not heard of a change."""
    return change(site, "posts", site.post["id"], title="Sunshine")


def a_document_of_no_record(site: Site) -> sa.ClauseElement:
    found = mine(site, documents, record_id=site.post["id"])
    return sa.update(documents).where(*found).values(record_id="a" * 15)


def a_closed_queue(site: Site) -> sa.ClauseElement:
    return sa.delete(webhook_lanes).where(*mine(site, webhook_lanes))


def a_lost_delivery(site: Site) -> sa.ClauseElement:
    table = tables["webhook_deliveries"]
    return sa.delete(table).where(*mine(site, table, event="post.published"))


Damage = Callable[[Site], sa.ClauseElement]

REPAIRED: list[dict[str, Damage]] = [
    {
        "counters": a_total_of_another_number,
        "lists": a_lost_list_item,
        "search": a_lost_document,
        "deliveries": a_closed_queue,
    },
    {
        "counters": a_lost_total,
        "lists": a_list_item_too_many,
        "search": a_document_of_other_words,
        "deliveries": a_lost_delivery,
    },
    {"counters": a_wrong_sum, "lists": a_list_item_of_no_record},
    {"counters": a_wrong_count_of_uses},
]
"""Each kind by the check that finds it; several at once, because a check takes its time."""


@pytest.mark.both_databases
async def test_what_can_be_derived_again_is_found_repaired_and_right_after(site: Site) -> None:
    assert await faults(site) == []
    before = await deliveries(site)
    for damages in REPAIRED:
        await run(site.app, *(damage(site) for damage in damages.values()))
        repaired = await faults(site, repairs=True)
        assert {each.check for each in repaired} == damages.keys()
        assert all(each.repaired for each in repaired)
    assert await faults(site) == []
    assert await deliveries(site) == before


async def test_without_repair_nothing_is_changed(site: Site) -> None:
    await run(site.app, a_lost_list_item(site), a_wrong_sum(site), a_closed_queue(site))
    found = await faults(site)
    assert {each.check for each in found} == {"lists", "counters", "deliveries"}
    assert all(each.can_repair and not each.repaired for each in found)
    assert await faults(site) == found


async def deliveries(site: Site) -> set[tuple[str, str]]:
    table = tables["webhook_deliveries"]
    wanted = sa.select(table.c.webhook_id, table.c.event_id).where(*mine(site, table))
    database = site.app.parts.database
    rows = await database.fetch(EVERY_TENANT, *database.compile(wanted)())
    return {(webhook_id, event_id) for webhook_id, event_id in rows}


def a_dangling_relation(site: Site) -> sa.ClauseElement:
    return change(site, "posts", site.post["id"], authors='["nobodyatallhere"]')


def a_secret_of_another_key(site: Site) -> sa.ClauseElement:
    return change(site, "webhook_subscriptions", site.webhook["id"], secret="v1.aaaaaaaa.bbbb")


def a_delivery_without_event(site: Site) -> sa.ClauseElement:
    table = tables["webhook_deliveries"]
    found = mine(site, table, event="post.created")
    return sa.update(table).where(*found).values(event_id="a" * 15)


def a_missing_file(site: Site) -> sa.ClauseElement:
    return change(site, "media", site.item["id"], file="other.png")


def a_damaged_file(site: Site) -> sa.ClauseElement:
    return change(site, "media", site.item["id"], sha256="0" * 64)


LOST: list[tuple[set[str], Damage]] = [
    ({"relations", "lists"}, a_dangling_relation),
    ({"secrets"}, a_secret_of_another_key),
    ({"deliveries"}, a_delivery_without_event),
    ({"files"}, a_missing_file),
    ({"files"}, a_damaged_file),
]


@pytest.mark.parametrize(("checks", "damage"), LOST)
async def test_what_can_not_is_found(site: Site, checks: set[str], damage: Damage) -> None:
    await run(site.app, damage(site))
    found = await faults(site, repairs=True)
    assert {each.check for each in found} == checks
    left = await faults(site)
    assert {each.check for each in left} <= checks - {"lists"}
    assert left


async def test_a_row_that_can_not_be_read_is_found_and_stays_as_it_is(site: Site) -> None:
    if site.app.engine == "postgresql":
        # It takes no such value.
        return
    await run(site.app, change(site, "posts", site.post["id"], tags="["))
    found = await faults(site, repairs=True)
    assert {(each.check, each.id) for each in found if each.check != "counters"} == {
        ("records", site.post["id"])
    }
    await run(site.app, change(site, "posts", site.post["id"], tags='["Sea", "Harbour"]'))
    assert {each.check for each in await faults(site, repairs=True)} == {"counters"}
    assert await faults(site) == []


def file_of(site: Site, key: str, *, days_old: float) -> Path:
    path = Path(site.app.parts.settings.data_dir) / "media" / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"left")
    moment = site.app.clock.moment.timestamp() - days_old * 86_400
    os.utime(path, (moment, moment))
    return path


async def test_files_without_a_record_are_found_and_left_alone(site: Site) -> None:
    own = f"{site.tenant.id}/media/{site.item['id']}"
    left = {
        f"{site.tenant.id}/media/{'a' * 15}/fog.png",
        f"{own}/other.png",
        f"{own}/thumbs_other.png/100x100_other.png",
        f"{site.tenant.id}/exports/{'b' * 15}.zip",
        f"{site.tenant.id}/unknown/x/y",
    }
    paths = [file_of(site, key, days_old=2) for key in left]
    file_of(site, f"{own}/thumbs_{site.item['file']}/640.webp", days_old=2)
    file_of(site, f"{own}/young.png", days_old=0.5)
    removed = f"{own}/removed.png"
    file_of(site, removed, days_old=2)
    async with site.app.parts.records.unit(system(site.tenant.id)) as unit:
        await unit.enqueue("files.remove", {"keys": [removed]})
    found = await faults(site, repairs=True)
    assert {each.id for each in found} == left
    assert {each.check for each in found} == {"orphans"}
    assert all(path.exists() for path in paths)


async def test_an_upload_that_a_sweep_waits_for_is_no_orphan(site: Site) -> None:
    """The server stopped between storing an export and recording its import."""
    run_id, other = "a" * 15, "b" * 15
    for each in (run_id, other):
        file_of(site, f"{site.tenant.id}/import_runs/{each}/export.json", days_old=2)
    async with site.app.parts.records.unit(system(site.tenant.id)) as unit:
        await sweep_later(unit, run_id, UNUSED_AFTER)
    (found,) = await faults(site)
    assert (found.check, found.id) == (
        "orphans",
        f"{site.tenant.id}/import_runs/{other}/export.json",
    )


async def test_a_list_of_members_whose_upload_was_cut_off_is_no_fault(site: Site) -> None:
    """Its record is stored before its file. Once the import is started, the file must be there."""
    imports = site.app.collection("member_imports")
    key = f"{site.tenant.id}/member_imports/{'a' * 15}/members.csv"
    stamped = {"id": "a" * 15, "object_key": key}
    await site.app.parts.records.create(system(site.tenant.id), imports, {}, stamped=stamped)
    assert await faults(site) == []
    await run(site.app, change(site, imports.name, "a" * 15, status="queued"))
    (found,) = await faults(site)
    assert (found.check, found.collection) == ("files", imports.name)


async def test_what_is_left_of_no_site_is_found(only_site: Site) -> None:
    site, nobody = only_site, "n" * 15
    counted = {"collection": "posts", "counter": "", "bucket": "", "total": 1}
    await run(site.app, sa.insert(record_counts).values(tenant_id=nobody, **counted))
    await run(site.app, a_document_of_no_record(site))
    file_of(site, f"{nobody}/media/{'a' * 15}/x.png", days_old=0)
    deleted = "d" * 15
    file_of(site, f"{deleted}/media/{'a' * 15}/x.png", days_old=0)
    await site.app.parts.objects.delete_prefix(deleted)
    found = (await checked(site.look, repairs=True)).faults
    assert {(each.check, each.collection) for each in found} == {
        ("orphans", "record_counts"),
        ("orphans", nobody),
        ("search", "posts"),
    }
    again = (await checked(site.look)).faults
    assert {each.check for each in again} == {"orphans"}


@pytest.mark.both_databases
async def test_a_site_that_is_written_to_has_no_faults(site: Site) -> None:
    is_over = False

    async def write() -> int:
        number = 0
        while not is_over:
            number += 1
            tags = ["Sea", f"Tag {number % 7}"]
            post = await site.tenant.published(title=f"Text {number}", tags=tags)
            await site.tenant.update("posts", post["id"], {"tags": ["Sea"], "status": "draft"})
            if number % 2:
                records = site.app.parts.records
                await records.delete(system(site.tenant.id), registry["posts"], post["id"])
        return number

    async with AsyncExitStack() as stack:
        writing = asyncio.create_task(write())
        stack.push_async_callback(asyncio.wait_for, writing, 20)
        for _ in range(3):
            assert await faults(site) == []
        is_over = True
        assert await writing > 3


async def test_an_interrupted_check_goes_on_where_it_was(site: Site, tmp_path: Path) -> None:
    await run(site.app, a_lost_list_item(site), a_wrong_sum(site), a_closed_queue(site))
    whole = await checked(site.look, site.tenant.slug)
    file = ProgressFile(tmp_path)
    stopped = Progress(of_tenant=site.tenant.slug)
    batches = 0
    while not stopped.is_complete:
        # Stopped at its next batch, as long as there is one.
        batches += 1
        stopped = await stopped_after_one(site, stopped)
        if not stopped.is_complete:
            file.write(stopped)
            read = file.read()
            assert read is not None
            stopped = read
    assert batches > 20
    assert stopped.faults == whole.faults
    assert stopped.checked["records"] == whole.checked["records"]
    file.save(stopped)
    assert file.read() is None


class Stop(Exception):
    pass


async def stopped_after_one(site: Site, progress: Progress) -> Progress:
    seen = 0

    def save(_: Progress) -> None:
        nonlocal seen
        seen += 1
        if seen == 3 and not progress.is_complete:
            raise Stop

    try:
        return await DeepCheck(site.look, progress, False, _no_bar, save).run(site.tenant.slug)
    except Stop:
        return progress


async def test_every_declared_kind_of_row_is_checked() -> None:
    """The steps come from the declarations."""
    from masthead.service.deep_check.run import steps_of_site

    names = {each.name for each in steps_of_site(Look(None, None))}  # type: ignore[arg-type]
    for each in registry.collections:
        assert f"records/{each.name}" in names
        assert (f"counters/{each.name}" in names) == bool(each.counters or each.sums)
        assert not each.files or f"files/{each.name}" in names


async def test_items_are_looked_up_by_their_whole_key(site: Site) -> None:
    """Otherwise each batch would read all rows of the collection."""
    assert await faults(site) == []
    statement = site.look.statement("items by key", lambda: sa.select())
    values = dict.fromkeys(statement.names, "")
    async with site.look.snapshot() as snapshot:
        if not isinstance(snapshot, SqliteSnapshot):
            return
        explained = Statement(f"EXPLAIN QUERY PLAN {statement.text}", statement.names, {})
        plan = await snapshot.fetch(Bound(explained, statement.bind(values)))
    steps = [detail for *_, detail in plan if "listed_values" in detail]
    assert steps
    assert all("record_id=?" in each for each in steps)
