"""E-mail addresses in the one form in which they are stored, looked up and sent to (RFC 6531)."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

import idna

MAX_OCTETS: Final = 254
MAX_LOCAL: Final = 64
"""Characters before the `@`."""

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# What stands beyond ASCII is judged by its Unicode category.
_ADDRESS = re.compile(
    rf"([a-z0-9.!#$%&'*+/=?^_`{{|}}~\x80-\U0010ffff-]{{1,{MAX_LOCAL}}})"
    rf"@(?:{_LABEL}\.)*{_LABEL}\Z"
)
# Letters and marks by category that nobody sees: with them, two addresses would look like one.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)


def normal_email(text: str) -> str:
    """One mailbox, one value: composed (NFC), in lower case, the domain as the DNS knows it.

    Never fails: what is no address becomes something that `is_email` refuses.
    """
    text = text.strip()
    # Composing a long row of marks takes the square of the time, and so long it is no address.
    if text.isascii() or len(text) > MAX_OCTETS:
        return text.lower()
    lowered = _composed(_composed(text).lower())
    local, at, domain = lowered.rpartition("@")
    return f"{local}{at}{ascii_domain(domain)}" if at else lowered


def is_email(address: str) -> bool:
    """Whether a text in its normal form is an address that mail can be sent to."""
    match = _ADDRESS.match(address)
    # `=?utf-8?q?…?=` is read by mail programs, ours included, as what it encodes: another address.
    if match is None or len(address) > MAX_OCTETS or "=?" in address:
        return False
    if address.isascii():
        return True
    return _is_legible(match[1]) and len(address.encode()) <= MAX_OCTETS


def ascii_domain(domain: str) -> str:
    """Labels in other scripts as `xn--…` (IDNA 2008); unchanged where that can't be."""
    if domain.isascii():
        return domain
    try:
        labels = idna.uts46_remap(domain).split(".")
        return ".".join(x if x.isascii() else idna.alabel(x).decode() for x in labels)
    except UnicodeError:
        return domain


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _is_legible(local: str) -> bool:
    """Letters, digits and marks, and no mark that would stand on what comes before the address."""
    kinds = [unicodedata.category(each) for each in local if not each.isascii()]
    if unicodedata.category(local[0])[0] == "M" or _INVISIBLE.search(local):
        return False
    return all(kind[0] in "LM" or kind == "Nd" for kind in kinds)
