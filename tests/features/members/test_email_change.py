"""A member's new email address takes effect after its confirmation."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tests.outside.mail.offices import Office, everything, text_of
from tests.world import PASSWORD, Account, TenantWorld, records_of

from masthead.features.members.collection import member_mails
from masthead.features.members.email_change import PER_ADDRESS, PER_MEMBER

NEW = "new@example.com"
HTML = {"accept": "text/html"}


@pytest.fixture
async def site(office: Office) -> TenantWorld:
    tenant = await office.world.new_tenant("site")
    await tenant.settings(site_name="Die Zeitung")
    return tenant


@pytest.fixture
async def ana(site: TenantWorld) -> Account:
    return await site.member(email="ana@example.com", name="Ana")


async def ask(account: Account, email: Any = NEW, **values: Any) -> httpx.Response:
    path = records_of("blog_members", account.id)
    return await account.api.patch(path, json={"email": email, **values})


async def link_to(office: Office, address: str = NEW) -> str:
    """Path and query of the newest confirmation link that went to this address."""
    mails = [mail for mail in await office.mails() if mail["to"] == address]
    (link,) = re.findall(r"http://\S+token=\S+", text_of(mails[-1]))
    parts = urlsplit(link)
    return f"{parts.path}?{parts.query}"


async def email_of(site: TenantWorld, account: Account) -> str:
    found = await site.world.parts.records.find(
        site.world.collection("blog_members"), {"id": account.id}, tenant_id=site.id
    )
    email: str = found[0]["email"]
    return email


class TestAsking:
    async def test_the_address_stays_and_the_new_mailbox_gets_a_link(
        self, office: Office, site: TenantWorld, ana: Account
    ) -> None:
        answer = await ask(ana, name="Ana B.")
        assert answer.status_code == 200
        assert (answer.json()["email"], answer.json()["name"]) == ("ana@example.com", "Ana B.")
        (mail,) = await office.mails()
        assert mail["to"] == NEW
        assert mail["subject"] == "Confirm your email address for Die Zeitung"
        assert f"http://{site.host}/member/confirm-email?token=" in text_of(mail)

    async def test_the_email_holds_no_text_of_the_member(
        self, office: Office, ana: Account
    ) -> None:
        await ask(ana, name="Buy at https://spam.example")
        (mail,) = await office.mails()
        assert b"spam.example" not in mail.as_bytes()
        assert b"ana@" not in mail.as_bytes()

    @pytest.mark.parametrize("email", ["ana@example.com", "ANA@example.com "])
    async def test_the_own_address_sends_no_email(
        self, office: Office, ana: Account, email: str
    ) -> None:
        assert (await ask(ana, email)).status_code == 200
        assert await office.mails() == []

    @pytest.mark.parametrize("email", ["", None, "nobody", "a@b\r\nBcc: c@d", 7, ["a@b.c"]])
    async def test_an_invalid_address(self, office: Office, ana: Account, email: Any) -> None:
        answer = await ask(ana, email, name="Other")
        assert answer.status_code == 400
        assert set(answer.json()["data"]) == {"email"}
        assert await office.mails() == []

    async def test_a_taken_address_gets_the_same_answer(
        self, office: Office, site: TenantWorld, ana: Account
    ) -> None:
        taken = await site.member()
        free, used = await ask(ana), await ask(ana, taken.email)
        assert (free.status_code, free.json()) == (used.status_code, used.json())
        mail = await office.mail_to(taken.email)
        assert mail["subject"] == "You already have an account at Die Zeitung"
        assert "token=" not in text_of(mail)

    async def test_another_members_address_can_not_be_changed(
        self, office: Office, site: TenantWorld, ana: Account
    ) -> None:
        other = await site.member()
        path = records_of("blog_members", ana.id)
        assert (await other.api.patch(path, json={"email": NEW})).status_code == 404
        assert (await site.guest.patch(path, json={"email": NEW})).status_code in (401, 404)
        assert await office.mails() == []

    async def test_not_while_the_site_is_read_only(
        self, office: Office, site: TenantWorld, ana: Account
    ) -> None:
        await site.settings(read_only_mode=True)
        assert (await ask(ana)).status_code == 403
        assert await office.mails() == []

    async def test_requests_are_limited_per_member(self, office: Office, ana: Account) -> None:
        for number in range(PER_MEMBER):
            assert (await ask(ana, f"new{number}@example.com")).status_code == 200
        refused = await ask(ana, "more@example.com")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "86400")
        assert len(await office.mails()) == PER_MEMBER
        office.world.clock.advance(hours=24)
        assert (await ask(ana, "more@example.com")).status_code == 200

    async def test_requests_are_limited_per_mailbox(
        self, office: Office, site: TenantWorld
    ) -> None:
        for _ in range(PER_ADDRESS):
            assert (await ask(await site.member())).status_code == 200
        assert (await ask(await site.member())).status_code == 429
        assert len(await office.mails()) == PER_ADDRESS

    async def test_an_owner_sets_it_at_once(
        self, office: Office, site: TenantWorld, ana: Account
    ) -> None:
        owner = await site.owner()
        answer = await owner.api.patch(records_of("blog_members", ana.id), json={"email": NEW})
        assert answer.json()["email"] == NEW
        assert await office.mails() == []


class TestConfirming:
    async def test_opening_the_link_only_shows_a_button(
        self, office: Office, site: TenantWorld, ana: Account
    ) -> None:
        await ask(ana)
        link = await link_to(office)
        before = await everything(office.world)
        for headers in (HTML, {"accept": "application/json"}, {}):
            page = await site.guest.get(link, headers=headers)
            assert page.status_code == 200
        page = await site.guest.get(link, headers=HTML)
        assert "<button" in page.text
        assert NEW in page.text
        assert await everything(office.world) == before

    async def test_the_button_changes_the_address(
        self, office: Office, site: TenantWorld, ana: Account
    ) -> None:
        await ask(ana)
        answer = await site.guest.post(await link_to(office), headers=HTML)
        assert answer.status_code == 200
        assert "Your address is confirmed" in answer.text
        assert await email_of(site, ana) == NEW

    async def test_every_session_ends(
        self, office: Office, site: TenantWorld, ana: Account
    ) -> None:
        await ask(ana)
        await site.guest.post(await link_to(office))
        answer = await ana.api.get(records_of("blog_members", ana.id))
        assert answer.status_code == 404
        signed_in = await site.guest.post(
            "/api/collections/blog_members/auth-with-password",
            json={"identity": NEW, "password": PASSWORD},
        )
        assert signed_in.status_code == 200
        assert signed_in.json()["record"]["verified"] is True

    async def test_the_old_mailbox_is_notified(
        self, office: Office, site: TenantWorld, ana: Account
    ) -> None:
        await ask(ana)
        await site.guest.post(await link_to(office))
        mail = await office.mail_to("ana@example.com")
        assert mail["subject"] == "Your email address at Die Zeitung was changed"
        assert NEW in text_of(mail)
        assert "Ana" in text_of(mail)

    async def refused(self, site: TenantWorld, link: str) -> None:
        for method in ("GET", "POST"):
            answer = await site.guest.request(method, link, headers=HTML)
            assert answer.status_code == 400
            assert "<form" not in answer.text

    async def test_the_notice_is_among_the_mails_to_the_member(
        self, office: Office, site: TenantWorld, ana: Account
    ) -> None:
        await ask(ana)
        await site.guest.post(await link_to(office))
        await office.send()
        [mail] = await office.world.parts.records.find(member_mails, {}, tenant_id=site.id, limit=9)
        assert (mail["member_id"], mail["template"]) == (ana.id, "email_changed")
        assert mail["state"] == "sent"

    @pytest.mark.both_databases
    async def test_a_link_works_once(self, office: Office, site: TenantWorld, ana: Account) -> None:
        await ask(ana)
        link = await link_to(office)
        answers = await asyncio.gather(*(site.guest.post(link) for _ in range(4)))
        assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
        await self.refused(site, link)
        assert len(await office.mails()) == 2

    async def test_a_link_is_valid_for_a_day(
        self, office: Office, site: TenantWorld, ana: Account
    ) -> None:
        await ask(ana)
        link = await link_to(office)
        office.world.clock.moment += timedelta(hours=24) - timedelta(seconds=1)
        assert (await site.guest.get(link)).status_code == 200
        office.world.clock.advance(seconds=1)
        await self.refused(site, link)

    async def test_only_the_newest_link_works(
        self, office: Office, site: TenantWorld, ana: Account
    ) -> None:
        await ask(ana)
        older = await link_to(office)
        await ask(ana, "newer@example.com")
        await self.refused(site, older)
        assert (await site.guest.post(await link_to(office, "newer@example.com"))).is_success
        assert await email_of(site, ana) == "newer@example.com"

    async def test_a_new_password_invalidates_older_links(
        self, office: Office, site: TenantWorld, ana: Account
    ) -> None:
        await ask(ana)
        link = await link_to(office)
        owner = await site.owner()
        changed = {"password": "another long password"}
        await owner.api.patch(records_of("blog_members", ana.id), json=changed)
        assert (await site.guest.post(link)).status_code == 400
        assert await email_of(site, ana) == "ana@example.com"

    async def test_an_address_that_was_taken_meanwhile(
        self, office: Office, site: TenantWorld, ana: Account
    ) -> None:
        await ask(ana)
        link = await link_to(office)
        await site.member(email=NEW)
        answer = await site.guest.post(link, headers=HTML)
        assert answer.status_code == 400
        assert "has its own account" in answer.text
        assert await email_of(site, ana) == "ana@example.com"

    async def test_a_link_is_invalid_on_another_site(
        self, office: Office, site: TenantWorld, ana: Account
    ) -> None:
        await ask(ana)
        link = await link_to(office)
        await self.refused(await office.world.new_tenant(), link)
        assert (await office.world.client().post(link)).status_code == 404

    async def test_an_invented_link(self, site: TenantWorld) -> None:
        for token in ("", "x", "%00", "%ff", "é", "x" * 100):
            await self.refused(site, f"/member/confirm-email?token={token}")
        await self.refused(site, "/member/confirm-email")

    async def test_not_while_the_site_is_read_only(
        self, office: Office, site: TenantWorld, ana: Account
    ) -> None:
        await ask(ana)
        link = await link_to(office)
        await site.settings(read_only_mode=True)
        assert (await site.guest.post(link)).status_code == 403
        await site.settings(read_only_mode=False)
        assert (await site.guest.post(link)).status_code == 200

    async def test_a_deleted_member_leaves_no_request_behind(
        self, office: Office, site: TenantWorld, ana: Account
    ) -> None:
        await ask(ana)
        link = await link_to(office)
        owner = await site.owner()
        await owner.api.delete(records_of("blog_members", ana.id))
        await self.refused(site, link)
        assert NEW not in repr(await everything(office.world))

    async def test_tokens_are_stored_hashed(self, office: Office, ana: Account) -> None:
        await ask(ana)
        token = (await link_to(office)).partition("token=")[2]
        assert token not in repr(await everything(office.world))

    async def test_old_requests_are_swept(self, office: Office, ana: Account) -> None:
        await ask(ana)
        office.world.clock.advance(hours=24, seconds=1)
        await office.world.parts.members.email_changes.sweep()
        assert (await everything(office.world))["email_changes"] == []
