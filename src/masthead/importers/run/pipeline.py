"""One import, from an opened export to the report: the same for the command line and the worker.

Reading, preparing, copying pictures and writing overlap, each batch in its order. Every batch is
one transaction, so a run that is cut off at any moment can be started again and ends the same.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, closing
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct, field

from masthead.errors import Forbidden
from masthead.ids import TenantId
from masthead.importers.files.archived import Archive
from masthead.importers.html.content import Prepared, rewrite
from masthead.importers.images.wanted import WantedImages
from masthead.importers.opening import family_of
from masthead.importers.report import Note, Outcome, Report, Tally
from masthead.importers.run.author_batches import AuthorBatches
from masthead.importers.run.batch_sizes import (
    AHEAD,
    AUTHORS_PER_BATCH,
    COMMENTS_PER_BATCH,
    DEFAULT_BATCH,
    MEMBERS_PER_BATCH,
    MOST_CHARACTERS,
    MOST_ENTRIES,
)
from masthead.importers.run.comment_batches import CommentBatches
from masthead.importers.run.destination import Destination
from masthead.importers.run.drafts import Body, draft_of, fingerprint, key_of_post
from masthead.importers.run.member_batches import MemberBatches
from masthead.importers.run.memory import Memory
from masthead.importers.run.post_batches import (
    CREATE,
    UPDATE,
    Entry,
    PostBatches,
    ReadyPost,
    Written,
)
from masthead.importers.run.preparing import Preparing
from masthead.importers.run.redirects import RedirectRows
from masthead.importers.run.run_record import RunLog
from masthead.importers.source import Skipped, Source, SourceComment, SourceMember, SourcePost
from masthead.outbound.downloads import RETRY_DELAYS, RetryDelays
from masthead.records.write.unit import Unit

if TYPE_CHECKING:
    from masthead.importers.images.copying import ImageCopier, ImageFailure, ImportServices

REPEATED: Final = "the same item again"
NOT_ASKED_FOR: Final = {
    "comments": "not asked for (--include-comments)",
    "authors": "not asked for (--include-authors)",
}

Given = TypeVar("Given")
Made = TypeVar("Made")


class Request(Struct, frozen=True):
    tenant_id: TenantId
    batch_size: int = DEFAULT_BATCH
    dry_run: bool = False
    emit_events: bool = False


class Batch(Struct):
    """Entries as they were read, and how many came before them."""

    start: int
    entries: list[SourcePost | Skipped]


class ReadyBatch(Struct):
    start: int
    entries: list[Entry]
    copied: int = 0
    failures: list[Note] = field(default_factory=list)


class Stopped(Exception):
    """The process is about to end; the run is to be taken up by another."""


Watch = Callable[[Report], None]
"""Told after every batch how far the run is."""


class Import:
    def __init__(
        self,
        services: ImportServices,
        source: Source,
        request: Request,
        log: RunLog,
        watch: Watch = lambda _: None,
        *,
        retry_delays: RetryDelays = RETRY_DELAYS,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self.redirects = RedirectRows()
        self._services = services
        self._source = source
        self._request = request
        self._log = log
        self._watch = watch
        self._is_stopping = is_stopping
        self._preparing = Preparing(source.overview.posts)
        self._report = Report(source.overview.platform, dry_run=request.dry_run)
        family = family_of(source.overview)
        self._counted_posts = 0
        self._counted_members = 0
        self._counted_comments = 0
        self._counted_authors = 0
        self._author_ids: dict[str, str] = {}
        self._memory = memory = Memory(services.records.database)
        self._retry_delays = retry_delays
        self._archive = Archive(source.overview.files, source.read_file)
        into = Destination(services.records, memory, request.tenant_id, family, request.emit_events)
        self._posts = PostBatches(into)
        self._members = MemberBatches(into)
        self._comments = CommentBatches(into)
        self._authors = AuthorBatches(into)
        self._wanted_images = WantedImages(services.records, memory, request.tenant_id)
        self._copying = asyncio.Lock()
        # One thread for all of it: some parsers are tied to theirs.
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="import")

    @cached_property
    def _copier(self) -> ImageCopier:
        """Loaded with the first picture, as is all that takes files in."""
        from masthead.importers.images.copying import ImageCopier

        request = self._request
        return ImageCopier(
            self._services,
            request.tenant_id,
            self._memory,
            archive=self._archive,
            emit_events=request.emit_events,
            retry_delays=self._retry_delays,
        )

    async def run(self) -> Report:
        """Raises `BadFile` where the export turns out to be damaged after all, and `Stopped`."""
        await refuse_if_read_only(self._services, self._request.tenant_id)
        if self._source.overview.comments:
            await refuse_if_comments_are_off(self._services, self._request.tenant_id)
        earlier = await self._log.start()
        if earlier is not None:
            self._report = earlier
            self._counted_posts = earlier.done.posts
            self._counted_members = earlier.done.members
            self._counted_comments = earlier.done.comments
            self._counted_authors = earlier.done.authors
        for name, count in self._source.overview.left_out.items():
            setattr(self._report, name, Tally(skipped={NOT_ASKED_FOR[name]: count}))
        with self._reading:
            await self._import_authors()
            await self._import_posts()
            await self._import_members()
            await self._import_comments()
        return self._report

    async def _read(self, work: Callable[[], Made]) -> Made:
        return await asyncio.get_running_loop().run_in_executor(self._reading, work)

    async def _import_authors(self) -> None:
        """Before the posts, which name them: also those that were counted before."""
        entries = self._source.authors()
        start = 0
        while batch := await self._read(partial(_take, entries, AUTHORS_PER_BATCH)):
            is_counted = start < self._counted_authors
            after = (lambda _: self._report) if is_counted else self._report.after
            if self._request.dry_run:
                outcomes = await self._authors.judge(batch)
            else:
                outcomes = await self._authors.write(batch, self._progress(after), self._author_ids)
            self._report = after(outcomes)
            start += len(batch)

    async def _import_posts(self) -> None:
        batches = in_order(self._batches_of_posts(), self._made_ready)
        with closing(self._preparing):
            async with aclosing(batches) as ready_batches:
                async for ready in ready_batches:
                    await self._write_posts(ready)
                    self._end_if_stopping()

    async def _batches_of_posts(self) -> AsyncIterator[Batch]:
        reader = PostReader(self._source.posts(), self._request.batch_size)
        while batch := await self._read(partial(reader.next, self._counted_posts)):
            yield batch

    async def _made_ready(self, batch: Batch) -> ReadyBatch:
        posts = [each for each in batch.entries if isinstance(each, SourcePost)]
        fingerprints = {key_of_post(post): fingerprint(post) for post in posts}
        state = await self._posts.look(posts)
        wanted = [
            post
            for post in posts
            if state.decide(key := key_of_post(post), fingerprints[key]) in (CREATE, UPDATE)
        ]
        prepared = await self._preparing.prepare(wanted, self._source.overview.site_url)
        made = {key_of_post(post): each for post, each in zip(wanted, prepared, strict=True)}
        ready = ReadyBatch(batch.start, [])
        places = await self._copy_images([e for e in prepared if isinstance(e, Prepared)], ready)
        for entry in batch.entries:
            if isinstance(entry, Skipped):
                ready.entries.append(entry)
            else:
                key = key_of_post(entry)
                ready.entries.append(self._ready(entry, fingerprints[key], made.get(key), places))
        return ready

    def _ready(
        self,
        post: SourcePost,
        fingerprint: str,
        prepared: Prepared | str | None,
        places: dict[str, str],
    ) -> ReadyPost:
        if prepared is None:
            return ReadyPost(post, fingerprint, None)
        if isinstance(prepared, str):
            return ReadyPost(post, fingerprint, None, problem=prepared)
        html, document = _at_new_places(prepared, places)
        body = Body(html, document, places.get(post.featured_image, post.featured_image))
        ids = [self._author_ids[each] for each in post.authors if each in self._author_ids]
        draft = draft_of(post, body, list(dict.fromkeys(ids)))
        checked = self._posts.checked(draft)
        return ReadyPost(post, fingerprint, draft, checked, prepared.why_html_only)

    async def _copy_images(self, prepared: Sequence[Prepared], ready: ReadyBatch) -> dict[str, str]:
        """From old to new addresses; nothing is fetched in a dry run, only counted."""
        refs = [ref for e in prepared for ref in (*e.images, *self._archive.wanted_by(e))]
        if not refs:
            return {}
        if self._request.dry_run:
            ready.copied = await self._wanted_images.count(refs)
            return {}
        copier = self._copier
        # One batch after another, so that each has its own failures; the downloads of one overlap.
        async with self._copying:
            copied, failed = copier.copied, len(copier.failures)
            places = await copier.copy(refs)
            ready.copied = copier.copied - copied
            ready.failures = notes_of(copier.failures[failed:])
        return places

    async def _write_posts(self, ready: ReadyBatch) -> None:
        is_counted = ready.start < self._counted_posts

        def after(outcomes: Sequence[Outcome]) -> Report:
            if is_counted:
                return self._report
            return self._report.after(outcomes, ready.copied, ready.failures)

        if self._request.dry_run:
            written = Written(await self._posts.judge(ready.entries))
        else:
            written = await self._posts.write(ready.entries, self._progress(after))
        for old, new in written.redirects:
            self.redirects.add(old, new)
        self._report = after(written.outcomes)
        self._watch(self._report)

    async def _import_members(self) -> None:
        entries = self._source.members()
        start = 0
        while batch := await self._read(partial(_take, entries, MEMBERS_PER_BATCH)):
            if start >= self._counted_members:
                await self._write_members(batch)
                self._end_if_stopping()
            start += len(batch)

    async def _import_comments(self) -> None:
        """After the posts, under which they stand."""
        entries = self._source.comments()
        start = 0
        while batch := await self._read(partial(_take, entries, COMMENTS_PER_BATCH)):
            if start >= self._counted_comments:
                await self._write_comments(batch)
                self._end_if_stopping()
            start += len(batch)

    async def _write_comments(self, batch: Sequence[SourceComment | Skipped]) -> None:
        if self._request.dry_run:
            outcomes = await self._comments.judge(batch)
        else:
            outcomes = await self._comments.write(batch, self._progress(self._report.after))
        self._report = self._report.after(outcomes)
        self._watch(self._report)

    def _end_if_stopping(self) -> None:
        if self._is_stopping():
            raise Stopped

    async def _write_members(self, batch: Sequence[SourceMember | Skipped]) -> None:
        if self._request.dry_run:
            outcomes = await self._members.judge(batch)
        else:
            outcomes = await self._members.write(batch, self._progress(self._report.after))
        self._report = self._report.after(outcomes)
        self._watch(self._report)

    def _progress(
        self, after: Callable[[Sequence[Outcome]], Report]
    ) -> Callable[[Unit, Sequence[Outcome]], Awaitable[None]]:
        async def progress(unit: Unit, outcomes: Sequence[Outcome]) -> None:
            await self._log.keep(unit, after(outcomes))

        return progress


def _at_new_places(prepared: Prepared, places: dict[str, str]) -> tuple[str, dict[str, Any] | None]:
    if not places:
        return prepared.html, prepared.content_json
    return rewrite(prepared.html, prepared.content_json, places)


def notes_of(failures: Sequence[ImageFailure]) -> list[Note]:
    return [Note("image", each.source_id, url=each.url, reason=each.reason) for each in failures]


async def refuse_if_read_only(services: ImportServices, tenant_id: TenantId) -> None:
    """The engine lets the service itself write anywhere; an import is somebody's wish."""
    records = services.records
    found = await records.find(records.registry["site_settings"], {}, tenant_id=tenant_id)
    if found and (found[0]["read_only_mode"] or found[0]["deleted_at"]):
        raise Forbidden("This site is read-only. Nothing can be imported until that is lifted.")


