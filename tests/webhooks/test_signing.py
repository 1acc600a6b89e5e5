"""Signatures are those of the published vectors and the libraries."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from masthead.webhooks.signing import (
    new_secret,
    sign,
    sign_attempt,
    sign_standard,
    signed_headers,
    verify,
)

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "webhooks"
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


def corpus(name: str) -> Any:
    path = CORPUS / name
    return json.loads(path.read_text()) if path.exists() else None


def outbound_vectors() -> list[Any]:
    content = corpus("signature-vectors.json") or {"vectors": []}
    vectors = [each for each in content["vectors"] if each["scheme"] == "outbound-v1"]
    return [pytest.param(each, id=each["name"]) for each in vectors]


def is_verified(vector: dict[str, Any]) -> bool:
    return verify(
        vector["secret"],
        vector["header_value"],
        vector["timestamp"],
        base64.b64decode(vector["body_base64"]),
        datetime.fromtimestamp(int(vector["timestamp"]), UTC),
    )


@pytest.mark.skipif(not CORPUS.exists(), reason="the vectors are not here")
class TestPublishedVectors:
    @pytest.mark.parametrize("vector", outbound_vectors())
    def test_a_vector_verifies_as_expected(self, vector: dict[str, Any]) -> None:
        # Upper-case hex is left to us: refused.
        assert is_verified(vector) is (vector["valid"] is True)

    @pytest.mark.parametrize("vector", outbound_vectors())
    def test_a_valid_vector_is_what_we_send(self, vector: dict[str, Any]) -> None:
        body = base64.b64decode(vector["body_base64"])
        sent = sign(vector["secret"], vector["timestamp"], body)
        assert (sent == vector["header_value"]) is (vector["valid"] is True)

    def test_the_vector_of_standard_webhooks(self) -> None:
        vector = corpus("public-vectors.json")["standard_webhooks"]
        sent = sign_standard(
            vector["secret"], vector["id"], vector["timestamp"], vector["body"].encode()
        )
        assert sent == vector["expected"]


@pytest.mark.parametrize(("body", "digest"), SERVICE_VECTORS)
def test_our_scheme(body: bytes, digest: str) -> None:
    assert sign(SECRET, 1718000000, body) == f"v1={digest}"


@pytest.mark.parametrize(("body", "digest"), STANDARD_VECTORS)
def test_the_standard_scheme(body: bytes, digest: str) -> None:
    assert sign_standard(SECRET, "delivery00001ab", 1718000000, body) == f"v1,{digest}"


def headers(secret: str, *, sent_at: datetime = SENT_AT, body: bytes = BODY) -> dict[str, str]:
    signed = sign_attempt(secret, "delivery00001ab", int(sent_at.timestamp()), body)
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
    assert verify(SECRET, signature, timestamp, BODY, now) is is_accepted


@pytest.mark.parametrize("timestamp", ["", "soon", "1e9", "1718000000x", "²"])
def test_a_timestamp_that_is_no_number_is_refused(timestamp: str) -> None:
    assert not verify(SECRET, sign(SECRET, timestamp, BODY), timestamp, BODY, SENT_AT)
