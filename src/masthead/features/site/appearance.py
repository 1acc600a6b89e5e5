"""How a site presents itself: its colour, language, time zone and links, as fields of its
settings."""

from __future__ import annotations

import re
from functools import cache
from typing import Any
from zoneinfo import available_timezones

from masthead.base.languages.words import staff_words
from masthead.engine.records.fields.base import refuse
from masthead.engine.records.fields.documents import Json
from masthead.engine.records.fields.languages import LanguageTag, LanguageTags
from masthead.engine.records.fields.text import Text, is_web_address

MAX_LINKS = 20
MAX_LABEL = 60

ACCENT_COLOR = Text(
    name="accent_color",
    max=7,
    pattern=re.compile(r"#[0-9A-Fa-f]{6}"),
    allowed=staff_words("Must be a colour such as #8f1d2c."),
    help="The colour of links. The site darkens or lightens it where it would be hard to read.",
)
LANGUAGE = LanguageTag(
    name="language",
    help="The language of the site's texts, as a BCP 47 tag. Empty is English.",
)
LANGUAGES = LanguageTags(
    name="languages",
    help="Other languages that the site has texts in, as BCP 47 tags. Each has its own front page, "
    "lists and feeds, below its tag in lower case, such as `/de/`.",
)


class TimeZone(Text, frozen=True, kw_only=True):
    """A name of the IANA time zone database."""

    max: int = 64

    def parse(self, value: Any) -> str:
        name = super().parse(value)
        if name not in _time_zones():
            raise refuse(
                "validation_invalid_format",
                staff_words("Must be a time zone such as Europe/Lisbon or UTC."),
            )
        return name


class Links(Json, frozen=True, kw_only=True):
    """A list of links, each with a `label` and a `url`."""

    max_bytes: int = 64 * 1024

    def parse(self, value: Any) -> Any:
        links = super().parse(value)
        if not isinstance(links, list) or len(links) > MAX_LINKS:
            raise _bad_links(f"Must be a list of at most {MAX_LINKS} links.")
        return [_link(each) for each in links]


def _link(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or set(value) != {"label", "url"}:
        raise _bad_links('Each link must be an object of "label" and "url".')
    label, url = value["label"], value["url"]
    if not isinstance(label, str) or not 0 < len(label.strip()) <= MAX_LABEL:
        raise _bad_links(f"Each label must have 1 to {MAX_LABEL} characters.")
    if not isinstance(url, str) or not is_web_address(url):
        raise _bad_links("Each url must be a full http or https URL, or a path that begins with /.")
    return {"label": label.strip(), "url": url}


def _bad_links(message: str) -> Exception:
    return refuse("validation_invalid_format", message)


@cache
def _time_zones() -> frozenset[str]:
    return frozenset(available_timezones())
