"""A form is read with limits, and only from a page of the same site."""

from __future__ import annotations

from typing import Any

import pytest

from masthead.base.config.keyring import KeyRing
from masthead.base.errors import BadRequest, Forbidden, TooLarge
from masthead.web.forms import MAX_BYTES, MAX_FIELDS, FormTokens, check_same_origin, read_form
from masthead.web.request import Request

FORM = "application/x-www-form-urlencoded"


async def no_body() -> Any:
    raise AssertionError("nobody reads it")


def scope_of(*, is_https: bool = False, **headers: str) -> dict[str, Any]:
    given = {"host": "demo.example.com"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    sent = {
        "type": "http",
        "method": "POST",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    Request(sent, no_body, address="192.0.2.1", is_https=is_https)
    return sent


async def read(body: bytes, content_type: str = FORM) -> dict[str, str]:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    return await read_form(scope_of(content_type=content_type), receive)


async def test_the_last_value_of_each_name_counts_and_blank_ones_are_there() -> None:
    assert await read(b"a=1&a=2&b=&c=%C3%A9+%26") == {"a": "2", "b": "", "c": "é &"}


async def test_lines_end_in_a_line_feed() -> None:
    assert await read(b"text=one%0D%0Atwo") == {"text": "one\ntwo"}


async def test_a_form_has_limits() -> None:
    with pytest.raises(TooLarge):
        await read(b"a=" + b"x" * MAX_BYTES)
    with pytest.raises(BadRequest):
        await read(b"&".join(b"a%d=1" % number for number in range(MAX_FIELDS + 1)))


async def test_other_bodies_and_nul_are_refused() -> None:
    for content_type in ("multipart/form-data; boundary=x", "application/json", "text/plain", ""):
        with pytest.raises(BadRequest):
            await read(b"a=1", content_type)
    with pytest.raises(BadRequest):
        await read(b"a=%00")
    assert await read(b"a=%ff%fe") == {"a": "\ufffd\ufffd"}
    assert await read(b"a=1", f"{FORM}; charset=UTF-8") == {"a": "1"}


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "same-origin"},
        {"sec_fetch_site": "same-origin", "origin": "null"},
        {"origin": "http://demo.example.com"},
    ],
)
def test_a_form_of_the_same_origin_is_taken(headers: dict[str, str]) -> None:
    check_same_origin(scope_of(**headers))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "none"},
        {"sec_fetch_site": "same-site", "origin": "http://demo.example.com"},
        {"origin": "null"},
        {"origin": "https://demo.example.com"},
        {"origin": "http://demo.example.com:8080"},
        {"origin": "http://other.example.com"},
        {"origin": "http://demo.example.com.evil.example"},
    ],
)
def test_a_form_of_any_other_page_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(Forbidden):
        check_same_origin(scope_of(**headers))


def test_the_origin_has_the_scheme_of_the_request() -> None:
    check_same_origin(scope_of(is_https=True, origin="https://demo.example.com"))
    with pytest.raises(Forbidden):
        check_same_origin(scope_of(is_https=True, origin="http://demo.example.com"))


def test_a_token_is_valid_for_its_own_sign_in_alone() -> None:
    tokens = FormTokens(KeyRing(["k" * 32]))
    token = tokens.of("first")
    tokens.check({"form_token": token}, "first")
    for form in ({"form_token": token}, {"form_token": ""}, {}, {"form_token": "é"}):
        with pytest.raises(Forbidden):
            tokens.check(form, "second")
    with pytest.raises(Forbidden):
        tokens.check({"form_token": tokens.of("")}, "")


def test_a_token_outlives_a_rotation_of_the_root_secret() -> None:
    token = FormTokens(KeyRing(["k" * 32])).of("first")
    FormTokens(KeyRing(["n" * 32, "k" * 32])).check({"form_token": token}, "first")
