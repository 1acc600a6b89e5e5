"""While a secret is rotated with an overlap, deliveries are signed with both."""

from __future__ import annotations

from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError
from tests.features.webhooks.hooks import PATH, Hooks
from tests.tls import Received
from tests.world import RunningClock

from masthead.features.webhooks.signing import verify


async def rotated(hooks: Hooks, webhook_id: str, **body: Any) -> str:
    answered = await hooks.api.post(f"{PATH}/{webhook_id}/rotate-secret", json=body)
    assert answered.status_code == 200, answered.text
    assert answered.json().keys() == {"id", "secret"}
    secret: str = answered.json()["secret"]
    return secret


async def next_delivery(hooks: Hooks) -> Received:
    await hooks.tenant.post()
    await hooks.deliver()
    return hooks.receiver.requests[-1]


def is_signed(hooks: Hooks, received: Received, secret: str) -> bool:
    headers = received.headers
    stamp = headers["x-service-timestamp"]
    return verify(secret, headers["x-service-signature"], stamp, received.body, now=hooks.clock())


async def test_both_sign_until_the_overlap_ends(hooks: Hooks) -> None:
    made = await hooks.subscribe()
    old, new = made["secret"], await rotated(hooks, made["id"], overlap_hours=2)
    both = await next_delivery(hooks)
    first, second = both.headers["x-service-signature"].split(",")
    assert first.startswith("v1=")
    assert second.startswith("v1=")
    assert first != second
    assert [is_signed(hooks, both, each) for each in (new, old, "0" * 64)] == [True, True, False]
    tested = await hooks.api.post(f"{PATH}/{made['id']}/test")
    assert tested.json()["success"]
    assert is_signed(hooks, hooks.receiver.requests[-1], old)
    hooks.clock.advance(hours=2)
    after = await next_delivery(hooks)
    assert "," not in after.headers["x-service-signature"]
    assert [is_signed(hooks, after, each) for each in (new, old)] == [True, False]


async def test_the_library_of_standard_webhooks_verifies_both(hooks: Hooks) -> None:
    hooks.clock.moment = RunningClock()()
    made = await hooks.subscribe()
    old, new = made["secret"], await rotated(hooks, made["id"], overlap_hours=168)
    received = await next_delivery(hooks)
    for secret in (old, new):
        assert Webhook(secret).verify(received.body, received.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook("0" * 64).verify(received.body, received.headers)


async def test_a_second_rotation_ends_the_overlap_of_the_first(hooks: Hooks) -> None:
    made = await hooks.subscribe()
    second = await rotated(hooks, made["id"], overlap_hours=24)
    third = await rotated(hooks, made["id"], overlap_hours=24)
    received = await next_delivery(hooks)
    secrets = (third, second, made["secret"])
    assert [is_signed(hooks, received, each) for each in secrets] == [True, True, False]
    last = await rotated(hooks, made["id"], overlap_hours=0)
    received = await next_delivery(hooks)
    assert [is_signed(hooks, received, each) for each in (last, third)] == [True, False]


async def test_the_sweep_deletes_a_secret_whose_overlap_has_ended(hooks: Hooks) -> None:
    made = await hooks.subscribe()
    await rotated(hooks, made["id"], overlap_hours=1)
    queue = hooks.world.parts.webhooks.deliveries
    for hours, is_stored in ((0, True), (1, False)):
        hooks.clock.advance(hours=hours)
        await queue.sweep(hooks.clock())
        assert bool((await hooks.subscription(made["id"]))["previous_secret"]) is is_stored


@pytest.mark.parametrize("hours", [-1, 169, 1.5, "2", None, True])
async def test_an_overlap_that_is_none(hooks: Hooks, hours: object) -> None:
    made = await hooks.subscribe()
    address = f"{PATH}/{made['id']}/rotate-secret"
    refused = await hooks.api.post(address, json={"overlap_hours": hours})
    assert refused.status_code == 422
    assert set(refused.json()["error"]["details"]) == {"overlap_hours"}
    # Nothing was rotated.
    assert is_signed(hooks, await next_delivery(hooks), made["secret"])
