"""Writes a batch of posts: one transaction holds the records, their redirects, the memory of where
they came from, and how far the run has come.

What is to be done with an item is decided inside that transaction, from how things stand there. So
it doesn't matter whether an earlier run was cut off, or another one is at work.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Final

import structlog
from msgspec import Struct, field

from masthead.errors import Invalid, Unavailable
from masthead.importers.collection import redirects
from masthead.importers.dates import first_made
from masthead.importers.report import Outcome, Result
from masthead.importers.run.destination import Destination
from masthead.importers.run.drafts import Draft, key_of_post
from masthead.importers.run.memory import Fetch, Item, Standing
from masthead.importers.run.redirects import PERMANENT, new_path
from masthead.importers.source import Skipped, SourcePost
from masthead.records.collection import Record
from masthead.records.fields.text import Slug
from masthead.records.read.query import access_of
from masthead.records.write.new_record import NewRecord
from masthead.records.write.slugs import free_slug
from masthead.records.write.unit import Unit
from masthead.records.write.validation import check_new

CREATE: Final = "create"
UPDATE: Final = "update"
UNCHANGED: Final = "unchanged since the last import"
EDITED: Final = "edited here since the last import"
DELETED: Final = "deleted here since the last import"
CHANGED_MEANWHILE: Final = "It was changed here during the import. Import again."

_SHOWN: Final = 200
_PUBLISHED: Final = "published"

log = structlog.get_logger()

Progress = Callable[[Unit, Sequence[Outcome]], Awaitable[None]]
"""Stores, in the batch's own transaction, how far the run has come with what is done of it."""


class ReadyPost(Struct, frozen=True):
    post: SourcePost
    fingerprint: str
    draft: Draft | None
    """None where nothing has to be written."""
    checked: NewRecord | None = None
    """The draft as a new record; None where it can't be one."""
    html_only: str = ""
    problem: str = ""
    """Why it could not be made ready."""


Entry = ReadyPost | Skipped


class Written(Struct):
    outcomes: list[Outcome] = field(default_factory=list)
    redirects: list[tuple[str, str]] = field(default_factory=list)
    """Old and new path of every published post that is here now, new or not."""


class State(Struct, frozen=True):
    """How things stand for the posts of a batch."""

    items: Mapping[str, Item]
    records: Mapping[str, Standing]
    redirects: dict[str, str] = field(default_factory=dict)
    """Old path to destination."""
    slugs: dict[str, set[str]] = field(default_factory=dict)
    """By collection: those of the batch's slugs that are taken."""
    new_items: dict[str, Item] = field(default_factory=dict)
    """To be remembered, when all of the batch is written."""

    def decide(self, key: str, fingerprint: str) -> str:
        """To create, to update, or the reason why neither."""
        item = self.items.get(key)
        if item is None:
            return CREATE
        record = self.records.get(item.record_id)
        if record is None:
            return DELETED
        if item.fingerprint == fingerprint:
            return UNCHANGED
        return UPDATE if item.record_version == record.version else EDITED


