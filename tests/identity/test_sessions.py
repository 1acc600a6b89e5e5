"""Session tokens die with their token key, their time and their root secret; cookies stay home."""

from __future__ import annotations

import base64
import json
import warnings
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import jwt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jwt.warnings import InsecureKeyLengthWarning

from masthead.base.config.keyring import KeyRing
from masthead.identity import sessions
from masthead.identity.sessions import ADMIN_COOKIE, MEMBER_COOKIE, Claims, TokenType

RING = KeyRing(["a root secret of an install"])
NOW = datetime(2026, 11, 14, 9, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


def issue(**changes: Any) -> str:
    details: dict[str, Any] = {
        "account_id": "abcdefghij12345",
        "collection_id": "pbc_1",
        "token_key": "key-1",
        "lifetime": HOUR,
        "now": lambda: NOW,
        **changes,
    }
    return sessions.issue(RING, **details)


def verify(token: str, token_key: str = "key-1", **changes: Any) -> Claims | None:
    return sessions.verify(RING, token, token_key, **{"now": lambda: NOW, **changes})


def forged(key: bytes = b"k" * 32, algorithm: str = "HS256", **changes: object) -> str:
    claims = {"id": "a", "type": "auth", "collectionId": "c", "exp": 4_000_000_000, **changes}
    present = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(present, key, algorithm=algorithm)


def test_a_token_has_pocketbases_claims() -> None:
    claims = jwt.decode(issue(), options={"verify_signature": False})
    assert claims == {
        "id": "abcdefghij12345",
        "type": "auth",
        "collectionId": "pbc_1",
        "exp": int((NOW + HOUR).timestamp()),
        "refreshable": True,
    }
    file_token = issue(token_type=TokenType.FILE)
    assert "refreshable" not in jwt.decode(file_token, options={"verify_signature": False})


def test_a_valid_token_is_accepted() -> None:
    expected = Claims("abcdefghij12345", TokenType.AUTH, "pbc_1", NOW + HOUR, True)
    assert verify(issue()) == expected
    assert sessions.peek(issue()) == expected


def test_a_new_token_key_invalidates_tokens() -> None:
    assert verify(issue(), "key-2") is None


def test_an_account_without_a_token_key_has_no_sessions() -> None:
    with pytest.raises(ValueError):
        issue(token_key="")
    assert verify(issue(), "") is None


@pytest.mark.parametrize(("later", "is_good"), [(HOUR - timedelta(seconds=1), True), (HOUR, False)])
def test_a_token_ends_at_its_expiry(later: timedelta, is_good: bool) -> None:
    assert (verify(issue(), now=lambda: NOW + later) is not None) is is_good


def test_one_type_of_token_does_not_pass_for_another() -> None:
    file_token = issue(token_type=TokenType.FILE)
    assert verify(file_token) is None
    assert verify(file_token, token_type=TokenType.FILE) is not None
    assert verify(issue(), token_type=TokenType.FILE) is None


def test_rotated_roots_still_verify_until_they_are_dropped() -> None:
    token = issue()
    rotated = KeyRing(["a newer root secret here", "a root secret of an install"])
    dropped = KeyRing(["a newer root secret here"])
    assert sessions.verify(rotated, token, "key-1", now=lambda: NOW) is not None
    assert sessions.verify(dropped, token, "key-1", now=lambda: NOW) is None


def test_a_changed_token_is_refused() -> None:
    header, _, signature = issue().split(".")
    payload = issue(account_id="someone-else").split(".")[1]
    assert verify(f"{header}.{payload}.{signature}") is None


def test_an_unsigned_token_is_refused() -> None:
    unsigned = jwt.encode({"id": "a"}, "", algorithm="none")
    _, payload, _ = issue().split(".")
    assert verify(unsigned.split(".")[0] + "." + payload + ".") is None


def test_the_algorithm_is_pinned() -> None:
    key = sessions._signing_key(RING.derive("sessions"), "key-1")
    assert verify(forged(key, "HS256")) is not None
    with warnings.catch_warnings():
        # PyJWT finds the key short for this algorithm, which is not ours anyway.
        warnings.simplefilter("ignore", InsecureKeyLengthWarning)
        assert verify(forged(key, "HS512")) is None


@pytest.mark.parametrize(
    "token",
    [
        "",
        "x",
        "a.b.c",
        "é.é.é",
        "x" * 5000,
        forged(id=None),
        forged(id=1),
        forged(collectionId=None),
        forged(exp=None),
        forged(exp=10**30),
        forged(type="verification"),
        forged(type=None),
    ],
)
def test_a_foreign_token_has_no_claims(token: str) -> None:
    assert sessions.peek(token) is None
    assert verify(token) is None


def _part(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode("utf-8", "replace")).decode().rstrip("=")


def _nested(depth: int) -> str:
    return '{"id":' + "[" * depth


def _cookie_values() -> st.SearchStrategy[str]:
    """Text of any kind, JSON of any kind, and tokens whose parts say anything."""
    json_values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ).map(json.dumps)
    claims = st.dictionaries(
        st.sampled_from(["id", "type", "collectionId", "exp", "refreshable"]),
        st.text() | st.integers() | st.floats() | st.lists(st.none()),
    ).map(json.dumps)
    said = json_values | claims | st.integers(0, 2_500).map(_nested) | st.text()
    heads = st.just('{"alg":"HS256","typ":"JWT"}') | said
    tokens = st.builds(lambda *parts: ".".join(map(_part, parts)), heads, said, st.text())
    wrapped = (tokens | st.text()).map(lambda text: json.dumps({"token": text}))
    return st.text() | json_values | json_values.map(quote) | tokens | wrapped | wrapped.map(quote)


