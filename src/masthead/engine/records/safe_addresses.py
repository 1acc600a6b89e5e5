"""Which URLs in a text are safe, parsed the way browsers parse them.

Browsers ignore blanks and control characters before a URL, and tabs and line ends anywhere in it,
so ` data:` and `java\\tscript:` are valid schemes.
"""

from __future__ import annotations

import re
from typing import Final

LINK_SCHEMES: Final = frozenset({"http", "https", "mailto", "tel", "sms", "ftp"})
_FETCHED_SCHEMES: Final = frozenset({"http", "https"})

_ENDS: Final = "".join(map(chr, range(0x21)))
_INSIDE: Final = re.compile(r"[\t\n\r]+")
# More than browsers ignore: a scheme contains none of these characters.
_IGNORED: Final = re.compile(r"[\x00-\x20\x7f-\xa0\xad\u200b-\u200f\u2028-\u202f\u2060\ufeff]+")
_SCHEME: Final = re.compile(r"([^/?#:]*):")
_LONGEST_SCHEME: Final = 2_000
_PICTURE: Final = re.compile(r"data:image/", re.IGNORECASE)


def safe_link(address: str) -> str:
    """A link's target without the characters that browsers ignore; '' for a scheme that may run
    code."""
    return _with_scheme(address, LINK_SCHEMES)


def safe_source(address: str) -> str:
    """The address if a page may load it without a click, from the web or from its own site; else
    ''."""
    return _with_scheme(address, _FETCHED_SCHEMES)


def safe_picture(address: str) -> str:
    """As `safe_source`; also `data:image/…`."""
    normal = _normal(address)
    return normal if _PICTURE.match(normal) else _with_scheme(normal, _FETCHED_SCHEMES)


def safe_relation(value: str) -> str:
    """A link's `rel` without `opener`, which gives the opened page control of this one."""
    if not _RELATION.fullmatch(value):
        return ""
    return " ".join(each for each in value.split() if each.lower() != "opener")


_RELATION: Final = re.compile(r"[A-Za-z][A-Za-z -]{0,99}")


def _normal(address: str) -> str:
    return _INSIDE.sub("", address.strip(_ENDS))


def _with_scheme(address: str, allowed: frozenset[str]) -> str:
    normal = _normal(address)
    scheme = _SCHEME.match(_IGNORED.sub("", normal[:_LONGEST_SCHEME]))
    return normal if scheme is None or scheme[1].lower() in allowed else ""
