"""The query parameters of the record store, parsed once per distinct query string."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from masthead.base.caller import Caller
from masthead.base.errors import BadRequest
from masthead.engine.records.read.expand import Expansion
from masthead.engine.records.read.page import ListRequest
from masthead.engine.records.read.projection import Projection
from masthead.web.query_string import parse_query_string

DEFAULT_PER_PAGE = 30
_CACHED_BYTES = 1_000
"""Longer query strings are parsed each time: a thousand of them would take much memory."""
MAX_PER_PAGE = 1_000
MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""The records in an answer to staff: a thousand posts of 32 KiB."""
MAX_READER_BYTES = 8 * 1024 * 1024
"""The records in an answer to a guest or a member."""


class ListParameters(msgspec.Struct, frozen=True):
    request: ListRequest
    projection: Projection | None


class ViewParameters(msgspec.Struct, frozen=True):
    expand: str
    projection: Projection | None

    @property
    def names(self) -> frozenset[str] | None:
        return self.projection.top_level_names() if self.projection else None


def parse_list_parameters(query_string: bytes, caller: Caller) -> ListParameters:
    most = max_answer_bytes(caller)
    if len(query_string) > _CACHED_BYTES:
        return _list_parameters(query_string, most)
    return _list_with_cache(query_string, most)


def max_answer_bytes(caller: Caller) -> int:
    return MAX_READER_BYTES if caller.is_reader else MAX_ANSWER_BYTES


def parse_view_parameters(query_string: bytes) -> ViewParameters:
    if not query_string:
        return _NO_PARAMETERS
    if len(query_string) > _CACHED_BYTES:
        return _view_parameters(query_string)
    return _view_with_cache(query_string)


def _list_parameters(query_string: bytes, max_bytes: int) -> ListParameters:
    given = parse_query_string(query_string, "utf-8")
    projection = Projection.parse(given.get("fields", ""))
    per_page = _number(given, "perPage", DEFAULT_PER_PAGE)
    return ListParameters(
        ListRequest(
            page=_number(given, "page", 1),
            per_page=min(per_page, MAX_PER_PAGE),
            filter=given.get("filter", ""),
            sort=given.get("sort", ""),
            expand=given.get("expand", ""),
            names=projection.top_level_names() if projection else None,
            skip_total=_flag(given, "skipTotal"),
            max_bytes=max_bytes,
        ),
        projection,
    )


def _view_parameters(query_string: bytes) -> ViewParameters:
    given = parse_query_string(query_string, "utf-8")
    expand = given.get("expand", "")
    # The engine parses it again; here so that an invalid one is refused before the change.
    Expansion.parse(expand)
    return ViewParameters(expand, Projection.parse(given.get("fields", "")))


_list_with_cache = lru_cache(maxsize=1_024)(_list_parameters)
_view_with_cache = lru_cache(maxsize=1_024)(_view_parameters)


def _number(given: dict[str, str], name: str, default: int) -> int:
    text = given.get(name, "")
    if not text:
        return default
    if not _WHOLE.match(text):
        raise BadRequest(f"{name} must be a whole number.")
    number = int(text)
    return number if number >= 1 else default


def _flag(given: dict[str, str], name: str) -> bool:
    """As PocketBase reads one."""
    text = given.get(name, "")
    if text in _TRUE:
        return True
    if text not in _FALSE:
        raise BadRequest(f"{name} must be true or false.")
    return False


_WHOLE = re.compile(r"[+-]?[0-9]{1,100}\Z")
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"", "0", "f", "F", "false", "FALSE", "False"})
_NO_PARAMETERS = ViewParameters("", None)
