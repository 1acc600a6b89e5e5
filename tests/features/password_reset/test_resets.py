"""Password resets by email, which others can't block."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tests.outside.mail.offices import Office, everything, text_of
from tests.world import PASSWORD, Account, TenantWorld, records_of

from masthead.identity.accounts import RESET_LINK
from masthead.identity.limits.sign_in_throttle import (
    ATTEMPTS_PER_ACCOUNT,
    RESET_MAILS_PER_TENANT,
    RESETS_PER_ACCOUNT,
    RESETS_PER_NETWORK,
)

ADMIN, MEMBER = "_superusers", "blog_members"
NEW = "a new long password"
HTML = {"accept": "text/html"}
KINDS = pytest.mark.parametrize("kind", [ADMIN, MEMBER])


@dataclass(frozen=True)
class Person:
    """A person with an account, and a client of the host it belongs to."""

    office: Office
    site: TenantWorld
    kind: str
    account: Account
    guest: httpx.AsyncClient

    async def ask(self, email: str = "", guest: httpx.AsyncClient | None = None) -> httpx.Response:
        path = f"/api/collections/{self.kind}/request-password-reset"
        return await (guest or self.site.guest).post(
            path, json={"email": email or self.account.email}
        )

    async def mailed_link(self) -> str:
        """Path and query of the newest link in the account's mailbox."""
        mails = [each for each in await self.office.mails() if each["to"] == self.account.email]
        (link,) = re.findall(r"http://\S+token=\S+", text_of(mails[-1]))
        parts = urlsplit(link)
        assert parts.netloc == self.site.host
        return f"{parts.path}?{parts.query}"

    async def link(self) -> str:
        assert (await self.ask()).status_code == 204
        return await self.mailed_link()

    async def confirm(self, token: str, password: str = NEW, **values: Any) -> httpx.Response:
        path = f"/api/collections/{self.kind}/confirm-password-reset"
        sent = {"token": token, "password": password, "passwordConfirm": password}
        return await self.guest.post(path, json=sent | values)

    async def sign_in(
        self, password: str = NEW, guest: httpx.AsyncClient | None = None
    ) -> httpx.Response:
        path = f"/api/collections/{self.kind}/auth-with-password"
        sent = {"identity": self.account.email, "password": password}
        return await (guest or self.guest).post(path, json=sent)


@pytest.fixture
async def site(office: Office) -> TenantWorld:
    tenant = await office.world.new_tenant("site")
    await tenant.settings(site_name="Die Zeitung")
    return tenant


@pytest.fixture
async def person(office: Office, site: TenantWorld, kind: str) -> Person:
    account = await (site.owner() if kind == ADMIN else site.member())
    return Person(office, site, kind, account, site.guest)


def token_in(link: str) -> str:
    return link.partition("token=")[2]


def form(password: str, again: str | None = None) -> dict[str, str]:
    return {"password": password, "passwordConfirm": password if again is None else again}


@KINDS
async def test_a_mailed_link_sets_a_new_password(person: Person) -> None:
    link = await person.link()
    assert link.startswith("/admin/" if person.kind == ADMIN else "/member/")
    (mail,) = await person.office.mails()
    assert mail["subject"] == "Choose a new password for Die Zeitung"
    page = await person.guest.get(link, headers=HTML)
    assert page.status_code == 200
    assert page.text.count('type="password"') == 2
    done = await person.guest.post(link, data=form(NEW), headers=HTML)
    assert (done.status_code, "Your password is set" in done.text) == (200, True)
    assert (await person.sign_in(PASSWORD)).status_code == 400
    signed_in = await person.sign_in()
    assert signed_in.status_code == 200
    assert signed_in.json()["record"]["verified"] is True


@KINDS
async def test_pocketbase_clients_set_it(person: Person) -> None:
    token = token_in(await person.link())
    answer = await person.confirm(token)
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await person.sign_in()).status_code == 200


@KINDS
async def test_it_unlocks_an_account_that_others_have_locked(person: Person) -> None:
    for _ in range(ATTEMPTS_PER_ACCOUNT):
        await person.sign_in("x" * 2000, person.site.guest)
    assert (await person.sign_in(PASSWORD)).status_code == 429
    assert (await person.confirm(token_in(await person.link()))).status_code == 204
    for _ in range(ATTEMPTS_PER_ACCOUNT + 1):
        await person.sign_in("x" * 2000, person.site.guest)
    assert (await person.sign_in(guest=person.site.guest)).status_code == 429
    assert (await person.sign_in()).status_code == 200


