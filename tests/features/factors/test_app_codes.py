"""Signing in with a password and a code: the only way into an account with a second factor."""

from __future__ import annotations

import asyncio

import pytest
import sqlalchemy as sa
from tests.faces.admin.visitor import BARE, OWN, Visitor, hidden_in, staff, visitor
from tests.features.factors.apps import add_app, recovery_codes_in, type_code, type_password
from tests.outside.mail.offices import Office, office, office_world, text_of
from tests.world import PASSWORD, TenantWorld, World

from masthead.base.ids import TenantId
from masthead.engine.audit.collection import audit_log
from masthead.identity.limits.sign_in_throttle import CODES_PER_PAIR
from masthead.identity.tenants import superusers
from masthead.service.schema import tables
from masthead.storage.database import EVERY_TENANT

__all__ = ["office", "office_world"]

WRONG = "That code is wrong, or it was used already."


async def test_the_password_alone_opens_nothing(tenant: TenantWorld) -> None:
    browser, account = await staff(tenant, "owner")
    app = await add_app(browser, tenant.world)
    there = Visitor(tenant.guest)
    answer = await type_password(there, account.email)
    assert answer.headers["location"] == "/admin/sign-in/code?next=%2Fadmin%2Fposts"
    assert "pb_auth" not in answer.headers["set-cookie"]
    assert "HttpOnly; SameSite=Lax" in answer.headers["set-cookie"]
    assert (await there.get("/admin/posts")).status_code == 303
    page = (await there.get(answer.headers["location"])).text
    assert account.email in page
    answer = await type_code(there, app.code())
    assert (answer.status_code, answer.headers["location"]) == (303, "/admin/posts")
    assert (await there.get("/admin/posts")).status_code == 200


async def test_a_ticket_is_no_session(tenant: TenantWorld) -> None:
    browser, account = await staff(tenant, "owner")
    await add_app(browser, tenant.world)
    there = Visitor(tenant.guest)
    await type_password(there, account.email)
    ticket = there.api.cookies["mh_second_step"]
    for name in ("pb_auth", "pb_member_auth"):
        thief = Visitor(tenant.world.client(tenant.host))
        thief.api.cookies.set(name, ticket, domain=tenant.host)
        assert (await thief.get("/admin")).status_code == 303
    answer = await tenant.world.client(tenant.host, token=ticket).post(
        "/api/collections/_superusers/auth-refresh"
    )
    assert answer.status_code == 401


async def test_the_second_step_is_done_in_the_browser_of_the_first(tenant: TenantWorld) -> None:
    browser, account = await staff(tenant, "owner")
    app = await add_app(browser, tenant.world)
    await type_password(Visitor(tenant.guest), account.email)
    other = Visitor(tenant.world.client(tenant.host))
    assert (await other.get("/admin/sign-in/code")).headers["location"].startswith("/admin/sign-in")
    answer = await type_code(other, app.code())
    assert answer.status_code == 422
    assert "Begin again with the password." in answer.text


async def test_a_ticket_ends_after_five_minutes_and_with_the_password(tenant: TenantWorld) -> None:
    browser, account = await staff(tenant, "owner")
    app = await add_app(browser, tenant.world)
    late = Visitor(tenant.guest)
    await type_password(late, account.email)
    ticket = late.api.cookies["mh_second_step"]
    tenant.world.clock.advance(minutes=6)
    late.api.cookies.set("mh_second_step", ticket, domain=tenant.host)
    assert "Begin again" in (await type_code(late, app.code())).text
    await type_password(late, account.email)
    new = "quite another one"
    form = {"old_password": PASSWORD, "new_password": new, "new_again": new}
    assert (await browser.post("/admin/account/password", form)).status_code == 303
    assert "Begin again" in (await type_code(late, app.code())).text


