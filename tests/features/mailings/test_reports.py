"""Bounces and complaints: each source is checked, and the address is stopped on every site."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.every_row import every_row
from tests.features.mailings.conftest import Press

from masthead.base.config.values import Secret
from masthead.features.mailings.notifications import read_notification
from masthead.features.members.collection import blog_members

EVENTS = "/api/mail/events"
SECRET = "s3cret of the mail server"
SIGNING_KEY = ec.generate_private_key(ec.SECP256R1())
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The order of the curve."""
PUBLIC_KEY = base64.b64encode(
    SIGNING_KEY.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
).decode()
DSN = """From: MAILER-DAEMON@mx.example.com
Content-Type: multipart/report; report-type=delivery-status; boundary="b"
MIME-Version: 1.0

--b
Content-Type: text/plain

Sorry.

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example.com

Final-Recipient: rfc822; reader0@example.com
Action: {action}
Status: {status}
Diagnostic-Code: smtp; 550 {status} unknown user

--b
Content-Type: text/rfc822-headers

Message-ID: {message_id}
Subject: Tides

--b--
"""


@pytest.fixture
def events(press: Press) -> Press:
    parts = press.world.parts
    parts.settings = replace(
        parts.settings,
        mail_events_secret=Secret(SECRET),
        mail_events_mailgun_key=Secret("mailgun key"),
        mail_events_sendgrid_key=Secret(PUBLIC_KEY),
    )
    return press


async def report(press: Press, body: Any, source: str = "generic", secret: str = SECRET) -> int:
    api = press.world.client("localhost")
    answer = await api.post(f"{EVENTS}/{source}", params={"secret": secret}, json=body)
    return answer.status_code


async def state_of(press: Press, member_id: str) -> str:
    (member,) = await press.world.parts.records.find(
        blog_members, {"id": member_id}, tenant_id=press.tenant.id
    )
    state: str = member["mail_state"]
    return state


async def mailed(press: Press) -> tuple[dict[str, Any], str, str]:
    """A mailing that was sent to one reader: itself, the reader's id and the Message-ID."""
    (member,) = await press.readers(1)
    mailing = await press.mail(await press.tenant.published())
    await press.send()
    return mailing, member["id"], str(press.postbox.letters[0]["Message-ID"])


class TestGeneric:
    async def test_a_hard_bounce_is_counted_once_and_stops_the_address(self, events: Press) -> None:
        mailing, member_id, message_id = await mailed(events)
        other = await events.world.new_tenant("other")
        theirs = await other.create("blog_members", {"email": "reader0@example.com"})
        body = {
            "type": "bounce",
            "kind": "hard",
            "email": "Reader0@Example.com",
            "message_id": message_id,
        }
        for _ in range(2):
            assert await report(events, body) == 200
        assert await state_of(events, member_id) == "bounced"
        (same,) = await events.world.parts.records.find(
            blog_members, {"id": theirs["id"]}, tenant_id=other.id
        )
        assert same["mail_state"] == "bounced"
        assert (await events.state(mailing))["bounced"] == 1
        complaint = {"type": "complaint", "email": "reader0@example.com", "message_id": message_id}
        assert await report(events, [complaint, complaint]) == 200
        assert await state_of(events, member_id) == "complained"
        assert (await events.state(mailing))["complained"] == 1
        assert await report(events, body) == 200
        assert await state_of(events, member_id) == "complained"

    async def test_a_soft_bounce_and_an_unknown_address_change_nothing(self, events: Press) -> None:
        (member,) = await events.readers(1)
        soft = {"type": "bounce", "kind": "soft", "email": member["email"]}
        unknown = {"type": "bounce", "email": "nobody@example.com", "message_id": "<x@y>"}
        assert await report(events, [soft, unknown]) == 200
        assert await state_of(events, member["id"]) == "ok"

    async def test_a_wrong_secret_is_refused(self, events: Press) -> None:
        (member,) = await events.readers(1)
        body = {"type": "bounce", "kind": "hard", "email": member["email"]}
        for secret in ("", "wrong", SECRET + "x"):
            assert await report(events, body, secret=secret) == 401
        assert await state_of(events, member["id"]) == "ok"

    @pytest.mark.parametrize(
        "body",
        [
            5,
            None,
            "x",
            {},
            [1],
            {"type": "else", "email": "a@b.example"},
            {"type": "bounce"},
            {"type": "bounce", "email": 5},
            {"type": "bounce", "email": "a@b.example", "kind": "odd"},
            {"type": ["bounce"], "email": "a@b.example"},
            [{"type": "bounce", "kind": "soft", "email": "a@b.example"}] * 1001,
        ],
    )
    async def test_an_unreadable_report_is_refused(self, events: Press, body: Any) -> None:
        assert await report(events, body) == 400

    async def test_other_sources_and_methods(self, events: Press) -> None:
        assert await report(events, {}, source="nobody") == 404
        api = events.world.client("localhost")
        assert (await api.get(f"{EVENTS}/generic")).status_code == 405

    async def test_without_a_setting_it_is_not_there(self, events: Press) -> None:
        parts = events.world.parts
        parts.settings = replace(
            parts.settings,
            mail_events_secret=None,
            mail_events_mailgun_key=None,
            mail_events_sendgrid_key=None,
        )
        for source in ("generic", "postmark", "mailgun", "sendgrid"):
            assert await report(events, {}, source) == 404


