"""Bounces and complaints from Amazon SES, which arrive as signed messages of Amazon SNS.

The certificate that verifies them is fetched from Amazon's host of the region of a topic that the
operator has configured. Nothing of a message says where to, before its signature is verified; and
a subscription is confirmed at the same host, with the topic of the configuration.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlsplit

import msgspec

from masthead.base import clock
from masthead.base.config.settings import Settings
from masthead.base.errors import BadRequest, NotFound, Unauthenticated, Unavailable
from masthead.base.languages.words import staff_marked
from masthead.features.mailings.report_sources import (
    MAX_AGE,
    NO_SOURCE,
    NOT_GENUINE,
    UNREADABLE,
    text_in,
)
from masthead.features.mailings.reports import Report
from masthead.features.members.collection import BOUNCED, COMPLAINED
from masthead.outside.outbound.client import OutboundClient
from masthead.outside.outbound.errors import OutboundError

# Few installations get such a message.
if TYPE_CHECKING:
    from cryptography.x509 import Certificate

OLD_SIGNATURE: Final = "Set the topic's SignatureVersion to 2: older signatures use SHA-1."
MAX_CERTIFICATE_BYTES: Final = 20_000
MAX_CERTIFICATES: Final = 8
FETCHES_PER_MINUTE: Final = 10
"""Fetches of certificates: their names are in messages that nobody has verified yet."""
FETCH_SECONDS: Final = 5.0
_NAME: Final = re.compile(r"/(SimpleNotificationService-[0-9a-f]{32}\.pem)")
_TOKEN: Final = re.compile(r"[0-9a-f]{16,1024}")
_SIGNED: Final = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    **dict.fromkeys(
        ("SubscriptionConfirmation", "UnsubscribeConfirmation"),
        ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
    ),
}
"""The parts that a signature covers, in their order; those that are missing are left out."""


def amazon_host(topic: str) -> str:
    """Where a topic's certificates are, by its ARN: `arn:aws:sns:<region>:<account>:<name>`."""
    _, partition, _, region, *_ = topic.split(":")
    end = "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com"
    return f"sns.{region}.{end}"


class SnsMessages:
    def __init__(
        self,
        outbound: OutboundClient,
        now: clock.Clock,
        host_of: Callable[[str], str] = amazon_host,
    ) -> None:
        self._outbound = outbound
        self._clock = now
        self._host_of = host_of
        self._certificates: OrderedDict[str, Certificate] = OrderedDict()
        self._fetches: list[datetime] = []

    async def reports(self, settings: Settings, body: bytes) -> list[Report]:
        """The reports in a message. Raises NotFound, Unauthenticated, BadRequest or Unavailable."""
        if not settings.mail_events_ses_topics:
            raise NotFound(NO_SOURCE)
        message = _decoded(body)
        topic = message.get("TopicArn", "")
        if topic not in settings.mail_events_ses_topics:
            raise Unauthenticated(NOT_GENUINE)
        await self._verify(topic, message)
        if message["Type"] == "SubscriptionConfirmation":
            await self._confirm(topic, message.get("Token", ""))
        if message["Type"] != "Notification":
            return []
        try:
            return list(_reports(msgspec.json.decode(message["Message"])))
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
            raise BadRequest(UNREADABLE) from None

    async def _verify(self, topic: str, message: Mapping[str, str]) -> None:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
        from cryptography.hazmat.primitives.hashes import SHA256

        if message.get("SignatureVersion") != "2":
            raise Unauthenticated(OLD_SIGNATURE)
        named = _NAME.fullmatch(_path(message.get("SigningCertURL", "")))
        if message.get("Type") not in _SIGNED or named is None or self._is_old(message):
            raise Unauthenticated(NOT_GENUINE)
        certificate = await self._certificate(self._host_of(topic), named[1])
        key, now = certificate.public_key(), self._clock()
        is_valid = certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc
        if not isinstance(key, RSAPublicKey) or not is_valid:
            raise Unauthenticated(NOT_GENUINE)
        try:
            given = base64.b64decode(message.get("Signature", ""), validate=True)
            key.verify(given, _signed_text(message), PKCS1v15(), SHA256())
        except (InvalidSignature, binascii.Error, ValueError):
            raise Unauthenticated(NOT_GENUINE) from None

    def _is_old(self, message: Mapping[str, str]) -> bool:
        try:
            at = datetime.fromisoformat(message.get("Timestamp", ""))
            return at.tzinfo is None or abs(self._clock() - at.astimezone(UTC)) > MAX_AGE
        # OverflowError: of the first or the last day that there is, in another time zone.
        except (ValueError, OverflowError):
            return True

    async def _certificate(self, host: str, name: str) -> Certificate:
        url = f"https://{host}/{name}"
        if url in self._certificates:
            self._certificates.move_to_end(url)
            return self._certificates[url]
        from cryptography.x509 import load_pem_x509_certificate

        try:
            certificate = load_pem_x509_certificate(await self._fetch(url))
        except ValueError:
            raise Unauthenticated(NOT_GENUINE) from None
        self._certificates[url] = certificate
        if len(self._certificates) > MAX_CERTIFICATES:
            self._certificates.popitem(last=False)
        return certificate

    async def _confirm(self, topic: str, token: str) -> None:
        if not _TOKEN.fullmatch(token):
            raise BadRequest(UNREADABLE)
        query = {"Action": "ConfirmSubscription", "TopicArn": topic, "Token": token}
        await self._fetch(f"https://{self._host_of(topic)}/?{urlencode(query)}")

    async def _fetch(self, url: str) -> bytes:
        """Amazon repeats a message that gets a 503."""
        now = self._clock()
        self._fetches = [each for each in self._fetches if now - each < timedelta(minutes=1)]
        if len(self._fetches) >= FETCHES_PER_MINUTE:
            raise Unavailable
        self._fetches.append(now)
        try:
            async with self._outbound.download(
                url,
                max_bytes=MAX_CERTIFICATE_BYTES,
                accept="*/*",
                timeout_seconds=FETCH_SECONDS,
            ) as download:
                if urlsplit(download.url).netloc != urlsplit(url).netloc:
                    raise Unavailable
                return b"".join([each async for each in download.chunks])
        except OutboundError:
            raise Unavailable from None


def _decoded(body: bytes) -> dict[str, str]:
    try:
        return msgspec.json.decode(body, type=dict[str, str])
    # Also what is no UTF-8, which is no `DecodeError`.
    except (ValueError, RecursionError):
        raise Unauthenticated(NOT_GENUINE) from None


def _path(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def _signed_text(message: Mapping[str, str]) -> bytes:
    names = [each for each in _SIGNED[message["Type"]] if each in message]
    return "".join(f"{name}\n{message[name]}\n" for name in names).encode()


def _reports(event: Any) -> Iterator[Report]:
    """The reports in a notification of SES; one of a configuration set has another name for its
    type."""
    kind = event.get("notificationType") or event.get("eventType")
    message_id = str(event.get("mail", {}).get("commonHeaders", {}).get("messageId") or "")
    if kind == "Bounce":
        bounce = event["bounce"]
        is_hard = bounce["bounceType"] == "Permanent"
        for each in bounce["bouncedRecipients"]:
            reason = str(each.get("diagnosticCode") or staff_marked("reported by Amazon SES"))
            yield Report(BOUNCED, text_in(each, "emailAddress"), is_hard, message_id, reason)
    elif kind == "Complaint":
        for each in event["complaint"]["complainedRecipients"]:
            email = text_in(each, "emailAddress")
            yield Report(
                COMPLAINED, email, True, message_id, staff_marked("reported by Amazon SES")
            )
