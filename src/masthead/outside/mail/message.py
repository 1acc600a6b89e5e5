"""An email before rendering, after rendering, and as a composed MIME message."""

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

from masthead.base.email_address import is_email, normal_email
from masthead.base.languages.words import staff_marked
from masthead.outside.mail.headers import address_value, field, one_line, text_value


class Mail(msgspec.Struct, frozen=True):
    """A template's name, its values and a recipient."""

    template: str
    to: str
    subject: str
    values: Mapping[str, Any] = msgspec.field(default_factory=dict)
    to_name: str = ""
    reply_to: str = ""
    language: str = "en"
    unsubscribe_url: str = ""
    """For newsletters and the like: mail programs show a button for it (RFC 8058)."""


class RenderedMail(msgspec.Struct, frozen=True):
    """A rendered email, as stored in the outbox: every attempt sends the same text."""

    to: str
    subject: str
    text: str
    html: str
    to_name: str = ""
    reply_to: str = ""
    unsubscribe_url: str = ""
    from_name: str = ""
    from_domain: str = ""
    """Both empty: as the installation sends."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The DKIM key of one domain."""

    domain: str
    selector: str
    private_key: str = dataclass_field(repr=False)
    """PKCS 1, in PEM."""


class ComposedMail(msgspec.Struct, frozen=True):
    """The MIME message and its envelope addresses, which are never parsed from the message. The
    sender on the envelope is always the installation's, also for an email from a site's own domain,
    because undeliverable emails return to it."""

    sender: str
    recipient: str
    written: datetime
    content: bytes
    is_utf8: bool
    """A non-ASCII address needs headers in UTF-8 (RFC 6532); the body is 7 bit."""
    key: SigningKey | None = None
    """None: the email leaves without a signature."""


# 7 bit, because not every server accepts more; SMTP line endings.
_BODY_POLICY = SMTP.clone(cte_type="7bit")


def compose(
    rendered: RenderedMail,
    *,
    mail_id: str,
    written: datetime,
    sender: Address,
    key: SigningKey | None = None,
) -> ComposedMail:
    """The same message for every attempt: a receiver recognizes a repeat by its Message-ID.

    Raises ValueError for an invalid address or header.
    """
    to = _addr_spec(rendered.to)
    shown_name = one_line(rendered.from_name or sender.display_name)
    fields = {
        "From": address_value(at_domain(sender, rendered.from_domain), shown_name),
        "To": address_value(to, one_line(rendered.to_name)),
        "Subject": text_value(one_line(rendered.subject)),
        "Date": format_datetime(written),
        "Message-ID": f"<{mail_id}@{sender.domain}>",
        # Out-of-office programs do not reply to it.
        "Auto-Submitted": "auto-generated",
    }
    if rendered.reply_to:
        fields["Reply-To"] = _addr_spec(rendered.reply_to)
    if rendered.unsubscribe_url:
        fields["List-Unsubscribe"] = f"<{rendered.unsubscribe_url}>"
        fields["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    head = "".join(field(name, value) for name, value in fields.items())
    content = head.encode() + _body(rendered, mail_id).as_bytes()
    return ComposedMail(sender.addr_spec, to, written, content, is_utf8=not head.isascii(), key=key)


def at_domain(sender: Address, domain: str) -> str:
    """The sender's address, at another domain unless it is empty."""
    return f"{sender.username}@{domain}" if domain else sender.addr_spec


def _body(rendered: RenderedMail, mail_id: str) -> EmailMessage:
    """The text and HTML parts with their headers."""
    body = EmailMessage(policy=_BODY_POLICY)
    body.set_content(rendered.text)
    body.add_alternative(rendered.html, subtype="html")
    body.set_boundary(f"=_{mail_id}")
    return body


def _addr_spec(text: str) -> str:
    """Raises ValueError unless it is a single plain address."""
    address = normal_email(text)
    if not is_email(address):
        raise ValueError(staff_marked("not an email address"))
    return address
