"""Writes comments, with their threads, under posts that an import has created."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from masthead.base.errors import Invalid
from masthead.engine.records.write.unit import Unit
from masthead.faces.importers.dates import created_stamp
from masthead.faces.importers.report import Outcome, Result
from masthead.faces.importers.source import SourceComment
from masthead.faces.importers.write.batches import (
    DELETED,
    EDITED,
    UNCHANGED,
    Batches,
    BatchState,
    reason_of,
)
from masthead.faces.importers.write.destination import Destination
from masthead.faces.importers.write.drafts import fingerprint
from masthead.faces.importers.write.previous_imports import CurrentRecord, Item
from masthead.features.comments.collection import comments

NO_POST: Final = "its post is not here"
NO_PARENT: Final = "The comment that it replies to is not here, so it is not part of a thread."


class _CommentState(BatchState, frozen=True):
    items: dict[str, Item]
    """The items of the comments and of their parents."""
    records: Mapping[str, CurrentRecord]
    posts: Mapping[str, str]
    """From a post's key to the id of its record, where that exists."""


class CommentBatches(Batches[SourceComment, _CommentState]):
    def __init__(self, destination: Destination) -> None:
        super().__init__(destination)
        self.coming_posts: set[int] = set()
        """Hashes of the keys of posts that a run would have written before, in a dry run."""

    async def _load(self, items: Sequence[SourceComment], unit: Unit | None) -> _CommentState:
        previous, namespace = self._destination.previous, self._destination.namespace
        ids = {each.source_id for each in items} | {each.parent_id for each in items} - {""}
        known = await previous.items(namespace, [_key(each) for each in ids], unit)
        posts = await previous.items(namespace, {each.post_key for each in items}, unit)
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

    def _preview(self, item: SourceComment, state: _CommentState) -> Outcome:
        reason = self._reason_to_skip(item, state)
        is_known = _key(item.source_id) in state.items
        result: Result = "skipped" if reason else "updated" if is_known else "imported"
        return _outcome(item, result, reason, () if reason else item.warnings)

    def _reason_to_skip(self, item: SourceComment, state: _CommentState) -> str:
        if item.post_key not in state.posts and hash(item.post_key) not in self.coming_posts:
            return NO_POST
        return _reason_to_skip(item, state)

    async def _write(self, unit: Unit, item: SourceComment, state: _CommentState) -> Outcome:
        if reason := self._reason_to_skip(item, state):
            return _outcome(item, "skipped", reason)
        post_id = state.posts[item.post_key]
        key = _key(item.source_id)
        known = state.items.get(key)
        names = ("author_name", "author_email", "body", "status")
        values: dict[str, Any] = {name: getattr(item, name) for name in names}
        warnings = item.warnings
        try:
            if known is not None:
                record = await unit.update(comments, known.record_id, values)
            else:
                parent_id = _parent_id(item, state)
                if item.parent_id and not parent_id:
                    warnings = (*warnings, NO_PARENT)
                values |= {"post_id": post_id, "parent_id": parent_id}
                stamp = created_stamp(item.created, self._destination.records.clock())
                record = await unit.create(comments, values, stamped=stamp)
        except Invalid as error:
            return _outcome(item, "failed", reason_of(error))
        run_id = self._destination.previous.run_id if known is None else known.run_id
        state.new_items[key] = Item(
            comments.name, record["id"], fingerprint(item), record["version"], run_id
        )
        return _outcome(item, "imported" if known is None else "updated", warnings=warnings)


def _key(source_id: str) -> str:
    return f"comment:{source_id}"


def _reason_to_skip(comment: SourceComment, state: _CommentState) -> str:
    item = state.items.get(_key(comment.source_id))
    if item is None:
        return ""
    record = state.records.get(item.record_id)
    if record is None:
        return DELETED
    if item.fingerprint == fingerprint(comment):
        return UNCHANGED
    return "" if item.record_version == record.version else EDITED


def _parent_id(comment: SourceComment, state: _CommentState) -> str:
    key = _key(comment.parent_id)
    if written := state.new_items.get(key):
        return written.record_id
    item = state.items.get(key)
    return item.record_id if item is not None and item.record_id in state.records else ""


def _outcome(
    comment: SourceComment, result: Result, reason: str = "", warnings: tuple[str, ...] = ()
) -> Outcome:
    """Without a name or an address: the report is stored, and an erasure does not search it."""
    return Outcome("comment", comment.source_id, result, reason=reason, warnings=warnings)
