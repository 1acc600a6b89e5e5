"""The deliveries of a subscription in the public API."""

from __future__ import annotations

from tests.features.webhooks.conftest import authority, hooks, hooks_world
from tests.features.webhooks.hooks import PATH, Hooks
from tests.tls import answer

__all__ = ["authority", "hooks", "hooks_world"]


async def test_the_deliveries_of_a_subscription(hooks: Hooks) -> None:
    made, other = await hooks.subscribe(), await hooks.subscribe()
    for _ in range(3):
        await hooks.tenant.post()
        hooks.clock.advance(seconds=1)
    path = f"{PATH}/{made['id']}/deliveries"
    first = (await hooks.api.get(path, params={"per_page": 2})).json()
    assert (first["total"], first["total_pages"], len(first["items"])) == (3, 2, 2)
    assert first["items"][0].keys() == {
        *("id", "event", "event_id", "state", "attempts"),
        *("last_status", "next_attempt_at", "created"),
    }
    second = await hooks.api.get(path, params={"per_page": 2, "page": 2})
    mine = [each["id"] for each in (*first["items"], *second.json()["items"])]
    all_of_them = await hooks.deliveries()
    assert mine == [each.id for each in all_of_them if each.webhook_id == made["id"]]
    others = await hooks.api.get(f"{PATH}/{other['id']}/deliveries/{mine[0]}")
    assert others.status_code == 404


async def test_a_delivery_with_its_attempts(hooks: Hooks) -> None:
    made = await hooks.subscribe()
    hooks.receiver.next(answer(503, b"secret words"))
    await hooks.tenant.post()
    await hooks.deliver()
    path = f"{PATH}/{made['id']}/deliveries"
    ((item),) = (await hooks.api.get(path, params={"state": "pending"})).json()["items"]
    assert (item["attempts"], item["last_status"]) == (1, 503)
    assert item["next_attempt_at"]
    hooks.clock.advance(minutes=2)
    await hooks.deliver()
    answered = await hooks.api.get(f"{path}/{item['id']}")
    shown = answered.json()
    assert [each["status"] for each in shown["attempts"]] == [503, 200]
    assert (shown["state"], shown["next_attempt_at"], shown["event"]) == (
        *("delivered", None, "post.created"),
    )
    assert "secret words" not in answered.text
    assert (await hooks.api.get(path, params={"state": "pending"})).json()["items"] == []
    assert (await hooks.api.get(path, params={"state": "late"})).status_code == 422
    for unknown in ("abcdefghij12345", "x", "'"):
        assert (await hooks.api.get(f"{path}/{unknown}")).status_code == 404
