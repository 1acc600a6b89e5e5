"""The second step of a sign-in through PocketBase's endpoints: the code of an authenticator app, or
a recovery code, with the `mfaId` of the first step."""

from __future__ import annotations

import asyncio
import string
from dataclasses import dataclass

import httpx
import pytest
from tests.faces.admin.visitor import staff
from tests.features.factors.apps import App, add_app
from tests.world import PASSWORD, Account, TenantWorld, records_of

from masthead.identity.limits.sign_in_throttle import CODES_PER_ACCOUNT, CODES_PER_PAIR

STAFF = "/api/collections/_superusers"
EXPIRED = "Invalid or expired MFA session."
WRONG = "Invalid or expired OTP."


@dataclass
class Guarded:
    tenant: TenantWorld
    account: Account
    app: App

    async def first_step(self, host: str = "") -> str:
        api = self.tenant.world.client(host or self.tenant.host)
        body = {"identity": self.account.email, "password": PASSWORD}
        answer = await api.post(f"{STAFF}/auth-with-password", json=body)
        assert answer.status_code == 401
        mfa_id: str = answer.json()["mfaId"]
        return mfa_id

    async def second_step(
        self,
        mfa_id: object,
        code: str,
        *,
        host: str = "",
        in_query: bool = False,
        address: str = "",
    ) -> httpx.Response:
        api = self.tenant.world.client(host or self.tenant.host, address=address)
        body = {"otpId": "totp", "password": code}
        # The JavaScript client sends what it does not know as a query, others send it in the body.
        if in_query:
            return await api.post(
                f"{STAFF}/auth-with-otp", json=body, params={"mfaId": str(mfa_id)}
            )
        return await api.post(f"{STAFF}/auth-with-otp", json={**body, "mfaId": mfa_id})


@pytest.fixture
async def guarded(tenant: TenantWorld) -> Guarded:
    browser, account = await staff(tenant, "owner")
    return Guarded(tenant, account, await add_app(browser, tenant.world))


def refusal(answer: httpx.Response) -> tuple[int, str]:
    assert "set-cookie" not in answer.headers
    return answer.status_code, answer.json()["message"]


@pytest.mark.parametrize("in_query", [False, True])
async def test_the_code_of_the_app_signs_in(guarded: Guarded, in_query: bool) -> None:
    mfa_id = await guarded.first_step()
    answer = await guarded.second_step(mfa_id, guarded.app.code(), in_query=in_query)
    assert answer.status_code == 200
    assert answer.json()["record"]["id"] == guarded.account.id
    token = answer.json()["token"]
    signed_in = guarded.tenant.world.client(guarded.tenant.host, token=token)
    assert (await signed_in.get(records_of("blog_members"))).status_code == 200


async def test_a_recovery_code_counts_once(guarded: Guarded) -> None:
    code = guarded.app.recovery_codes[0]
    assert (await guarded.second_step(await guarded.first_step(), code)).status_code == 200
    assert refusal(await guarded.second_step(await guarded.first_step(), code)) == (400, WRONG)


async def test_an_mfa_id_counts_once(guarded: Guarded) -> None:
    mfa_id = await guarded.first_step()
    # A wrong code leaves it, as in PocketBase.
    assert refusal(await guarded.second_step(mfa_id, "000000")) == (400, WRONG)
    assert (await guarded.second_step(mfa_id, guarded.app.code())).status_code == 200
    assert refusal(await guarded.second_step(mfa_id, guarded.app.code())) == (400, EXPIRED)


async def test_an_mfa_id_counts_once_however_it_is_written(guarded: Guarded) -> None:
    mfa_id = await guarded.first_step()
    first, second, third = guarded.app.recovery_codes[:3]
    assert (await guarded.second_step(mfa_id, first)).status_code == 200
    # Decoders ignore the last bits of a signature, and characters that are none of base64.
    letters = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
    same = mfa_id[:-1] + letters[letters.index(mfa_id[-1]) ^ 1]
    for written, code in ((same, second), (f"{mfa_id}=", third)):
        assert refusal(await guarded.second_step(written, code)) == (400, EXPIRED)


