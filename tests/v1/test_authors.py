"""`authors` of posts in the public API."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.v1.keys import key_client
from tests.world import TenantWorld

POSTS = "/api/v1/posts"


@pytest.fixture
async def api(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant, "posts:read", "posts:write")


async def test_ids_and_addresses_are_taken_and_ids_are_shown(
    tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    ada = await tenant.owner(email="ada@example.com")
    bo = await tenant.owner(email="bo@example.com", role="author")
    answer = await api.post(POSTS, json={"title": "x", "authors": ["BO@example.com", ada.id]})
    assert answer.status_code == 201, answer.text
    post = answer.json()["data"]
    assert post["authors"] == [bo.id, ada.id]
    path = f"{POSTS}/{post['id']}"
    assert (await api.get(path)).json()["authors"] == [bo.id, ada.id]
    assert (await api.get(POSTS)).json()["items"][0]["authors"] == [bo.id, ada.id]
    same = await api.patch(path, json={"authors": [ada.id, "ada@example.com"]})
    assert same.json()["data"]["authors"] == [ada.id]
    cleared = await api.put(path, json={"authors": []})
    assert "authors" not in cleared.json()["data"]
    assert "authors" not in (await api.get(path)).json()
    assert "authors" not in (await api.get(POSTS)).json()["items"][0]


@pytest.mark.parametrize(
    "authors",
    [
        ["abcdefghij12345"],
        ["nobody@example.com"],
        ["x"],
        [""],
        [5],
        "x",
        None,
    ],
)
async def test_anyone_else_is_refused(api: httpx.AsyncClient, authors: Any) -> None:
    answer = await api.post(POSTS, json={"title": "x", "authors": authors})
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["details"].keys() == {"authors"}


async def test_the_staff_of_another_site_is_no_ones_author(
    tenant: TenantWorld, other_tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    theirs = await other_tenant.owner(email="eve@example.com")
    for author in (theirs.id, "eve@example.com"):
        answer = await api.post(POSTS, json={"title": "x", "authors": [author]})
        assert answer.status_code == 422
