"""A subscription's URL is validated the same way through every API."""

from __future__ import annotations

import pytest
from tests.features.webhooks.hooks import PATH, Hooks
from tests.v1.keys import key_client
from tests.world import Account, TenantWorld, records_of

from masthead.base.caller import system
from masthead.base.errors import Invalid
from masthead.features.webhooks.collection import webhook_subscriptions

REFUSED = [
    "http://hooks.example/in",
    "ftp://hooks.example/in",
    "/in",
    "hooks.example",
    "https:///in",
    "https://user:password@hooks.example/in",
    "https://2130706433/in",
    "https://0x7f.1/in",
    "https://127.0.0.1./in",
    "https://hooks.example\\@10.0.0.1/in",
    "https://[fe80::1%25eth0]/in",
    # Told by the operator's settings; loopback is open in these tests.
    "https://10.0.0.1/in",
    "https://[::1]/in",
    "https://[::ffff:10.0.0.1]/in",
    "https://93.184.216.34:22/in",
]


@pytest.mark.parametrize("url", REFUSED)
async def test_the_record_store_refuses_what_the_api_does(hooks: Hooks, url: str) -> None:
    subscription = await hooks.subscribe()
    owner = await hooks.tenant.owner()
    path = records_of("webhook_subscriptions", subscription["id"])
    refused = await owner.api.patch(path, json={"url": url})
    assert (refused.status_code, list(refused.json()["data"])) == (400, ["url"])
    assert (await owner.api.get(path)).json()["url"] == subscription["url"]


async def test_a_host_name_is_resolved_through_every_api(
    tenant: TenantWorld, owner: Account
) -> None:
    """Nothing is open to webhooks here, and this name leads to the machine itself."""
    api = await key_client(tenant)
    values = {"name": "Hook", "url": "https://93.184.216.34/in", "events": ["post.created"]}
    inward = {"url": "https://localhost/in"}
    subscription = (await api.post(PATH, json=values)).json()
    refused = [
        await api.post(PATH, json=values | inward),
        await api.patch(f"{PATH}/{subscription['id']}", json=inward),
        await owner.api.patch(records_of("webhook_subscriptions", subscription["id"]), json=inward),
    ]
    assert [each.status_code for each in refused] == [422, 422, 400]
    told = [*(each.json()["error"]["details"] for each in refused[:2]), refused[2].json()["data"]]
    assert [set(each) for each in told] == [{"url"}] * 3
    shown = await owner.api.get(records_of("webhook_subscriptions", subscription["id"]))
    assert shown.json()["url"] == values["url"]


async def test_the_record_store_changes_it(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    owner = await hooks.tenant.owner()
    path = records_of("webhook_subscriptions", subscription["id"])
    changed = await owner.api.patch(path, json={"url": hooks.receiver.url("/elsewhere")})
    assert changed.status_code == 200
    await hooks.tenant.post()
    await hooks.deliver()
    assert [each.path for each in hooks.receiver.requests] == ["/elsewhere"]


async def test_the_engine_itself_refuses(hooks: Hooks) -> None:
    values = {"name": "Hook", "url": "http://hooks.example/in", "events": ["post.created"]}
    with pytest.raises(Invalid) as refused:
        await hooks.world.parts.records.create(
            system(hooks.tenant.id), webhook_subscriptions, values
        )
    assert set(refused.value.problems) == {"url"}
