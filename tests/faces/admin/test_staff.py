"""Staff are invited by email, get a role, and are removed: by owners alone."""

from __future__ import annotations

import re

import pytest
from tests.faces.admin.visitor import OWN, Visitor, staff
from tests.outside.mail.offices import Office, text_of
from tests.world import PASSWORD, TenantWorld

from masthead.engine.audit.collection import audit_log
from masthead.engine.records.collection import Record
from masthead.identity.tenants import superusers

NEW = "a long password of one's own"


async def account_of(tenant: TenantWorld, email: str) -> Record:
    [found] = await tenant.world.parts.records.find(
        superusers, {"email": email}, tenant_id=tenant.id
    )
    return found


async def test_an_invited_author_chooses_a_password_and_writes(office: Office) -> None:
    tenant = await office.world.new_tenant("site")
    owner, _ = await staff(tenant, "owner", name="Nell Ashby")
    foreign = await tenant.post(title="Not theirs")
    form = {"email": "Tobias@Example.com", "name": "Tobias Wren", "role": "author"}
    page = await owner.follow(await owner.post("/admin/staff", form))
    assert "An invitation for tobias@example.com was written" in page
    assert "No password yet" in page
    mail = await office.mail_to("tobias@example.com")
    assert mail["subject"] == "You are invited to site"
    text = text_of(mail)
    assert "Nell Ashby invites you to site as an author" in text
    (link,) = re.findall(r"http://\S+token=\S+", text)
    guest = Visitor(tenant.guest)
    forgotten = {"email": "tobias@example.com"}
    await guest.api.post("/admin/forgot", data=forgotten, headers=OWN)
    assert len(await office.mails()) == 1
    office.world.clock.advance(days=6)
    assert "Choose a password" in (await guest.get(link)).text
    password = {"password": NEW, "passwordConfirm": NEW}
    assert "Your password is set" in (await guest.api.post(link, data=password)).text
    signed_in = {"email": "tobias@example.com", "password": NEW}
    answer = await guest.api.post("/admin/sign-in", data=signed_in, headers=OWN)
    assert answer.status_code == 303
    assert (await guest.get(f"/admin/posts/{foreign['id']}")).status_code == 404
    assert (await guest.post("/admin/posts/new", {"title": "Mine"})).status_code == 303
    page = (await guest.get("/admin/posts")).text
    assert "Mine" in page
    assert "Not theirs" not in page
    assert (await guest.get(link)).status_code == 400


async def test_an_invitation_ends_after_a_week_and_can_be_sent_again(office: Office) -> None:
    tenant = await office.world.new_tenant("site")
    owner, _ = await staff(tenant, "owner")
    await owner.post("/admin/staff", {"email": "ana@example.com", "role": "editor"})
    first = re.findall(r"http://\S+token=\S+", text_of(await office.mail_to("ana@example.com")))
    office.world.clock.advance(days=7)
    assert (await tenant.guest.get(first[0])).status_code == 400
    ana = await account_of(tenant, "ana@example.com")
    owner, _ = await staff(tenant, "owner")
    await owner.follow(await owner.post(f"/admin/staff/{ana['id']}/invite"))
    second = re.findall(r"http://\S+token=\S+", text_of((await office.mails())[-1]))
    assert (await tenant.guest.get(second[0])).status_code == 200


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"email": "nobody", "role": "author"}, "email"),
        ({"email": "", "role": "author"}, "email"),
        ({"email": "ana@example.com", "role": "king"}, "role"),
    ],
)
async def test_what_is_wrong_is_said_at_its_field(
    tenant: TenantWorld, form: dict[str, str], field: str
) -> None:
    owner, _ = await staff(tenant, "owner")
    answer = await owner.post("/admin/staff", form)
    assert answer.status_code == 422
    assert f'id="{field}-error"' in answer.text


async def test_an_address_has_one_account(tenant: TenantWorld) -> None:
    owner, account = await staff(tenant, "owner")
    answer = await owner.post("/admin/staff", {"email": account.email, "role": "author"})
    assert (answer.status_code, "This value is taken." in answer.text) == (422, True)


@pytest.mark.parametrize("role", ["editor", "author"])
async def test_only_owners_invite_change_and_remove(tenant: TenantWorld, role: str) -> None:
    browser, account = await staff(tenant, role)
    other = await tenant.owner(role="author")
    assert "/admin/staff" not in (await browser.get("/admin/more")).text
    assert (await browser.get("/admin/staff")).status_code == 403
    form = {"email": "ana@example.com", "role": "owner"}
    assert (await browser.post("/admin/staff", form)).status_code == 403
    assert (await browser.get(f"/admin/staff/{other.id}")).status_code == 403
    assert (await browser.post(f"/admin/staff/{other.id}/remove")).status_code == 403
    assert (await browser.post(f"/admin/staff/{other.id}/invite")).status_code == 403
    for person in (account, other):
        await browser.post(f"/admin/staff/{person.id}", {"role": "owner"})
        assert (await account_of(tenant, person.email))["role"] != "owner"


async def test_a_role_is_changed_and_holds_at_once(tenant: TenantWorld) -> None:
    owner, me = await staff(tenant, "owner")
    author, account = await staff(tenant, "author")
    await tenant.post(title="Of someone")
    assert "Of someone" not in (await author.get("/admin/posts")).text
    await owner.follow(await owner.post(f"/admin/staff/{account.id}", {"role": "editor"}))
    assert "Of someone" in (await author.get("/admin/posts")).text
    answer = await owner.post(f"/admin/staff/{me.id}", {"role": "author"})
    assert answer.status_code == 422
    assert "there must be one" in answer.text
    await owner.follow(await owner.post(f"/admin/staff/{account.id}/remove"))
    assert (await author.get("/admin/posts")).status_code == 303


async def test_people_of_another_site_are_not_there(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    owner, _ = await staff(tenant, "owner")
    foreign = await other_tenant.owner(role="author")
    for path in ("", "/remove", "/invite"):
        answer = await owner.post(f"/admin/staff/{foreign.id}{path}", {"role": "author"})
        assert answer.status_code == 404


async def test_an_owner_signs_a_person_out_everywhere(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    owner, me = await staff(tenant, "owner")
    author, account = await staff(tenant, "author")
    assert (await author.get("/admin/posts")).status_code == 200
    assert "Sign out everywhere" in (await owner.get(f"/admin/staff/{account.id}")).text
    assert (await author.post(f"/admin/staff/{me.id}/sign-out")).status_code == 403
    page = await owner.follow(await owner.post(f"/admin/staff/{account.id}/sign-out"))
    assert f"{account.email} is signed out everywhere" in page
    assert (await author.get("/admin/posts")).status_code == 303
    assert (await owner.get("/admin/posts")).status_code == 200
    found = await tenant.world.parts.records.find(
        audit_log, {"action": "ended sign-ins"}, tenant_id=tenant.id
    )
    assert [(each["email"], each["label"]) for each in found] == [(me.email, account.email)]
    foreign = await other_tenant.owner()
    for each in (me.id, foreign.id):
        assert (await owner.post(f"/admin/staff/{each}/sign-out")).status_code == 404
    form = {"email": account.email, "password": PASSWORD}
    again = await tenant.guest.post("/admin/sign-in", data=form, headers=OWN)
    assert again.status_code == 303
