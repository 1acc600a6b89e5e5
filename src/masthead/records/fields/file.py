"""A field that names a stored file; the bytes live in the object store under the record's id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from masthead.records.fields.text import Text


@dataclass(frozen=True, kw_only=True)
class File(Text):
    max: int = 255
    # The name is the key of the stored bytes: whoever could change it could reach for others.
    immutable: bool = True
    thumbs: tuple[str, ...] = ()
    """The only sizes made of pictures: any other request gets the original, so that nobody can
    fill the store by asking for ten thousand sizes."""

    is_file: ClassVar[bool] = True
