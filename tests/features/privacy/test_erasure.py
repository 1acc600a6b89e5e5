"""Erasures: what is deleted, what is anonymized, and that they continue after an interruption."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.databases import fresh_url
from tests.every_row import count_rows, every_row, rows_of_tenant
from tests.features.privacy.people import member_with_records
from tests.features.privacy.requests import (
    DELETE,
    EXPORT,
    deletion,
    mails_of,
    member_deletion,
    request_of,
    run_jobs,
)
from tests.features.privacy.test_export import PICTURE
from tests.world import Account, TenantWorld, World, open_world, records_of

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.audit.collection import audit_log
from masthead.engine.records.collection import Record
from masthead.features.privacy.personal import ANONYMOUS, ERASURE_RULES, REMOVED, ErasureRule
from masthead.storage import dialects
from masthead.storage.compaction import compact
from masthead.storage.database import EVERY_TENANT
from masthead.storage.metadata import metadata

EMAIL = "ada.lovelace@engines.example"
IN_ONE_SLICE = 3600.0
"""However busy the machine is: most tests here are about a whole erasure."""


async def rows_of(world: World, tenant_id: str, *names: str) -> dict[str, int]:
    return await count_rows(world.parts.database, tenant_id, *names)


async def text_of(world: World, tenant_id: str | None) -> str:
    """Every row of the tenant or of all, whatever table it is in."""
    database = world.parts.database
    found = await (rows_of_tenant(database, tenant_id) if tenant_id else every_row(database))
    return repr([tuple(row) for rows in found.values() for row in rows])


async def find(world: World, collection: str, record: Record) -> Record | None:
    found = await world.parts.records.find(
        world.collection(collection), {"id": record["id"]}, tenant_id=TenantId(record["tenant_id"])
    )
    return found[0] if found else None


async def tenant_with_records(world: World) -> tuple[TenantWorld, Account]:
    tenant = await world.new_tenant("busy")
    owner = await tenant.owner(email=EMAIL)
    await world.parts.records.create(
        system(tenant.id),
        world.collection("webhook_subscriptions"),
        {"name": "All", "url": "https://example.com/", "events": ["comment.posted"]},
        stamped={"secret": "s" * 64},
    )
    await member_with_records(tenant, f"m-{EMAIL}")
    post = await tenant.published(tags=["one", "two"])
    parent = ""
    for number in range(5):
        values = {"post_id": post["id"], "author_name": f"N{number}", "body": EMAIL}
        comment = await tenant.create("comments", values | {"parent_id": parent})
        parent = comment["id"]
    uploaded = await owner.api.post(records_of("media"), files={"file": ("dot.png", PICTURE)})
    assert uploaded.status_code == 200
    assert (await owner.api.post(EXPORT, json={"type": "tenant"})).status_code == 200
    return tenant, owner


async def keys_of(world: World, tenant_id: str) -> list[str]:
    return [key async for key in world.parts.objects.list_keys(tenant_id)]


# A member


async def test_a_members_records_are_deleted_or_anonymized(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    member, made = await member_with_records(tenant, EMAIL)
    other = await tenant.member()
    exported = await owner.api.post(EXPORT, json={"type": "member", "member_id": member.id})
    asked = await member.api.post(DELETE, json=member_deletion(member.id))
    await run_jobs(app)
    assert EMAIL in await text_of(app, tenant.id)
    app.clock.advance(days=30)
    await run_jobs(app)

    assert EMAIL not in (await text_of(app, tenant.id)).lower()
    for name, record in made.items():
        left = await find(app, name, record)
        assert (left is None) is (ERASURE_RULES[name] is ErasureRule.DELETE), name
    comment = await find(app, "comments", made["comments"])
    assert comment is not None
    assert (comment["author_name"], comment["author_email"]) == (ANONYMOUS, "")
    assert comment["body"] == f"Write to me: {REMOVED}"
    copy = await find(app, "trash_items", made["trash_items"])
    assert copy is not None
    assert (copy["email"], copy["member_id"]) == ("", "")
    assert copy["document"]["author_name"] == ANONYMOUS
    assert copy["document"]["body"] == f"Write to me: {REMOVED}"
    order = await find(app, "orders", made["orders"])
    assert order is not None
    assert (order["email"], order["member_id"], order["total"]) == ("", "", 1200)
    assert order["items"] == [{"name": "Book", "for": REMOVED}]
    assert (await app.client().get(exported.json()["download_url"])).status_code == 404
    assert await keys_of(app, tenant.id) == []
    assert (await member.api.get(records_of("blog_members", member.id))).status_code in (401, 404)
    assert await find(app, "blog_members", {"id": other.id, "tenant_id": tenant.id})

    request = await request_of(app, asked.json()["request_id"])
    assert (request["status"], bool(request["completed_at"])) == ("completed", True)
    assert request["receipt"]["erased"]["blog_members"] == 1
    assert request["receipt"]["erased"]["events"] > 0
    assert request["receipt"]["kept"]["orders"] == 1
    assert set(request["receipt"]["why_kept"]) == set(request["receipt"]["kept"])


async def test_the_other_person_of_a_gift_keeps_it(app: World, tenant: TenantWorld) -> None:
    buyer = await tenant.member(email=EMAIL)
    gift = {"kind": "membership", "months": 3, "buyer_email": EMAIL, "email": "mira@example.com"}
    given = await tenant.create("gift_cards", {**gift, "code": "GIFT-1"})
    taken = {"email": EMAIL, "buyer_email": "mira@example.com", "redeemed_by": buyer.id}
    got = await tenant.create("gift_cards", {**gift, **taken, "code": "GIFT-2"})
    exported = await buyer.api.post(EXPORT, json={"type": "member", "member_id": buyer.id})
    cards = (await app.client().get(exported.json()["download_url"])).json()["data"]["gift_cards"]
    assert {each["id"] for each in cards} == {given["id"], got["id"]}
    await buyer.api.post(DELETE, json=member_deletion(buyer.id))
    app.clock.advance(days=30)
    await run_jobs(app)
    first, second = await find(app, "gift_cards", given), await find(app, "gift_cards", got)
    assert first is not None
    assert second is not None
    assert (first["buyer_email"], first["email"]) == ("", "mira@example.com")
    assert (second["email"], second["redeemed_by"]) == ("", "")
    assert second["buyer_email"] == "mira@example.com"


async def test_an_account_with_an_invalid_address_is_erased(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    member = await tenant.member(email=EMAIL)
    await set_email(app, "blog_members", member.id, "no address")
    asked = [await member.api.post(DELETE, json=member_deletion(member.id))]
    app.clock.advance(days=30)
    await run_jobs(app)
    owner = await tenant.owner()
    await set_email(app, "_superusers", owner.id, "none either")
    asked.append(await owner.api.post(DELETE, json=deletion(tenant)))
    app.clock.advance(days=30)
    await run_jobs(app)
    for answer in asked:
        assert answer.status_code == 202
    request = await request_of(app, asked[-1].json()["request_id"])
    assert request["status"] == "completed"
    assert await rows_of(app, tenant.id) == {"gdpr_requests": 1}


async def set_email(world: World, collection: str, record_id: str, email: str) -> None:
    """Bypasses validation, as an older version may have stored it."""
    database, table = world.parts.database, metadata.tables[collection]
    changed = sa.update(table).where(table.c.id == record_id).values(email=email)
    statement = database.compile(changed)
    async with database.transaction(EVERY_TENANT) as tx:
        assert await tx.execute(statement, statement.bind({})) == 1


async def test_two_deletions_of_a_member_are_completed_together(
    app: World, tenant: TenantWorld
) -> None:
    member = await tenant.member(email=EMAIL)
    first = await member.api.post(DELETE, json=member_deletion(member.id))
    app.clock.advance(minutes=10)
    second = await member.api.post(DELETE, json=member_deletion(member.id))
    app.clock.advance(days=30, minutes=-5)
    await run_jobs(app)
    for answer in (first, second):
        request = await request_of(app, answer.json()["request_id"])
        assert request["status"] == "completed"
    assert EMAIL not in (await text_of(app, tenant.id)).lower()


async def test_the_member_gets_a_receipt_and_then_the_address_is_deleted(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    member, _ = await member_with_records(tenant, EMAIL)
    asked = await owner.api.post(DELETE, json=member_deletion(member.id))
    app.clock.advance(days=30)
    request = await request_of(app, asked.json()["request_id"])
    assert await app.parts.privacy.erasure.run(request, slice_seconds=IN_ONE_SLICE)
    (receipt,) = [mail for mail in await mails_of(app, tenant.id) if mail.to == EMAIL]
    assert "has been deleted" in receipt.rendered.subject
    assert "orders: 1 (bookkeeping is required by law" in receipt.rendered.text
    await run_jobs(app)
    assert EMAIL not in (await text_of(app, tenant.id)).lower()


async def test_deliveries_about_the_member_are_deleted_and_others_stay(
    tenant: TenantWorld, app: World
) -> None:
    await app.parts.records.create(
        system(tenant.id),
        app.collection("webhook_subscriptions"),
        {"name": "All", "url": "https://example.com/", "events": ["comment.posted"]},
        stamped={"secret": "s" * 64},
    )
    member, _ = await member_with_records(tenant, EMAIL)
    post = await tenant.published()
    values = {"post_id": post["id"], "author_name": "Bob", "body": "Mine"}
    kept = await tenant.create("comments", values)
    await member.api.post(DELETE, json=member_deletion(member.id))
    app.clock.advance(days=30)
    await run_jobs(app)
    events = [payload for name, payload in await tenant.events() if name == "comment.posted"]
    assert [each["comment_id"] for each in events] == [kept["id"]]
    deliveries = await app.parts.records.find(
        app.collection("webhook_deliveries"), {}, tenant_id=tenant.id, limit=10
    )
    assert len(deliveries) == 1


async def test_a_cancelled_deletion_deletes_nothing(
    tenant: TenantWorld, owner: Account, member: Account, app: World
) -> None:
    asked = await owner.api.post(DELETE, json=member_deletion(member.id))
    await app.client().get(asked.json()["cancellation_url"])
    app.clock.advance(days=60)
    await run_jobs(app)
    assert await find(app, "blog_members", {"id": member.id, "tenant_id": tenant.id})


async def test_a_clock_that_is_put_back_erases_nobody_early_and_forgets_nobody(
    owner: Account, member: Account, app: World
) -> None:
    asked = (await owner.api.post(DELETE, json=member_deletion(member.id))).json()
    await run_jobs(app, ahead=timedelta(days=31))
    assert (await request_of(app, asked["request_id"]))["status"] == "queued"
    app.clock.advance(days=31)
    await run_jobs(app)
    assert (await request_of(app, asked["request_id"]))["status"] == "completed"


# A tenant


async def test_erasing_a_tenant_deletes_every_row_and_file(
    app: World, other_tenant: TenantWorld
) -> None:
    tenant, owner = await tenant_with_records(app)
    await member_with_records(other_tenant, EMAIL)
    before = await rows_of(app, other_tenant.id)
    asked = (await owner.api.post(DELETE, json=deletion(tenant))).json()
    app.clock.advance(days=29, hours=23)
    await run_jobs(app)
    assert (await tenant.guest.get(records_of("posts"))).json()["totalItems"] == 2
    app.clock.advance(hours=1)
    await run_jobs(app)

    assert await rows_of(app, tenant.id) == {"gdpr_requests": 1}
    assert EMAIL not in await text_of(app, tenant.id)
    assert await keys_of(app, tenant.id) == []
    assert (await tenant.guest.get(records_of("posts"))).status_code == 404
    assert (await owner.api.get(records_of("posts"))).status_code == 404
    request = await request_of(app, asked["request_id"])
    assert request["status"] == "completed"
    assert request["receipt"]["erased"]["comments"] == 6
    assert request["receipt"]["erased"]["files"] >= 2
    assert await rows_of(app, other_tenant.id) == before


async def test_erasing_a_tenant_deletes_its_members_pending_deletions(app: World) -> None:
    tenant, owner = await tenant_with_records(app)
    member = await tenant.member(email=f"late-{EMAIL}")
    await owner.api.post(DELETE, json=deletion(tenant))
    app.clock.advance(minutes=10)
    asked = await member.api.post(DELETE, json=member_deletion(member.id))
    assert asked.status_code == 202
    app.clock.advance(days=30, minutes=-5)
    await run_jobs(app)
    assert await rows_of(app, tenant.id) == {"gdpr_requests": 1}


async def test_erasing_a_tenant_deletes_its_rows_in_every_table(app: World) -> None:
    tenant, owner = await tenant_with_records(app)
    await fill_every_table(app, tenant.id)
    owned = {table.name for table in metadata.sorted_tables if "tenant_id" in table.c}
    assert set(await rows_of(app, tenant.id)) == owned
    await owner.api.post(DELETE, json=deletion(tenant))
    app.clock.advance(days=30)
    await run_jobs(app)
    assert await rows_of(app, tenant.id) == {"gdpr_requests": 1}


async def fill_every_table(world: World, tenant_id: str) -> None:
    """A row of the tenant in each table that has none of it yet."""
    database = world.parts.database
    has_rows = await rows_of(world, tenant_id)
    for table in metadata.sorted_tables:
        if table.name not in has_rows:
            values = {each.name: _sample(each) for each in table.columns}
            for key in table.foreign_keys:
                if key.column.table is not table:
                    values[key.parent.name] = await _any_value(world, tenant_id, key.column)
            statement = database.compile(sa.insert(table))
            async with database.transaction(EVERY_TENANT) as tx:
                await tx.execute(statement, statement.bind(values | {"tenant_id": tenant_id}))


def _sample(column: sa.Column[Any]) -> Any:
    if column.nullable:
        return None
    samples: dict[type, Any] = {
        dialects.Json: "{}",
        dialects.Integer: 1,
        dialects.Real: 1.0,
        dialects.Flag: False,
        dialects.Blob: b"",
    }
    return samples.get(type(column.type), f"{column.table.name}-{column.name}")


async def _any_value(world: World, tenant_id: str, column: sa.Column[Any]) -> Any:
    database = world.parts.database
    wanted = sa.select(column).where(column.table.c.tenant_id == tenant_id).limit(1)
    statement = database.compile(wanted)
    ((value,),) = await database.fetch(EVERY_TENANT, statement, statement.bind({}))
    return value


async def test_the_owner_gets_a_receipt(app: World) -> None:
    tenant, owner = await tenant_with_records(app)
    asked = (await owner.api.post(DELETE, json=deletion(tenant))).json()
    app.clock.advance(days=30)
    request = await request_of(app, asked["request_id"])
    assert await app.parts.privacy.erasure.run(request, slice_seconds=IN_ONE_SLICE)
    sent = [mail for mail in await mails_of(app, "") if asked["request_id"] in mail.rendered.text]
    assert [mail.to for mail in sent] == [owner.email]
    assert "comments: 6" in sent[0].rendered.text


async def receipts_of(world: World, request_id: str) -> list[str]:
    mailed = await mails_of(world, "")
    return [mail.to for mail in mailed if request_id in mail.rendered.text]


async def test_the_receipt_is_mailed_once_however_the_erasure_is_interrupted(app: World) -> None:
    tenant, owner = await tenant_with_records(app)
    asked = (await owner.api.post(DELETE, json=deletion(tenant))).json()
    app.clock.advance(days=30)
    erasure, cuts, timeout = app.parts.privacy.erasure, 0, 0.001
    while (request := await request_of(app, asked["request_id"]))["status"] == "queued":
        running = asyncio.create_task(erasure.run(request, slice_seconds=IN_ONE_SLICE))
        # A little longer each time; whatever is committed stays.
        await asyncio.wait({running}, timeout=timeout)
        cuts, timeout = cuts + running.cancel(), timeout * 1.1
        await asyncio.gather(running, return_exceptions=True)
    assert cuts > 5
    assert await receipts_of(app, asked["request_id"]) == [owner.email]


async def test_two_workers_that_finish_together_mail_one_receipt(app: World) -> None:
    tenant, owner = await tenant_with_records(app)
    asked = (await owner.api.post(DELETE, json=deletion(tenant))).json()
    app.clock.advance(days=30)
    request = await request_of(app, asked["request_id"])
    run = app.parts.privacy.erasure.run
    workers = [run(request, slice_seconds=IN_ONE_SLICE) for _ in range(3)]
    assert all(await asyncio.gather(*workers))
    assert await receipts_of(app, asked["request_id"]) == [owner.email]
    found = await request_of(app, asked["request_id"])
    assert found["receipt"]["erased"]["comments"] == 6
    await run_jobs(app)
    assert await rows_of(app, tenant.id) == {"gdpr_requests": 1}


async def test_an_erasure_that_is_interrupted_anywhere_continues(app: World) -> None:
    """Interrupted after each of the first hundred awaits and more, then run to its end."""
    tenant, owner = await tenant_with_records(app)
    asked = (await owner.api.post(DELETE, json=deletion(tenant))).json()
    app.clock.advance(days=30)
    erasure = app.parts.privacy.erasure
    cuts = 0
    for steps in range(1, 40):
        request = await request_of(app, asked["request_id"])
        task = asyncio.create_task(erasure.run(request, slice_seconds=IN_ONE_SLICE))
        for _ in range(steps * 3):
            await asyncio.sleep(0)
        if task.cancel():
            cuts += 1
        await asyncio.gather(task, return_exceptions=True)
        if (await request_of(app, asked["request_id"]))["status"] == "completed":
            break
    assert cuts > 1
    await run_jobs(app)
    assert await rows_of(app, tenant.id) == {"gdpr_requests": 1}
    request = await request_of(app, asked["request_id"])
    assert request["receipt"]["erased"]["comments"] == 6


async def test_an_erasure_works_in_time_slices(app: World) -> None:
    tenant, owner = await tenant_with_records(app)
    asked = (await owner.api.post(DELETE, json=deletion(tenant))).json()
    app.clock.advance(days=30)
    turns = 0
    while not await app.parts.privacy.erasure.run(
        await request_of(app, asked["request_id"]), slice_seconds=0
    ):
        turns += 1
    assert turns > 5
    await run_jobs(app)
    assert await rows_of(app, tenant.id) == {"gdpr_requests": 1}


async def test_files_are_deleted_in_batches_and_each_is_counted(app: World) -> None:
    few = app.parts.objects.delete_batch
    tenant, owner = await tenant_with_records(app)
    for number in range(2 * few):
        await app.parts.objects.put(f"{tenant.id}/media/file-{number}", b"x")
    whole = len([key async for key in app.parts.objects.list_keys(tenant.id)])
    asked = (await owner.api.post(DELETE, json=deletion(tenant))).json()
    app.clock.advance(days=30)
    run = app.parts.privacy.erasure.run
    assert not await run(await request_of(app, asked["request_id"]), slice_seconds=0)
    request = await request_of(app, asked["request_id"])
    assert request["receipt"]["erased"] == {"files": few}
    assert len([key async for key in app.parts.objects.list_keys(tenant.id)]) == whole - few
    await run_jobs(app)
    request = await request_of(app, asked["request_id"])
    assert request["receipt"]["erased"]["files"] == whole


async def test_a_tenant_is_read_only_during_its_erasure(app: World) -> None:
    tenant, owner = await tenant_with_records(app)
    asked = (await owner.api.post(DELETE, json=deletion(tenant))).json()
    app.clock.advance(days=30)
    is_done = False
    while not is_done:
        request = await request_of(app, asked["request_id"])
        is_done = await app.parts.privacy.erasure.run(request, slice_seconds=0)
        answer = await owner.api.post(records_of("posts"), json={"title": "Still here?"})
        assert answer.status_code in (401, 403, 404), answer.text
    await run_jobs(app)
    assert await rows_of(app, tenant.id) == {"gdpr_requests": 1}


# Bytes


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_no_byte_of_an_erased_address_is_left(engine: str, tmp_path: Path) -> None:
    url = fresh_url(engine, tmp_path)
    world = await open_world(url, tmp_path)
    try:
        await _erase_everything(world)
        await run_jobs(world)
        assert EMAIL not in (await text_of(world, None)).lower()
    finally:
        await world.parts.close()
    await compact(url)
    for path in tmp_path.rglob("*"):
        # The written emails are outside the service, as on a mail server.
        if path.is_file() and path.suffix != ".eml":
            assert EMAIL.encode() not in path.read_bytes().lower(), path


async def test_the_full_text_index_holds_no_word_of_an_erased_tenant(tmp_path: Path) -> None:
    """FTS5 only marks words as deleted until it is merged. PostgreSQL has a vacuum."""
    word = "xylotheque"
    world = await open_world(fresh_url("sqlite", tmp_path), tmp_path)
    try:
        other = await world.new_tenant("other")
        tenant = await world.new_tenant("reader")
        owner = await tenant.owner()
        for number in range(600):
            await (tenant if number % 2 else other).published(
                title=f"Post {number} {word if number % 2 else 'library'}"
            )
        await owner.api.post(DELETE, json=deletion(tenant))
        world.clock.advance(days=30)
        # One step per job: stopping the worker never waits for all of it.
        world.parts.privacy.work.slice_seconds = 0
        await run_jobs(world)
        assert (await other.guest.get(records_of("posts"))).json()["totalItems"] == 300
    finally:
        await world.parts.close()
    for path in tmp_path.glob("*.db*"):
        assert word.encode() not in path.read_bytes(), path


async def _erase_everything(world: World) -> None:
    tenant, owner = await tenant_with_records(world)
    for number in range(300):
        email = f"member{number}.{EMAIL}"
        await tenant.create("blog_members", {"email": email, "name": "N" * (number % 90)})
    kept = await world.new_tenant("kept")
    member: Any = (await member_with_records(kept, f"k-{EMAIL}"))[0]
    assert (await owner.api.post(DELETE, json=deletion(tenant))).status_code == 202
    assert (await member.api.post(DELETE, json=member_deletion(member.id))).status_code == 202
    world.clock.advance(days=30)


async def test_an_address_is_removed_from_the_names_in_the_audit_log(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    member, _ = await member_with_records(tenant, EMAIL)
    # A colleague with the same address did things that stay on record.
    colleague = await tenant.owner(email=EMAIL, role="editor")
    address = f"/api/collections/_superusers/records/{colleague.id}"
    assert (await owner.api.patch(address, json={"name": "Ada"})).status_code == 200
    posted = {"title": f"Ask {EMAIL.upper()}", "status": "published"}
    assert (await colleague.api.post("/api/collections/posts/records", json=posted)).is_success
    await owner.api.post(DELETE, json=member_deletion(member.id))
    app.clock.advance(days=30)
    await run_jobs(app)
    await run_jobs(app)
    log = await app.parts.records.find(audit_log, {}, tenant_id=tenant.id, limit=100)
    labels = {each["subject"]: (each["label"], each["email"]) for each in log}
    assert labels["posts"] == ("Ask [removed]", EMAIL)
    assert labels["_superusers"] == (EMAIL, owner.email)


async def test_an_address_is_removed_from_earlier_states_and_working_copies_too(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    member, _ = await member_with_records(tenant, EMAIL)
    post = await tenant.published(content_html=f"<p>Write to {EMAIL}</p>")
    app.clock.advance(hours=1)
    await tenant.update("posts", post["id"], {"content_html": f"<p>Or to {EMAIL}</p>"})
    copy = {"post_id": post["id"], "title": "New", "content_html": f"<p>Still {EMAIL}</p>"}
    await tenant.create("post_working_copies", copy)
    assert (await rows_of(app, tenant.id))["post_revisions"] == 1
    asked = await (await tenant.owner()).api.post(DELETE, json=member_deletion(member.id))
    assert asked.status_code == 202
    app.clock.advance(days=30)
    await run_jobs(app)
    await run_jobs(app)
    found = await text_of(app, tenant.id)
    assert "Or to " in found
    assert "Still " in found
    assert EMAIL not in found
