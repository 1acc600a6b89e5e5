"""Normalizes and validates email addresses (RFC 6531)."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from types import ModuleType
from typing import Final

import idna

MAX_OCTETS: Final = 254
MAX_LOCAL: Final = 64
"""Characters before the `@`."""

# Invisible letters and marks: with them, two different addresses would look the same.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)

_PLAIN = re.compile("[a-z0-9._+-]+")


def normal_email(text: str) -> str:
    """NFC, in lower case, with the domain in ASCII, so that each mailbox has one value.

    Never fails: `is_email` refuses the result for a text that is no address.
    """
    text = text.strip()
    # Normalizing a long row of marks takes quadratic time, and the text is too long anyway.
    if text.isascii() or len(text) > MAX_OCTETS:
        return text.lower()
    lowered = _composed(_composed(text).lower())
    local, at, domain = lowered.rpartition("@")
    return f"{local}{at}{ascii_domain(domain)}" if at else lowered


def is_email(address: str) -> bool:
    """Whether a normalized text is an address that email can be sent to.

    `email-validator` checks the syntax. Also refused are capitals, a
    local part that is too long or not legible, and texts that mail programs decode into another
    address (`=?utf-8?q?…?=`).
    """
    local, _, domain = address.rpartition("@")
    octets = len(address.encode(errors="surrogatepass"))
    if not 0 < len(local) <= MAX_LOCAL or octets > MAX_OCTETS or "=?" in address:
        return False
    if not domain.isascii() or address != address.lower() or not _has_syntax(local, domain):
        return False
    return address.isascii() or _is_legible(local)


def _has_syntax(local: str, domain: str) -> bool:
    # Such a local part is right in every address, so a list of members needs one check per domain.
    if _PLAIN.fullmatch(local):
        return _validates("x", domain)
    # Some providers have mailboxes with dots side by side or at the end, which the RFC has not.
    return _validates(local.replace(".", "_"), domain)


@lru_cache(maxsize=4096)
def _validates(local: str, domain: str) -> bool:
    validator, address = _validator(), f"{local}@{domain}"
    try:
        validator.validate_email(address, check_deliverability=False, globally_deliverable=False)
    except validator.EmailNotValidError:
        return False
    return True


@cache
def _validator() -> ModuleType:
    # Imported where an address is checked: most commands check none.
    import email_validator

    # The names of a local network (`localhost`, `.local`) are fine: a service may be in one.
    email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()
    return email_validator


def ascii_domain(domain: str) -> str:
    """Labels in other scripts as `xn--…` (IDNA 2008); unchanged if that fails."""
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
    """Letters, digits and marks, but no mark at the start, which would combine with the text before
    the address."""
    kinds = [unicodedata.category(each) for each in local if not each.isascii()]
    if unicodedata.category(local[0])[0] == "M" or _INVISIBLE.search(local):
        return False
    return all(kind[0] in "LM" or kind == "Nd" for kind in kinds)
