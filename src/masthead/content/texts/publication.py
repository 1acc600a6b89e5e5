"""Publishing: what `status` and `published_at` mean, for posts and pages alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from masthead.base.errors import Invalid, Problem
from masthead.engine.links.moves import Move
from masthead.engine.records.changes import Change, Save
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.values import Date, Select

DRAFT = "draft"
PUBLISHED = "published"

STATUS = Select(name="status", values=(DRAFT, PUBLISHED), default=DRAFT, write=Access.AUTHOR)
PUBLISHED_AT = Date(name="published_at")
SCHEDULED_FOR = Date(
    name="scheduled_for",
    read=Access.CONTRIBUTOR,
    write=Access.AUTHOR,
    help="When the worker publishes the draft: a time to come. Empty once it is published.",
)


def stamp_publication(save: Save) -> Mapping[str, Any]:
    """`published_at` is set when a record is published and cleared when it becomes a draft.

    So `published` always has a date and `draft` never: the counters of public posts rely on it. An
    administrator may give the date, past or future, while publishing or later.
    """
    if save.new["status"] != PUBLISHED:
        return {"published_at": ""}
    named = save.new["published_at"] if "published_at" in save.given else ""
    if named:
        return {}
    was_published = save.old is not None and save.old["status"] == PUBLISHED
    if was_published:
        assert save.old is not None
        return {"published_at": save.old["published_at"]}
    return {"published_at": save.now}


def stamp_schedule(save: Save) -> Mapping[str, Any]:
    """Only a draft waits for its time, which must be to come when it is set."""
    at = save.new["scheduled_for"] if "scheduled_for" in save.given else ""
    if "" < at <= save.now and (save.old is None or at != save.old["scheduled_for"]):
        # The worker would publish it at once.
        raise Invalid({"scheduled_for": _PAST})
    if save.new["status"] != PUBLISHED:
        return {}
    if at and "status" not in save.given:
        raise Invalid({"scheduled_for": _NOT_A_DRAFT})
    return {"scheduled_for": ""}


_PAST = Problem(
    "validation_past_date",
    "Must be in the future. To publish the post now, leave it out and send the status published.",
)
_NOT_A_DRAFT = Problem(
    "validation_scheduled_draft",
    "The post is published. Send the status draft as well to take it back until this date.",
)


def is_due(record: Record, now: str) -> bool:
    """Whether the time of a scheduled draft has come."""
    return bool("" < record["scheduled_for"] <= now)


def was_scheduled(change: Change) -> bool:
    """A draft waits for a time for which it did not wait before."""
    new, old = change.new, change.old
    if new is None or not new["scheduled_for"]:
        return False
    return old is None or old["scheduled_for"] != new["scheduled_for"]


def was_published(change: Change) -> bool:
    return change.became("status", PUBLISHED)


def was_unpublished(change: Change) -> bool:
    return change.left("status", PUBLISHED)


def stays_published(change: Change) -> bool:
    return bool(
        change.old is not None
        and change.new is not None
        and change.old["status"] == change.new["status"] == PUBLISHED
    )


def changes_more_than_a_draft(change: Change) -> bool:
    """One more save of a draft is not for the audit log: its revisions tell of it."""
    old, new = change.old, change.new
    if old is None or new is None or old["status"] != DRAFT or new["status"] != DRAFT:
        return True
    return any(old.get(name) != new.get(name) for name in ("scheduled_for", "review"))


def moves_of(change: Change, prefix: str) -> Iterator[Move]:
    """A published text whose slug has changed stays reachable at its old address. `prefix` is the
    part before the slug in the address."""
    if not stays_published(change):
        return
    assert change.old is not None
    assert change.new is not None
    old, new = change.old["slug"], change.new["slug"]
    if old != new:
        yield Move(f"{prefix}{quote(old)}", f"{prefix}{quote(new)}")
