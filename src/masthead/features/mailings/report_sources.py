"""Who reports bounces and complaints: how each source is checked, and what its calls say."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec

from masthead.base.config.settings import Settings
from masthead.base.errors import BadRequest, NotFound, Unauthenticated
from masthead.base.languages.words import staff_marked
from masthead.features.mailings.reports import Report
from masthead.features.members.collection import BOUNCED, COMPLAINED
from masthead.web.request import Request

NO_SOURCE: Final = "No reports are received at this address."
NOT_GENUINE: Final = "The secret or the signature is missing or wrong."
UNREADABLE: Final = "The body is not a report that this source sends."
SES: Final = "ses"
SENDGRID_SIGNATURE: Final = b"x-twilio-email-event-webhook-signature"
MAX_AGE: Final = timedelta(days=1)
"""The greatest age of a signature: providers repeat a call for hours."""

Check = Callable[[Settings, Request, bytes, float], str]
"""Returns what is the same in every repetition of the call; empty if it may be repeated."""
Read = Callable[[Any], Iterator[Report]]


def check_head(source: str, settings: Settings, request: Request) -> None:
    """Refuses what can be refused before the body is read. Raises NotFound or Unauthenticated."""
    configured = {
        "generic": settings.mail_events_secret,
        "postmark": settings.mail_events_secret,
        "mailgun": settings.mail_events_mailgun_key,
        "sendgrid": settings.mail_events_sendgrid_key,
        SES: settings.mail_events_ses_topics,
    }
    if not configured.get(source):
        raise NotFound(NO_SOURCE)
    if SOURCES.get(source, (None,))[0] is _check_secret:
        _check_secret(settings, request, b"", 0)
    if source == "sendgrid" and not request.header(SENDGRID_SIGNATURE):
        raise Unauthenticated(NOT_GENUINE)


def authentic_reports(
    source: str, settings: Settings, request: Request, body: bytes, *, now: float
) -> tuple[list[Report], str]:
    """The reports, and what identifies the call if it may count only once. Raises NotFound,
    Unauthenticated or BadRequest."""
    found = SOURCES.get(source)
    if found is None:
        raise NotFound(NO_SOURCE)
    check, read = found
    token = check(settings, request, body, now)
    try:
        return list(read(msgspec.json.decode(body))), token
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise BadRequest(UNREADABLE) from None


def _check_secret(settings: Settings, request: Request, _body: bytes, _now: float) -> str:
    """Checks `?secret=…`, for sources without a signature."""
    if settings.mail_events_secret is None:
        raise NotFound(NO_SOURCE)
    given = parse_qs(request.query_string.decode("latin-1")).get("secret", [""])[0]
    expected = str(settings.mail_events_secret)
    if not hmac.compare_digest(given.encode(), expected.encode()):
        raise Unauthenticated(NOT_GENUINE)
    return ""


def _check_mailgun(settings: Settings, _request: Request, body: bytes, now: float) -> str:
    """Mailgun signs a token and not the body."""
    if settings.mail_events_mailgun_key is None:
        raise NotFound(NO_SOURCE)
    try:
        signed = msgspec.json.decode(body)["signature"]
        timestamp, token, given = (str(signed[k]) for k in ("timestamp", "token", "signature"))
        age = abs(now - int(timestamp))
    # OverflowError: of a time that is no time of this world.
    except (
        msgspec.DecodeError,
        KeyError,
        TypeError,
        ValueError,
        OverflowError,
        RecursionError,
    ):
        raise Unauthenticated(NOT_GENUINE) from None
    key = str(settings.mail_events_mailgun_key).encode()
    expected = hmac.new(key, f"{timestamp}{token}".encode(), hashlib.sha256).hexdigest()
    is_genuine = hmac.compare_digest(expected.encode(), given.encode(errors="replace"))
    if not is_genuine or age > MAX_AGE.total_seconds():
        raise Unauthenticated(NOT_GENUINE)
    return f"mailgun {timestamp}{token}"


def _check_sendgrid(settings: Settings, request: Request, body: bytes, now: float) -> str:
    if settings.mail_events_sendgrid_key is None:
        raise NotFound(NO_SOURCE)
    # Imported with the first call: few installations get one.
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    signature = request.header(SENDGRID_SIGNATURE) or ""
    timestamp = request.header(b"x-twilio-email-event-webhook-timestamp") or ""
    try:
        key = load_der_public_key(base64.b64decode(str(settings.mail_events_sendgrid_key)))
        if not isinstance(key, ec.EllipticCurvePublicKey):
            raise ValueError("not an elliptic curve key")
        given = base64.b64decode(signature, validate=True)
        key.verify(given, timestamp.encode() + body, ec.ECDSA(SHA256()))
        age = abs(now - int(timestamp))
    except (InvalidSignature, binascii.Error, ValueError, OverflowError):
        raise Unauthenticated(NOT_GENUINE) from None
    if age > MAX_AGE.total_seconds():
        raise Unauthenticated(NOT_GENUINE)
    # Not the signature: from one, anyone can compute another that is valid for the same text.
    return f"sendgrid {timestamp} {hashlib.sha256(body).hexdigest()}"


_TYPES: Final = {"bounce": BOUNCED, "complaint": COMPLAINED}
_KINDS: Final = {"hard": True, "soft": False}


def _read_generic(given: Any) -> Iterator[Report]:
    for each in given if isinstance(given, list) else [given]:
        state = _TYPES[each["type"]]
        is_hard = state == COMPLAINED or _KINDS[each.get("kind", "hard")]
        message_id = str(each.get("message_id") or "")
        yield Report(
            state,
            text_in(each, "email"),
            is_hard,
            message_id,
            staff_marked("reported by the provider"),
        )


def _read_postmark(given: Any) -> Iterator[Report]:
    if given["RecordType"] == "SpamComplaint":
        yield Report(
            COMPLAINED, text_in(given, "Email"), reason=staff_marked("reported by Postmark")
        )
    elif given["RecordType"] == "Bounce":
        is_hard = given["Type"] in ("HardBounce", "BadEmailAddress")
        reason = str(given.get("Description") or staff_marked("reported by Postmark"))
        yield Report(BOUNCED, text_in(given, "Email"), is_hard, reason=reason)


def _read_mailgun(given: Any) -> Iterator[Report]:
    event = given["event-data"]
    message_id = str(event.get("message", {}).get("headers", {}).get("message-id", ""))
    if event["event"] == "complained":
        yield Report(
            COMPLAINED,
            text_in(event, "recipient"),
            True,
            message_id,
            staff_marked("reported by Mailgun"),
        )
    elif event["event"] == "failed":
        is_hard = event.get("severity") == "permanent"
        reason = str(
            event.get("delivery-status", {}).get("message") or staff_marked("reported by Mailgun")
        )
        yield Report(BOUNCED, text_in(event, "recipient"), is_hard, message_id, reason)


def _read_sendgrid(given: Any) -> Iterator[Report]:
    for event in given:
        message_id = str(event.get("smtp-id", ""))
        if event["event"] == "spamreport":
            yield Report(
                COMPLAINED,
                text_in(event, "email"),
                True,
                message_id,
                staff_marked("reported by SendGrid"),
            )
        elif event["event"] == "bounce":
            is_hard = event.get("type", "bounce") == "bounce"
            reason = str(event.get("reason") or staff_marked("reported by SendGrid"))
            yield Report(BOUNCED, text_in(event, "email"), is_hard, message_id, reason)


def text_in(given: Mapping[str, Any], name: str) -> str:
    value = given[name]
    if not isinstance(value, str) or not value or "\x00" in value or not value.isprintable():
        raise ValueError(name)
    return value


SOURCES: Final[Mapping[str, tuple[Check, Read]]] = {
    "generic": (_check_secret, _read_generic),
    "postmark": (_check_secret, _read_postmark),
    "mailgun": (_check_mailgun, _read_mailgun),
    "sendgrid": (_check_sendgrid, _read_sendgrid),
}
