"""Reads a delivery status notification (RFC 3464): which recipients an email could not reach."""

from __future__ import annotations

import re
from email import message_from_bytes
from email.message import Message
from typing import Final

from masthead.features.mailings.reports import MAX_REPORTS, Report
from masthead.features.members.collection import BOUNCED

MAX_BYTES: Final = 5 * 1024 * 1024
_HARD: Final = re.compile(r"\s*5\.1\.\d")
_NOT_ONE: Final = "This is not a delivery status notification (RFC 3464): pipe the whole email."


def read_notification(raw: bytes) -> list[Report]:
    """Raises ValueError, with a sentence."""
    if len(raw) > MAX_BYTES:
        raise ValueError("The email is larger than a delivery status notification can be.")
    message = message_from_bytes(raw)
    parts = list(message.walk())
    status = [each for each in parts if each.get_content_type() == "message/delivery-status"]
    if not status:
        raise ValueError(_NOT_ONE)
    message_id = _original_id(parts)
    blocks = [each for each in status[0].walk() if each.get("Final-Recipient")]
    return [_report(each, message_id) for each in blocks[:MAX_REPORTS]]


def _report(block: Message, message_id: str) -> Report:
    """Without a mailbox (5.1.x) it is a hard bounce; any other failure may pass."""
    _, _, address = str(block["Final-Recipient"]).partition(";")
    status = str(block.get("Status", ""))
    has_failed = str(block.get("Action", "")).strip().lower() == "failed"
    is_hard = has_failed and _HARD.match(status) is not None
    reason = " ".join(str(block.get("Diagnostic-Code", status)).split())
    return Report(BOUNCED, address.strip().strip("<>"), is_hard, message_id, reason)


def _original_id(parts: list[Message]) -> str:
    """The id of the email that came back: the notification has it, or its headers, as a part."""
    for part in parts:
        if part.get_content_type() == "text/rfc822-headers":
            found = message_from_bytes(_bytes_of(part)).get("Message-ID")
            return str(found or "")
    return str(parts[-1].get("Message-ID") or "")


def _bytes_of(part: Message) -> bytes:
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""
