"""The collections themselves: read in PocketBase's shape, never changed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.faces.record_api.peer import running_peer
from tests.world import Account, TenantWorld

from masthead.engine.records.fields.base import Access
from masthead.service.schema import registry

COLLECTIONS = "/api/collections"


async def test_owners_and_operators_read_them(owner: Account, operator: Account) -> None:
    for api in (owner.api, operator.api):
        page = (await api.get(COLLECTIONS, params={"perPage": 500})).json()
        names = {each["name"] for each in page["items"]}
        assert {"posts", "blog_members", "_superusers", "media"} <= names
        assert page["totalItems"] == len(names) == len(registry.collections)


async def test_nobody_else_does(tenant: TenantWorld, member: Account) -> None:
    editor = await tenant.owner(role="editor")
    for path in (COLLECTIONS, f"{COLLECTIONS}/posts"):
        assert (await tenant.guest.get(path)).status_code == 401
        assert (await member.api.get(path)).status_code == 403
        assert (await editor.api.get(path)).status_code == 403


async def test_one_by_name_or_id(owner: Account) -> None:
    posts = (await owner.api.get(f"{COLLECTIONS}/posts")).json()
    assert (await owner.api.get(f"{COLLECTIONS}/{posts['id']}")).json() == posts
    fields = {each["name"]: each for each in posts["fields"]}
    assert fields["title"]["required"]
    assert fields["status"]["values"] == ["draft", "published"]
    assert fields["authors"]["type"] == "relation"
    assert fields["tags"]["type"] == "json"
    assert "version" not in fields
    only = await owner.api.get(f"{COLLECTIONS}/posts", params={"fields": "name,fields.name"})
    assert only.json()["fields"][0] == {"name": "id"}
    assert (await owner.api.get(f"{COLLECTIONS}/nope")).status_code == 404


async def test_no_secret_is_among_their_fields(owner: Account) -> None:
    for each in (await owner.api.get(COLLECTIONS, params={"perPage": 500})).json()["items"]:
        declared = registry[each["name"]].by_name
        shown = {field["name"] for field in each["fields"]} - {"password"}
        assert all(declared[name].read <= Access.ADMIN for name in shown), each["name"]


async def test_pages_and_order(owner: Account) -> None:
    wanted: dict[str, Any] = {"sort": "-name", "perPage": 2, "page": 2, "fields": "name"}
    page = (await owner.api.get(COLLECTIONS, params=wanted)).json()
    names = sorted((each.name for each in registry.collections), reverse=True)
    assert page["items"] == [{"name": name} for name in names[2:4]]
    assert page["totalPages"] == -(-len(names) // 2)
    skipped = (await owner.api.get(COLLECTIONS, params={"skipTotal": 1})).json()
    assert (skipped["totalItems"], skipped["totalPages"]) == (-1, -1)
    for wrong in ({"sort": "nope"}, {"sort": "name.x"}):
        assert (await owner.api.get(COLLECTIONS, params=wrong)).status_code == 400


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", COLLECTIONS),
        ("PATCH", f"{COLLECTIONS}/posts"),
        ("DELETE", f"{COLLECTIONS}/posts"),
        ("PUT", f"{COLLECTIONS}/import"),
        ("DELETE", f"{COLLECTIONS}/posts/truncate"),
    ],
)
async def test_no_change_of_a_schema(
    tenant: TenantWorld, owner: Account, method: str, path: str
) -> None:
    assert (await tenant.guest.request(method, path, json={})).status_code == 401
    refused = await owner.api.request(method, path, json={})
    assert refused.status_code == 400
    assert "part of the program" in refused.json()["message"]


@pytest.mark.parametrize(
    ("path", "instead"),
    [
        ("/api/settings", "site_settings"),
        ("/api/logs/stats", "audit_log"),
        ("/api/crons", "worker"),
        ("/api/backups/a.zip/restore", "masthead restore"),
        ("/api/sql", "filter"),
    ],
)
async def test_a_service_of_another_name(owner: Account, path: str, instead: str) -> None:
    for method in ("GET", "POST"):
        refused = await owner.api.request(method, path)
        assert refused.status_code == 404
        assert refused.json()["code"] == "not_found"
        assert instead in refused.json()["message"]


async def test_the_shape_is_pocketbases(
    owner: Account, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Every key of ours is one of PocketBase's, of the same type, for collections and fields."""
    with running_peer(tmp_path_factory.mktemp("pocketbase")) as peer:
        kinds = ("number", "bool", "email", "url", "date", "json", "file", "select", "relation")
        users = peer.get("/api/collections/users")
        more: dict[str, Any] = {
            "select": {"values": ["a"]},
            "relation": {"collectionId": users["id"]},
        }
        fields = [{"name": kind, "type": kind, **more.get(kind, {})} for kind in kinds]
        base = peer.post("/api/collections", {"name": "all", "type": "base", "fields": fields})
    theirs = {each["type"]: each for each in (*users["fields"], *base["fields"])}
    for each in (await owner.api.get(COLLECTIONS, params={"perPage": 500})).json()["items"]:
        whole = users if each["type"] == "auth" else base
        assert each.keys() <= whole.keys()
        for field in each["fields"]:
            known = theirs[field["type"]]
            assert field.keys() <= known.keys() | {"help", "required"}, field
            for name in ("required", "hidden", "system", "presentable", "id", "name"):
                assert type(field[name]) is type(known.get(name, field[name]))
