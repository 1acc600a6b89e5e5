"""A client reads every list as docs/api.md says: it follows one `rel` until an answer has none."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import pytest
from tests.v1.keys import key_client
from tests.world import TenantWorld

from masthead.base.caller import system
from masthead.service.app import V1_TABLE
from masthead.web.openapi.answers import HEADERS
from masthead.web.v1.parameters import CURSOR
from masthead.web.v1.routes import PREFIX, Route, Shape

DOCS = Path(__file__).parents[2] / "docs" / "api.md"
COUNT = 33
LISTS = [route for route in V1_TABLE if route.shape is Shape.PAGE]
every_list = pytest.mark.parametrize("route", LISTS, ids=lambda route: route.path)


def documented_rel() -> str:
    [rel] = re.findall(r'To read a whole list,\s+follow\s+`rel="([a-z-]+)"`', DOCS.read_text())
    return str(rel)


def test_the_description_says_the_same_as_the_docs() -> None:
    assert f"follow `{documented_rel()}` until an answer has none" in HEADERS["Link"][0]
    assert f'`rel="{documented_rel()}"`' in CURSOR.help


@every_list
async def test_the_documented_rel_leads_through_the_whole_list(
    tenant: TenantWorld, route: Route
) -> None:
    api = await key_client(tenant)
    made = [await CREATE[route.path](tenant, api, number) for number in range(COUNT)]
    path = route.path.format(id=made[0])
    address, seen, rels = f"{PREFIX}{path}?per_page=10", [], []
    while address:
        answer = await api.get(address)
        assert answer.status_code == 200, answer.text
        seen += [item["id"] for item in answer.json()["items"]]
        rels.append(set(answer.links))
        address = answer.links.get(documented_rel(), {}).get("url", "")
    assert len(seen) == len(set(seen)) == answer.json()["total"] == COUNT
    ways_on = {"first", "last", "next", "next-cursor"}
    assert rels == [*[ways_on] * 3, {"first", "last"}]


async def test_next_after_a_cursor_is_the_next_cursor(tenant: TenantWorld) -> None:
    api = await key_client(tenant, "posts:read")
    for _ in range(3):
        await tenant.post()
    first = await api.get(f"{PREFIX}/posts", params={"per_page": 1, "status": "draft"})
    second = await api.get(first.links["next-cursor"]["url"])
    assert second.links["next"]["url"] == second.links["next-cursor"]["url"]
    assert httpx.URL(second.links["first"]["url"]).params == httpx.QueryParams(
        {"page": "1", "per_page": "1", "status": "draft"}
    )


async def create_post(tenant: TenantWorld, api: httpx.AsyncClient, number: int) -> None:
    await tenant.post()


async def create_page(tenant: TenantWorld, api: httpx.AsyncClient, number: int) -> None:
    await tenant.create("pages", {"title": f"Page {number}"})


async def upload(tenant: TenantWorld, api: httpx.AsyncClient, number: int) -> None:
    answer = await api.post(f"{PREFIX}/media", files={"file": ("a.txt", b"%d" % number)})
    assert answer.status_code == 201, answer.text


async def comment(tenant: TenantWorld, api: httpx.AsyncClient, number: int) -> None:
    post = await tenant.published()
    await tenant.create(
        "comments", {"post_id": post["id"], "author_name": "Ann", "body": "Well said."}
    )


async def join(tenant: TenantWorld, api: httpx.AsyncClient, number: int) -> None:
    await tenant.create("blog_members", {"email": f"ann{number}@example.com"})


async def sell(tenant: TenantWorld, api: httpx.AsyncClient, number: int) -> None:
    await tenant.create("tiers", {"name": f"Tier {number}", "price": 500, "currency": "eur"})


async def tag(tenant: TenantWorld, api: httpx.AsyncClient, number: int) -> None:
    await tenant.create("tags", {"name": f"Tag {number}"})


async def offer(tenant: TenantWorld, api: httpx.AsyncClient, number: int) -> None:
    tier = await tenant.create("tiers", {"name": "Tier", "price": 500, "currency": "eur"})
    await tenant.create("offers", {"code": f"offer-{number}", "tier": tier["id"], "value": 50})


async def redirect(tenant: TenantWorld, api: httpx.AsyncClient, number: int) -> None:
    await tenant.create("redirects", {"source": f"/{number}", "destination": "/"})


async def send(tenant: TenantWorld, api: httpx.AsyncClient, number: int) -> None:
    if not number:
        await tenant.create("blog_members", {"email": "ann@example.com", "newsletter": True})
    post = await tenant.published()
    answer = await api.post(
        f"{PREFIX}/mailings", json={"post_id": post["id"], "scheduled_for": "2027-01-01T00:00:00Z"}
    )
    assert answer.status_code == 202, answer.text


async def delete_post(tenant: TenantWorld, api: httpx.AsyncClient, number: int) -> None:
    records, post = tenant.world.parts.records, await tenant.post()
    await records.delete(system(tenant.id), records.registry["posts"], post["id"])


async def deliver(tenant: TenantWorld, api: httpx.AsyncClient, number: int) -> str:
    hooks = f"{PREFIX}/webhooks"
    body = {"name": "Hook", "url": "https://93.184.216.34/in", "events": ["post.created"]}
    known = (await api.get(hooks)).json()["items"]
    hook = known[0] if known else (await api.post(hooks, json=body)).json()
    await tenant.post()
    return str(hook["id"])


CREATE: dict[str, Callable[[TenantWorld, httpx.AsyncClient, int], Awaitable[str | None]]] = {
    "/posts": create_post,
    "/pages": create_page,
    "/media": upload,
    "/comments": comment,
    "/members": join,
    "/tags": tag,
    "/tiers": sell,
    "/offers": offer,
    "/redirects": redirect,
    "/mailings": send,
    "/trash": delete_post,
    "/webhooks/{id}/deliveries": deliver,
}
