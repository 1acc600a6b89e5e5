"""Tags in the public API: what a post names becomes one, and a change of one reaches its posts."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.features.posts.test_tags import run_jobs, stored
from tests.v1.keys import key_client
from tests.world import TenantWorld, World

from masthead.base.caller import system
from masthead.features.posts.tag_records import tags

TAGS = "/api/v1/tags"


@pytest.fixture
async def api(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant, "tags:read", "tags:write", "posts:write")


async def listed(api: httpx.AsyncClient) -> dict[str, int]:
    items = (await api.get(TAGS)).json()["items"]
    return {each["name"]: each["posts"] for each in items}


async def named(api: httpx.AsyncClient, name: str) -> dict[str, Any]:
    [found] = (await api.get(TAGS, params={"name": name})).json()["items"]
    return dict(found)


async def test_from_creation_to_deletion(
    app: World, tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    answer = await api.post(TAGS, json={"name": " Sea &  fog ", "description": "Both."})
    assert answer.status_code == 201, answer.text
    tag = answer.json()["data"]
    assert tag.keys() == {"id", "name", "slug", "description", "posts", "created"}
    assert (tag["name"], tag["slug"], tag["posts"]) == ("Sea & fog", "sea-fog", 0)
    assert (await api.get(TAGS)).json()["items"] == [tag]
    path = f"{TAGS}/{tag['id']}"
    changed = (await api.patch(path, json={"description": None})).json()["data"]
    assert changed == tag | {"description": None}
    assert (await api.delete(path)).status_code == 204
    assert (await api.delete(path)).status_code == 404
    await run_jobs(app)
    assert await listed(api) == {}


async def test_what_a_post_names_is_a_tag_and_stays_one(
    tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    answer = await api.post("/api/v1/posts", json={"title": "One", "tags": ["sea", "fog"]})
    post = answer.json()["data"]
    await tenant.published(title="Two", tags=["fog"])
    assert await listed(api) == {"sea": 1, "fog": 2}
    await api.patch(f"/api/v1/posts/{post['id']}", json={"tags": ["fog", "mist"]})
    assert await listed(api) == {"sea": 0, "fog": 2, "mist": 1}
    await api.delete(f"/api/v1/posts/{post['id']}")
    assert await listed(api) == {"sea": 0, "fog": 1, "mist": 0}
    # With one write of the post, the tag is there or neither of them.
    refused = await api.post("/api/v1/posts", json={"title": "", "tags": ["never"]})
    assert refused.status_code == 422
    assert "never" not in await listed(api)


async def test_a_new_name_is_the_name_on_all_its_posts(
    app: World, tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    post = await tenant.published(title="One", tags=["harbor", "sea"])
    await api.patch(f"{TAGS}/{(await named(api, 'harbor'))['id']}", json={"description": "Boats"})
    tag = await named(api, "harbor")
    path = f"{TAGS}/{tag['id']}"
    answer = await api.patch(path, json={"name": "harbour"})
    assert answer.status_code == 200, answer.text
    meanwhile = tag | {"name": "harbour", "slug": "harbour", "renamed_from": "harbor"}
    assert answer.json()["data"] == meanwhile
    assert await named(api, "harbour") == meanwhile
    assert (await api.patch(path, json={"name": "port"})).status_code == 409
    assert (await api.delete(path)).status_code == 409
    await run_jobs(app)
    assert (await stored(tenant, post["id"]))["tags"] == ["harbour", "sea"]
    assert await named(api, "harbour") == tag | {"name": "harbour", "slug": "harbour"}
    assert await listed(api) == {"harbour": 1, "sea": 1}
    page = (await tenant.guest.get("/tags/harbour")).text
    assert "Boats" in page
    assert (await tenant.guest.get("/tags/harbor")).status_code == 301


async def test_a_deleted_tag_leaves_its_posts(
    app: World, tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    post = await tenant.published(title="One", tags=["a", "b"])
    assert (await api.delete(f"{TAGS}/{(await named(api, 'a'))['id']}")).status_code == 204
    assert (await api.post(TAGS, json={"name": "a"})).status_code == 409
    # It may get the tag while others lose it: it loses it, too.
    late = await tenant.post(title="Late", tags=["a"])
    await run_jobs(app)
    for each in (post, late):
        assert "a" not in (await stored(tenant, each["id"]))["tags"]
    assert await listed(api) == {"b": 1}


@pytest.mark.parametrize("name", ["Sea", "sea", "SEA"])
async def test_a_name_that_another_tag_has_is_taken_in_capitals_or_not(
    api: httpx.AsyncClient, name: str
) -> None:
    await api.post(TAGS, json={"name": "Sea"})
    other = (await api.post(TAGS, json={"name": "fog"})).json()["data"]
    for answer in (
        await api.post(TAGS, json={"name": name}),
        await api.patch(f"{TAGS}/{other['id']}", json={"name": name}),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "CONFLICT")
    assert await listed(api) == {"Sea": 0, "fog": 0}


async def test_a_tag_gets_its_own_name_in_other_capitals(
    app: World, tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    post = await tenant.post(title="One", tags=["sea"])
    tag = await named(api, "sea")
    assert (await api.patch(f"{TAGS}/{tag['id']}", json={"name": "Sea"})).status_code == 200
    await run_jobs(app)
    assert (await stored(tenant, post["id"]))["tags"] == ["Sea"]
    assert await listed(api) == {"Sea": 1}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": " "}, "name"),
        ({"name": "one, two"}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "a", "description": "x" * 501}, "description"),
    ],
)
async def test_what_is_refused_is_named(
    api: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    answer = await api.post(TAGS, json=body)
    assert answer.status_code == 422
    assert answer.json()["error"]["details"].keys() == {field}


async def test_a_stale_version_changes_nothing(
    app: World, tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    post = await tenant.post(title="One", tags=["a"])
    path = f"{TAGS}/{(await named(api, 'a'))['id']}"
    etag = (await api.patch(path, json={"description": "First"})).headers["etag"]
    await api.patch(path, json={"description": "Second"})
    stale = {"If-Match": etag}
    assert (await api.patch(path, json={"name": "b"}, headers=stale)).status_code == 412
    assert (await api.delete(path, headers=stale)).status_code == 412
    await run_jobs(app)
    assert (await stored(tenant, post["id"]))["tags"] == ["a"]


async def test_owners_change_no_name_and_delete_no_tag_past_its_posts(
    tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    await tenant.post(title="One", tags=["a"])
    owner = await tenant.owner()
    path = f"/api/collections/tags/records/{(await named(api, 'a'))['id']}"
    assert (await owner.api.patch(path, json={"name": "b"})).status_code == 400
    assert (await owner.api.delete(path)).status_code == 403
    answer = await owner.api.patch(path, json={"description": "A letter"})
    assert answer.json()["description"] == "A letter"
    assert (await tenant.guest.get("/api/collections/tags/records")).status_code == 401


async def test_an_erasure_leaves_no_address_in_a_name(
    app: World, tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    """Also where the posts have made the cleaned name a tag before."""
    member = await tenant.member(email="ada@example.com")
    post = await tenant.post(title="One", tags=["by ada@example.com"])
    key = await key_client(tenant, "members:write")
    answer = await key.delete(f"/api/v1/members/{member.id}")
    assert answer.status_code == 204, answer.text
    await run_jobs(app)
    assert (await stored(tenant, post["id"]))["tags"] == ["by [removed]"]
    records = tenant.world.parts.records
    [tag] = await records.find(tags, {}, tenant_id=tenant.id)
    assert (tag["name"], tag["slug"]) == ("by [removed]", "by-removed")
    assert await records.counts.total(system(tenant.id), tags, "") == 1
