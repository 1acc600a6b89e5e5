"""The authors of an export. Posts refer to them by login."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from typing import Final

from masthead.base.email_address import is_email, normal_email
from masthead.base.languages.words import staff_marked
from masthead.faces.importers.convert.plain_texts import cut, title_text
from masthead.faces.importers.source import Skipped, SourceAuthor

NO_ADDRESS: Final = staff_marked("without a usable email address")
_MAX_ID: Final = 100
_NOT_IN_NICENAME: Final = re.compile(r"[^a-z0-9 _-]+")
_BLANKS: Final = re.compile(r"[\s-]+")
_MAX_NAME: Final = 255
_MAX_BIO: Final = 2_000


def author_id(login: str) -> str:
    return login.strip()[:_MAX_ID]


def author_of(fields: Mapping[str, str]) -> SourceAuthor | Skipped:
    source_id = author_id(fields.get("author_login", ""))
    address = normal_email(fields.get("author_email", ""))
    if not source_id or not is_email(address):
        return Skipped("author", "", NO_ADDRESS)
    name = title_text(fields.get("author_display_name", ""), 2 * _MAX_NAME)
    return SourceAuthor(
        source_id,
        address,
        cut(name, _MAX_NAME),
        cut(unescape(fields.get("author_description", "")), _MAX_BIO),
        nicename(source_id),
    )


def nicename(login: str) -> str:
    """As WordPress makes it of a login, which may be an e-mail address; '' for none."""
    kept = _NOT_IN_NICENAME.sub("", login.lower().replace(".", "-"))
    return _BLANKS.sub("-", kept).strip("-")
