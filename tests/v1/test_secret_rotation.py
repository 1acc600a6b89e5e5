"""A webhook's secret is shown by the call that made it, and by a repetition of that very call."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from tests.v1.keys import key_client
from tests.world import TenantWorld

from masthead.storage.database import EVERY_TENANT
from masthead.web.tables import remembered_answers

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


@pytest.mark.parametrize("rotates", [False, True])
async def test_no_table_holds_the_secret_for_the_repetition(
    tenant: TenantWorld, rotates: bool
) -> None:
    api = await key_client(tenant, "webhooks:write")
    address, once = "/api/v1/webhooks", {"idempotency-key": "once"}
    if rotates:
        made = (await api.post(address, json=SUBSCRIPTION)).json()
        address = f"{address}/{made['id']}/rotate-secret"
    shown = (await api.post(address, json=SUBSCRIPTION, headers=once)).json()
    database = tenant.world.parts.database
    mine = remembered_answers.c.tenant_id == tenant.id
    statement = database.compile(sa.select(remembered_answers.c.body).where(mine))
    ((kept,),) = await database.fetch(EVERY_TENANT, statement, statement.bind({}))
    assert shown["secret"] not in kept
    assert (await api.post(address, json=SUBSCRIPTION, headers=once)).json() == shown
