"""A budget is never exceeded, by concurrent or failed calls."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.features.ai.conftest import AiWorld
from tests.features.ai.provider import END, TOKENS, Hand, plays, recording, stalls_after, until
from tests.features.ai.stream import failed
from tests.loop_time import LoopTime

from masthead.base.ids import TenantId
from masthead.features.ai.budget import Budgets
from masthead.features.ai.generation import Timeouts
from masthead.features.ai.providers import MAX_OUTPUT_TOKENS
from masthead.web.v1.errors import QuotaExceeded

pytestmark = pytest.mark.both_databases

LONGEST = 300.0


def budgets(ai: AiWorld) -> Budgets:
    parts = ai.world.parts
    return Budgets(
        parts.limit_store,
        parts.ai.generator.ledger,
        longest_call_seconds=LONGEST,
        now=ai.world.clock,
    )


async def reserved(ai: AiWorld, tenant_id: TenantId, budget: int) -> int:
    """As another process would; 0 if refused."""
    try:
        return (await budgets(ai).reserve(tenant_id, budget, 100)).max_tokens
    except QuotaExceeded:
        return 0


async def test_concurrent_calls_can_not_exceed_it(ai: AiWorld) -> None:
    tenant = await ai.tenant()
    granted = await asyncio.gather(*(reserved(ai, tenant.id, 10_000) for _ in range(20)))
    passed = [tokens for tokens in granted if tokens]
    assert sorted(passed) == [10_000 - 2 * MAX_OUTPUT_TOKENS - 300] + [MAX_OUTPUT_TOKENS] * 2
    assert sum(passed) + 100 * len(passed) == 10_000


async def test_unused_tokens_are_released(ai: AiWorld) -> None:
    tenant = await ai.tenant()
    reservation = await budgets(ai).reserve(tenant.id, 1_000, 100)
    assert reservation.max_tokens == 900
    await reservation.settle(30)
    assert await reserved(ai, tenant.id, 1_000) == 1_000 - 30 - 100


async def test_a_reservation_of_a_dead_process_expires(ai: AiWorld) -> None:
    tenant = await ai.tenant()
    assert await reserved(ai, tenant.id, 1_000) == 900
    ai.world.clock.advance(seconds=LONGEST - 1)
    assert await reserved(ai, tenant.id, 1_000) == 0
    ai.world.clock.advance(seconds=1)
    assert await reserved(ai, tenant.id, 1_000) == 900


async def test_a_call_over_midnight_counts_on_the_new_day(ai: AiWorld) -> None:
    tenant = await ai.tenant()
    ai.world.clock.moment = ai.world.clock.moment.replace(hour=23, minute=59)
    reservation = await budgets(ai).reserve(tenant.id, 1_000, 100)
    ai.world.clock.advance(minutes=2)
    assert await reserved(ai, tenant.id, 1_000) == 0
    await reservation.settle(400)
    assert await reserved(ai, tenant.id, 1_000) == 1_000 - 400 - 100


class TestThroughTheApi:
    async def test_while_a_call_reserves_the_rest_others_have_to_wait(self, ai: AiWorld) -> None:
        tenant = await ai.tenant(ai_provider="openai", ai_daily_tokens=1_000)
        hand = Hand()
        ai.provider.next(hand)
        first = asyncio.create_task(ai.ask(tenant))
        await hand.connected.wait()
        refused = await ai.ask(tenant)
        assert (refused.status, refused.error["code"]) == (429, "QUOTA_EXCEEDED")
        assert "running calls" in refused.error["message"]
        assert refused.headers["retry-after"] == "10"

        await hand.send(recording("openai"))
        assert hand.exchange is not None
        await hand.exchange.write(END)
        await first
        ai.provider.next(plays(recording("openai")))
        assert (await ai.ask(tenant)).status == 200
        sent = [json.loads(each.body)["max_tokens"] for each in ai.provider.requests]
        assert sent[0] - sent[1] == sum(TOKENS)

    @pytest.mark.parametrize("text", ["tide ", "น้ำขึ้น", "潮汐", "🌊"])
    async def test_one_token_per_byte_of_the_prompt_does_not_exceed_it(
        self, ai: AiWorld, text: str
    ) -> None:
        tenant = await ai.tenant(ai_provider="openai", ai_daily_tokens=6_000)
        ai.provider.next(plays(recording("openai")))
        await ai.ask(tenant, action="generate", prompt=text * 200)
        (request,) = ai.provider.requests
        sent = json.loads(request.body)
        worst = sum(len(message["content"].encode()) for message in sent["messages"])
        assert worst > 200 * len(text.encode())
        assert 0 < worst + sent["max_tokens"] <= 6_000

    async def test_a_prompt_that_might_not_fit_is_not_sent(self, ai: AiWorld) -> None:
        tenant = await ai.tenant(ai_provider="openai", ai_daily_tokens=1_500)
        refused = await ai.ask(tenant, action="generate", prompt="潮汐" * 200)
        assert (refused.status, refused.error["code"]) == (429, "QUOTA_EXCEEDED")
        assert ai.provider.requests == []

    @pytest.mark.parametrize("ends", [True, False])
    async def test_a_failed_call_releases_its_reservation(
        self, ai: AiWorld, ends: bool, loop_time: LoopTime
    ) -> None:
        tenant = await ai.tenant(ai_provider="openai", ai_daily_tokens=1_000)
        begun = until("openai", "día".encode())
        stalling = loop_time.overlong(stalls_after(begun), 2 * Timeouts().between_chunks)
        ai.provider.next(plays(begun, ends=False) if ends else stalling)
        failing = await ai.ask(tenant)
        assert failing.last == failed("provider_disconnected" if ends else "provider_timeout")
        ai.provider.next(plays(recording("openai")))
        assert (await ai.ask(tenant)).status == 200

    async def test_a_url_that_is_not_allowed_reserves_nothing(self, ai: AiWorld) -> None:
        tenant = await ai.tenant(ai_api_key="", ai_daily_tokens=1_000)
        keyless = ai.without_platform_key()
        assert "error" in (await keyless.ask(tenant)).last
        ai.provider.next(plays(recording("openai")))
        assert (await ai.ask(tenant)).status == 200
