"""One mail: what a capability asks to be sent, and the message that goes over the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, EmailPolicy
from typing import Any

import msgspec

from masthead.email_address import is_email, normal_email

VERBATIM = frozenset({"message-id", "list-unsubscribe", "list-unsubscribe-post"})


@dataclass(frozen=True, slots=True)
class Mail:
    """A template's name, its values and a recipient; `messages.py` makes them."""

    template: str
    to: str
    subject: str
    values: Mapping[str, Any] = field(default_factory=dict)
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


class _Policy(EmailPolicy):
    """Addresses in headers stay in one piece: folding would turn long ones into encoded words,
    which mail programs do not look for there."""

    def fold(self, name: str, value: str) -> str:
        if name.lower() in VERBATIM:
            return f"{name}: {value}{self.linesep}"
        folded: str = super().fold(name, value)
        return folded

    def fold_binary(self, name: str, value: str) -> bytes:
        if name.lower() in VERBATIM:
            return self.fold(name, value).encode("ascii")
        return super().fold_binary(name, value)


# 7 bit, because not every server on the way takes more; lines end as SMTP wants them.
POLICY = _Policy(cte_type="7bit", linesep=SMTP.linesep)
# An address beyond ASCII has no other form: its header is in UTF-8 (RFC 6532), the rest in 7 bit.
UTF8_POLICY = POLICY.clone(utf8=True)


def compose(letter: Letter, *, mail_id: str, written: datetime, sender: Address) -> EmailMessage:
    """The same message each time: a receiver recognises one that comes again by its Message-ID."""
    to = _address(letter.to, letter.to_name)
    answers_to = _address(letter.reply_to) if letter.reply_to else None
    is_ascii = all(each is None or each.addr_spec.isascii() for each in (to, answers_to))
    message = EmailMessage(policy=POLICY if is_ascii else UTF8_POLICY)
    message["From"] = Address(one_line(sender.display_name), addr_spec=sender.addr_spec)
    message["To"] = to
    if answers_to:
        message["Reply-To"] = answers_to
    message["Subject"] = one_line(letter.subject)
    message["Date"] = written
    message["Message-ID"] = f"<{mail_id}@{sender.domain}>"
    # Nobody's holiday notice answers to it.
    message["Auto-Submitted"] = "auto-generated"
    if letter.unsubscribe_url:
        message["List-Unsubscribe"] = f"<{letter.unsubscribe_url}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message.set_content(letter.text)
    message.add_alternative(letter.html, subtype="html")
    message.set_boundary(f"=_{mail_id}")
    return message


def _address(addr_spec: str, name: str = "") -> Address:
    """Raises ValueError for what is no single plain address."""
    normal = normal_email(addr_spec)
    if not is_email(normal):
        raise ValueError("not an e-mail address")
    local, _, domain = normal.rpartition("@")
    return Address(one_line(name), username=local, domain=domain)


def one_line(text: str) -> str:
    """Without line breaks and control characters: what people call themselves ends no header."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
