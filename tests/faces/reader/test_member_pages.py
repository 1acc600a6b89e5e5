"""Readers join, sign in and out, and manage their account on the pages of the site."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
import sqlalchemy as sa
from tests.databases import fresh_url
from tests.outside.mail.offices import Office, text_of
from tests.world import PASSWORD, Account, TenantWorld, World, open_world

from masthead.base import clock
from masthead.base.errors import RateLimited
from masthead.engine.jobs.tables import jobs
from masthead.engine.records.collection import Record
from masthead.features.members.collection import blog_members
from masthead.identity.limits.sign_in_throttle import Attempt, LoginThrottle
from masthead.identity.sessions import MEMBER_COOKIE
from masthead.storage.database import EVERY_TENANT

OWN = {"sec-fetch-site": "same-origin"}
INBOX = "The email is a file"


@dataclass
class Reader:
    """A browser without script: it keeps cookies, and sends the forms that it is shown."""

    browser: httpx.AsyncClient
    page: httpx.Response | None = None

    async def open(self, path: str) -> httpx.Response:
        self.page = await self.browser.get(path)
        return self.page

    async def send(self, action: str, **values: str) -> httpx.Response:
        """The form of the page shown that goes to `action`, with its hidden fields."""
        assert self.page is not None
        form = form_to(self.page.text, action)
        hidden = {
            unescape(name): unescape(value)
            for name, value in re.findall(
                r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form
            )
        }
        path = action or str(self.page.url)
        self.page = await self.browser.post(path, data=hidden | values, headers=OWN)
        return self.page

    async def follow(self) -> httpx.Response:
        assert self.page is not None
        assert self.page.status_code == 303
        return await self.open(self.page.headers["location"])


def form_to(html: str, action: str) -> str:
    for form in re.findall(r"<form\b.*?</form>", html, re.DOTALL):
        found = re.search(r'action="([^"]*)"', form.partition(">")[0])
        is_post = 'method="post"' in form.partition(">")[0]
        if is_post and (found[1] if found else "") == action:
            return str(form)
    raise AssertionError(f"there is no form to {action}")


def reader_of(tenant: TenantWorld, address: str = "") -> Reader:
    return Reader(tenant.world.client(tenant.host, address=address))


async def link_in_mail(office: Office, address: str, path: str = "/member/link") -> str:
    """The path of the last link that was mailed to an address."""
    links = [
        link
        for mail in await office.mails()
        if mail["to"].addresses[0].addr_spec == address
        for link in re.findall(r"https?://[^/\s]+(/\S*)", text_of(mail))
    ]
    return [link for link in links if link.startswith(path)][-1]


async def mails_to(office: Office, address: str) -> list[str]:
    return [
        mail["subject"]
        for mail in await office.mails()
        if mail["to"].addresses[0].addr_spec == address
    ]


async def member_at(tenant: TenantWorld, email: str) -> Record | None:
    found = await tenant.world.parts.records.find(
        blog_members, {"email": email}, tenant_id=tenant.id
    )
    return found[0] if found else None


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
async def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("members")
    world = await open_world(fresh_url(request.param, folder), folder)
    yield world
    await world.parts.close()


@pytest.fixture
async def office(service: World) -> Office:
    """The service with an empty mail folder."""
    office = Office(service, service.parts.settings.data_dir / "mail")
    await office.send()
    for path in office.folder.glob("*.eml"):
        path.unlink()
    return office


@pytest.fixture
async def site(office: Office) -> TenantWorld:
    tenant = await office.world.new_tenant("tideline")
    await tenant.settings(site_name="Tideline")
    return tenant


async def signed_in(tenant: TenantWorld, **values: Any) -> tuple[Reader, Account]:
    member = await tenant.member(**values)
    reader = reader_of(tenant)
    reader.browser.cookies.set(MEMBER_COOKIE, member.token, tenant.host)
    return reader, member


async def test_a_reader_joins_by_the_mailed_link_and_is_back_at_the_post(
    office: Office, site: TenantWorld
) -> None:
    await site.published(title="For members", visibility="members", content_html="<p>Secret</p>")
    reader = reader_of(site)
    await reader.open("/posts/for-members")
    asked = await reader.send("/member/sign-up", email="Ada@Example.com ", newsletter="true")
    assert (asked.status_code, INBOX in asked.text) == (200, True)
    assert await member_at(site, "ada@example.com") is None
    link = await link_in_mail(office, "ada@example.com")
    for _ in range(2):
        shown = await reader.open(link)
        assert "Confirm and join" in shown.text
    assert await member_at(site, "ada@example.com") is None
    joined = await reader.send("")
    cookie = joined.headers["set-cookie"]
    assert cookie.startswith(f"{MEMBER_COOKIE}=")
    assert "HttpOnly; SameSite=Lax" in cookie
    assert "Domain" not in cookie
    post = await reader.follow()
    assert post.url.path == "/posts/for-members"
    assert "Secret" in post.text
    member = await member_at(site, "ada@example.com")
    assert member is not None
    assert (member["verified"], member["newsletter"], member["tier"]) == (True, True, "free")
    assert [name for name in await site.event_names() if "member." in name] == ["member.subscribed"]


async def test_a_reader_chooses_among_several_newsletters_when_joining(
    office: Office, site: TenantWorld
) -> None:
    reader = reader_of(site)
    assert 'name="newsletter"' in (await reader.open("/member/sign-up")).text
    for name in ("Sunday", "Tides"):
        await site.create("newsletters", {"name": name, "description": f"About {name}"})
    form = (await reader.open("/member/sign-up")).text
    assert "About Sunday" in form
    assert "checked" not in form
    chosen = {"newsletter.sunday": "true", "newsletter.unknown": "true"}
    await reader.send("/member/sign-up", email="ada@example.com", **chosen)
    shown = await reader.open(await link_in_mail(office, "ada@example.com"))
    assert "You get Sunday by email until you turn that off." in shown.text
    await reader.send("")
    member = await member_at(site, "ada@example.com")
    assert member is not None
    assert member["newsletter"]
    assert sorted(member["newsletters_off"]) == ["main", "tides"]


async def test_who_is_not_asked_gets_the_newsletters_for_new_members(
    office: Office, site: TenantWorld
) -> None:
    await site.create("newsletters", {"name": "Sunday", "is_default": False})
    await site.create("newsletters", {"name": "Tides", "is_default": True})
    reader = reader_of(site)
    await reader.open("/member/sign-up")
    # As the short form below a post sends it.
    await reader.send("/member/sign-up", email="ada@example.com", newsletter="true")
    await reader.open(await link_in_mail(office, "ada@example.com"))
    await reader.send("")
    member = await member_at(site, "ada@example.com")
    assert member is not None
    assert (member["newsletter"], member["newsletters_off"]) == (True, ["sunday"])


async def test_joining_without_the_newsletter_sends_no_event(
    office: Office, site: TenantWorld
) -> None:
    reader = reader_of(site)
    await reader.open("/member/sign-up")
    await reader.send("/member/sign-up", email="ada@example.com")
    await reader.open(await link_in_mail(office, "ada@example.com"))
    await reader.send("")
    account = await reader.follow()
    assert "You are now a member" in account.text
    assert [name for name in await site.event_names() if "member" in name] == []


async def test_how_a_reader_agreed_is_kept(office: Office, site: TenantWorld) -> None:
    reader = reader_of(site)
    await reader.open("/member/sign-up?back=/posts/fog")
    await reader.send("/member/sign-up", email="ada@example.com", newsletter="true")
    office.world.clock.advance(hours=1)
    await reader.open(await link_in_mail(office, "ada@example.com"))
    await reader.send("")
    member = await member_at(site, "ada@example.com")
    assert member is not None
    assert member["consent_source"] == "sign-up form, confirmed by email"
    # When it was confirmed, and where the form was.
    assert member["consent_at"] == clock.to_text(office.world.clock())
    assert member["consent_form"].endswith("/posts/fog")
    assert member["consent_form"].startswith("http")
    # It is for the staff, who can't change it, and in the person's export.
    owner = await site.owner()
    path = f"/api/collections/blog_members/records/{member['id']}"
    assert (await owner.api.get(path)).json()["consent_source"] == member["consent_source"]
    answer = await owner.api.patch(path, json={"consent_source": "made up"})
    assert answer.status_code == 400
    record = await site.member()
    own = await record.api.get(f"/api/collections/blog_members/records/{record.id}")
    assert "consent_source" not in own.json()
    privacy = office.world.parts.privacy
    document = await privacy.exports.member_document(site.id, member)
    assert "sign-up form, confirmed by email" in document.decode()


async def test_who_joins_without_the_newsletter_has_agreed_to_nothing(
    office: Office, site: TenantWorld
) -> None:
    reader = reader_of(site)
    await reader.open("/member/sign-up")
    await reader.send("/member/sign-up", email="ada@example.com")
    await reader.open(await link_in_mail(office, "ada@example.com"))
    await reader.send("")
    member = await member_at(site, "ada@example.com")
    assert member is not None
    assert member["consent_source"] == ""


async def test_a_link_works_once_and_not_for_long(office: Office, site: TenantWorld) -> None:
    reader = reader_of(site)
    await reader.open("/member/sign-up")
    await reader.send("/member/sign-up", email="ada@example.com")
    link = await link_in_mail(office, "ada@example.com")
    office.world.clock.advance(hours=23)
    await reader.open(link)
    assert (await reader.send("")).status_code == 303
    again = reader_of(site)
    dead = await again.open(link)
    assert (dead.status_code, "no longer works" in dead.text) == (400, True)
    token = link.partition("token=")[2]
    spent = await again.browser.post("/member/link", data={"token": token}, headers=OWN)
    assert (spent.status_code, "set-cookie" in spent.headers) == (400, False)
    other = reader_of(site)
    await other.open("/member/sign-up")
    await other.send("/member/sign-up", email="bob@example.com")
    late = await link_in_mail(office, "bob@example.com")
    office.world.clock.advance(hours=24)
    assert (await other.open(late)).status_code == 400


async def test_a_mailed_link_signs_in_within_fifteen_minutes(
    office: Office, site: TenantWorld
) -> None:
    member = await site.member()
    reader = reader_of(site)
    await reader.open("/member/sign-in?back=/archive")
    assert INBOX in (await reader.send("/member/sign-in", email=member.email)).text
    link = await link_in_mail(office, member.email)
    office.world.clock.advance(minutes=14)
    assert f"You sign in as {member.email}" in (await reader.open(link)).text
    await reader.send("")
    assert (await reader.follow()).url.path == "/archive"
    assert member.email in (await reader.open("/member/account")).text
    late = reader_of(site)
    await late.open("/member/sign-in")
    await late.send("/member/sign-in", email=member.email)
    link = await link_in_mail(office, member.email)
    office.world.clock.advance(minutes=16)
    assert (await late.open(link)).status_code == 400


async def test_a_new_password_ends_older_links(office: Office, site: TenantWorld) -> None:
    member, owner = await site.member(), await site.owner()
    reader = reader_of(site)
    await reader.open("/member/sign-in")
    await reader.send("/member/sign-in", email=member.email)
    link = await link_in_mail(office, member.email)
    await owner.api.patch(
        f"/api/collections/blog_members/records/{member.id}", json={"password": "a new password"}
    )
    await reader.open(link)
    assert (await reader.send("")).status_code == 400


async def test_an_imported_member_without_any_credential_signs_in_by_mail(
    office: Office, site: TenantWorld
) -> None:
    await site.create("blog_members", {"email": "ines@example.com"})
    reader = reader_of(site)
    await reader.open("/member/sign-in")
    await reader.send("/member/sign-in", email="ines@example.com")
    await reader.open(await link_in_mail(office, "ines@example.com"))
    assert (await reader.send("")).status_code == 303
    assert "ines@example.com" in (await reader.open("/member/account")).text


async def test_a_password_signs_in_on_the_same_form(site: TenantWorld) -> None:
    member = await site.member()
    reader = reader_of(site)
    await reader.open("/member/sign-in?back=/archive")
    for email, password in ((member.email, "wrong"), ("nobody@example.com", PASSWORD)):
        wrong = await reader.send("/member/sign-in", email=email, password=password)
        assert wrong.status_code == 422
        assert "The email address or the password is not right" in wrong.text
        assert f'value="{email}"' in wrong.text
        assert "set-cookie" not in wrong.headers
    await reader.send("/member/sign-in", email=member.email, password=PASSWORD)
    assert (await reader.follow()).url.path == "/archive"


async def test_known_and_unknown_addresses_get_the_same_answer_and_the_same_work(
    office: Office, site: TenantWorld
) -> None:
    member = await site.member(email="known@example.com")
    database = office.world.parts.database
    count = database.compile(sa.select(sa.func.count()).select_from(jobs))

    async def asked(path: str, email: str) -> tuple[int, str, int, dict[str, str]]:
        guest = site.guest
        before = await database.fetch(EVERY_TENANT, count, ())
        answer = await guest.post(path, data={"email": email}, headers=OWN)
        after = await database.fetch(EVERY_TENANT, count, ())
        headers = dict(answer.headers)
        for name in ("x-request-id", "content-length"):
            headers.pop(name)
        text = answer.text.replace(email, "ADDRESS")
        # Of each address, whether or not it has an account.
        text = re.sub(r'name="code_id" value="[a-z0-9]{15}"', "CODE", text)
        return answer.status_code, text, after[0][0] - before[0][0], headers

    for path in ("/member/sign-up", "/member/sign-in", "/member/forgot"):
        known = await asked(path, member.email)
        unknown = await asked(path, "nobody@example.com")
        assert known == unknown
        assert known[2] == 1


async def test_the_mail_says_what_the_page_does_not(office: Office, site: TenantWorld) -> None:
    await site.member(email="known@example.com")
    for path in ("/member/sign-up", "/member/sign-in"):
        for email in ("known@example.com", f"new{len(path)}@example.com"):
            await site.guest.post(path, data={"email": email}, headers=OWN)
    assert sorted(await mails_to(office, "known@example.com")) == [
        "Sign in to Tideline",
        "You are already a member of Tideline",
    ]
    subjects = [mail["subject"] for mail in await office.mails()]
    # Who is no member gets no email to sign in.
    assert subjects.count("Confirm that you want to join Tideline") == 1
    assert len(subjects) == 3


async def test_already_a_member_signs_in_by_the_mail(office: Office, site: TenantWorld) -> None:
    member = await site.member(email="known@example.com")
    reader = reader_of(site)
    await reader.open("/member/sign-up")
    await reader.send("/member/sign-up", email=member.email, newsletter="true")
    await reader.open(await link_in_mail(office, member.email))
    await reader.send("")
    assert member.email in (await reader.open("/member/account")).text
    # Somebody else may have ticked the box.
    found = await member_at(site, member.email)
    assert found is not None
    assert not found["newsletter"]


async def test_an_address_gets_two_mails_at_most_and_a_network_asks_twenty_times(
    office: Office, site: TenantWorld
) -> None:
    for _ in range(4):
        answer = await site.guest.post(
            "/member/sign-up", data={"email": "ada@example.com"}, headers=OWN
        )
        assert INBOX in answer.text
    assert len(await mails_to(office, "ada@example.com")) == 2
    bot = office.world.client(site.host)
    answers = [
        await bot.post("/member/sign-up", data={"email": f"a{n}@example.com"}, headers=OWN)
        for n in range(21)
    ]
    assert [each.status_code for each in answers] == [200] * 20 + [429]
    assert int(answers[-1].headers["retry-after"]) > 0
    other = await office.world.new_tenant("other")
    bot = office.world.client(other.host, address=bot_address(bot))
    refused = await bot.post("/member/sign-in", data={"email": "x@example.com"}, headers=OWN)
    assert refused.status_code == 429


def bot_address(client: httpx.AsyncClient) -> str:
    transport: Any = client._transport
    return str(transport.client[0])


async def test_a_site_has_a_limit_of_its_own(office: Office, site: TenantWorld) -> None:
    world = office.world
    few = LoginThrottle(world.parts.database, world.clock, links_per_tenant=3)
    # As the pages ask, each time for another address from another network.
    attempts = [
        Attempt(blog_members.name, f"a{number}@example.com", f"10.{number}.0.1")
        for number in range(5)
    ]
    for attempt in attempts[:3]:
        assert await few.admit_link(attempt, site.id)
    for attempt in attempts[3:]:
        with pytest.raises(RateLimited):
            await few.admit_link(attempt, site.id)
    other = await world.new_tenant("other")
    assert await few.admit_link(attempts[4], other.id)


async def test_what_fills_in_the_hidden_field_is_answered_and_ignored(
    office: Office, site: TenantWorld
) -> None:
    data = {"email": "ada@example.com", "website": "http://spam.example"}
    for path in ("/member/sign-up", "/member/sign-in"):
        answer = await site.guest.post(path, data=data, headers=OWN)
        assert INBOX in answer.text
    assert await office.mails() == []


@pytest.mark.parametrize("email", ["", "ada", "ada@", "a b@example.com"])
async def test_what_is_no_address_is_said_beside_the_field(site: TenantWorld, email: str) -> None:
    for path in ("/member/sign-up", "/member/sign-in", "/member/forgot"):
        answer = await site.guest.post(path, data={"email": email}, headers=OWN)
        assert answer.status_code == 422
        assert 'aria-describedby="email-problem"' in answer.text
        assert 'id="email-problem"' in answer.text
        assert 'href="#email"' in answer.text


@pytest.mark.parametrize(
    "back",
    [
        "//evil.example",
        "https://evil.example/",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "javascript:alert(1)",
        "evil.example",
        "/member/sign-in",
        "",
        "/" + "x" * 600,
        "/posts/../admin",
        "/x/%2e%2E/admin",
        "/..",
    ],
)
async def test_nobody_is_sent_to_another_site(site: TenantWorld, back: str) -> None:
    member = await site.member()
    data = {"email": member.email, "password": PASSWORD, "back": back}
    answer = await site.guest.post("/member/sign-in", data=data, headers=OWN)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    reader, _ = await signed_in(site)
    shown = await reader.browser.get("/member/sign-in", params={"back": back})
    assert shown.headers["location"] == "/"


@pytest.mark.parametrize(
    "back", ["/posts/fog", "/member/tiers", "/member/account", "/search?q=a&b=%C3%A9", "/tags/é"]
)
async def test_a_reader_is_led_back(site: TenantWorld, back: str) -> None:
    member = await site.member()
    data = {"email": member.email, "password": PASSWORD, "back": back}
    answer = await site.guest.post("/member/sign-in", data=data, headers=OWN)
    assert unquote(answer.headers["location"]) == unquote(back)


async def test_the_page_to_join_says_what_a_paid_membership_costs(site: TenantWorld) -> None:
    assert "/member/tiers" not in (await site.guest.get("/member/sign-up")).text
    await site.create(
        "tiers", {"name": "Reader", "price": 400, "currency": "GBP", "interval": "month"}
    )
    page = (await site.guest.get("/member/sign-up")).text
    assert "£4 a month" in page
    assert "/member/tiers" in page


async def test_forms_from_elsewhere_are_refused(office: Office, site: TenantWorld) -> None:
    reader, member = await signed_in(site)
    await reader.open("/member/account")
    for headers in ({}, {"sec-fetch-site": "same-site"}, {"origin": "http://other.localhost"}):
        for path in (
            "/member/sign-up",
            "/member/sign-in",
            "/member/forgot",
            "/member/link",
            "/member/sign-out",
            "/member/sign-out-everywhere",
            "/member/account/name",
            "/member/account/export",
            "/member/delete",
        ):
            answer = await reader.browser.post(
                path, data={"email": "a@example.com"}, headers=headers
            )
            assert answer.status_code == 403, path
    assert await office.mails() == []
    assert await office.world.parts.accounts.sessions.caller_of(member.token) is not None


async def test_a_members_forms_need_the_token_of_the_page(site: TenantWorld) -> None:
    reader, _ = await signed_in(site, name="Ada")
    for path, data in (
        ("/member/account/name", {"name": "Eve"}),
        ("/member/account/newsletter", {"newsletter": "true"}),
        ("/member/account/comment-mails", {"comment_mails": "false"}),
        ("/member/account/language", {"language": "en"}),
        ("/member/account/email", {"email": "eve@example.com"}),
        ("/member/sign-out", {"form_token": "x"}),
        ("/member/delete", {"phrase": "DELETE MY DATA"}),
    ):
        answer = await reader.browser.post(path, data=data, headers=OWN)
        assert answer.status_code == 403, path
    assert "Ada" in (await reader.open("/member/account")).text


async def test_guests_and_members_of_other_sites_are_asked_to_sign_in(
    office: Office, site: TenantWorld
) -> None:
    other = await office.world.new_tenant("other")
    stranger = await other.member()
    for token in ("", stranger.token):
        reader = reader_of(site)
        if token:
            reader.browser.cookies.set(MEMBER_COOKIE, token)
        for path in ("/member/account", "/member/delete"):
            answer = await reader.open(path)
            assert answer.status_code == 303
            assert answer.headers["location"] == "/member/sign-in?back=/member/account"
        answer = await reader.browser.post("/member/account/export", data={"a": "1"}, headers=OWN)
        assert answer.headers["location"].startswith("/member/sign-in")


async def test_a_link_of_another_site_is_none(office: Office, site: TenantWorld) -> None:
    other = await office.world.new_tenant("other")
    await site.guest.post("/member/sign-up", data={"email": "ada@example.com"}, headers=OWN)
    link = await link_in_mail(office, "ada@example.com")
    assert (await reader_of(other).open(link)).status_code == 400
    token = link.partition("token=")[2]
    answer = await other.guest.post("/member/link", data={"token": token}, headers=OWN)
    assert answer.status_code == 400
    assert await member_at(other, "ada@example.com") is None


async def test_signing_out_ends_the_session_itself(office: Office, site: TenantWorld) -> None:
    reader, member = await signed_in(site)
    await reader.open("/member/account")
    out = await reader.send("/member/sign-out")
    assert out.headers["clear-site-data"] == '"cache"'
    assert out.headers["location"] == "/"
    assert "Max-Age=0" in out.headers["set-cookie"]
    assert await office.world.parts.accounts.sessions.caller_of(member.token) is None


async def test_a_member_turns_mails_about_comments_off_and_on(site: TenantWorld) -> None:
    reader, member = await signed_in(site)
    await reader.open("/member/account")
    for is_off in (True, False):
        await reader.send("/member/account/comment-mails")
        assert "Saved." in (await reader.follow()).text
        found = await member_at(site, member.email)
        assert found is not None
        assert found["comment_mails_off"] is is_off
    await site.settings(comments_enabled=False)
    assert "comment-mails" not in (await reader.open("/member/account")).text


async def test_a_member_chooses_among_several_newsletters(site: TenantWorld) -> None:
    reader, member = await signed_in(site, newsletter=True)
    assert "/member/account/newsletters" not in (await reader.open("/member/account")).text
    await site.create("newsletters", {"name": "Sunday", "description": "Long reads"})
    for slug, is_on, off in (
        ("sunday", "false", ["sunday"]),
        ("nothing", "false", ["sunday"]),
        ("main", "false", ["sunday", "main"]),
        ("sunday", "true", ["main"]),
    ):
        assert "Long reads" in (await reader.open("/member/account")).text
        await reader.send("/member/account/newsletters", newsletter=slug, on=is_on)
        found = await member_at(site, member.email)
        assert found is not None
        assert found["newsletters_off"] == off


async def test_newsletters_that_are_turned_off_at_once_are_all_off(site: TenantWorld) -> None:
    reader, member = await signed_in(site, newsletter=True)
    for name in ("Sunday", "Monday"):
        await site.create("newsletters", {"name": name})
    await reader.open("/member/account")
    slugs = ("main", "sunday", "monday")
    address = "/member/account/newsletters"
    await asyncio.gather(*(reader.send(address, newsletter=each, on="false") for each in slugs))
    found = await member_at(site, member.email)
    assert found is not None
    assert sorted(found["newsletters_off"]) == sorted(slugs)


async def test_a_member_changes_name_and_newsletter(site: TenantWorld) -> None:
    reader, member = await signed_in(site)
    await reader.open("/member/account")
    await reader.send("/member/account/name", name="  Ada   <Lovelace> ")
    saved = await reader.follow()
    assert "Your name is saved" in saved.text
    assert "Ada &lt;Lovelace&gt;" in saved.text
    await reader.send("/member/account/newsletter")
    assert 'aria-checked="true"' in (await reader.follow()).text
    assert "member.subscribed" in await site.event_names()
    await reader.send("/member/account/newsletter")
    assert 'aria-checked="false"' in (await reader.follow()).text
    assert "member.unsubscribed" in await site.event_names()
    too_long = await reader.send("/member/account/name", name="x" * 300)
    assert too_long.status_code == 422
    assert "x" * 300 in too_long.text
    assert 'aria-describedby="name-problem"' in too_long.text
    found = await member_at(site, member.email)
    assert found is not None
    assert found["name"] == "Ada <Lovelace>"
    assert found["consent_source"] == "the member's account page"
    assert found["consent_form"].endswith("/member/account")


async def test_a_member_changes_the_address_by_a_mail_to_the_new_one(
    office: Office, site: TenantWorld
) -> None:
    reader, member = await signed_in(site)
    await reader.open("/member/account")
    for wrong, why in (
        ("nonsense", "Must be an email address"),
        (member.email, "already has this address"),
        ("", "Cannot be blank"),
    ):
        refused = await reader.send("/member/account/email", email=wrong)
        assert (refused.status_code, why in refused.text) == (422, True)
    await reader.send("/member/account/email", email="new@example.com")
    assert "A link for the new address was written" in (await reader.follow()).text
    assert member.email in reader.page.text if reader.page else False
    confirm = await reader.open(
        await link_in_mail(office, "new@example.com", "/member/confirm-email")
    )
    assert "Tideline" in confirm.text
    done = await reader.send("")
    assert "Your address is confirmed" in done.text
    assert await member_at(site, "new@example.com") is not None


async def test_a_member_changes_the_password_and_stays_signed_in_here_alone(
    office: Office, site: TenantWorld
) -> None:
    reader, member = await signed_in(site)
    await reader.open("/member/account")
    new = {"password": "another good one", "passwordConfirm": "another good one"}
    wrong = await reader.send("/member/account/password", oldPassword="no", **new)
    assert (wrong.status_code, 'id="oldPassword-problem"' in wrong.text) == (422, True)
    differs = new | {"passwordConfirm": "another"}
    wrong = await reader.send("/member/account/password", oldPassword=PASSWORD, **differs)
    assert (wrong.status_code, 'id="passwordConfirm-problem"' in wrong.text) == (422, True)
    await reader.send("/member/account/password", oldPassword=PASSWORD, **new)
    assert "Your new password is set" in (await reader.follow()).text
    assert await office.world.parts.accounts.sessions.caller_of(member.token) is None


async def test_a_member_without_a_password_sets_one_by_mail(
    office: Office, site: TenantWorld
) -> None:
    record = await site.create("blog_members", {"email": "ines@example.com"})
    reader = reader_of(site)
    await reader.open("/member/sign-in")
    await reader.send("/member/sign-in", email=record["email"])
    await reader.open(await link_in_mail(office, record["email"]))
    await reader.send("")
    await reader.open("/member/account")
    await reader.send("/member/account/password")
    assert "A link for you was written" in (await reader.follow()).text
    form = await reader.open(await link_in_mail(office, record["email"], "/member/reset-password"))
    assert "Choose a new password" in form.text
    new = {"password": "another good one", "passwordConfirm": "another good one"}
    assert "Your password is set" in (await reader.send("", **new)).text


async def test_a_forgotten_password_is_set_by_mail(office: Office, site: TenantWorld) -> None:
    member = await site.member()
    reader = reader_of(site)
    await reader.open("/member/forgot")
    assert INBOX in (await reader.send("/member/forgot", email=member.email)).text
    await reader.open(await link_in_mail(office, member.email, "/member/reset-password"))
    new = {"password": "another good one", "passwordConfirm": "another good one"}
    await reader.send("", **new)
    await reader.open("/member/sign-in")
    await reader.send("/member/sign-in", email=member.email, password="another good one")
    assert (await reader.follow()).status_code == 200


async def test_sign_ins_are_listed_and_ended_one_by_one(office: Office, site: TenantWorld) -> None:
    reader, member = await signed_in(site)
    phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19 Safari/605.1"
    other = reader_of(site, "192.0.2.50")
    other.browser.headers["user-agent"] = phone
    await other.open("/member/sign-in")
    await other.send("/member/sign-in", email=member.email, password=PASSWORD)
    page = await reader.open("/member/account")
    assert "Safari on iPhone" in page.text
    assert "192.0.2.50" in page.text
    assert page.text.count('action="/member/account/sign-ins"') == 1
    await reader.send("/member/account/sign-ins")
    ended = await reader.follow()
    assert "That sign-in has ended" in ended.text
    assert "Safari on iPhone" not in ended.text
    assert (await other.open("/member/account")).status_code == 303


async def test_a_member_signs_out_everywhere(office: Office, site: TenantWorld) -> None:
    reader, member = await signed_in(site)
    other = reader_of(site)
    await other.open("/member/sign-in")
    await other.send("/member/sign-in", email=member.email, password=PASSWORD)
    await reader.open("/member/account")
    await reader.send("/member/sign-out-everywhere")
    for each in (reader, other):
        assert (await each.open("/member/account")).status_code == 303
    assert await office.world.parts.accounts.sessions.caller_of(member.token) is None


async def test_a_member_takes_their_data_along(office: Office, site: TenantWorld) -> None:
    reader, member = await signed_in(site, name="Ada")
    await reader.open("/member/account")
    ready = await reader.send("/member/account/export")
    assert "Your data is ready" in ready.text
    link = re.search(r'href="https?://[^/"]+(/api/gdpr/export/[^"]+)"', ready.text)
    assert link
    document = (await reader.open(unescape(link[1]))).json()
    assert document["member"]["email"] == member.email
    assert len(document["data"]["sign_ins"]) == 1
    assert await mails_to(office, member.email) == ["Your data from Tideline is ready"]


async def test_a_member_deletes_themselves_in_thirty_days(
    office: Office, site: TenantWorld
) -> None:
    reader, member = await signed_in(site)
    await reader.open("/member/delete")
    wrong = await reader.send("/member/delete", phrase="delete it")
    assert (wrong.status_code, 'id="phrase-problem"' in wrong.text) == (422, True)
    planned = await reader.send("/member/delete", phrase="DELETE MY DATA")
    day = office.world.clock.moment + timedelta(days=30)
    when = f"will be deleted on {day.day} {day:%B %Y}"
    assert when in planned.text
    assert when in (await reader.open("/member/account")).text
    cancel = await link_in_mail(office, member.email, "/api/gdpr/delete/")
    assert (await site.guest.post(cancel)).status_code == 200
    assert "will be deleted" not in (await reader.open("/member/account")).text
    await reader.open("/member/delete")
    await reader.send("/member/delete", phrase="DELETE MY DATA")
    office.world.clock.advance(days=31)
    await office.mails()
    assert await member_at(site, member.email) is None


async def test_a_site_without_members_takes_none(office: Office, site: TenantWorld) -> None:
    await site.guest.post("/member/sign-up", data={"email": "ada@example.com"}, headers=OWN)
    link = await link_in_mail(office, "ada@example.com")
    member = await site.member()
    await site.settings(members_enabled=False)
    assert "/member/sign-up" not in (await site.guest.get("/")).text
    refused = await site.guest.get("/member/sign-up")
    asked = await site.guest.post("/member/sign-up", data={"email": "bob@example.com"}, headers=OWN)
    for each in (refused, asked):
        assert each.status_code == 403
        assert "join this site at the moment" in each.text
    token = link.partition("token=")[2]
    late = await site.guest.post("/member/link", data={"token": token}, headers=OWN)
    assert late.status_code == 403
    assert await member_at(site, "ada@example.com") is None
    # Who is a member already can still take their data along, or leave.
    reader = reader_of(site)
    await reader.open("/member/sign-in")
    await reader.send("/member/sign-in", email=member.email, password=PASSWORD)
    assert (await reader.open("/member/account")).status_code == 200


async def test_nothing_changes_while_a_site_is_read_only(office: Office, site: TenantWorld) -> None:
    await site.guest.post("/member/sign-up", data={"email": "ada@example.com"}, headers=OWN)
    link = await link_in_mail(office, "ada@example.com")
    reader, _ = await signed_in(site)
    await site.settings(read_only_mode=True)
    token = link.partition("token=")[2]
    answer = await site.guest.post("/member/link", data={"token": token}, headers=OWN)
    assert answer.status_code == 403
    await reader.open("/member/account")
    assert (await reader.send("/member/account/name", name="Eve")).status_code == 403


async def test_member_pages_are_for_one_reader_and_no_search_engine(site: TenantWorld) -> None:
    reader, _ = await signed_in(site)
    for path in ("/member/account", "/member/delete"):
        page = await reader.open(path)
        assert page.headers["cache-control"] == "private, no-store"
        assert '<meta name="robots" content="noindex">' in page.text
    for path in ("/member/sign-up", "/member/sign-in", "/member/forgot", "/member/link?token=x"):
        page = await site.guest.get(path)
        assert page.headers["cache-control"] == "private, no-store"
        assert page.headers["referrer-policy"] == "same-origin"
        assert '<meta name="robots" content="noindex">' in page.text


async def test_expired_links_are_swept(office: Office, site: TenantWorld) -> None:
    await site.guest.post("/member/sign-up", data={"email": "ada@example.com"}, headers=OWN)
    link = await link_in_mail(office, "ada@example.com")
    links = office.world.parts.members.links
    office.world.clock.advance(hours=23)
    await links.sweep()
    assert (await reader_of(site).open(link)).status_code == 200
    office.world.clock.advance(hours=2)
    await links.sweep()
    office.world.clock.advance(hours=-2)
    assert (await reader_of(site).open(link)).status_code == 400


async def code_in_mail(office: Office, address: str) -> str:
    mails = [m for m in await office.mails() if m["to"].addresses[0].addr_spec == address]
    (code,) = set(re.findall(r"\b\d{6}\b", text_of(mails[-1])))
    return code


async def test_a_code_typed_on_another_device_signs_in_and_leads_back(
    office: Office, site: TenantWorld
) -> None:
    member = await site.member()
    reader = reader_of(site)
    await reader.open("/member/sign-in?back=/archive")
    await reader.send("/member/sign-in", email=member.email)
    code = await code_in_mail(office, member.email)
    wrong = "000000" if code != "000000" else "111111"
    refused = await reader.send("/member/code", code=wrong)
    assert refused.status_code == 422
    assert "This code is not right" in refused.text
    assert "set-cookie" not in refused.headers
    await reader.send("/member/code", code=f"{code[:3]} {code[3:]}")
    assert (await reader.follow()).url.path == "/archive"
    assert (await reader.open("/member/account")).status_code == 200


async def test_a_code_makes_a_new_member(office: Office, site: TenantWorld) -> None:
    reader = reader_of(site)
    await reader.open("/member/sign-up")
    await reader.send("/member/sign-up", email="typed@example.com", newsletter="true")
    assert await member_at(site, "typed@example.com") is None
    await reader.send("/member/code", code=await code_in_mail(office, "typed@example.com"))
    assert (await reader.follow()).url.path == "/member/account"
    member = await member_at(site, "typed@example.com")
    assert member is not None
    assert (member["verified"], member["newsletter"]) == (True, True)


async def test_too_many_wrong_codes_are_told_on_the_page(office: Office, site: TenantWorld) -> None:
    member = await site.member()
    reader = reader_of(site)
    await reader.open("/member/sign-in")
    await reader.send("/member/sign-in", email=member.email)
    for _ in range(6):
        page = await reader.send("/member/code", code="no code")
    assert page.status_code == 422
    assert "Too many wrong codes" in page.text
