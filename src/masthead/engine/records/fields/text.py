"""Fields that hold text: plain, slugs, e-mail addresses and URLs."""

from __future__ import annotations

import re
from typing import Any, ClassVar
from urllib.parse import urlsplit

from sqlalchemy import Column, text

from masthead.base.email_address import MAX_OCTETS, is_email, normal_email
from masthead.base.languages.words import staff_words, words
from masthead.engine.records.fields.base import Field, refuse
from masthead.storage import dialects

UNSTORABLE = words(
    "Contains a NUL character or half a surrogate pair, which can't be stored. Remove it."
)


def _has_utf8(text: str) -> bool:
    """Far faster than a search for surrogates, also on megabytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


LONG_TEXT = 10_000
"""Characters. A page of texts up to this length has some megabytes."""


def not_text() -> Exception:
    return refuse("validation_invalid_type", words("Must be text."))


class Text(Field, frozen=True, kw_only=True):
    max: int = 5000
    min: int = 0
    pattern: re.Pattern[str] | None = None
    allowed: str = ""
    """The message for a value that the pattern refuses."""
    default: str = ""

    kind: ClassVar[str] = "text"

    def column(self) -> Column[Any]:
        return Column(self.name, dialects.Text(), nullable=False, server_default=text("''"))

    @property
    def is_long(self) -> bool:
        return self.max > LONG_TEXT

    def default_value(self) -> str:
        return self.default

    def coerce(self, value: Any) -> Any:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            return str(value)
        return value

    def parse(self, value: Any) -> str:
        if not isinstance(value, str):
            raise not_text()
        # Words are text in the language that is spoken.
        text = value if type(value) is str else str(value)
        # PostgreSQL can't store NUL, and lone surrogates have no UTF-8 form.
        if "\x00" in text or not (text.isascii() or _has_utf8(text)):
            raise refuse("validation_invalid_text", UNSTORABLE)
        if len(text) > self.max:
            raise refuse(
                "validation_max_text_constraint",
                words("Must be no more than %(max)s character(s).", max=self.max),
                max=self.max,
            )
        if len(text) < self.min:
            raise refuse(
                "validation_min_text_constraint",
                words("Must be at least %(min)s character(s).", min=self.min),
                min=self.min,
            )
        if self.pattern and not self.pattern.fullmatch(text):
            raise refuse("validation_invalid_format", self.allowed)
        return text


class Slug(Text, frozen=True, kw_only=True):
    """A unique part of a URL, derived from another field when none is given."""

    source: str
    optional: bool = False
    """Stays empty while its source is empty."""
    max: int = 255
    unique: bool = True
    reserved: frozenset[str] = frozenset()
    """Slugs whose addresses are pages of the service itself."""
    # Any script, but no character that ends or splits a URL path, and no segment that browsers
    # resolve before they send it.
    pattern: re.Pattern[str] | None = re.compile(r"(?!\.{1,2}$)[^\s/?#\\\x00-\x1f]+")
    allowed: str = staff_words(
        "May hold letters and digits of any script, hyphens and other signs, but no blanks, "
        "slashes, backslashes, ? or #, and can't be only . or .."
    )

    def parse(self, value: Any) -> str:
        slug = super().parse(value)
        if slug in self.reserved:
            raise refuse(
                "validation_reserved",
                staff_words(
                    "The site uses the address /%(slug)s itself. Choose another slug.", slug=slug
                ),
            )
        return slug


class Email(Text, frozen=True, kw_only=True):
    """Stored in its normal form, so that each mailbox has one value. Any script is allowed."""

    max: int = MAX_OCTETS

    def parse(self, value: Any) -> str:
        address = normal_email(super().parse(value))
        if not is_email(address):
            raise refuse(
                "validation_is_email", words("Must be an email address, such as ada@example.com.")
            )
        return address


class Url(Text, frozen=True, kw_only=True):
    """An absolute http(s) URL, or a path on the tenant's own site."""

    max: int = 2048

    def parse(self, value: Any) -> str:
        address = super().parse(value)
        if not is_web_address(address):
            raise refuse(
                "validation_invalid_url",
                staff_words("Must be a full http or https URL, or a path that begins with /."),
            )
        return address


class SiteAddress(Text, frozen=True, kw_only=True):
    """An address on the tenant's own host. Stored as a path: the host may change, and a command in
    a shell may not know it. Faces show the whole address, which filters may name as well."""

    max: int = 2048

    kind: ClassVar[str] = "address"


def is_web_address(address: str) -> bool:
    if any(character <= " " or character in '\\"<>' for character in address):
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    if parts.scheme in ("http", "https"):
        return bool(parts.hostname)
    return not parts.scheme and not parts.netloc and address.startswith("/")