class PostBatches:
    def __init__(self, into: Destination) -> None:
        self._into = into

    def checked(self, draft: Draft) -> NewRecord | None:
        """Beforehand, so that nobody waits for it who wants to write. What is wrong with a draft is
        found again, and told, when it is to be written."""
        with suppress(Invalid):
            given = {**draft.values, "slug": draft.slug}
            return NewRecord.checked(self._into.caller, draft.collection, given)
        return None

    async def look(self, posts: Sequence[SourcePost]) -> State:
        """Beforehand and without a lock: what need not be made ready, and what a dry run says."""
        return await self._known(self._into.memory.outside(self._into.tenant_id), posts)

    async def judge(self, entries: Sequence[Entry]) -> list[Outcome]:
        """What `write` would answer, without writing."""
        state = await self.look([each.post for each in entries if isinstance(each, ReadyPost)])
        return [self._judged(entry, state) for entry in entries]

    async def write(self, entries: Sequence[Entry], progress: Progress) -> Written:
        """All of them together or, where the database refuses that, each by itself."""
        try:
            return await self._together(entries, progress)
        except Unavailable:
            raise
        # One of the service's outermost edges, an importer's row: what sinks the batch is found
        # below, and the others are written without it.
        except Exception:
            log.warning("import.batch_refused", exc_info=True)
        whole = Written()
        for entry in entries:
            await self._alone(entry, whole, progress)
        return whole

    async def _alone(self, entry: Entry, whole: Written, progress: Progress) -> None:
        async def also(unit: Unit, outcomes: Sequence[Outcome]) -> None:
            await progress(unit, [*whole.outcomes, *outcomes])

        try:
            one = await self._together([entry], also)
        except Unavailable:
            raise
        except Exception as error:
            assert isinstance(entry, ReadyPost)
            log.warning("import.post_refused", source_id=entry.post.source_id, exc_info=True)
            one = Written([outcome_of(entry, "failed", reason_of(error))])
            async with self._into.records.unit(self._into.caller, emit_events=False) as unit:
                await also(unit, one.outcomes)
        whole.outcomes += one.outcomes
        whole.redirects += one.redirects

    async def _together(self, entries: Sequence[Entry], progress: Progress) -> Written:
        written = Written()
        ready = [each for each in entries if isinstance(each, ReadyPost)]
        async with self._into.unit() as unit:
            state = await self._known(unit.fetch, [each.post for each in ready])
            await self._look_at_addresses(unit, ready, state)
            # One by itself is told what is wrong with it.
            async with unit.batched_inserts() if len(ready) > 1 else nullcontext():
                for entry in entries:
                    if isinstance(entry, Skipped):
                        written.outcomes.append(outcome_of_skipped(entry))
                    else:
                        written.outcomes.append(await self._write(unit, entry, state, written))
            await self._into.memory.remember(unit, self._into.family, state.new_items)
            await progress(unit, written.outcomes)
        return written

    async def _known(self, fetch: Fetch, posts: Sequence[SourcePost]) -> State:
        keys = [key_of_post(post) for post in posts]
        items = await self._into.memory.items(fetch, self._into.tenant_id, self._into.family, keys)
        standing: dict[str, Standing] = {}
        for name in {item.collection for item in items.values()}:
            ids = [item.record_id for item in items.values() if item.collection == name]
            standing |= await self._into.memory.standing(fetch, self._into.tenant_id, name, ids)
        return State(items, standing)

    async def _look_at_addresses(
        self, unit: Unit, ready: Sequence[ReadyPost], state: State
    ) -> None:
        wanted: dict[str, set[str]] = {}
        for each in ready:
            if each.draft is not None and key_of_post(each.post) not in state.items:
                wanted.setdefault(each.draft.collection.name, set()).add(each.draft.slug)
        for name, slugs in wanted.items():
            state.slugs[name] = await self._into.memory.taken_slugs(
                unit.fetch, self._into.tenant_id, name, slugs
            )
        old_paths = {each.post.old_path for each in ready if each.draft and each.post.old_path}
        into = self._into
        state.redirects.update(await into.memory.redirects(unit.fetch, into.tenant_id, old_paths))

    async def _write(self, unit: Unit, ready: ReadyPost, state: State, written: Written) -> Outcome:
        if ready.problem:
            return outcome_of(ready, "failed", ready.problem)
        key = key_of_post(ready.post)
        verdict = state.decide(key, ready.fingerprint)
        if verdict not in (CREATE, UPDATE):
            if verdict != DELETED:
                standing = state.records[state.items[key].record_id]
                _list_redirect(ready.post, standing.slug, standing.status, written)
            return outcome_of(ready, "skipped", verdict)
        if ready.draft is None:
            # It was as the source has it when the batch was made ready, and is not any more.
            return outcome_of(ready, "failed", CHANGED_MEANWHILE)
        try:
            record = await self._record(unit, ready, ready.draft, state, verdict)
        except Invalid as error:
            return outcome_of(ready, "failed", reason_of(error))
        item = Item(ready.draft.collection.name, record["id"], ready.fingerprint, record["version"])
        state.new_items[key] = item
        warning = await self._redirect(unit, ready.post, record, state, written)
        result: Result = "imported" if verdict == CREATE else "updated"
        return outcome_of(ready, result, warnings=warning)

    async def _record(
        self, unit: Unit, ready: ReadyPost, draft: Draft, state: State, verdict: str
    ) -> Record:
        if verdict == UPDATE:
            # The address stays: whoever linked to it here must not lose it.
            known = state.items[key_of_post(ready.post)]
            return await unit.update(draft.collection, known.record_id, draft.values)
        slug = await self._free_slug(unit, draft, state)
        made = first_made(draft.values.get("published_at", ""), self._into.records.clock())
        if ready.checked is not None and slug == draft.slug:
            return await unit.store(draft.collection, ready.checked, stamped=made)
        return await unit.create(draft.collection, {**draft.values, "slug": slug}, stamped=made)

    async def _free_slug(self, unit: Unit, draft: Draft, state: State) -> str:
        into, name = self._into, draft.collection.name
        taken = state.slugs[name]
        field = draft.collection.by_name["slug"]
        assert isinstance(field, Slug)

        async def is_taken(slug: str) -> bool:
            if slug == draft.slug or slug in taken:
                return slug in taken
            return bool(await into.memory.taken_slugs(unit.fetch, into.tenant_id, name, [slug]))

        slug = await free_slug(draft.slug, is_taken, field.max)
        taken.add(slug)
        return slug

    async def _redirect(
        self, unit: Unit, post: SourcePost, record: Record, state: State, written: Written
    ) -> tuple[str, ...]:
        """Stores and lists it; the answer is a warning where that can't be."""
        if not _needs_redirect(post, record.get("slug", ""), record.get("status", "")):
            return ()
        destination = new_path(record["slug"])
        leads_to = state.redirects.get(post.old_path)
        if leads_to not in (None, destination):
            return (f"The old address {post.old_path} leads to {leads_to} already.",)
        if leads_to is None:
            values = {
                "source": post.old_path,
                "destination": destination,
                "status_code": PERMANENT,
            }
            try:
                await unit.create(redirects, values)
            except Invalid:
                return (f"The old address {post.old_path[:_SHOWN]} can't be redirected.",)
            state.redirects[post.old_path] = destination
        written.redirects.append((post.old_path, destination))
        return ()

    def _judged(self, entry: Entry, state: State) -> Outcome:
        if isinstance(entry, Skipped):
            return outcome_of_skipped(entry)
        if entry.problem:
            return outcome_of(entry, "failed", entry.problem)
        verdict = state.decide(key_of_post(entry.post), entry.fingerprint)
        if verdict not in (CREATE, UPDATE):
            return outcome_of(entry, "skipped", verdict)
        assert entry.draft is not None, "what would be written was made ready"
        draft = entry.draft
        try:
            given = {**draft.values, "slug": draft.slug}
            check_new(draft.collection, given, access_of(self._into.caller))
        except Invalid as error:
            return outcome_of(entry, "failed", reason_of(error))
        return outcome_of(entry, "imported" if verdict == CREATE else "updated")


