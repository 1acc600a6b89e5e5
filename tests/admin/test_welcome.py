"""Owners write the emails that welcome new members."""

from __future__ import annotations

import pytest
from tests.admin.filled_form import filled
from tests.admin.visitor import staff
from tests.mailings.conftest import Press, press, press_world
from tests.world import TenantWorld

from masthead.mailings.welcome_emails import welcome_emails
from masthead.records.collection import Record

__all__ = ["press", "press_world"]

ADDRESS = "/admin/settings/welcome"


async def stored(tenant: TenantWorld) -> dict[str, Record]:
    found = await tenant.world.parts.records.find(welcome_emails, {}, tenant_id=tenant.id, limit=9)
    return {each["kind"]: each for each in found}


async def test_a_welcome_email_is_off_until_an_owner_turns_it_on(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    page = (await owner.get(ADDRESS)).text
    form = filled(page)
    assert "is_on" not in form
    assert form["subject"].startswith("Welcome to ")
    assert await stored(tenant) == {}
    saved = await owner.follow(await owner.post(f"{ADDRESS}/free", form))
    assert "Free members don’t get it." in saved
    turned_on = filled(saved) | {"is_on": "on", "text": "Hello *there*"}
    saved = await owner.follow(await owner.post(f"{ADDRESS}/free", turned_on))
    assert "Free members get it from now on." in saved
    [free] = (await stored(tenant)).values()
    assert (free["kind"], free["is_on"], free["text"]) == ("free", True, "Hello *there*")
    shown = await owner.get(f"{ADDRESS}/free/email")
    assert "<em>there</em>" in shown.text
    assert "sandbox" in shown.headers["content-security-policy"]


@pytest.mark.parametrize("wrong", [{"subject": ""}, {"text": " "}, {"text": "x" * 20_001}])
async def test_what_is_wrong_is_said_and_nothing_typed_is_lost(
    tenant: TenantWorld, wrong: dict[str, str]
) -> None:
    owner, _ = await staff(tenant, "owner")
    form = {"subject": "A subject", "text": "Some words", **wrong}
    refused = await owner.post(f"{ADDRESS}/paid", form)
    assert refused.status_code == 422
    assert form["subject"] in refused.text
    assert form["text"].strip() in refused.text
    assert await stored(tenant) == {}


async def test_a_test_goes_to_the_owner_only(press: Press) -> None:
    owner, account = await staff(press.tenant, "owner")
    form = {"subject": "Hello there", "text": "Hello", "test": "1"}
    page = await owner.follow(await owner.post(f"{ADDRESS}/paid", form))
    assert "A test email is being sent to" in page
    await press.send()
    [letter] = press.postbox.letters
    assert letter["Subject"] == "[Test] Hello there"
    assert press.addresses == [account.email]


async def test_another_kind_or_another_role_has_no_page(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    for path in (f"{ADDRESS}/rich", f"{ADDRESS}/rich/email"):
        assert (await owner.get(path)).status_code == 404
    assert (await owner.post(f"{ADDRESS}/rich", {"subject": "a", "text": "b"})).status_code == 404
    for role in ("editor", "author"):
        person, _ = await staff(tenant, role)
        for path in (ADDRESS, f"{ADDRESS}/free", f"{ADDRESS}/free/email"):
            assert (await person.get(path)).status_code in (403, 404)
