"""A provider that is down, lies about itself or answers nonsense: a page says what to do next."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.features.single_sign_on.conftest import START_OF, Site
from tests.tls import Behaviour, answer, cut, cut_mid_answer, flood, not_http, redirect

from masthead.features.single_sign_on.discovery import AFTER_FAILURE, FRESH
from masthead.features.single_sign_on.documents import MAX_BYTES

WELL_KNOWN = "/.well-known/openid-configuration"
NONSENSE: dict[str, Behaviour] = {
    "not json": answer(200, b"<html>"),
    "no object": answer(200, b"[1]"),
    "not utf-8": answer(200, b'{"issuer": "\xff"}'),
    "deep": answer(200, b'{"a":' + b"[" * 60_000),
    "empty": answer(200, b""),
    "an error": answer(500, b"{}"),
    "elsewhere": redirect("https://127.0.0.1:1/"),
    "cut": cut,
    "half": cut_mid_answer,
    "no http": not_http,
    "huge": flood(MAX_BYTES * 4),
}


@pytest.mark.parametrize("what", NONSENSE)
@pytest.mark.parametrize("path", [WELL_KNOWN, "/token", "/jwks"])
async def test_nonsense_is_answered_with_a_page(site: Site, path: str, what: str) -> None:
    site.provider.receiver.at(path, NONSENSE[what])
    browser = site.browser()
    began = await browser.get(START_OF)
    if path != WELL_KNOWN:
        began = await browser.get(site.provider.authorize(began.headers["location"]))
    assert began.status_code == 422
    assert "gave no usable answer" in began.text
    assert "pb_auth" not in began.headers.get("set-cookie", "")


async def test_a_provider_that_is_down_is_told_so(site: Site) -> None:
    await site.provider.receiver.refuse()
    answer = await site.browser().get(START_OF)
    assert answer.status_code == 422
    assert "gave no usable answer" in answer.text
    # Asked again only after a while.
    await site.provider.receiver.listen()
    assert (await site.browser().get(START_OF)).status_code == 422
    site.world.clock.advance(seconds=AFTER_FAILURE.total_seconds() + 1)
    assert (await site.sign_in()).status_code == 303


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://elsewhere.test"},
        {"issuer": None},
        {"issuer": 5},
        {"authorization_endpoint": None},
        {"authorization_endpoint": "http://127.0.0.1/authorize"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"token_endpoint": "file:///etc/passwd"},
        {"jwks_uri": ["x"]},
        {"userinfo_endpoint": "ftp://x"},
    ],
    ids=str,
)
async def test_a_description_that_is_wrong_is_refused(site: Site, metadata: Any) -> None:
    site.provider.metadata.update(metadata)
    answer = await site.browser().get(START_OF)
    assert answer.status_code == 422
    assert "location" not in answer.headers


@pytest.mark.parametrize(
    "endpoint", ["https://10.0.0.1/token", "https://169.254.169.254/latest/meta-data"]
)
async def test_no_private_address_is_called(site: Site, endpoint: str) -> None:
    site.provider.metadata["token_endpoint"] = endpoint
    answer = await site.sign_in()
    assert answer.status_code == 422


@pytest.mark.parametrize(
    "keys", [[], ["x"], [{}], [{"kty": "RSA", "n": "A" * 2_000, "e": "AQAB", "kid": "one"}]]
)
async def test_keys_that_are_none(site: Site, keys: list[Any]) -> None:
    site.provider.keys[:] = keys
    assert (await site.sign_in()).status_code == 422


async def test_a_description_is_read_once_an_hour(site: Site) -> None:
    for _ in range(3):
        assert (await site.sign_in()).status_code == 303
    paths = [each.path for each in site.provider.receiver.requests]
    assert (paths.count(WELL_KNOWN), paths.count("/jwks")) == (1, 1)
    site.world.clock.advance(seconds=FRESH.total_seconds() + 1)
    assert (await site.sign_in()).status_code == 303
    paths = [each.path for each in site.provider.receiver.requests]
    assert (paths.count(WELL_KNOWN), paths.count("/jwks")) == (2, 2)


async def test_the_secret_goes_into_the_form_where_the_provider_wants_it(site: Site) -> None:
    site.provider.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    assert (await site.sign_in()).status_code == 303
    assert site.provider.exchanges[0]["client_secret"] == "s3cret +%"
    assert "authorization" not in site.provider.headers[0]


async def test_an_answer_without_a_token_is_none(site: Site) -> None:
    body = json.dumps({"access_token": "at"}).encode()
    site.provider.receiver.at("/token", answer(200, body))
    assert (await site.sign_in()).status_code == 422
