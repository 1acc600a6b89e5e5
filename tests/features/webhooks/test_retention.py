"""Rows are deleted after their retention, unless they may still be sent or polled."""

from __future__ import annotations

from typing import Any

from tests.features.webhooks.hooks import PATH, A, Hooks
from tests.tls import answer

from masthead.base.caller import system
from masthead.base.config.values import RetryPolicy
from masthead.features.posts.collection import posts
from masthead.features.webhooks.delivery_log import ALL
from masthead.features.webhooks.retention import BATCH, Retention
from masthead.service.schema import tables

ONCE = RetryPolicy(())
FOR_MONTHS = RetryPolicy((200 * 86_400,))


async def after_days(hooks: Hooks, days: float) -> None:
    hooks.clock.advance(days=days)
    await hooks.world.parts.webhooks.deliveries.sweep(hooks.clock())


async def poll(hooks: Hooks, **parameters: str) -> list[dict[str, Any]]:
    answered = await hooks.api.get(f"{PATH}/events", params=parameters)
    assert answered.status_code == 200, answered.text
    items: list[dict[str, Any]] = answered.json()["items"]
    return items


async def titles(hooks: Hooks) -> list[str]:
    return [each["data"]["title"] for each in await poll(hooks)]


async def test_attempts_are_kept_for_30_days(hooks: Hooks) -> None:
    await hooks.subscribe()
    hooks.receiver.default = answer(500)
    for _ in range(5):
        await hooks.tenant.post()
    await hooks.deliver(ONCE)
    hooks.clock.advance(days=29)
    await hooks.tenant.post()
    await hooks.deliver(ONCE)
    await after_days(hooks, 1.1)
    kept = [len(await hooks.attempts(each)) for each in await hooks.deliveries()]
    assert kept == [1, 0, 0, 0, 0, 0]


