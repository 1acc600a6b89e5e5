"""Working copies: what an editor has typed into a published text before it goes live.

Without them every pause in typing would change the site and notify the subscribers of
`post.updated`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from masthead.content.texts.copied_fields import copied, pointer
from masthead.content.texts.revisions import (
    CHANGES,
    EDITED_BY,
    REVISED_AT,
    is_recent,
    next_revision,
    state_of,
)
from masthead.engine.links.file_uses import NOT_SHOWN, Uses
from masthead.engine.records.changes import Change, Save, Snapshot
from masthead.engine.records.collection import FREE, LOCKED, Collection, Index, Rules
from masthead.engine.records.fields.base import Access, Field
from masthead.engine.records.fields.values import Number

Stamp = Callable[[Save], Mapping[str, Any]]


def working_copies_of(
    singular: str,
    edited: Sequence[Field],
    *,
    authors: str | None = None,
    contributors: Rules = LOCKED,
    stamp: Stamp,
    names_files: tuple[str, ...],
) -> Collection:
    """`authors` is the rule by which authors have access, `contributors` are those of contributors;
    `stamp` renders the text; `names_files` are the fields that may hold addresses of uploaded
    files."""

    names = tuple(each.name for each in edited)

    def before_save(save: Save) -> Mapping[str, Any]:
        # The service itself edits nothing.
        by = save.caller.id or (save.old["edited_by"] if save.old else "")
        stamps = {**stamp(save), "edited_by": by}
        return {**stamps, **_revised(save.with_stamps(stamps), names)}

    def snapshots(change: Change) -> Iterator[Snapshot]:
        old, new = change.old, change.new
        if old is not None and new is not None and old["revised_at"] != new["revised_at"]:
            yield state_of(old[f"{singular}_id"], old, singular, names, status=CHANGES)

    base_version = Number(
        name="base_version",
        write=Access.ENGINE,
        help="The version of the text that the copy began with.",
    )
    files = Uses(names_files, counted_in="draft_uses", shown=NOT_SHOWN)
    fields = (pointer(singular), *copied(edited), base_version, REVISED_AT, EDITED_BY)
    return Collection(
        f"{singular}_working_copies",
        tuple(
            each if each is REVISED_AT else replace(each, read=Access.CONTRIBUTOR)
            for each in fields
        ),
        help=f"Changes of published {singular}s that are not on the site yet.",
        editors=FREE,
        authors=Rules(authors, authors, authors, authors),
        contributors=contributors,
        made_by="the editor",
        before_save=before_save,
        snapshots=snapshots,
        listings=(files.listings,),
        followers=(files,),
        versions_of_target=(base_version.name,),
        indexes=(Index((f"{singular}_id",), unique=True),),
    )


def _revised(save: Save, edited: Sequence[str]) -> Mapping[str, Any]:
    """Whether the old state of a copy is stored. What another replaces, `editing.py` stores."""
    old, new = save.old, save.new
    if old is None:
        return {"revised_at": save.now}
    # The service itself edits nothing: it may take a person's address out of the text.
    if not save.caller.id or all(old[name] == new[name] for name in edited) or is_recent(save):
        return {}
    return {"revised_at": next_revision(old, save.now)}
