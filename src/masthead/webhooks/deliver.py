"""The delivery worker: many attempts in flight, few per host, every result recorded durably."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime, timedelta

import structlog

from masthead import clock, ids
from masthead.config.keyring import DecryptionError, KeyRing
from masthead.config.values import RetryPolicy
from masthead.errors import Unavailable
from masthead.outbound.client import OutboundClient
from masthead.records.write.unit import ENCRYPTION_PURPOSE, secret_context
from masthead.webhooks.collection import DEAD, DELIVERED, PENDING, webhook_subscriptions
from masthead.webhooks.hosts import Host, Hosts, Ready, Target, host_of
from masthead.webhooks.queue import Delivery, DeliveryQueue, Lane, Result, Subscription
from masthead.webhooks.schedule import next_attempt
from masthead.webhooks.sending import ATTEMPT_SECONDS, Sent, send

MAX_CALLS = 512
MAX_CALLS_TO_SILENT = MAX_CALLS // 2
"""However many dead receivers there are, the others keep this half."""
MAX_CLAIMED = 4 * MAX_CALLS
LANES_AT_ONCE = 256
LANES_PER_CLAIM = 16
"""A claim holds its lanes' rows, for which writers wait: so it is kept short."""
IDLE_SECONDS = 0.5
BUSY_SECONDS = 0.02
"""Before a second look at a lane that somebody else held."""
OWNERLESS_EVERY = timedelta(minutes=1)
UNREADABLE_WAITS = timedelta(minutes=1)
RECORDED_AT_ONCE = 256
RECORD_AGAIN_SECONDS = 0.5
LEASE_MARGIN = timedelta(seconds=1)

log = structlog.get_logger()


