"""A kind of text: the collection of the texts, and those of their working copies and revisions."""

from __future__ import annotations

import msgspec

from masthead.engine.records.collection import Collection


class TextKind(msgspec.Struct, frozen=True):
    texts: Collection
    working_copies: Collection
    revisions: Collection
    pointer: str
    """The field of copies and revisions that names the text."""
    edited: tuple[str, ...]
