"""Reads the `sort` parameter of a list: comma-separated fields, each with a direction."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import msgspec
from msgspec.structs import replace

from masthead.base.errors import BadRequest
from masthead.engine.records.filter.parser import MAX_PATH_STEPS

MAX_SORT_KEYS: Final = 8

_MODIFIERS: Final = ("lower", "length", "each")
_RANDOM: Final = "@random"
# `@rowid` is PocketBase's name for insertion order.
_PATH: Final = re.compile(r"@rowid|[A-Za-z_]\w*+(?:\.[A-Za-z_]\w*+)*+", re.ASCII)
# Enough for eight of the longest paths.
_MAX_CHARACTERS: Final = 3_500


class SortKey(msgspec.Struct, frozen=True):
    """One field or relation path to order by; a random key has no path and no direction."""

    path: tuple[str, ...]
    descending: bool = False
    random: bool = False
    modifier: str = ""
    """`lower`, `length` or `each`: what to order by, of the field's value."""


NEWEST_FIRST: Final = (SortKey(("created",), descending=True),)
"""The order of a list that names none."""


@lru_cache(maxsize=256)
def parse_sort(text: str) -> tuple[SortKey, ...]:
    """The keys, the most significant first; none for an empty text. Raises `BadRequest`."""
    if not text:
        return ()
    if len(text) > _MAX_CHARACTERS or text.count(",") >= MAX_SORT_KEYS:
        raise BadRequest(f"Sort by at most {MAX_SORT_KEYS} fields.")
    return tuple(_sort_key(part.strip()) for part in text.split(","))


def reversed_order(sort: tuple[SortKey, ...]) -> tuple[SortKey, ...]:
    return tuple(replace(each, descending=not each.descending) for each in sort or NEWEST_FIRST)


def _sort_key(part: str) -> SortKey:
    name = part[1:] if part.startswith(("-", "+")) else part
    if name == _RANDOM:
        return SortKey((), random=True)
    name, colon, modifier = name.partition(":")
    path = tuple(name.split("."))
    is_valid = _PATH.fullmatch(name) and (modifier in _MODIFIERS if colon else True)
    if not is_valid or len(path) > MAX_PATH_STEPS:
        raise BadRequest(f"{part[:40]!r} can't be sorted by. Name a field, with - to descend.")
    return SortKey(path, descending=part.startswith("-"), modifier=modifier)
