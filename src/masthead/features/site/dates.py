"""Dates as a site's language writes them."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from babel import Locale

_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_NUMERIC: Final = {
    "long": "%Y-%m-%d",
    "short": "%Y-%m-%d",
    "month": "%Y-%m",
    "time": "%Y-%m-%d %H:%M",
}
_SKELETONS: Final = {"short": "yMMMd", "month": "yMMMM", "time": "yMMMd"}


@lru_cache(maxsize=4_096)
def shown_date(value: datetime, form: str, language: str) -> str:
    """`long`, `short`, `month` or `time`. A language without known names gets numbers, which
    everybody reads: 2026-11-15."""
    if language.startswith("en"):
        return _english(value, form, is_american=language.startswith("en-us"))
    locale = _locale(language)
    if locale is None:
        return value.strftime(_NUMERIC[form])
    from babel.dates import format_date, format_skeleton

    if form == "long":
        return str(format_date(value, "long", locale=locale))
    shown = str(format_skeleton(_SKELETONS[form], value, locale=locale))
    return f"{shown}, {value:%H:%M}" if form == "time" else shown


def _english(value: datetime, form: str, *, is_american: bool) -> str:
    name = _MONTHS[value.month - 1]
    if form == "month":
        return f"{name} {value.year}"
    month = name if form == "long" else name[:3]
    day = (
        f"{month} {value.day}, {value.year}" if is_american else f"{value.day} {month} {value.year}"
    )
    return f"{day}, {value:%H:%M}" if form == "time" else day


@lru_cache(maxsize=256)
def _locale(language: str) -> Locale | None:
    """The nearest that Babel knows: `pt-br`, then `pt`."""
    # Imported here: it takes a tenth of a second, and English needs none of it.
    from babel import Locale, UnknownLocaleError

    parts = language.split("-")
    while parts:
        try:
            return Locale.parse("-".join(parts), sep="-")
        except (UnknownLocaleError, ValueError):
            parts.pop()
    return None
