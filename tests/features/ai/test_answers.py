"""Successful answers of both kinds of providers."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest
from tests.clients.node import HERE, run_node
from tests.features.ai.conftest import AiWorld
from tests.features.ai.provider import (
    PIECES,
    PROVIDERS,
    TEXT,
    TOKENS,
    Hand,
    plays,
    recording,
    stalls_after,
    text_event,
    until,
)
from tests.features.ai.stream import GENERATE, KEY, PATH, PLATFORM_KEY, read_answer
from tests.features.ai.usage import usage_of
from tests.served import serving
from tests.tls import Exchange

from masthead.base.ids import TenantId


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
async def test_the_providers_text_is_streamed(ai: AiWorld, name: str, size: int) -> None:
    tenant = await ai.tenant(ai_provider=name)
    ai.provider.next(plays(recording(name), size=size))
    answer = await ai.ask(tenant)
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["x-accel-buffering"] == "no"
    assert answer.events == [{"text": piece} for piece in PIECES]
    assert await usage_of(ai, tenant.id) == [("2026-11-14", "tenant", 1, *TOKENS)]


async def test_an_openai_style_call_carries_the_tenants_key_and_model(ai: AiWorld) -> None:
    tenant = await ai.tenant(ai_provider="openai", ai_model="large-2")
    ai.provider.next(plays(recording("openai")))
    await ai.ask(tenant, action="summarize", selection="A long story.")
    (request,) = ai.provider.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    body = json.loads(request.body)
    assert body["model"] == "large-2"
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    system, user = body["messages"]
    assert "2 to 3 sentences" in system["content"]
    assert "A long story." in user["content"]
    assert "A long story." not in system["content"]


async def test_an_anthropic_call_carries_the_tenants_key_and_model(ai: AiWorld) -> None:
    tenant = await ai.tenant(ai_provider="anthropic", ai_model="large-2")
    ai.provider.next(plays(recording("anthropic")))
    await ai.ask(tenant, action="translate", selection="A long story.", language="Welsh")
    (request,) = ai.provider.requests
    assert (request.method, request.path) == ("POST", "/v1/messages")
    assert request.headers["x-api-key"] == KEY
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in request.headers
    body = json.loads(request.body)
    assert (body["model"], body["stream"], body["max_tokens"]) == ("large-2", True, 4096)
    assert "Welsh" in body["messages"][0]["content"]
    assert "Welsh" not in body["system"]


async def test_without_a_key_of_its_own_a_tenant_uses_the_platforms(ai: AiWorld) -> None:
    tenant = await ai.tenant(ai_api_key="")
    ai.provider.next(plays(recording("openai")))
    answer = await ai.ask(tenant)
    assert answer.text == TEXT
    assert ai.provider.requests[0].headers["authorization"] == f"Bearer {PLATFORM_KEY}"
    assert json.loads(ai.provider.requests[0].body)["model"] == "small-1"
    assert await usage_of(ai, tenant.id) == [("2026-11-14", "platform", 1, *TOKENS)]


async def test_a_call_without_a_tenant_uses_the_platforms_key(ai: AiWorld) -> None:
    ai.provider.next(plays(recording("openai")))
    answer = await ai.ask()
    assert answer.text == TEXT
    assert ai.provider.requests[0].headers["authorization"] == f"Bearer {PLATFORM_KEY}"


async def test_a_third_party_names_the_tenant_by_header(ai: AiWorld) -> None:
    tenant = await ai.tenant()
    ai.provider.next(plays(recording("openai")))
    client = ai.world.client()
    client.headers["x-tenant-id"] = tenant.id
    assert (await ai.ask(client=client)).text == TEXT
    assert ai.provider.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_server_that_ends_without_a_terminator_has_finished(ai: AiWorld) -> None:
    tenant = await ai.tenant(ai_provider="openai")
    ai.provider.next(plays(until("openai", b"[DONE]")))
    assert (await ai.ask(tenant)).events == [{"text": piece} for piece in PIECES]


async def test_a_server_that_stays_open_after_its_text_is_not_waited_for(ai: AiWorld) -> None:
    tenant = await ai.tenant(ai_provider="openai")
    ai.provider.next(stalls_after(until("openai", b'"choices":[]')))
    hurried = ai.with_patience(usage=0.05)
    assert (await hurried.ask(tenant)).events == [{"text": piece} for piece in PIECES]
    ((_, _, _, tokens_in, tokens_out),) = await usage_of(ai, tenant.id)
    assert isinstance(tokens_in, int)
    assert tokens_in > 100
    assert tokens_out == -(-len(TEXT.encode()) // 4)


@pytest.mark.parametrize("name", PROVIDERS)
async def test_text_is_relayed_at_once(ai: AiWorld, name: str) -> None:
    tenant = await ai.tenant(ai_provider=name)
    hand = Hand()
    ai.provider.next(hand)
    async with serving(ai.world.http) as url, httpx.AsyncClient(timeout=120) as client:
        headers = {"host": tenant.host, "accept-encoding": "gzip"}
        async with client.stream("POST", url + PATH, json=GENERATE, headers=headers) as response:
            assert "content-encoding" not in response.headers
            lines = response.aiter_lines()
            for text in ("One", "Two"):
                await hand.send(text_event(name, text))
                assert await anext(lines) == f'data: {{"text":"{text}"}}'
                assert await anext(lines) == ""


async def test_heartbeats_are_sent_during_pauses(ai: AiWorld) -> None:
    tenant = await ai.tenant(ai_provider="openai")
    hand = Hand()
    ai.provider.next(hand)
    hurried = ai.with_patience(heartbeat=0.05)
    async with serving(hurried.world.http) as url, httpx.AsyncClient(timeout=120) as client:
        headers = {"host": tenant.host}
        async with client.stream("POST", url + PATH, json=GENERATE, headers=headers) as response:
            lines = response.aiter_lines()
            assert (await anext(lines)).startswith(": ")
            assert await anext(lines) == ""
            assert (await anext(lines)).startswith(": ")
            await hand.send(recording("openai"))
            texts = [line async for line in lines if line.startswith("data: ")]
            assert texts[-1] == "data: [DONE]"
            assert len(texts) == len(PIECES) + 1


async def test_eventsource_parser_reads_the_stream(ai: AiWorld) -> None:
    tenant = await ai.tenant(ai_provider="anthropic")
    ai.provider.next(plays(recording("anthropic"), size=11))
    async with serving(ai.world.http) as url:
        finished = await run_node(
            HERE / "event_stream.mjs", url + PATH, tenant.id, json.dumps(GENERATE)
        )
    assert finished.errors == ""
    received = json.loads(finished.output)
    assert received == [
        json.dumps({"text": piece}, separators=(",", ":"), ensure_ascii=False) for piece in PIECES
    ] + ["[DONE]"]


async def test_many_streams_do_not_mix(ai: AiWorld) -> None:
    tenants = [await ai.tenant(ai_provider=name) for name in PROVIDERS * 10]
    stories = {tenant.id: f"{tenant.slug} " * 5 for tenant in tenants}

    async def tell(exchange: Exchange) -> None:
        name = "openai" if "completions" in exchange.request.path else "anthropic"
        story = next(story for story in stories.values() if story.encode() in exchange.request.body)
        events = [text_event(name, word + " ") for word in story.split()]
        end = b"data: [DONE]\n\n" if name == "openai" else b'data: {"type":"message_stop"}\n\n'
        await plays(b"".join([*events, end]), size=13)(exchange)

    ai.provider.next(*[tell] * len(tenants))
    async with asyncio.TaskGroup() as group:
        asked = {
            tenant.id: group.create_task(
                read_answer(tenant.guest, {"action": "rewrite", "selection": stories[tenant.id]})
            )
            for tenant in tenants
        }
    assert {TenantId(key): task.result().text for key, task in asked.items()} == stories
