"""`X-Ignored` names the body fields and query parameters that had no effect."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from tests.v1.keys import key_client
from tests.world import TenantWorld

from masthead.service.app import V1_TABLE
from masthead.web.v1.routes import PREFIX, Route

POSTS = "/api/v1/posts"
NO_SUCH_ID = "abcdefghij12345"


@pytest.fixture
async def api(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant)


def ignored(answer: httpx.Response) -> list[str]:
    return [unquote(each) for each in answer.headers.get("x-ignored", "").split(", ") if each]


@pytest.mark.parametrize("route", V1_TABLE, ids=lambda route: f"{route.method} {route.path}")
async def test_every_endpoint_names_an_unknown_parameter(
    tenant: TenantWorld, api: httpx.AsyncClient, route: Route
) -> None:
    path = PREFIX + route.path.replace("{id}", NO_SUCH_ID)
    needed = {each.name: "2026-11-01" for each in route.parameters if each.required}
    sent: dict[str, Any] = {"params": {"order": "-title"} | needed}
    names = ["order"]
    if route.is_upload:
        sent |= {"files": {"picture": ("a.txt", b"x")}, "data": {"titel": "x"}}
        names = ["titel", "picture", "order"]
    elif route.body is not None:
        sent["json"] = {"titel": "x"}
        names = ["order"] if route.body.rejects_unknown else ["titel", "order"]
    assert ignored(await api.request(route.method, path, **sent)) == names


async def test_a_list_names_it_each_time_with_the_same_tag(
    tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    await tenant.post()
    plain = await api.get(POSTS)
    assert "x-ignored" not in plain.headers
    for _ in range(2):
        answer = await api.get(POSTS, params={"order": "title", "status": "draft", "limit": "3"})
        assert ignored(answer) == ["order", "limit"]
        assert answer.headers["etag"] == plain.headers["etag"]
    unchanged = await api.get(f"{POSTS}?order=x", headers={"if-none-match": plain.headers["etag"]})
    assert (unchanged.status_code, ignored(unchanged)) == (304, ["order"])


async def test_a_change_names_fields_that_can_not_be_set(api: httpx.AsyncClient) -> None:
    created = await api.post(
        POSTS,
        json={"title": "x", "author": "a", "published_at": "2020-01-01T00:00:00Z"},
    )
    assert (created.status_code, ignored(created)) == (201, ["author", "published_at"])
    post = created.json()["data"]
    back = await api.put(f"{POSTS}/{post['id']}", json=post)
    assert back.status_code == 200
    assert ignored(back) == ["id", "url", "published_at", "created", "updated"]
    known = await api.post(POSTS, json={"title": "x", "content_markdown": "y"})
    assert ignored(known) == []


async def test_a_parameter_beside_which_another_has_no_effect_is_named(
    tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    for _ in range(2):
        await tenant.post()
    cursor = (await api.get(POSTS, params={"per_page": 1})).links["next-cursor"]["url"]
    assert ignored(await api.get(cursor)) == []
    assert ignored(await api.get(f"{cursor}&page=2")) == ["page"]
    events = "/api/v1/webhooks/events"
    first = (await api.get(events)).json()["items"][-1]["id"]
    answer = await api.get(events, params={"after": first, "since": "2026-01-01T00:00:00Z"})
    assert (len(answer.json()["items"]), ignored(answer)) == (1, ["since"])


async def test_the_header_is_short_and_holds_nothing_but_names(api: httpx.AsyncClient) -> None:
    body: dict[str, Any] = {"title": "x", "a,b": 1, "c\r\nset-cookie: d": 1, "é": 1, "": 1}
    assert ignored(await api.post(POSTS, json=body)) == ["a,b", "c\r\nset-cookie: d", "é"]
    assert ignored(await api.get(f"{POSTS}?=1&per_page=3&%0D%0Ax=2")) == ["\r\nx"]
    many = {f"{number}-{'x' * 5_000}": 1 for number in range(1_000)}
    answer = await api.post(POSTS, json={"title": "x", **many})
    assert len(ignored(answer)) == 20
    assert len(answer.headers["x-ignored"]) < 1_300