class DeliveryWorker:
    def __init__(
        self,
        queue: DeliveryQueue,
        client: OutboundClient,
        keyring: KeyRing,
        policy: RetryPolicy,
        now: clock.Clock = clock.now,
        *,
        attempt_seconds: float = ATTEMPT_SECONDS,
    ) -> None:
        self._queue = queue
        self._client = client
        self._keyring = keyring
        self._policy = policy
        self._clock = now
        self._attempt_seconds = attempt_seconds
        # More would only wait inside the client, while their leases run out.
        self._hosts = Hosts(client.calls_per_host)
        self._hungry: dict[Host, None] = {}
        """Hosts that wait for one of the process's own places."""
        self._calls: set[asyncio.Task[None]] = set()
        self._calls_to_silent = 0
        self._claimed = 0
        self._is_full = False
        self._all_settled = asyncio.Event()
        self._results: asyncio.Queue[tuple[Ready, Result]] = asyncio.Queue()
        self._ownerless_at: datetime | None = None
        self._look_again_soon = False
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
            await self._give_back(self._hosts.take_waiting())
            await self._settled()

    async def run_due(self) -> int:
        """Everything that is due now, to its end; how many attempts that were."""
        async with self._recording():
            started = 0
            while (batch := await self._start_due()) or self._look_again_soon:
                started += batch
                await self._settled()
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

    async def _settled(self) -> None:
        while self._claimed:
            self._all_settled.clear()
            await self._all_settled.wait()

    async def _sleep(self) -> None:
        seconds = BUSY_SECONDS if self._look_again_soon else IDLE_SECONDS
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)

    async def _start_due(self) -> int:
        """Claims some deliveries of each lane that has any and starts them; how many."""
        self._look_again_soon = False
        try:
            return await self._serve(await self._lanes())
        except Unavailable:
            log.warning("webhooks.database_unavailable")
        # Part of the job's edge: a worker that has died would only be noticed by what it leaves
        # undone.
        except Exception:
            log.exception("webhooks.round_failed")
        return 0

    async def _lanes(self) -> list[Lane]:
        """Lanes to look at, once each: those that waited for room first."""
        self._hosts.forget_idle()
        self._is_full = self._claimed >= MAX_CLAIMED
        if self._is_full:
            return []
        now = self._clock()
        lanes = self._hosts.take_parked()
        lanes += await self._queue.due_lanes(now, LANES_AT_ONCE, self._hosts.parked())
        if self._ownerless_at is None or now >= self._ownerless_at:
            self._ownerless_at = now + OWNERLESS_EVERY
            lanes += await self._queue.ownerless_lanes(LANES_AT_ONCE)
        return list(dict.fromkeys(lanes))

    async def _serve(self, lanes: Sequence[Lane]) -> int:
        if not lanes:
            return 0
        found = await self._queue.subscriptions(lanes)
        for lane in lanes:
            if lane not in found and await self._queue.drop(lane, self._clock()):
                self._look_again_soon = True
        targets = await self._targets(found)
        started = 0
        for wanted in _in_steps(self._shares(targets)):
            if self._stopping:
                break
            started += await self._claim(wanted, targets)
        return started

    async def _targets(self, found: dict[Lane, Subscription]) -> dict[Lane, Target]:
        targets = {}
        for lane, subscription in found.items():
            try:
                targets[lane] = self._target(lane, subscription)
            except DecryptionError:
                # Nothing is wrong with the subscription: it waits until the operator has the
                # right root secret in place.
                log.error("webhooks.secret_unreadable", webhook_id=lane.webhook_id)
                await self._queue.postpone(lane, self._clock() + UNREADABLE_WAITS)
        return targets

    def _target(self, lane: Lane, subscription: Subscription) -> Target:
        place = {"tenant_id": lane.tenant_id, "id": lane.webhook_id}
        context = secret_context(webhook_subscriptions, place, "secret")
        secret = self._keyring.decrypt(ENCRYPTION_PURPOSE, subscription.secret, context)
        return Target(subscription.url, host_of(subscription.url), secret)

    def _shares(self, targets: dict[Lane, Target]) -> dict[Lane, int]:
        """How many to claim of each lane: those of one host share its room, and those that get
        none are parked until there is some again."""
        by_host: dict[Host, list[Lane]] = {}
        for lane, target in targets.items():
            by_host.setdefault(self._hosts.of(target), []).append(lane)
        shares: dict[Lane, int] = {}
        for host, lanes in by_host.items():
            room = host.room
            host.parked.update(dict.fromkeys(lanes[room:]))
            for lane in lanes[:room]:
                shares[lane] = max(room // len(lanes), 1)
        return shares

    async def _claim(self, wanted: dict[Lane, int], targets: dict[Lane, Target]) -> int:
        claimed = await self._queue.claim(wanted, self._clock())
        if len(claimed) < len(wanted):
            self._look_again_soon = True
        for lane, deliveries in claimed.items():
            target = targets[lane]
            host = self._hosts.of(target)
            host.waiting.extend(Ready(delivery, target, host) for delivery in deliveries)
            host.claimed += len(deliveries)
            self._claimed += len(deliveries)
            self._start_calls(host)
        return sum(map(len, claimed.values()))

    def _start_calls(self, host: Host) -> None:
        while host.waiting and host.calling < host.allowance and not self._stopping:
            if not self._has_place_for(host):
                self._hungry[host] = None
                return
            ready = host.waiting.popleft()
            if self._may_still_send(ready.delivery):
                self._start_call(ready)
            else:
                self._settle(ready)
        self._hungry.pop(host, None)

    def _has_place_for(self, host: Host) -> bool:
        if host.is_silent and self._calls_to_silent >= MAX_CALLS_TO_SILENT:
            return False
        return len(self._calls) < MAX_CALLS

    def _may_still_send(self, delivery: Delivery) -> bool:
        """Else the end of the lease brings it back."""
        longest = timedelta(seconds=self._attempt_seconds)
        return delivery.leased_until - self._clock() > longest + LEASE_MARGIN

    def _start_call(self, ready: Ready) -> None:
        host, is_to_silent = ready.host, ready.host.is_silent
        host.calling += 1
        self._calls_to_silent += is_to_silent
        call = asyncio.create_task(self._call(ready))
        self._calls.add(call)

        def ended(done: asyncio.Task[None]) -> None:
            self._calls.discard(done)
            self._calls_to_silent -= is_to_silent
            host.calling -= 1
            if not done.cancelled() and (failure := done.exception()):
                # The lease brings the delivery back.
                log.error("webhooks.attempt_failed", exc_info=failure)
                self._settle(ready)
            for waiting in (host, *self._hungry):
                self._start_calls(waiting)

        call.add_done_callback(ended)

    async def _call(self, ready: Ready) -> None:
        delivery, target = ready.delivery, ready.target
        sent = await send(
            self._client,
            delivery,
            target.url,
            target.secret,
            self._clock(),
            timeout_seconds=self._attempt_seconds,
        )
        result = self._judge(delivery, sent)
        if sent.status:
            ready.host.answered(sent.duration_ms / 1000)
        else:
            await self._give_back(ready.host.kept_silent())
        self._results.put_nowait((ready, result))

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
            state = PENDING if again else DEAD
        return Result(
            ids.new_log_id(),
            delivery,
            number,
            sent.status,
            sent.duration_ms,
            sent.error,
            sent.answer,
            now,
            state,
            again,
        )

    async def _give_back(self, unsent: Sequence[Ready]) -> None:
        try:
            await self._queue.release([ready.delivery for ready in unsent], self._clock())
        except Unavailable:
            # The lease brings them back.
            log.warning("webhooks.not_released", deliveries=len(unsent))
        for ready in unsent:
            self._settle(ready)

    async def _record_forever(self) -> None:
        """Writes results as they come, those that came together in one commit."""
        while True:
            batch = [await self._results.get()]
            while len(batch) < RECORDED_AT_ONCE and not self._results.empty():
                batch.append(self._results.get_nowait())
            try:
                disabled = await self._record([result for _, result in batch])
            # The job's edge again: the leases bring back what could not be recorded.
            except Exception:
                log.exception("webhooks.not_recorded", deliveries=len(batch))
                disabled = set()
            for ready, _ in batch:
                self._settle(ready)
            if disabled:
                for ready in self._hosts.take_waiting_of(disabled):
                    self._settle(ready)

    async def _record(self, results: Sequence[Result]) -> set[Lane]:
        """Tries for as long as the leases hold: what is not recorded will be sent once more."""
        loop = asyncio.get_running_loop()
        gives_up_at = loop.time() + self._queue.lease.total_seconds()
        while True:
            try:
                return await self._queue.record(results, self._policy.disable_after)
            except Unavailable:
                if self._stopping or loop.time() > gives_up_at:
                    raise
                log.warning("webhooks.recording_waits", deliveries=len(results))
                await asyncio.sleep(RECORD_AGAIN_SECONDS)

    def _settle(self, ready: Ready) -> None:
        """This worker is done with the delivery, one way or another."""
        ready.host.claimed -= 1
        self._claimed -= 1
        if not self._claimed:
            self._all_settled.set()
        if ready.host.has_room_for_parked or (self._is_full and self._claimed < MAX_CLAIMED // 2):
            self._wake.set()


def _in_steps(shares: dict[Lane, int]) -> Iterator[dict[Lane, int]]:
    lanes = list(shares)
    for start in range(0, len(lanes), LANES_PER_CLAIM):
        yield {lane: shares[lane] for lane in lanes[start : start + LANES_PER_CLAIM]}
