"""The fields of a text in the collections that hold copies of it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from masthead.engine.records.fields.base import Field
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.relation import OnDelete, Relation
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.fields.text import Slug, Text


def pointer(singular: str) -> Relation:
    """To the text itself, with which its copies are deleted."""
    return Relation(
        name=f"{singular}_id",
        to=f"{singular}s",
        required=True,
        immutable=True,
        on_delete=OnDelete.CASCADE,
    )


def copied(edited: Sequence[Field]) -> tuple[Field, ...]:
    return tuple(_copied(each) for each in edited)


def _copied(field: Field) -> Field:
    """Validated as in the text itself, but neither unique nor listed: a copy is no text of the
    site. Relations become plain ids, since an account may be deleted before an old copy."""
    if isinstance(field, Slug):
        return Text(name=field.name, max=field.max, pattern=field.pattern, allowed=field.allowed)
    if isinstance(field, RelationList):
        return TextList(name=field.name, max_length=15)
    if isinstance(field, TextList):
        return replace(field, indexed=False)
    return field
