"""The comments collection: readers' comments on posts, threaded by parent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from masthead.errors import Forbidden
from masthead.records.collection import (
    FREE,
    Change,
    Collection,
    Counter,
    Event,
    Index,
    Record,
    Save,
    SiteRules,
)
from masthead.records.fields.base import Access
from masthead.records.fields.relation import OnDelete, Relation
from masthead.records.fields.text import Email, Text
from masthead.records.fields.values import Date, Select

APPROVED = "approved"


def _payload(comment: Record) -> dict[str, Any]:
    return {
        "comment_id": comment["id"],
        "post_id": comment["post_id"],
        "parent_id": comment["parent_id"] or None,
        "author_name": comment["author_name"],
        "body": comment["body"],
        "status": comment["status"],
        "tenant_id": comment["tenant_id"],
    }


def comment_events(change: Change) -> Iterator[Event]:
    payload = _payload(change.record)
    if change.new is None:
        yield Event("comment.deleted", payload)
        return
    if change.old is None:
        yield Event("comment.posted", payload)
    if change.became("status", APPROVED):
        yield Event("comment.approved", payload)
        if change.old is None or not change.old["first_approved_at"]:
            yield Event("comment.received", payload)


def before_comment_save(save: Save) -> Mapping[str, Any]:
    if save.old is None and not save.site.comments_enabled:
        raise Forbidden("Comments are disabled on this site.")
    if save.new["status"] == APPROVED and not save.new["first_approved_at"]:
        return {"first_approved_at": save.now}
    return {}


comments = Collection(
    "comments",
    (
        Relation(
            name="post_id", to="posts", required=True, immutable=True, on_delete=OnDelete.CASCADE
        ),
        Text(name="author_name", required=True, max=100, personal=True),
        Email(name="author_email", personal=True),
        Text(name="body", required=True, max=5000, personal=True),
        # Replies outlive a deleted comment: they move up one level.
        Relation(name="parent_id", to="comments", same=("post_id",)),
        Select(name="status", values=(APPROVED, "pending", "spam"), default=APPROVED),
        # So that `comment.received` fires only once per comment.
        Date(name="first_approved_at", read=Access.ENGINE, write=Access.ENGINE),
    ),
    help="Readers' comments under posts. Deleting a post deletes its comments.",
    editors=FREE,
    site=SiteRules(
        read="status = 'approved'",
        fields=("post_id", "parent_id", "author_name", "body", "created"),
    ),
    before_save=before_comment_save,
    events=comment_events,
    counters=(Counter(by=("status",)), Counter(by=("post_id", "status"))),
    indexes=(
        Index(("post_id", "created", "id")),
        Index(("status", "created", "id")),
        Index(("author_email",), skip_empty="author_email"),
    ),
)
