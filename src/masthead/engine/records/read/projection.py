"""The `fields` parameter: which fields of a record an answer shows, and `:excerpt` of long ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from masthead.base.errors import BadRequest
from masthead.engine.records.read.plain_text import Budget, plain_text

MAX_CHARACTERS: Final = 3_500
MAX_FIELDS: Final = 200
MAX_PATH_STEPS: Final = 16

_FIELD: Final = re.compile(
    r"(?P<path>[^,():]*+)(?P<modifier>:[^,():]*+(?:\([^()]*+\)[ \t\n]*+)?)?(?:,|\Z)"
)
_EXCERPT: Final = re.compile(
    r":\s*+excerpt\s*+\(\s*+(?P<length>[0-9]{1,9})\s*+(?:,\s*+(?P<ellipsis>\w*+)\s*+)?\)\s*+"
)
# What Go's strconv.ParseBool takes for true; everything else is false, as in PocketBase.
_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})


class Excerpt(msgspec.Struct, frozen=True):
    """The first `length` characters of a value as plain text; the value may be HTML."""

    length: int
    with_ellipsis: bool = False

    def of(self, value: object, budget: Budget | None = None) -> object:
        if not isinstance(value, str):
            return value
        text = plain_text(value, self.length, budget)
        if len(text) <= self.length:
            return text
        return text[: self.length].strip() + ("..." if self.with_ellipsis else "")


class _Level(msgspec.Struct):
    """The selected part of one value: all of it (`whole`) or some of its members."""

    members: dict[str, _Level] = msgspec.field(default_factory=dict)
    whole: bool = False
    excerpt: Excerpt | None = None

    def pick(self, value: object, budget: Budget) -> object:
        if self.whole:
            return self.excerpt.of(value, budget) if self.excerpt else value
        if isinstance(value, Mapping):
            return self.pick_members(value, budget)
        if isinstance(value, list):
            return [self.pick(item, budget) for item in value]
        if isinstance(value, msgspec.Raw):
            return self.pick(msgspec.json.decode(value), budget)
        return value

    def pick_members(self, record: Mapping[str, object], budget: Budget) -> dict[str, object]:
        rest = self.members.get("*")
        picked = {}
        for name, value in record.items():
            member = self.members.get(name, rest)
            if member is not None:
                picked[name] = member.pick(value, budget)
        return picked


class Projection:
    """A parsed `fields` parameter. Built by `parse`, then applied to each record of an answer."""

    __slots__ = ("_root",)

    def __init__(self, root: _Level) -> None:
        self._root = root

    @classmethod
    def parse(cls, text: str) -> Projection | None:
        """None for an empty parameter, which shows whole records. Raises `BadRequest`."""
        if len(text) > MAX_CHARACTERS:
            raise BadRequest(f"The fields parameter is over {MAX_CHARACTERS} characters.")
        root = _Level()
        count, position = 0, 0
        while position < len(text):
            match = _FIELD.match(text, position)
            if match is None:
                raise BadRequest("The fields parameter has a parenthesis or colon too many.")
            position = match.end()
            path, modifier = match["path"].strip(), match["modifier"]
            if not path and not modifier:
                continue
            count += 1
            if count > MAX_FIELDS:
                raise BadRequest(f"Ask for at most {MAX_FIELDS} fields.")
            _add(root, path.split("."), _excerpt(modifier) if modifier else None)
        return cls(root) if count else None

    def apply_all(self, records: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
        """Their excerpts share one budget. Raises `BadRequest` when it is used up."""
        budget = Budget()
        return [self._root.pick_members(record, budget) for record in records]

    def reads_into(self, name: str) -> bool:
        """Whether `apply_all` shows a part of the field's value, for which it has to be read."""
        level = self._root.members.get(name, self._root.members.get("*"))
        return level is not None and (not level.whole or level.excerpt is not None)

    def top_level_names(self) -> frozenset[str] | None:
        """The fields of the record itself that `apply_all` reads; None when it is all of them."""
        names = self._root.members.keys()
        return None if "*" in names else frozenset(names)


def _add(level: _Level, steps: list[str], excerpt: Excerpt | None) -> None:
    if len(steps) > MAX_PATH_STEPS:
        raise BadRequest(f"A path in the fields parameter has over {MAX_PATH_STEPS} steps.")
    for step in steps:
        level = level.members.setdefault(step, _Level())
    level.whole, level.excerpt = True, excerpt


def _excerpt(modifier: str) -> Excerpt:
    match = _EXCERPT.fullmatch(modifier)
    if match is None or int(match["length"]) == 0:
        raise BadRequest(f"Expected :excerpt(length, ellipsis?), found {modifier[:40]!r}.")
    return Excerpt(int(match["length"]), match["ellipsis"] in _TRUE)
