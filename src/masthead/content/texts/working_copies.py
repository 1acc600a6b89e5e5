"""Working copies: what an editor has typed into a published text before it goes live.

Without them every pause in typing would change the site and notify the subscribers of
`post.updated`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from masthead.content.texts.copied_fields import copied, pointer
from masthead.content.texts.revisions import EDITED_BY
from masthead.engine.links.file_uses import NOT_SHOWN, Uses
from masthead.engine.records.changes import Save
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

    def before_save(save: Save) -> Mapping[str, Any]:
        # The service itself edits nothing.
        by = save.caller.id or (save.old["edited_by"] if save.old else "")
        return {**stamp(save), "edited_by": by}

    base_version = Number(
        name="base_version",
        write=Access.ENGINE,
        help="The version of the text that the copy began with.",
    )
    files = Uses(names_files, counted_in="draft_uses", shown=NOT_SHOWN)
    fields = (pointer(singular), *copied(edited), base_version, EDITED_BY)
    return Collection(
        f"{singular}_working_copies",
        tuple(replace(each, read=Access.CONTRIBUTOR) for each in fields),
        help=f"Changes of published {singular}s that are not on the site yet.",
        editors=FREE,
        authors=Rules(authors, authors, authors, authors),
        contributors=contributors,
        made_by="the editor",
        before_save=before_save,
        listings=(files.listings,),
        followers=(files,),
        indexes=(Index((f"{singular}_id",), unique=True),),
    )
