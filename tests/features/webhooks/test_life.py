"""Subscriptions: counting failures, disabling, enabling again, deleting, dead deliveries."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.features.webhooks.hooks import PATH, A, B, Hooks
from tests.tls import answer

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.config.values import RetryPolicy
from masthead.engine.records.derived.daily_counts import day_of
from masthead.features.posts.collection import posts
from masthead.features.webhooks.collection import (
    DELIVERIES_DELIVERED,
    DELIVERIES_DIED,
    webhook_deliveries,
)
from masthead.features.webhooks.delivery_log import RETRY_BATCH, DeliveryFilter
from masthead.features.webhooks.statements import DROP_BATCH
from masthead.service.background import job_runner

ONCE = RetryPolicy(())
"""No retries: every failure exhausts its delivery."""


async def exhaust(hooks: Hooks, policy: RetryPolicy, count: int) -> None:
    """So many deliveries, one after the other, that fail until they are dead."""
    for _ in range(count):
        await hooks.tenant.post()
        for delay in (0, *policy.delays_seconds):
            hooks.clock.advance(seconds=delay * 1.1 + 0.01)
            await hooks.deliver(policy)


async def test_with_policy_b_five_exhausted_deliveries_in_a_row_disable(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    hooks.receiver.default = answer(500)
    await exhaust(hooks, B, 4)
    found = await hooks.subscription(subscription["id"])
    assert (found["failure_count"], found["disabled_at"]) == (4, "")
    await exhaust(hooks, B, 1)
    found = await hooks.subscription(subscription["id"])
    assert found["failure_count"] == 5
    assert found["disabled_at"] == clock.to_text(hooks.clock())
    shown = (await hooks.api.get(f"{PATH}/{subscription['id']}")).json()
    assert (shown["failure_count"], shown["disabled_at"]) == (5, found["disabled_at"])
    assert len(hooks.receiver.requests) == 20


async def test_with_policy_b_a_success_resets_the_count(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    hooks.receiver.default = answer(500)
    await exhaust(hooks, B, 4)
    hooks.receiver.next(answer(200))
    await hooks.tenant.post()
    await hooks.deliver(B)
    assert (await hooks.subscription(subscription["id"]))["failure_count"] == 0
    await exhaust(hooks, B, 4)
    found = await hooks.subscription(subscription["id"])
    assert (found["failure_count"], found["disabled_at"]) == (4, "")


async def test_a_retry_that_succeeds_is_no_failure(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    hooks.receiver.next(answer(500), answer(500), answer(500))
    await hooks.tenant.post()
    await hooks.deliver_to_the_end(B)
    assert (await hooks.delivery()).state == "delivered"
    assert (await hooks.subscription(subscription["id"]))["failure_count"] == 0


async def test_with_policy_a_nothing_is_ever_disabled(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    hooks.receiver.default = answer(500)
    await exhaust(hooks, A, 6)
    found = await hooks.subscription(subscription["id"])
    assert (found["failure_count"], found["disabled_at"]) == (6, "")
    assert await hooks.states() == ["dead"] * 6


async def test_a_custom_policy_disables_after_its_own_count(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    hooks.receiver.default = answer(500)
    await exhaust(hooks, RetryPolicy((3,), disable_after=2), 2)
    assert (await hooks.subscription(subscription["id"]))["disabled_at"]


async def disabled_with_pending(hooks: Hooks) -> str:
    """A subscription that is disabled while two of its deliveries wait for their retry."""
    subscription = await hooks.subscribe()
    hooks.receiver.next(answer(500), answer(500), answer(500))
    await hooks.tenant.post()
    await hooks.tenant.post()
    await hooks.deliver()
    await hooks.tenant.post()
    await hooks.deliver(RetryPolicy((), disable_after=1))
    assert await hooks.states() == ["dead", "dropped", "dropped"]
    return str(subscription["id"])


async def test_a_disabled_subscription_gets_nothing_new_and_nothing_pending(hooks: Hooks) -> None:
    await disabled_with_pending(hooks)
    await hooks.tenant.post()
    hooks.clock.advance(hours=12)
    assert await hooks.deliver() == 0
    assert len(hooks.receiver.requests) == 3
    assert len(await hooks.deliveries()) == 3


async def test_enabled_again_it_starts_with_new_events(hooks: Hooks) -> None:
    webhook_id = await disabled_with_pending(hooks)
    await hooks.tenant.post(title="Missed")
    answered = await hooks.api.patch(f"{PATH}/{webhook_id}", json={"disabled": False})
    assert answered.status_code == 200
    shown = answered.json()["data"]
    assert (shown["failure_count"], shown["disabled_at"]) == (0, None)
    hooks.clock.advance(hours=12)
    assert await hooks.deliver() == 0
    await hooks.tenant.post(title="New")
    assert await hooks.deliver() == 1
    assert b'"New"' in hooks.receiver.requests[-1].body


async def test_a_running_attempt_does_not_reopen_a_dropped_delivery(hooks: Hooks) -> None:
    """The last attempt of one fails at the same time as the first of another, and disables."""
    subscription = await hooks.subscribe()
    policy = RetryPolicy((60,), disable_after=1)
    hooks.receiver.default = answer(500)
    await hooks.tenant.post()
    await hooks.deliver(policy)
    hooks.clock.advance(seconds=70)
    await hooks.tenant.post()
    await hooks.deliver(policy)
    hooks.receiver.default = answer(200)
    await hooks.api.patch(f"{PATH}/{subscription['id']}", json={"disabled": False})
    hooks.clock.advance(hours=1)
    assert await hooks.deliver(policy) == 0
    assert sorted(await hooks.states()) == ["dead", "dropped"]


async def test_a_paused_subscription_gets_nothing_and_its_pending_ones_stop(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    path = f"{PATH}/{subscription['id']}"
    hooks.receiver.next(answer(500))
    await hooks.tenant.post(title="Pending")
    await hooks.deliver()
    await hooks.api.patch(path, json={"disabled": True})
    await hooks.tenant.post(title="Missed")
    hooks.clock.advance(hours=12)
    assert await hooks.deliver() == 0
    assert await hooks.states() == ["dropped"]
    await hooks.api.patch(path, json={"disabled": False})
    await hooks.tenant.post(title="New")
    assert await hooks.deliver() == 1
    assert b'"New"' in hooks.receiver.requests[-1].body


async def test_a_plan_without_webhooks_plans_no_deliveries(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    await hooks.tenant.post(title="Before")
    await hooks.tenant.update("tenants", hooks.tenant.id, {"plan": "free"})
    await hooks.tenant.post(title="On Free")
    await hooks.tenant.update("tenants", hooks.tenant.id, {"plan": "pro"})
    await hooks.tenant.post(title="After")
    assert await hooks.deliver() == 2
    sent = b" ".join(each.body for each in hooks.receiver.requests)
    assert b'"Before"' in sent
    assert b'"After"' in sent
    assert b'"On Free"' not in sent
    shown = (await hooks.api.get(f"{PATH}/{subscription['id']}")).json()
    assert shown["disabled_at"] is None
    polled = (await hooks.api.get(f"{PATH}/events")).json()["items"]
    assert "On Free" in [each["data"]["title"] for each in polled]


async def test_the_owner_is_mailed_when_a_subscription_is_disabled(hooks: Hooks) -> None:
    owner = await hooks.tenant.owner(email="owner@example.com")
    subscription = await hooks.subscribe()
    hooks.receiver.default = answer(500)
    await exhaust(hooks, B, 5)
    jobs = job_runner(hooks.world.parts)
    while await jobs.run_due():
        pass
    folder = hooks.world.parts.settings.data_dir / "mail"
    mails = [path.read_text() for path in folder.glob("*.eml")]
    (mail,) = (each for each in mails if subscription["id"] in each)
    assert f"To: {owner.email}" in mail
    assert "A webhook of" in mail


async def test_pausing_a_subscription_sends_no_email(hooks: Hooks) -> None:
    await hooks.tenant.owner()
    subscription = await hooks.subscribe()
    await hooks.api.patch(f"{PATH}/{subscription['id']}", json={"disabled": True})
    assert await job_runner(hooks.world.parts).run_due() == 0


@pytest.mark.parametrize("wait", [timedelta(), timedelta(minutes=2)], ids=["due", "later"])
async def test_deleting_drops_pending_deliveries_and_keeps_the_log(
    hooks: Hooks, wait: timedelta
) -> None:
    subscription = await hooks.subscribe()
    hooks.receiver.default = answer(500)
    await hooks.tenant.post()
    await hooks.deliver()
    assert (await hooks.api.delete(f"{PATH}/{subscription['id']}")).status_code == 204
    hooks.clock.advance(seconds=wait.total_seconds())
    assert await hooks.deliver() == 0
    delivery = await hooks.delivery()
    assert (delivery.state, delivery.webhook_id) == ("dropped", subscription["id"])
    assert len(await hooks.attempts(delivery)) == 1
    assert (await hooks.api.get(f"{PATH}/events")).json()["items"]


async def test_more_than_one_batch_of_pending_deliveries_is_dropped(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    async with hooks.world.parts.records.unit(system(hooks.tenant.id)) as unit:
        for number in range(DROP_BATCH + 1):
            await unit.create(posts, {"title": "Many", "slug": f"many-{number}"})
    await hooks.api.delete(f"{PATH}/{subscription['id']}")
    assert await hooks.deliver() == 0
    assert await hooks.deliveries(DeliveryFilter(state="pending")) == []


async def dead_letters(hooks: Hooks) -> None:
    """Four dead deliveries of two subscriptions, a minute apart."""
    await hooks.subscribe("post.created", "post.published")
    await hooks.subscribe("post.created", url=hooks.receiver.url("/second"))
    hooks.receiver.default = answer(500)
    await hooks.tenant.post(title="First")
    await hooks.deliver(ONCE)
    hooks.clock.advance(minutes=1)
    await hooks.tenant.post(title="Second")
    await hooks.deliver(ONCE)
    hooks.receiver.default = answer(200)
    hooks.receiver.requests.clear()
    assert await hooks.states() == ["dead"] * 4


async def retry(hooks: Hooks, filter_: DeliveryFilter, batch: int = RETRY_BATCH) -> int:
    log = hooks.world.parts.webhooks.deliveries.log
    return await log.retry(hooks.tenant.id, filter_, hooks.clock(), batch=batch)


async def test_retrying_one_by_hand(hooks: Hooks) -> None:
    await dead_letters(hooks)
    one = (await hooks.deliveries())[0]
    assert await retry(hooks, DeliveryFilter(ids=[one.id])) == 1
    assert await hooks.deliver(ONCE) == 1
    (received,) = hooks.receiver.requests
    assert received.headers["x-service-delivery"] == one.id
    assert sorted(await hooks.states()) == ["dead", "dead", "dead", "delivered"]
    assert await retry(hooks, DeliveryFilter(ids=[one.id])) == 0
    assert len(await hooks.attempts(one)) == 2


async def test_retrying_by_filter(hooks: Hooks) -> None:
    await dead_letters(hooks)
    webhook_id = (await hooks.deliveries())[0].webhook_id
    assert await retry(hooks, DeliveryFilter(event="post.published")) == 0
    assert await retry(hooks, DeliveryFilter(webhook_id=webhook_id)) == 2
    assert await retry(hooks, DeliveryFilter(webhook_id=webhook_id)) == 0
    assert await hooks.deliver(ONCE) == 2
    assert {
        each.webhook_id for each in await hooks.deliveries(DeliveryFilter(state="delivered"))
    } == {webhook_id}


async def test_retrying_a_period_of_time(hooks: Hooks) -> None:
    await dead_letters(hooks)
    newest, oldest = (clock.from_text(each) for each in await created(hooks))
    assert await retry(hooks, DeliveryFilter(since=newest + timedelta(seconds=1))) == 0
    assert await retry(hooks, DeliveryFilter(until=oldest)) == 0
    assert await retry(hooks, DeliveryFilter(since=oldest, until=newest)) == 2
    assert await hooks.deliver(ONCE) == 2
    assert b"First" in hooks.receiver.requests[0].body


async def created(hooks: Hooks) -> list[str]:
    moments = {each.created: None for each in await hooks.deliveries()}
    return list(moments)


async def test_retrying_all_in_batches(hooks: Hooks) -> None:
    await dead_letters(hooks)
    assert await retry(hooks, DeliveryFilter(), batch=1) == 4
    assert await hooks.deliver(ONCE) == 4
    assert await hooks.states() == ["delivered"] * 4


async def test_retrying_goes_on_past_batches_of_others(hooks: Hooks) -> None:
    await dead_letters(hooks)
    log, now = hooks.world.parts.webhooks.deliveries.log, hooks.clock()
    await hooks.api.delete(f"{PATH}/{(await hooks.deliveries())[-1].webhook_id}")
    assert await log.count_retried(hooks.tenant.id, DeliveryFilter(event="post.created"), now) == 2
    assert await retry(hooks, DeliveryFilter(event="post.published"), batch=1) == 0
    assert await retry(hooks, DeliveryFilter(event="post.created"), batch=1) == 2
    assert sorted(await hooks.states()) == ["dead", "dead", "pending", "pending"]


async def test_a_retried_delivery_has_all_its_attempts_again(hooks: Hooks) -> None:
    await hooks.subscribe()
    hooks.receiver.default = answer(500)
    await hooks.tenant.post()
    await hooks.deliver_to_the_end(B)
    hooks.clock.advance(seconds=1)
    await retry(hooks, DeliveryFilter())
    attempts = await hooks.deliver_to_the_end(B)
    assert [each.number for each in attempts] == [1, 2, 3, 4, 1, 2, 3, 4]


async def test_deliveries_without_an_active_subscription_stay_dead(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    hooks.receiver.default = answer(500)
    await hooks.tenant.post()
    await hooks.deliver(ONCE)
    await hooks.api.delete(f"{PATH}/{subscription['id']}")
    assert await retry(hooks, DeliveryFilter()) == 0
    assert await hooks.states() == ["dead"]


async def test_dead_deliveries_of_another_tenant_can_not_be_retried(hooks: Hooks) -> None:
    await dead_letters(hooks)
    other = await hooks.world.new_tenant()
    log = hooks.world.parts.webhooks.deliveries.log
    every = [each.id for each in await hooks.deliveries()]
    assert await log.retry(other.id, DeliveryFilter(ids=every), hooks.clock()) == 0
    assert await log.list(other.id) == []
    assert await log.attempts(other.id, every[0]) == []


async def test_the_log_page_by_page(hooks: Hooks) -> None:
    await dead_letters(hooks)
    log, seen = hooks.world.parts.webhooks.deliveries.log, []
    after: tuple[str, str] | None = None
    while page := await log.list(hooks.tenant.id, limit=3, after=after):
        seen += [each.id for each in page]
        after = (page[-1].created, page[-1].id)
    assert seen == [each.id for each in await hooks.deliveries()]
    assert len(seen) == 4


async def test_ended_deliveries_are_counted_by_day(hooks: Hooks) -> None:
    await hooks.subscribe()
    await hooks.tenant.post()
    await hooks.tenant.post()
    await hooks.deliver()
    first = day_of(hooks.clock())
    hooks.clock.advance(days=1)
    hooks.receiver.default = answer(500)
    await exhaust(hooks, B, 1)
    metrics = [DELIVERIES_DELIVERED, DELIVERIES_DIED]
    found = await hooks.world.parts.records.counts.by_day(
        system(hooks.tenant.id), webhook_deliveries, metrics, "0000-00-00"
    )
    assert found[DELIVERIES_DELIVERED, ""] == {first: 2}
    assert found[DELIVERIES_DIED, ""] == {day_of(hooks.clock()): 1}
