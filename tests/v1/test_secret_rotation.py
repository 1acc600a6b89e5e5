"""Rotating a webhook's secret is safe to repeat: an idempotent call rotates once."""

from __future__ import annotations

from tests.v1.keys import key_client
from tests.world import TenantWorld

SUBSCRIPTION = {"name": "Board", "url": "https://8.8.8.8/hook", "events": ["post.published"]}


async def test_a_repeated_rotation_gives_the_same_secret(tenant: TenantWorld) -> None:
    api = await key_client(tenant, "webhooks:write")
    made = (await api.post("/api/v1/webhooks", json=SUBSCRIPTION)).json()
    address = f"/api/v1/webhooks/{made['id']}/rotate-secret"
    once = {"idempotency-key": "rotate-1"}
    first = await api.post(address, headers=once)
    assert first.status_code == 200
    again = await api.post(address, headers=once)
    assert again.json() == first.json()
    assert first.json()["secret"] != made["secret"]
    another = await api.post(address)
    assert another.json()["secret"] != first.json()["secret"]
