"""A model of the engine in memory: posts with their trash and events, who may do what with them,
and what readers get of them. It knows no SQL, no lists and no counters."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from masthead.base import clock

DRAFT, PUBLISHED = "draft", "published"
WRITERS = ("ann", "ben", "cas")
CONTRIBUTOR = "cas"
EDITORS = ("owner", "editor")
READERS = ("guest", "free", "paid", "gold")
"""Who reads the site; `gold` is a paid member with that level."""
_NEEDS = {"public": 0, "members": 1, "paid": 2}

OK, REFUSED, MISSING, CONFLICT, INVALID = "ok", "refused", "missing", "conflict", "invalid"


@dataclass(frozen=True)
class Post:
    id: str
    title: str
    status: str = DRAFT
    visibility: str = "public"
    tags: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    email_only: bool = False
    published_at: str = ""
    scheduled_for: str = ""
    version: int = 1

    def values(self) -> dict[str, Any]:
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
        }


class Refusal(Exception):
    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@dataclass
class Memory:
    now: datetime
    posts: dict[str, Post] = field(default_factory=dict)
    trash: dict[str, Post] = field(default_factory=dict)
    events: dict[str, list[str]] = field(default_factory=dict)
    steps: dict[str, tuple[int, dict[str, Any]] | None] = field(default_factory=dict)
    """How the last change of many is undone: the version and the values before it, or None for a
    deletion."""
    changed_at: datetime | None = None

    @property
    def moment(self) -> str:
        return clock.to_text(self.now)

    # What callers do.

    def check_create(self, caller: str, given: dict[str, Any]) -> None:
        _refuse_readers(caller)
        self._check_fields(caller, Post("", ""), given)

    def create(self, caller: str, post_id: str, given: dict[str, Any]) -> Post:
        if "authors" not in given:
            given = {**given, "authors": (caller,)}
        post = self._saved(None, replace(Post(post_id, ""), **given), given)
        self.posts[post_id] = post
        self.events[post_id] = self.events.get(post_id, [])
        self.events[post_id] += ["post.created", *_publishing(None, post)]
        return post

    def check_update(
        self, caller: str, post_id: str, given: dict[str, Any], version: int | None = None
    ) -> None:
        _refuse_readers(caller)
        old = self._visible(caller, post_id)
        if version is not None and version != old.version:
            raise Refusal(CONFLICT)
        self._check_fields(caller, old, given)

    def update(self, post_id: str, given: dict[str, Any]) -> Post:
        old = self.posts[post_id]
        if replace(old, **given) == old:
            return old
        new = self._saved(old, replace(old, **given), given)
        if new == old:
            return old
        self.posts[post_id] = new = replace(new, version=old.version + 1)
        self.events[post_id] += _publishing(old, new)
        return new

    def check_delete(self, caller: str, post_id: str) -> None:
        _refuse_readers(caller)
        self._visible(caller, post_id)

    def delete(self, post_id: str) -> None:
        self.trash[post_id] = self.posts.pop(post_id)
        self.events[post_id].append("post.deleted")

    def check_restore(self, caller: str, post_id: str) -> None:
        _refuse_readers(caller)
        post = self.trash[post_id]
        if caller in WRITERS and caller not in post.authors:
            raise Refusal(MISSING)
        if caller == CONTRIBUTOR and not _is_plain_draft(self._restored(post)):
            raise Refusal(REFUSED)

    def restore(self, post_id: str) -> None:
        post = self._restored(self.trash.pop(post_id))
        self.posts[post_id] = post
        self.events[post_id] += ["post.created", *_publishing(None, post)]

    def _restored(self, post: Post) -> Post:
        missed = "" < post.scheduled_for <= self.moment
        at = "" if missed else post.scheduled_for
        return replace(post, scheduled_for=at, version=post.version + 2)

    def purge(self, post_id: str) -> None:
        del self.trash[post_id]

    def publish_due(self) -> None:
        for post in list(self.posts.values()):
            if "" < post.scheduled_for <= self.moment:
                self.update(post.id, {"status": PUBLISHED})

    def change_many(self, post_ids: list[str], given: dict[str, Any]) -> None:
        self.steps, self.changed_at = {}, self.now
        for each in post_ids:
            old, new = self.posts[each], self.update(each, given)
            if new.version != old.version:
                was = {name: getattr(old, name) for name in given}
                self.steps[each] = (new.version, was)

    def delete_many(self, post_ids: list[str]) -> None:
        self.steps, self.changed_at = dict.fromkeys(post_ids), self.now
        for each in post_ids:
            self.delete(each)

    def undo(self) -> None:
        if self.changed_at is None or self.now >= self.changed_at + timedelta(hours=1):
            return
        for post_id, step in self.steps.items():
            if step is None:
                if post_id in self.trash:
                    self.restore(post_id)
            elif post_id in self.posts and self.posts[post_id].version == step[0]:
                self.update(post_id, step[1])
        self.steps = {}

    # What callers see.

    def listed(self, caller: str) -> set[str]:
        return {each.id for each in self.posts.values() if self.is_visible(caller, each)}

    def is_visible(self, caller: str, post: Post) -> bool:
        if caller in EDITORS:
            return True
        if caller in WRITERS:
            return caller in post.authors
        is_out = post.status == PUBLISHED and post.published_at <= self.moment
        return is_out and not post.email_only and post.visibility == "public"

    def on_the_site(self, reader: str) -> dict[str, bool]:
        """The posts that the site shows, and whether the reader may read all of each."""
        return {
            each.id: self._is_open(each, reader)
            for each in self.posts.values()
            if each.status == PUBLISHED and each.published_at <= self.moment and not each.email_only
        }

    def _is_open(self, post: Post, reader: str) -> bool:
        if min(READERS.index(reader), 2) < _NEEDS[post.visibility]:
            return False
        return not post.tiers or reader in post.tiers

    # The rules.

    def _visible(self, caller: str, post_id: str) -> Post:
        found = self.posts.get(post_id)
        if found is None or not self.is_visible(caller, found):
            raise Refusal(MISSING)
        if caller == CONTRIBUTOR and not _is_plain_draft(found):
            raise Refusal(MISSING)
        return found

    def _check_fields(self, caller: str, old: Post, given: dict[str, Any]) -> None:
        new = replace(old, **given)
        if caller == CONTRIBUTOR and (new.status, new.scheduled_for) != (
            old.status,
            old.scheduled_for,
        ):
            raise Refusal(REFUSED)
        if new == old and old.id:
            return
        if new.tiers and new.visibility != "paid":
            raise Refusal(INVALID)
        at = given.get("scheduled_for", "")
        if "" < at <= self.moment and at != old.scheduled_for:
            raise Refusal(INVALID)
        if at and new.status == PUBLISHED and "status" not in given:
            raise Refusal(INVALID)

    def _saved(self, old: Post | None, new: Post, given: dict[str, Any]) -> Post:
        if new.status != PUBLISHED:
            return replace(new, published_at="")
        if old is not None and old.status == PUBLISHED:
            return replace(new, published_at=old.published_at, scheduled_for="")
        return replace(new, published_at=self.moment, scheduled_for="")


def _is_plain_draft(post: Post) -> bool:
    return post.status == DRAFT and not post.scheduled_for


def _refuse_readers(caller: str) -> None:
    if caller in ("guest", "member"):
        raise Refusal(REFUSED)


def _publishing(old: Post | None, new: Post) -> list[str]:
    before = old.status if old else DRAFT
    if new.status == PUBLISHED:
        return ["post.updated" if before == PUBLISHED else "post.published"]
    return ["post.unpublished"] if before == PUBLISHED else []
