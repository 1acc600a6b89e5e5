"""Writes posts, pages and products with their redirects and their rows in `import_items`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from typing import Final

from msgspec import Struct, field

from masthead.base.errors import Invalid
from masthead.base.languages.words import staff_marked
from masthead.engine.records.changes import PreparedTexts
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.text import Slug
from masthead.engine.records.write.slugs import find_free_slug
from masthead.engine.records.write.validation import NewRecord
from masthead.faces.importers.dates import created_stamp
from masthead.faces.importers.report import Outcome, Result
from masthead.faces.importers.source import Skipped, SourcePost
from masthead.faces.importers.write.batches import (
    CREATE,
    SHOWN_CHARACTERS,
    UPDATE,
    Batches,
    BatchState,
    decide,
    reason_of,
)
from masthead.faces.importers.write.destination import Destination
from masthead.faces.importers.write.destinations import new_path
from masthead.faces.importers.write.drafts import Draft, Prints, key_of_post
from masthead.faces.importers.write.dry_unit import AnyUnit
from masthead.faces.importers.write.previous_imports import Item
from masthead.faces.importers.write.redirects import (
    NewRedirects,
    Redirect,
    RedirectKind,
    RedirectRows,
)

CHANGED_MEANWHILE: Final = staff_marked("It was changed here during the import. Import again.")

_PUBLISHED: Final = "published"
_REDIRECTED: Final[Mapping[str, RedirectKind]] = {"post": "posts", "page": "pages"}
"""Products have no address here."""


class ReadyPost(Struct, frozen=True):
    """A post with what is known of it before the transaction."""

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


class PostState(BatchState, frozen=True):
    items: Mapping[str, Item]
    records: Mapping[str, Record]
    slugs: dict[str, set[str]] = field(default_factory=dict)
    """The slugs of the batch that are taken, by collection."""
    redirects: list[NewRedirects] = field(default_factory=list)
    listed: list[Redirect] = field(default_factory=list)
    """Redirects of every published post and page of the batch, written now or before."""

    def decide(self, key: str, prints: Prints) -> str:
        item = self.items.get(key)
        record = self.records.get(item.record_id) if item else None
        return decide(item, record, is_same=prints.are_those_of)


class PostBatches(Batches[ReadyPost, PostState]):
    def __init__(self, destination: Destination, redirects: RedirectRows) -> None:
        super().__init__(destination)
        self._previous = destination.previous
        self._redirects = redirects

    def checked(self, draft: Draft) -> NewRecord | None:
        """Validates before the transaction, which holds the write lock. A draft that is not valid
        is validated again, and reported, when it is written."""
        with suppress(Invalid):
            given = {**draft.values, "slug": draft.slug}
            return NewRecord.checked(self._destination.caller, draft.collection, given)
        return None

    async def load(self, posts: Sequence[SourcePost], unit: AnyUnit | None = None) -> PostState:
        items = await self._destination.items([key_of_post(post) for post in posts], unit)
        records: dict[str, Record] = {}
        for name in {item.collection for item in items.values()}:
            ids = [item.record_id for item in items.values() if item.collection == name]
            records |= await self._previous.records(name, ids, unit)
        return PostState(items, records)

    async def _load(self, items: Sequence[ReadyPost], unit: AnyUnit) -> PostState:
        state = await self.load([each.post for each in items], unit)
        await self._load_slugs(unit, items, state)
        new = NewRedirects(unit, self._destination, state.new_items, may_move=False)
        await new.load(path for each in items for path in _old_paths(each.post))
        state.redirects.append(new)
        return state

    def _grouped(
        self, unit: AnyUnit, items: Sequence[ReadyPost]
    ) -> AbstractAsyncContextManager[None]:
        # A single post is not grouped, so that its error names the cause.
        return unit.batched_inserts() if len(items) > 1 else nullcontext()

    def _written(self, state: PostState) -> None:
        self._redirects.add(state.listed)

    def _prepared(self, items: Sequence[ReadyPost]) -> PreparedTexts:
        """The texts of an import were sanitized by the rules of the site when they were
        prepared."""
        prepared = PreparedTexts()
        for each in items:
            if each.draft is not None and (html := each.draft.values.get("content_html")):
                prepared.texts[html] = html
        return prepared

    def _outcome(
        self,
        item: ReadyPost,
        result: Result,
        reason: str = "",
        warnings: tuple[str, ...] = (),
    ) -> Outcome:
        post = item.post
        is_written = result in ("imported", "updated")
        if is_written and item.draft is not None:
            warnings = (*post.warnings, *item.draft.warnings, *warnings)
        return Outcome(
            what=post.kind,
            source_id=post.source_id,
            result=result,
            title=post.title[:SHOWN_CHARACTERS],
            reason=reason,
            warnings=warnings,
            html_only=item.html_only if is_written else "",
        )

    async def _load_slugs(
        self, unit: AnyUnit, ready: Sequence[ReadyPost], state: PostState
    ) -> None:
        wanted: dict[str, set[str]] = {}
        for each in ready:
            if each.draft is not None and key_of_post(each.post) not in state.items:
                wanted.setdefault(each.draft.collection.name, set()).add(each.draft.slug)
        for name, slugs in wanted.items():
            state.slugs[name] = set(await self._previous.records(name, slugs, unit, by="slug"))

    async def _write(self, unit: AnyUnit, item: ReadyPost, state: PostState) -> Outcome:
        if item.problem:
            return self._outcome(item, "failed", item.problem)
        key = key_of_post(item.post)
        decision = state.decide(key, item.prints)
        known = state.items.get(key)
        if decision not in (CREATE, UPDATE):
            # Also for those of an import of an earlier version, which made fewer redirects.
            record = state.records.get(known.record_id) if known else None
            await self._redirect(item.post, record, state)
            return self._outcome(item, "skipped", decision)
        if item.draft is None:
            # The post needed no update when the batch was prepared; the record changed since.
            return self._outcome(item, "failed", CHANGED_MEANWHILE)
        try:
            stored = await self._store(unit, item, item.draft, state, decision=decision)
        except Invalid as error:
            return self._outcome(item, "failed", reason_of(error))
        state.new_items[key] = self._destination.item_of(
            stored,
            item.draft.collection.name,
            item.prints.to_store(known.fingerprint if known else ""),
            known,
        )
        warnings = await self._redirect(item.post, stored, state)
        result: Result = "imported" if decision == CREATE else "updated"
        return self._outcome(item, result, warnings=warnings)

    async def _redirect(
        self, post: SourcePost, record: Record | None, state: PostState
    ) -> tuple[str, ...]:
        """Warnings of old addresses that do not lead to the post."""
        warnings = []
        for redirect in _redirects_of(post, record) if record else ():
            if warning := await state.redirects[0].add(redirect):
                warnings.append(warning)
            else:
                state.listed.append(redirect)
        return tuple(warnings)

    async def _store(
        self, unit: AnyUnit, ready: ReadyPost, draft: Draft, state: PostState, *, decision: str
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

    async def _free_slug(self, unit: AnyUnit, draft: Draft, state: PostState) -> str:
        name = draft.collection.name
        taken = state.slugs[name]
        field = draft.collection.by_name["slug"]
        assert isinstance(field, Slug)

        async def is_taken(slug: str) -> bool:
            if slug == draft.slug or slug in taken:
                return slug in taken
            return bool(await self._previous.records(name, [slug], unit, by="slug"))

        slug = await find_free_slug(draft.slug, is_taken, field.max)
        taken.add(slug)
        return slug


def _old_paths(post: SourcePost) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for each in (post.old_path, *post.other_paths) if each))


def _redirects_of(post: SourcePost, record: Record) -> Iterator[Redirect]:
    kind = _REDIRECTED.get(post.kind)
    if kind is not None and post.status == record["status"] == _PUBLISHED:
        destination = new_path(record["slug"], post.kind)
        for old in _old_paths(post):
            if old != destination:
                yield Redirect(kind, old, destination)
