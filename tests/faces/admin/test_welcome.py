"""Owners write the emails that welcome new members."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from tests.faces.admin.filled_form import filled
from tests.faces.admin.visitor import staff
from tests.features.mailings.conftest import Press, press, press_world
from tests.world import TenantWorld

from masthead.base.caller import system
from masthead.engine.records.collection import Record
from masthead.features.mailings.welcome_emails import welcome_emails
from masthead.features.members.collection import blog_members

__all__ = ["press", "press_world"]

ADDRESS = "/admin/settings/welcome"


def _paragraph(text: str, *marks: dict[str, str]) -> dict[str, Any]:
    return {"type": "paragraph", "content": [{"type": "text", "text": text, "marks": marks}]}


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
    document = {"type": "doc", "content": [_paragraph("there", {"type": "italic"})]}
    turned_on = filled(saved) | {"is_on": "on", "content_json": json.dumps(document)}
    saved = await owner.follow(await owner.post(f"{ADDRESS}/free", turned_on))
    assert "Free members get it from now on." in saved
    [free] = (await stored(tenant)).values()
    assert (free["kind"], free["is_on"], free["content_source"]) == ("free", True, "json")
    assert free["content_html"] == "<p><em>there</em></p>"
    assert '"marks":[{"type":"italic"}]' in html.unescape(saved)
    shown = await owner.get(f"{ADDRESS}/free/email")
    assert "<em>there</em>" in shown.text
    assert "sandbox" in shown.headers["content-security-policy"]


@pytest.mark.parametrize(
    "wrong", [{"subject": ""}, {"content_html": " "}, {"content_html": "x" * 100_001}]
)
async def test_what_is_wrong_is_said_and_nothing_typed_is_lost(
    tenant: TenantWorld, wrong: dict[str, str]
) -> None:
    owner, _ = await staff(tenant, "owner")
    form = {
        "subject": "A subject",
        "content_html": "Some words",
        "has_is_on": "1",
        "is_on": "on",
        **wrong,
    }
    refused = await owner.post(f"{ADDRESS}/paid", form)
    assert refused.status_code == 422
    assert form["subject"] in refused.text
    assert form["content_html"].strip() in refused.text
    assert await stored(tenant) == {}


async def test_a_test_goes_to_the_owner_only(press: Press) -> None:
    owner, account = await staff(press.tenant, "owner")
    form = {"subject": "Hello there", "content_html": "Hello", "test": "1"}
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
    assert (
        await owner.post(f"{ADDRESS}/rich", {"subject": "a", "content_html": "b"})
    ).status_code == 404
    for role in ("editor", "author"):
        person, _ = await staff(tenant, role)
        for path in (ADDRESS, f"{ADDRESS}/free", f"{ADDRESS}/free/email"):
            assert (await person.get(path)).status_code in (403, 404)


@pytest.mark.parametrize("document", ["{", "[]", '{"type": "paragraph"}', "[" * 10_000])
async def test_what_is_no_document_is_refused(tenant: TenantWorld, document: str) -> None:
    owner, _ = await staff(tenant, "owner")
    form = {"subject": "A subject", "content_json": document}
    assert (await owner.post(f"{ADDRESS}/free", form)).status_code == 400
    assert await stored(tenant) == {}


async def test_a_document_is_kept_while_another_field_is_wrong(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    document = {"type": "doc", "content": [_paragraph("Typed just now")]}
    form = {"subject": "", "content_json": json.dumps(document)}
    refused = await owner.post(f"{ADDRESS}/free", form)
    assert refused.status_code == 422
    assert refused.text.count("Typed just now") == 2, "as HTML, and as the editor's document"


async def test_the_page_and_the_member_show_what_became_of_it(press: Press) -> None:
    owner, _ = await staff(press.tenant, "owner")
    form = {"subject": "Hello there", "content_html": "<p>Hello</p>"}
    form |= {"has_is_on": "1", "is_on": "on"}
    await owner.post(f"{ADDRESS}/free", form)
    member = await press.world.parts.records.create(
        system(press.tenant.id),
        blog_members,
        {"email": "ada@example.com"},
        stamped={"verified": True},
    )
    for _ in range(2):
        await press.send()
    assert press.addresses == ["ada@example.com"]
    page = (await owner.get(f"{ADDRESS}/free")).text
    assert "1 member so far" in page
    [mailing] = re.findall(r"/admin/mailings/[a-z0-9]{15}", page)
    shown = (await owner.get(mailing)).text
    assert "To new free members, as they join" in shown
    assert f'href="{ADDRESS}/free"' in shown
    assert "Cancel the rest" not in shown
    assert "turn it off" in (await owner.follow(await owner.get(f"{mailing}/cancel"))).lower()
    told = (await owner.get(f"/admin/members/{member['id']}")).text
    assert "Welcome email:" in told
    assert "Hello there" in told
    assert "New free members" in (await owner.get("/admin/mailings")).text


async def test_the_library_knows_a_picture_of_a_welcome_email(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    item = await tenant.create("media", {"file": "boat.png"})
    text = f'<p><img src="/media/{item["id"]}/boat.png" alt="A boat"></p>'
    await owner.post(f"{ADDRESS}/paid", {"subject": "Hello", "content_html": text})
    assert (
        "The welcome email for paid members" in (await owner.get(f"/admin/media/{item['id']}")).text
    )
