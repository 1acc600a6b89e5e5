"""The delivery worker: many concurrent attempts, few per host, every result recorded."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime, timedelta

from masthead.base import clock, counters, ids
from masthead.base.config.keyring import DecryptionError, KeyRing
from masthead.base.config.values import RetryPolicy
from masthead.base.errors import Unavailable
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_marked
from masthead.base.logs import log
from masthead.engine.jobs.isolation import isolated
from masthead.engine.records.write.record_rows import ENCRYPTION_PURPOSE, secret_context
from masthead.features.webhooks.attempts import SendResult
from masthead.features.webhooks.collection import DEAD, DELIVERED, PENDING, webhook_subscriptions
from masthead.features.webhooks.hosts import ClaimedDelivery, Host, Hosts, Target, host_of
from masthead.features.webhooks.queue import DeliveryQueue
from masthead.features.webhooks.results import Delivery, QueueKey, Result, Subscription
from masthead.features.webhooks.schedule import Pace, next_attempt
from masthead.features.webhooks.sending import ATTEMPT_SECONDS, send
from masthead.features.webhooks.sent_headers import headers_of
from masthead.features.webhooks.signing import Signed
from masthead.outside.outbound.client import OutboundClient

MAX_CALLS = 512
MAX_CALLS_TO_UNRESPONSIVE = MAX_CALLS // 2
"""Half of the calls stay available to responsive hosts."""
MAX_CALLS_OF_SITE = MAX_CALLS // 2
"""So one site whose receivers all hang leaves calls for the others, whatever their hosts."""
MAX_CLAIMED = 4 * MAX_CALLS
QUEUE_PAGE = 256
QUEUES_PER_CLAIM = 16
"""A claim locks its queues' rows, and writers wait for them: so it is short."""
IDLE_SECONDS = 0.5
BUSY_SECONDS = 0.02
"""The wait before claiming from a queue that was locked."""
ORPHAN_INTERVAL = timedelta(minutes=1)
UNREADABLE_RETRY = timedelta(minutes=1)
HELD_RETRY = timedelta(minutes=1)
"""How long after the end of a suspension deliveries go on at the latest."""
RECORD_BATCH = 256
RECORD_RETRY_SECONDS = 0.5
LEASE_MARGIN = timedelta(seconds=1)

UNSIGNED = Signed(0, "", "")
BROKEN = staff_marked("An error in the service; its log has the cause.")


