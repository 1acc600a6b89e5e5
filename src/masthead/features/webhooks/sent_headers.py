"""Headers that a subscription adds to its deliveries, such as the key of a gateway."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from masthead.engine.records.changes import Save
from masthead.engine.records.fields.base import refuse
from masthead.engine.records.fields.secrets import SecretValues

MAX_HEADERS: Final = 10
MASK: Final = "***"
"""Shown in place of each value."""
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
# Visible ASCII, with blanks only inside.
_VALUE: Final = re.compile(r"[!-~](?:[ -~]{0,3998}[!-~])?")
_OWN_PREFIXES: Final = ("webhook-", "x-service-", "proxy-")
# fmt: off
_RESERVED: Final = frozenset({
    # Of the connection.
    "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect",
    # Of the request itself, which the service sets.
    "host", "content-length", "content-type", "content-encoding", "accept", "accept-encoding",
    "user-agent", "date",
})
# fmt: on
_CODE: Final = "validation_invalid_header"


class SentHeaders(SecretValues, frozen=True, kw_only=True):
    max_items: int = MAX_HEADERS
    value_pattern: re.Pattern[str] | None = _VALUE

    def check_item(self, name: str, value: str) -> None:
        if not _NAME.fullmatch(name):
            raise refuse(_CODE, f"{name[:40]!r} is no name of a header.")
        if name.lower() in _RESERVED or name.lower().startswith(_OWN_PREFIXES):
            raise refuse(_CODE, f"{name} is set by the service or by the connection.")
        if value == MASK:
            raise refuse(_CODE, f"{MASK} hides a stored value. Send the value itself.")
        if not _VALUE.fullmatch(value):
            raise refuse(_CODE, f"The value of {name} must be 1 to 4,000 visible ASCII characters.")


def stamp_header_names(save: Save) -> Mapping[str, Any]:
    """Their names can be read; their values are encrypted."""
    if "headers" not in save.given:
        return {}
    return {"header_names": list(headers_of(save.new["headers"]))}


def headers_of(stored: str) -> dict[str, str]:
    """The headers of the decrypted text."""
    return msgspec.json.decode(stored, type=dict[str, str]) if stored else {}


def masked(names: Iterable[str] | msgspec.Raw) -> dict[str, str]:
    listed = msgspec.json.decode(names) if isinstance(names, msgspec.Raw) else names
    return dict.fromkeys(listed, MASK)