class TestProviders:
    async def test_postmark(self, events: Press) -> None:
        (member,) = await events.readers(1)
        body = {"RecordType": "Bounce", "Type": "Transient", "Email": member["email"]}
        assert await report(events, body, "postmark") == 200
        assert await state_of(events, member["id"]) == "ok"
        assert await report(events, body | {"Type": "HardBounce"}, "postmark") == 200
        assert await state_of(events, member["id"]) == "bounced"
        assert await report(events, {"RecordType": "Delivery"}, "postmark") == 200
        assert await report(events, body, "postmark", secret="wrong") == 401

    async def test_a_reason_that_can_not_be_stored_as_it_is(self, events: Press) -> None:
        (member,) = await events.readers(1)
        body = {"RecordType": "Bounce", "Type": "HardBounce", "Email": member["email"]}
        body["Description"] = "550 no\0 such\r\nuser"
        assert await report(events, body, "postmark") == 200
        records, tenant = events.world.parts.records, events.tenant
        [stopped] = await records.find(blog_members, {"id": member["id"]}, tenant_id=tenant.id)
        assert stopped["mail_state_reason"] == "550 no\ufffd such user"

    async def test_mailgun(self, events: Press) -> None:
        mailing, member_id, message_id = await mailed(events)
        timestamp = str(int(events.world.clock.moment.timestamp()))
        signature = hmac.new(b"mailgun key", f"{timestamp}tok".encode(), hashlib.sha256).hexdigest()
        body = {
            "signature": {"timestamp": timestamp, "token": "tok", "signature": signature},
            "event-data": {
                "event": "failed",
                "severity": "permanent",
                "recipient": "reader0@example.com",
                "message": {"headers": {"message-id": message_id.strip("<>")}},
            },
        }
        wrong = body | {"signature": {"timestamp": timestamp, "token": "x", "signature": signature}}
        assert await report(events, wrong, "mailgun") == 401
        assert await report(events, {}, "mailgun") == 401
        for strange in ("1" + "0" * 400, "1" * 5_000, "1e3", "\u0661", ""):
            signed = body["signature"] | {"timestamp": strange}
            assert await report(events, body | {"signature": signed}, "mailgun") == 401
        assert await state_of(events, member_id) == "ok"
        assert await report(events, body, "mailgun") == 200
        assert await state_of(events, member_id) == "bounced"
        assert (await events.state(mailing))["bounced"] == 1
        # A repetition changes nothing, and the token is worth nothing with another address.
        await events.tenant.update("blog_members", member_id, {"mail_state": "ok"})
        assert await report(events, body, "mailgun") == 200
        assert await state_of(events, member_id) == "ok"
        (other,) = await events.readers(1, "other")
        data = body["event-data"] | {"recipient": other["email"]}
        assert await report(events, body | {"event-data": data}, "mailgun") == 401
        assert await state_of(events, other["id"]) == "ok"
        events.world.clock.advance(days=2)
        assert await report(events, body, "mailgun") == 401
        await events.world.parts.mailings.report_tokens.sweep()
        assert (await every_row(events.world.parts.database))["mail_report_tokens"] == []

    async def test_sendgrid(self, events: Press) -> None:
        (member,) = await events.readers(1)
        body = json.dumps([{"event": "spamreport", "email": member["email"]}]).encode()
        timestamp = str(int(events.world.clock.moment.timestamp()))
        signature = SIGNING_KEY.sign(timestamp.encode() + body, ec.ECDSA(SHA256()))

        async def post(content: bytes, signed: str) -> httpx.Response:
            headers = {
                "x-twilio-email-event-webhook-signature": signed,
                "x-twilio-email-event-webhook-timestamp": timestamp,
            }
            api = events.world.client("localhost")
            return await api.post(f"{EVENTS}/sendgrid", content=content, headers=headers)

        good = base64.b64encode(signature).decode()
        assert (await post(body + b" ", good)).status_code == 401
        assert (await post(body, "")).status_code == 401
        assert (await post(body, "?!")).status_code == 401
        assert await state_of(events, member["id"]) == "ok"
        assert (await post(body, good)).status_code == 200
        assert await state_of(events, member["id"]) == "complained"
        await events.tenant.update("blog_members", member["id"], {"mail_state": "ok"})
        r, s = decode_dss_signature(signature)
        twin = encode_dss_signature(r, ORDER - s)
        for each in (signature, twin):
            signed = base64.b64encode(each).decode()
            assert (await post(body, signed)).status_code == 200
        assert await state_of(events, member["id"]) == "ok"

    async def test_a_call_that_a_crash_interrupted_is_taken_when_it_is_repeated(
        self, events: Press
    ) -> None:
        tokens = events.world.parts.mailings.report_tokens
        assert await tokens.begin("mailgun 1", b"body")
        assert await tokens.begin("mailgun 1", b"body")
        await tokens.end("mailgun 1")
        assert not await tokens.begin("mailgun 1", b"body")


