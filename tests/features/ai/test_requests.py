"""Errors before the stream starts have the API's envelope."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.features.ai.conftest import AiWorld
from tests.features.ai.provider import TEXT, plays, recording
from tests.features.ai.stream import GENERATE, PATH


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "`action` must be one of generate, rewrite, translate, summarize."),
        ({"action": "sing", "prompt": "A song."}, "`action` must be one of"),
        ({"action": ["generate"], "prompt": "A song."}, "`action` must be one of"),
        ({"action": "generate"}, "`prompt` is required when action is generate."),
        ({"action": "generate", "selection": "A text."}, "`prompt` is required"),
        ({"action": "generate", "prompt": 7}, "`prompt` must be a text."),
        ({"action": "generate", "prompt": " \n"}, "`prompt` must not be empty."),
        ({"action": "generate", "prompt": "a" * 8_001}, "`prompt` may have at most 8,000"),
        ({"action": "rewrite"}, "`selection` is required"),
        ({"action": "summarize", "prompt": "A text."}, "`selection` is required"),
        ({"action": "summarize", "selection": "a" * 32_001}, "at most 32,000 characters"),
        ({"action": "translate", "selection": "A text."}, "`language` is required"),
        ({"action": "translate", "selection": "Text", "language": "x" * 101}, "at most 100"),
        ({"action": "translate", "language": "Welsh"}, "`selection` is required"),
        ({"action": "rewrite", "selection": "a" * 600_000}, "larger than"),
    ],
)
async def test_an_invalid_request(ai: AiWorld, body: dict[str, Any], words: str) -> None:
    tenant = await ai.tenant()
    response = await tenant.guest.post(PATH, json=body)
    assert response.status_code == 400
    assert response.headers["content-type"] == "application/json"
    error = response.json()["error"]
    assert error["code"] == "BAD_REQUEST"
    assert words in error["message"]
    assert error["details"] == {}
    assert ai.provider.requests == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"generate"', b"\xff", b"null"])
async def test_a_body_that_is_no_object(ai: AiWorld, body: bytes) -> None:
    client = ai.world.client()
    headers = {"content-type": "application/json"}
    response = await client.post(PATH, content=body, headers=headers)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "BAD_REQUEST"


async def test_a_page_of_another_site_needs_a_preflight(ai: AiWorld) -> None:
    client = ai.world.client()
    headers = {"content-type": "text/plain"}
    response = await client.post(PATH, content=b'{"action":"generate"}', headers=headers)
    assert response.status_code == 400
    assert "application/json" in response.json()["error"]["message"]


async def test_pages_of_listed_origins_may_call_it(ai: AiWorld) -> None:
    tenant = await ai.tenant(cors_origins=["https://app.example.com"])
    page = tenant.guest
    page.headers["origin"] = "https://app.example.com"
    asking = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
    }
    assert (await page.options(PATH, headers=asking)).status_code == 204
    ai.provider.next(plays(recording("openai")))
    answer = await page.post(PATH, json=GENERATE)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://app.example.com"
    page.headers["origin"] = "https://other.example.com"
    assert (await page.options(PATH, headers=asking)).status_code == 405


@pytest.mark.parametrize(
    "body",
    [
        {"action": "generate", "prompt": "🌕" * 8_000},
        {"action": "summarize", "selection": "\x01" * 32_000, "prompt": None, "colour": "blue"},
    ],
)
async def test_the_longest_texts_pass(ai: AiWorld, body: dict[str, Any]) -> None:
    tenant = await ai.tenant()
    ai.provider.next(plays(recording("openai")))
    assert (await ai.ask(tenant, **body)).text == TEXT


async def test_other_methods_and_addresses(ai: AiWorld) -> None:
    client = ai.world.client()
    response = await client.get(PATH)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")
    assert response.json()["error"]["code"] == "METHOD_NOT_ALLOWED"
    response = await client.post("/api/ai/paint", json=GENERATE)
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "NOT_FOUND"


async def test_a_tenant_that_does_not_exist(ai: AiWorld) -> None:
    client = ai.world.client()
    response = await client.post(PATH, json=GENERATE, headers={"x-tenant-id": "nobody"})
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "BAD_REQUEST"


async def test_without_any_key_the_stream_says_so(ai: AiWorld) -> None:
    bare = ai.without_platform_key()
    for tenant in (None, await ai.tenant(ai_api_key="")):
        (event,) = (await bare.ask(tenant)).events
        assert "AI is not configured" in event["error"]
    assert ai.provider.requests == []


@pytest.mark.parametrize("headers", [{}, {"content-length": "499000"}])
async def test_without_any_key_a_long_body_is_not_read(
    ai: AiWorld, headers: dict[str, str]
) -> None:
    bare = ai.without_platform_key()
    sent = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 499_000:
            sent += 10_000
            yield b" " * 10_000

    tenant = await ai.tenant(ai_api_key="")
    client = bare.world.client(tenant.host)
    headers = {"content-type": "application/json", **headers}
    answer = await client.post(PATH, content=body(), headers=headers)
    assert answer.status_code == 200
    assert "AI is not configured" in answer.text
    assert sent <= 30_000

    # A short request is checked as always.
    answer = await client.post(PATH, json={"action": "generate"})
    assert answer.status_code == 400


async def test_the_settings_never_show_the_key(ai: AiWorld) -> None:
    tenant = await ai.tenant()
    owner = await tenant.owner()
    response = await owner.api.get("/api/collections/site_settings/records")
    assert response.status_code == 200
    assert "sk-tenant" not in response.text
