"""The formats of an export: what each holds, and how its file ends."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    WXR = "wxr"
    GHOST = "ghost"
    CSV = "csv"
    HTML = "html"


KINDS: dict[Format, tuple[str, ...]] = {
    Format.WXR: ("media", "posts", "pages"),
    Format.GHOST: ("posts", "pages", "members", "media"),
    Format.CSV: ("members", "posts", "pages"),
    Format.HTML: ("posts", "pages", "media"),
}
"""What each format has, in the order of writing. Members are in formats that others import."""

ENDINGS: dict[Format, str] = dict.fromkeys(Format, "zip") | {Format.WXR: "xml"}

NAMES: dict[Format, str] = {
    Format.WXR: "WordPress",
    Format.GHOST: "Ghost",
    Format.CSV: "CSV",
    Format.HTML: "HTML",
}
