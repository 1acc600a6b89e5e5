"""Rate limits and budgets of AI calls."""

from __future__ import annotations

import json

import httpx
import pytest
from tests.features.ai.conftest import AiWorld
from tests.features.ai.provider import TOKENS, plays, recording
from tests.features.ai.stream import GENERATE, PATH
from tests.features.ai.usage import usage_of
from tests.tls import Receiver

from masthead.features.ai.budget import max_prompt_tokens
from masthead.features.ai.prompts import parse_prompt_request, prompt_for

pytestmark = pytest.mark.both_databases


async def statuses(client: httpx.AsyncClient, count: int) -> list[int]:
    return [(await client.post(PATH, json=GENERATE)).status_code for _ in range(count)]


@pytest.fixture(autouse=True)
def willing(provider: Receiver) -> None:
    provider.default = plays(recording("openai"))


async def keyless(ai: AiWorld, address: str = "") -> httpx.AsyncClient:
    """A client of a tenant that has no key of its own."""
    tenant = await ai.tenant(ai_api_key="")
    return ai.world.client(tenant.host, address=address)


class TestPerAddress:
    async def test_ten_a_minute_on_the_platforms_key(self, ai: AiWorld) -> None:
        client = await keyless(ai)
        assert await statuses(client, 11) == [200] * 10 + [429]
        ai.world.clock.advance(seconds=15)
        refused = await client.post(PATH, json=GENERATE)
        assert refused.headers["retry-after"] == "45"
        assert refused.json()["error"]["code"] == "RATE_LIMITED"
        ai.world.clock.advance(seconds=45)
        assert await statuses(client, 1) == [200]

    async def test_they_are_counted_over_all_tenants(self, ai: AiWorld) -> None:
        for number in range(11):
            tenant = await ai.tenant(ai_api_key="")
            client = ai.world.client(tenant.host, address="203.0.113.7")
            # Making a tenant moves the clock.
            ai.world.clock.moment = ai.world.clock.moment.replace(minute=30, second=0)
            assert await statuses(client, 1) == [429 if number == 10 else 200]

    async def test_a_tenants_own_key_is_not_counted_by_address(self, ai: AiWorld) -> None:
        tenant = await ai.tenant()
        assert await statuses(tenant.guest, 12) == [200] * 12

    async def test_behind_a_trusted_proxy_the_address_is_the_forwarded_one(
        self, ai: AiWorld
    ) -> None:
        proxy = await keyless(ai, "192.0.2.1")
        proxy.headers["x-forwarded-for"] = "198.51.100.1, 203.0.113.50"
        assert await statuses(proxy, 11) == [200] * 10 + [429]
        proxy.headers["x-forwarded-for"] = "203.0.113.51"
        assert await statuses(proxy, 1) == [200]

    async def test_forwarded_addresses_of_other_peers_are_ignored(self, ai: AiWorld) -> None:
        client = await keyless(ai, "203.0.113.60")
        for number in range(11):
            client.headers["x-forwarded-for"] = f"203.0.113.{100 + number}"
            assert await statuses(client, 1) == [429 if number == 10 else 200]

    async def test_addresses_of_one_ipv6_network_count_as_one(self, ai: AiWorld) -> None:
        tenant = await ai.tenant(ai_api_key="")
        for number in range(11):
            client = ai.world.client(tenant.host, address=f"2001:db8:1:2::{number + 1:x}")
            assert await statuses(client, 1) == [429 if number == 10 else 200]
        neighbour = ai.world.client(tenant.host, address="2001:db8:1:3::1")
        assert await statuses(neighbour, 1) == [200]

    async def test_an_invalid_request_is_not_counted(self, ai: AiWorld) -> None:
        client = await keyless(ai)
        for _ in range(12):
            assert (await client.post(PATH, json={})).status_code == 400
        assert await statuses(client, 1) == [200]


class TestPerTenant:
    async def test_sixty_a_minute(self, ai: AiWorld) -> None:
        tenant = await ai.tenant()
        assert await statuses(tenant.guest, 61) == [200] * 60 + [429]
        ai.world.clock.advance(minutes=1)
        assert await statuses(tenant.guest, 1) == [200]

    async def test_the_tenants_own_minute(self, ai: AiWorld) -> None:
        tenant = await ai.tenant(ai_per_minute=2)
        assert await statuses(tenant.guest, 3) == [200, 200, 429]

    async def test_the_tenants_own_day_ends_at_midnight(self, ai: AiWorld) -> None:
        tenant = await ai.tenant(ai_per_day=1)
        assert await statuses(tenant.guest, 1) == [200]
        ai.world.clock.moment = ai.world.clock.moment.replace(hour=23, minute=0, second=0)
        refused = await tenant.guest.post(PATH, json=GENERATE)
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "3600"
        assert refused.json()["error"]["code"] == "QUOTA_EXCEEDED"
        ai.world.clock.advance(hours=1)
        assert await statuses(tenant.guest, 1) == [200]

    async def test_none_at_all(self, ai: AiWorld) -> None:
        tenant = await ai.tenant(ai_per_minute=0)
        assert await statuses(tenant.guest, 1) == [429]

    async def test_on_the_platforms_key_a_tenant_can_not_raise_its_limits(
        self, ai: AiWorld
    ) -> None:
        tenant = await ai.tenant(ai_api_key="", ai_per_minute=1_000)
        for number in range(61):
            client = ai.world.client(tenant.host)
            assert await statuses(client, 1) == [200 if number < 60 else 429]


async def test_calls_without_a_tenant_share_the_limits_of_one(ai: AiWorld) -> None:
    # Not at the time at which other tests call without a tenant.
    ai.world.clock.advance(days=300)
    for number in range(61):
        assert await statuses(ai.world.client(), 1) == [200 if number < 60 else 429]


class TestBudget:
    async def test_tokens_add_up_by_day(self, ai: AiWorld) -> None:
        tenant = await ai.tenant()
        for _ in range(3):
            await ai.ask(tenant)
        ai.world.clock.advance(days=1)
        await ai.ask(tenant)
        tokens_in, tokens_out = TOKENS
        assert sorted(await usage_of(ai, tenant.id)) == [
            ("2026-11-14", "tenant", 3, 3 * tokens_in, 3 * tokens_out),
            ("2026-11-15", "tenant", 1, tokens_in, tokens_out),
        ]

    async def test_a_spent_budget_refuses_until_midnight(self, ai: AiWorld) -> None:
        held = max_prompt_tokens(prompt_for(parse_prompt_request(GENERATE)))
        tenant = await ai.tenant(ai_daily_tokens=held + 3 * sum(TOKENS))
        passed = 0
        while (answer := await ai.ask(tenant)).status == 200:
            passed += 1
        assert passed == 3
        assert answer.error["code"] == "QUOTA_EXCEEDED"
        assert int(answer.headers["retry-after"]) > 3600
        ai.world.clock.advance(days=1)
        assert (await ai.ask(tenant)).status == 200

    async def test_the_remaining_budget_limits_the_answer(self, ai: AiWorld) -> None:
        tenant = await ai.tenant(ai_daily_tokens=2_000)
        await ai.ask(tenant)
        first = json.loads(ai.provider.requests[0].body)["max_tokens"]
        await ai.ask(tenant)
        second = json.loads(ai.provider.requests[1].body)["max_tokens"]
        assert 1_000 < first < 2_000
        assert first - second == sum(TOKENS)

    async def test_without_a_budget_the_answer_is_not_limited(self, ai: AiWorld) -> None:
        await ai.ask(await ai.tenant())
        assert "max_tokens" not in json.loads(ai.provider.requests[0].body)
