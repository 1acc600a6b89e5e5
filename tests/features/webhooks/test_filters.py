"""A subscription chooses its events: all of them by `*`, and some of those by a filter over the
payload."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.features.webhooks.hooks import PATH, Hooks, payload_of
from tests.world import records_of

from masthead.engine.events.names import EVENT_NAMES
from masthead.engine.records.fields.base import FieldError
from masthead.features.webhooks.event_filter import MAX_PAYLOAD, EventFilter, passes

FIELD = EventFilter(name="filter")


class Happened(msgspec.Struct):
    payload: str
    name: str = "order.paid"
    created: str = "2026-11-16T10:00:00.000Z"


ORDER = {
    "order_id": "o6u4y2t0r8e6w4q",
    "email": "Mira@example.com",
    "total": 1800,
    "active": True,
    "member_id": None,
    "items": [{"product_id": "q1w3", "quantity": 2}, {"product_id": "x9", "quantity": 1}],
    "changed": ["status", "total"],
    "previous": {"status": "pending"},
    "percent": "50%_off",
}


def is_let_through(filter_: str, payload: dict[str, Any] = ORDER) -> bool:
    text = FIELD.check(filter_)
    return passes(text, Happened(msgspec.json.encode(payload).decode()))


@pytest.mark.parametrize(
    "filter_",
    [
        "event = 'order.paid'",
        "event ~ 'order.%'",
        "event = 'order.paid' && data.total >= 1800",
        "data.total > 1799.5 && data.total < '2000'",
        "data.email:lower = 'mira@example.com'",
        "data.email ~ 'MIRA'",
        "data.active = true && data.active != false",
        "data.missing = '' && data.missing = null && data.missing = false",
        "data.missing != 'x'",
        "data.member_id = null",
        "data.changed ?= 'total'",
        "data.changed:length = 2",
        "data.items:length > 1",
        "data.items.0.quantity = 2",
        "data.items ~ 'x9'",
        "data.previous.status = 'pending'",
        "data.percent ~ '50\\%_off'",
        "data.percent ~ data.percent",
        "(data.total = 1 || data.total = 1800) && event != 'x'",
        "@now > '2026-11-16 09:59:59.000Z' && @year = 2026",
    ],
)
def test_an_event_that_matches(filter_: str) -> None:
    assert is_let_through(filter_)


@pytest.mark.parametrize(
    "filter_",
    [
        "event = 'order.refunded'",
        "data.total > 1800",
        "data.missing > 0",
        "data.missing ~ 'a'",
        "data.missing = true",
        "data.changed ?= 'email'",
        "data.items.7.quantity = 2",
        "data.email.local = 'mira'",
        "data.order_id ~ data.email",
        "data.active = false",
    ],
)
def test_an_event_that_does_not(filter_: str) -> None:
    assert not is_let_through(filter_)


def test_an_event_that_is_too_long_to_be_filtered_is_sent() -> None:
    assert not is_let_through("data.total = 1", {"title": "x" * (MAX_PAYLOAD - 20)})
    assert is_let_through("data.total = 1", {"title": "x" * MAX_PAYLOAD})


def test_an_event_whose_filter_takes_too_long_is_sent() -> None:
    nearly = {"title": "ab" * 30_000}
    assert is_let_through("data.title ~ '%" + "a_" * 400 + "c%'", nearly)


SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
OPERANDS = st.sampled_from(
    [
        *("event", "data.a", "data.a:lower", "data.a:length", "data.a.b", "data.b.0", "data.b"),
        *("'x'", "''", "'%'", "'a_\\\\'", "12", "-1.5", "true", "false", "null", "@now", "@year"),
    ]
)
SIGNS = st.sampled_from(["=", "!=", ">", ">=", "<", "<=", "~", "!~", "?=", "?!=", "?~", "?<"])


@given(a=VALUES, b=VALUES, left=OPERANDS, sign=SIGNS, right=OPERANDS)
@example(a=2**63 - 1, b=[1e308], left="data.a", sign=">", right="'1e400'")
def test_no_payload_breaks_a_filter(a: Any, b: Any, left: str, sign: str, right: str) -> None:
    assert is_let_through(f"{left} {sign} {right}", {"a": a, "b": b}) in (True, False)


@pytest.mark.parametrize(
    "filter_",
    [
        "data.title",
        "data.title = ",
        "title = 'x'",
        "data = 'x'",
        "event.name = 'x'",
        "@request.auth.id = 'x'",
        "data.tags:each = 'x'",
        "geoDistance(1, 2, 3, 4) < 5",
        "data.a = 1 || secret = 'x'",
        " || ".join(["data.a = 1"] * 31),
        "data.a = '" + "x" * 1_000 + "'",
        5,
        ["data.a = 1"],
    ],
)
def test_a_wrong_filter_is_no_value(filter_: Any) -> None:
    with pytest.raises(FieldError):
        FIELD.check(filter_)


async def test_a_wrong_filter_is_refused_by_every_door(hooks: Hooks) -> None:
    made = await hooks.subscribe()
    owner = await hooks.tenant.owner()
    wrong = {"filter": "title = 'x'"}
    body = {"name": "Hook", "url": hooks.receiver.url(), "events": ["*"]}
    for answered in (
        await hooks.api.post(PATH, json=body | wrong),
        await hooks.api.patch(f"{PATH}/{made['id']}", json=wrong),
    ):
        assert answered.status_code == 422
        problem = answered.json()["error"]["details"]["filter"]
        assert "Unknown field title" in str(problem)
    address = records_of("webhook_subscriptions", made["id"])
    stored = await owner.api.patch(address, json=wrong)
    assert stored.status_code == 400
    assert stored.json()["data"]["filter"]["code"] == "validation_invalid_filter"


async def test_an_event_that_does_not_match_makes_no_delivery(hooks: Hooks) -> None:
    made = await hooks.subscribe("post.created", filter="data.title ~ 'light'")
    await hooks.subscribe("post.created")
    assert made["filter"] == "data.title ~ 'light'"
    await hooks.tenant.post(title="The lighthouse")
    await hooks.tenant.post(title="The harbour")
    titles: dict[str, list[str]] = {}
    events = {each["post_id"]: each["title"] for _, each in await hooks.tenant.events()}
    assert set(events.values()) == {"The lighthouse", "The harbour"}
    await hooks.deliver()
    for each in await hooks.deliveries():
        titles.setdefault(each.webhook_id, []).append(each.event_id)
    assert len(titles.pop(made["id"])) == 1
    ((_, others),) = titles.items()
    assert len(others) == 2
    sent = [payload_of(each)["title"] for each in hooks.receiver.requests]
    assert sorted(sent) == ["The harbour", "The lighthouse", "The lighthouse"]


async def test_a_filter_is_taken_away(hooks: Hooks) -> None:
    made = await hooks.subscribe("post.created", filter="data.title = 'no'")
    path = f"{PATH}/{made['id']}"
    changed = await hooks.api.patch(path, json={"filter": None})
    assert changed.status_code == 200
    assert "filter" not in changed.json()["data"]
    assert "filter" not in (await hooks.api.get(path)).json()
    await hooks.tenant.post()
    assert await hooks.states() == ["pending"]


async def test_all_events_reach_a_subscription_to_all(hooks: Hooks) -> None:
    made = await hooks.subscribe("*")
    assert made["events"] == ["*"]
    await hooks.tenant.published()
    assert {each.event for each in await hooks.deliveries()} == {"post.created", "post.published"}


async def test_a_later_event_reaches_a_subscription_to_all(hooks: Hooks) -> None:
    from masthead.features.webhooks.fanout import lists

    assert all(lists(["*"], name) for name in (*EVENT_NAMES, "an.event_of_next_year"))
    assert not lists(["post.created"], "an.event_of_next_year")
    await hooks.subscribe("*", filter="event ~ 'page.%'")
    await hooks.tenant.post()
    assert await hooks.deliveries() == []


async def test_a_test_reaches_a_subscription_whatever_its_filter(hooks: Hooks) -> None:
    made = await hooks.subscribe("*", filter="data.title = 'never'")
    tested = await hooks.api.post(f"{PATH}/{made['id']}/test")
    assert tested.json()["success"] is True
    assert len(hooks.receiver.requests) == 1
    assert [each.event for each in await hooks.deliveries()] == ["test.ping"]
