"""Dates, numbers and lists as the language writes them that is spoken now.

English needs no Babel, which takes a tenth of a second to import."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from masthead.base.languages.translators import primary_language, spoken_now, tied

if TYPE_CHECKING:
    from babel import Locale


def listed(items: Sequence[str], kind: str = "and") -> str:
    """Such as `Ada, Ben and Cy`; with the kind `or`, `Ada, Ben or Cy`."""
    count = len(items)
    return "".join(f"{item}{separator(at, count, kind)}" for at, item in enumerate(items, start=1))


def separator(at: int, count: int, kind: str = "and") -> str:
    """The text after one of `count` items of a list, the first of which is 1."""
    if at >= count:
        return ""
    between = _separators(spoken_now().spoken, kind)
    if count == 2:
        return between[3]
    return between[0] if at == 1 else between[2] if at == count - 1 else between[1]


@lru_cache(maxsize=256)
def _separators(language: str, kind: str) -> tuple[str, str, str, str]:
    """After the first item, the ones between, the last but one, and the first of two."""
    locale = None if primary_language(language) == "en" else locale_of(language)
    if locale is None:
        return ", ", ", ", f" {kind} ", f" {kind} "
    patterns = locale.list_patterns["standard" if kind == "and" else kind]
    between = (
        patterns[name].partition("{0}")[2].partition("{1}")[0]
        for name in ("start", "middle", "end", "2")
    )
    return tuple(map(tied, between) if primary_language(language) == "pl" else between)


@lru_cache(maxsize=4_096)
def number_text(value: int, language: str) -> str:
    """1,204 in English, 1.204 in German."""
    locale = None if primary_language(language) == "en" else locale_of(language)
    if locale is None:
        return f"{value:,}"
    from babel.numbers import format_decimal

    return str(format_decimal(value, locale=locale))


class Numeral:
    """A whole number among the values of words, written as the language does that is spoken where
    they are shown."""

    def __init__(self, value: int) -> None:
        self._value = value

    def __str__(self) -> str:
        return number_text(self._value, spoken_now().spoken)


def decimal_text(value: float, language: str) -> str:
    """With one digit after the point: 1,204.5 in English, 1.204,5 in German."""
    locale = None if primary_language(language) == "en" else locale_of(language)
    if locale is None:
        return f"{value:,.1f}"
    from babel.numbers import format_decimal

    return str(format_decimal(value, format="#,##0.0", locale=locale))


_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_NUMERIC: Final = {
    "long": "%Y-%m-%d",
    "short": "%Y-%m-%d",
    "whole": "%Y-%m-%d",
    "day": "%m-%d",
    "long day": "%m-%d",
    "weekday": "%m-%d",
    "short weekday": "%m-%d",
    "month": "%Y-%m",
    "time": "%Y-%m-%d %H:%M",
}
_SKELETONS: Final = {
    "short": "yMMMd",
    "day": "MMMd",
    "long day": "MMMMd",
    "short weekday": "E",
    "month": "yMMMM",
    "time": "yMMMd",
}
_FIRST: Final = re.compile(r"\b1(?= \D)")
"""The first day of a month. French says its number otherwise, which Babel does not know."""
_WEEKDAYS: Final = (
    *("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
)


@lru_cache(maxsize=4_096)
def shown_date(value: date, form: str, language: str) -> str:
    """`long` is 15 November 2026, `short` 15 Nov 2026, `month` November 2026; `time` has the short
    date and the time. Without a year are `long day` and `day`; with the name of the weekday
    `weekday` and, with a year, `whole`; `short weekday` is the name only. A language without known
    names gets numbers, which everybody reads: 2026-11-15."""
    if language.startswith("en"):
        return _english(value, form, is_american=language.startswith("en-us"))
    locale = locale_of(language)
    if locale is None:
        return value.strftime(_NUMERIC[form])
    shown = _in_locale(value, form, locale)
    return _FIRST.sub("1er", shown, count=1) if locale.language == "fr" else shown


def _in_locale(value: date, form: str, locale: Locale) -> str:
    from babel.dates import format_date, format_skeleton

    if form in ("long", "whole"):
        return str(format_date(value, "long" if form == "long" else "full", locale=locale))
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    if form == "weekday":
        name = format_date(value, "EEEE", locale=locale)
        return f"{name}, {format_skeleton(_SKELETONS['long day'], moment, locale=locale)}"
    shown = str(format_skeleton(_SKELETONS[form], moment, locale=locale))
    if form != "time":
        return shown
    return str(locale.datetime_formats["medium"]).format(f"{value:%H:%M}", shown)


def _english(value: date, form: str, *, is_american: bool) -> str:
    name, weekday = _MONTHS[value.month - 1], _WEEKDAYS[value.weekday()]
    if form == "month":
        return f"{name} {value.year}"
    if form == "short weekday":
        return weekday[:3]
    month = name[:3] if form in ("short", "day", "time") else name
    if form in ("day", "long day", "weekday"):
        day = f"{month} {value.day}" if is_american else f"{value.day} {month}"
        return f"{weekday} {day}" if form == "weekday" else day
    day = (
        f"{month} {value.day}, {value.year}" if is_american else f"{value.day} {month} {value.year}"
    )
    if form == "whole":
        return f"{weekday}, {day}"
    return f"{day}, {value:%H:%M}" if form == "time" else day


@lru_cache(maxsize=256)
def language_name(tag: str) -> str:
    """The language's name in itself, such as `Deutsch`; the tag of one that Babel does not know."""
    locale = locale_of(tag)
    name = locale.get_display_name() if locale else ""
    return name[:1].upper() + name[1:] if name else tag


@lru_cache(maxsize=256)
def locale_of(language: str) -> Locale | None:
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
