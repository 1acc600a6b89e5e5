"""A field that points at a record of another collection, within the same tenant."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import Column

from masthead.base import ids
from masthead.engine.records.fields.base import Decoder, Field, FieldError, refuse
from masthead.storage import dialects


class OnDelete(StrEnum):
    CASCADE = "cascade"
    """The record is deleted with its target, and fires its own events."""
    CLEAR = "clear"
    """The record stays and the field becomes empty."""
    REFUSE = "refuse"
    """The target can't be deleted as long as a record points at it."""


def missing_relation(to: str, same: Sequence[str] = ()) -> FieldError:
    """PocketBase's code, for one record or for several."""
    alike = f" with the same {' and '.join(same)}" if same else ""
    return refuse(
        "validation_missing_rel_records", f"Must be the id of an existing record in {to}{alike}."
    )


def _or_blank(stored: Any) -> Any:
    return stored or ""


class Relation(Field, frozen=True, kw_only=True):
    to: str
    on_delete: OnDelete = OnDelete.CLEAR
    has_key: bool = True
    """Whether the database has a foreign key for it, too. A large table that has got the field in a
    migration has none: SQLite would have to write the whole table again."""
    same: tuple[str, ...] = ()
    """Fields that must have the same value in the record and its target."""
    root: str = ""
    """For a relation within one collection: the field that gets the id of the record at which the
    chain of targets begins. It is set at creation, so the relation has to be immutable."""

    kind: ClassVar[str] = "relation"
    decode: ClassVar[Decoder | None] = staticmethod(_or_blank)
    present: ClassVar[Decoder | None] = staticmethod(_or_blank)

    def column(self) -> Column[Any]:
        # NULL rather than '' when empty, because of the foreign key.
        return Column(self.name, dialects.Text(), nullable=not self.required)

    def parse(self, value: Any) -> str:
        if not isinstance(value, str):
            raise refuse("validation_invalid_type", "Must be the id of a record.")
        if not ids.is_id(value):
            raise missing_relation(self.to, self.same)
        return value

    def encode(self, value: Any) -> Any:
        # The platform's own records have the empty tenant, and no foreign key on it.
        return value or ("" if self.required else None)
