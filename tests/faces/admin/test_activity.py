"""The audit log: every change by staff is in it, in the same transaction, without values."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.faces.admin.visitor import BARE, OWN, Visitor, staff, visitor
from tests.features.privacy.requests import DELETE, EXPORT, deletion, outsider
from tests.world import PASSWORD, TenantWorld, World, records_of

from masthead.base.caller import Kind
from masthead.engine.audit.collection import audit_log
from masthead.engine.audit.retention import RETENTION, AuditRetention
from masthead.faces.admin.pages.activity import NOUNS, PER_PAGE
from masthead.features.posts.collection import posts
from masthead.service.schema import registry, tables

UNLOGGED = {
    *("post_revisions", "post_working_copies", "page_revisions", "page_working_copies"),
    *("webhook_deliveries", "carts", "audit_log", "member_history", "member_mails"),
    *("payment_products", "payment_customers", "payment_subscriptions"),
    *("trash_items", "undo_steps", "sign_in_links"),
}
"""Written by the service itself."""


async def entries(tenant: TenantWorld) -> list[dict[str, Any]]:
    found = await tenant.world.parts.records.find(audit_log, {}, tenant_id=tenant.id, limit=1_000)
    return [each for each in found if each["action"] != "signed in"]


def text_in(page: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def test_the_log_covers_what_people_change() -> None:
    logged = {each.name for each in registry.collections if each.audited is not None}
    assert logged == NOUNS.keys()
    assert {each.name for each in registry.collections} - logged == UNLOGGED
    for each in registry.collections:
        if each.audited and each.name != "_superusers":
            # Readers must be forgotten when they ask for it.
            assert not each.by_name[each.audited].personal


async def test_changes_in_the_admin_are_logged_with_who_and_from_where(
    tenant: TenantWorld,
) -> None:
    editor, account = await staff(tenant, "editor", name="Ines")
    answer = await editor.post("/admin/posts/new", {"title": "Fog signals"})
    post_id = answer.headers["location"].partition("?")[0].rpartition("/")[2]
    await editor.post("/admin/posts/bulk", {"action": "publish", f"select.{post_id}": "on"})
    by_action = {each["action"]: each for each in await entries(tenant)}
    created, published = by_action["created"], by_action["changed"]
    assert created["account_id"] == account.id
    assert created["email"] == account.email
    assert created["role"] == Kind.EDITOR
    assert created["address"]
    assert (created["action"], created["subject"]) == ("created", "posts")
    assert (created["record_id"], created["label"]) == (post_id, "Fog signals")
    assert published["status"] == "published"
    assert "status" in published["changed"]
    owner, _ = await staff(tenant, "owner")
    page = (await owner.get("/admin/activity")).text
    assert "Published the post Fog signals" in text_in(page)
    assert "Created the post Fog signals" in text_in(page)
    assert "Ines" in page


async def test_what_is_done_with_members_data_is_logged_without_their_names(
    tenant: TenantWorld,
) -> None:
    owner, account = await staff(tenant, "owner")
    ana = await tenant.member(email="ana@example.com", name="Ana Lind")
    address = f"/admin/members/{ana.id}"
    page = await owner.follow(await owner.post(f"{address}/export"))
    [link] = re.findall(r'href="([^"]*/download)"', page)
    assert (await owner.get(link)).status_code == 200
    page = await owner.follow(await owner.post(f"{address}/erase", {"email": "ana@example.com"}))
    [cancel] = re.findall(r'action="([^"]*/cancel)"', page)
    await owner.post(cancel)
    assert (await owner.post(cancel)).status_code == 404
    assert (await owner.get("/admin/members/members.csv")).status_code == 200
    found = await entries(tenant)
    assert sorted(each["action"] for each in found) == [
        "cancelled an erasure",
        "downloaded an export",
        "downloaded members",
        "exported a member",
        "planned an erasure",
    ]
    assert {each["account_id"] for each in found} == {account.id}
    assert not [each for each in found if "ana@example.com" in str(each) or ana.id in str(each)]
    page = text_in((await owner.get("/admin/activity")).text)
    for sentence in (
        "Exported a member’s data",
        "Downloaded a member’s data",
        "Scheduled the erasure of a member",
        "Cancelled the erasure of a member",
        "Downloaded the member list",
    ):
        assert sentence in page
    assert "Ana Lind" not in page


async def test_data_requests_by_the_api_are_logged_under_their_person(
    app: World, tenant: TenantWorld
) -> None:
    owner, operator = await tenant.owner(), await app.operator()
    ana = await tenant.member(email="ana@example.com")
    about_ana = {"type": "member", "member_id": ana.id}
    assert (await owner.api.post(EXPORT, json=about_ana)).status_code == 200
    asked = await operator.api.post(DELETE, json=deletion(tenant, tenant_id=tenant.id))
    assert asked.status_code == 202
    # Neither a member nor a program is staff, and the link in an email names nobody.
    assert (await ana.api.post(EXPORT, json=about_ana)).status_code == 200
    assert (await outsider(tenant).post(EXPORT, json={"type": "tenant"})).status_code in (200, 202)
    link = asked.json()["cancellation_url"]
    assert (await app.client("localhost").post(link)).status_code == 200
    found = [each for each in await entries(tenant) if each["account_id"]]
    assert {(each["action"], each["account_id"]) for each in found} == {
        ("exported a member", owner.id),
        ("planned a deletion", operator.id),
    }
    assert len(found) == 2
    assert all(each["address"] for each in found)
    assert not [each for each in found if ana.id in str(each)]


async def test_the_record_store_is_logged_too_but_no_key_and_no_value(
    tenant: TenantWorld,
) -> None:
    owner, account = await staff(tenant, "owner")
    await tenant.settings(site_name="The Harbour")
    headers = {"authorization": account.token}
    found = await tenant.guest.get(records_of("site_settings"), headers=headers)
    [settings] = found.json()["items"]
    change = {"ai_api_key": "sk-very-secret", "site_description": "All about fog"}
    path = records_of("site_settings", settings["id"])
    answer = await tenant.guest.patch(path, json=change, headers=headers)
    assert answer.status_code == 200, answer.text
    await tenant.post(title="By the service itself")
    [entry] = await entries(tenant)
    assert {"ai_api_key", "site_description"} <= set(entry["changed"])
    assert "secret" not in str(entry)
    assert "fog" not in str(entry)
    page = (await owner.get("/admin/activity?subject=site_settings")).text
    assert "Changed the settings The Harbour" in text_in(page)
    assert "Nothing found" in (await owner.get("/admin/activity?subject=tiers")).text


async def test_a_refused_change_leaves_no_entry(tenant: TenantWorld) -> None:
    _, account = await staff(tenant, "author")
    foreign = await tenant.post(title="Not theirs")
    headers = {"authorization": account.token}
    path = records_of("posts", foreign["id"])
    assert (await tenant.guest.patch(path, json={"title": "x"}, headers=headers)).status_code == 404
    assert (await tenant.guest.delete(path, headers=headers)).status_code == 404
    assert await entries(tenant) == []


async def test_a_field_that_is_empty_before_and_after_did_not_change(tenant: TenantWorld) -> None:
    _, account = await staff(tenant, "owner")
    post = await tenant.published(title="Fog", translations=None)
    change = {"title": "Mist", "translations": []}
    answer = await tenant.guest.patch(
        records_of("posts", post["id"]), json=change, headers={"authorization": account.token}
    )
    assert answer.status_code == 200, answer.text
    [entry] = await entries(tenant)
    assert "title" in entry["changed"]
    assert "translations" not in entry["changed"]


async def test_every_pause_while_writing_a_draft_is_no_entry(tenant: TenantWorld) -> None:
    owner, account = await staff(tenant, "owner")
    draft = await tenant.post(title="Draft")
    path = records_of("posts", draft["id"])
    headers = {"authorization": account.token}
    for title in ("Draft 1", "Draft 2"):
        answer = await tenant.guest.patch(path, json={"title": title}, headers=headers)
        assert answer.status_code == 200
    assert await entries(tenant) == []
    await owner.post(f"/admin/posts/{draft['id']}/delete", {"confirmed": "1"})
    [entry] = await entries(tenant)
    assert (entry["action"], entry["label"]) == ("deleted", "Draft 2")


async def test_readers_are_not_named(tenant: TenantWorld) -> None:
    member = await tenant.create("blog_members", {"email": "ana@example.com", "name": "Ana"})
    _, account = await staff(tenant, "owner")
    await tenant.guest.delete(
        records_of("blog_members", member["id"]), headers={"authorization": account.token}
    )
    [entry] = await entries(tenant)
    assert (entry["record_id"], entry["label"]) == (member["id"], "")
    assert "ana" not in str(entry).lower().replace(account.email, "")


async def test_a_sign_in_and_an_operator_who_comes_in_are_seen_by_the_owner(
    tenant: TenantWorld,
) -> None:
    owner, account = await staff(tenant, "owner")
    form = {"email": account.email, "password": PASSWORD}
    await Visitor(tenant.guest).api.post("/admin/sign-in", data=form, headers=OWN)
    world = tenant.world
    account = await world.operator()
    operator = visitor(world, account, BARE)
    assert (await operator.post(f"/admin/tenants/{tenant.id}")).status_code == 303
    page = text_in((await owner.get("/admin/activity")).text)
    assert "Signed in" in page
    assert "Opened this site as an operator" in page
    everywhere = text_in(
        (await operator.get(f"/admin/operator/activity?account={account.id}")).text
    )
    assert "Opened this site as an operator" in everywhere


async def test_an_operator_who_signs_in_at_a_sites_own_address_is_in_both_logs(
    tenant: TenantWorld,
) -> None:
    owner, _ = await staff(tenant, "owner")
    operator = await tenant.world.operator()
    form = {"email": operator.email, "password": PASSWORD}
    answer = await Visitor(tenant.guest).api.post("/admin/sign-in", data=form, headers=OWN)
    assert answer.status_code == 303
    assert "Opened this site as an operator" in text_in((await owner.get("/admin/activity")).text)
    found = await tenant.world.parts.records.find(audit_log, {"account_id": operator.id}, limit=9)
    assert {(each["tenant_id"], each["action"]) for each in found} >= {
        ("", "signed in"),
        (tenant.id, "opened"),
    }


@pytest.mark.parametrize("role", ["editor", "author"])
async def test_the_log_is_for_owners(tenant: TenantWorld, role: str) -> None:
    person, account = await staff(tenant, role)
    assert (await person.get("/admin/activity")).status_code == 403
    assert "/admin/activity" not in (await person.get("/admin/more")).text
    headers = {"authorization": account.token}
    answer = await tenant.guest.get(records_of("audit_log"), headers=headers)
    assert answer.status_code == 403


async def test_nobody_writes_the_log_by_hand(tenant: TenantWorld) -> None:
    owner, account = await staff(tenant, "owner")
    headers = {"authorization": account.token}
    made = await tenant.guest.post(
        records_of("audit_log"), json={"action": "created"}, headers=headers
    )
    assert made.status_code == 403
    await owner.post("/admin/posts/new", {"title": "One"})
    [entry] = await entries(tenant)
    path = records_of("audit_log", entry["id"])
    deleted = await tenant.guest.delete(path, headers=headers)
    assert deleted.status_code == 403
    changed = await tenant.guest.patch(path, json={"action": "deleted"}, headers=headers)
    assert changed.status_code in (200, 403)
    assert await entries(tenant) == [entry]


async def test_another_site_and_its_owner_see_nothing_of_it(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    await owner.post("/admin/posts/new", {"title": "Ours alone"})
    other = await tenant.world.new_tenant("other")
    stranger, account = await staff(other, "owner")
    assert "Ours alone" not in (await stranger.get("/admin/activity")).text
    assert (await stranger.get("/admin/operator/activity")).status_code == 403
    found = await other.guest.get(records_of("audit_log"), headers={"authorization": account.token})
    assert {each["email"] for each in found.json()["items"]} == {account.email}


async def test_the_log_goes_on_by_pages_and_forgets_after_a_while(tenant: TenantWorld) -> None:
    owner, account = await staff(tenant, "owner")
    records = tenant.world.parts.records
    caller = await tenant.world.parts.accounts.sessions.caller_of(account.token)
    assert caller
    async with records.unit(caller) as unit:
        for number in range(PER_PAGE + 5):
            await unit.create(posts, {"title": f"Post {number}"})
    page = (await owner.get("/admin/activity")).text
    [older] = re.findall(r'href="(/admin/activity\?after=[^"]*)"', page)
    assert len(re.findall("<tr>", (await owner.get(older.replace("&amp;", "&"))).text)) > 1
    retention = AuditRetention(records.database, tables, records.clock)
    await retention.sweep()
    assert len(await entries(tenant)) == PER_PAGE + 5
    tenant.world.clock.advance(days=RETENTION.days + 1)
    await retention.sweep()
    assert await entries(tenant) == []


async def test_failed_sign_ins_are_logged_without_what_strangers_type(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    owner, account = await staff(tenant, "owner")
    typed = [account.email, "stranger@example.com", (await other_tenant.owner()).email]
    for email in typed:
        form = {"email": email, "password": "a wrong one"}
        assert (await tenant.guest.post("/admin/sign-in", data=form, headers=OWN)).status_code < 500
    found = [each for each in await entries(tenant) if each["action"] == "failed to sign in"]
    assert sorted(each["email"] for each in found) == ["", "", account.email]
    assert {(each["label"], bool(each["address"])) for each in found} == {("password", True)}
    page = text_in((await owner.get("/admin/activity")).text)
    assert "Failed to sign in: wrong password" in page
    assert "stranger" not in page
    elsewhere = await entries(other_tenant)
    assert [each for each in elsewhere if each["action"] == "failed to sign in"] == []


async def test_guesses_do_not_fill_the_log(tenant: TenantWorld) -> None:
    throttle = tenant.world.parts.throttle
    admitted = [await throttle.admit_failure_entry(tenant.id) for _ in range(102)]
    assert admitted == [True] * 100 + [False] * 2
    tenant.world.clock.advance(hours=2)
    assert await throttle.admit_failure_entry(tenant.id)