@KINDS
async def test_an_unknown_address_gets_the_same_answer(person: Person) -> None:
    """The same answer, and the same rows are written: only the worker looks up the account."""
    # The first request also creates the platform's lock row.
    await person.ask("first@example.com")
    counts = []
    for email in (person.account.email, "nobody@example.com", "NOBODY@other.example"):
        before = await everything(person.office.world)
        answer = await person.ask(email)
        assert (answer.status_code, answer.content) == (204, b"")
        after = await everything(person.office.world)
        counts.append({name: len(after[name]) - len(before[name]) for name in after})
    assert counts[0] == counts[1] == counts[2]
    (mail,) = await person.office.mails()
    assert mail["to"] == person.account.email


@KINDS
async def test_opening_the_link_changes_nothing(person: Person) -> None:
    link = await person.link()
    before = await everything(person.office.world)
    for method in ("GET", "HEAD"):
        for headers in (HTML, {"accept": "application/json"}, {}):
            answer = await person.guest.request(method, link, headers=headers)
            assert answer.status_code == 200
            assert answer.headers["cache-control"].endswith("no-store")
    assert await everything(person.office.world) == before


async def refused(person: Person, link: str) -> None:
    for method in ("GET", "POST"):
        answer = await person.guest.request(method, link, data=form(NEW), headers=HTML)
        assert answer.status_code == 400
        assert "<form" not in answer.text
    assert (await person.confirm(token_in(link))).status_code == 400


@pytest.mark.both_databases
@KINDS
async def test_a_link_works_once(person: Person) -> None:
    link = await person.link()
    answers = await asyncio.gather(*(person.confirm(token_in(link)) for _ in range(3)))
    assert sorted(answer.status_code for answer in answers) == [204, 400, 400]
    await refused(person, link)


@KINDS
async def test_a_link_is_valid_for_15_minutes(person: Person) -> None:
    link = await person.link()
    person.office.world.clock.advance(seconds=RESET_LINK.total_seconds() - 2)
    assert (await person.guest.get(link)).status_code == 200
    person.office.world.clock.advance(seconds=2)
    await refused(person, link)


@KINDS
@pytest.mark.parametrize("change", [{"email": "other@example.com"}, {"password": NEW}])
async def test_another_address_or_password_invalidates_the_link(
    person: Person, change: dict[str, str]
) -> None:
    link = await person.link()
    owner = await person.site.owner()
    answer = await owner.api.patch(records_of(person.kind, person.account.id), json=change)
    assert answer.status_code == 200
    await refused(person, link)


@KINDS
async def test_every_session_ends(person: Person) -> None:
    await person.confirm(token_in(await person.link()))
    refresh = f"/api/collections/{person.kind}/auth-refresh"
    assert (await person.account.api.post(refresh)).status_code == 401


@KINDS
async def test_a_link_is_invalid_on_another_site(person: Person, office: Office) -> None:
    link = await person.link()
    elsewhere = (await office.world.new_tenant()).guest
    assert (await elsewhere.post(link, data=form(NEW))).status_code == 400
    other_kind = MEMBER if person.kind == ADMIN else ADMIN
    path = f"/api/collections/{other_kind}/confirm-password-reset"
    sent = {"token": token_in(link), **form(NEW)}
    assert (await person.guest.post(path, json=sent)).status_code == 400
    assert (await person.sign_in(PASSWORD)).status_code == 200


@KINDS
async def test_the_record_store_says_what_is_missing_or_wrong(person: Person) -> None:
    path = f"/api/collections/{person.kind}/confirm-password-reset"
    missing = (await person.guest.post(path, json={})).json()["data"]
    assert set(missing) == {"token", "password", "passwordConfirm"}
    assert {each["code"] for each in missing.values()} == {"validation_required"}
    wrong = (await person.confirm("a.b.c")).json()["data"]
    assert wrong["token"]["code"] == "validation_invalid_token"


@KINDS
@pytest.mark.parametrize("token", ["", "x", "a.b.c", "é", "%00", "x" * 5000])
async def test_an_invented_link(person: Person, token: str) -> None:
    path = "/admin/reset-password" if person.kind == ADMIN else "/member/reset-password"
    await refused(person, f"{path}?token={token}")
    session = person.account.token
    await refused(person, f"{path}?token={session}")


@KINDS
@pytest.mark.parametrize(
    ("sent", "field"),
    [
        (form("short"), "password"),
        (form("long enough", "another one"), "passwordConfirm"),
        ({"password": "long enough"}, "passwordConfirm"),
        ({"password": ""}, "password"),
    ],
)
async def test_an_invalid_password(person: Person, sent: dict[str, str], field: str) -> None:
    link = await person.link()
    page = await person.guest.post(link, data=sent, headers=HTML)
    assert page.status_code == (422 if person.kind == ADMIN else 400)
    assert page.text.count('type="password"') == 2
    label = {"password": "New password", "passwordConfirm": "Repeat the password"}[field]
    assert label in page.text
    assert (await person.sign_in(PASSWORD)).status_code == 200
    assert (await person.guest.post(link, data=form(NEW))).status_code == 200


