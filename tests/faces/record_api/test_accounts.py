"""Accounts through PocketBase's endpoints: codes, verification, new addresses, impersonation and
guests who join, with the emails that belong to them."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from email.message import EmailMessage
from typing import Any

import httpx
import pytest
from tests.faces.admin.visitor import staff
from tests.features.factors.apps import add_app
from tests.features.factors.processes import second_process
from tests.outside.mail.offices import Office, office, office_world, text_of
from tests.world import PASSWORD, Account, TenantWorld, records_of

from masthead.engine.records.collection import Collection
from masthead.features.members.collection import blog_members
from masthead.identity.codes import SignInCodes
from masthead.identity.limits.sign_in_throttle import GUESSES_PER_CODE, WRONG_CODES_PER_DAY
from masthead.identity.tenants import superusers

__all__ = ["office", "office_world"]

MEMBERS = "/api/collections/blog_members"
STAFF = "/api/collections/_superusers"
NEW_PASSWORD = "another long password"


@pytest.fixture
async def tenant(office: Office) -> TenantWorld:
    tenant = await office.world.new_tenant()
    await tenant.settings(members_enabled=True)
    return tenant


SAME_ORIGIN = {"sec-fetch-site": "same-origin"}


async def last_mail(office: Office, address: str) -> EmailMessage:
    mails = await office.mails()
    theirs = [each for each in mails if each["to"].addresses[0].addr_spec == address]
    return [each for each in theirs if re.search(r"\b\d{6}\b|token=", text_of(each))][-1]


def code_in(mail: EmailMessage) -> str:
    (code,) = set(re.findall(r"\b\d{6}\b", text_of(mail)))
    return code


def token_in(mail: EmailMessage) -> str:
    (token,) = set(re.findall(r"token=([\w-]+)", text_of(mail)))
    return token


def wrong(code: str) -> str:
    return "000000" if code != "000000" else "111111"


async def sign_in(
    api: httpx.AsyncClient, email: str, password: str = PASSWORD, at: str = MEMBERS
) -> httpx.Response:
    sent = {"identity": email, "password": password}
    return await api.post(f"{at}/auth-with-password", json=sent)


async def request_code(
    office: Office, api: httpx.AsyncClient, email: str, at: str = MEMBERS
) -> Any:
    answer = await api.post(f"{at}/request-otp", json={"email": email})
    assert answer.status_code == 200, answer.text
    return answer.json()["otpId"], code_in(await last_mail(office, email))


def send_code(api: httpx.AsyncClient, code_id: str, code: str, at: str = MEMBERS) -> Any:
    return api.post(f"{at}/auth-with-otp", json={"otpId": code_id, "password": code})


class TestCodes:
    async def test_a_member_signs_in_once_and_is_verified(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        member = await tenant.member()
        code_id, code = await request_code(office, tenant.guest, member.email)
        assert re.fullmatch(r"[a-z0-9]{15}", code_id)
        answer = await send_code(tenant.guest, code_id, f" {code[:3]} {code[3:]} ")
        assert answer.status_code == 200
        assert answer.json()["record"]["id"] == member.id
        assert answer.json()["record"]["verified"] is True
        own = tenant.world.client(tenant.host, token=answer.json()["token"])
        assert (await own.get(records_of("blog_members", member.id))).status_code == 200
        assert (await send_code(tenant.guest, code_id, code)).status_code == 400

    async def test_the_link_ends_with_the_code_and_the_code_with_the_link(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        for uses_code in (True, False):
            member = await tenant.member()
            code_id, code = await request_code(office, tenant.guest, member.email)
            token = token_in(await last_mail(office, member.email))
            press = {"data": {"token": token}, "headers": {"sec-fetch-site": "same-origin"}}
            if uses_code:
                assert (await send_code(tenant.guest, code_id, code)).status_code == 200
                assert (await tenant.guest.post("/member/link", **press)).status_code == 400
            else:
                assert (await tenant.guest.post("/member/link", **press)).status_code == 303
                assert (await send_code(tenant.guest, code_id, code)).status_code == 400

    async def test_staff_and_operators_sign_in_by_code(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        for account in (await tenant.owner(), await office.world.operator()):
            code_id, code = await request_code(office, tenant.guest, account.email, STAFF)
            assert (await send_code(tenant.guest, code_id, wrong(code), STAFF)).status_code == 400
            answer = await send_code(tenant.guest, code_id, code, STAFF)
            assert answer.json()["record"]["id"] == account.id
            assert (await send_code(tenant.guest, code_id, code, STAFF)).status_code == 400

    async def test_a_code_is_not_enough_for_staff_with_a_second_factor(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        browser, owner = await staff(tenant, "owner")
        await add_app(browser, tenant.world)
        code_id, code = await request_code(office, tenant.guest, owner.email, STAFF)
        answer = await send_code(tenant.guest, code_id, code, STAFF)
        assert (answer.status_code, set(answer.json())) == (401, {"mfaId", "message"})
        assert "set-cookie" not in answer.headers

    async def test_an_unknown_address_and_a_known_one_get_the_same_answers(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        member, owner = await tenant.member(), await tenant.owner()
        for at, known in ((MEMBERS, member.email), (STAFF, owner.email)):
            answers = []
            for email in (known, "nobody@example.com"):
                asked = await tenant.guest.post(f"{at}/request-otp", json={"email": email})
                guesses = [
                    await send_code(tenant.guest, asked.json()["otpId"], "no code", at)
                    for _ in range(GUESSES_PER_CODE + 1)
                ]
                answers.append([(each.status_code, each.text) for each in guesses])
            assert answers[0] == answers[1]
            assert [status for status, _ in answers[0]] == [400] * GUESSES_PER_CODE + [429]
        assert not [each for each in await office.mails() if "nobody" in each["to"]]

    async def test_the_right_code_after_too_many_wrong_ones(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        member = await tenant.member()
        code_id, code = await request_code(office, tenant.guest, member.email)
        for _ in range(GUESSES_PER_CODE):
            assert (await send_code(tenant.guest, code_id, wrong(code))).status_code == 400
        refused = await send_code(tenant.guest, code_id, code)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) > 0

    @pytest.mark.both_databases
    async def test_concurrent_guesses_are_each_counted(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        member = await tenant.member()
        code_id, code = await request_code(office, tenant.guest, member.email)
        answers = await asyncio.gather(
            *(send_code(tenant.guest, code_id, wrong(code)) for _ in range(20))
        )
        assert sum(each.status_code == 400 for each in answers) == GUESSES_PER_CODE

    @pytest.mark.both_databases
    async def test_of_two_concurrent_uses_at_two_processes_one_signs_in(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        async with second_process(office.world) as other:
            clients = [tenant.guest, other.client(tenant.host)]
            for at, account in ((MEMBERS, await tenant.member()), (STAFF, await tenant.owner())):
                code_id, code = await request_code(office, tenant.guest, account.email, at)
                both = await asyncio.gather(
                    *(send_code(each, code_id, code, at) for each in clients)
                )
                assert sorted(each.status_code for each in both) == [200, 400]

    async def test_wrong_codes_of_a_day_leave_only_the_link(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        member = await tenant.member()
        failures = 0
        while failures < WRONG_CODES_PER_DAY:
            code_id, code = await request_code(office, tenant.guest, member.email)
            for _ in range(GUESSES_PER_CODE):
                await send_code(tenant.guest, code_id, wrong(code))
                failures += 1
            office.world.clock.advance(minutes=16)
        code_id, code = await request_code(office, tenant.guest, member.email)
        refused = await send_code(tenant.guest, code_id, code)
        assert (refused.status_code, refused.json()["message"]) == (400, "Invalid or expired OTP.")
        token = token_in(await last_mail(office, member.email))
        press = {"data": {"token": token}, "headers": {"sec-fetch-site": "same-origin"}}
        assert (await tenant.guest.post("/member/link", **press)).status_code == 303

    async def test_a_code_expires(self, office: Office, tenant: TenantWorld) -> None:
        member = await tenant.member()
        code_id, code = await request_code(office, tenant.guest, member.email)
        office.world.clock.advance(minutes=15, seconds=1)
        assert (await send_code(tenant.guest, code_id, code)).status_code == 400

    async def test_a_new_password_ends_older_codes(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        for at, kind in ((MEMBERS, blog_members), (STAFF, superusers)):
            account = await (tenant.member if kind is blog_members else tenant.owner)()
            code_id, code = await request_code(office, tenant.guest, account.email, at)
            await set_password(account, kind)
            assert (await send_code(tenant.guest, code_id, code, at)).status_code == 400

    @pytest.mark.both_databases
    async def test_a_code_counts_at_its_site_and_collection_only(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        other = await office.world.new_tenant("other")
        email = "both@example.com"
        await tenant.member(email=email)
        await other.member(email=email)
        owner = await tenant.owner(email=email)
        code_id, code = await request_code(office, tenant.guest, email)
        assert (await send_code(other.guest, code_id, code)).status_code == 400
        assert (await send_code(tenant.guest, code_id, code, STAFF)).status_code == 400
        staff_id, staff_code = await request_code(office, tenant.guest, owner.email, STAFF)
        assert (await send_code(other.guest, staff_id, staff_code, STAFF)).status_code == 400
        assert (await send_code(tenant.guest, code_id, code)).status_code == 200

    @pytest.mark.both_databases
    async def test_a_code_of_another_site_is_not_found_by_its_staff_id(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        other = await office.world.new_tenant("other")
        owner = await tenant.owner()
        code_id, code = await request_code(office, tenant.guest, owner.email, STAFF)
        refused = await send_code(other.guest, code_id, code, STAFF)
        assert refused.status_code == 400

    async def test_the_last_page_takes_the_code_of_the_last_email(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        member = await tenant.member()
        asked = [
            await tenant.guest.post(f"{MEMBERS}/request-otp", json={"email": member.email})
            for _ in range(4)
        ]
        mails = [each for each in await office.mails() if member.email in each["to"]]
        assert len(mails) == 2
        answer = await send_code(tenant.guest, asked[-1].json()["otpId"], code_in(mails[-1]))
        assert answer.status_code == 200

    async def test_no_code_is_stored(self, office: Office, tenant: TenantWorld) -> None:
        member = await tenant.member()
        codes: SignInCodes = office.world.parts.codes
        code_id, code = await request_code(office, tenant.guest, member.email)
        ((known, _),) = await codes._live(blog_members, tenant.id, code_id)
        assert code not in known
        assert len(known) == 64


async def set_password(account: Account, kind: Collection) -> None:
    sent = {"oldPassword": PASSWORD, "password": NEW_PASSWORD, "passwordConfirm": NEW_PASSWORD}
    answer = await account.api.patch(records_of(kind.name, account.id), json=sent)
    assert answer.status_code == 200, answer.text


class TestVerification:
    async def test_by_the_token_of_the_email(self, office: Office, tenant: TenantWorld) -> None:
        member = await tenant.member()
        asked = await tenant.guest.post(
            f"{MEMBERS}/request-verification", json={"email": member.email}
        )
        assert asked.status_code == 204
        token = token_in(await last_mail(office, member.email))
        other = await office.world.new_tenant("other")
        confirm = f"{MEMBERS}/confirm-verification"
        refused = await other.guest.post(confirm, json={"token": token})
        assert refused.json()["data"]["token"]["code"] == "validation_invalid_token"
        assert (await tenant.guest.post(confirm, json={"token": token})).status_code == 204
        own = await member.api.get(records_of("blog_members", member.id))
        assert own.json()["verified"] is True
        assert (await tenant.guest.post(confirm, json={"token": token})).status_code == 400

    async def test_only_an_unverified_member_gets_an_email(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        verified = await tenant.member(verified=True)
        for email in (verified.email, "nobody@example.com"):
            asked = await tenant.guest.post(
                f"{MEMBERS}/request-verification", json={"email": email}
            )
            assert asked.status_code == 204
        assert await office.mails() == []

    async def test_a_link_to_sign_in_is_no_verification(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        member = await tenant.member()
        await request_code(office, tenant.guest, member.email)
        token = token_in(await last_mail(office, member.email))
        answer = await tenant.guest.post(f"{MEMBERS}/confirm-verification", json={"token": token})
        assert answer.status_code == 400


class TestNewAddresses:
    async def test_by_token_and_password(self, office: Office, tenant: TenantWorld) -> None:
        member = await tenant.member()
        asked = await member.api.post(
            f"{MEMBERS}/request-email-change", json={"newEmail": "new@example.com"}
        )
        assert asked.status_code == 204
        token = token_in(await last_mail(office, "new@example.com"))
        confirm = f"{MEMBERS}/confirm-email-change"
        wrong_one = await tenant.guest.post(confirm, json={"token": token, "password": "wrong"})
        assert wrong_one.json()["data"]["password"]["code"] == "validation_invalid_password"
        sent = {"token": token, "password": PASSWORD}
        assert (await tenant.guest.post(confirm, json=sent)).status_code == 204
        assert (await member.api.post(f"{MEMBERS}/auth-refresh")).status_code == 401
        assert (await sign_in(tenant.guest, "new@example.com")).status_code == 200
        again = await tenant.guest.post(confirm, json=sent)
        assert set(again.json()["data"]) == {"token", "password"}

    async def test_a_taken_address_is_not_told(self, office: Office, tenant: TenantWorld) -> None:
        member, other = await tenant.member(), await tenant.member()
        path = f"{MEMBERS}/request-email-change"
        taken = await member.api.post(path, json={"newEmail": other.email})
        free = await member.api.post(path, json={"newEmail": "free@example.com"})
        assert (taken.status_code, taken.content) == (free.status_code, free.content) == (204, b"")


class TestImpersonation:
    async def test_an_owner_acts_as_a_member(self, office: Office, tenant: TenantWorld) -> None:
        owner, member = await tenant.owner(), await tenant.member()
        path = f"{MEMBERS}/impersonate/{member.id}"
        answer = await owner.api.post(path, json={"duration": 100})
        assert answer.status_code == 200
        assert "set-cookie" not in answer.headers
        token = answer.json()["token"]
        assert claims(token)["refreshable"] is False
        now = office.world.clock().timestamp()
        assert claims(token)["exp"] == int(now) + 100
        as_member = tenant.world.client(tenant.host, token=token)
        assert (await as_member.get(records_of("blog_members", member.id))).status_code == 200
        refreshed = await as_member.post(f"{MEMBERS}/auth-refresh")
        assert refreshed.json()["token"] == token
        assert "set-cookie" not in refreshed.headers
        office.world.clock.advance(seconds=101)
        assert (await as_member.post(f"{MEMBERS}/auth-refresh")).status_code == 401

    async def test_it_is_in_the_log_and_can_be_ended(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        owner, member = await tenant.owner(), await tenant.member()
        answer = await owner.api.post(f"{MEMBERS}/impersonate/{member.id}")
        log = records_of("audit_log")
        entries = (await owner.api.get(log, params={"filter": "action = 'impersonated'"})).json()
        (entry,) = entries["items"]
        assert (entry["account_id"], entry["record_id"]) == (owner.id, member.id)
        assert (entry["subject"], entry["label"]) == ("blog_members", "")
        accounts = office.world.parts.accounts
        record = await accounts.find(blog_members, tenant.id, member.email)
        assert record is not None
        listed = await accounts.sign_ins.of(blog_members, record)
        assert "Owner acting as this account" in {each.user_agent for each in listed}
        await accounts.sign_ins.end_all(blog_members, record)
        ended = tenant.world.client(tenant.host, token=answer.json()["token"])
        assert (await ended.post(f"{MEMBERS}/auth-refresh")).status_code == 401

    async def test_an_operator_acts_as_anyone(self, office: Office, tenant: TenantWorld) -> None:
        operator = await office.world.operator()
        for at, account in ((MEMBERS, await tenant.member()), (STAFF, await tenant.owner())):
            answer = await operator.api.post(f"{at}/impersonate/{account.id}")
            assert answer.json()["record"]["id"] == account.id
            # As long as a sign-in, however long was asked for.
            path = f"{at}/impersonate/{account.id}"
            longest = await operator.api.post(path, json={"duration": 10**9})
            assert claims(longest.json()["token"])["exp"] == claims(answer.json()["token"])["exp"]

    async def test_who_may_not(self, office: Office, tenant: TenantWorld) -> None:
        other = await office.world.new_tenant("other")
        owner, member = await tenant.owner(), await tenant.member()
        stranger, editor = await other.owner(), await tenant.owner(role="editor")
        path = f"{MEMBERS}/impersonate/{member.id}"
        expected = {member: 403, editor: 403, stranger: 404}
        for account, status in expected.items():
            assert (await account.api.post(path)).status_code == status
        assert (await tenant.guest.post(path)).status_code == 401
        assert (await owner.api.post(f"{STAFF}/impersonate/{editor.id}")).status_code == 403


class TestGuestsWhoJoin:
    SENT = {  # noqa: RUF012
        "email": "new@example.com",
        "name": "Ada",
        "password": NEW_PASSWORD,
        "passwordConfirm": NEW_PASSWORD,
    }

    async def test_the_member_comes_with_the_confirmation(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        answer = await tenant.guest.post(records_of("blog_members"), json=self.SENT)
        assert answer.status_code == 200
        made = answer.json()
        assert (made["email"], made["name"], made["verified"]) == ("new@example.com", "Ada", False)
        assert not {"password", "password_hash", "token_key", "note"} & set(made)
        assert (await sign_in(tenant.guest, "new@example.com", NEW_PASSWORD)).status_code == 400
        assert await tenant.event_names() == []
        token = token_in(await last_mail(office, "new@example.com"))
        confirmed = await tenant.guest.post(
            f"{MEMBERS}/confirm-verification", json={"token": token}
        )
        assert confirmed.status_code == 204
        signed_in = await sign_in(tenant.guest, "new@example.com", NEW_PASSWORD)
        assert signed_in.status_code == 200
        record = signed_in.json()["record"]
        assert (record["id"], record["name"], record["verified"]) == (made["id"], "Ada", True)
        assert set(record) == set(made)

    async def test_the_address_is_no_password(self, tenant: TenantWorld) -> None:
        address = self.SENT["email"]
        sent = {**self.SENT, "password": address, "passwordConfirm": address}
        answer = await tenant.guest.post(records_of("blog_members"), json=sent)
        assert answer.status_code == 400
        assert answer.json()["data"]["password"]["code"] == "validation_common_password"

    async def test_the_email_tells_of_a_password_that_may_be_somebody_elses(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        warning = "Confirm only if you have chosen it yourself."
        await tenant.guest.post(records_of("blog_members"), json=self.SENT)
        mail = await last_mail(office, "new@example.com")
        for kind in ("plain", "html"):
            part = mail.get_body((kind,))
            assert part is not None
            assert warning in part.get_content()
        form = {"email": "form@example.com"}
        await tenant.guest.post("/member/sign-up", data=form, headers=SAME_ORIGIN)
        plain = (await last_mail(office, "form@example.com")).get_body(("plain",))
        assert plain is not None
        assert warning not in plain.get_content()

    async def test_a_known_address_gets_the_same_answer(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        member = await tenant.member()
        path = records_of("blog_members")
        known = await tenant.guest.post(path, json={**self.SENT, "email": member.email})
        unknown = await tenant.guest.post(path, json=self.SENT)
        assert known.status_code == unknown.status_code == 200
        assert known.json()["id"] != member.id
        differ = {name for name in known.json() if known.json()[name] != unknown.json()[name]}
        assert differ == {"id", "email"}
        assert "already" in (await last_mail(office, member.email))["subject"]
        token = token_in(await last_mail(office, member.email))
        press = {"data": {"token": token}, "headers": {"sec-fetch-site": "same-origin"}}
        assert (await tenant.guest.post("/member/link", **press)).status_code == 303
        # A stranger's password changes nothing.
        assert (await sign_in(tenant.guest, member.email, NEW_PASSWORD)).status_code == 400
        assert (await sign_in(tenant.guest, member.email)).status_code == 200

    async def test_nobody_makes_themselves_a_paid_member(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        sent = {**self.SENT, "tier": "paid", "verified": True, "labels": ["x"], "id": "a" * 15}
        answer = await tenant.guest.post(records_of("blog_members"), json=sent)
        assert (answer.json()["tier"], answer.json()["verified"]) == ("free", False)
        token = token_in(await last_mail(office, "new@example.com"))
        await tenant.guest.post(f"{MEMBERS}/confirm-verification", json={"token": token})
        record = await office.world.parts.accounts.find(blog_members, tenant.id, "new@example.com")
        assert record is not None
        assert (record["tier"], record["labels"], record["id"]) == (
            "free",
            [],
            answer.json()["id"],
        )

    async def test_where_the_site_takes_no_members(
        self, office: Office, tenant: TenantWorld
    ) -> None:
        for closed in ({"members_enabled": False}, {"read_only_mode": True}):
            other = await office.world.new_tenant("other")
            await other.settings(**{"members_enabled": True, **closed})
            answer = await other.guest.post(records_of("blog_members"), json=self.SENT)
            assert answer.status_code == 403
        assert await office.mails() == []

    async def test_what_is_wrong_is_named_at_once(self, tenant: TenantWorld) -> None:
        sent = {"email": "x", "password": "short", "name": "n" * 300, "passwordConfirm": "short"}
        answer = await tenant.guest.post(records_of("blog_members"), json=sent)
        assert answer.status_code == 400
        assert set(answer.json()["data"]) == {"email", "password", "name"}


def claims(token: str) -> dict[str, Any]:
    payload = token.split(".")[1]
    decoded: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=="))
    return decoded