async def test_of_two_at_once_one_signs_in(guarded: Guarded) -> None:
    mfa_id = await guarded.first_step()
    codes = guarded.app.recovery_codes[:2]
    answers = await asyncio.gather(*(guarded.second_step(mfa_id, each) for each in codes))
    assert sorted(each.status_code for each in answers) == [200, 400]


async def test_it_lasts_five_minutes(guarded: Guarded) -> None:
    mfa_id = await guarded.first_step()
    guarded.tenant.world.clock.advance(minutes=5, seconds=1)
    assert refusal(await guarded.second_step(mfa_id, guarded.app.code())) == (400, EXPIRED)


async def test_it_belongs_to_one_account_of_one_site(
    guarded: Guarded, other_tenant: TenantWorld
) -> None:
    mfa_id = await guarded.first_step()
    browser, account = await staff(other_tenant, "owner")
    other = Guarded(other_tenant, account, await add_app(browser, other_tenant.world))
    assert refusal(await other.second_step(mfa_id, other.app.code())) == (400, EXPIRED)
    at_other = await guarded.second_step(mfa_id, guarded.app.code(), host=other_tenant.host)
    assert refusal(at_other) == (400, EXPIRED)
    foreign = await other.second_step(mfa_id, other.app.code(), host=guarded.tenant.host)
    assert refusal(foreign) == (400, WRONG)


@pytest.mark.parametrize("mfa_id", ["x", "a.b.c", "é", "x" * 5000, 17, None, ["x"], {}, True])
async def test_what_is_no_mfa_id(guarded: Guarded, mfa_id: object) -> None:
    answer = await guarded.second_step(mfa_id, guarded.app.code())
    assert answer.status_code == 400
    assert "set-cookie" not in answer.headers


async def test_a_session_and_a_token_for_files_are_none(guarded: Guarded) -> None:
    files = (await guarded.account.api.post("/api/files/token")).json()["token"]
    for token in (guarded.account.token, files):
        answer = await guarded.second_step(token, guarded.app.code())
        assert refusal(answer) == (400, EXPIRED)


async def test_an_mfa_id_opens_nothing_by_itself(guarded: Guarded) -> None:
    mfa_id = await guarded.first_step()
    api = guarded.tenant.world.client(guarded.tenant.host, token=mfa_id)
    assert (await api.post("/api/files/token")).status_code == 401
    assert (await api.post(f"{STAFF}/auth-refresh")).status_code == 401


@pytest.mark.parametrize(
    ("address", "guesses"), [("203.0.113.7", CODES_PER_PAIR), ("", CODES_PER_ACCOUNT)]
)
async def test_guesses_are_limited(guarded: Guarded, address: str, guesses: int) -> None:
    """From one address, and from many."""
    mfa_id = await guarded.first_step()
    for number in range(guesses):
        answer = await guarded.second_step(mfa_id, f"{number:06}", address=address)
        assert refusal(answer) == (400, WRONG)
    for code in ("999999", guarded.app.shown()):
        answer = await guarded.second_step(mfa_id, code, address=address)
        assert answer.status_code == 429


async def test_a_new_password_ends_it(guarded: Guarded) -> None:
    mfa_id = await guarded.first_step()
    world = guarded.tenant.world
    superusers = world.collection("_superusers")
    found = await world.parts.records.find(
        superusers, {"id": guarded.account.id}, tenant_id=guarded.tenant.id
    )
    await world.parts.accounts.sign_ins.end_all(superusers, found[0])
    assert refusal(await guarded.second_step(mfa_id, guarded.app.code())) == (400, EXPIRED)


async def test_members_have_none(tenant: TenantWorld, member: Account) -> None:
    body = {"otpId": "totp", "password": "123456", "mfaId": "x"}
    answer = await tenant.guest.post("/api/collections/blog_members/auth-with-otp", json=body)
    assert refusal(answer) == (400, WRONG)
