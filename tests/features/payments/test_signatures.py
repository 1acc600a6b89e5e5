"""The accepted formats of signatures, and no others; the processor's own library agrees."""

from __future__ import annotations

import time

import pytest
import stripe
from hypothesis import given
from hypothesis import strategies as st
from tests import signature_vectors
from tests.features.payments.processor import SECRET, sign, timed
from tests.signature_vectors import Vector

from masthead.features.payments.signatures import digest, is_authentic

BODY = b'{"id": "evt_1",\n "type": "x"}'
NOW = 1_718_000_000
PLAIN = sign(SECRET, BODY)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("payment-signature", PLAIN),
        ("payment-signature", PLAIN.upper()),
        ("payment-signature", f"sha256={PLAIN}"),
        ("payment-signature", f"v1={PLAIN}"),
        ("payment-signature", timed(SECRET, BODY, NOW)),
        ("stripe-signature", timed(SECRET, BODY, NOW)),
        ("stripe-signature", timed(SECRET, BODY, NOW).replace(",", ", ")),
        ("stripe-signature", timed(SECRET, BODY, NOW) + ",v0=" + "0" * 64),
        ("stripe-signature", timed(SECRET, BODY, NOW).replace("v1=", f"v1={'0' * 64},v1=")),
        ("stripe-signature", timed(SECRET, BODY, NOW - 300)),
        ("stripe-signature", timed(SECRET, BODY, NOW + 300)),
        ("x-service-signature", f"sha256={PLAIN}"),
    ],
)
def test_is_accepted(name: str, value: str) -> None:
    assert is_authentic({name: value}, SECRET, BODY, NOW)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("payment-signature", ""),
        ("payment-signature", f"v0={PLAIN}"),
        ("payment-signature", f"md5={PLAIN}"),
        ("payment-signature", PLAIN[:-1]),
        ("payment-signature", PLAIN + "0"),
        ("payment-signature", sign("another secret", BODY)),
        ("payment-signature", "é" * 64),
        ("stripe-signature", PLAIN),
        ("stripe-signature", f"v1={PLAIN}"),
        ("stripe-signature", f"sha256={PLAIN}"),
        ("stripe-signature", timed(SECRET, BODY, NOW - 301)),
        ("stripe-signature", timed(SECRET, BODY, NOW + 301)),
        ("stripe-signature", timed(SECRET, BODY, NOW).replace("v1", "v0")),
        ("stripe-signature", timed(SECRET, BODY, NOW) + f",t={NOW}"),
        ("stripe-signature", timed(SECRET, BODY, NOW) + ",t=1=2"),
        ("stripe-signature", f"t={NOW},v1={PLAIN}"),
        ("stripe-signature", f"t=,v1={PLAIN}"),
        ("stripe-signature", f"t={'9' * 5000},v1={PLAIN}"),
        ("stripe-signature", f"t=-{NOW},v1={PLAIN}"),
        ("x-service-signature", PLAIN),
        ("x-service-signature", f"v1={PLAIN}"),
        ("x-service-signature", timed(SECRET, BODY, NOW)),
    ],
)
def test_is_refused(name: str, value: str) -> None:
    assert not is_authentic({name: value}, SECRET, BODY, NOW)


def test_a_digest_without_a_time_is_of_the_body_alone() -> None:
    assert digest(SECRET, BODY) == PLAIN


def test_one_good_header_is_enough_and_none_is_not() -> None:
    good, bad = {"payment-signature": PLAIN}, {"stripe-signature": "t=1,v1=0"}
    assert is_authentic(bad | good, SECRET, BODY, NOW)
    assert not is_authentic({}, SECRET, BODY, NOW)


@given(st.text(), st.sampled_from(["payment-signature", "stripe-signature"]))
def test_no_text_makes_the_parser_fail(value: str, name: str) -> None:
    assert not is_authentic({name: value}, SECRET, BODY, NOW)


def test_what_the_processors_library_signs_is_accepted() -> None:
    now = int(time.time())
    signed = stripe.WebhookSignature._compute_signature(f"{now}.{BODY.decode()}", SECRET)
    assert is_authentic({"stripe-signature": f"t={now},v1={signed}"}, SECRET, BODY, now)


def test_the_processors_library_accepts_what_is_signed_here() -> None:
    now = int(time.time())
    header = f"t={now},v1={digest(SECRET, BODY, str(now))}"
    assert stripe.WebhookSignature.verify_header(BODY.decode(), header, SECRET, tolerance=300)
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.WebhookSignature.verify_header(BODY.decode() + " ", header, SECRET, tolerance=300)


@pytest.mark.parametrize("vector", signature_vectors.payment())
def test_vectors(vector: Vector) -> None:
    header = {vector.header.lower(): vector.value}
    now = int(vector.timestamp)
    assert is_authentic(header, vector.secret, vector.body, now) is vector.is_valid
