"""Events of a span of time are sent to a subscription again."""

from __future__ import annotations

from copy import copy
from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.features.webhooks.hooks import PATH, Hooks, payload_of
from tests.v1.keys import key_client
from tests.world import START

from masthead.base import clock
from masthead.features.webhooks import replays
from masthead.features.webhooks.replays import Span
from masthead.service.background import job_runner


def at(**passed: float) -> str:
    return clock.to_text(START + timedelta(**passed))


async def replay(
    hooks: Hooks, webhook_id: str, *, headers: dict[str, str] | None = None, **body: Any
) -> httpx.Response:
    return await hooks.api.post(
        f"{PATH}/{webhook_id}/replay",
        json={"from": at(hours=-1), "to": at(hours=1), **body},
        headers=headers,
    )


async def run_jobs(hooks: Hooks) -> int:
    return await job_runner(hooks.world.parts).run_due()


async def posts_each_minute(hooks: Hooks, *titles: str) -> None:
    for title in titles:
        await hooks.tenant.post(title=title)
        hooks.clock.advance(minutes=1)


def titles_sent(hooks: Hooks) -> list[str]:
    return [payload_of(each)["title"] for each in hooks.receiver.requests]


async def test_the_events_of_a_span_are_sent_again(hooks: Hooks) -> None:
    made = await hooks.subscribe("post.created", per_minute=60)
    await posts_each_minute(hooks, "Zero", "One", "Two", "Three")
    await hooks.deliver()
    while len(hooks.receiver.requests) < 4:
        hooks.clock.advance(seconds=2)
        await hooks.deliver()
    first = {payload_of(each)["title"]: each for each in hooks.receiver.requests}
    hooks.receiver.requests.clear()
    answered = await replay(hooks, made["id"], **{"from": at(minutes=1), "to": at(minutes=3)})
    assert (answered.status_code, answered.json()) == (202, {"replayed": 2})
    assert await run_jobs(hooks)
    while len(hooks.receiver.requests) < 2:
        await hooks.deliver()
        hooks.clock.advance(seconds=2)
    assert titles_sent(hooks) == ["One", "Two"]
    for each in hooks.receiver.requests:
        before = first[payload_of(each)["title"]]
        assert each.body == before.body
        assert each.headers["x-service-delivery"] != before.headers["x-service-delivery"]
    logged = await hooks.deliveries()
    assert len(logged) == 6
    assert len({each.event_id for each in logged}) == 4
    assert {each.state for each in logged} == {"delivered"}


async def test_a_subscription_gets_what_it_would_get_now(hooks: Hooks) -> None:
    await posts_each_minute(hooks, "The lighthouse", "The harbour")
    await hooks.tenant.published(title="Lights out")
    made = await hooks.subscribe("*", filter="data.title ~ 'light'")
    assert (await hooks.api.post(f"{PATH}/{made['id']}/test")).json()["success"]
    hooks.receiver.requests.clear()
    hooks.clock.advance(minutes=1)
    chosen = await replay(hooks, made["id"], events=["post.created"])
    assert chosen.json() == {"replayed": 2}
    await run_jobs(hooks)
    await hooks.deliver()
    assert titles_sent(hooks) == ["The lighthouse", "Lights out"]
    everything = await replay(hooks, made["id"], to=at(days=20))
    assert everything.json() == {"replayed": 3}


async def test_a_replay_that_begins_again_makes_no_delivery_twice(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a crash between two batches, and while a second worker has taken the job."""
    monkeypatch.setattr(replays, "_PAGE", 2)
    made = await hooks.subscribe("post.created")
    await posts_each_minute(hooks, "One", "Two", "Three")
    found = copy(hooks.world.parts.webhooks.replays)
    vars(found).pop("_sql", None)  # With statements of pages of two.
    span = Span(at(hours=-1), at(hours=1), ("post.created",), "")
    counted = await found.prepare(hooks.tenant.id, made["id"], span)
    assert counted.total == 3
    events = await found._find_events(hooks.tenant.id, span)
    await found._deliver(hooks.tenant.id, counted, events[:2])
    for _ in range(2):
        for some in (events[:2], events[2:]):
            await found._deliver(hooks.tenant.id, counted, some)
    assert len(await hooks.deliveries()) == 3 + 3


async def test_a_repeated_call_replays_once(hooks: Hooks) -> None:
    made = await hooks.subscribe("post.created")
    await hooks.tenant.post()
    hooks.clock.advance(seconds=1)
    once = {"idempotency-key": f"replay-{made['id']}"}
    answers = [await replay(hooks, made["id"], headers=once) for _ in range(2)]
    assert [each.json() for each in answers] == [{"replayed": 1}] * 2
    assert await run_jobs(hooks)
    assert await run_jobs(hooks) == 0


async def test_what_is_turned_off_meanwhile_gets_nothing(hooks: Hooks) -> None:
    made = await hooks.subscribe("post.created")
    await hooks.tenant.post()
    await hooks.deliver()
    hooks.clock.advance(seconds=1)
    await replay(hooks, made["id"])
    await hooks.api.patch(f"{PATH}/{made['id']}", json={"disabled": True})
    await run_jobs(hooks)
    await hooks.deliver()
    assert len(hooks.receiver.requests) == 1
    refused = await replay(hooks, made["id"])
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "CONFLICT")


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"from": None}, "from"),
        ({"from": "yesterday"}, "from"),
        ({"to": 5}, "to"),
        ({"to": at(hours=-1)}, "to"),
        ({"from": at(days=-31)}, "to"),
        ({"from": "0001-01-01T00:00:00Z", "to": "0001-01-02T00:00:00Z", "events": 5}, "events"),
        ({"events": ["no.such"]}, "events"),
        ({"events": ["post.published"]}, "events"),
        ({"events": ["test.ping"]}, "events"),
    ],
)
async def test_a_wrong_span_is_refused(hooks: Hooks, body: dict[str, Any], name: str) -> None:
    made = await hooks.subscribe("post.created")
    answered = await replay(hooks, made["id"], **body)
    assert answered.status_code == 422, answered.text
    assert answered.json()["error"]["details"].keys() == {name}


async def test_the_earliest_and_the_latest_moment_have_no_events(hooks: Hooks) -> None:
    made = await hooks.subscribe("post.created")
    await hooks.tenant.post()
    for begin, end in (("0001-01-01", "0001-01-02"), ("9999-12-30", "9999-12-31")):
        answered = await replay(hooks, made["id"], **{"from": begin, "to": end})
        assert (answered.status_code, answered.json()) == (202, {"replayed": 0})


async def test_too_many_events_are_refused(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replays, "MOST", 2)
    made = await hooks.subscribe("post.created")
    await posts_each_minute(hooks, "One", "Two", "Three")
    answered = await replay(hooks, made["id"])
    assert answered.status_code == 422
    assert "too many events" in str(answered.json()["error"]["details"]["to"])
    assert (await replay(hooks, made["id"], to=at(minutes=2))).json() == {"replayed": 2}


async def test_a_key_that_reads_replays_nothing(hooks: Hooks) -> None:
    made = await hooks.subscribe()
    reading = await key_client(hooks.tenant, "webhooks:read")
    answered = await replay(
        Hooks(hooks.world, hooks.tenant, reading, hooks.receiver, hooks.authority), made["id"]
    )
    assert answered.json()["error"]["code"] == "INVALID_SCOPE"
