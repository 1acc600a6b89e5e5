"""The ways in which free text may spell an e-mail address that is stored in one way only.

Upper and lower case, the domain as the DNS knows it or as people write it, letters with marks
composed or not, and any character percent-encoded (as in a `mailto:` link) or as an HTML entity.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import product

import idna

_AT = re.compile("[@\uff20\ufe6b]|%40|&#0*64|&#x0*40|&commat", re.IGNORECASE)
"""Without one of these a text holds no address: a look that costs next to nothing."""
_OTHERS = {
    "@": ("\uff20", "\ufe6b", "&commat;"),
    ".": ("\u3002", "\uff0e", "\uff61", "&period;"),
    "&": ("&amp;",),
}
"""What some characters may look like as well: forms of other scripts, entities with a name."""
_ENCODED_AT = ("@", "%40", "&#64;")


class Spellings:
    """Of one address, given in its normal form (`email_address`)."""

    def __init__(self, email: str) -> None:
        self._pattern = re.compile(_pattern(email), re.IGNORECASE)

    def is_in(self, text: str) -> bool:
        return bool(_AT.search(text) and self._pattern.search(text))

    def replaced(self, text: str, by: str) -> str:
        return self._pattern.sub(by, text) if _AT.search(text) else text


@lru_cache(maxsize=8)
def spellings_of(email: str) -> Spellings:
    return Spellings(email)


def likely_spellings(email: str) -> list[str]:
    """Those that programs write, in lower case: for a search by the database, which knows no
    more than plain text."""
    local, _, domain = email.rpartition("@")
    composed = {f"{local}\0{each}" for each in (domain, _as_people_write(domain))}
    forms = composed | {unicodedata.normalize("NFD", each) for each in composed}
    return sorted(form.replace("\0", at) for form, at in product(forms, _ENCODED_AT))


def _pattern(email: str) -> str:
    local, _, domain = email.rpartition("@")
    labels = [_either(*{label, _as_people_write(label)}) for label in domain.split(".")]
    spelled = f"{_text(local)}{_character('@')}{_character('.').join(labels)}"
    # What goes on at either end is somebody else's address.
    return (
        rf"(?:(?<![^\W_])|{_AFTER_AN_ESCAPE})(?:{re.escape(email)}|{spelled})"
        r"(?![^\W_]|-[^\W_])"
    )


_AFTER_AN_ESCAPE = r"(?<=%[0-9a-f][0-9a-f])|(?<=\\[nrt])"
"""`%20` and `\\n` end in what looks like a letter and is none."""


def _either(*texts: str) -> str:
    return _one_of(map(_text, texts))


def _text(text: str) -> str:
    return "".join(map(_character, unicodedata.normalize("NFC", text)))


def _character(character: str) -> str:
    """In one piece, or taken apart into a letter and its marks."""
    apart = unicodedata.normalize("NFD", character)
    whole = _piece(character)
    # Apart first: else the letter alone would be found, and its mark left behind.
    return whole if apart == character else _one_of(["".join(map(_piece, apart)), whole])


def _piece(character: str) -> str:
    """Plain, percent-encoded, or as an entity."""
    plain = {character, *_OTHERS.get(character, ())}
    cases = {character, character.lower(), character.upper()}
    encoded = {encode(case) for case in cases for encode in (_percent, _entity)}
    # Encoded first: `%25` is a percent sign, and so is its first character.
    return _one_of([*sorted(encoded), *map(re.escape, sorted(plain))])


def _one_of(patterns: Iterable[str]) -> str:
    """The first that fits; going back for another would take forever on a text made for it."""
    return f"(?>{'|'.join(patterns)})"


def _percent(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def _entity(text: str) -> str:
    return "".join(f"&#(?:0*{ord(each)}|x0*{ord(each):x});?" for each in text)


def _as_people_write(domain: str) -> str:
    """`xn--…` in its own script; unchanged where it has none."""
    try:
        return ".".join(
            idna.ulabel(label) if label.startswith("xn--") else label for label in domain.split(".")
        )
    except UnicodeError:
        return domain
