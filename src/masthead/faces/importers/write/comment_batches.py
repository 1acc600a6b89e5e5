"""Writes comments, with their threads, under posts that an import has created."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from masthead.base.errors import Invalid
from masthead.base.ids import new_id
from masthead.base.languages.words import staff_marked
from masthead.engine.records.collection import Record
from masthead.faces.importers.dates import created_stamp
from masthead.faces.importers.report import Outcome, Result
from masthead.faces.importers.source import SourceComment
from masthead.faces.importers.write.batches import (
    CREATE,
    UPDATE,
    Batches,
    BatchState,
    decide,
    reason_of,
)
from masthead.faces.importers.write.drafts import fingerprint
from masthead.faces.importers.write.dry_unit import AnyUnit
from masthead.faces.importers.write.previous_imports import Item
from masthead.features.comments.collection import comments

NO_POST: Final = staff_marked("its post is not here")
NO_PARENT: Final = staff_marked(
    "The comment that it replies to is not here, so it is not part of a thread."
)


class _CommentState(BatchState, frozen=True):
    items: dict[str, Item]
    """The items of the comments and of their parents."""
    records: Mapping[str, Record]
    posts: Mapping[str, str]
    """From a post's key to the id of its record, where that exists."""


class CommentBatches(Batches[SourceComment, _CommentState]):
    async def _load(self, items: Sequence[SourceComment], unit: AnyUnit) -> _CommentState:
        destination, previous = self._destination, self._destination.previous
        ids = {each.source_id for each in items} | {each.parent_id for each in items} - {""}
        known = await destination.items([_key(each) for each in ids], unit)
        posts = await destination.items({each.post_key for each in items}, unit)
        existing = await previous.records(
            "posts", [each.record_id for each in posts.values()], unit
        )
        records = await previous.records(
            comments.name, [each.record_id for each in known.values()], unit
        )
        post_ids = {
            key: item.record_id for key, item in posts.items() if item.record_id in existing
        }
        return _CommentState(known, records, post_ids)

    async def _write(self, unit: AnyUnit, item: SourceComment, state: _CommentState) -> Outcome:
        is_coming = self._destination.is_coming(item.post_key)
        if item.post_key not in state.posts and not is_coming:
            return self._outcome(item, "skipped", NO_POST)
        key = _key(item.source_id)
        known = state.items.get(key)
        record = state.records.get(known.record_id) if known else None
        decision = decide(known, record, is_same=lambda stored: stored == fingerprint(item))
        if decision not in (CREATE, UPDATE):
            return self._outcome(item, "skipped", decision)
        names = ("author_name", "author_email", "body", "status")
        values: dict[str, Any] = {name: getattr(item, name) for name in names}
        warnings = item.warnings
        try:
            if known is not None:
                written = await unit.update(comments, known.record_id, values)
            else:
                parent_id = _parent_id(item, state)
                # The parent may be in an earlier batch of a dry run.
                if item.parent_id and not parent_id and not is_coming:
                    warnings = (*warnings, NO_PARENT)
                post_id = state.posts.get(item.post_key, "")
                values |= {"post_id": post_id or new_id(), "parent_id": parent_id}
                stamp = created_stamp(item.created, self._destination.records.clock())
                written = await unit.create(comments, values, stamped=stamp)
        except Invalid as error:
            return self._outcome(item, "failed", reason_of(error))
        state.new_items[key] = self._destination.item_of(
            written, comments.name, fingerprint(item), known
        )
        return self._outcome(item, "imported" if known is None else "updated", warnings=warnings)

    def _outcome(
        self,
        item: SourceComment,
        result: Result,
        reason: str = "",
        warnings: tuple[str, ...] = (),
    ) -> Outcome:
        """Without a name or an address: the report is stored, and an erasure does not search
        it."""
        return Outcome("comment", item.source_id, result, reason=reason, warnings=warnings)


def _key(source_id: str) -> str:
    return f"comment:{source_id}"


def _parent_id(comment: SourceComment, state: _CommentState) -> str:
    key = _key(comment.parent_id)
    if written := state.new_items.get(key):
        return written.record_id
    item = state.items.get(key)
    return item.record_id if item is not None and item.record_id in state.records else ""
