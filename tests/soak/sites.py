"""Two hundred sites of one service, each with a ledger of its own."""

from __future__ import annotations

import asyncio
from dataclasses import fields
from datetime import datetime, timedelta

import httpx
from tests.faults.installation import Installation, another_site
from tests.faults.ledger import Ledger
from tests.faults.load import Load
from tests.faults.paths import upload, write_posts
from tests.tls import Behaviour, Exchange, answer, cut
from tests.world import PASSWORD

FAILING = 10
"""One of so many sites has a receiver that fails three of four times."""
SESSION = timedelta(minutes=30)
SIGN_IN = "/api/collections/_superusers/auth-with-password"
_AT_ONCE = 4


class Site(Load):
    """A site, what has been acknowledged of it, and its clients, which are opened when needed."""

    _api: httpx.AsyncClient | None = None
    _signed_in_at: datetime | None = None

    @property
    def api(self) -> httpx.AsyncClient:
        """With a key."""
        if self._api is None:
            self._api = self.site.client()
        return self._api

    async def signed_in(self) -> httpx.AsyncClient:
        """The browser of an owner, who signs in once an hour."""
        now = self.site.clock()
        if self._browser is None:
            self._browser = self.site.browser()
        if self._signed_in_at is None or now - self._signed_in_at > SESSION:
            body = {"identity": self.site.owner_email, "password": PASSWORD}
            answer = await self.call(self._browser, "POST", SIGN_IN, (200,), json=body)
            self.site.owner = answer.json()["token"]
            self._browser.cookies.set("pb_auth", self.site.owner)
            self._signed_in_at = now
        return self._browser

    async def close(self) -> None:
        for each in (self._api, self._browser):
            if each is not None:
                await each.aclose()


async def new_sites(first: Installation, number: int, seed: int) -> list[Site]:
    """All of them have a post and a picture. The service must be running."""
    hooks = [f"/hook/{each}" for each in range(number)]
    for hook in hooks[::FAILING]:
        first.receiver.at(hook, fails_often())
    sites = [
        Site(await another_site(first, hook=hook), seed + each) for each, hook in enumerate(hooks)
    ]
    turns = asyncio.Semaphore(_AT_ONCE)

    async def fill(site: Site) -> None:
        async with turns:
            await write_posts(site.api, site)
            await upload(site.api, site)

    await asyncio.gather(*map(fill, sites))
    return sites


def fails_often() -> Behaviour:
    """Answers 500, hangs up, answers 503, then does what it should, in turn."""
    turns = (answer(500), cut, answer(503), answer())
    number = 0

    async def behave(exchange: Exchange) -> None:
        nonlocal number
        number += 1
        await turns[number % len(turns)](exchange)

    return behave


def as_one(sites: list[Site]) -> Ledger:
    """Everything that was acknowledged of any site."""
    whole = Ledger()
    for each in fields(Ledger):
        for site in sites:
            part = getattr(site.ledger, each.name)
            sum_ = getattr(whole, each.name)
            joined = sum_ | part if type(part) in (dict, set) else sum_ + part
            setattr(whole, each.name, joined)
    return whole
