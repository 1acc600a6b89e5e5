"""A receiver gets each subscribed event, signed, with the same bytes at every attempt."""

from __future__ import annotations

import asyncio

import pytest
import sqlalchemy as sa
from standardwebhooks import Webhook
from tests.features.webhooks.hooks import A, Hooks, payload_of
from tests.loop_time import LoopTime
from tests.tls import Exchange, Receiver, answer, hang
from tests.v1.keys import key_client
from tests.world import RunningClock

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.version import NUMBER
from masthead.features.posts.collection import posts
from masthead.features.webhooks.hosts import INITIAL_CALLS
from masthead.features.webhooks.sending import ATTEMPT_SECONDS
from masthead.features.webhooks.signing import verify
from masthead.service.background import delivery_worker
from masthead.service.schema import tables
from masthead.storage.database import scope_of


async def test_a_delivery(hooks: Hooks) -> None:
    subscription = await hooks.subscribe("post.published")
    post = await hooks.tenant.published(title="Hello")
    await hooks.deliver()
    (received,) = hooks.receiver.requests
    delivery = await hooks.delivery()
    assert (received.method, received.path) == ("POST", "/hook")
    seconds = int(hooks.clock().timestamp())
    expected = {
        "content-type": "application/json",
        "user-agent": f"Masthead/{NUMBER}",
        "x-service-event": "post.published",
        "x-service-delivery": delivery.id,
        "x-service-timestamp": str(seconds),
        "webhook-id": delivery.id,
        "webhook-timestamp": str(seconds),
    }
    assert expected.items() <= received.headers.items()
    payload = payload_of(received)
    assert payload["post_id"] == post["id"]
    assert payload["title"] == "Hello"
    assert payload["tenant_id"] == hooks.tenant.id
    signature = received.headers["x-service-signature"]
    assert verify(subscription["secret"], signature, str(seconds), received.body, now=hooks.clock())


