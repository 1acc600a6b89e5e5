"""The worker's data-protection jobs: building exports, erasing, and closing expired requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from masthead.base import clock
from masthead.base.caller import system
from masthead.engine.jobs.isolation import isolated
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.long_task import LongTask
from masthead.features.privacy.collection import gdpr_requests
from masthead.features.privacy.erasure import SLICE_SECONDS, Erasure
from masthead.features.privacy.export import Exports
from masthead.features.privacy.requests import ERASE_JOB, EXPORT_JOB, Requests
from masthead.features.privacy.throttle import Throttle, TimeSlice, TimeSliceOver
from masthead.storage.compaction import FullTextMerge
from masthead.storage.database import EVERY_TENANT
from masthead.storage.objects import ObjectStore

COMPACT_JOB = "privacy.compact"
CONCURRENCY = {ERASE_JOB: 1, COMPACT_JOB: 1}
"""One at a time each, to slow other work as little as possible."""
SWEEP_BATCH = 100
MAX_MERGE_PAGES = 64


class PrivacyWork:
    def __init__(
        self,
        records: Records,
        objects: ObjectStore,
        requests: Requests,
        exports: Exports,
        *,
        erasure: Erasure,
        words: FullTextMerge,
        compact: Callable[[], Awaitable[None]],
    ) -> None:
        self._records = records
        self._objects = objects
        self._requests = requests
        self._exports = exports
        self._erasure = erasure
        self._words = words
        self._compact = compact
        self.slice_seconds = SLICE_SECONDS

    def handlers(self) -> Mapping[str, Handler]:
        return {EXPORT_JOB: self._export, ERASE_JOB: self._erase, COMPACT_JOB: self._make_compact}

    async def _export(self, job: Job) -> None:
        await _Export(self._records, job, self._exports, self._requests).run()

    async def _erase(self, job: Job) -> None:
        """In time slices, so that several erasures take turns."""
        request = await self._requests.find(job.payload["request_id"])
        if request is None or not _is_planned(request):
            return
        if request["grace_until"] > clock.to_text(self._records.clock()):
            # The clock was put back since the job was claimed.
            async with self._records.unit(system(job.tenant_id)) as unit:
                await unit.enqueue(ERASE_JOB, dict(job.payload), request["grace_until"])
            return
        email = job.payload.get("email", "")
        if request["status"] == "queued" and not await self._erasure.run(request, email=email):
            async with self._records.unit(system(job.tenant_id)) as unit:
                await unit.enqueue(ERASE_JOB, dict(job.payload))
            return
        # Also if a crash came between the erasure's end and this.
        async with self._records.unit(system()) as unit:
            # Names and addresses of members and commenters are in the full-text index.
            await unit.enqueue(COMPACT_JOB, {"has_words": True})

    async def _make_compact(self, job: Job) -> None:
        """In time slices: stopping the worker waits for the running job."""
        if self._words.is_needed and job.payload["has_words"]:
            is_first = job.payload.get("is_first", True)
            try:
                await self._merge_words(TimeSlice(self.slice_seconds), is_first=is_first)
            except TimeSliceOver:
                async with self._records.unit(system()) as unit:
                    await unit.enqueue(COMPACT_JOB, {"has_words": True, "is_first": False})
                return
        await self._compact()

    async def _merge_words(self, slice_: TimeSlice, *, is_first: bool) -> None:
        throttle = Throttle(self._records.database, min_size=1, max_size=MAX_MERGE_PAGES)
        has_more = True
        while has_more:
            async with throttle.step(EVERY_TENANT) as tx:
                has_more = await self._words.step(tx, throttle.size, is_first=is_first)
            is_first = False
            if has_more:
                slice_.check()

    async def sweep(self) -> None:
        """Deletes expired archives and cancels deletions that were not confirmed in time."""
        for request in await self._find_expired("status = 'ready' && expires_at <= @now"):
            with isolated("privacy.expire", request_id=request["id"]):
                await self._exports.expire(request)
        unconfirmed = "type = 'delete' && status = 'queued' && confirmed_at = ''"
        for request in await self._find_expired(f"{unconfirmed} && grace_until <= @now"):
            with isolated("privacy.cancel", request_id=request["id"]):
                await self._requests.cancel_unconfirmed(request)
        # An archive that a crash interrupted is in no list of keys.
        await self._objects.sweep()

    async def _find_expired(self, filter_: str) -> list[Record]:
        return await self._records.first(system(), gdpr_requests, SWEEP_BATCH, filter=filter_)


def _is_planned(request: Record) -> bool:
    """The job of a cancelled deletion stays queued; a later deletion has its own job."""
    return bool(request["status"] in ("queued", "completed") and request["confirmed_at"])


class _Export(LongTask):
    collection = gdpr_requests
    key = "request_id"
    state = "status"
    gave_up = ""

    def __init__(self, records: Records, job: Job, exports: Exports, requests: Requests) -> None:
        super().__init__(records, job)
        self._exports = exports
        self._requests = requests

    async def work(self, record: Record) -> None:
        await self._exports.build(record, self.job.payload["blog_name"])

    async def fail(self, record: Record, reason: str) -> None:
        await self._requests.close(record, "failed")
