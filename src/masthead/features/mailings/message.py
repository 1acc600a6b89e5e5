"""The MIME message of one recipient. What all recipients share is encoded once."""

from __future__ import annotations

import binascii
import re
from collections.abc import Mapping
from datetime import datetime
from email.headerregistry import Address
from email.utils import format_datetime
from html import escape
from typing import Final
from urllib.parse import urlsplit

import msgspec

from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.features.mailings.letter import (
    EMAIL,
    NAME,
    READER,
    UNSUBSCRIBE_URL,
    Letter,
    Recipient,
)
from masthead.features.site.address import Site
from masthead.outside.mail.headers import address_value, field, one_line, text_value
from masthead.outside.mail.message import ComposedMail, SigningKey, at_domain

_PLACEHOLDER: Final = re.compile(f"({NAME}|{EMAIL}|{UNSUBSCRIBE_URL}|{READER})")
_SOFT_BREAK: Final = b"=\r\n"
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


def message_id(tenant_id: TenantId, mailing_id: str, member_id: str) -> str:
    """The same at every attempt; a bounce names it. Without its domain."""
    return f"{mailing_id}.{member_id}.{tenant_id}"


class Sender(msgspec.Struct, frozen=True):
    """The header fields that all emails of a mailing share."""

    address: Address
    """In `From`."""
    reply_to: str
    list_id: str
    envelope: Address
    """Where emails that can't be delivered come back: the installation's."""
    key: SigningKey | None = None

    @classmethod
    def of(
        cls,
        mail_from: Address,
        site: Site,
        newsletter: Record,
        *,
        domain: str = "",
        key: SigningKey | None = None,
    ) -> Sender:
        """`domain` is the site's own, if it may send from there."""
        name = newsletter["sender_name"] or site.name
        host = urlsplit(site.url).hostname or "localhost"
        # A slug may be of any script, a List-Id is ASCII.
        slug = newsletter["slug"] if newsletter["slug"].isascii() else newsletter["id"]
        return cls(
            Address(one_line(name), addr_spec=at_domain(mail_from, domain)),
            newsletter["reply_to"],
            f"{slug}.{host}",
            mail_from,
            key,
        )


class MessageForm:
    """A letter as a message in which only one recipient's values are missing."""

    def __init__(self, letter: Letter, sender: Sender, *, boundary: str, written: datetime) -> None:
        self._sender = sender
        self._written = written
        self._boundary = f"=_{boundary}"
        self._head = _shared_head(letter, sender, written)
        self._text = _pieces(letter.text)
        self._html = _pieces(letter.html)

    def compose(self, recipient: Recipient, mail_id: str, one_click_url: str) -> ComposedMail:
        """Raises ValueError for an address that no header can hold."""
        sender = self._sender.envelope
        fields = {
            "To": address_value(recipient.email, one_line(recipient.name)),
            "Message-ID": f"<{mail_id}@{sender.domain}>",
            "List-Unsubscribe": f"<{one_click_url}>",
        }
        head = self._head + "".join(field(name, value) for name, value in fields.items())
        values = recipient.values
        escaped = {name: escape(value) for name, value in values.items()}
        content = b"".join(
            (
                head.encode(),
                f'Content-Type: multipart/alternative; boundary="{self._boundary}"\r\n'.encode(),
                self._part("plain"),
                _filled(self._text, values),
                self._part("html"),
                _filled(self._html, escaped),
                f"\r\n--{self._boundary}--\r\n".encode(),
            )
        )
        return ComposedMail(
            sender.addr_spec,
            recipient.email,
            self._written,
            content,
            is_utf8=not head.isascii(),
            key=self._sender.key,
        )

    def _part(self, kind: str) -> bytes:
        return (
            f"\r\n--{self._boundary}\r\nContent-Type: text/{kind}; charset=utf-8\r\n"
            "Content-Transfer-Encoding: quoted-printable\r\n\r\n"
        ).encode()


def _shared_head(letter: Letter, sender: Sender, written: datetime) -> str:
    fields = {
        "From": address_value(sender.address.addr_spec, sender.address.display_name),
        "Subject": text_value(one_line(letter.subject)),
        "Date": format_datetime(written),
        "List-Id": f"<{sender.list_id}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        "MIME-Version": "1.0",
    }
    if sender.reply_to:
        fields["Reply-To"] = sender.reply_to
    return "".join(field(name, value) for name, value in fields.items())


def _pieces(text: str) -> tuple[bytes | str, ...]:
    """Encoded texts, and between them the placeholders."""
    parts = _PLACEHOLDER.split(text)
    return tuple(each if number % 2 else _encoded(each) for number, each in enumerate(parts))


def _filled(pieces: tuple[bytes | str, ...], values: Mapping[str, str]) -> bytes:
    filled = (each if isinstance(each, bytes) else _encoded(values[each]) for each in pieces)
    # A soft line break joins what was encoded apart.
    return _SOFT_BREAK.join(filled)


def _encoded(text: str) -> bytes:
    """Quoted-printable, which keeps every line below 77 characters."""
    lines = _LINE_END.sub("\r\n", text) if "\n" in text or "\r" in text else text
    encoded = binascii.b2a_qp(lines.encode(), istext=True)
    # The soft breaks of a text without line breaks are only line feeds.
    return encoded.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") if b"\n" in encoded else encoded
