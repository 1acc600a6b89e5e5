"""The admin's templates and static files, and how templates write dates and numbers."""

from __future__ import annotations

import re
from datetime import date, datetime
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from masthead.base.languages.formats import decimal_text, listed, number_text, shown_date
from masthead.base.languages.in_templates import EXTENSION, install_words
from masthead.base.languages.retelling import retold
from masthead.base.languages.translators import Translator, spoken_now
from masthead.base.languages.words import words
from masthead.faces.reader.prices import price_text
from masthead.web.assets import Assets
from masthead.web.template_source import PAGE_OPTIONS, Unindented

_HERE = Path(__file__).parent
TEMPLATES = _HERE / "templates"
STATIC = _HERE / "static"


class AdminTemplates:
    """Compiled once for each language, with its words, when a page is first shown in it."""

    def __init__(self, shared: Assets) -> None:
        """`shared` are the tokens and fonts of the reader's site, at the same addresses: a browser
        that has seen the site has them already. An operator's theme does not change the admin."""
        self.assets = Assets("admin", [STATIC], otherwise=shared)
        self._by_language: dict[str, Environment] = {}

    def render(self, template: str, values: dict[str, Any]) -> bytes:
        return self._in(spoken_now()).get_template(template).render(values).encode()

    def _in(self, translator: Translator) -> Environment:
        found = self._by_language.get(translator.spoken)
        if found is None:
            found = _environment(translator, self.assets)
            self._by_language[translator.spoken] = found
        return found


def _environment(translator: Translator, assets: Assets) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        auto_reload=False,
        autoescape=True,
        **PAGE_OPTIONS | {"extensions": [Unindented, EXTENSION]},
    )
    install_words(environment, translator)
    environment.globals["asset"] = assets.url
    # Those of the scripts, which the page loads before them. English ones are in the scripts.
    words_file = f"vendor/words-{translator.spoken}.js"
    environment.globals["script_words"] = words_file if (STATIC / words_file).exists() else ""
    environment.filters |= {
        "number": number,
        "decimal": decimal,
        "and_list": lambda items: listed([str(each) for each in items]),
        "size": size_text,
        "json_code": json_code,
        "listed": items_of,
        "day": _day,
        "clock": _clock,
        "when": _when,
        "moment": _moment,
        "took": took,
        "time": _time,
        "price": _price,
        "retold": retold,
    }
    return environment


def moment(value: datetime, now: datetime) -> str:
    """15 Nov 09:12:04, with the year where it is another one."""
    return f"{_short_day(value, now)} {value:%H:%M:%S}"


def took(milliseconds: int) -> str:
    if milliseconds < 1_000:
        return f"{milliseconds} ms"
    return f"{decimal_text(milliseconds / 1_000, spoken_now().spoken)} s"


def number(value: int) -> str:
    return number_text(value, spoken_now().spoken)


def decimal(value: float) -> str:
    return decimal_text(value, spoken_now().spoken)


def day(value: date) -> str:
    """3 Nov 2026."""
    return shown_date(value, "short", spoken_now().spoken)


def short_day(value: date) -> str:
    """3 Nov."""
    return shown_date(value, "day", spoken_now().spoken)


def long_day(value: date) -> str:
    """3 November."""
    return shown_date(value, "long day", spoken_now().spoken)


def weekday(value: date) -> str:
    """Tuesday 3 November."""
    return shown_date(value, "weekday", spoken_now().spoken)


def short_weekday(value: date) -> str:
    """Tue."""
    return shown_date(value, "short weekday", spoken_now().spoken)


def whole_day(value: date) -> str:
    """Tuesday, 3 November 2026."""
    return shown_date(value, "whole", spoken_now().spoken)


def _short_day(value: datetime, now: datetime) -> str:
    """3 Nov, with the year where it is another one."""
    form = "day" if value.year == now.year else "short"
    return shown_date(value, form, spoken_now().spoken)


def clock_time(value: datetime) -> str:
    """3 Nov 2026, 09:12."""
    return f"{day(value)}, {value:%H:%M}"


def when(moment: datetime, now: datetime) -> str:
    """How long ago, as short as a list has room for. Both in the site's time zone."""
    minutes = int((now - moment).total_seconds() // 60)
    if 0 <= minutes < 60:
        return words("Just now") if minutes == 0 else words("%(minutes)s min ago", minutes=minutes)
    days = (now.date() - moment.date()).days
    if days == 0:
        return f"{moment:%H:%M}"
    if days == 1:
        return words("Yesterday")
    return _short_day(moment, now)


def size_text(size: int) -> str:
    language = spoken_now().spoken
    if size < 1_000_000:
        return f"{number_text(-(-size // 1_000), language)} KB"
    if size < 10_000_000_000:
        return f"{decimal_text(size / 1_000_000, language)} MB"
    return f"{decimal_text(size / 1_000_000_000, language)} GB"


def items_of(value: Any) -> list[Any]:
    """The items of a list field, also of one that was read for an answer. What is no list has
    none."""
    items = msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else value
    return items if isinstance(items, list) else []


# Filters for stored moments, in the site's time zone and words. They need the frame of the page,
# which an imported macro does not have.


def _local(context: Context, moment: str | datetime) -> datetime:
    local: datetime = context["frame"].local(moment) if isinstance(moment, str) else moment
    return local


@pass_context
def _day(context: Context, moment: str | datetime) -> str:
    return day(_local(context, moment)) if moment else ""


@pass_context
def _clock(context: Context, moment: str | datetime) -> str:
    return clock_time(_local(context, moment)) if moment else ""


@pass_context
def _when(context: Context, moment: str) -> str:
    return when(_local(context, moment), context["frame"].now) if moment else ""


@pass_context
def _moment(context: Context, text: str) -> str:
    return moment(_local(context, text), context["frame"].now)


@pass_context
def _time(context: Context, moment: str, shown: str = "") -> Markup:
    """The element: how long ago it was, or `shown`."""
    if not moment:
        return Markup("")
    # A list has one in each row: `Markup.format` takes ten times as long.
    written = escape(shown or _when(context, moment))
    return Markup(f'<time datetime="{escape(moment)}">{written}</time>')  # noqa: S704


def _price(amount: int, currency: str) -> str:
    """Without a currency, which an imported order may lack, the bare number."""
    return price_text(amount, currency, spoken_now().spoken) if currency else number(amount)


_NAME, _TEXT, _VALUE = "tk", "ts", "tn"
"""Classes of coloured JSON."""
_TOKENS = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*")(?P<colon>:)?'
    r"|(?P<value>-?\d[\d.eE+-]*|\b(?:true|false|null)\b)"
)


def json_code(text: str) -> Markup:
    """Indents, colours and escapes JSON. Other text is only escaped."""
    try:
        shown = msgspec.json.format(text, indent=2)
    except msgspec.DecodeError:
        return escape(text)
    parts: list[Markup] = []
    last = 0
    for found in _TOKENS.finditer(shown):
        parts.append(escape(shown[last : found.start()]))
        parts.append(_marked(found))
        last = found.end()
    parts.append(escape(shown[last:]))
    return Markup("").join(parts)


def _marked(found: re.Match[str]) -> Markup:
    colon = found["colon"] or ""
    if found["string"] is None:
        kind, token = _VALUE, found["value"]
    else:
        kind, token = (_NAME if colon else _TEXT), found["string"]
    return Markup('<span class="{}">{}</span>{}').format(kind, token, colon)
