"""A code that is valid once is valid once in all processes, however closely two requests follow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from tests.faces.admin.visitor import Visitor, staff
from tests.features.factors.apps import add_app, type_code, type_password
from tests.features.factors.processes import second_process
from tests.world import PASSWORD, TenantWorld, World

from masthead.base import ids

pytestmark = pytest.mark.both_databases
STAFF = "/api/collections/_superusers"


@pytest.fixture
async def processes(app: World) -> AsyncIterator[tuple[World, World]]:
    async with second_process(app) as other:
        yield app, other


async def test_a_code_of_an_app_and_a_recovery_code(
    tenant: TenantWorld, processes: tuple[World, World]
) -> None:
    browser, account = await staff(tenant, "owner")
    app = await add_app(browser, tenant.world)
    for code in (app.code(), app.recovery_codes[0]):
        visitors = [Visitor(each.client(tenant.host)) for each in processes]
        for each in visitors:
            await type_password(each, account.email)
        answers = await asyncio.gather(*(type_code(each, code) for each in visitors))
        assert sorted(each.status_code for each in answers) == [303, 422]


async def test_the_ticket_of_a_program(tenant: TenantWorld, processes: tuple[World, World]) -> None:
    browser, account = await staff(tenant, "owner")
    app = await add_app(browser, tenant.world)
    given = {"identity": account.email, "password": PASSWORD}
    answer = await tenant.guest.post(f"{STAFF}/auth-with-password", json=given)
    ticket = answer.json()["mfaId"]

    async def finish(process: World, code: str) -> httpx.Response:
        api = process.client(tenant.host)
        body = {"otpId": "totp", "password": code, "mfaId": ticket}
        return await api.post(f"{STAFF}/auth-with-otp", json=body)

    codes = app.recovery_codes[:2]
    answers = await asyncio.gather(*map(finish, processes, codes))
    assert sorted(each.status_code for each in answers) == [200, 400]


async def test_the_challenge_of_a_passkey_and_a_sign_in_with_a_provider(
    processes: tuple[World, World],
) -> None:
    """Both are taken in the same way."""
    throttles = [each.parts.throttle for each in processes] * 4
    what = f"challenge {ids.new_id()}"
    taken = await asyncio.gather(
        *(each.take_once(what, timedelta(minutes=10)) for each in throttles)
    )
    assert sorted(taken) == [False] * 7 + [True]
