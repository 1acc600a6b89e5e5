"""Signatures are those of the vectors and the libraries."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
from tests import signature_vectors
from tests.signature_vectors import Vector

from masthead.features.webhooks.signing import (
    new_secret,
    sign,
    sign_attempt,
    sign_standard,
    signed_headers,
    verify,
)

SECRET = "5f2b1d9c8e7a60413f2e1d0c9b8a79685f2b1d9c8e7a60413f2e1d0c9b8a7968"
BODY = '{"event":"post.published","timestamp":1718000000,"payload":{"title":"Größe 😀"}}'.encode()
SENT_AT = datetime(2026, 11, 14, 9, 30, tzinfo=UTC)

# Made with `printf 'v1:1718000000:…' | openssl dgst -sha256 -hmac SECRET`.
SERVICE_VECTORS = [
    (b"", "f62dad5117f17992e5d7f18997d14331d3ee3f39a54345748ebf47e09e890050"),
    (BODY, "1274854c313f22c1917f5ab55060fc41b6ecc546ad79b5538464e50286ebd55e"),
]
# The same with `-macopt hexkey:` of the decoded secret over `delivery00001ab.1718000000.…`.
STANDARD_VECTORS = [
    (b"", "Lb/VCXw1VzQAoUe1O6WcPD5CXTqhu3M5pEHRoI2Bttg="),
    (BODY, "Ar4xarSe92U8p1JeggxV8ZVQed1vGJp0paBq3Z5d6Ok="),
]


@pytest.mark.parametrize("vector", signature_vectors.outbound())
class TestVectors:
    def test_it_verifies_as_expected(self, vector: Vector) -> None:
        now = datetime.fromtimestamp(int(vector.timestamp), UTC)
        verified = verify(vector.secret, vector.value, vector.timestamp, vector.body, now=now)
        assert verified is vector.is_valid

    def test_a_valid_one_is_what_we_send(self, vector: Vector) -> None:
        sent = sign(vector.secret, vector.timestamp, vector.body)
        assert (sent == vector.value) is vector.is_valid


def test_the_standard_scheme_with_a_secret_of_its_own_form() -> None:
    secret = "whsec_dGlkZXMtY29tZS1hbmQtdGlkZXMtZ28h"
    sent = sign_standard(secret, "msg_tide_1", 1731500000, b'{"event":"test.ping"}')
    assert sent == "v1,5L/Uubzx3beY8cSRc1Ar9cUsw9SfQfDqAGg25U2i8Y8="


def test_the_published_vector_of_standard_webhooks() -> None:
    # From its libraries' tests.
    sent = sign_standard(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "1614265330",
        b'{"test": 2432232314}',
    )
    assert sent == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize(("body", "digest"), SERVICE_VECTORS)
def test_our_scheme(body: bytes, digest: str) -> None:
    assert sign(SECRET, 1718000000, body) == f"v1={digest}"


@pytest.mark.parametrize(("body", "digest"), STANDARD_VECTORS)
def test_the_standard_scheme(body: bytes, digest: str) -> None:
    assert sign_standard(SECRET, "delivery00001ab", 1718000000, body) == f"v1,{digest}"


def headers(secret: str, *, sent_at: datetime = SENT_AT, body: bytes = BODY) -> dict[str, str]:
    signed = sign_attempt([secret], "delivery00001ab", int(sent_at.timestamp()), body)
    return signed_headers(signed, event="post.published", delivery_id="delivery00001ab")


def test_every_header_of_a_delivery() -> None:
    sent = headers(SECRET)
    assert sent == {
        "Content-Type": "application/json",
        "X-Service-Event": "post.published",
        "X-Service-Delivery": "delivery00001ab",
        "X-Service-Timestamp": "1794648600",
        "X-Service-Signature": sign(SECRET, 1794648600, BODY),
        "webhook-id": "delivery00001ab",
        "webhook-timestamp": "1794648600",
        "webhook-signature": sign_standard(SECRET, "delivery00001ab", 1794648600, BODY),
    }


def test_during_a_rotation_each_secret_signs_and_the_newer_one_is_first() -> None:
    older = SECRET[::-1]
    signed = sign_attempt([SECRET, older], "delivery00001ab", 1794648600, BODY)
    assert signed.timestamp == 1794648600
    assert signed.signature.split(",") == [
        sign(SECRET, 1794648600, BODY),
        sign(older, 1794648600, BODY),
    ]
    assert signed.standard_signature.split(" ") == [
        sign_standard(SECRET, "delivery00001ab", 1794648600, BODY),
        sign_standard(older, "delivery00001ab", 1794648600, BODY),
    ]
    # A receiver that has one of the two secrets.
    for secret, is_valid in [(SECRET, True), (older, True), (SECRET[1:] + "0", False)]:
        verified = verify(secret, signed.signature, "1794648600", BODY, now=SENT_AT)
        assert verified is is_valid


def test_the_unmodified_library_verifies_with_the_secret_as_it_was_shown() -> None:
    for _ in range(50):
        secret = new_secret()
        sent = headers(secret, sent_at=datetime.now(UTC))
        assert Webhook(secret).verify(BODY, sent) == json.loads(BODY)


def test_the_library_refuses_another_body_secret_or_time() -> None:
    secret = new_secret()
    sent = headers(secret, sent_at=datetime.now(UTC))
    late = headers(secret, sent_at=datetime.now(UTC) - timedelta(minutes=6))
    for key, body, given in [
        (secret, BODY + b" ", sent),
        (new_secret(), BODY, sent),
        (secret, BODY, late),
        (secret, BODY, sent | {"webhook-id": "another"}),
    ]:
        with pytest.raises(WebhookVerificationError):
            Webhook(key).verify(body, given)


def test_a_secret_is_64_hex_characters_and_never_the_same() -> None:
    made = {new_secret() for _ in range(100)}
    assert len(made) == 100
    assert all(len(secret) == 64 and int(secret, 16) >= 0 for secret in made)


@pytest.mark.parametrize(
    ("late_seconds", "is_accepted"),
    [(0, True), (300, True), (301, False), (-300, True), (-301, False)],
)
def test_a_signature_ends_after_five_minutes(late_seconds: int, is_accepted: bool) -> None:
    sent = headers(SECRET)
    now = SENT_AT + timedelta(seconds=late_seconds)
    signature, timestamp = sent["X-Service-Signature"], sent["X-Service-Timestamp"]
    assert verify(SECRET, signature, timestamp, BODY, now=now) is is_accepted


@pytest.mark.parametrize("timestamp", ["", "soon", "1e9", "1718000000x", "²"])
def test_a_timestamp_that_is_no_number_is_refused(timestamp: str) -> None:
    assert not verify(SECRET, sign(SECRET, timestamp, BODY), timestamp, BODY, now=SENT_AT)
