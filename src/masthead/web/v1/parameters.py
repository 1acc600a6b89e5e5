"""Query parameters: declared with their routes, parsed strictly, described in OpenAPI."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import msgspec

from masthead.base import ids
from masthead.base.errors import Invalid, Problem
from masthead.engine.records.fields.base import REQUIRED
from masthead.engine.records.fields.values import read_moment
from masthead.web.query_string import parse_query_string

MAX_PAGE = 1_000_000_000

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NO_DATE = "Must be a date such as 2026-11-14."
_WHOLE_NUMBER = re.compile(r"-?[0-9]+")


class Parameter(msgspec.Struct, frozen=True):
    name: str
    help: str
    kind: str = "text"
    """`text`, `integer`, `choice`, `moment`, `date` or `cursor`."""
    choices: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int = 0
    default: Any = None
    example: Any = None
    required: bool = False
    ignored_with: str | None = None
    """The parameter beside which this one has no effect."""

    def read(self, text: str) -> Any:
        """The typed value; raises ValueError with a message for the caller."""
        if not text:
            raise ValueError("Must not be empty. Leave the parameter out instead.")
        match self.kind:
            case "integer":
                return self._integer(text)
            case "choice":
                if text not in self.choices:
                    raise ValueError(f"Must be one of: {', '.join(self.choices)}.")
            case "moment":
                moment = read_moment(text)
                if moment is None:
                    raise ValueError("Must be an ISO 8601 date-time such as 2026-11-14T09:30:00Z.")
                return moment
            case "date":
                if not _DATE.fullmatch(text):
                    raise ValueError(_NO_DATE)
                try:
                    return date.fromisoformat(text)
                except ValueError:
                    raise ValueError(_NO_DATE) from None
            case "cursor":
                return read_cursor(text)
            case _:
                if len(text) > self.maximum or "\x00" in text:
                    raise ValueError(f"Must be no more than {self.maximum} characters of text.")
        return text

    def _integer(self, text: str) -> int:
        # int() alone accepts blanks, underscores and the digits of every script.
        if not _WHOLE_NUMBER.fullmatch(text):
            raise ValueError("Must be a whole number.")
        number = int(text) if len(text) <= 12 else self.maximum + 1
        if not self.minimum <= number <= self.maximum:
            raise ValueError(f"Must be between {self.minimum} and {self.maximum}.")
        return number


PAGE = Parameter(
    "page",
    "Which page, from 1.",
    "integer",
    minimum=1,
    maximum=MAX_PAGE,
    default=1,
    ignored_with="cursor",
)
PER_PAGE = Parameter(
    "per_page", "How many items a page holds.", "integer", minimum=1, maximum=100, default=20
)
CURSOR = Parameter(
    "cursor",
    "Continue after the last item of an earlier answer: follow the link with "
    '`rel="next-cursor"` in its `Link` header. '
    "Costs the same on every page, and never skips or repeats an item. `page` is then ignored.",
    "cursor",
)
PAGING = (PAGE, PER_PAGE, CURSOR)
NEWEST = "-created"
SORT = Parameter(
    "sort",
    "The order: by this field, with - from the newest date or the last letter on. Without it, and "
    "in every search (`q`), newest first: `-created`.",
    "choice",
    choices=(
        *("created", NEWEST, "published_at", "-published_at"),
        *("updated", "-updated", "title", "-title"),
    ),
    ignored_with="q",
)
"""For lists of texts. Each order has an index."""


def read_query(
    query_string: bytes, declared: Sequence[Parameter]
) -> tuple[dict[str, Any], list[str]]:
    """All declared parameters, defaults filled in, and the names of those that have no effect."""
    if not query_string and not any(each.required for each in declared):
        return {each.name: each.default for each in declared}, []
    given = parse_query_string(query_string, "latin-1")
    effective = {each.name for each in declared if each.ignored_with not in given}
    # Of repeated names the first counts, so the last of them are read first.
    ignored = [name for name in reversed(given) if name not in effective]
    values: dict[str, Any] = {}
    problems: dict[str, Problem] = {}
    for parameter in declared:
        if parameter.name not in given:
            values[parameter.name] = parameter.default
            if parameter.required:
                problems[parameter.name] = REQUIRED
            continue
        try:
            values[parameter.name] = parameter.read(given[parameter.name])
        except ValueError as error:
            problems[parameter.name] = Problem("validation_invalid_value", str(error))
    if problems:
        raise Invalid(problems, "A query parameter is not valid.")
    return values, ignored


class Cursor(NamedTuple):
    """A position in a list, and no secret: the client has seen its content."""

    order: str
    """As `Call.order`."""
    position: tuple[str, str]
    """The value by which the list is sorted, and the id."""


def write_cursor(order: str, item: Mapping[str, Any]) -> str:
    """The cursor after this item."""
    where = f"{item['created']}|{item['id']}"
    if order:
        where = f"{order}|{item['id']}|{item[order.removeprefix('-')]}"
    return base64.urlsafe_b64encode(where.encode()).decode().rstrip("=")


def read_cursor(text: str) -> Cursor:
    try:
        padded = text + "=" * (-len(text) % 4)
        first, _, rest = base64.urlsafe_b64decode(padded).decode().partition("|")
    except (binascii.Error, UnicodeError, ValueError):
        first = rest = ""
    if first in SORT.choices:
        record_id, mark, value = rest.partition("|")
        is_position = bool(mark) and "\x00" not in value and ids.is_id(record_id)
        cursor = Cursor(first, (value, record_id))
    else:
        is_position = read_moment(first) == first and ids.is_id(rest)
        cursor = Cursor("", (first, rest))
    if not is_position:
        raise ValueError("Is not a cursor of this API. Take it from a Link header.")
    return cursor
