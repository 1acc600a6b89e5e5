"""The admin's templates and static files, and how templates write dates and numbers."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from masthead.faces.reader.prices import price_text
from masthead.web.assets import Assets
from masthead.web.template_source import PAGE_OPTIONS

_HERE = Path(__file__).parent
TEMPLATES = _HERE / "templates"
STATIC = _HERE / "static"


class AdminTemplates:
    """Read once, when the process starts."""

    def __init__(self, shared: Assets) -> None:
        """`shared` are the tokens and fonts of the reader's site, at the same addresses: a browser
        that has seen the site has them already. An operator's theme does not change the admin."""
        self.assets = own = Assets("admin", [STATIC], otherwise=shared)
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            auto_reload=False,
            autoescape=True,
            **PAGE_OPTIONS,
        )
        self._environment.globals["asset"] = own.url
        self._environment.filters |= {
            "number": number,
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
        }

    def render(self, template: str, values: dict[str, Any]) -> bytes:
        return self._environment.get_template(template).render(values).encode()


def moment(value: datetime, now: datetime) -> str:
    """15 Nov 09:12:04, with the year where it is another one."""
    year = "" if value.year == now.year else f" {value.year}"
    return f"{value.day} {value:%b}{year} {value:%H:%M:%S}"


def took(milliseconds: int) -> str:
    return f"{milliseconds} ms" if milliseconds < 1_000 else f"{milliseconds / 1_000:.1f} s"


def number(value: int) -> str:
    return f"{value:,}"


def day(value: datetime) -> str:
    """3 Nov 2026."""
    return f"{value.day} {value:%b %Y}"


def clock_time(value: datetime) -> str:
    """3 Nov 2026, 09:12."""
    return f"{day(value)}, {value:%H:%M}"


def when(moment: datetime, now: datetime) -> str:
    """How long ago, as short as a list has room for. Both in the site's time zone."""
    minutes = int((now - moment).total_seconds() // 60)
    if 0 <= minutes < 60:
        return "Just now" if minutes == 0 else f"{minutes} min ago"
    days = (now.date() - moment.date()).days
    if days == 0:
        return f"{moment:%H:%M}"
    if days == 1:
        return "Yesterday"
    short = f"{moment.day} {moment:%b}"
    return short if moment.year == now.year else f"{short} {moment.year}"


def size_text(size: int) -> str:
    if size < 1_000_000:
        return f"{-(-size // 1_000):,} KB"
    if size < 10_000_000_000:
        return f"{size / 1_000_000:,.1f} MB"
    return f"{size / 1_000_000_000:,.1f} GB"


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
    element = Markup('<time datetime="{}">{}</time>')
    return element.format(moment, shown or _when(context, moment)) if moment else Markup("")


@pass_context
def _price(context: Context, amount: int, currency: str) -> str:
    """Without a currency, which an imported order may lack, the bare number."""
    return price_text(amount, currency, context["frame"].language) if currency else number(amount)


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