class DeliveryWorker:
    def __init__(
        self,
        queue: DeliveryQueue,
        client: OutboundClient,
        keyring: KeyRing,
        policy: RetryPolicy,
        *,
        now: clock.Clock = clock.now,
        attempt_seconds: float = ATTEMPT_SECONDS,
        record_retry_seconds: float = RECORD_RETRY_SECONDS,
        wake: asyncio.Event | None = None,
    ) -> None:
        self._queue = queue
        self._client = client
        self._keyring = keyring
        self._policy = policy
        self._clock = now
        self._attempt_seconds = attempt_seconds
        self._record_retry_seconds = record_retry_seconds
        # More would only wait inside the client until their leases end.
        self._hosts = Hosts(client.calls_per_host)
        self._waiting_hosts: dict[Host, None] = {}
        """Hosts that wait for one of the process's call slots."""
        self._calls: set[asyncio.Task[None]] = set()
        self._calls_to_unresponsive = 0
        self._calls_of_site: Counter[TenantId] = Counter()
        self._claimed = 0
        self._is_full = False
        self._all_done = asyncio.Event()
        self._results: asyncio.Queue[tuple[ClaimedDelivery, Result]] = asyncio.Queue()
        self._orphans_checked_at: datetime | None = None
        self._polls_soon = False
        self._wake = wake or asyncio.Event()
        self._stopping = False

    def wake(self) -> None:
        """Makes the worker check for due deliveries now."""
        self._wake.set()

    def stop(self) -> None:
        """Claims nothing more; `run_forever` returns when running attempts are recorded."""
        self._stopping = True
        self._wake.set()

    async def run_forever(self) -> None:
        async with self._recording():
            while not self._stopping:
                self._wake.clear()
                if not await self._start_due():
                    await self._sleep()
            await self._release(self._hosts.take_waiting())
            await self._wait_until_done()

    async def run_due(self) -> int:
        """Sends everything that is due now; returns the number of attempts."""
        async with self._recording():
            started = 0
            while (batch := await self._start_due()) or self._polls_soon:
                started += batch
                await self._wait_until_done()
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

    async def _wait_until_done(self) -> None:
        while self._claimed:
            self._all_done.clear()
            await self._all_done.wait()

    async def _sleep(self) -> None:
        seconds = BUSY_SECONDS if self._polls_soon else IDLE_SECONDS
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)

    async def _start_due(self) -> int:
        """Claims some deliveries of each due queue and starts them; returns how many."""
        self._polls_soon = False
        try:
            return await self._process(await self._next_queues())
        except Unavailable:
            log.warning("webhooks.database_unavailable")
        # Part of the job's edge: a dead worker would only be noticed by missing deliveries.
        except Exception:
            log.exception("webhooks.round_failed")
        return 0

    async def _next_queues(self) -> list[QueueKey]:
        """Queues to claim from, once each: deferred ones first."""
        self._hosts.remove_idle()
        self._is_full = self._claimed >= MAX_CLAIMED
        if self._is_full:
            return []
        now = self._clock()
        keys = self._hosts.take_deferred()
        keys += await self._queue.due_queues(now, QUEUE_PAGE, self._hosts.deferred())
        if self._orphans_checked_at is None or now >= self._orphans_checked_at:
            self._orphans_checked_at = now + ORPHAN_INTERVAL
            keys += await self._queue.orphaned_queues(QUEUE_PAGE)
        return list(dict.fromkeys(keys))

    async def _process(self, keys: Sequence[QueueKey]) -> int:
        if not keys:
            return 0
        found = await self._queue.subscriptions(keys)
        for key in keys:
            if key not in found:
                with isolated("webhooks.drop", webhook_id=key.webhook_id):
                    if await self._queue.drop(key, self._clock()):
                        self._polls_soon = True
        targets = await self._targets(found)
        started = 0
        for wanted in _batches(self._shares(targets)):
            if self._stopping:
                break
            started += await self._claim(wanted, targets)
        return started

    async def _targets(self, found: dict[QueueKey, Subscription]) -> dict[QueueKey, Target]:
        targets = {}
        for key, subscription in found.items():
            if subscription.is_held:
                await self._queue.postpone(key, self._clock() + HELD_RETRY)
                continue
            try:
                targets[key] = self._target(key, subscription)
            except DecryptionError:
                # The subscription waits until the operator has set the right root secret.
                log.error("webhooks.secret_unreadable", webhook_id=key.webhook_id)
            # Part of the job's edge, for one subscription: the others go on.
            except Exception:
                log.exception("webhooks.subscription_unreadable", webhook_id=key.webhook_id)
            if key not in targets:
                await self._queue.postpone(key, self._clock() + UNREADABLE_RETRY)
        return targets

    def _target(self, key: QueueKey, subscription: Subscription) -> Target:
        secrets = [self._decrypted(key, "secret", subscription.secret)]
        if subscription.previous_secret_until > clock.to_text(self._clock()):
            secrets.append(self._decrypted(key, "previous_secret", subscription.previous_secret))
        headers = headers_of(self._decrypted(key, "headers", subscription.headers))
        url = subscription.url
        pace = Pace(subscription.per_minute) if subscription.per_minute else None
        return Target(url, host_of(url), secrets, headers, key.tenant_id, pace)

    def _decrypted(self, key: QueueKey, name: str, stored: str) -> str:
        if not stored:
            return ""
        record = {"tenant_id": key.tenant_id, "id": key.webhook_id}
        context = secret_context(webhook_subscriptions, record, name)
        return self._keyring.decrypt(ENCRYPTION_PURPOSE, stored, context)

    def _shares(self, targets: dict[QueueKey, Target]) -> dict[QueueKey, int]:
        """How many to claim of each queue: a site's queues of one host share its capacity, and
        those that get none are deferred until there is some again."""
        by_host: dict[Host, list[QueueKey]] = {}
        for key, target in targets.items():
            by_host.setdefault(self._hosts.of(target), []).append(key)
        shares: dict[QueueKey, int] = {}
        for host, keys in by_host.items():
            capacity = host.capacity
            host.deferred.update(dict.fromkeys(keys[capacity:]))
            for key in keys[:capacity]:
                shares[key] = max(capacity // len(keys), 1)
        return shares

    async def _claim(self, wanted: dict[QueueKey, int], targets: dict[QueueKey, Target]) -> int:
        paces = {key: pace for key in wanted if (pace := targets[key].pace)}
        claimed = await self._claim_from(wanted, paces)
        if len(claimed) < len(wanted):
            self._polls_soon = True
        for key, deliveries in claimed.items():
            target = targets[key]
            host = self._hosts.of(target)
            host.waiting.extend(ClaimedDelivery(delivery, target, host) for delivery in deliveries)
            host.claimed += len(deliveries)
            self._claimed += len(deliveries)
            self._start_calls(host)
        return sum(map(len, claimed.values()))

    async def _claim_from(
        self, wanted: dict[QueueKey, int], paces: dict[QueueKey, Pace]
    ) -> dict[QueueKey, list[Delivery]]:
        """A queue that can't be claimed from waits; the others of the batch go on."""
        try:
            return await self._queue.claim(wanted, self._clock(), paces)
        except Unavailable:
            raise
        # Part of the job's edge.
        except Exception:
            if len(wanted) > 1:
                each = [await self._claim_from({key: wanted[key]}, paces) for key in wanted]
                return {key: claimed for one in each for key, claimed in one.items()}
            [key] = wanted
            log.exception("webhooks.not_claimed", webhook_id=key.webhook_id)
            await self._queue.postpone(key, self._clock() + UNREADABLE_RETRY)
            return {}

    def _start_calls(self, host: Host) -> None:
        while host.waiting and host.active_calls < host.call_limit and not self._stopping:
            if not self._has_slot_for(host):
                self._waiting_hosts[host] = None
                return
            claimed = host.waiting.popleft()
            if self._has_lease_left(claimed.delivery):
                self._start_call(claimed)
            else:
                self._finish(claimed)
        self._waiting_hosts.pop(host, None)

    def _has_slot_for(self, host: Host) -> bool:
        if host.is_unresponsive and self._calls_to_unresponsive >= MAX_CALLS_TO_UNRESPONSIVE:
            return False
        if self._calls_of_site[host.site] >= MAX_CALLS_OF_SITE:
            return False
        return len(self._calls) < MAX_CALLS

    def _has_lease_left(self, delivery: Delivery) -> bool:
        """If not, another worker claims the delivery when its lease ends."""
        longest = timedelta(seconds=self._attempt_seconds)
        return delivery.leased_until - self._clock() > longest + LEASE_MARGIN

    def _start_call(self, claimed: ClaimedDelivery) -> None:
        host, is_to_unresponsive = claimed.host, claimed.host.is_unresponsive
        host.active_calls += 1
        self._calls_to_unresponsive += is_to_unresponsive
        self._calls_of_site[host.site] += 1
        call = asyncio.create_task(self._call(claimed))
        self._calls.add(call)

        def ended(done: asyncio.Task[None]) -> None:
            self._calls.discard(done)
            self._calls_to_unresponsive -= is_to_unresponsive
            self._calls_of_site[host.site] -= 1
            if not self._calls_of_site[host.site]:
                del self._calls_of_site[host.site]
            host.active_calls -= 1
            if not done.cancelled() and (failure := done.exception()):
                # It is claimed again when its lease ends.
                log.error("webhooks.attempt_failed", exc_info=failure)
                self._finish(claimed)
            for waiting in (host, *self._waiting_hosts):
                self._start_calls(waiting)

        call.add_done_callback(ended)

    async def _call(self, claimed: ClaimedDelivery) -> None:
        delivery, target = claimed.delivery, claimed.target
        try:
            sent = await send(
                self._client,
                delivery,
                target.url,
                target.secrets,
                more_headers=target.headers,
                now=self._clock(),
                timeout_seconds=self._attempt_seconds,
            )
        # Part of the job's edge: it is a failed attempt, the last of which ends the delivery.
        except Exception:
            log.exception("webhooks.attempt_failed", delivery_id=delivery.id)
            sent = SendResult(target.url, UNSIGNED, 0, 0, BROKEN, "")
        result = self._result_of(delivery, sent)
        if sent.status:
            claimed.host.mark_answered(sent.duration_ms / 1000)
        else:
            await self._release(claimed.host.mark_unresponsive())
        self._results.put_nowait((claimed, result))

    def _result_of(self, delivery: Delivery, sent: SendResult) -> Result:
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
            sent,
            now,
            state,
            again,
        )

    async def _release(self, unsent: Sequence[ClaimedDelivery]) -> None:
        try:
            await self._queue.release([claimed.delivery for claimed in unsent], self._clock())
        except Unavailable:
            # They are claimed again when their leases end.
            log.warning("webhooks.not_released", deliveries=len(unsent))
        for claimed in unsent:
            self._finish(claimed)

    async def _record_forever(self) -> None:
        """Writes results in batches, one commit each."""
        while True:
            batch = [await self._results.get()]
            while len(batch) < RECORD_BATCH and not self._results.empty():
                batch.append(self._results.get_nowait())
            disabled = await self._record_all([result for _, result in batch])
            for claimed, result in batch:
                counters.DELIVERIES.add(_COUNTED[result.state])
                self._finish(claimed)
            if disabled:
                for claimed in self._hosts.take_waiting_of(disabled):
                    self._finish(claimed)

    async def _record_all(self, results: Sequence[Result]) -> set[QueueKey]:
        """One that the database refuses holds up no other. What is not recorded is sent again when
        its lease ends."""
        try:
            return await self._record(results)
        # The job's edge again.
        except Exception as error:
            if len(results) > 1 and not isinstance(error, Unavailable):
                each = [await self._record_all([result]) for result in results]
                return set().union(*each)
            log.exception("webhooks.not_recorded", deliveries=len(results))
            return set()

    async def _record(self, results: Sequence[Result]) -> set[QueueKey]:
        """Retries until the leases end: an attempt that is not recorded is repeated."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._queue.lease.total_seconds()
        is_repeated = False
        while True:
            try:
                return await self._queue.record(
                    results, self._policy.disable_after, is_repeated=is_repeated
                )
            except Unavailable:
                if self._stopping or loop.time() > deadline:
                    raise
                log.warning("webhooks.recording_waits", deliveries=len(results))
                is_repeated = True
                await asyncio.sleep(self._record_retry_seconds)

    def _finish(self, claimed: ClaimedDelivery) -> None:
        """Releases the delivery's share of the worker's capacity."""
        claimed.host.claimed -= 1
        self._claimed -= 1
        if not self._claimed:
            self._all_done.set()
        if claimed.host.can_resume_deferred or (self._is_full and self._claimed < MAX_CLAIMED // 2):
            self._wake.set()


_COUNTED = {DELIVERED: counters.DELIVERED, PENDING: counters.FAILED, DEAD: counters.DEAD}
"""Counters by the new state of the delivery."""


def _batches(shares: dict[QueueKey, int]) -> Iterator[dict[QueueKey, int]]:
    keys = list(shares)
    for start in range(0, len(keys), QUEUES_PER_CLAIM):
        yield {key: shares[key] for key in keys[start : start + QUEUES_PER_CLAIM]}
