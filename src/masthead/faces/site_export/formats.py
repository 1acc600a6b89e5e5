"""The formats of an export: what each holds, and how its file ends."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    WXR = "wxr"
    GHOST = "ghost"
    CSV = "csv"
    HTML = "html"
    MASTHEAD = "masthead"
    """The archive of `site_archive/`, for another installation. Only operators get it: it has the
    password hashes of members and staff."""


KINDS: dict[Format, tuple[str, ...]] = {
    Format.WXR: ("media", "posts", "pages"),
    Format.GHOST: ("posts", "pages", "members", "media"),
    Format.CSV: ("members", "posts", "pages"),
    Format.HTML: ("posts", "pages", "media"),
    Format.MASTHEAD: ("records", "media"),
}
"""The kinds of records in each format, in the order of writing. Members are in formats that others
import."""

OTHER_PLATFORMS: tuple[Format, ...] = tuple(each for each in Format if each != Format.MASTHEAD)

ENDINGS: dict[Format, str] = dict.fromkeys(Format, "zip") | {
    Format.WXR: "xml",
    Format.MASTHEAD: "tar",
}

NAMES: dict[Format, str] = {
    Format.WXR: "WordPress",
    Format.GHOST: "Ghost",
    Format.CSV: "CSV",
    Format.HTML: "HTML",
    Format.MASTHEAD: "Masthead",
}
