"""Amazon SES reports bounces by signed messages of Amazon SNS. Amazon's host is a TLS server of the
tests' own on loopback."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from ipaddress import ip_network
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from tests.features.mailings.conftest import Press
from tests.tls import Authority, Receiver, answer, redirect
from tests.world import START

from masthead.base.config.settings import Settings, SettingsError
from masthead.features.mailings.sns import FETCHES_PER_MINUTE, SnsMessages, amazon_host
from masthead.features.members.collection import blog_members
from masthead.outside.outbound.client import OutboundClient
from masthead.service.app import http_app

EVENTS: Final = "/api/mail/events/ses"
TOPIC: Final = "arn:aws:sns:eu-west-1:123456789012:bounces"
NAME: Final = f"SimpleNotificationService-{'0123456789abcdef' * 2}.pem"
KEY: Final = generate_private_key(65537, 2048)
SIGNED: Final = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": (
        *("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
    ),
}


def certificate(key: RSAPrivateKey, start: datetime = START - timedelta(days=30)) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=60))
        .sign(key, SHA256())
    )
    return made.public_bytes(Encoding.PEM)


def signed(values: dict[str, str], key: RSAPrivateKey = KEY) -> dict[str, str]:
    given = {
        "Type": "Notification",
        "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        "TopicArn": TOPIC,
        "Timestamp": START.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "SignatureVersion": "2",
        # Never asked: only its last part counts.
        "SigningCertURL": f"https://thief.example/{NAME}",
        **values,
    }
    names = [each for each in SIGNED[given["Type"]] if each in given]
    text = "".join(f"{name}\n{given[name]}\n" for name in names)
    signature = key.sign(text.encode(), PKCS1v15(), SHA256())
    return given | {"Signature": base64.b64encode(signature).decode()}


def bounce(email: str, message_id: str = "", kind: str = "Permanent") -> dict[str, str]:
    event = {
        "notificationType": "Bounce",
        "bounce": {
            "bounceType": kind,
            "bouncedRecipients": [{"emailAddress": email, "diagnosticCode": "smtp; 550 5.1.1"}],
        },
        "mail": {"commonHeaders": {"messageId": message_id}},
    }
    return {"Message": json.dumps(event)}


@dataclass
class Amazon:
    press: Press
    host: Receiver

    async def post(self, message: Any) -> int:
        client = self.press.world.client(self.press.tenant.host)
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return (await client.post(EVENTS, content=body)).status_code

    async def mail_state(self, email: str) -> str:
        [member] = await self.press.world.parts.records.find(
            blog_members, {"email": email}, tenant_id=self.press.tenant.id
        )
        return str(member["mail_state"])

    @property
    def paths(self) -> list[str]:
        return [urlsplit(each.path).path for each in self.host.requests]


@pytest.fixture
async def amazon(press: Press, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Amazon]:
    authority = Authority(tmp_path_factory.mktemp("amazon"))
    parts = press.world.parts
    before = parts.mailings, parts.settings, press.world.http
    async with Receiver(authority.certificate(), answer(200, certificate(KEY))) as host:
        outbound = OutboundClient(allow=[ip_network("127.0.0.0/8")], ca_file=authority.ca_file)
        sns = SnsMessages(outbound, press.world.clock, lambda _: f"localhost:{host.port}")
        parts.mailings = msgspec.structs.replace(parts.mailings, sns=sns)
        parts.settings = replace(parts.settings, mail_events_ses_topics=(TOPIC,))
        press.world.http = http_app(parts)
        yield Amazon(press, host)
        await outbound.close()
    parts.mailings, parts.settings, press.world.http = before


async def test_a_hard_bounce_stops_the_address_and_is_counted(amazon: Amazon) -> None:
    press = amazon.press
    await press.readers(2)
    mailing = await press.mail(await press.tenant.published(title="Tides"))
    await press.send()
    message_id = str(press.postbox.letters[0]["message-id"])
    email = press.addresses[0]
    message = signed(bounce(email, message_id))
    assert [await amazon.post(message) for _ in range(3)] == [200] * 3
    assert await amazon.mail_state(email) == "bounced"
    assert (await press.state(mailing))["bounced"] == 1
    # The certificate is asked for once, at Amazon's host.
    assert amazon.paths == [f"/{NAME}"]
    soft = signed(bounce(press.addresses[1], kind="Transient"))
    assert await amazon.post(soft) == 200
    assert await amazon.mail_state(press.addresses[1]) == "ok"


async def test_a_complaint_and_an_event_of_a_configuration_set(amazon: Amazon) -> None:
    await amazon.press.readers(1)
    event = {
        "eventType": "Complaint",
        "complaint": {"complainedRecipients": [{"emailAddress": "reader0@example.com"}]},
    }
    message = signed({"Message": json.dumps(event), "Subject": "Complaint"})
    assert await amazon.post(message) == 200
    assert await amazon.mail_state("reader0@example.com") == "complained"


@pytest.mark.parametrize(
    "changes",
    [
        {"Message": bounce("reader0@example.com")["Message"].replace("550", "551")},
        {"Subject": "added"},
        {"Timestamp": "2026-11-14T09:30:01.000Z"},
        {"Signature": "AAAA"},
        {"Signature": "no base64 \u00e9"},
        {"SignatureVersion": "1"},
        {"Type": "Other"},
        {"MessageId": "other"},
    ],
)
async def test_a_changed_message_is_refused(amazon: Amazon, changes: dict[str, str]) -> None:
    await amazon.press.readers(1)
    message = signed(bounce("reader0@example.com")) | changes
    assert await amazon.post(message) == 401
    assert await amazon.mail_state("reader0@example.com") == "ok"


@pytest.mark.parametrize(
    "message",
    [
        signed(bounce("a@example.com") | {"TopicArn": TOPIC.replace("bounces", "thief")}),
        signed(bounce("a@example.com") | {"SigningCertURL": "https://thief.example/key.pem"}),
        signed(bounce("a@example.com") | {"SigningCertURL": f"https://x/../{NAME}"}),
        signed(bounce("a@example.com") | {"SigningCertURL": "https://[x"}),
        signed(bounce("a@example.com") | {"Timestamp": "2026-11-12T09:30:00.000Z"}),
        signed(bounce("a@example.com") | {"Timestamp": "yesterday"}),
        signed(bounce("a@example.com") | {"Timestamp": "0001-01-01T00:00:00+10:00"}),
        signed(bounce("a@example.com") | {"Timestamp": "9999-12-31T23:59:59-10:00"}),
        b"no json",
        b'{"Type": "\xff"}',
        b"[]",
        b'{"TopicArn": 5}',
        b"[" * 5_000,
    ],
)
async def test_nothing_is_asked_for_a_message_that_can_not_be_genuine(
    amazon: Amazon, message: Any
) -> None:
    assert await amazon.post(message) == 401
    assert amazon.paths == []


async def test_another_key_and_an_expired_certificate_are_refused(amazon: Amazon) -> None:
    other = generate_private_key(65537, 2048)
    assert await amazon.post(signed(bounce("a@example.com"), other)) == 401
    amazon.press.world.clock.advance(days=40)
    at = amazon.press.world.clock().isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert await amazon.post(signed(bounce("a@example.com") | {"Timestamp": at})) == 401


async def test_a_host_that_fails_or_sends_elsewhere_is_tried_again_later(amazon: Amazon) -> None:
    message = signed(bounce("a@example.com"))
    elsewhere = f"https://127.0.0.1:{amazon.host.port}/{NAME}"
    amazon.host.next(answer(500), redirect(elsewhere))
    assert [await amazon.post(message) for _ in range(3)] == [503, 503, 200]


async def test_made_up_names_of_certificates_cause_few_calls(amazon: Amazon) -> None:
    amazon.host.default = answer(404)
    for number in range(FETCHES_PER_MINUTE + 5):
        url = f"https://sns/SimpleNotificationService-{number:032x}.pem"
        message = signed(bounce("a@example.com") | {"SigningCertURL": url})
        assert await amazon.post(message) == 503
    assert len(amazon.paths) == FETCHES_PER_MINUTE


async def test_a_subscription_to_a_configured_topic_is_confirmed(amazon: Amazon) -> None:
    message = signed(
        {
            "Type": "SubscriptionConfirmation",
            "Message": "You have chosen to subscribe",
            "SubscribeURL": "https://thief.example/confirm",
            "Token": "2336412f37fb687f5d51e6e2425c464c",
        }
    )
    assert await amazon.post(message) == 200
    query = parse_qs(urlsplit(amazon.host.requests[-1].path).query)
    assert query == {
        "Action": ["ConfirmSubscription"],
        "TopicArn": [TOPIC],
        "Token": ["2336412f37fb687f5d51e6e2425c464c"],
    }
    assert await amazon.post(message | {"Token": "2336412f37fb687f5d51e6e2425c464d"}) == 401
    assert len(amazon.host.requests) == 2


@pytest.mark.parametrize("text", ["{}", "[]", "null", "x", '{"notificationType": "Bounce"}'])
async def test_a_genuine_message_with_another_content(amazon: Amazon, text: str) -> None:
    expected = 200 if text == "{}" else 400
    assert await amazon.post(signed({"Message": text})) == expected


async def test_without_topics_it_is_not_there(amazon: Amazon) -> None:
    parts = amazon.press.world.parts
    parts.settings = replace(parts.settings, mail_events_ses_topics=())
    assert await amazon.post(signed(bounce("a@example.com"))) == 404


def test_the_host_is_that_of_the_topics_region() -> None:
    assert amazon_host(TOPIC) == "sns.eu-west-1.amazonaws.com"
    china = "arn:aws-cn:sns:cn-north-1:123456789012:bounces"
    assert amazon_host(china) == "sns.cn-north-1.amazonaws.com.cn"
    for wrong in ("bounces", "arn:aws:sns:evil.example/x:123456789012:b", f"{TOPIC},"):
        with pytest.raises(SettingsError):
            Settings.from_environ({"MASTHEAD_MAIL_EVENTS_SES_TOPICS": wrong})
