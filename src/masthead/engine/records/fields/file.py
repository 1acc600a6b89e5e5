"""A field that names a stored file; the bytes live in the object store under the record's id."""

from __future__ import annotations

from typing import ClassVar

from masthead.engine.records.fields.text import Text


class File(Text, frozen=True, kw_only=True):
    max: int = 255
    # The name is part of the object's key: changing it would give access to other objects.
    immutable: bool = True
    thumbs: tuple[str, ...] = ()
    """The sizes in which thumbnails are made. Other requests get the original, so that clients
    can't fill the store with thousands of sizes."""

    is_file: ClassVar[bool] = True
