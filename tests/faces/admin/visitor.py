"""A browser at the admin, without the browser: cookies, forms with their token, and the headers
that a browser sends of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from typing import Any

import httpx
from tests.world import Account, TenantWorld, World

OWN = {"sec-fetch-site": "same-origin"}
BARE = "127.0.0.1"
"""The host of the service itself, of no site."""
_TOKEN = re.compile(r'name="form_token" value="([^"]*)"')


@dataclass
class Visitor:
    api: httpx.AsyncClient

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.api.get(path, headers=headers)

    async def token(self) -> str:
        return token_in((await self.get("/admin/more")).text)

    async def post(self, path: str, form: dict[str, Any] | None = None) -> httpx.Response:
        """A form of a page that is open, with its token."""
        filled = {"form_token": await self.token(), **(form or {})}
        return await self.api.post(path, data=filled, headers=OWN)

    async def follow(self, answer: httpx.Response) -> str:
        """The page that a form leads to."""
        assert answer.status_code == 303, (answer.status_code, answer.text)
        return (await self.get(answer.headers["location"])).text


def token_in(page: str) -> str:
    found = _TOKEN.search(page)
    assert found, page[:500]
    return found[1]


def hidden_in(page: str) -> dict[str, str]:
    """The hidden fields of a page, as a browser sends them again."""
    pairs = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', page)
    return {unescape(name): unescape(value) for name, value in pairs}


def visitor(world: World, account: Account, host: str) -> Visitor:
    """Signed in by cookie, as a browser is."""
    client = world.client(host)
    client.cookies.set("pb_auth", account.token, domain=host)
    return Visitor(client)


async def staff(tenant: TenantWorld, role: str, **values: Any) -> tuple[Visitor, Account]:
    account = await tenant.owner(role=role, **values)
    return visitor(tenant.world, account, tenant.host), account
