"""The delivery worker: many attempts in flight, few per host, every result recorded durably."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import msgspec
import structlog

from masthead import clock
from masthead.errors import Unavailable
from masthead.keyring import DecryptionError, KeyRing
from masthead.outbound.client import OutboundClient
from masthead.outbound.errors import OutboundError
from masthead.records.unit import ENCRYPTION_PURPOSE, secret_context
from masthead.setting_values import RetryPolicy
from masthead.webhooks.collection import DEAD, DELIVERED, PENDING, webhook_subscriptions
from masthead.webhooks.queue import Delivery, DeliveryQueue, Lane, Result, Subscription
from masthead.webhooks.schedule import next_attempt
from masthead.webhooks.signing import signed_headers

MAX_IN_FLIGHT = 512
MAX_PER_HOST = 8
CLAIMED_PER_HOST = 32
"""Claimed at once, sent eight at a time: four rounds of ten seconds stay within the lease."""
LANES_AT_ONCE = 256
IDLE_SECONDS = 1.0
PARKED_FOR = timedelta(seconds=5)
"""How long other workers leave a lane alone whose host is busy here."""
RECORDED_AT_ONCE = 64
ATTEMPT_SECONDS = 10.0
ANSWER_BYTES = 2048
GONE = 410
"""The receiver wants no more deliveries: its subscription is disabled at once."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Target:
    url: str
    host: str
    secret: str


@dataclass(slots=True)
class _Host:
    places: asyncio.Semaphore
    """How many calls the host gets at once."""
    claimed: int = 0
    parked: dict[Lane, None] = field(default_factory=dict)


