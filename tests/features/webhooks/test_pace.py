"""A subscription with a pace gets no more deliveries in a minute, however many workers run."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from tests.features.webhooks.hooks import PATH, Hooks
from tests.tls import answer

from masthead.features.webhooks.schedule import Pace

NOW = datetime(2026, 11, 16, 10, tzinfo=UTC)


@pytest.mark.parametrize("per_minute", [1, 2, 29, 30, 60, 61, 90, 119, 600, 5_999, 6_000])
def test_no_minute_has_more_and_a_busy_one_nearly_as_many(per_minute: int) -> None:
    pace, spent, claims = Pace(per_minute), NOW, []
    step = timedelta(milliseconds=100)
    for number in range(1_800):
        now = NOW + number * step
        claimed = pace.allowance(spent, now)
        claims.append(claimed)
        spent = pace.spend(spent, now, claimed)
        if not claimed:
            assert pace.next_at(spent) > now
    minutes = [sum(claims[start : start + 600]) for start in range(1_200)]
    assert max(minutes) <= per_minute
    assert min(minutes) >= per_minute * 0.8 - 1


async def sent_in(hooks: Hooks, seconds: float) -> int:
    before = len(hooks.receiver.requests)
    hooks.clock.advance(seconds=seconds)
    await hooks.deliver()
    return len(hooks.receiver.requests) - before


async def test_deliveries_wait_for_their_turn(hooks: Hooks) -> None:
    made = await hooks.subscribe(per_minute=2)
    assert made["per_minute"] == 2
    for _ in range(4):
        await hooks.tenant.post()
    assert [await sent_in(hooks, seconds) for seconds in (0, 0, 29, 1, 15, 15, 40)] == [
        *(1, 0, 0, 1, 0, 1, 1)
    ]
    assert set(await hooks.states()) == {"delivered"}
    assert {each.attempts for each in await hooks.deliveries()} == {1}
    assert (await hooks.subscription(made["id"]))["failure_count"] == 0


async def test_an_empty_queue_remembers_its_pace(hooks: Hooks) -> None:
    await hooks.subscribe(per_minute=1)
    await hooks.tenant.post()
    assert await sent_in(hooks, 0) == 1
    assert await sent_in(hooks, 10) == 0
    await hooks.tenant.post()
    assert [await sent_in(hooks, seconds) for seconds in (1, 40, 10)] == [0, 0, 1]


async def test_retries_have_the_same_pace(hooks: Hooks) -> None:
    await hooks.subscribe(per_minute=1)
    hooks.receiver.default = answer(500)
    await hooks.tenant.post()
    await hooks.tenant.post()
    sent = [await sent_in(hooks, 10) for _ in range(19)]
    assert all(sum(sent[start : start + 6]) <= 1 for start in range(len(sent)))
    assert sum(sent) >= 3


async def test_others_do_not_wait(hooks: Hooks) -> None:
    slow = await hooks.subscribe(per_minute=1)
    await hooks.subscribe()
    for _ in range(5):
        await hooks.tenant.post()
    await hooks.deliver()
    states = {(each.webhook_id == slow["id"], each.state) for each in await hooks.deliveries()}
    assert (False, "pending") not in states
    assert len(hooks.receiver.requests) == 6


async def test_several_workers_share_a_pace(hooks: Hooks) -> None:
    await hooks.subscribe(per_minute=60)
    for _ in range(10):
        await hooks.tenant.post()
    workers = [hooks.worker() for _ in range(4)]
    await asyncio.gather(*(worker.run_due() for worker in workers))
    assert len(hooks.receiver.requests) == 2
    hooks.clock.advance(seconds=3)
    await asyncio.gather(*(worker.run_due() for worker in workers))
    assert len(hooks.receiver.requests) == 4


async def test_a_pace_is_taken_away(hooks: Hooks) -> None:
    made = await hooks.subscribe(per_minute=1)
    for _ in range(3):
        await hooks.tenant.post()
    assert await sent_in(hooks, 0) == 1
    changed = await hooks.api.patch(f"{PATH}/{made['id']}", json={"per_minute": None})
    assert "per_minute" not in changed.json()["data"]
    assert await sent_in(hooks, 61) == 2


@pytest.mark.parametrize("per_minute", [0, -1, 6_001, 1.5, "60", True])
async def test_a_pace_that_is_none(hooks: Hooks, per_minute: object) -> None:
    body = {"name": "Hook", "url": hooks.receiver.url(), "events": ["*"], "per_minute": per_minute}
    refused = await hooks.api.post(PATH, json=body)
    assert refused.status_code == 422
    assert set(refused.json()["error"]["details"]) == {"per_minute"}
