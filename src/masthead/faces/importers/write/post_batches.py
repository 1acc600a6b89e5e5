"""Writes a batch of posts: one transaction holds the records, their redirects, their rows in
`import_items` and the run's progress.

Whether an item is created, updated or skipped is decided inside that transaction. So an
interrupted run can be repeated, and two imports may run at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Final

from msgspec import Struct, field

from masthead.base.errors import Invalid, Unavailable
from masthead.base.logs import log
from masthead.engine.records.access import access_of
from masthead.engine.records.changes import PreparedTexts
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.text import Slug
from masthead.engine.records.write.slugs import find_free_slug
from masthead.engine.records.write.unit import Unit
from masthead.engine.records.write.validation import NewRecord, check_new
from masthead.faces.importers.dates import created_stamp
from masthead.faces.importers.report import Outcome, Result
from masthead.faces.importers.source import Skipped, SourcePost
from masthead.faces.importers.write.batches import (
    DELETED,
    EDITED,
    SHOWN_CHARACTERS,
    UNCHANGED,
    BatchState,
    SaveProgress,
    outcome_of_skipped,
    reason_of,
)
from masthead.faces.importers.write.destination import Destination
from masthead.faces.importers.write.destinations import new_path
from masthead.faces.importers.write.drafts import Draft, Prints, key_of_post
from masthead.faces.importers.write.new_redirects import NewRedirects, Redirect, RedirectKind
from masthead.faces.importers.write.previous_imports import CurrentRecord, Item

CREATE: Final = "create"
UPDATE: Final = "update"
CHANGED_MEANWHILE: Final = "It was changed here during the import. Import again."

_PUBLISHED: Final = "published"
_REDIRECTED: Final[Mapping[str, RedirectKind]] = {"post": "posts", "page": "pages"}
"""Products have no address here."""


class ReadyPost(Struct, frozen=True):
    post: SourcePost
    prints: Prints
    draft: Draft | None
    """None where nothing has to be written."""
    checked: NewRecord | None = None
    """The validated draft; None where it is not valid."""
    html_only: str = ""
    problem: str = ""
    """Why it could not be prepared."""


Entry = ReadyPost | Skipped


class Written(Struct):
    outcomes: list[Outcome] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    """Redirects of every published post and page of the batch, written now or before."""


class PostState(BatchState, frozen=True):
    items: Mapping[str, Item]
    records: Mapping[str, CurrentRecord]
    slugs: dict[str, set[str]] = field(default_factory=dict)
    """The slugs of the batch that are taken, by collection."""

    def decide(self, key: str, prints: Prints) -> str:
        """CREATE, UPDATE, or the reason to skip the post."""
        item = self.items.get(key)
        if item is None:
            return CREATE
        record = self.records.get(item.record_id)
        if record is None:
            return DELETED
        if prints.are_those_of(item.fingerprint):
            return UNCHANGED
        return UPDATE if item.record_version == record.version else EDITED


class PostBatches:
    def __init__(self, destination: Destination) -> None:
        self._destination = destination
        self._previous = destination.previous

    def checked(self, draft: Draft) -> NewRecord | None:
        """Validates before the transaction, which holds the write lock. A draft that is not valid
        is validated again, and reported, when it is written."""
        with suppress(Invalid):
            given = {**draft.values, "slug": draft.slug}
            return NewRecord.checked(self._destination.caller, draft.collection, given)
        return None

    async def load(self, posts: Sequence[SourcePost], unit: Unit | None = None) -> PostState:
        keys = [key_of_post(post) for post in posts]
        items = await self._previous.items(self._destination.namespace, keys, unit)
        records: dict[str, CurrentRecord] = {}
        for name in {item.collection for item in items.values()}:
            ids = [item.record_id for item in items.values() if item.collection == name]
            records |= await self._previous.records(name, ids, unit)
        return PostState(items, records)

    async def preview(self, entries: Sequence[Entry]) -> Written:
        """The result that `write` would have, without writing."""
        state = await self.load([each.post for each in entries if isinstance(each, ReadyPost)])
        written = Written()
        for entry in entries:
            outcome = self._preview(entry, state)
            written.outcomes.append(outcome)
            if isinstance(entry, ReadyPost) and outcome.result != "failed":
                written.redirects += _redirects_without_writing(entry, state)
        return written

    async def write(self, entries: Sequence[Entry], save_progress: SaveProgress) -> Written:
        """In one transaction or, where that fails, each post in its own."""
        try:
            return await self._write_batch(entries, save_progress)
        except Unavailable:
            raise
        # One of the three broad edges, an importer's row: the post that fails the batch is found
        # below, and the others are written without it.
        except Exception:
            log.warning("import.batch_refused", exc_info=True)
        whole = Written()
        for entry in entries:
            await self._write_single(entry, whole, save_progress)
        return whole

    async def _write_single(
        self, entry: Entry, whole: Written, save_progress: SaveProgress
    ) -> None:
        async def save_all(unit: Unit, outcomes: Sequence[Outcome]) -> None:
            await save_progress(unit, [*whole.outcomes, *outcomes])

        try:
            one = await self._write_batch([entry], save_all)
        except Unavailable:
            raise
        except Exception as error:
            assert isinstance(entry, ReadyPost)
            log.warning("import.post_refused", source_id=entry.post.source_id, exc_info=True)
            one = Written([outcome_of(entry, "failed", reason_of(error))])
            caller = self._destination.caller
            async with self._destination.records.unit(caller, emit_events=False) as unit:
                await save_all(unit, one.outcomes)
        whole.outcomes += one.outcomes
        whole.redirects += one.redirects

    async def _write_batch(self, entries: Sequence[Entry], save_progress: SaveProgress) -> Written:
        written = Written()
        ready = [each for each in entries if isinstance(each, ReadyPost)]
        async with self._destination.unit(_clean_already(ready)) as unit:
            state = await self.load([each.post for each in ready], unit)
            await self._load_slugs(unit, ready, state)
            new = NewRedirects(unit, self._destination, state.new_items, may_move=False)
            await new.load(path for each in ready for path in _old_paths(each.post))
            # A single post is not grouped, so that its error names the cause.
            async with unit.batched_inserts() if len(ready) > 1 else nullcontext():
                for entry in entries:
                    if isinstance(entry, Skipped):
                        written.outcomes.append(outcome_of_skipped(entry))
                    else:
                        outcome = await self._write(
                            unit, entry, state, new, listed=written.redirects
                        )
                        written.outcomes.append(outcome)
            await self._previous.save(unit, self._destination.namespace, state.new_items)
            await save_progress(unit, written.outcomes)
        return written

    async def _load_slugs(self, unit: Unit, ready: Sequence[ReadyPost], state: PostState) -> None:
        wanted: dict[str, set[str]] = {}
        for each in ready:
            if each.draft is not None and key_of_post(each.post) not in state.items:
                wanted.setdefault(each.draft.collection.name, set()).add(each.draft.slug)
        for name, slugs in wanted.items():
            state.slugs[name] = await self._previous.taken_slugs(name, slugs, unit)

    async def _write(
        self,
        unit: Unit,
        ready: ReadyPost,
        state: PostState,
        new: NewRedirects,
        *,
        listed: list[Redirect],
    ) -> Outcome:
        if ready.problem:
            return outcome_of(ready, "failed", ready.problem)
        key = key_of_post(ready.post)
        decision = state.decide(key, ready.prints)
        if decision not in (CREATE, UPDATE):
            # Also for those of an import of an earlier version, which made fewer redirects.
            for redirect in _redirects_without_writing(ready, state):
                if not await new.add(redirect):
                    listed.append(redirect)
            return outcome_of(ready, "skipped", decision)
        if ready.draft is None:
            # The post needed no update when the batch was prepared; the record changed since.
            return outcome_of(ready, "failed", CHANGED_MEANWHILE)
        try:
            stored = await self._store(unit, ready, ready.draft, state, decision=decision)
        except Invalid as error:
            return outcome_of(ready, "failed", reason_of(error))
        known = state.items.get(key)
        state.new_items[key] = Item(
            ready.draft.collection.name,
            stored["id"],
            ready.prints.to_store(known.fingerprint if known else ""),
            stored["version"],
            known.run_id if known else self._previous.run_id,
        )
        warnings = []
        slug, status = stored.get("slug", ""), stored.get("status", "")
        for redirect in _redirects_of(ready.post, slug, status):
            if warning := await new.add(redirect):
                warnings.append(warning)
            else:
                listed.append(redirect)
        result: Result = "imported" if decision == CREATE else "updated"
        return outcome_of(ready, result, warnings=tuple(warnings))

    async def _store(
        self, unit: Unit, ready: ReadyPost, draft: Draft, state: PostState, *, decision: str
    ) -> Record:
        if decision == UPDATE:
            # Without the slug: links to the post must not break.
            known = state.items[key_of_post(ready.post)]
            return await unit.update(draft.collection, known.record_id, draft.values)
        slug = await self._free_slug(unit, draft, state)
        now = self._destination.records.clock()
        stamp = created_stamp(draft.values.get("published_at", ""), now)
        if ready.checked is not None and slug == draft.slug:
            return await unit.store(draft.collection, ready.checked, stamped=stamp)
        return await unit.create(draft.collection, {**draft.values, "slug": slug}, stamped=stamp)

    async def _free_slug(self, unit: Unit, draft: Draft, state: PostState) -> str:
        name = draft.collection.name
        taken = state.slugs[name]
        field = draft.collection.by_name["slug"]
        assert isinstance(field, Slug)

        async def is_taken(slug: str) -> bool:
            if slug == draft.slug or slug in taken:
                return slug in taken
            return bool(await self._previous.taken_slugs(name, [slug], unit))

        slug = await find_free_slug(draft.slug, is_taken, field.max)
        taken.add(slug)
        return slug

    def _preview(self, entry: Entry, state: PostState) -> Outcome:
        if isinstance(entry, Skipped):
            return outcome_of_skipped(entry)
        if entry.problem:
            return outcome_of(entry, "failed", entry.problem)
        decision = state.decide(key_of_post(entry.post), entry.prints)
        if decision not in (CREATE, UPDATE):
            return outcome_of(entry, "skipped", decision)
        assert entry.draft is not None, "every post to be written has a draft"
        draft = entry.draft
        try:
            given = {**draft.values, "slug": draft.slug}
            check_new(draft.collection, given, access_of(self._destination.caller))
        except Invalid as error:
            return outcome_of(entry, "failed", reason_of(error))
        return outcome_of(entry, "imported" if decision == CREATE else "updated")


def _old_paths(post: SourcePost) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for each in (post.old_path, *post.other_paths) if each))


def _clean_already(ready: Sequence[ReadyPost]) -> PreparedTexts:
    """The texts of an import were sanitized by the rules of the site when they were prepared."""
    prepared = PreparedTexts()
    for each in ready:
        if each.draft is not None and (html := each.draft.values.get("content_html")):
            prepared.texts[html] = html
    return prepared


def _redirects_of(post: SourcePost, slug: str, status: str) -> Iterator[Redirect]:
    is_public = post.status == status == _PUBLISHED
    kind = _REDIRECTED.get(post.kind)
    if is_public and kind is not None:
        destination = new_path(slug, post.kind)
        for old in _old_paths(post):
            if old != destination:
                yield Redirect(kind, old, destination)


def _redirects_without_writing(ready: ReadyPost, state: PostState) -> Iterator[Redirect]:
    """Redirects of a post that stays as it is here, or of a dry run."""
    item = state.items.get(key_of_post(ready.post))
    record = state.records.get(item.record_id) if item else None
    if record is not None:
        yield from _redirects_of(ready.post, record.slug, record.status)
    elif item is None and ready.draft is not None:
        status = ready.draft.values.get("status", "")
        yield from _redirects_of(ready.post, ready.draft.slug, status)


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
        title=post.title[:SHOWN_CHARACTERS],
        reason=reason,
        warnings=warnings,
        html_only=ready.html_only if is_written else "",
    )
