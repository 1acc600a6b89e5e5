"""Failed deliveries: the log, the retry schedule, the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest
from tests.features.webhooks.hooks import A, B, Hooks
from tests.loop_time import LoopTime
from tests.tiers import representatives
from tests.tls import (
    Authority,
    Behaviour,
    Receiver,
    answer,
    cut,
    cut_mid_answer,
    drip,
    flood,
    hang,
    not_http,
    redirect,
    untrusted_certificate,
)

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.config.values import RetryPolicy
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.features.webhooks.schedule import MAX_JITTER
from masthead.features.webhooks.sending import ATTEMPT_SECONDS

CUSTOM = RetryPolicy((10, 5), disable_after=2)


@dataclass(frozen=True)
class Failure:
    name: str
    behaviour: Behaviour
    status: int
    error: str
    answer: str = ""
    is_endless: bool = False


FAILURES = [
    Failure("hangs", hang, 0, "did not answer in full in time", is_endless=True),
    Failure("500", answer(500, b"Oh no"), 500, "answered 500", "Oh no"),
    Failure("404", answer(404), 404, "answered 404"),
    Failure("301", redirect("https://elsewhere.example/"), 301, "answered 301"),
    Failure("304", answer(304), 304, "answered 304"),
    Failure("cuts at once", cut, 0, "closed the connection"),
    Failure("cuts mid-answer", cut_mid_answer, 0, "closed the connection"),
    Failure("answers without end", drip(1.0), 0, "did not answer in full in time", is_endless=True),
    Failure("no HTTP", not_http, 0, "not valid HTTP"),
    Failure("500 with 1 GB", flood(status=500), 500, "answered 500", "x" * 2048),
]


@pytest.mark.parametrize("policy", representatives([A, B, CUSTOM]), ids=["a", "b", "custom"])
@pytest.mark.parametrize("failure", FAILURES, ids=lambda each: each.name)
async def test_a_failure_is_logged_and_retried_until_it_is_dead(
    hooks: Hooks, policy: RetryPolicy, failure: Failure, loop_time: LoopTime
) -> None:
    subscription = await hooks.subscribe()
    hooks.receiver.default = failure.behaviour
    if failure.is_endless:
        hooks.receiver.default = loop_time.overlong(failure.behaviour, ATTEMPT_SECONDS)
    await hooks.tenant.post()
    started = hooks.clock()

    attempts = await hooks.deliver_to_the_end(policy)

    count = len(policy.delays_seconds) + 1
    assert [each.number for each in attempts] == list(range(1, count + 1))
    assert {each.status for each in attempts} == {failure.status}
    assert all(failure.error in each.error for each in attempts)
    # Without an answer in full nothing of it is kept.
    assert {each.answer for each in attempts} == {failure.answer}
    assert_waits(attempts[0].created, [each.created for each in attempts[1:]], policy)
    assert clock.from_text(attempts[0].created) == started.replace(microsecond=123_000)
    delivery = await hooks.delivery()
    assert (delivery.state, delivery.attempts) == ("dead", count)
    assert delivery.last_status == (failure.status or None)
    assert delivery.next_attempt_at == ""
    found = await hooks.subscription(subscription["id"])
    assert (found["failure_count"], found["disabled_at"]) == (1, "")
    assert len(hooks.receiver.requests) == count


def assert_waits(first: str, later: list[str], policy: RetryPolicy) -> None:
    """Each wait is the stated one or up to 10 % longer, never shorter."""
    moment = clock.from_text(first)
    for stated, text in zip(policy.delays_seconds, later, strict=True):
        waited = (clock.from_text(text) - moment).total_seconds()
        assert stated - 0.001 <= waited <= stated * (1 + MAX_JITTER)
        moment = clock.from_text(text)


async def test_a_refused_connection(hooks: Hooks) -> None:
    await hooks.subscribe()
    await hooks.tenant.post()
    await hooks.receiver.refuse()
    await hooks.deliver()
    (attempt,) = await hooks.attempts(await hooks.delivery())
    assert (attempt.status, attempt.error) == (0, "The host does not accept connections.")
    await hooks.receiver.listen()
    hooks.clock.advance(seconds=67)
    await hooks.deliver()
    assert (await hooks.delivery()).state == "delivered"


@pytest.fixture(
    params=[
        Authority.expired_certificate,
        Authority.certificate_of_another_host,
        lambda _: untrusted_certificate(),
    ],
    ids=["expired", "another host's", "untrusted"],
)
async def doubtful(request: pytest.FixtureRequest, authority: Authority) -> AsyncIterator[Receiver]:
    certificate: Callable[..., object] = request.param
    async with Receiver(certificate(authority)) as receiver:  # type: ignore[arg-type]
        yield receiver


async def test_a_certificate_that_is_not_trusted(hooks: Hooks, doubtful: Receiver) -> None:
    await hooks.subscribe(url=doubtful.url())
    await hooks.tenant.post()
    await hooks.deliver()
    (attempt,) = await hooks.attempts(await hooks.delivery())
    assert attempt.status == 0
    assert "certificate is not trusted" in attempt.error
    assert doubtful.requests == []
    assert (await hooks.delivery()).state == "pending"


async def test_an_address_that_became_private(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    # Inside a unit nobody asks where a URL leads.
    async with hooks.world.parts.records.unit(system(hooks.tenant.id)) as unit:
        await unit.update(
            webhook_subscriptions, subscription["id"], {"url": "https://10.0.0.7/hook"}
        )
    await hooks.tenant.post()
    await hooks.deliver()
    (attempt,) = await hooks.attempts(await hooks.delivery())
    assert attempt.status == 0
    assert "an address that this service does not call" in attempt.error
    assert "10.0.0.7" not in attempt.error


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_every_2xx_is_a_success(hooks: Hooks, status: int) -> None:
    subscription = await hooks.subscribe()
    hooks.receiver.default = answer(status)
    await hooks.tenant.post()
    assert await hooks.deliver() == 1
    delivery = await hooks.delivery()
    assert (delivery.state, delivery.last_status) == ("delivered", status)
    found = await hooks.subscription(subscription["id"])
    assert found["last_delivery_at"] == clock.to_text(hooks.clock())
    assert await hooks.deliver() == 0


async def test_a_success_of_1_gb_is_read_no_further_than_its_start(hooks: Hooks) -> None:
    await hooks.subscribe()
    hooks.receiver.default = flood()
    await hooks.tenant.post()
    await hooks.deliver()
    delivery = await hooks.delivery()
    (attempt,) = await hooks.attempts(delivery)
    assert (delivery.state, attempt.answer) == ("delivered", "x" * 2048)


async def test_an_answer_that_is_not_text(hooks: Hooks) -> None:
    await hooks.subscribe()
    hooks.receiver.default = answer(500, b"\x00\xff binary")
    await hooks.tenant.post()
    await hooks.deliver()
    (attempt,) = await hooks.attempts(await hooks.delivery())
    assert attempt.answer == "�� binary"


async def test_the_timeout_covers_the_whole_attempt(hooks: Hooks, loop_time: LoopTime) -> None:
    """Headers in time do not help when the rest is late."""
    await hooks.subscribe()
    hooks.receiver.default = loop_time.overlong(drip(ATTEMPT_SECONDS / 10), ATTEMPT_SECONDS)
    await hooks.tenant.post()
    await hooks.deliver()
    (attempt,) = await hooks.attempts(await hooks.delivery())
    assert attempt.status == 0
    assert attempt.duration_ms >= ATTEMPT_SECONDS * 1000


@pytest.mark.parametrize(
    ("asked_for", "at_least", "at_most"),
    [
        pytest.param("120", 120, 132, id="longer than the step"),
        pytest.param("5", 60, 66, id="shorter than the step"),
        pytest.param("86400", 300, 330, id="longer than the next step"),
        pytest.param("soon", 60, 66, id="nonsense"),
    ],
)
async def test_retry_after(hooks: Hooks, asked_for: str, at_least: int, at_most: int) -> None:
    await hooks.subscribe()
    hooks.receiver.next(answer(503, Retry_After=asked_for))
    await hooks.tenant.post()
    await hooks.deliver()
    again = clock.from_text((await hooks.delivery()).next_attempt_at)
    wait = (again - hooks.clock()).total_seconds()
    assert at_least - 0.001 <= wait <= at_most


async def test_nothing_is_sent_before_its_time(hooks: Hooks) -> None:
    await hooks.subscribe()
    hooks.receiver.next(answer(500))
    await hooks.tenant.post()
    await hooks.deliver()
    hooks.clock.advance(seconds=59)
    assert await hooks.deliver() == 0
    hooks.clock.advance(seconds=8)
    assert await hooks.deliver() == 1
    assert (await hooks.delivery()).state == "delivered"


@pytest.mark.parametrize("policy", [A, B, CUSTOM], ids=["a", "b", "custom"])
async def test_410_is_a_failure_like_any_other(hooks: Hooks, policy: RetryPolicy) -> None:
    subscription = await hooks.subscribe()
    hooks.receiver.default = answer(410)
    await hooks.tenant.post()
    attempts = await hooks.deliver_to_the_end(policy)
    assert len(attempts) == 1 + len(policy.delays_seconds)
    found = await hooks.subscription(subscription["id"])
    assert (found["failure_count"], found["disabled_at"]) == (1, "")


async def test_last_delivery_at_is_the_last_attempt_successful_or_not(hooks: Hooks) -> None:
    subscription = await hooks.subscribe()
    hooks.receiver.next(answer(500))
    await hooks.tenant.post()
    await hooks.deliver()
    failed = await hooks.subscription(subscription["id"])
    assert failed["last_delivery_at"] == clock.to_text(hooks.clock())
    assert failed["failure_count"] == 0
    hooks.clock.advance(minutes=2)
    await hooks.deliver()
    succeeded = await hooks.subscription(subscription["id"])
    assert succeeded["last_delivery_at"] == clock.to_text(hooks.clock())
