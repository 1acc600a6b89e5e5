"""Codes of apps by the vectors of their standard, and recovery codes."""

from __future__ import annotations

import base64
import math
from datetime import UTC, datetime, timedelta

import pytest

from masthead.identity.one_time_codes import (
    RECOVERY_CODES,
    hash_recovery_code,
    matching_hash,
    matching_step,
    new_recovery_codes,
    new_totp_secret,
)

SECRET = base64.b32encode(b"12345678901234567890").decode()


@pytest.mark.parametrize(
    ("seconds", "code"),
    # RFC 6238, appendix B: SHA-1, the last six digits.
    [
        (59, "287082"),
        (1111111109, "081804"),
        (1111111111, "050471"),
        (1234567890, "005924"),
        (2000000000, "279037"),
    ],
)
def test_codes_are_those_of_the_standard(seconds: int, code: str) -> None:
    moment = datetime.fromtimestamp(seconds, UTC)
    assert matching_step(SECRET, code, moment, after=0) == seconds // 30
    assert matching_step(SECRET, f" {code[:3]} {code[3:]} ", moment, after=0) == seconds // 30


def test_a_clock_may_be_half_a_minute_off_and_no_code_counts_twice() -> None:
    moment = datetime.fromtimestamp(1111111111, UTC)
    step = 1111111111 // 30
    for seconds, found in ((-60, None), (-30, step), (0, step), (30, step), (60, None)):
        now = moment + timedelta(seconds=seconds)
        assert matching_step(SECRET, "050471", now, after=0) == found
    assert matching_step(SECRET, "050471", moment, after=step - 1) == step
    assert matching_step(SECRET, "050471", moment, after=step) is None


@pytest.mark.parametrize("code", ["", "05047", "0504711", "05047a", "٠٥٠٤٧١", "050471" * 50, "\0"])
def test_what_is_no_code_is_none(code: str) -> None:
    assert matching_step(SECRET, code, datetime.fromtimestamp(1111111111, UTC), after=0) is None


def test_secrets_and_recovery_codes_are_new_each_time() -> None:
    assert len({new_totp_secret() for _ in range(20)}) == 20
    codes = new_recovery_codes()
    assert len(set(codes)) == RECOVERY_CODES
    hashes = [hash_recovery_code(each, "account") for each in codes]
    typed = codes[3].upper().replace("-", " ")
    assert matching_hash(typed, "account", hashes) == hashes[3]
    assert matching_hash(codes[3], "another", hashes) == ""
    assert matching_hash(codes[3][:-1], "account", hashes) == ""
    assert matching_hash("", "account", [*hashes, ""]) == ""


def test_a_code_is_too_long_to_be_tried_and_one_of_16_characters_still_counts() -> None:
    assert math.log2(31) * sum(len(each) for each in new_recovery_codes()[0].split("-")) > 112
    earlier = "abcd-efgh-jkmn-pqrs"
    hashes = [hash_recovery_code(earlier, "account")]
    assert matching_hash(earlier, "account", hashes) == hashes[0]
    assert matching_hash(earlier + "-abcd", "account", hashes) == ""
