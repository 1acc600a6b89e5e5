"""Publishing: what `status` and `published_at` mean, for posts and pages alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masthead.records.collection import Change, Save
from masthead.records.fields.values import Date, Select

DRAFT = "draft"
PUBLISHED = "published"

STATUS = Select(name="status", values=(DRAFT, PUBLISHED), default=DRAFT)
PUBLISHED_AT = Date(name="published_at")


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
