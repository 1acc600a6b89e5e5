"""Writes a batch of comments, with their threads, under posts that an import has brought over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from masthead.comments.collection import comments
from masthead.errors import Invalid
from masthead.importers.dates import first_made
from masthead.importers.report import Outcome, Result
from masthead.importers.run.destination import Destination
from masthead.importers.run.drafts import fingerprint
from masthead.importers.run.memory import Fetch, Item, Standing
from masthead.importers.run.post_batches import (
    DELETED,
    EDITED,
    UNCHANGED,
    Progress,
    outcome_of_skipped,
    reason_of,
)
from masthead.importers.source import Skipped, SourceComment
from masthead.records.write.unit import Unit

NO_POST: Final = "its post is not here"
NO_PARENT: Final = "The comment that it answers is not here, so it stands for itself."

Entry = SourceComment | Skipped


class _State(Struct, frozen=True):
    items: dict[str, Item]
    """Of the comments and of those that they answer, also what this batch has written."""
    standing: Mapping[str, Standing]
    posts: Mapping[str, str]
    """Key of the post to its record's id, where that is still there."""
    new_items: dict[str, Item] = field(default_factory=dict)


class CommentBatches:
    def __init__(self, into: Destination) -> None:
        self._into = into

    async def judge(self, entries: Sequence[Entry]) -> list[Outcome]:
        """What `write` would answer, if the posts of the export were here."""
        found = [each for each in entries if isinstance(each, SourceComment)]
        state = await self._state(self._into.memory.outside(self._into.tenant_id), found)
        outcomes = []
        for entry in entries:
            if isinstance(entry, Skipped):
                outcomes.append(outcome_of_skipped(entry))
                continue
            reason = _reason_to_leave(entry, state)
            is_known = _key(entry.source_id) in state.items
            result: Result = "skipped" if reason else "updated" if is_known else "imported"
            outcomes.append(_outcome(entry, result, reason, entry.warnings))
        return outcomes

    async def write(self, entries: Sequence[Entry], progress: Progress) -> list[Outcome]:
        outcomes: list[Outcome] = []
        found = [each for each in entries if isinstance(each, SourceComment)]
        async with self._into.unit() as unit:
            state = await self._state(unit.fetch, found)
            for entry in entries:
                if isinstance(entry, Skipped):
                    outcomes.append(outcome_of_skipped(entry))
                else:
                    outcomes.append(await self._write(unit, entry, state))
            await self._into.memory.remember(unit, self._into.family, state.new_items)
            await progress(unit, outcomes)
        return outcomes

    async def _state(self, fetch: Fetch, found: Sequence[SourceComment]) -> _State:
        memory, tenant_id, family = self._into.memory, self._into.tenant_id, self._into.family
        ids = {each.source_id for each in found} | {each.parent_id for each in found} - {""}
        items = await memory.items(fetch, tenant_id, family, [_key(each) for each in ids])
        posts = await memory.items(fetch, tenant_id, family, {each.post_key for each in found})
        here = await memory.standing(
            fetch, tenant_id, "posts", [each.record_id for each in posts.values()]
        )
        standing = await memory.standing(
            fetch, tenant_id, comments.name, [each.record_id for each in items.values()]
        )
        known = {key: item.record_id for key, item in posts.items() if item.record_id in here}
        return _State(items, standing, known)

    async def _write(self, unit: Unit, comment: SourceComment, state: _State) -> Outcome:
        post_id = state.posts.get(comment.post_key)
        if post_id is None:
            return _outcome(comment, "skipped", NO_POST)
        if reason := _reason_to_leave(comment, state):
            return _outcome(comment, "skipped", reason)
        known = state.items.get(_key(comment.source_id))
        values = _values(comment)
        warnings = comment.warnings
        try:
            if known is not None:
                record = await unit.update(comments, known.record_id, values)
            else:
                parent_id = _parent_of(comment, state)
                if comment.parent_id and not parent_id:
                    warnings = (*warnings, NO_PARENT)
                made = first_made(comment.created, self._into.records.clock())
                place = {"post_id": post_id, "parent_id": parent_id}
                record = await unit.create(comments, {**values, **place}, stamped=made)
        except Invalid as error:
            return _outcome(comment, "failed", reason_of(error))
        item = Item(comments.name, record["id"], fingerprint(comment), record["version"])
        state.new_items[_key(comment.source_id)] = item
        return _outcome(comment, "imported" if known is None else "updated", warnings=warnings)


def _key(source_id: str) -> str:
    return f"comment:{source_id}"


def _reason_to_leave(comment: SourceComment, state: _State) -> str:
    item = state.items.get(_key(comment.source_id))
    if item is None:
        return ""
    record = state.standing.get(item.record_id)
    if record is None:
        return DELETED
    if item.fingerprint == fingerprint(comment):
        return UNCHANGED
    return "" if item.record_version == record.version else EDITED


def _parent_of(comment: SourceComment, state: _State) -> str:
    key = _key(comment.parent_id)
    if written := state.new_items.get(key):
        return written.record_id
    item = state.items.get(key)
    return item.record_id if item is not None and item.record_id in state.standing else ""


def _values(comment: SourceComment) -> dict[str, Any]:
    names = ("author_name", "author_email", "body", "status")
    return {name: getattr(comment, name) for name in names}


def _outcome(
    comment: SourceComment, result: Result, reason: str = "", warnings: tuple[str, ...] = ()
) -> Outcome:
    """Without a name or an address: the report is stored, and an erasure could not find it."""
    return Outcome("comment", comment.source_id, result, reason=reason, warnings=warnings)
