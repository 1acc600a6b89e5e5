"""AI assistants use the public API as tools: the official client of the protocol, over a socket."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.served import serving
from tests.world import TenantWorld

from masthead.identity.api_keys import create_key
from masthead.identity.scopes import SCOPES
from masthead.service.app import V1_TABLE, http_app

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult

PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
    b"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"
).decode()


@asynccontextmanager
async def assistant(
    tenant: TenantWorld, *scopes: str, host: str = "", key: str = ""
) -> AsyncIterator[Client]:
    """A client with a key of the site; with every scope by default."""
    # Its import takes seconds, which each process of the tests would spend to find these tests.
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    parts = tenant.world.parts
    if not key:
        _, key = await create_key(parts.records, tenant.id, "assistant", scopes or tuple(SCOPES))
    headers = {"authorization": f"Bearer {key}", "host": host or tenant.host}
    async with (
        serving(http_app(parts)) as address,
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
    ):
        yield client


def code_of(result: CallToolResult) -> str:
    assert result.is_error
    (content,) = result.content
    code: str = json.loads(content.text)["error"]["code"]  # type: ignore[union-attr]
    return code


async def call(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    value: dict[str, Any] = result.structured_content
    return value


async def test_tools_are_those_that_the_scopes_of_the_key_reach(tenant: TenantWorld) -> None:
    async with assistant(tenant, "posts:read") as client:
        tools = (await client.list_tools()).tools
    reached = [each for each in V1_TABLE if "posts:read" in (each.scope, *each.other_scopes)]
    assert len(tools) == len(reached)
    assert {"posts_list", "posts_view"} <= {each.name for each in tools}


async def test_every_operation_of_the_api_is_a_tool(tenant: TenantWorld) -> None:
    async with assistant(tenant) as client:
        names = {each.name for each in (await client.list_tools()).tools}
    assert len(names) == len([each for each in V1_TABLE if each.method != "PUT"])
    assert {"site_settings_view", "mailings_pause", "webhooks_replay"} <= names


async def test_an_assistant_writes_a_draft_and_finds_it(tenant: TenantWorld) -> None:
    async with assistant(tenant) as client:
        created = await call(client, "posts_create", title="Fog signals", content_markdown="*Fog*")
        listed = await call(client, "posts_list", status="draft", per_page=5)
        post_id = created["data"]["id"]
        changed = await call(client, "posts_update", id=post_id, excerpt="Short")
        await call(client, "posts_delete", id=post_id)
    assert created["data"]["status"] == "draft"
    assert [each["id"] for each in listed["items"]] == [post_id]
    assert changed["data"]["excerpt"] == "Short"


async def test_an_assistant_uploads_a_picture(tenant: TenantWorld) -> None:
    async with assistant(tenant) as client:
        stored = await call(client, "media_create", file=PNG, file_name="dot.png", alt="A dot")
    assert stored["data"]["mime_type"] == "image/png"
    assert stored["data"]["filename"] == "dot.png"


async def test_wrong_arguments_are_named(tenant: TenantWorld) -> None:
    async with assistant(tenant) as client:
        wrong = await client.call_tool("posts_create", {"title": 7})
        elsewhere = await client.call_tool("mailings_view", {"id": "x/pause"})
        broken = await client.call_tool("media_create", {"file": "not base64!"})
        unknown = await client.call_tool("posts_view", {"id": "abcdefghij12345"})
    assert {code_of(wrong), code_of(elsewhere), code_of(broken)} == {"VALIDATION_ERROR"}
    assert code_of(unknown) == "NOT_FOUND"


async def test_a_call_outside_the_scopes_is_refused(tenant: TenantWorld) -> None:
    async with assistant(tenant, "posts:read") as client:
        refused = await client.call_tool("posts_create", {"title": "No"})
    assert code_of(refused) == "INVALID_SCOPE"


async def test_a_plan_without_the_api_is_refused_by_each_call(tenant: TenantWorld) -> None:
    await tenant.update("tenants", tenant.id, {"plan": "free"})
    async with assistant(tenant) as client:
        refused = await client.call_tool("posts_list", {})
    assert code_of(refused) == "PLAN_UPGRADE_REQUIRED"


async def test_each_call_counts_towards_the_limit_once(tenant: TenantWorld) -> None:
    await tenant.update("tenants", tenant.id, {"plan": "pro"})
    async with assistant(tenant) as client:
        results = [await client.call_tool("posts_list", {}) for _ in range(31)]
    assert [each.is_error for each in results[:30]] == [False] * 30
    assert code_of(results[30]) == "RATE_LIMITED"


async def test_listing_tools_and_starting_count_by_key_and_by_address(tenant: TenantWorld) -> None:
    headers = {"accept": "application/json", "content-type": "application/json"}
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    calling = listing | {"method": "tools/call", "params": {"name": "posts_list"}}

    async def sent(number: int, message: dict[str, Any], times: int) -> list[int]:
        """The statuses of the last two."""
        answers = [
            await clients[number].post("/mcp", json=message, headers=headers) for _ in range(times)
        ]
        return [each.status_code for each in answers[-2:]]

    clients = []
    for name in ("first", "second", "third"):
        _, key = await create_key(tenant.world.parts.records, tenant.id, name, ("posts:read",))
        clients.append(tenant.world.client(tenant.host, token=key, address="192.0.2.7"))
    assert await sent(0, listing, 121) == [200, 429]
    assert await sent(1, listing, 120) == [200, 200]
    assert await sent(2, listing, 61) == [200, 429]
    # What is no message counts, too.
    for body in (b"[", b'"\xff"'):
        refused = await clients[0].post("/mcp", content=body, headers=headers)
        assert refused.json()["error"]["code"] == "RATE_LIMITED"
    assert 0 < int(refused.headers["retry-after"]) <= 60
    # Calls count in the public API.
    assert await sent(0, calling, 2) == [200, 200]
    tenant.world.clock.advance(seconds=61)
    assert await sent(0, listing, 2) == [200, 200]


@pytest.mark.parametrize("token", ["", "mh_live_wrong"])
async def test_without_a_key_there_is_nothing(tenant: TenantWorld, token: str) -> None:
    answer = await tenant.world.client(tenant.host, token=token).post("/mcp", json={})
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "UNAUTHORIZED"


async def test_a_key_of_another_site_is_refused(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    _, key = await create_key(tenant.world.parts.records, tenant.id, "k", ("posts:read",))
    answer = await tenant.world.client(other_tenant.host, token=key).post("/mcp", json={})
    assert answer.status_code == 401


async def test_the_services_own_host_has_the_tools_of_the_keys_site(tenant: TenantWorld) -> None:
    await tenant.published(title="Ours")
    async with assistant(tenant, host="localhost") as client:
        listed = await call(client, "posts_list")
    assert [each["title"] for each in listed["items"]] == ["Ours"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"jsonrpc": "2.0"}', b"null"])
async def test_what_is_no_message_gets_an_error_of_the_protocol(
    tenant: TenantWorld, body: bytes
) -> None:
    _, key = await create_key(tenant.world.parts.records, tenant.id, "k", ("posts:read",))
    client = tenant.world.client(tenant.host, token=key)
    answer = await client.post(
        "/mcp",
        content=body,
        headers={"content-type": "application/json", "accept": "application/json"},
    )
    assert answer.status_code == 400
