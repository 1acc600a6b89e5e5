"""The trash: deleted posts, pages and files that can still be restored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from masthead.base.languages.words import staff_words
from masthead.engine.records.changes import Change, Later
from masthead.engine.records.collection import FREE, KEPT_FOR, Collection, Counter, Index, Rules
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.documents import Json, TextList
from masthead.engine.records.fields.relation import OnDelete, Relation
from masthead.engine.records.fields.text import Email, Text
from masthead.engine.records.fields.values import Date, Number, Select
from masthead.engine.records.write.trash import TRASH, TRASH_ITEMS

OWN: Final = "owners ?= @request.auth.id"
OWN_DELETED: Final = f"{OWN} && deleted_by = @request.auth.id"
TYPES: Final = ("posts", "pages", "media")
"""The collections whose deleted records are listed. Comments are there for an hour as well, so that
their deletion can be undone."""


def trash_jobs(change: Change) -> Iterator[Later]:
    """A deleted entry is gone for good, and with it the files. A restore names no file here."""
    if change.new is None and change.record["files"]:
        yield Later("files.remove", {"keys": change.record["files"]})


trash = Collection(
    TRASH,
    (
        Select(
            name="type",
            values=(*TYPES, "comments"),
            default=TYPES[0],
            read=Access.CONTRIBUTOR,
            write=Access.ENGINE,
            help="The collection of the deleted record.",
        ),
        Text(name="record_id", max=15, read=Access.CONTRIBUTOR, write=Access.ENGINE),
        Text(
            name="title",
            max=255,
            read=Access.CONTRIBUTOR,
            write=Access.ENGINE,
            help="The title of a text, or the name of a file.",
        ),
        Text(
            name="slug",
            max=255,
            read=Access.CONTRIBUTOR,
            write=Access.ENGINE,
            help="Of a text. Another record may have it by now; then a restore adds a number.",
        ),
        TextList(
            name="owners",
            max_length=15,
            indexed=True,
            read=Access.CONTRIBUTOR,
            write=Access.ENGINE,
            help="The authors who can restore it. Editors and owners of the site can restore all.",
        ),
        Text(
            name="deleted_by",
            max=15,
            read=Access.CONTRIBUTOR,
            write=Access.ENGINE,
            help="The account that deleted it. Empty for an API key or the service itself.",
        ),
        Date(name="deleted_at", read=Access.CONTRIBUTOR, write=Access.ENGINE),
        Date(
            name="expires_at",
            read=Access.CONTRIBUTOR,
            write=Access.ENGINE,
            help=f"When it is deleted for good: {KEPT_FOR.days} days after its deletion, and an "
            "hour after that of a comment.",
        ),
        TextList(
            name="files",
            max_length=500,
            read=Access.ENGINE,
            write=Access.ENGINE,
            help="The keys of its stored files.",
        ),
        Number(
            name="size",
            read=Access.CONTRIBUTOR,
            write=Access.ENGINE,
            help="The bytes of a file.",
        ),
        Json(
            name="links",
            read=Access.ENGINE,
            write=Access.ENGINE,
            help="Records that pointed at it, such as mailings.",
        ),
    ),
    audited="title",
    help="Deleted posts, pages and files. Deleting an entry deletes them for good.",
    editors=FREE,
    # The rule for changes is that for a restore: no field can be changed.
    authors=Rules(read=OWN, update=OWN, delete=OWN),
    # A post that was published is not theirs to delete for good.
    contributors=Rules(read=OWN, update=OWN, delete=OWN_DELETED),
    made_by="a deletion",
    jobs=trash_jobs,
    counters=(Counter(by=("type",)),),
    sums=("size",),
    indexes=(
        Index(("type", "created", "id")),
        Index(("record_id",)),
        Index(("expires_at",), across_tenants=True, skip_empty="expires_at"),
    ),
    called=staff_words("the trash"),
)

trash_items = Collection(
    TRASH_ITEMS,
    (
        Relation(
            name="entry_id",
            to=TRASH,
            required=True,
            immutable=True,
            on_delete=OnDelete.CASCADE,
            write=Access.ENGINE,
        ),
        Text(name="type", max=50, write=Access.ENGINE, help="The record's collection."),
        Text(name="record_id", max=15, write=Access.ENGINE),
        Email(
            name="email",
            personal=True,
            write=Access.ENGINE,
            help="The address of a comment's author, by which an erasure finds it.",
        ),
        Text(name="member_id", max=15, personal=True, write=Access.ENGINE),
        Json(name="document", write=Access.ENGINE, help="The record, as it was."),
    ),
    help="The deleted records of the trash: a post with its comments and revisions.",
    made_by="a deletion",
    # They are written like a log, so nothing counts them.
    counters=(),
    indexes=(
        Index(("entry_id",)),
        Index(("email",), skip_empty="email"),
        Index(("member_id",), skip_empty="member_id"),
    ),
)