async def test_a_ticket_of_another_site_is_none(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    browser, account = await staff(tenant, "owner")
    app = await add_app(browser, tenant.world)
    here = Visitor(tenant.guest)
    await type_password(here, account.email)
    there = Visitor(other_tenant.guest)
    ticket = here.api.cookies["mh_second_step"]
    there.api.cookies.set("mh_second_step", ticket, domain=other_tenant.host)
    assert "Begin again" in (await type_code(there, app.code())).text


async def test_a_code_counts_once_however_often_it_is_sent(tenant: TenantWorld) -> None:
    browser, account = await staff(tenant, "owner")
    app = await add_app(browser, tenant.world)
    used_at_enrolment = app.shown()
    browsers = [Visitor(tenant.world.client(tenant.host)) for _ in range(3)]
    for each in browsers:
        await type_password(each, account.email)
    assert WRONG in (await type_code(browsers[0], used_at_enrolment)).text
    code = app.code()
    answers = await asyncio.gather(*(type_code(each, code) for each in browsers))
    assert sorted(each.status_code for each in answers) == [303, 422, 422]


async def test_a_recovery_code_counts_once(tenant: TenantWorld) -> None:
    browser, account = await staff(tenant, "owner")
    app = await add_app(browser, tenant.world)
    assert len(app.recovery_codes) == 10
    for expected in (303, 422):
        there = Visitor(tenant.world.client(tenant.host))
        await type_password(there, account.email)
        assert (await type_code(there, app.recovery_codes[0])).status_code == expected
    page = (await browser.get("/admin/account")).text
    assert "9 of 10 left" in page


async def test_a_recovery_code_opens_what_no_root_secret_reads_any_more(
    tenant: TenantWorld,
) -> None:
    browser, account = await staff(tenant, "owner")
    app = await add_app(browser, tenant.world)
    records = tenant.world.parts.records
    [stored] = await records.find(superusers, {"id": account.id}, tenant_id=tenant.id)
    key_id = stored["totp_secret"].split(".")[1]
    sealed = stored["totp_secret"].replace(key_id, "00000000")
    table = tables["_superusers"]
    statement = records.database.compile(
        sa.update(table).where(table.c.id == sa.bindparam("key")).values(totp_secret=sealed)
    )
    async with records.database.transaction(EVERY_TENANT) as tx:
        await tx.execute(statement, statement.bind({"key": account.id}))
    there = Visitor(tenant.guest)
    await type_password(there, account.email)
    assert WRONG in (await type_code(there, app.code())).text
    assert (await type_code(there, app.recovery_codes[0])).status_code == 303


async def test_guesses_are_few_from_a_network_and_in_all(tenant: TenantWorld) -> None:
    browser, account = await staff(tenant, "owner")
    app = await add_app(browser, tenant.world)
    there = Visitor(tenant.guest)
    await type_password(there, account.email)
    for number in range(CODES_PER_PAIR):
        assert (await type_code(there, f"{number:06}")).status_code == 422
    answer = await type_code(there, app.code())
    assert answer.status_code == 429
    assert "Too many wrong codes." in answer.text
    assert int(answer.headers["retry-after"]) > 0
    # Wrong codes are none of the password's.
    assert (await type_password(there, account.email)).status_code == 303


async def test_a_form_that_waited_asks_for_the_code_and_loses_nothing(tenant: TenantWorld) -> None:
    browser, account = await staff(tenant, "owner")
    app = await add_app(browser, tenant.world)
    token = await browser.token()
    tenant.world.clock.advance(days=2)
    address, form = "/admin/posts/new", {"form_token": token, "title": "Kept <safe>"}
    asked = await browser.api.post(address, data=form, headers=OWN)
    again = {"again_email": account.email, "again_password": PASSWORD}
    asked = await browser.api.post(address, data=hidden_in(asked.text) | again, headers=OWN)
    assert asked.status_code == 401
    assert 'name="again_code"' in asked.text
    assert PASSWORD not in asked.text
    kept = hidden_in(asked.text)
    assert kept["title"] == "Kept <safe>"
    wrong = await browser.api.post(address, data=kept | {"again_code": "000000"}, headers=OWN)
    assert WRONG in wrong.text
    right = hidden_in(wrong.text) | {"again_code": app.code()}
    page = await browser.follow(await browser.api.post(address, data=right, headers=OWN))
    assert "Kept &lt;safe&gt;" in page


@pytest.mark.parametrize(
    "path", ["/api/collections/_superusers/auth-with-password", "/api/admins/auth-with-password"]
)
async def test_the_record_store_is_no_way_round(tenant: TenantWorld, path: str) -> None:
    browser, account = await staff(tenant, "owner")
    await add_app(browser, tenant.world)
    given = {"identity": account.email, "password": PASSWORD}
    answer = await tenant.guest.post(path, json=given)
    assert answer.status_code == 401
    assert set(answer.json()) == {"mfaId", "message"}
    assert "set-cookie" not in answer.headers
    wrong = await tenant.guest.post(path, json=given | {"password": "wrong"})
    assert wrong.status_code == 400
    assert "mfaId" not in wrong.json()


async def test_no_caller_reads_a_factor(tenant: TenantWorld) -> None:
    browser, account = await staff(tenant, "owner")
    app = await add_app(browser, tenant.world)
    answer = await browser.get(f"/api/collections/_superusers/records/{account.id}")
    assert not answer.json().keys() & {"totp_secret", "totp_step", "recovery_hashes"}
    answer = await browser.get("/api/collections/_superusers/records?filter=totp_secret!=''")
    assert answer.status_code == 400
    [stored] = await tenant.world.parts.records.find(
        superusers, {"id": account.id}, tenant_id=tenant.id
    )
    assert app.secret not in str(stored)
    assert app.recovery_codes[0] not in str(stored)


class TestOwnAccount:
    async def test_an_app_is_added_only_with_its_code(self, tenant: TenantWorld) -> None:
        browser, _ = await staff(tenant, "author")
        page = (await browser.get("/admin/account/app")).text
        assert "<svg" in page
        form = {**hidden_in(page), "code": "000000"}
        answer = await browser.api.post("/admin/account/app", data=form, headers=OWN)
        assert answer.status_code == 422
        assert 'id="code-note"' in answer.text
        # The same secret, which the app has by now.
        assert (
            page.partition("data-copied>")[2][:39]
            == (answer.text.partition("data-copied>")[2][:39])
        )
        assert "Only your password protects" in (await browser.get("/admin/account")).text

    async def test_a_secret_of_another_sign_in_is_not_taken(self, tenant: TenantWorld) -> None:
        mine, _ = await staff(tenant, "owner")
        other, _ = await staff(tenant, "editor")
        sealed = hidden_in((await mine.get("/admin/account/app")).text)["pending"]
        for pending in (sealed, "v1.00000000.AAAA", ""):
            answer = await other.post("/admin/account/app", {"pending": pending, "code": "1"})
            assert answer.status_code == 422
            assert "Scan this new QR code" in answer.text

    async def test_it_is_removed_with_a_code_and_so_are_the_recovery_codes(
        self, tenant: TenantWorld
    ) -> None:
        browser, account = await staff(tenant, "owner")
        app = await add_app(browser, tenant.world)
        answer = await browser.post("/admin/account/app/remove", {"code": "000000"})
        assert answer.status_code == 422
        answer = await browser.post("/admin/account/app/remove", {"code": app.code()})
        assert "The authenticator app has been removed." in await browser.follow(answer)
        [stored] = await tenant.world.parts.records.find(
            superusers, {"id": account.id}, tenant_id=tenant.id
        )
        assert (stored["totp_secret"], stored["recovery_hashes"]) == ("", [])
        answer = await type_password(Visitor(tenant.guest), account.email)
        assert answer.headers["location"] == "/admin/posts"

    async def test_new_recovery_codes_replace_the_old(self, tenant: TenantWorld) -> None:
        browser, account = await staff(tenant, "owner")
        app = await add_app(browser, tenant.world)
        answer = await browser.post("/admin/account/recovery-codes", {"code": app.code()})
        codes = recovery_codes_in(answer.text)
        assert len(codes) == 10
        there = Visitor(tenant.guest)
        await type_password(there, account.email)
        assert (await type_code(there, app.recovery_codes[0])).status_code == 422
        assert (await type_code(there, codes[0])).status_code == 303

    async def test_an_operator_has_them_too(self, app: World, tenant: TenantWorld) -> None:
        operator = await app.operator()
        browser = visitor(app, operator, BARE)
        phone = await add_app(browser, app)
        for host in (BARE, tenant.host):
            there = Visitor(app.client(host))
            answer = await type_password(there, operator.email)
            assert answer.headers["location"].startswith("/admin/sign-in/code")
            assert (await type_code(there, phone.code())).status_code == 303
        logged = await app.parts.records.find(
            audit_log, {"account_id": operator.id}, tenant_id=TenantId(""), limit=50
        )
        assert "added a factor" in {each["action"] for each in logged}


async def test_every_change_is_told_by_email_and_logged(office: Office) -> None:
    tenant = await office.world.new_tenant("site")
    browser, account = await staff(tenant, "owner")
    app = await add_app(browser, office.world)
    await browser.post("/admin/account/recovery-codes", {"code": app.code()})
    await browser.post("/admin/account/app/remove", {"code": app.code()})
    told = [text_of(each) for each in await office.mails()]
    sentences = (
        "A second factor was added: Authenticator app.",
        "New recovery codes were made.",
        "A second factor was removed: Authenticator app.",
    )
    for sentence in sentences:
        assert sum(sentence in each for each in told) == 1
    assert app.secret not in "".join(told)
    entries = await office.world.parts.records.find(
        audit_log, {"account_id": account.id}, tenant_id=tenant.id, limit=50
    )
    actions = [each["action"] for each in entries if each["action"] != "signed in"]
    assert sorted(actions) == ["added a factor", "made recovery codes", "removed a factor"]
