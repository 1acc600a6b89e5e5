"""A subscription adds headers to its deliveries. Their values are secrets."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from tests.features.webhooks.hooks import PATH, Hooks
from tests.world import records_of

from masthead.service.schema import tables
from masthead.storage.database import scope_of

KEY = "Bearer 7f3k-secret"


async def stored_headers(hooks: Hooks) -> tuple[str, str]:
    table = tables["webhook_subscriptions"]
    database = hooks.world.parts.database
    mine = table.c.tenant_id == hooks.tenant.id
    statement = database.compile(sa.select(table.c.headers, table.c.header_names).where(mine))
    ((headers, names),) = await database.fetch(scope_of(hooks.tenant.id), *statement({}))
    return headers, names


async def test_a_delivery_and_a_test_have_the_headers(hooks: Hooks) -> None:
    made = await hooks.subscribe(headers={"Authorization": KEY, "x-route": "news"})
    assert made["headers"] == {"Authorization": "***", "x-route": "***"}
    await hooks.tenant.post()
    await hooks.deliver()
    await hooks.api.post(f"{PATH}/{made['id']}/test")
    assert len(hooks.receiver.requests) == 2
    for received in hooks.receiver.requests:
        assert received.headers["authorization"] == KEY
        assert received.headers["x-route"] == "news"
        assert received.headers["content-type"] == "application/json"


async def test_no_answer_and_no_table_has_their_values(hooks: Hooks) -> None:
    made = await hooks.subscribe(headers={"Authorization": KEY})
    owner, path = await hooks.tenant.owner(), f"{PATH}/{made['id']}"
    record = records_of("webhook_subscriptions", made["id"])
    seen = [
        await hooks.api.get(PATH),
        await hooks.api.get(path),
        await hooks.api.patch(path, json={"name": "Other"}),
        await owner.api.get(record),
        await owner.api.patch(record, json={"headers": {"Authorization": KEY}}),
    ]
    assert [each.status_code for each in seen] == [200] * 5
    assert not any(KEY in each.text for each in seen)
    assert seen[1].json()["headers"] == {"Authorization": "***"}
    assert seen[3].json()["header_names"] == ["Authorization"]
    headers, _ = await stored_headers(hooks)
    assert headers
    assert KEY not in headers


async def test_a_change_replaces_all_headers(hooks: Hooks) -> None:
    made = await hooks.subscribe(headers={"Authorization": KEY, "x-route": "news"})
    path = f"{PATH}/{made['id']}"
    changed = await hooks.api.patch(path, json={"headers": {"x-key": "1"}})
    assert changed.json()["data"]["headers"] == {"x-key": "***"}
    await hooks.tenant.post()
    await hooks.deliver()
    (received,) = hooks.receiver.requests
    assert received.headers["x-key"] == "1"
    assert "authorization" not in received.headers
    for nothing in (None, {}):
        changed = await hooks.api.patch(path, json={"headers": nothing})
        assert "headers" not in changed.json()["data"]
    assert await stored_headers(hooks) == ("", "[]")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "example.com"},
        {"content-length": "0"},
        {"Content-Type": "text/plain"},
        {"Transfer-Encoding": "chunked"},
        {"Connection": "close"},
        {"User-Agent": "me"},
        {"webhook-id": "1"},
        {"Webhook-Anything": "1"},
        {"X-Service-Signature": "v1=0"},
        {"proxy-authorization": "x"},
        {"a b": "1"},
        {"a\r\nb": "1"},
        {"": "1"},
        {"é": "1"},
        {"x" * 101: "1"},
        {"a": "1\r\nb: 2"},
        {"a": "1\n"},
        {"a": "\x01"},
        {"a": " "},
        {"a": ""},
        {"a": "é"},
        {"a": "x" * 4_001},
        {"a": "***"},
        {"a": 1},
        {"a": None},
        {"a": "1", "A": "2"},
        {f"a{n}": "1" for n in range(11)},
        {f"a{n}": "1" * 1_000 for n in range(9)},
        ["a"],
        "a: 1",
    ],
)
async def test_headers_that_no_subscription_may_have(hooks: Hooks, headers: Any) -> None:
    body = {"name": "Hook", "url": hooks.receiver.url(), "events": ["*"], "headers": headers}
    refused = await hooks.api.post(PATH, json=body)
    assert refused.status_code == 422, refused.text
    assert set(refused.json()["error"]["details"]) == {"headers"}
