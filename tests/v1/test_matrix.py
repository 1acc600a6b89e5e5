"""Every endpoint of the public API checks calls in the documented order."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.v1.keys import key_client
from tests.world import TenantWorld, World

from masthead.base.caller import system
from masthead.identity.scopes import SCOPES
from masthead.service.app import V1_TABLE
from masthead.web.v1.routes import PREFIX, Route, Shape

NO_SUCH_ID = "abcdefghij12345"

BODIES: dict[str, dict[str, Any]] = {
    "PostCreate": {"title": "A title"},
    "PostUpdate": {"title": "A title"},
    "PageCreate": {"title": "A title"},
    "PageUpdate": {"title": "A title"},
    "CommentCreate": {"post_id": NO_SUCH_ID, "author_name": "Ann", "body": "Well said."},
    "CommentModeration": {"status": "spam"},
    "MailingCreate": {"post_id": NO_SUCH_ID},
    "MailingTest": {"post_id": NO_SUCH_ID, "to": "ann@example.com"},
    "MediaUpdate": {"alt": "The harbour"},
    "MemberCreate": {"email": "new@example.com"},
    "MemberUpdate": {"tier": "paid"},
    "TagCreate": {"name": "weather"},
    "TagUpdate": {"description": "Rain and shine"},
    "TierCreate": {"name": "Supporter", "price": 500, "currency": "eur"},
    "TierUpdate": {"active": False},
    "OfferCreate": {"code": "spring", "tier": NO_SUCH_ID, "kind": "percent", "value": 50},
    "OfferUpdate": {"active": False},
    "RedirectCreate": {"from": "/old", "to": "/new"},
    "SiteSettingsUpdate": {"site_name": "Another name"},
    "WebhookSubscriptionCreate": {
        "name": "hook",
        "url": "https://hooks.invalid/x",
        "events": ["post.created"],
    },
    "WebhookSubscriptionUpdate": {"name": "hook"},
    "WebhookSecretRotation": {"overlap_hours": 1},
    "WebhookReplay": {"from": "2026-11-01T00:00:00Z", "to": "2026-11-30T00:00:00Z"},
}


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


every_route = pytest.mark.parametrize("route", V1_TABLE, ids=name_of)
every_change = pytest.mark.parametrize(
    "route", [each for each in V1_TABLE if each.method != "GET"], ids=name_of
)
every_record = pytest.mark.parametrize(
    "route", [each for each in V1_TABLE if each.has_id], ids=name_of
)


async def put_into_trash(tenant: TenantWorld, post_id: str) -> None:
    records = tenant.world.parts.records
    await records.delete(system(tenant.id), records.registry["posts"], post_id)


async def call(
    api: httpx.AsyncClient, route: Route, record_id: str = NO_SUCH_ID, **options: Any
) -> httpx.Response:
    path = PREFIX + route.path.replace("{id}", record_id)
    if route.is_upload:
        options["files"] = {"file": ("a.txt", b"hello", "text/plain")}
    elif route.body is not None:
        options["json"] = BODIES[route.body.name]
    return await api.request(route.method, path, **options)


def error_code(answer: httpx.Response) -> str:
    body = answer.json()
    assert body.keys() == {"error"}
    assert body["error"].keys() == {"code", "message", "details"}
    code: str = body["error"]["code"]
    return code


def test_every_route_declares_a_known_scope() -> None:
    fuller = {route.view.fuller_scope for route in V1_TABLE if route.view} - {""}
    assert {route.scope for route in V1_TABLE} | fuller == set(SCOPES)
    assert all(route.summary for route in V1_TABLE)


@every_route
async def test_without_a_key(tenant: TenantWorld, route: Route) -> None:
    answer = await call(tenant.guest, route)
    assert (answer.status_code, error_code(answer)) == (401, "UNAUTHORIZED")
    assert answer.headers["x-request-id"]


@every_route
async def test_with_a_key_that_was_never_made(tenant: TenantWorld, route: Route) -> None:
    for value in ("Bearer mh_live_nope", "Bearer ", "Basic abc", "mh_live_nope"):
        answer = await call(tenant.guest, route, headers={"authorization": value})
        assert (answer.status_code, error_code(answer)) == (401, "UNAUTHORIZED")


@every_route
async def test_without_the_scope(tenant: TenantWorld, route: Route) -> None:
    admitting = (route.scope, *route.other_scopes)
    api = await key_client(tenant, *(scope for scope in SCOPES if scope not in admitting))
    answer = await call(api, route)
    assert (answer.status_code, error_code(answer)) == (403, "INVALID_SCOPE")
    assert answer.headers["x-ratelimit-limit"] == "120"


@every_route
async def test_on_the_free_plan(app: World, route: Route) -> None:
    tenant = await app.new_tenant("free", plan="free")
    answer = await call(await key_client(tenant), route)
    assert (answer.status_code, error_code(answer)) == (403, "PLAN_UPGRADE_REQUIRED")


async def test_the_key_selects_the_site_on_every_host_that_is_served(tenant: TenantWorld) -> None:
    for host in ("localhost", tenant.host):
        assert (await (await key_client(tenant, host=host)).get(f"{PREFIX}/posts")).is_success
    answer = await (await key_client(tenant, host="evil.example")).get(f"{PREFIX}/posts")
    assert (answer.status_code, error_code(answer)) == (404, "NOT_FOUND")


@every_route
async def test_on_the_host_of_another_tenant(
    tenant: TenantWorld, other_tenant: TenantWorld, route: Route
) -> None:
    api = await key_client(tenant, host=other_tenant.host)
    answer = await call(api, route)
    assert (answer.status_code, error_code(answer)) == (401, "UNAUTHORIZED")


@every_route
async def test_with_the_id_of_another_tenant(
    tenant: TenantWorld, other_tenant: TenantWorld, route: Route
) -> None:
    api = await key_client(tenant, host="localhost")
    for named in (other_tenant.id, NO_SUCH_ID):
        answer = await call(api, route, headers={"x-tenant-id": named})
        assert (answer.status_code, error_code(answer)) == (401, "UNAUTHORIZED")


COLLECTIONS = {
    "trash": ("posts", {"title": "Deleted"}),
    "posts": ("posts", {"title": "Theirs"}),
    "pages": ("pages", {"title": "Theirs"}),
    "comments": ("comments", None),
    "members": ("blog_members", {"email": "theirs@example.com"}),
    "media": ("media", None),
    "webhooks": ("webhook_subscriptions", None),
    "mailings": ("mailings", None),
    "tags": ("tags", {"name": "theirs"}),
    "tiers": ("tiers", BODIES["TierCreate"]),
    "offers": ("offers", BODIES["OfferCreate"]),
    "redirects": ("redirects", {"source": "/old", "destination": "/new"}),
}


async def create_one(tenant: TenantWorld, name: str) -> str:
    """A record for the routes whose path begins with the name; returns its id."""
    collection, values = COLLECTIONS[name]
    assert values is not None
    if name == "offers":
        values = {**values, "tier": await create_one(tenant, "tiers")}
    return str((await tenant.create(collection, values))["id"])


@every_record
async def test_a_record_of_another_tenant_is_not_there(
    tenant: TenantWorld, other_tenant: TenantWorld, route: Route
) -> None:
    name = route.path.split("/")[1]
    if COLLECTIONS[name][1] is None:
        theirs = await existing(other_tenant, route)
    else:
        theirs = await create_one(other_tenant, name)
    if route.path.startswith("/trash"):
        await put_into_trash(other_tenant, theirs)
    api = await key_client(tenant)
    answer = await call(api, route, theirs)
    assert (answer.status_code, error_code(answer)) == (404, "NOT_FOUND")


@every_change
async def test_a_read_only_tenant_takes_no_changes(tenant: TenantWorld, route: Route) -> None:
    record_id = NO_SUCH_ID
    if route.path == "/mailings/test":
        await tenant.owner(email=BODIES["MailingTest"]["to"])
        record_id = (await tenant.published())["id"]
    elif route.path.startswith("/trash"):
        record_id = (await tenant.post())["id"]
        await put_into_trash(tenant, record_id)
    elif (route.method, route.path) == ("POST", "/offers"):
        record_id = await create_one(tenant, "tiers")
    elif route.has_id or route.path == "/comments":
        record_id = await existing(tenant, route)
    api = await key_client(tenant)
    await tenant.settings(read_only_mode=True)
    options: dict[str, Any] = {}
    path = PREFIX + route.path.replace("{id}", record_id)
    if route.is_upload:
        options["files"] = {"file": ("a.txt", b"hello", "text/plain")}
    elif route.body is not None:
        options["json"] = BODIES[route.body.name] | (
            {name: record_id} if (name := _POINTS_AT.get(route.path)) else {}
        )
    answer = await api.request(route.method, path, **options)
    if route.calls_out:
        # A test of a webhook changes nothing of the tenant's content.
        return
    assert (answer.status_code, error_code(answer)) == (403, "FORBIDDEN")


_POINTS_AT = {"/comments": "post_id", "/mailings/test": "post_id", "/offers": "tier"}
"""The field of a body that must name a record of the tenant."""


async def existing(tenant: TenantWorld, route: Route) -> str:
    """A record of the tenant's own that the route could change."""
    post = await tenant.published()
    match route.path.split("/")[1]:
        case "posts":
            return post["id"]
        case "pages":
            return (await tenant.create("pages", {"title": "About"}))["id"]
        case "tags" | "tiers" | "offers" | "redirects" as name:
            return await create_one(tenant, name)
        case "comments" if route.has_id:
            comment = {"post_id": post["id"], "author_name": "Ann", "body": "Yes."}
            return (await tenant.create("comments", comment))["id"]
        case "comments":
            return post["id"]
        case "members":
            return (await tenant.create("blog_members", {"email": "a@example.com"}))["id"]
        case "mailings":
            await tenant.create("blog_members", {"email": "a@example.com", "newsletter": True})
            api = await key_client(tenant)
            made = await api.post(f"{PREFIX}/mailings", json={"post_id": post["id"]})
            return made.json()["data"]["id"]
        case "webhooks":
            api = await key_client(tenant)
            made = await api.post(f"{PREFIX}/webhooks", json=BODIES["WebhookSubscriptionCreate"])
            return made.json()["id"]
        case _:
            api = await key_client(tenant)
            made = await api.post(f"{PREFIX}/media", files={"file": ("a.txt", b"hello")})
            return made.json()["data"]["id"]


@every_route
async def test_a_method_that_is_not_there(tenant: TenantWorld, route: Route) -> None:
    api = await key_client(tenant)
    answer = await api.request("PURGE", PREFIX + route.path.replace("{id}", NO_SUCH_ID))
    assert (answer.status_code, error_code(answer)) == (405, "METHOD_NOT_ALLOWED")
    assert route.method in answer.headers["allow"].split(", ")


async def test_an_address_that_is_not_there(tenant: TenantWorld) -> None:
    for path in ("/api/v1/nope", "/api/v1/posts/", "/api/v1/posts/a/b"):
        answer = await tenant.guest.get(path)
        assert (answer.status_code, error_code(answer)) == (404, "NOT_FOUND")


def test_each_route_has_its_answer_shape() -> None:
    shapes = {name_of(route): route.shape for route in V1_TABLE}
    assert shapes["GET /posts"] is Shape.PAGE
    assert shapes["POST /posts"] is Shape.DATA
    assert shapes["GET /posts/{id}"] is Shape.RECORD
    assert shapes["GET /webhooks"] is Shape.LIST
    assert shapes["POST /webhooks/{id}/test"] is Shape.UNWRAPPED
    assert shapes["DELETE /posts/{id}"] is Shape.EMPTY
