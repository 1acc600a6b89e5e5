"""Titles and descriptions for search engines, as Yoast, RankMath and AIOSEO store them.

They may be templates. Variables are filled in from the export; others are removed, with the
separators around them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from masthead.engine.records.read.plain_text import plain_text

TITLES: Final = ("_yoast_wpseo_title", "rank_math_title", "_aioseo_title")
DESCRIPTIONS: Final = ("_yoast_wpseo_metadesc", "rank_math_description", "_aioseo_description")

_MAX_TEMPLATE: Final = 2_000
_VARIABLE: Final = re.compile(
    r"%%(?P<yoast>[A-Za-z_]+)%%"
    r"|%(?P<rank_math>[a-z_]+)(?:\([^()%]*\))?%"
    r"|\#(?P<aioseo>post_title|site_title|separator_sa|tagline|post_excerpt_only|post_excerpt"
    r"|categories|taxonomy_title|post_content|author_\w+|post_date|post_day|post_month|post_year"
    r"|current_\w+|page_number|permalink|parent_title|custom_field-[\w-]+)\b"
)
# The plugins' names of the same variable.
_MEANINGS: Final = {
    "title": "title",
    "post_title": "title",
    "sitename": "site",
    "site_title": "site",
    "sitetitle": "site",
    "sep": "separator",
    "separator_sa": "separator",
    "sitedesc": "tagline",
    "tagline": "tagline",
    "excerpt": "excerpt",
    "excerpt_only": "excerpt",
    "post_excerpt": "excerpt",
    "post_excerpt_only": "excerpt",
    "category": "category",
    "primary_category": "category",
    "categories": "category",
    "category_title": "category",
    "taxonomy_title": "category",
}
_SEPARATORS: Final = "-–—|·•»:"
_DOUBLED: Final = re.compile(rf"([{_SEPARATORS}])(?:\s+[{_SEPARATORS}])+(?=\s|$)")
_SERIALIZED: Final = re.compile(r"[aOsibd]:\d+[:;]")


def first_of(meta: Mapping[str, str], keys: tuple[str, ...], values: Mapping[str, str]) -> str:
    """The value of the first plugin that has one; `values` by meaning: title, site …"""
    for key in keys:
        template = meta.get(key, "")
        # Serialized PHP is ignored.
        if template and not _SERIALIZED.match(template):
            filled = _filled(template[:_MAX_TEMPLATE], values)
            if filled:
                return filled
    return ""


def _filled(template: str, values: Mapping[str, str]) -> str:
    text, count = _VARIABLE.subn(lambda found: _value(found, values), template)
    text = plain_text(text, _MAX_TEMPLATE)
    if not count:
        return text
    text = " ".join(_DOUBLED.sub(r"\1", text).split())
    return text.strip(_SEPARATORS + " ")


def _value(found: re.Match[str], values: Mapping[str, str]) -> str:
    name = found["yoast"] or found["rank_math"] or found["aioseo"] or ""
    return values.get(_MEANINGS.get(name.lower(), ""), "")
