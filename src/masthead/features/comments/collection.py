"""The comments collection: readers' comments on posts, threaded by parent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from masthead.base.caller import Kind
from masthead.base.errors import Forbidden
from masthead.base.languages.words import staff_words, words
from masthead.engine.records.changes import Change, Listing, Save
from masthead.engine.records.collection import (
    FREE,
    Collection,
    Counter,
    Index,
    Listings,
    Record,
    Searched,
    SiteRules,
    Trashed,
)
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.relation import OnDelete, Relation
from masthead.engine.records.fields.text import Email, Text
from masthead.engine.records.fields.values import Date, Select
from masthead.features.comments.rules import check_may_comment, waits
from masthead.features.site.record_view import as_settings

APPROVED, PENDING, SPAM = "approved", "pending", "spam"
TEXT, DELETED = "text", "deleted"
THREADS = "threads"
"""The listing of a post's threads: the approved comments that answer none, by date."""


def comment_events(change: Change) -> Iterator[str]:
    if change.new is None:
        if change.record["shown_as"] != DELETED:
            yield "comment.deleted"
        return
    if change.old is None:
        yield "comment.posted"
    if change.became("shown_as", DELETED):
        yield "comment.deleted"
    if change.became("status", APPROVED):
        yield "comment.approved"
        was_approved = change.record if change.is_restored else change.old
        if was_approved is None or not was_approved["first_approved_at"]:
            yield "comment.received"


def before_comment_save(save: Save) -> Mapping[str, Any]:
    stamps: dict[str, Any] = {}
    if save.old is None:
        settings = as_settings(save.site.settings)
        if not settings["comments_enabled"]:
            raise Forbidden(words("Comments are disabled on this site."))
        if save.caller.kind is Kind.SITE:
            check_may_comment(settings, save.caller.audience)
            if waits(settings, save.caller.audience, save.new["body"]):
                stamps["status"] = PENDING
    status = stamps.get("status", save.new["status"])
    if status == APPROVED and not save.new["first_approved_at"]:
        stamps["first_approved_at"] = save.now
    return stamps


def threads(comment: Record) -> Iterator[Listing]:
    if comment["status"] == APPROVED and not comment["parent_id"]:
        yield Listing(THREADS, comment["post_id"], comment["created"])


comments = Collection(
    "comments",
    (
        Relation(
            name="post_id",
            to="posts",
            required=True,
            immutable=True,
            on_delete=OnDelete.CASCADE,
            write=Access.SITE,
        ),
        Text(name="author_name", required=True, max=100, personal=True, write=Access.SITE),
        Email(name="author_email", personal=True, write=Access.SITE),
        Text(name="body", required=True, max=5000, personal=True, write=Access.SITE),
        # Replies outlive a deleted comment: they move up one level.
        Relation(
            name="parent_id",
            to="comments",
            same=("post_id",),
            root="thread_id",
            immutable=True,
            write=Access.SITE,
        ),
        Text(
            name="thread_id",
            max=15,
            read=Access.SITE,
            write=Access.ENGINE,
            help="The first comment of the thread; empty for that comment itself.",
        ),
        Select(name="status", values=(APPROVED, PENDING, SPAM), default=APPROVED),
        Select(
            name="shown_as",
            values=(TEXT, DELETED),
            default=TEXT,
            read=Access.SITE,
            write=Access.ENGINE,
            help="`deleted`: its author deleted it after others had replied, so an empty entry "
            "holds its place in the thread.",
        ),
        Text(
            name="member_id",
            max=15,
            read=Access.SITE,
            write=Access.ENGINE,
            personal=True,
            help="The member who wrote it while signed in.",
        ),
        Text(
            name="staff_id",
            max=15,
            read=Access.SITE,
            write=Access.ENGINE,
            help="The account of the staff that wrote it while signed in.",
        ),
        # So that `comment.received` fires only once per comment.
        Date(name="first_approved_at", read=Access.ENGINE, write=Access.ENGINE),
    ),
    audited="",
    help="Readers' comments under posts. Deleting a post deletes its comments.",
    editors=FREE,
    site=SiteRules(
        read="status = 'approved'",
        fields=(
            "post_id",
            "parent_id",
            "thread_id",
            "author_name",
            "body",
            "shown_as",
            "member_id",
            "staff_id",
            "created",
        ),
        create="",
    ),
    listings=(Listings(by=("status", "parent_id", "post_id"), of=threads),),
    before_save=before_comment_save,
    # Only so long that a deletion in the admin can be undone.
    trashed=Trashed(kept_for=timedelta(hours=1)),
    events=comment_events,
    counters=(Counter(by=("status",)), Counter(by=("post_id", "status", "shown_as"))),
    indexes=(
        # With the status, so that those of a post in one state are not read among all others in it.
        Index(("post_id", "created", "id", "status")),
        Index(("status", "created", "id")),
        Index(("thread_id", "status", "created", "id")),
        # What one person wrote, newest first, and how much of it is in which state.
        Index(("author_email", "created", "id", "status")),
        Index(("member_id", "created", "id", "status")),
    ),
    searchable=(Searched("author_name"), Searched("body")),
    called=staff_words("comments"),
)