class TestCookies:
    def test_a_cookie_is_host_only_and_http_only(self) -> None:
        cookies = sessions.set_cookies(ADMIN_COOKIE, "a.b.c", lifetime=HOUR, secure=True)
        cookie = "pb_auth=a.b.c; Max-Age=3600; Path=/; HttpOnly; SameSite=Lax; Secure"
        assert cookies == (cookie, f"__Host-{cookie}")

    def test_plain_http_can_not_be_secure(self) -> None:
        (cookie,) = sessions.set_cookies(MEMBER_COOKIE, "a.b.c", lifetime=HOUR, secure=False)
        assert cookie == "pb_member_auth=a.b.c; Max-Age=3600; Path=/; HttpOnly; SameSite=Lax"

    @pytest.mark.parametrize(
        ("value", "token"),
        [
            ("a.b.c", "a.b.c"),
            ('"a.b.c"', "a.b.c"),
            (quote(json.dumps({"token": "a.b.c", "record": {"id": "1"}})), "a.b.c"),
            (quote(json.dumps({"token": "a.b.c", "model": None})), "a.b.c"),
            (quote(json.dumps({"record": None})), None),
            (quote(json.dumps({"token": 1})), None),
            ("%7Bbroken", None),
            ("", None),
            ("not a token", None),
        ],
    )
    def test_both_cookie_formats_are_read(self, value: str, token: str | None) -> None:
        assert sessions.token_in_cookie(value) == token

    def test_a_cookie_that_was_set_can_be_read(self) -> None:
        cookies = sessions.set_cookies(MEMBER_COOKIE, issue(), lifetime=HOUR, secure=True)
        value = cookies[1].partition(";")[0].partition("=")[2]
        assert sessions.token_in_cookie(value) == issue()

    @given(_cookie_values())
    @example("{" + '"token":{' * 2_000)
    @example('{"token":' + "[" * 100_000)
    @example(quote('{"a":' * 1_500))
    def test_any_value_is_a_token_or_none(self, value: str) -> None:
        found = sessions.token_in_cookie(value)
        if found is not None:
            assert found.count(".") == 2
            assert verify(found) is None
            claims = sessions.peek(found)
            assert claims is None or isinstance(claims, Claims)
