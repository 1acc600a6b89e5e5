"""A model in memory of published posts that are edited, with their working copies, and of the
comments under them. It knows no versions, no lists and no counters."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tests.engine.records.model.memory import CONFLICT, INVALID, MISSING, Refusal

DRAFT, PUBLISHED, APPROVED = "draft", "published", "approved"
Typed = dict[str, str]


@dataclass(frozen=True)
class Text:
    """A post as its editor knows it: what is live or the draft, and what was typed since."""

    live: Typed
    status: str = DRAFT
    copy: Typed | None = None
    is_outdated: bool = False
    """The post was changed by other means since the copy was begun."""

    @property
    def is_published(self) -> bool:
        return self.status == PUBLISHED


@dataclass(frozen=True)
class Comment:
    post: str
    parent: str = ""
    thread: str = ""
    status: str = APPROVED
    was_approved: bool = False


class Gone(NamedTuple):
    text: Text | None
    comments: dict[str, Comment]
    moved_up: dict[str, str]
    """Replies that stay, and the comment that they have answered since."""


@dataclass
class Discussed:
    texts: dict[str, Text] = field(default_factory=dict)
    comments: dict[str, Comment] = field(default_factory=dict)
    trash: dict[str, Gone] = field(default_factory=dict)
    events: Counter[tuple[str, str]] = field(default_factory=Counter)

    # Posts and their working copies.

    def check_save(self, post: str, *, replaces: bool) -> None:
        text = self._text(post)
        if text.is_published and text.is_outdated and not replaces:
            raise Refusal(CONFLICT)

    def save(self, post: str, given: Typed) -> None:
        text = self.texts[post]
        values = {**(text.copy or text.live), **given}
        if text.is_published:
            self.texts[post] = replace(text, copy=values, is_outdated=False)
        else:
            self.texts[post] = Text(values)

    def change_status(self, post: str, status: str) -> None:
        text = self.texts[post]
        self.texts[post] = Text(text.copy or text.live, status)

    def discard(self, post: str) -> None:
        self.texts[post] = replace(self.texts[post], copy=None, is_outdated=False)

    def change_elsewhere(self, post: str, given: Typed, status: str) -> None:
        """A program changes it, which knows nothing of working copies."""
        text = self._text(post)
        new = replace(text, live={**text.live, **given}, status=status or text.status)
        is_outdated = new.copy is not None and (text.is_outdated or new != text)
        self.texts[post] = replace(new, is_outdated=is_outdated)

    def _text(self, post: str) -> Text:
        if post not in self.texts:
            raise Refusal(MISSING)
        return self.texts[post]

    # Comments.

    def check_comment(self, post: str, parent: str) -> None:
        answered = self.comments.get(parent)
        if post not in self.texts or (parent and (answered is None or answered.post != post)):
            raise Refusal(INVALID)

    def comment(self, comment_id: str, post: str, parent: str, status: str) -> None:
        thread = (self.comments[parent].thread or parent) if parent else ""
        new = Comment(post, parent, thread, status, status == APPROVED)
        self.comments[comment_id] = new
        self._appear(comment_id, replace(new, was_approved=False))

    def _appear(self, comment_id: str, comment: Comment) -> None:
        self.events["comment.posted", comment_id] += 1
        if comment.status == APPROVED:
            self._approve(comment_id, comment)

    def _approve(self, comment_id: str, comment: Comment) -> None:
        self.events["comment.approved", comment_id] += 1
        if not comment.was_approved:
            self.events["comment.received", comment_id] += 1

    def moderate(self, comment_id: str, status: str) -> None:
        comment = self.comments[comment_id]
        was_approved = comment.was_approved or status == APPROVED
        self.comments[comment_id] = replace(comment, status=status, was_approved=was_approved)
        if status == APPROVED != comment.status:
            self._approve(comment_id, comment)

    # The trash.

    def delete_comment(self, comment_id: str) -> None:
        comment = self.comments.pop(comment_id)
        moved_up = {}
        for each, other in self.comments.items():
            if other.parent == comment_id:
                self.comments[each] = replace(other, parent=comment.parent)
                moved_up[each] = comment.parent
        self.events["comment.deleted", comment_id] += 1
        self.trash[comment_id] = Gone(None, {comment_id: comment}, moved_up)

    def delete_post(self, post: str) -> None:
        under = {each: known for each, known in self.comments.items() if known.post == post}
        self.trash[post] = Gone(self.texts.pop(post), under, {})
        for each in under:
            del self.comments[each]
            self.events["comment.deleted", each] += 1

    def check_restore(self, gone: str) -> None:
        if any(each.post not in self.texts and each.post != gone for each in self._under(gone)):
            raise Refusal(CONFLICT)

    def _under(self, gone: str) -> list[Comment]:
        return [*self.trash[gone].comments.values()]

    def restore(self, gone: str) -> None:
        found = self.trash.pop(gone)
        if found.text is not None:
            self.texts[gone] = found.text
        for each, comment in found.comments.items():
            is_there = comment.parent in self.comments or comment.parent in found.comments
            self.comments[each] = replace(comment, parent=comment.parent if is_there else "")
            self._appear(each, comment)
        for each, parent in found.moved_up.items():
            if each in self.comments and self.comments[each].parent == parent:
                self.comments[each] = replace(self.comments[each], parent=gone)
