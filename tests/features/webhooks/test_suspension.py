"""A suspended site sends nothing, and afterwards all that happened meanwhile."""

from __future__ import annotations

from tests.features.webhooks.hooks import Hooks, payload_of

from masthead.features.webhooks.deliver import HELD_RETRY


async def test_deliveries_wait_while_the_site_is_suspended(hooks: Hooks) -> None:
    await hooks.subscribe("post.created")
    await hooks.tenant.post(title="Before")
    await set_status(hooks, "suspended")
    # What the service itself does goes on, such as taking payments.
    await hooks.tenant.post(title="Meanwhile")
    for _ in range(5):
        assert await hooks.deliver() == 0
        hooks.clock.moment += HELD_RETRY
    assert hooks.receiver.requests == []
    await set_status(hooks, "active")
    hooks.clock.moment += HELD_RETRY
    assert await hooks.deliver() == 2
    sent = [payload_of(each)["title"] for each in hooks.receiver.requests]
    assert sorted(sent) == ["Before", "Meanwhile"]


async def set_status(hooks: Hooks, status: str) -> None:
    await hooks.tenant.update("tenants", hooks.tenant.id, {"status": status})
