"""Members of an export: new ones come over, known ones lose nothing."""

from __future__ import annotations

from typing import Any

import pytest
from tests.faces.importers.write.exports import WrittenExport, everything, imported, rows
from tests.world import TenantWorld

from masthead.faces.importers.source import Skipped, SourceMember
from masthead.faces.importers.write.batches import DELETED, UNCHANGED
from masthead.faces.importers.write.member_batches import EXISTS


async def only(tenant: TenantWorld) -> dict[str, Any]:
    (found,) = await rows(tenant, "blog_members")
    return found


def ada(**values: Any) -> SourceMember:
    return SourceMember(**{"email": "ada@example.com", "name": "Ada"} | values)


async def test_a_new_member_comes_over(tenant: TenantWorld) -> None:
    signed_up = "2019-01-02T03:04:05.000Z"
    member = ada(tier="paid", newsletter=False, payment_customer_id="cus_1", created=signed_up)
    report = await imported(tenant, WrittenExport(readers=[member, Skipped("member", "2", "bad")]))
    found = await only(tenant)
    assert (found["email"], found["name"], found["tier"]) == ("ada@example.com", "Ada", "paid")
    assert (bool(found["newsletter"]), found["payment_customer_id"]) == (False, "cus_1")
    assert found["token_key"]
    assert found["created"] == signed_up
    assert report.summary()["members"] == {
        "imported": 1,
        "skipped": 1,
        "failed": 0,
        "updated": 0,
    }


async def test_a_tier_of_the_same_name_is_theirs(tenant: TenantWorld) -> None:
    gold = await tenant.create("tiers", {"name": "Gold", "price": 900, "currency": "eur"})
    readers: list[SourceMember | Skipped] = [
        ada(tier="paid", levels=("Silver", "Gold")),
        ada(email="free@example.com", levels=("Gold",)),
        ada(email="silver@example.com", tier="paid", levels=("Silver",)),
    ]
    await imported(tenant, WrittenExport(readers=readers))
    found = {each["email"]: each["tier_id"] or "" for each in await rows(tenant, "blog_members")}
    assert found == {
        "ada@example.com": gold["id"],
        "free@example.com": "",
        "silver@example.com": "",
    }


async def test_a_second_run_changes_nothing(tenant: TenantWorld) -> None:
    source = WrittenExport(readers=[ada(), ada(email="b@example.com")])
    await imported(tenant, source)
    before = await everything(tenant)
    tenant.world.clock.advance(days=1)
    report = await imported(tenant, source)
    assert report.members.skipped == {UNCHANGED: 2}
    assert await everything(tenant) == before


@pytest.mark.parametrize(
    ("here", "given", "there", "counted"),
    [
        ({"tier": "free"}, {"tier": "paid"}, {"tier": "paid"}, "updated"),
        ({"tier": "paid"}, {"tier": "free"}, {"tier": "paid"}, "skipped"),
        ({"newsletter": False}, {"newsletter": True}, {"newsletter": False}, "skipped"),
        ({"name": "Own"}, {"name": "Other"}, {"name": "Own"}, "skipped"),
        ({"name": ""}, {"name": "Ada"}, {"name": "Ada"}, "updated"),
        (
            {"payment_customer_id": ""},
            {"payment_customer_id": "cus_1"},
            {"payment_customer_id": "cus_1"},
            "updated",
        ),
    ],
)
async def test_a_member_who_was_here_keeps_what_they_have(
    tenant: TenantWorld,
    here: dict[str, Any],
    given: dict[str, Any],
    there: dict[str, Any],
    counted: str,
) -> None:
    await tenant.create("blog_members", {"email": "ada@example.com", "name": "Ada"} | here)
    source = WrittenExport(readers=[ada(**given)])
    report = await imported(tenant, source)
    found = await only(tenant)
    assert {name: type(value)(found[name]) for name, value in there.items()} == there
    assert report.summary()["members"][counted] == 1
    if counted == "skipped":
        assert report.members.skipped == {EXISTS: 1}
    assert (await imported(tenant, source)).members.skipped == {UNCHANGED: 1}


async def test_the_source_is_followed_while_nobody_has_changed_the_member_here(
    tenant: TenantWorld,
) -> None:
    await imported(tenant, WrittenExport(readers=[ada(tier="paid")]))
    report = await imported(tenant, WrittenExport(readers=[ada(tier="free", newsletter=False)]))
    found = await only(tenant)
    assert (found["tier"], bool(found["newsletter"])) == ("free", False)
    assert report.members.updated == 1

    await tenant.update("blog_members", found["id"], {"tier": "paid"})
    report = await imported(tenant, WrittenExport(readers=[ada(tier="free", name="Lovelace")]))
    found = await only(tenant)
    assert (found["tier"], found["name"]) == ("paid", "Ada")
    assert report.members.skipped == {EXISTS: 1}


async def test_a_deleted_member_stays_deleted(tenant: TenantWorld, owner: Any) -> None:
    await imported(tenant, WrittenExport(readers=[ada()]))
    member = await only(tenant)
    await owner.api.delete(f"/api/collections/blog_members/records/{member['id']}")
    report = await imported(tenant, WrittenExport(readers=[ada(tier="paid")]))
    assert report.members.skipped == {DELETED: 1}
    assert await rows(tenant, "blog_members") == []


async def test_an_invalid_member_is_counted_without_the_address(tenant: TenantWorld) -> None:
    readers = [ada(email="not an address"), ada()]
    dry = await imported(tenant, WrittenExport(readers=readers), dry_run=True)
    report = await imported(tenant, WrittenExport(readers=readers))
    assert dry.members == report.members
    assert (report.members.imported, report.members.failed) == (1, 1)
    (error,) = report.errors
    assert "not an address" not in repr(error)


async def test_a_dry_run_says_what_a_real_one_does(tenant: TenantWorld) -> None:
    await tenant.create("blog_members", {"email": "ada@example.com"})
    await tenant.create("blog_members", {"email": "old@example.com", "name": "Old"})
    readers = [ada(tier="paid"), ada(email="old@example.com"), ada(email="new@example.com")]
    before = await everything(tenant)
    dry = await imported(tenant, WrittenExport(readers=readers), dry_run=True)
    assert await everything(tenant) == before
    assert dry.members == (await imported(tenant, WrittenExport(readers=readers))).members


async def test_no_event_unless_asked_for(tenant: TenantWorld) -> None:
    await imported(tenant, WrittenExport(readers=[ada()]))
    assert await tenant.event_names() == []
    more = [ada(email="b@example.com")]
    await imported(tenant, WrittenExport(readers=more), emit_events=True)
    assert await tenant.event_names() == ["subscriber.added", "member.subscribed"]
