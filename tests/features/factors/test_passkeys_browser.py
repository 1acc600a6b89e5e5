"""Passkeys in Chromium, with the authenticator that it brings for tests.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import CDPSession, Page, expect
from tests.browser import Browser, needs_chromium
from tests.faces.admin.served import world_at_its_address
from tests.faces.admin.visitor import OWN, hidden_in
from tests.world import PASSWORD, Account, TenantWorld

from masthead.identity.tenants import superusers

pytestmark = needs_chromium


@dataclass
class Person:
    """A browser of its own, with a phone that recognizes its owner."""

    page: Page
    devices: CDPSession
    device: str
    sent: list[dict[str, str]] = field(default_factory=list)
    """The forms that were sent, as a thief on the line would have them."""

    async def credentials(self) -> list[dict[str, Any]]:
        found = await self.devices.send("WebAuthn.getCredentials", {"authenticatorId": self.device})
        credentials: list[dict[str, Any]] = found["credentials"]
        return credentials

    async def take_over(self, credential: dict[str, Any]) -> None:
        given = {"authenticatorId": self.device, "credential": credential}
        await self.devices.send("WebAuthn.addCredential", given)


@dataclass(frozen=True)
class Site:
    tenant: TenantWorld
    origin: str
    port: int
    browser: Browser

    async def person(self, account: Account | None = None) -> Person:
        page = await (await self.browser.new_context()).new_page()
        if account is not None:
            cookie = {"name": "pb_auth", "value": account.token, "url": self.origin}
            await page.context.add_cookies([cookie])  # type: ignore[list-item]
        devices = await page.context.new_cdp_session(page)
        await devices.send("WebAuthn.enable")
        options = {
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": True,
            "hasUserVerification": True,
            "isUserVerified": True,
            "automaticPresenceSimulation": True,
        }
        made = await devices.send("WebAuthn.addVirtualAuthenticator", {"options": options})
        person = Person(page, devices, made["authenticatorId"])
        page.on("request", lambda request: _note(person, request))
        return person

    async def add_passkey(self, person: Person, name: str = "Phone") -> None:
        await person.page.goto(f"{self.origin}/admin/account/passkeys")
        await person.page.get_by_label("Name").fill(name)
        await person.page.get_by_role("button", name="Add a passkey").click()
        await expect(person.page.locator(".recovery-codes, #second-factor").first).to_be_visible()

    async def stored(self, account: Account) -> list[dict[str, Any]]:
        records = self.tenant.world.parts.records
        [found] = await records.find(superusers, {"id": account.id}, tenant_id=self.tenant.id)
        return list(found["passkeys"] or [])

    async def guarded(self) -> tuple[Person, Account]:
        account = await self.tenant.owner(role="editor")
        person = await self.person(account)
        await self.add_passkey(person)
        await person.page.context.clear_cookies()
        return person, account


def _note(person: Person, request: Any) -> None:
    if request.method == "POST":
        parameters = request.post_data_json or {}
        person.sent.append({"address": request.url, **parameters})


@pytest.fixture(scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> AsyncIterator[Site]:
    folder: Path = tmp_path_factory.mktemp("passkeys")
    async with world_at_its_address(folder) as (world, port):
        tenant = await world.new_tenant("Tideline", slug="tideline")
        yield Site(tenant, f"http://tideline.localhost:{port}", port, browser)


async def test_a_passkey_signs_in_without_a_password(site: Site) -> None:
    person, account = await site.guarded()
    [stored] = await site.stored(account)
    assert (stored["name"], stored["host"]) == ("Phone", "tideline.localhost")
    await person.page.goto(f"{site.origin}/admin/sign-in?next=/admin/account")
    await person.page.get_by_role("button", name="Sign in with a passkey").click()
    await expect(person.page.locator("h1")).to_have_text("Your account")
    await expect(person.page.locator("#second-factor")).to_contain_text("Phone")
    await person.page.context.close()


async def test_it_is_the_second_step_after_the_password_and_guards_its_own_removal(
    site: Site,
) -> None:
    person, account = await site.guarded()
    page = person.page
    await page.goto(f"{site.origin}/admin/sign-in?next=/admin/account")
    await page.get_by_label("Email address").fill(account.email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page.locator("h1")).to_have_text("Your account")
    await page.get_by_role("link", name="Remove Phone").click()
    await page.get_by_role("button", name="Confirm with a passkey").click()
    await expect(page.locator(".toast")).to_contain_text("is removed")
    assert await site.stored(account) == []
    await page.context.close()


async def test_an_answer_is_taken_once(site: Site) -> None:
    person, _ = await site.guarded()
    await person.page.goto(f"{site.origin}/admin/sign-in")
    await person.page.get_by_role("button", name="Sign in with a passkey").click()
    await expect(person.page.locator(".side-who")).to_be_visible()
    sent = person.sent[-1]
    assert sent.pop("address").endswith("/admin/sign-in/passkey")
    thief = site.tenant.world.client(f"tideline.localhost:{site.port}")
    answer = await thief.post("/admin/sign-in/passkey", data=sent, headers=OWN)
    assert answer.status_code == 422
    assert "used already" in answer.text
    # Nor with a challenge of the thief's own.
    fresh = hidden_in((await thief.get("/admin/sign-in")).text)["challenge"]
    answer = await thief.post(
        "/admin/sign-in/passkey", data=sent | {"challenge": fresh}, headers=OWN
    )
    assert answer.status_code == 422
    assert "was not accepted" in answer.text
    assert "set-cookie" not in answer.headers
    await person.page.context.close()


async def test_an_answer_for_another_host_or_origin_is_refused(site: Site) -> None:
    """A page of another site that asks for the passkey of this one gets none from the browser; and
    an answer that was made for it is none here."""
    person, account = await site.guarded()
    await person.page.goto(f"{site.origin}/admin/sign-in")
    button = person.page.locator("mh-passkey")
    options = json.loads(await button.get_attribute("data-options") or "")
    other = f"http://other.localhost:{site.port}"
    await site.tenant.world.new_tenant("Other", slug="other")
    await person.page.goto(f"{other}/admin/sign-in")
    ask = """async (options) => {
        const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
        try { return (await navigator.credentials.get({ publicKey })).toJSON(); }
        catch (error) { return error.name; }
    }"""
    assert await person.page.evaluate(ask, options) == "SecurityError"
    # The same phone, made to believe that its passkey is the other site's.
    [credential] = await person.credentials()
    await person.devices.send(
        "WebAuthn.removeCredential",
        {"authenticatorId": person.device, "credentialId": credential["credentialId"]},
    )
    await person.take_over(credential | {"rpId": "other.localhost"})
    made = await person.page.evaluate(ask, options | {"rpId": "other.localhost"})
    assert made["id"]
    client = site.tenant.world.client(f"tideline.localhost:{site.port}")
    form = {"passkey": json.dumps(made), "challenge": await _challenge(client)}
    answer = await client.post("/admin/sign-in/passkey", data=form, headers=OWN)
    assert answer.status_code == 422
    assert "was not accepted" in answer.text
    [stored] = await site.stored(account)
    assert stored["sign_count"] == credential["signCount"]
    await person.page.context.close()


async def test_a_passkey_of_another_account_is_no_second_step(site: Site) -> None:
    person, _ = await site.guarded()
    _, victim = await site.guarded()
    page = person.page
    await page.goto(f"{site.origin}/admin/sign-in")
    await page.get_by_label("Email address").fill(victim.email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    button = page.locator("mh-passkey")
    # The page allows only the victim's passkeys: a script of the thief asks for any.
    options = json.loads(await button.get_attribute("data-options") or "")
    options["allowCredentials"] = []
    await button.evaluate("(each, text) => { each.dataset.options = text; }", json.dumps(options))
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page.get_by_role("alert").first).to_contain_text("was not accepted")
    await page.context.close()


async def test_a_copy_is_noticed_by_its_count(site: Site) -> None:
    person, account = await site.guarded()
    [copied] = await person.credentials()
    for _ in range(2):
        await person.page.context.clear_cookies()
        await person.page.goto(f"{site.origin}/admin/sign-in")
        await person.page.get_by_role("button", name="Sign in with a passkey").click()
        await expect(person.page.locator(".side-who")).to_be_visible()
    [stored] = await site.stored(account)
    assert stored["sign_count"] > copied["signCount"]
    thief = await site.person()
    await thief.take_over(copied)
    await thief.page.goto(f"{site.origin}/admin/sign-in")
    await thief.page.get_by_role("button", name="Sign in with a passkey").click()
    await expect(thief.page.get_by_role("alert").first).to_contain_text("was not accepted")
    await thief.page.context.close()
    await person.page.context.close()


async def test_without_its_owner_a_key_is_no_password(site: Site) -> None:
    """Found in the street, it is a second factor and not both."""
    person, _ = await site.guarded()
    await person.devices.send(
        "WebAuthn.setUserVerified", {"authenticatorId": person.device, "isUserVerified": False}
    )
    await person.page.goto(f"{site.origin}/admin/sign-in")
    refused = person.page.locator("mh-passkey [role=alert]")
    await expect(refused).to_be_hidden()
    await person.page.get_by_role("button", name="Sign in with a passkey").click()
    await expect(refused).to_be_visible()
    await person.page.context.close()


async def _challenge(client: Any) -> str:
    return hidden_in((await client.get("/admin/sign-in")).text)["challenge"]
