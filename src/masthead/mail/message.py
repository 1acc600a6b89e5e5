"""One mail: what a capability asks to be sent, and the message that goes over the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any

import msgspec

from masthead.email_address import is_email, normal_email
from masthead.mail.headers import address_value, field, one_line, text_value


@dataclass(frozen=True, slots=True)
class Mail:
    """A template's name, its values and a recipient; `messages.py` makes them."""

    template: str
    to: str
    subject: str
    values: Mapping[str, Any] = dataclass_field(default_factory=dict)
    to_name: str = ""
    reply_to: str = ""
    unsubscribe_url: str = ""
    """Set for newsletters and the like: mail programs then show a button for it (RFC 8058)."""


class Letter(msgspec.Struct, frozen=True):
    """A rendered mail, as the queue keeps it: every attempt sends the same text."""

    to: str
    subject: str
    text: str
    html: str
    to_name: str = ""
    reply_to: str = ""
    unsubscribe_url: str = ""


@dataclass(frozen=True, slots=True)
class ComposedMail:
    """What goes over the wire, and between whom. The addresses are never read back from it."""

    sender: str
    recipient: str
    written: datetime
    content: bytes
    is_utf8: bool
    """An address beyond ASCII has no other form: its header is in UTF-8 (RFC 6532), the rest in
    7 bit."""


# 7 bit, because not every server on the way takes more; lines end as SMTP wants them.
_BODY_POLICY = SMTP.clone(cte_type="7bit")


def compose(letter: Letter, *, mail_id: str, written: datetime, sender: Address) -> ComposedMail:
    """The same message each time: a receiver recognises one that comes again by its Message-ID.

    Raises ValueError for an address that is none, and for whatever would break a header.
    """
    to = _addr_spec(letter.to)
    fields = {
        "From": address_value(sender.addr_spec, one_line(sender.display_name)),
        "To": address_value(to, one_line(letter.to_name)),
        "Subject": text_value(one_line(letter.subject)),
        "Date": format_datetime(written),
        "Message-ID": f"<{mail_id}@{sender.domain}>",
        # Nobody's holiday notice answers to it.
        "Auto-Submitted": "auto-generated",
    }
    if letter.reply_to:
        fields["Reply-To"] = _addr_spec(letter.reply_to)
    if letter.unsubscribe_url:
        fields["List-Unsubscribe"] = f"<{letter.unsubscribe_url}>"
        fields["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    head = "".join(field(name, value) for name, value in fields.items())
    content = head.encode() + _body(letter, mail_id).as_bytes()
    return ComposedMail(sender.addr_spec, to, written, content, is_utf8=not head.isascii())


def _body(letter: Letter, mail_id: str) -> EmailMessage:
    """The two texts with the headers that describe them."""
    body = EmailMessage(policy=_BODY_POLICY)
    body.set_content(letter.text)
    body.add_alternative(letter.html, subtype="html")
    body.set_boundary(f"=_{mail_id}")
    return body


def _addr_spec(text: str) -> str:
    """Raises ValueError for what is no single plain address."""
    address = normal_email(text)
    if not is_email(address):
        raise ValueError("not an e-mail address")
    return address
