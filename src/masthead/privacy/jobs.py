"""What the worker does for data protection: building exports, erasing, and ending what is over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from masthead import clock
from masthead.caller import system
from masthead.errors import MastheadError
from masthead.jobs.runner import MAX_ATTEMPTS, Handler, Job
from masthead.privacy.asking import TENANT
from masthead.privacy.collection import gdpr_requests
from masthead.privacy.erasure import SLICE_SECONDS, Erasure
from masthead.privacy.export import Exports
from masthead.privacy.pace import Pace, Slice, SliceOver
from masthead.privacy.requests import ERASE_JOB, EXPORT_JOB, Requests
from masthead.records.collection import Record
from masthead.records.engine import ListRequest, Records
from masthead.storage.compaction import WordMerge
from masthead.storage.database import EVERY_TENANT
from masthead.storage.objects import ObjectStore

COMPACT_JOB = "privacy.compact"
PLACES = {ERASE_JOB: 1, COMPACT_JOB: 1}
"""One of these after the other, so that everybody else notices as little as can be."""
SWEPT_AT_ONCE = 100
MOST_PAGES = 64


class PrivacyWork:
    def __init__(
        self,
        records: Records,
        objects: ObjectStore,
        requests: Requests,
        exports: Exports,
        erasure: Erasure,
        words: WordMerge,
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
        request = await self._requests.find(job.payload["request_id"])
        if request is None or request["status"] != "queued":
            return
        try:
            await self._exports.build(request, job.payload["blog_name"])
        except MastheadError:
            if job.attempts >= MAX_ATTEMPTS:
                await self._requests.close(request, "failed")
            raise

    async def _erase(self, job: Job) -> None:
        """In slices, so that several erasures take turns."""
        request = await self._requests.find(job.payload["request_id"])
        if request is None or not self._is_due(request):
            return
        email = job.payload.get("email", "")
        if request["status"] == "queued" and not await self._erasure.run(request, email=email):
            async with self._records.unit(system(job.tenant_id)) as unit:
                await unit.enqueue(ERASE_JOB, dict(job.payload))
            return
        # Also when a crash came between the erasure's end and this: then it is all that is left.
        async with self._records.unit(system()) as unit:
            # Nothing of a member is found by full-text search.
            await unit.enqueue(COMPACT_JOB, {"has_words": request["subject"] == TENANT})

    def _is_due(self, request: Record) -> bool:
        """A cancelled deletion leaves its job behind; a later one has a job of its own."""
        now = clock.to_text(self._records.clock())
        is_meant = request["status"] in ("queued", "completed") and request["confirmed_at"]
        return bool(is_meant and request["grace_until"] <= now)

    async def _make_compact(self, job: Job) -> None:
        """In slices as well: whoever stops the worker waits for what it has in hand."""
        if self._words.is_needed and job.payload["has_words"]:
            is_first = job.payload.get("is_first", True)
            try:
                await self._merge_words(Slice(self.slice_seconds), is_first=is_first)
            except SliceOver:
                async with self._records.unit(system()) as unit:
                    await unit.enqueue(COMPACT_JOB, {"has_words": True, "is_first": False})
                return
        await self._compact()

    async def _merge_words(self, slice_: Slice, *, is_first: bool) -> None:
        pace = Pace(self._records.database, fewest=1, most=MOST_PAGES)
        may_go_on = True
        while may_go_on:
            async with pace.step(EVERY_TENANT) as tx:
                may_go_on = await self._words.step(tx, pace.size, is_first=is_first)
            is_first = False
            if may_go_on:
                slice_.check()

    async def sweep(self) -> None:
        """Links that are over: archives go, deletions that nobody confirmed are dropped."""
        for request in await self._over("status = 'ready' && expires_at <= @now"):
            await self._exports.expire(request)
        unconfirmed = "type = 'delete' && status = 'queued' && confirmed_at = ''"
        for request in await self._over(f"{unconfirmed} && grace_until <= @now"):
            await self._requests.close(request, "cancelled")
        # An archive cut off by a crash is in no list of keys.
        await self._objects.sweep()

    async def _over(self, filter_: str) -> list[Record]:
        wanted = ListRequest(per_page=SWEPT_AT_ONCE, filter=filter_, skip_total=True)
        return (await self._records.page(system(), gdpr_requests, wanted)).items
