"""Readers who sign in with a provider, while everything else is written."""

from __future__ import annotations

import asyncio

import httpx
from tests.faults.installation import Installation
from tests.faults.load import Load
from tests.faults.paths import Path
from tests.features.single_sign_on.provider import CLIENT, SECRET, Provider

from masthead.base.caller import system
from masthead.features.single_sign_on.collection import sign_in_providers

BEGIN = "/member/sign-in/with/news"
ANSWERED = (303, 400, 422)
"""422: the provider gave no usable answer. 400: it took so long that the sign-in is over."""


async def add_provider(site: Installation, issuer: str) -> None:
    given = {
        "name": "News ID",
        "slug": "news",
        "issuer": issuer,
        "client_id": CLIENT,
        "client_secret": SECRET,
        "creates_accounts": True,
        "used_by": "members",
    }
    await site.world.parts.records.create(system(site.tenant.id), sign_in_providers, given)


def signing_in(provider: Provider) -> Path:
    async def sign_in(_: httpx.AsyncClient, load: Load) -> None:
        await asyncio.sleep(0.1)
        email = f"{load.word()}@joins.example"
        async with load.site.browser() as browser:
            began = await load.call(browser, "GET", BEGIN, ANSWERED)
            if began.status_code != 303:
                return
            back = provider.authorize(began.headers["location"], sub=email, email=email)
            ended = await load.call(browser, "GET", back, ANSWERED)
        if ended.status_code == 303:
            load.ledger.joined.add(email)

    return sign_in
