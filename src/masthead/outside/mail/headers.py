"""Encodes the header fields of an email.

Python's own header classes parse their input: on 3.11 and 3.12 they decode an encoded word in a
name (`=?utf-8?q?x=0d=0aBcc:…?=`) and write its line breaks into the email. Here a text is only
encoded, never decoded.
"""

from __future__ import annotations

import base64
import re
import textwrap
from collections.abc import Iterator

from masthead.base.languages.words import staff_marked

FOLD = "\r\n "
MAX_LINE = 66
"""Lines are folded after so many characters: with the field's name a line has 78."""
MAX_PLAIN = 500
"""Longer texts are encoded: without a blank a text is one line, of 998 characters at most."""
WORD_BYTES = 45
"""As base64 they make an encoded word of 72 characters; RFC 2047 allows 75."""

_ISOLATES = "\u2068\u2069"
_PLAIN_TEXT = re.compile(r"[\x21-\x7e]+(?: [\x21-\x7e]+)*")
# RFC 5322's atoms: everything else would have to be quoted.
_PLAIN_PHRASE = re.compile(r"[\w!#$%&'*+/=?^`{|}~-]+(?: [\w!#$%&'*+/=?^`{|}~-]+)*", re.ASCII)
_FOLDED = re.compile(r"[^\x00-\x1f\x7f]+(?:\r\n [^\x00-\x1f\x7f]+)*")


def field(name: str, value: str) -> str:
    """One header field. Raises ValueError for a value with line breaks or control characters."""
    if value and not _FOLDED.fullmatch(value):
        raise ValueError(
            staff_marked("the header %(name)s would hold a line break or a control character")
            % {"name": name}
        )
    return f"{name}: {value}\r\n"


def text_value(text: str) -> str:
    """For unstructured fields such as the subject."""
    return _folded(text) if not text or _is_plain(text, _PLAIN_TEXT) else _encoded(text)


def address_value(addr_spec: str, name: str = "") -> str:
    if not name:
        return addr_spec
    phrase = _folded(name) if _is_plain(name, _PLAIN_PHRASE) else _encoded(name)
    return f"{phrase} <{addr_spec}>"


def one_line(text: str) -> str:
    """Without line breaks and control characters, which a display name could contain. The isolates
    around a name in a text from right to left stay."""
    return " ".join("".join(c if c.isprintable() or c in _ISOLATES else " " for c in text).split())


def _is_plain(text: str, plain: re.Pattern[str]) -> bool:
    # A receiver would decode a text that looks like an encoded word.
    return len(text) <= MAX_PLAIN and "=?" not in text and plain.fullmatch(text) is not None


def _folded(text: str) -> str:
    if len(text) <= MAX_LINE:
        return text
    lines = textwrap.wrap(text, MAX_LINE, break_long_words=False, break_on_hyphens=False)
    return FOLD.join(lines)


def _encoded(text: str) -> str:
    """Encoded words (RFC 2047); the blanks between them are not part of the text."""
    return FOLD.join(
        f"=?utf-8?b?{base64.b64encode(part.encode()).decode()}?=" for part in _word_texts(text)
    )


def _word_texts(text: str) -> Iterator[str]:
    """The texts of the encoded words, each of whole characters."""
    part, size = "", 0
    for character in text:
        octets = len(character.encode())
        if size + octets > WORD_BYTES:
            yield part
            part, size = "", 0
        part, size = part + character, size + octets
    yield part
