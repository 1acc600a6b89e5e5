"""A subscription or a delivery that raises delays no other."""

from __future__ import annotations

from typing import Any

import pytest
from tests.features.webhooks.hooks import A, Hooks
from tests.poisoned import poison
from tests.v1.keys import key_client

from masthead.features.webhooks.queue import DeliveryQueue
from masthead.features.webhooks.results import Result


async def other_site(hooks: Hooks) -> tuple[dict[str, Any], Any]:
    """Its subscription, after that of the first site in the queue."""
    other = await hooks.world.new_tenant("other")
    api = await key_client(other)
    return await hooks.subscribe(api=api, url=hooks.receiver.url("/other")), other


def paths(hooks: Hooks) -> list[str]:
    return [each.path for each in hooks.receiver.requests]


@pytest.mark.parametrize("spoilt", [{"url": "https://[broken"}, {"secret": "unreadable"}])
async def test_a_subscription_that_can_not_be_read(hooks: Hooks, spoilt: dict[str, str]) -> None:
    own = await hooks.subscribe()
    _, other = await other_site(hooks)
    database = hooks.world.parts.database
    was = await hooks.subscription(own["id"])
    await hooks.tenant.post()
    await other.post()
    await poison(database, "webhook_subscriptions", own["id"], **spoilt)
    await hooks.deliver()
    assert paths(hooks) == ["/other"]
    await poison(database, "webhook_subscriptions", own["id"], url=was["url"])
    if "url" in spoilt:
        hooks.clock.advance(minutes=2)
        await hooks.deliver()
        assert len(paths(hooks)) == 2


async def test_a_delivery_that_can_not_be_made_is_a_failed_attempt(hooks: Hooks) -> None:
    await hooks.subscribe()
    _, other = await other_site(hooks)
    await hooks.tenant.post()
    await other.post()
    delivery = await hooks.delivery()
    database = hooks.world.parts.database
    await poison(database, "events", delivery.event_id, created="never")
    await hooks.deliver()
    assert paths(hooks) == ["/other"]
    [attempt] = await hooks.attempts(delivery)
    assert (attempt.status, attempt.error) == (0, "An error in the service; its log has the cause.")
    attempts = await hooks.deliver_to_the_end(A)
    assert (await hooks.delivery()).state == "dead"
    assert len(attempts) > 1


async def test_a_result_that_the_database_refuses(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others of its batch are recorded, and so not sent again."""
    own = await hooks.subscribe()
    _, other = await other_site(hooks)
    await hooks.tenant.post()
    await other.post()
    record = DeliveryQueue.record

    async def refusing(
        queue: DeliveryQueue, results: list[Result], *more: Any, **named: Any
    ) -> Any:
        if any(each.delivery.queue_key.webhook_id == own["id"] for each in results):
            raise ValueError("planted")
        return await record(queue, results, *more, **named)

    monkeypatch.setattr(DeliveryQueue, "record", refusing)
    await hooks.deliver()
    log = hooks.world.parts.webhooks.deliveries.log
    assert [each.state for each in await log.list(other.id)] == ["delivered"]
    assert await hooks.states() == ["pending"]
