"""Finds an email address in free text, in every variant of its normal form.

Variants are upper and lower case, the domain in Punycode or Unicode, composed or decomposed
characters, and any character percent-encoded (as in a `mailto:` link) or as an HTML entity.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import product

import idna

_AT = re.compile("[@\uff20\ufe6b]|%40|&#0*64|&#x0*40|&commat", re.IGNORECASE)
"""A cheap first check: a text without one of these holds no address."""
_ALTERNATIVES = {
    "@": ("\uff20", "\ufe6b", "&commat;"),
    ".": ("\u3002", "\uff0e", "\uff61", "&period;"),
    "&": ("&amp;",),
}
"""Equivalent characters of other scripts, and named entities."""
_ENCODED_AT = ("@", "%40", "&#64;")


class EmailPattern:
    """Matches one address, given in its normal form (`email_address`)."""

    def __init__(self, email: str) -> None:
        self._pattern = re.compile(_pattern(email), re.IGNORECASE)

    def is_in(self, text: str) -> bool:
        return bool(_AT.search(text) and self._pattern.search(text))

    def replaced(self, text: str, by: str) -> str:
        return self._pattern.sub(by, text) if _AT.search(text) else text


@lru_cache(maxsize=8)
def email_pattern(email: str) -> EmailPattern:
    return EmailPattern(email)


def common_variants(email: str) -> list[str]:
    """The variants that programs write, in lower case: for a plain-text search by the database."""
    local, _, domain = email.rpartition("@")
    composed = {f"{local}\0{each}" for each in (domain, _unicode_domain(domain))}
    forms = composed | {unicodedata.normalize("NFD", each) for each in composed}
    return sorted(form.replace("\0", at) for form, at in product(forms, _ENCODED_AT))


def _pattern(email: str) -> str:
    local, _, domain = email.rpartition("@")
    labels = [_either(*{label, _unicode_domain(label)}) for label in domain.split(".")]
    variants = f"{_text(local)}{_character('@')}{_character('.').join(labels)}"
    # Preceded or followed by a word character it is another address.
    return (
        rf"(?:(?<![^\W_])|{_AFTER_AN_ESCAPE})(?:{re.escape(email)}|{variants})"
        r"(?![^\W_]|-[^\W_])"
    )


_AFTER_AN_ESCAPE = r"(?<=%[0-9a-f][0-9a-f])|(?<=\\[nrt])"
"""`%20` and `\\n` end in a word character that is not part of the address."""


def _either(*texts: str) -> str:
    return _one_of(map(_text, texts))


def _text(text: str) -> str:
    return "".join(map(_character, unicodedata.normalize("NFC", text)))


def _character(character: str) -> str:
    """Composed, or decomposed into a base character and its marks."""
    decomposed = unicodedata.normalize("NFD", character)
    composed = _code_point(character)
    if decomposed == character:
        return composed
    # Decomposed first: else the base character alone would match, without its mark.
    return _one_of(["".join(map(_code_point, decomposed)), composed])


def _code_point(character: str) -> str:
    """Plain, percent-encoded, or as an entity."""
    plain = {character, *_ALTERNATIVES.get(character, ())}
    cases = {character, character.lower(), character.upper()}
    encoded = {encode(case) for case in cases for encode in (_percent, _entity)}
    # Encoded first: `%25` is a percent sign, and so is its first character.
    return _one_of([*sorted(encoded), *map(re.escape, sorted(plain))])


def _one_of(patterns: Iterable[str]) -> str:
    """Atomic: backtracking would take exponential time on a text written for it."""
    return f"(?>{'|'.join(patterns)})"


def _percent(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def _entity(text: str) -> str:
    return "".join(f"&#(?:0*{ord(each)}|x0*{ord(each):x});?" for each in text)


def _unicode_domain(domain: str) -> str:
    """`xn--…` labels decoded; the domain unchanged if that fails."""
    try:
        return ".".join(
            idna.ulabel(label) if label.startswith("xn--") else label for label in domain.split(".")
        )
    except UnicodeError:
        return domain
