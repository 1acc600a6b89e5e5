"""Revisions of a text. The change that replaces a state stores it, in its own transaction.

A state is stored at the next change by another person, after five minutes of writing or a pause,
and when the text is published or taken down; and each state that was live, when another replaces
it. `thinning.py` removes most of them as they get older.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from masthead.base import clock
from masthead.content.texts.copied_fields import copied, pointer
from masthead.content.texts.publication import DRAFT, PUBLISHED
from masthead.content.texts.thinning import stamp_thinning
from masthead.engine.records.changes import Change, Save, Snapshot
from masthead.engine.records.collection import Collection, Index, Record, Rules
from masthead.engine.records.fields.base import Access, Field
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Date

CHANGES = "changes"
"""The status of a working copy that was replaced: it has never been live."""
AT_MOST_EVERY = timedelta(minutes=5)
"""Changes of a draft by one person within this time count as one."""

REVISED_AT = Date(name="revised_at", read=Access.ENGINE, write=Access.ENGINE)
"""When the newest revision was stored."""
EDITED_BY = Text(
    name="edited_by",
    max=15,
    read=Access.CONTRIBUTOR,
    write=Access.ENGINE,
    help="The account of the last change. Empty for an API key or the service itself.",
)
THIN_AT = Date(name="thin_at", read=Access.ENGINE, write=Access.ENGINE)
"""When a revision may go because a newer one is near; empty for one that stays."""
FIELDS = (REVISED_AT, EDITED_BY)
"""The fields that a text needs so that its states are stored."""


def revisions_of(
    singular: str, edited: Sequence[Field], *, writers: str | None = None
) -> Collection:
    """The collection of a text's revisions. `writers` is the rule by which authors and
    contributors see it."""
    fields = (
        pointer(singular),
        *copied(edited),
        Text(
            name="status",
            max=20,
            help=f"`draft` or `published`; `{CHANGES}` of changes that were never live.",
        ),
        Date(name="saved_at", help="When the text was saved in this state."),
        Text(name="saved_by", max=15, help="The account that saved it."),
    )

    def before_save(save: Save) -> Mapping[str, Any]:
        return stamp_thinning(save.now, save.new["status"]) if save.old is None else {}

    return Collection(
        f"{singular}_revisions",
        (
            *(replace(each, read=Access.CONTRIBUTOR, write=Access.ENGINE) for each in fields),
            THIN_AT,
        ),
        help=f"Revisions of the {singular}s: all of a day, one an hour for a week, one a day for a "
        "year, and every one that was published.",
        editors=Rules(read=""),
        authors=Rules(read=writers),
        contributors=Rules(read=writers),
        made_by=f"a change of one of the {singular}s",
        before_save=before_save,
        indexes=(
            Index((f"{singular}_id", "created", "id")),
            # Without the states that were live, which are not thinned.
            Index((f"{singular}_id", "saved_at"), unusual=("status", PUBLISHED)),
            Index(("thin_at",), across_tenants=True, skip_empty="thin_at"),
        ),
    )


def stamp_revision(save: Save, edited: Sequence[str]) -> Mapping[str, Any]:
    """For a text's `before_save`: notes who changes it, and whether its old state is stored."""
    by, old, new = save.caller.id, save.old, save.new
    if old is None:
        return {"revised_at": save.now, "edited_by": by}
    if all(old[name] == new[name] for name in (*edited, "status")):
        return {}
    # Each text that was live is a state of its own, however soon the next one follows.
    is_same_sitting = (
        old["edited_by"] == by and old["status"] == new["status"] == DRAFT and is_recent(save)
    )
    return {} if is_same_sitting else {"revised_at": next_revision(old, save.now), "edited_by": by}


def is_recent(save: Save) -> bool:
    """Whether a state was stored less than five minutes ago."""
    assert save.old is not None
    recent: bool = save.old["revised_at"] > clock.to_text(clock.from_text(save.now) - AT_MOST_EVERY)
    return recent


def next_revision(text: Record, now: str) -> str:
    """The time at which the state of a text is stored. It differs from the one before, also within
    a millisecond: by that `snapshots_of` sees that there is a state to store."""
    if now > text["revised_at"]:
        return now
    return clock.to_text(clock.from_text(text["revised_at"]) + timedelta(milliseconds=1))


def snapshots_of(change: Change, singular: str, edited: Sequence[str]) -> Iterator[Snapshot]:
    """The state that a change replaces, where `stamp_revision` said so."""
    old, new = change.old, change.new
    if old is not None and new is not None and old["revised_at"] != new["revised_at"]:
        yield state_of(old["id"], old, singular, edited, status=old["status"])


def state_of(
    text_id: str, record: Record, singular: str, edited: Sequence[str], *, status: str
) -> Snapshot:
    """The state of a text that is in `record`, which is the text itself or its working copy."""
    values = {
        f"{singular}_id": text_id,
        **{name: record[name] for name in edited},
        "status": status,
        "saved_at": record["updated"],
        "saved_by": record["edited_by"],
    }
    return Snapshot(f"{singular}_revisions", values, by=f"{singular}_id")