async def test_finished_deliveries_are_kept_for_30_days(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    await hooks.tenant.post()
    await hooks.deliver()
    await hooks.tenant.post()
    await hooks.api.delete(f"{PATH}/{subscription['id']}")
    await hooks.deliver()
    assert await hooks.states() == ["dropped", "delivered"]
    await after_days(hooks, 29.9)
    assert await hooks.states() == ["dropped", "delivered"]
    await after_days(hooks, 0.2)
    assert await hooks.states() == []


async def test_dead_deliveries_are_kept_for_90_days_and_can_be_retried_until_then(
    hooks: Hooks,
) -> None:
    await hooks.subscribe()
    hooks.receiver.default = answer(500)
    await hooks.tenant.post(title="First")
    await hooks.tenant.post(title="Second")
    await hooks.deliver(ONCE)
    await after_days(hooks, 89.9)
    newest, oldest = await hooks.deliveries()
    log = hooks.world.parts.webhooks.deliveries.log
    hooks.receiver.default = answer(200)
    await log.retry(hooks.tenant.id, ALL, hooks.clock())
    await hooks.deliver(ONCE)
    assert b"First" in b"".join(each.body for each in hooks.receiver.requests[2:])
    assert {each.id for each in await hooks.deliveries()} == {newest.id, oldest.id}


async def test_a_dead_delivery_is_deleted_with_its_event(hooks: Hooks) -> None:
    await hooks.subscribe()
    hooks.receiver.default = answer(500)
    await hooks.tenant.post(title="First")
    await hooks.deliver(ONCE)
    hooks.clock.advance(days=1)
    await hooks.tenant.post(title="Second")
    await after_days(hooks, 89.1)
    assert (await hooks.states(), await titles(hooks)) == (["pending"], ["Second"])


async def test_retention_starts_at_the_end_of_a_delivery(hooks: Hooks) -> None:
    await hooks.subscribe()
    hooks.receiver.next(answer(500))
    await hooks.tenant.post()
    await hooks.deliver(ONCE)
    hooks.clock.advance(days=60)
    log = hooks.world.parts.webhooks.deliveries.log
    assert await log.retry(hooks.tenant.id, ALL, hooks.clock()) == 1
    await hooks.deliver(ONCE)
    await after_days(hooks, 29.9)
    assert await hooks.states() == ["delivered"]
    await after_days(hooks, 0.2)
    assert await hooks.states() == []


async def test_a_pending_delivery_is_kept_with_its_event(hooks: Hooks) -> None:
    await hooks.subscribe()
    hooks.receiver.next(answer(500))
    await hooks.tenant.post(title="Waiting")
    await hooks.deliver(FOR_MONTHS)
    await hooks.tenant.post(title="Delivered")
    await hooks.deliver(FOR_MONTHS)
    await hooks.tenant.post(title="Newest")
    await hooks.deliver(FOR_MONTHS)
    await after_days(hooks, 199)
    assert (await hooks.states(), await titles(hooks)) == (["pending"], ["Newest", "Waiting"])
    await after_days(hooks, 22)
    assert await hooks.deliver(FOR_MONTHS) == 1
    assert b"Waiting" in hooks.receiver.requests[-1].body


async def test_events_are_kept_for_90_days_and_the_newest_of_each_name_longer(
    hooks: Hooks,
) -> None:
    draft = await hooks.tenant.post(title="Old")
    await hooks.tenant.published(title="Published")
    hooks.clock.advance(days=80)
    await hooks.tenant.post(title="New")
    await after_days(hooks, 9.9)
    names = ["post.created", "post.published", "post.created", "post.created"]
    assert [each["event"] for each in await poll(hooks)] == names
    await after_days(hooks, 0.2)
    assert [each["event"] for each in await poll(hooks)] == ["post.created", "post.published"]
    await hooks.tenant.update("posts", draft["id"], {"status": "published"})
    await after_days(hooks, 200)
    assert [each["event"] for each in await poll(hooks)] == ["post.published", "post.created"]


async def test_a_client_that_has_polled_everything_continues_after_a_long_pause(
    hooks: Hooks,
) -> None:
    await hooks.tenant.published(title="Last")
    newest = (await poll(hooks))[0]["id"]
    created = (await poll(hooks, event="post.created"))[0]["id"]
    await after_days(hooks, 400)
    assert await poll(hooks, after=newest) == []
    assert await poll(hooks, after=created, event="post.created") == []
    await hooks.tenant.post(title="At last")
    assert [each["data"]["title"] for each in await poll(hooks, after=newest)] == ["At last"]


async def test_a_client_with_a_deleted_event_is_told_how_to_continue(hooks: Hooks) -> None:
    await hooks.tenant.post(title="Passed over")
    missed = (await poll(hooks))[0]["id"]
    await hooks.tenant.post(title="Newer")
    await after_days(hooks, 91)
    refused = await hooks.api.get(f"{PATH}/events", params={"after": missed})
    assert refused.status_code == 422
    assert "90 days" in refused.text
    assert "since" in refused.text


async def many(hooks: Hooks, count: int) -> None:
    async with hooks.world.parts.records.unit(system(hooks.tenant.id)) as unit:
        for number in range(count):
            await unit.create(posts, {"title": "Many", "slug": f"many-{number}"})


async def test_more_than_a_batch(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    await many(hooks, BATCH * 2 + 1)
    await hooks.api.delete(f"{PATH}/{subscription['id']}")
    await hooks.deliver(A)
    await after_days(hooks, 91)
    assert await hooks.states() == []
    assert len(await poll(hooks)) == 1


async def test_a_sweep_stops_with_the_worker(hooks: Hooks) -> None:
    await many(hooks, 3)
    retention = Retention(hooks.world.parts.database, tables)
    retention.stop()
    hooks.clock.advance(days=91)
    await retention.sweep(hooks.clock())
    assert len(await poll(hooks)) == 3
    await Retention(hooks.world.parts.database, tables).sweep(hooks.clock())
    assert len(await poll(hooks)) == 1