class TestNotifications:
    async def test_a_notice_of_a_mail_server(self, events: Press) -> None:
        mailing, member_id, message_id = await mailed(events)
        raw = DSN.format(action="failed", status="5.1.1", message_id=message_id).encode()
        (found,) = read_notification(raw)
        assert (found.email, found.is_hard, found.message_id) == (
            "reader0@example.com",
            True,
            message_id,
        )
        await events.world.parts.mailings.reports.take(found)
        assert await state_of(events, member_id) == "bounced"
        assert (await events.state(mailing))["bounced"] == 1

    @pytest.mark.parametrize(
        ("action", "status"), [("delayed", "4.4.1"), ("failed", "5.2.2"), ("relayed", "2.0.0")]
    )
    def test_other_notices_are_no_hard_bounce(self, action: str, status: str) -> None:
        raw = DSN.format(action=action, status=status, message_id="<x@y>").encode()
        (found,) = read_notification(raw)
        assert not found.is_hard

    @pytest.mark.parametrize("raw", [b"", b"Subject: hello\n\nHow are you?", b"\xff\x00" * 100])
    def test_another_email_is_refused(self, raw: bytes) -> None:
        with pytest.raises(ValueError, match="RFC 3464"):
            read_notification(raw)


async def test_nothing_is_read_before_the_secret(events: Press) -> None:
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        while True:
            taken += 16_384
            yield b"x" * 16_384

    for source, status, most in (
        ("generic", 401, 0),
        ("generic?secret=wrong", 401, 0),
        ("postmark?secret=", 401, 0),
        ("sendgrid", 401, 0),
        ("mailgun", 413, 64 * 1024),
        ("ses", 404, 0),
        ("unknown", 404, 0),
    ):
        taken = 0
        api = events.world.client("localhost")
        answer = await api.post(f"{EVENTS}/{source}", content=endless())
        assert answer.status_code == status, source
        assert taken <= (most + 32_768 if most else 0), source
