"""The sanitizer: which HTML is let through, and the limits of what it may cost.

A text that is sure to be quick is sanitized directly. Any other is sanitized in a separate process,
which the kernel ends if it takes too long."""

from __future__ import annotations

from typing import Final

import nh3

from masthead.base.errors import Unavailable
from masthead.base.limited_process import LimitedProcess, TookTooLong, limited
from masthead.base.limited_process import Unavailable as NoProcess
from masthead.content.html.card_attributes import CARD
from masthead.content.html.effort import effort_of
from masthead.engine.records.safe_addresses import LINK_SCHEMES

MAX_SECONDS: Final = 2.0
"""The limit on processor time."""
MAX_GROWTH: Final = 6
"""Times the length that was sent, as an escaped character has; and some more."""
MAX_CHARACTERS: Final = 8_000_000
_SHORT: Final = 100_000


class TooCostly(Exception):
    """The text can't be sanitized within the limits. The message is a sentence for its author."""


HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCKS = (
    "address article aside blockquote dd details div dl dt figcaption figure footer h1 h2 h3 h4 h5"
    " h6 header hr li main nav ol p pre section summary ul"
)
_TABLES = "caption col colgroup table tbody td tfoot th thead tr"
_INLINE = (
    "a abbr b bdi bdo br cite code del dfn em i ins kbd label mark q rp rt ruby s samp small span"
    " strike strong sub sup time u var wbr"
)
_MEDIA = "audio img input picture source track video"
TAGS = frozenset(f"{_BLOCKS} {_TABLES} {_INLINE} {_MEDIA}".split())
INLINE = frozenset(f"{_INLINE} {_MEDIA}".split())
"""Tags that do not begin another block of the text."""

ALIGNED = {name: {"class", "align"} for name in (*HEADINGS, "p", "td", "th", "div")}
_ATTRIBUTES = {
    **ALIGNED,
    "*": {"id", "lang", "dir", "style"},
    "a": {"href", "title", "target", "rel", "name"},
    "abbr": {"title"},
    "aside": {CARD},
    "audio": {"src", "controls", "loop"},
    "code": {"class"},
    "col": {"span"},
    "colgroup": {"span"},
    "details": {CARD, "open"},
    "dfn": {"title"},
    "div": {*ALIGNED["div"], CARD, "data-html"},
    "figure": {CARD, "data-width", "data-crop"},
    "hr": {"class"},
    "img": {"src", "srcset", "sizes", "alt", "title", "width", "height"},
    "input": {"checked"},
    "li": {"value", "data-type", "data-checked"},
    "ol": {"start", "reversed", "type"},
    "p": {*ALIGNED["p"], CARD, "data-size"},
    "pre": {"class"},
    "source": {"src", "srcset", "sizes", "type", "media"},
    "td": {*ALIGNED["td"], "colspan", "rowspan"},
    "th": {*ALIGNED["th"], "colspan", "rowspan"},
    "time": {"datetime"},
    "track": {"src", "kind", "srclang", "label"},
    "ul": {"data-type"},
    "video": {"src", "poster", "controls", "loop", "muted", "playsinline", "width", "height"},
}
# Removed with their content.
_DROPPED = {"script", "style", "svg", "template", "select", "textarea", "button", "title"}

_cleaner = nh3.Cleaner(
    tags=set(TAGS),
    clean_content_tags=_DROPPED,
    attributes=_ATTRIBUTES,
    set_tag_attribute_values={"input": {"type": "checkbox", "disabled": ""}},
    link_rel=None,
    url_schemes={*LINK_SCHEMES, "data"},
    filter_style_properties={"text-align", "background-image", "background"},
)


def sanitized(html: str) -> str:
    """May block, so a long text is never sanitized in the event loop. Raises TooCostly."""
    effort = effort_of(html)
    if effort.refusal:
        raise TooCostly(effort.refusal)
    safe = _cleaner.clean(html) if effort.is_light else _apart(html)
    if len(safe) > most_characters(html):
        raise TooCostly(TOO_LONG)
    return safe


def most_characters(html: str) -> int:
    return min(MAX_CHARACTERS, _SHORT + MAX_GROWTH * len(html))


TOO_LONG = (
    "It becomes far longer when its markup is cleaned: formatting such as <b> is not closed, or "
    "most of its characters have to be escaped."
)
TOO_SLOW = (
    "Its markup takes too long to clean. Close its elements where they end, and nest them less."
)


def _apart(html: str) -> str:
    try:
        safe: str | None = _process.ask(html, most_characters(html))
    except TookTooLong:
        raise TooCostly(TOO_SLOW) from None
    except NoProcess:
        raise Unavailable from None
    if safe is None:
        raise TooCostly(TOO_LONG)
    return safe


def sanitized_in_process(html: str, most: int) -> str | None:
    """None for what becomes too long."""
    with limited(MAX_SECONDS):
        safe = _cleaner.clean(html)
    return safe if len(safe) <= most else None


_process = LimitedProcess(sanitized_in_process, wait_seconds=20.0, answer_seconds=15.0)