def _needs_redirect(post: SourcePost, slug: str, status: str) -> bool:
    is_public = post.kind == "post" and post.status == status == _PUBLISHED
    return bool(is_public and post.old_path and post.old_path != new_path(slug))


def _list_redirect(post: SourcePost, slug: str, status: str, written: Written) -> None:
    if _needs_redirect(post, slug, status):
        written.redirects.append((post.old_path, new_path(slug)))


def outcome_of(
    ready: ReadyPost, result: Result, reason: str = "", warnings: tuple[str, ...] = ()
) -> Outcome:
    post = ready.post
    is_written = result in ("imported", "updated")
    if is_written and ready.draft is not None:
        warnings = (*post.warnings, *ready.draft.warnings, *warnings)
    return Outcome(
        what=post.kind,
        source_id=post.source_id,
        result=result,
        title=post.title[:_SHOWN],
        reason=reason,
        warnings=warnings,
        html_only=ready.html_only if is_written else "",
    )


def outcome_of_skipped(entry: Skipped) -> Outcome:
    return Outcome(entry.what, entry.source_id, "skipped", entry.title[:_SHOWN], entry.reason)


def reason_of(error: Exception) -> str:
    if isinstance(error, Invalid):
        return " ".join(f"{name}: {each.message}" for name, each in error.problems.items())
    return f"It could not be stored ({type(error).__name__})."
