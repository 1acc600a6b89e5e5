"""Review: a writer marks a draft as ready, and an editor or an owner publishes it or sends it back
with a note."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from masthead.base.errors import Invalid, Problem
from masthead.base.languages.words import staff_words
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.changes import Change, Later, Save
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Date, Select

READY: Final = "ready"
READY_JOB, SENT_BACK_JOB = "posts.ready", "posts.sent_back"
REVIEW_NOTE = Text(
    name="review_note",
    max=2_000,
    read=Access.CONTRIBUTOR,
    write=Access.EDITOR,
    help="What an editor or an owner wrote when they sent the draft back. Emailed to the writer if "
    "the same change empties `review`.",
)
REVIEW_FIELDS: Final = (
    Select(
        name="review",
        values=(READY,),
        read=Access.CONTRIBUTOR,
        help="`ready`: the draft waits for an editor or an owner, who get an email. Publishing "
        "empties it.",
    ),
    REVIEW_NOTE,
    Date(
        name="review_at",
        read=Access.CONTRIBUTOR,
        write=Access.ENGINE,
        help="When it became ready or was sent back.",
    ),
    Text(
        name="review_by",
        max=15,
        read=Access.CONTRIBUTOR,
        write=Access.ENGINE,
        help="The account that marked it as ready or sent it back.",
    ),
)
_OVER: Final = {"review": "", "review_note": "", "review_at": "", "review_by": ""}
_NOT_A_DRAFT: Final = Problem(
    "validation_review_of_draft",
    staff_words("The post is published. Only a draft can be ready for review."),
)


def stamp_review(save: Save) -> Mapping[str, Any]:
    old, new = save.old, save.new
    if new["status"] == PUBLISHED:
        if "review" in save.given and new["review"] and "status" not in save.given:
            raise Invalid({"review": _NOT_A_DRAFT})
        return _OVER
    if new["review"] == (old["review"] if old else ""):
        return {}
    stamps = {"review_at": save.now, "review_by": save.caller.id}
    # The note was about the text before.
    return {**stamps, "review_note": ""} if new["review"] else stamps


def review_jobs(change: Change) -> Iterator[Later]:
    """The emails: to editors and owners, and back to the writer."""
    if change.is_restored or change.new is None:
        return
    new = change.new
    payload = {"id": new["id"], "at": new["review_at"]}
    if change.became("review", READY):
        yield Later(READY_JOB, payload)
    elif change.left("review", READY) and new["review_note"]:
        assert change.old is not None
        yield Later(SENT_BACK_JOB, payload | {"to": change.old["review_by"]})
