"""One import, from an opened export to the report, for the command line and the worker.

Reading, preparing, copying pictures and writing run at the same time; batches are written in
order. Each batch is one transaction, so an interrupted run can be repeated with the same result.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, closing
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct, field

from masthead.base.errors import Forbidden
from masthead.base.ids import TenantId
from masthead.base.languages.formats import listed
from masthead.base.languages.words import staff_marked, staff_words
from masthead.engine.records.collection import Record
from masthead.engine.records.write.unit import Unit
from masthead.faces.importers.convert.content import Prepared, rewrite
from masthead.faces.importers.convert.image_urls import ImageRef
from masthead.faces.importers.platforms.exports import id_namespace
from masthead.faces.importers.report import Note, Outcome, Position, Report, Tally
from masthead.faces.importers.source import (
    Skipped,
    Source,
    SourceAuthor,
    SourceComment,
    SourceMember,
    SourcePost,
)
from masthead.faces.importers.write.address_batches import ADDRESSES_PER_BATCH, AddressBatches
from masthead.faces.importers.write.author_batches import AuthorBatches
from masthead.faces.importers.write.batch_sizes import (
    AUTHORS_PER_BATCH,
    COMMENTS_PER_BATCH,
    DEFAULT_BATCH,
    MAX_CHARACTERS,
    MAX_ENTRIES,
    MEMBERS_PER_BATCH,
    PREPARED_AHEAD,
)
from masthead.faces.importers.write.batches import (
    CREATE,
    SHOWN_CHARACTERS,
    UPDATE,
    Batches,
    Given,
    State,
)
from masthead.faces.importers.write.comment_batches import CommentBatches
from masthead.faces.importers.write.destination import Destination
from masthead.faces.importers.write.destinations import is_of_picture
from masthead.faces.importers.write.drafts import Body, Prints, draft_of, key_of_post, prints_of
from masthead.faces.importers.write.dry_unit import AnyUnit
from masthead.faces.importers.write.images.archived import Archive
from masthead.faces.importers.write.images.earlier_failures import EarlierFailures
from masthead.faces.importers.write.member_batches import MemberBatches
from masthead.faces.importers.write.post_batches import Entry, PostBatches, ReadyPost
from masthead.faces.importers.write.preparing import Preparing
from masthead.faces.importers.write.previous_imports import PreviousImports
from masthead.faces.importers.write.redirects import Redirect, RedirectRows
from masthead.faces.importers.write.run_record import RunLog
from masthead.faces.importers.write.samples import Samples
from masthead.features.media.services import SharedServices
from masthead.features.payments.collection import tiers
from masthead.outside.outbound.downloads import RETRY_DELAYS, RetryDelays

if TYPE_CHECKING:
    from masthead.faces.importers.write.images.copying import ImageCopier

REPEATED: Final = staff_marked("the same item again")
COMMENTS_OFF: Final = staff_marked("comments are disabled on this site")
NO_TIER: Final = staff_marked(
    "It is for members with %(names)s, and this site has no tier of that name. Create it, then "
    "import again."
)
NOT_ASKED_FOR: Final = {
    "comments": staff_marked("not asked for (--include-comments)"),
    "authors": staff_marked("not asked for (--include-authors)"),
}

Value = TypeVar("Value")
Made = TypeVar("Made")


class Request(Struct, frozen=True):
    tenant_id: TenantId
    batch_size: int = DEFAULT_BATCH
    dry_run: bool = False
    emit_events: bool = False
    consent: str = ""


class Batch(Struct):
    start: int
    """The number of entries before this batch."""
    entries: list[SourcePost | Skipped]


class ReadyBatch(Struct):
    start: int
    entries: list[Entry]
    copied: int = 0
    to_fetch: int = 0
    failures: list[Note] = field(default_factory=list)

    def reported(self, report: Report, outcomes: Sequence[Outcome]) -> Report:
        return report.after(outcomes, self.copied, self.failures, self.to_fetch)


OnProgress = Callable[[Report], None]
"""Called after every batch."""


class Import:
    def __init__(
        self,
        services: SharedServices,
        source: Source,
        request: Request,
        log: RunLog,
        *,
        on_progress: OnProgress = lambda _: None,
        retry_delays: RetryDelays = RETRY_DELAYS,
        check_stop: Callable[[], None] = lambda: None,
        skipped: list[Note] | None = None,
    ) -> None:
        """`skipped` gets what was skipped, with the addresses of members. It is not stored."""
        self._skipped = skipped
        self.redirects = RedirectRows()
        self.samples = Samples()
        """Samples of a dry run."""
        self._tags: set[str] = set()
        self._services = services
        self._source = source
        self._request = request
        self._log = log
        self._on_progress = on_progress
        self._check_stop = check_stop
        self._preparing = Preparing(source.overview.posts)
        self._done_before = Position()
        self._previous = PreviousImports(services.records.database, request.tenant_id, log.run_id)
        self._retry_delays = retry_delays
        self._archive = Archive(source.overview.files, source.read_file)
        destination = Destination(
            services.records,
            self._previous,
            request.tenant_id,
            id_namespace(source.overview),
            request.emit_events,
            request.consent,
            request.dry_run,
        )
        self._posts = PostBatches(destination, self.redirects)
        self._members = MemberBatches(destination)
        self._destination = destination
        self._comments = CommentBatches(destination)
        self._authors = AuthorBatches(destination)
        self._addresses = AddressBatches(destination, source.overview.site_url)
        self._namespace = destination.namespace
        self._report = Report(
            source.overview.platform, dry_run=request.dry_run, namespace=self._namespace
        )
        self._earlier_failures = EarlierFailures(services.records, request.tenant_id, log.run_id)
        self._copying = asyncio.Lock()
        # One thread, because some parsers must stay in the thread that created them.
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="import")

    @cached_property
    def _copier(self) -> ImageCopier:
        """Imported with the first picture, because it loads all that stores uploads."""
        from masthead.faces.importers.write.images.copying import DryCopier, ImageCopier

        request = self._request
        return (DryCopier if request.dry_run else ImageCopier)(
            self._services,
            request.tenant_id,
            self._previous,
            archive=self._archive,
            emit_events=request.emit_events,
            retry_delays=self._retry_delays,
        )

    async def run(self) -> Report:
        """Raises `BadFile` where the export is damaged further on, and what
        `check_stop` raises between two batches."""
        source = self._source
        site = await require_writable_site(self._services, self._request.tenant_id)
        await self._earlier_failures.load(source.overview.platform, self._namespace)
        earlier = await self._log.start()
        if earlier is not None:
            self._report, self._done_before = earlier, earlier.done
        elif not self._request.dry_run:
            await self._log.continue_unfinished(self._report, self._previous)
        for name, count in source.overview.left_out.items():
            setattr(self._report, name, Tally(skipped={NOT_ASKED_FOR[name]: count}))
        overview = source.overview
        takes_comments = site is None or site["comments_enabled"]
        if overview.comments and not takes_comments:
            self._report.comments = Tally(skipped={COMMENTS_OFF: overview.comments})
        self._report.expected = Position(
            overview.posts or 0, overview.members or 0, overview.comments if takes_comments else 0
        )
        done = self._done_before
        with self._reading:
            # Authors before the posts that name them, comments after the posts they belong to.
            await self._import(self._authors, source.authors(), AUTHORS_PER_BATCH, done.authors)
            await self._import_posts()
            await self._import(self._members, source.members(), MEMBERS_PER_BATCH, done.members)
            words = source.comments() if takes_comments else iter(())
            await self._import(self._comments, words, COMMENTS_PER_BATCH, done.comments)
            await self._redirect_addresses()
        self._report.redirects, self._report.tags = self.redirects.count, len(self._tags)
        self._report.redirect_kinds = dict(self.redirects.counts)
        return self._report

    async def _read(self, work: Callable[[], Made]) -> Made:
        return await asyncio.get_running_loop().run_in_executor(self._reading, work)

    async def _import(
        self,
        batches: Batches[Given, State],
        entries: Iterator[Given | Skipped],
        size: int,
        done_before: int,
    ) -> None:
        start = 0
        while batch := await self._read(partial(_take, entries, size)):
            is_counted = start < done_before
            start += len(batch)
            if is_counted and not batches.is_repeated:
                continue
            after = (lambda _: self._report) if is_counted else self._report.after
            await self._write(batches, batch, after)
            self._check_stop()

    async def _write(
        self,
        batches: Batches[Given, State],
        entries: Sequence[Given | Skipped],
        after: Callable[[Sequence[Outcome]], Report],
    ) -> None:
        async def save(unit: AnyUnit, outcomes: Sequence[Outcome]) -> None:
            if isinstance(unit, Unit):
                await self._log.save(unit, after(outcomes))
            else:
                await self._log.save_now_and_then(after(outcomes))

        outcomes = await batches.write(entries, save)
        self._report = after(outcomes)
        self._list_skipped(entries, outcomes)
        self._on_progress(self._report)

    def _list_skipped(self, entries: Sequence[Struct], outcomes: Sequence[Outcome]) -> None:
        if self._skipped is not None:
            self._skipped += [
                note_of_skipped(entry, outcome)
                for entry, outcome in zip(entries, outcomes, strict=True)
                if outcome.result == "skipped"
            ]

    async def _redirect_addresses(self) -> None:
        """Again in every run: what is stored already stays."""
        addresses = self._source.addresses()
        while batch := await self._read(partial(_take, addresses, ADDRESSES_PER_BATCH)):
            made = await self._addresses.write(batch, self._authors.account_ids)
            self.redirects.add(made)
            self._check_stop()
        async for old, new in self._previous.imported_redirects(self._namespace):
            # Posts that stay as they are list no pictures.
            if is_of_picture(new):
                self.redirects.add([Redirect("pictures", old, new)])

    async def _import_posts(self) -> None:
        batches = map_in_order(self._prepare_batch, self._batches_of_posts())
        with closing(self._preparing):
            async with aclosing(batches) as ready_batches:
                async for ready in ready_batches:
                    await self._write_posts(ready)
                    self._check_stop()

    async def _batches_of_posts(self) -> AsyncIterator[Batch]:
        reader = PostReader(self._source.posts(), self._request.batch_size)
        while batch := await self._read(partial(reader.next, self._done_before.posts)):
            yield batch

    async def _prepare_batch(self, batch: Batch) -> ReadyBatch:
        posts = [each for each in batch.entries if isinstance(each, SourcePost)]
        prints = {key_of_post(post): prints_of(post) for post in posts}
        state = await self._posts.load(posts)
        wanted = [
            post
            for post in posts
            if state.decide(key := key_of_post(post), prints[key]) in (CREATE, UPDATE)
        ]
        prepared = await self._preparing.prepare(wanted, self._source.overview.site_url)
        made = {key_of_post(post): each for post, each in zip(wanted, prepared, strict=True)}
        levels = await self._previous.records(
            tiers.name, {name for post in wanted for name in post.levels}, by="name"
        )
        ready = ReadyBatch(batch.start, [])
        new_urls = await self._copy_images([e for e in prepared if isinstance(e, Prepared)], ready)
        as_before = [post for post in posts if key_of_post(post) not in made]
        ready.failures += await self._earlier_failures.still_shown(as_before, state.items)
        for entry in batch.entries:
            if isinstance(entry, Skipped):
                ready.entries.append(entry)
            else:
                key = key_of_post(entry)
                ready.entries.append(
                    self._ready(entry, prints[key], made.get(key), new_urls, levels=levels)
                )
        return ready

    def _ready(
        self,
        post: SourcePost,
        prints: Prints,
        prepared: Prepared | str | None,
        new_urls: dict[str, str],
        *,
        levels: Mapping[str, Record],
    ) -> ReadyPost:
        if prepared is None:
            return ReadyPost(post, prints, None)
        if isinstance(prepared, str):
            return ReadyPost(post, prints, None, problem=prepared)
        known = [levels[name]["id"] for name in post.levels if name in levels]
        if post.levels and not known:
            # Without them, every paid member could read it.
            return ReadyPost(
                post, prints, None, problem=NO_TIER % {"names": listed(post.levels, "or")}
            )
        html, document = rewrite(prepared.html, prepared.content_json, new_urls)
        body = Body(html, document, new_urls.get(post.featured_image, post.featured_image))
        account_ids = self._authors.account_ids
        ids = [account_ids[each] for each in post.authors if each in account_ids]
        draft = draft_of(post, body, list(dict.fromkeys(ids)), known)
        checked = self._posts.checked(draft)
        return ReadyPost(post, prints, draft, checked, prepared.why_html_only)

    async def _copy_images(self, prepared: Sequence[Prepared], ready: ReadyBatch) -> dict[str, str]:
        refs = [ref for e in prepared for ref in (*e.images, *self._archive.wanted_by(e))]
        return await self._copy(refs, ready)

    async def _copy(self, refs: Sequence[ImageRef], ready: ReadyBatch) -> dict[str, str]:
        """Maps old addresses to new ones. A dry run fetches nothing and only counts."""
        if not refs:
            return {}
        copier = self._copier
        # One batch at a time, so that failures are attributed to their batch; the downloads of
        # one batch run at the same time.
        async with self._copying:
            copied, to_fetch, failed = copier.copied, copier.to_fetch, len(copier.failures)
            new_urls = await copier.copy(refs)
            ready.copied, ready.to_fetch = copier.copied - copied, copier.to_fetch - to_fetch
            ready.failures = copier.failures[failed:]
        if redirects := self._addresses.pictures(refs, new_urls):
            self.redirects.add(await self._addresses.write_pictures(redirects))
        return new_urls

    async def _write_posts(self, ready: ReadyBatch) -> None:
        is_counted = ready.start < self._done_before.posts

        def after(outcomes: Sequence[Outcome]) -> Report:
            if is_counted:
                return self._report
            return ready.reported(self._report, outcomes)

        await self._write(self._posts, ready.entries, after)
        posts = [each for each in ready.entries if isinstance(each, ReadyPost)]
        if self._request.dry_run:
            self.samples.add(posts)
        for each in posts:
            self._tags.update(each.post.tags)


def note_of_skipped(entry: Struct, outcome: Outcome) -> Note:
    """Names the item in full, other than the outcome, which is stored."""
    item = entry.post if isinstance(entry, ReadyPost) else entry
    if isinstance(item, SourceMember):
        source_id, title = item.email, item.name
    elif isinstance(item, SourceComment):
        source_id, title = item.source_id, item.author_name
    elif isinstance(item, SourceAuthor):
        source_id, title = item.source_id, item.name
    else:
        assert isinstance(item, SourcePost | Skipped)
        source_id, title = item.source_id, item.title
    return Note(outcome.what, source_id, title[:SHOWN_CHARACTERS], reason=outcome.reason)


async def require_writable_site(services: SharedServices, tenant_id: TenantId) -> Record | None:
    """Its settings. Checked here, because the engine lets the system caller write to a read-only
    site."""
    records = services.records
    found = await records.find_one(records.registry["site_settings"], {}, tenant_id=tenant_id)
    if found and (found["read_only_mode"] or found["deleted_at"]):
        raise Forbidden(
            staff_words(
                "This site is read-only. Nothing can be imported until it is writable again."
            )
        )
    return found


class PostReader:
    """Reads batches of an export; called from threads, one at a time."""

    def __init__(self, entries: Iterator[SourcePost | Skipped], size: int) -> None:
        self._entries = entries
        self._size = size
        self._position = 0
        self._seen: set[int] = set()

    def next(self, boundary: int = 0) -> Batch | None:
        """The next batch, None at the end. No batch crosses the boundary, up to which an earlier
        attempt has counted the entries."""
        batch = Batch(self._position, [])
        left = boundary - self._position if self._position < boundary else MAX_ENTRIES
        posts = characters = 0
        while len(batch.entries) < min(left, MAX_ENTRIES):
            entry = next(self._entries, None)
            if entry is None:
                break
            if isinstance(entry, SourcePost):
                entry = self._without_repeats(entry)
            batch.entries.append(entry)
            if isinstance(entry, SourcePost):
                posts += 1
                characters += len(entry.html)
            if posts >= self._size or characters >= MAX_CHARACTERS:
                break
        self._position += len(batch.entries)
        return batch if batch.entries else None

    def _without_repeats(self, post: SourcePost) -> SourcePost | Skipped:
        key = hash(key_of_post(post))
        if key in self._seen:
            return Skipped(post.kind, post.source_id, REPEATED, post.title)
        self._seen.add(key)
        return post


async def map_in_order(
    work: Callable[[Value], Awaitable[Made]], values: AsyncIterator[Value]
) -> AsyncGenerator[Made]:
    """The results in the order of the values; a few run ahead."""
    running: deque[asyncio.Future[Made]] = deque()
    try:
        async for each in values:
            running.append(asyncio.ensure_future(work(each)))
            if len(running) > PREPARED_AHEAD:
                yield await running.popleft()
        while running:
            yield await running.popleft()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _take(entries: Iterator[Value], size: int) -> list[Value]:
    return [entry for _, entry in zip(range(size), entries, strict=False)]