async def refuse_if_comments_are_off(services: ImportServices, tenant_id: TenantId) -> None:
    records = services.records
    found = await records.find(records.registry["site_settings"], {}, tenant_id=tenant_id)
    if found and not found[0]["comments_enabled"]:
        raise Forbidden(
            "Comments are disabled on this site. Enable them in its settings, or import without "
            "--include-comments."
        )


class PostReader:
    """Takes batches off an export; called from threads, one at a time."""

    def __init__(self, entries: Iterator[SourcePost | Skipped], size: int) -> None:
        self._entries = entries
        self._size = size
        self._position = 0
        self._seen: set[int] = set()

    def next(self, boundary: int = 0) -> Batch | None:
        """The next batch, None at the end. No batch reaches over the boundary, up to which an
        earlier attempt at this run has counted."""
        batch = Batch(self._position, [])
        room = boundary - self._position if self._position < boundary else MOST_ENTRIES
        posts = characters = 0
        while len(batch.entries) < min(room, MOST_ENTRIES):
            entry = next(self._entries, None)
            if entry is None:
                break
            if isinstance(entry, SourcePost):
                entry = self._once(entry)
            batch.entries.append(entry)
            if isinstance(entry, SourcePost):
                posts += 1
                characters += len(entry.html)
            if posts >= self._size or characters >= MOST_CHARACTERS:
                break
        self._position += len(batch.entries)
        return batch if batch.entries else None

    def _once(self, post: SourcePost) -> SourcePost | Skipped:
        key = hash(key_of_post(post))
        if key in self._seen:
            return Skipped(post.kind, post.source_id, REPEATED, post.title)
        self._seen.add(key)
        return post


async def in_order(
    given: AsyncIterator[Given], work: Callable[[Given], Awaitable[Made]]
) -> AsyncGenerator[Made]:
    """The results in the order of what was given, with a few of them being worked on ahead."""
    ahead: deque[asyncio.Future[Made]] = deque()
    try:
        async for each in given:
            ahead.append(asyncio.ensure_future(work(each)))
            if len(ahead) > AHEAD:
                yield await ahead.popleft()
        while ahead:
            yield await ahead.popleft()
    finally:
        for left in ahead:
            left.cancel()
        await asyncio.gather(*ahead, return_exceptions=True)


def _take(entries: Iterator[Given], size: int) -> list[Given]:
    return [entry for _, entry in zip(range(size), entries, strict=False)]