class DeliveryWorker:
    def __init__(
        self,
        queue: DeliveryQueue,
        client: OutboundClient,
        keyring: KeyRing,
        policy: RetryPolicy,
        now: clock.Clock = clock.now,
        *,
        max_per_host: int = MAX_PER_HOST,
    ) -> None:
        self._queue = queue
        self._client = client
        self._keyring = keyring
        self._policy = policy
        self._clock = now
        self._max_per_host = max_per_host
        self._hosts: dict[str, _Host] = {}
        self._attempts: set[asyncio.Task[None]] = set()
        self._results: asyncio.Queue[tuple[Result, asyncio.Future[None]]] = asyncio.Queue()
        self._wake = asyncio.Event()
        self._stopping = False

    def wake(self) -> None:
        """Something may be due right now."""
        self._wake.set()

    def stop(self) -> None:
        """Takes nothing new; `run_forever` returns when what is in flight has been recorded."""
        self._stopping = True
        self._wake.set()

    async def run_forever(self) -> None:
        async with self._recording():
            while not self._stopping:
                self._wake.clear()
                if not await self._start_due():
                    await self._sleep()
            await self._drain()

    async def run_due(self) -> int:
        """Everything that is due now, to its end; how many attempts that were."""
        async with self._recording():
            started = 0
            while batch := await self._start_due():
                started += batch
                await self._drain()
            return started

    @contextlib.asynccontextmanager
    async def _recording(self) -> AsyncIterator[None]:
        recorder = asyncio.create_task(self._record_forever())
        try:
            yield
        finally:
            recorder.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await recorder

    async def _drain(self) -> None:
        while self._attempts:
            await asyncio.wait(self._attempts)

    async def _sleep(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), IDLE_SECONDS)

    async def _start_due(self) -> int:
        """Claims some deliveries of each lane that has any and starts them; how many."""
        try:
            started = 0
            for lane in [*self._unparked(), *await self._due_lanes()]:
                while len(self._attempts) >= MAX_IN_FLIGHT:
                    await asyncio.wait(self._attempts, return_when=asyncio.FIRST_COMPLETED)
                if self._stopping:
                    break
                started += await self._serve(lane)
            return started
        except Unavailable:
            log.warning("webhooks.database_unavailable")
            return 0

    async def _due_lanes(self) -> list[Lane]:
        return await self._queue.due_lanes(self._clock(), LANES_AT_ONCE)

    def _unparked(self) -> list[Lane]:
        """Lanes that were waiting for room at their host, where there is some again."""
        lanes: list[Lane] = []
        for host in self._hosts.values():
            if host.parked and host.claimed <= CLAIMED_PER_HOST // 2:
                lanes.extend(host.parked)
                host.parked.clear()
        return lanes

    async def _serve(self, lane: Lane) -> int:
        now = self._clock()
        subscription = await self._queue.subscription(lane)
        target = self._target(lane, subscription) if subscription else None
        if target is None:
            await self._queue.close_lane(lane, now)
            return 0
        host = self._hosts.setdefault(target.host, _Host(asyncio.Semaphore(self._max_per_host)))
        room = min(CLAIMED_PER_HOST - host.claimed, MAX_IN_FLIGHT - len(self._attempts))
        if room <= 0:
            # Out of the way of lanes that can be served; back as soon as the host has room.
            if lane not in host.parked:
                host.parked[lane] = None
                await self._queue.postpone(lane, now + PARKED_FOR)
            return 0
        claimed = await self._queue.claim(lane, now, room)
        for delivery in claimed:
            self._start(delivery, target, host)
        return len(claimed)

    def _target(self, lane: Lane, subscription: Subscription) -> _Target | None:
        if subscription.disabled_at:
            return None
        place = {"tenant_id": lane.tenant_id, "id": lane.webhook_id}
        try:
            secret = self._keyring.decrypt(
                ENCRYPTION_PURPOSE,
                subscription.secret,
                secret_context(webhook_subscriptions, place, "secret"),
            )
        except DecryptionError:
            log.error("webhooks.secret_unreadable", webhook_id=lane.webhook_id)
            return None
        return _Target(subscription.url, urlsplit(subscription.url).netloc, secret)

    def _start(self, delivery: Delivery, target: _Target, host: _Host) -> None:
        host.claimed += 1
        attempt = asyncio.create_task(self._attempt(delivery, target, host))
        self._attempts.add(attempt)
        attempt.add_done_callback(lambda done: self._ended(done, target, host))

    def _ended(self, attempt: asyncio.Task[None], target: _Target, host: _Host) -> None:
        self._attempts.discard(attempt)
        host.claimed -= 1
        if not host.claimed and not host.parked:
            self._hosts.pop(target.host, None)
        if host.parked or len(self._attempts) == 0:
            self._wake.set()
        if not attempt.cancelled() and (failure := attempt.exception()):
            # The lease brings the delivery back.
            log.error("webhooks.attempt_failed", exc_info=failure)

    async def _attempt(self, delivery: Delivery, target: _Target, host: _Host) -> None:
        async with host.places:
            if self._stopping:
                await self._queue.release([delivery], self._clock())
                return
            sent = await send(self._client, delivery, target.url, target.secret, self._clock())
        result = self._judge(delivery, sent)
        recorded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await self._results.put((result, recorded))
        await recorded
        if result.state == DEAD and self._policy.disable_after:
            await self._queue.disable_if_failing(
                delivery.lane, self._policy.disable_after, self._clock()
            )

    def _judge(self, delivery: Delivery, sent: Sent) -> Result:
        number = delivery.attempts + 1
        now = self._clock()
        state, again = DELIVERED, None
        if not sent.is_success:
            again = next_attempt(
                self._policy,
                number,
                now,
                jitter=random.random(),  # noqa: S311
                retry_after=sent.retry_after,
            )
            if sent.status == GONE:
                again = None
            state = PENDING if again else DEAD
        return Result(
            delivery,
            number,
            sent.status,
            sent.duration_ms,
            sent.error,
            sent.answer,
            now,
            state,
            again,
            disable=sent.status == GONE,
        )

    async def _record_forever(self) -> None:
        """Writes results as they come, those that came together in one commit."""
        while True:
            batch = [await self._results.get()]
            while len(batch) < RECORDED_AT_ONCE and not self._results.empty():
                batch.append(self._results.get_nowait())
            try:
                await self._queue.record([result for result, _ in batch])
            except Unavailable as error:
                log.warning("webhooks.not_recorded", deliveries=len(batch))
                for _, recorded in batch:
                    if not recorded.done():
                        recorded.set_exception(error)
                continue
            for _, recorded in batch:
                if not recorded.done():
                    recorded.set_result(None)


@dataclass(frozen=True, slots=True)
class Sent:
    """What came of one HTTP call; status 0 when there was no answer."""

    status: int
    duration_ms: int
    error: str
    answer: str
    retry_after: int | None = None

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


def payload_text(payload: Mapping[str, Any]) -> str:
    return msgspec.json.encode(payload).decode()


def body_of(event: str, created: str, payload: str) -> bytes:
    """The same bytes at every attempt: everything in it was fixed when the event happened."""
    timestamp = int(clock.from_text(created).timestamp())
    return f'{{"event":"{event}","timestamp":{timestamp},"payload":{payload}}}'.encode()


async def send(
    client: OutboundClient, delivery: Delivery, url: str, secret: str, now: datetime
) -> Sent:
    body = body_of(delivery.event, delivery.event_created, delivery.payload)
    headers = signed_headers(
        secret,
        event=delivery.event,
        delivery_id=delivery.id,
        timestamp=int(now.timestamp()),
        body=body,
    )
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        answer = await client.post(
            url,
            body,
            headers,
            timeout_seconds=ATTEMPT_SECONDS,
            max_answer_bytes=ANSWER_BYTES,
        )
    except OutboundError as error:
        duration_ms = int((loop.time() - began) * 1000)
        return Sent(0, duration_ms, str(error), "")
    text = answer.body_start.decode("utf-8", "replace").replace("\x00", "\ufffd")
    error_text = "" if 200 <= answer.status < 300 else f"The receiver answered {answer.status}."
    return Sent(answer.status, answer.duration_ms, error_text, text, answer.retry_after)