@pytest.mark.parametrize("kind", [MEMBER])
async def test_an_invalid_form(person: Person) -> None:
    link = await person.link()
    many = "&".join(f"a{number}=1" for number in range(50))
    assert (await person.guest.post(link, content=many.encode())).status_code == 400
    assert (await person.guest.post(link, content=b"x" * 20_000)).status_code == 413
    assert (await person.guest.post(link, content=b"\xff\x00=%ff%")).status_code == 400


@pytest.mark.parametrize("kind", [MEMBER])
@pytest.mark.parametrize("email", [None, "", "nobody", 7, "a@b\r\nBcc: c@d"])
async def test_an_invalid_address(person: Person, email: Any) -> None:
    path = f"/api/collections/{person.kind}/request-password-reset"
    answer = await person.guest.post(path, json={"email": email})
    assert answer.status_code == 400
    assert set(answer.json()["data"]) == {"email"}


async def test_an_operator_gets_a_link_to_the_bare_host(office: Office) -> None:
    operator = await office.world.operator()
    api = office.world.client()
    path = "/api/collections/_superusers/request-password-reset"
    assert (await api.post(path, json={"email": operator.email})).status_code == 204
    (link,) = re.findall(r"http://\S+token=\S+", text_of(await office.mail_to(operator.email)))
    assert link.startswith("http://localhost/admin/reset-password?token=")
    assert (await api.post(link, data=form(NEW))).status_code == 200
    sent = {"identity": operator.email, "password": NEW}
    answer = await api.post("/api/collections/_superusers/auth-with-password", json=sent)
    assert answer.status_code == 200


@pytest.mark.parametrize("kind", [MEMBER])
async def test_it_works_on_a_read_only_site(person: Person) -> None:
    await person.site.settings(read_only_mode=True)
    assert (await person.confirm(token_in(await person.link()))).status_code == 204
    assert (await person.sign_in()).status_code == 200


@KINDS
async def test_the_link_is_stored_nowhere(person: Person) -> None:
    link = await person.link()
    assert token_in(link) not in repr(await everything(person.office.world))


class TestHowOften:
    @KINDS
    async def test_a_network(self, person: Person) -> None:
        for number in range(RESETS_PER_NETWORK):
            answer = await person.ask(f"someone{number}@example.com", person.guest)
            assert answer.status_code == 204
        answer = await person.ask("more@example.com", person.guest)
        assert answer.status_code == 429
        assert 0 < int(answer.headers["retry-after"]) <= 3600
        assert (await person.ask()).status_code == 204

    @KINDS
    async def test_a_mailbox_always_has_a_valid_link(self, person: Person) -> None:
        """Repeated requests of others neither flood it nor block its owner's link."""
        for _ in range(RESETS_PER_ACCOUNT * 3):
            assert (await person.ask()).status_code == 204
        assert len(await person.office.mails()) == RESETS_PER_ACCOUNT
        person.office.world.clock.advance(seconds=RESET_LINK.total_seconds() - 2)
        assert (await person.guest.get(await person.mailed_link())).status_code == 200
        person.office.world.clock.advance(seconds=3)
        assert (await person.guest.get(await person.link())).status_code == 200

    @pytest.mark.parametrize("kind", [MEMBER])
    async def test_a_sites_members_together(self, person: Person) -> None:
        throttle = person.office.world.parts.throttle
        for _ in range(RESET_MAILS_PER_TENANT):
            assert await throttle.admit_reset_mail(MEMBER, person.site.id)
        assert (await person.ask()).status_code == 204
        assert await person.office.mails() == []
        owner = await person.site.owner()
        path = "/api/collections/_superusers/request-password-reset"
        await person.guest.post(path, json={"email": owner.email})
        assert [mail["to"] for mail in await person.office.mails()] == [owner.email]


async def test_staff_without_a_password_get_no_link(office: Office, site: TenantWorld) -> None:
    invited = f"author@{site.slug}.example"
    await site.create("_superusers", {"email": invited, "role": "author", "name": "Guest"})
    for email in (invited, (await site.owner()).email):
        path = f"/api/collections/{ADMIN}/request-password-reset"
        assert (await site.guest.post(path, json={"email": email})).status_code == 204
    assert invited not in [each["to"] for each in await office.mails()]
    assert len(await office.mails()) == 1
