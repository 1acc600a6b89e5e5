"""The owner's page of providers."""

from __future__ import annotations

from typing import Any

import pytest
from tests.faces.admin.visitor import Visitor, staff
from tests.features.single_sign_on.conftest import Outside, Site
from tests.features.single_sign_on.provider import SECRET
from tests.tls import answer

from masthead.features.single_sign_on.collection import sign_in_providers
from masthead.identity.sign_ins import PROOF_LASTS

ADDRESS = "/admin/settings/sign-in"
FORM = {
    "name": "Work",
    "slug": "",
    "issuer": "https://id.example.com/realms/news",
    "client_id": "masthead",
    "client_secret": SECRET,
    "extra_scopes": "groups",
    "used_by": "staff",
    "domains": "News.example\nexample.org",
    "has_creates_accounts": "1",
    "creates_accounts": "on",
    "role_claim": "groups",
    "roles": "chief=editor\ndesk = author",
    "default_role": "none",
    "second_step": "claim",
    "has_enabled": "1",
    "enabled": "on",
}


async def stored(site: Site) -> list[dict[str, Any]]:
    records = site.world.parts.records
    return await records.find(sign_in_providers, {}, tenant_id=site.tenant.id, limit=9)


async def owner(site: Site) -> Visitor:
    return (await staff(site.tenant, "owner"))[0]


async def test_an_owner_adds_changes_and_removes_a_provider(site: Site) -> None:
    browser = await owner(site)
    answer = await browser.post(f"{ADDRESS}/new", FORM)
    assert answer.status_code == 303, answer.text
    [made] = [each for each in await stored(site) if each["name"] == "Work"]
    assert made["slug"] == "work"
    assert made["roles"] == ["chief = editor", "desk = author"]
    assert made["domains"] == ["news.example", "example.org"]
    assert made["client_secret"] not in ("", SECRET)
    records = site.world.parts.records
    assert records.reveal(sign_in_providers, made, "client_secret") == SECRET
    page = (await browser.get(f"{ADDRESS}/{made['id']}")).text
    assert f"http://{site.tenant.host}/admin/sign-in/with/work/callback" in page
    assert SECRET not in page
    # An empty secret is the one that is set; the issuer can't be changed.
    changed = {**FORM, "name": "Work ID", "client_secret": "", "issuer": "https://evil.test"}
    await browser.post(f"{ADDRESS}/{made['id']}", changed)
    [made] = [each for each in await stored(site) if each["name"] == "Work ID"]
    assert records.reveal(sign_in_providers, made, "client_secret") == SECRET
    assert made["issuer"] == FORM["issuer"]
    assert "Work ID" in (await browser.get(ADDRESS)).text
    assert (await browser.get(f"{ADDRESS}/{made['id']}/remove")).status_code == 200
    await browser.post(f"{ADDRESS}/{made['id']}/remove")
    assert [each["name"] for each in await stored(site)] == ["News ID"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", ""),
        ("issuer", ""),
        ("issuer", "http://id.example.com"),
        ("issuer", "https://id.example.com?x=1"),
        ("issuer", "https://user@id.example.com"),
        ("client_id", ""),
        ("roles", "chief = owner"),
        ("roles", "chief"),
        ("domains", "a b"),
        ("extra_scopes", "a  b"),
        ("slug", "a/b"),
        ("slug", "news"),
    ],
)
async def test_a_wrong_value_is_told_beside_its_field(site: Site, name: str, value: str) -> None:
    browser = await owner(site)
    answer = await browser.post(f"{ADDRESS}/new", {**FORM, name: value})
    assert answer.status_code == 422
    assert f'id="{name}-error"' in answer.text
    assert len(await stored(site)) == 1


async def test_only_owners_see_and_change_providers(site: Site) -> None:
    browser, _ = await staff(site.tenant, "editor")
    one = f"{ADDRESS}/{site.record['id']}"
    for address in (ADDRESS, f"{ADDRESS}/new", one, f"{one}/remove"):
        assert (await browser.get(address)).status_code in (403, 404)
    assert (await browser.post(one, FORM)).status_code in (403, 404)


async def test_a_change_asks_who_it_is(site: Site) -> None:
    browser = await owner(site)
    site.world.clock.advance(seconds=PROOF_LASTS.total_seconds() + 60)
    one = f"{ADDRESS}/{site.record['id']}"
    for address in (f"{ADDRESS}/new", one, f"{one}/remove"):
        assert (await browser.post(address, FORM)).status_code == 403
    assert [each["name"] for each in await stored(site)] == ["News ID"]


async def test_the_owner_of_another_site_finds_nothing(outside: Outside, site: Site) -> None:
    other = await outside.world.new_tenant("other")
    browser, _ = await staff(other, "owner")
    one = f"{ADDRESS}/{site.record['id']}"
    for address in (one, f"{one}/remove"):
        assert (await browser.get(address)).status_code == 404
    assert (await browser.post(f"{one}/try")).status_code == 404


async def test_try_it_asks_the_provider_now(site: Site) -> None:
    browser = await owner(site)
    one = f"{ADDRESS}/{site.record['id']}/try"
    assert "with one key" in (await browser.post(one)).text
    site.provider.receiver.at("/.well-known/openid-configuration", answer(404, b"{}"))
    page = (await browser.post(one)).text
    assert "That did not work." in page
    assert "404" in page


async def test_the_record_store_gives_no_secret_and_makes_none(site: Site) -> None:
    account = await site.tenant.owner(role="owner")
    records = "/api/collections/sign_in_providers/records"
    listed = (await account.api.get(records)).json()["items"]
    assert [each["slug"] for each in listed] == ["news"]
    assert "client_secret" not in listed[0]
    made = await account.api.post(records, json={**FORM, "roles": [], "domains": []})
    assert made.status_code == 403
    links = "/api/collections/sign_in_links/records"
    given = {"provider_id": site.record["id"], "subject": "eve", "staff_id": account.id}
    assert (await account.api.post(links, json=given)).status_code == 403
    for role in ("editor", "author"):
        other = await site.tenant.owner(role=role)
        assert (await other.api.get(records)).status_code == 403
    assert (await site.tenant.guest.get(records)).status_code == 401