async def test_every_attempt_has_the_same_body_and_id_and_its_own_timestamp(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    hooks.receiver.default = answer(500)
    await hooks.tenant.post()
    await hooks.deliver_to_the_end(A)
    requests = hooks.receiver.requests
    assert len(requests) == 6
    assert len({each.body for each in requests}) == 1
    assert {each.headers["x-service-delivery"] for each in requests} == {
        (await hooks.delivery()).id
    }
    stamps = [int(each.headers["x-service-timestamp"]) for each in requests]
    assert sorted(set(stamps)) == stamps
    attempts = await hooks.attempts(await hooks.delivery())
    assert stamps == [int(clock.from_text(each.created).timestamp()) for each in attempts]
    for received, stamp in zip(requests, stamps, strict=True):
        assert verify(
            subscription["secret"],
            received.headers["x-service-signature"],
            str(stamp),
            received.body,
            now=clock.from_text(attempts[stamps.index(stamp)].created),
        )


async def test_the_library_of_standard_webhooks_verifies_it(hooks: Hooks) -> None:
    # The library looks at the real time.
    hooks.clock.moment = RunningClock()()
    subscription = await hooks.subscribe()
    await hooks.tenant.post(title="Ünïcode — “quotes”")
    await hooks.deliver()
    (received,) = hooks.receiver.requests
    event = Webhook(subscription["secret"]).verify(received.body, received.headers)
    assert event["event"] == "post.created"


async def test_only_subscribed_events_are_sent(hooks: Hooks) -> None:
    await hooks.subscribe("post.deleted")
    await hooks.subscribe("post.published", "post.created", url=hooks.receiver.url("/both"))
    await hooks.tenant.published()
    await hooks.deliver()
    assert [each.path for each in hooks.receiver.requests] == ["/both", "/both"]
    names = {each.headers["x-service-event"] for each in hooks.receiver.requests}
    assert names == {"post.created", "post.published"}


async def test_every_one_of_many_subscriptions_gets_every_event(hooks: Hooks) -> None:
    """As many as there are steps of several sizes in the fan-out."""
    for number in range(11):
        await hooks.subscribe(
            "post.published", "post.created", url=hooks.receiver.url(f"/{number}")
        )
    for _ in range(4):
        await hooks.tenant.published()
    assert await hooks.deliver() == 88
    got = {(each.path, each.body) for each in hooks.receiver.requests}
    assert len(got) == len(hooks.receiver.requests) == 88
    assert {path for path, _ in got} == {f"/{number}" for number in range(11)}
    assert await hooks.states() == ["delivered"] * 88


async def test_other_tenants_get_nothing(hooks: Hooks) -> None:
    other = await hooks.world.new_tenant()
    await hooks.subscribe(api=await key_client(other))
    await hooks.tenant.post()
    assert await hooks.deliver() == 0


async def test_a_change_that_is_rolled_back_sends_nothing(hooks: Hooks) -> None:
    await hooks.subscribe()
    with pytest.raises(RuntimeError, match="changed my mind"):
        await _create_and_fail(hooks)
    assert await hooks.deliver() == 0
    assert await hooks.deliveries() == []
    assert await hooks.tenant.event_names() == []


async def _create_and_fail(hooks: Hooks) -> None:
    async with hooks.world.parts.records.unit(system(hooks.tenant.id)) as unit:
        await unit.create(posts, {"title": "Never"})
        raise RuntimeError("changed my mind")


async def test_a_unit_of_several_changes_sends_all_of_them(hooks: Hooks) -> None:
    await hooks.subscribe()
    async with hooks.world.parts.records.unit(system(hooks.tenant.id)) as unit:
        for number in range(3):
            await unit.create(posts, {"title": f"Post {number}"})
    assert await hooks.deliver() == 3


async def test_events_without_a_subscription_are_not_sent(hooks: Hooks) -> None:
    await hooks.subscribe()
    caller = system(hooks.tenant.id)
    async with hooks.world.parts.records.unit(caller, emit_events=False) as unit:
        await unit.create(posts, {"title": "Imported"})
    assert await hooks.deliver() == 0


async def test_a_rotated_secret_signs_at_once(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    hooks.receiver.next(answer(500))
    await hooks.tenant.post()
    await hooks.deliver()
    rotated = await hooks.api.post(f"/api/v1/webhooks/{subscription['id']}/rotate-secret")
    hooks.clock.advance(seconds=67)
    await hooks.deliver()
    first, second = hooks.receiver.requests
    for received, secret, is_right in (
        (first, subscription["secret"], True),
        (second, subscription["secret"], False),
        (second, rotated.json()["secret"], True),
    ):
        headers = received.headers
        stamp = headers["x-service-timestamp"]
        signature = headers["x-service-signature"]
        assert verify(secret, signature, stamp, received.body, now=hooks.clock()) is is_right


async def test_a_delivery_with_an_unreadable_secret_is_postponed(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    stored = (await hooks.subscription(subscription["id"]))["secret"]
    await _store_secret(hooks, subscription["id"], "v1.00000000.AAAA")
    await hooks.tenant.post()
    assert await hooks.deliver() == 0
    assert await hooks.states() == ["pending"]
    await _store_secret(hooks, subscription["id"], stored)
    hooks.clock.advance(minutes=1)
    assert await hooks.deliver() == 1


async def _store_secret(hooks: Hooks, webhook_id: str, stored: str) -> None:
    table = tables["webhook_subscriptions"]
    change = sa.update(table).where(table.c.id == webhook_id).values(secret=stored)
    database = hooks.world.parts.database
    statement = database.compile(change)
    async with database.transaction(scope_of(hooks.tenant.id)) as tx:
        await tx.execute(statement, statement.bind({}))


async def _answer_when_others_had_their_turn(exchange: Exchange) -> None:
    for _ in range(100):
        await asyncio.sleep(0)
    await answer(200)(exchange)


async def test_at_most_eight_at_a_time_reach_one_host(hooks: Hooks) -> None:
    hooks.receiver.default = _answer_when_others_had_their_turn
    for number in range(4):
        await hooks.subscribe(url=hooks.receiver.url(f"/{number}"))
    for _ in range(20):
        await hooks.tenant.post()
    worker = hooks.worker()
    running = asyncio.create_task(worker.run_forever())
    await hooks.receiver.wait_for(80)
    worker.stop()
    await running
    assert hooks.receiver.most_at_once == 8
    assert len({each.connection for each in hooks.receiver.requests}) <= 8


async def test_a_running_worker_sends_new_deliveries(hooks: Hooks) -> None:
    await hooks.subscribe()
    worker = delivery_worker(hooks.world.parts)
    running = asyncio.create_task(worker.run_forever())
    for number in range(1, 6):
        await hooks.tenant.post()
        await hooks.receiver.wait_for(number)
    worker.stop()
    await running
    assert await hooks.states() == ["delivered"] * 5


async def test_hung_receivers_of_one_site_do_not_delay_another_site_at_the_same_host(
    hooks: Hooks, loop_time: LoopTime
) -> None:
    """All of them at one address: the whole host looks as if it hung."""
    for number in range(4):
        path = f"/hung/{number}"
        hooks.receiver.at(path, hang)
        await hooks.subscribe(url=hooks.receiver.url(path))
    other = await hooks.world.new_tenant("other")
    async with Receiver(hooks.authority.certificate()) as quick:
        assert quick.host == hooks.receiver.host
        await hooks.subscribe(url=quick.url(), api=await key_client(other))
        worker = hooks.worker()
        running = asyncio.create_task(worker.run_forever())
        await hooks.tenant.post()
        # Those that a host may get before it has answered, then one at a time after a timeout.
        for hung in (INITIAL_CALLS, INITIAL_CALLS + 1):
            await hooks.receiver.wait_for(hung)
            with loop_time.at_most(ATTEMPT_SECONDS / 2):
                await other.post()
                worker.wake()
                await quick.wait_for(len(quick.requests) + 1)
            await loop_time.advance(ATTEMPT_SECONDS + 1)
        worker.stop()
        await hooks.receiver.refuse()
        await running
