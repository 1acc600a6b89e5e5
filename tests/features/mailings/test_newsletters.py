"""Every site has a newsletter, and members can turn off each one."""

from __future__ import annotations

import pytest
from tests.world import Account, TenantWorld, World, records_of

from masthead.base.caller import system
from masthead.features.members.sign_up import Link, Purpose, sign_up

NEWSLETTERS = records_of("newsletters")
MEMBERS = records_of("blog_members")


async def test_a_site_has_a_main_newsletter_from_its_beginning(owner: Account) -> None:
    (main,) = (await owner.api.get(NEWSLETTERS)).json()["items"]
    assert (main["slug"], main["name"], main["is_default"]) == ("main", "demo", True)


async def test_the_main_newsletter_stays(owner: Account) -> None:
    (main,) = (await owner.api.get(NEWSLETTERS)).json()["items"]
    assert (await owner.api.delete(f"{NEWSLETTERS}/{main['id']}")).status_code == 400
    made = await owner.api.post(NEWSLETTERS, json={"name": "Sunday Letter"})
    assert made.json()["slug"] == "sunday-letter"
    url = f"{NEWSLETTERS}/{made.json()['id']}"
    assert (await owner.api.patch(url, json={"slug": "other"})).status_code == 400
    assert (await owner.api.delete(url)).status_code == 204


async def test_a_slug_is_taken_once_in_a_site(owner: Account, other_tenant: TenantWorld) -> None:
    taken = await owner.api.post(NEWSLETTERS, json={"name": "A", "slug": "main"})
    assert taken.status_code == 400
    other = await other_tenant.owner()
    assert len((await other.api.get(NEWSLETTERS)).json()["items"]) == 1


async def test_a_member_turns_off_newsletters_and_nothing_of_the_mail_state(
    tenant: TenantWorld, member: Account
) -> None:
    url = f"{MEMBERS}/{member.id}"
    changed = await member.api.patch(url, json={"newsletters_off": ["main"]})
    assert changed.json()["newsletters_off"] == ["main"]
    assert "mail_state" not in changed.json()
    await tenant.update("blog_members", member.id, {"mail_state": "bounced"})
    assert (await member.api.patch(url, json={"mail_state": "ok"})).status_code in (400, 403)


async def test_staff_sets_back_the_mail_state(tenant: TenantWorld, owner: Account) -> None:
    member = await tenant.create("blog_members", {"email": "ada@example.com"})
    assert member["mail_state"] == "ok"
    records = tenant.world.parts.records
    collection = tenant.world.collection("blog_members")
    stamped = {"mail_state": "bounced", "mail_state_reason": "550 no such user"}
    await records.update(system(tenant.id), collection, member["id"], {}, stamped=stamped)
    url = f"{MEMBERS}/{member['id']}"
    shown = (await owner.api.get(url)).json()
    assert (shown["mail_state"], shown["mail_state_reason"]) == ("bounced", "550 no such user")
    assert shown["mail_state_at"]
    lifted = (await owner.api.patch(url, json={"mail_state": "ok"})).json()
    assert (lifted["mail_state"], lifted["mail_state_reason"]) == ("ok", "")


async def test_another_address_has_not_bounced(tenant: TenantWorld) -> None:
    member = await tenant.create("blog_members", {"email": "old@example.com"})
    await tenant.update("blog_members", member["id"], {"mail_state": "complained"})
    changed = await tenant.update("blog_members", member["id"], {"email": "new@example.com"})
    assert changed["mail_state"] == "ok"


@pytest.mark.parametrize("is_default", [True, False])
async def test_who_signs_up_gets_the_default_newsletters(
    app: World, tenant: TenantWorld, is_default: bool
) -> None:
    await tenant.create("newsletters", {"name": "Extra", "is_default": is_default})
    link = Link(Purpose.SIGN_UP, "new@example.com", "", "", True, "/")
    async with app.parts.records.unit(system(tenant.id)) as unit:
        member = await sign_up(unit, link, {}, page="https://coast.example/member/link")
    assert member["newsletters_off"] == ([] if is_default else ["extra"])
