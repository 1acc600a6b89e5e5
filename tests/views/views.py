"""Typed views of records, made from the declarations of their collections.

A view says the fields to the type checker, so that a misspelt name fails in `make lint`. At run
time it is the record itself.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import masthead
from masthead.engine.records.collection import Collection
from masthead.engine.records.fields.base import Field
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.relation import Relation
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Flag, Number, Select
from masthead.features.comments.collection import comments
from masthead.features.media.collection import media
from masthead.features.members.collection import blog_members
from masthead.features.posts.collection import posts
from masthead.features.site.collection import site_settings

ROOT = Path(masthead.__file__).parent

_TEXT = '''\
"""The fields of a record of `{collection}`, for the type checker. Written by `make views`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, {never}cast

from masthead.engine.records.collection import Record

if TYPE_CHECKING:
    from masthead.engine.records.typed_record import TypedRecord

    class {name}(
        TypedRecord[
{fields}
        ]
    ): ...
else:
    {name} = Record


def {function}(record: Record) -> {name}:
    return cast({name}, record)
'''
_TYPES = ("str", "bool", "int", "list[str]", "Any")


@dataclass(frozen=True)
class View:
    collection: Collection
    name: str
    folder: str
    derived: tuple[tuple[str, str], ...] = ()
    """Names that a read adds to the fields, with their types."""

    @property
    def path(self) -> Path:
        return ROOT / self.folder / "record_view.py"

    @property
    def function(self) -> str:
        return f"as_{self.name.removesuffix('Record').lower()}"

    def render(self) -> str:
        by_type: dict[str, list[str]] = {}
        for field in self.collection.all_fields:
            by_type.setdefault(_type(field), []).append(f'"{field.name}"')
        for name, kind in self.derived:
            by_type.setdefault(kind, []).append(f'"{name}"')
        fields = "".join(
            f"            Literal[{', '.join(by_type[kind])}],\n"
            if kind in by_type
            else "            Never,\n"
            for kind in _TYPES
        )
        text = _TEXT.format(
            collection=self.collection.name,
            name=self.name,
            function=self.function,
            fields=fields,
            never="Never, " if len(by_type) < len(_TYPES) else "",
        )
        ruff = Path(sys.executable).with_name("ruff")
        command = [ruff, "format", "--stdin-filename", self.path, "-"]
        return subprocess.run(
            command, input=text, capture_output=True, text=True, check=True
        ).stdout


def _type(field: Field) -> str:
    """A date may be empty, which is a text; JSON is anything."""
    if isinstance(field, Text | Select | Relation) or field.name == "id":
        return "str"
    if isinstance(field, Flag):
        return "bool"
    if isinstance(field, Number) and field.whole and not field.nullable:
        return "int"
    return "list[str]" if isinstance(field, TextList) else "Any"


VIEWS = (
    View(posts, "PostRecord", "features/posts", derived=(("is_open", "bool"),)),
    View(blog_members, "MemberRecord", "features/members"),
    View(comments, "CommentRecord", "features/comments"),
    View(media, "MediaRecord", "features/media"),
    View(site_settings, "SettingsRecord", "features/site"),
)
