"""A field that names a stored file; the bytes live in the object store under the record's id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from masthead.records.fields.text import Text


@dataclass(frozen=True, kw_only=True)
class File(Text):
    max: int = 255

    is_file: ClassVar[bool] = True
