"""Forged, replayed, expired and foreign answers are refused, and nobody is signed in."""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import urlsafe_b64encode
from typing import Any
from urllib.parse import urlencode

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.faces.admin.visitor import Visitor
from tests.features.single_sign_on.conftest import START_OF, Outside, Site, site_with
from tests.features.single_sign_on.provider import KEYS, Claims, Provider, Sign, public_key, signed

from masthead.features.single_sign_on.discovery import KEYS_AGAIN
from masthead.features.single_sign_on.pending import SEALED
from masthead.features.single_sign_on.sign_ons import LIMITS
from masthead.identity.tenants import superusers


async def assert_refused(site: Site, browser: Visitor, back: str) -> None:
    answer = await browser.get(back)
    assert answer.status_code == 422, answer.text
    assert 'role="alert"' in answer.text
    assert "pb_auth" not in answer.headers.get("set-cookie", "")
    found = await site.world.parts.records.find(superusers, {}, tenant_id=site.tenant.id)
    assert found == []


async def assert_token_refused(site: Site, **claims: Any) -> None:
    browser = site.browser()
    back = site.provider.authorize(await site.depart(browser), **claims)
    await assert_refused(site, browser, back)


def _part(document: dict[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(document).encode()).rstrip(b"=").decode()


def unsigned(_: Provider, claims: Claims) -> str:
    return f"{_part({'alg': 'none', 'kid': 'one'})}.{_part(claims)}."


def by_hmac_with_the_public_key(_: Provider, claims: Claims) -> str:
    public = KEYS["RS256"].public_key()
    key = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    text = f"{_part({'alg': 'HS256', 'typ': 'JWT', 'kid': 'one'})}.{_part(claims)}"
    mac = urlsafe_b64encode(hmac.digest(key, text.encode(), hashlib.sha256)).rstrip(b"=")
    return f"{text}.{mac.decode()}"


def by_hmac_with_the_secret(_: Provider, claims: Claims) -> str:
    return jwt.encode(claims, "s3cret +%" * 8, "HS256", {"kid": "one"})


def by_another_key(_: Provider, claims: Claims) -> str:
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return jwt.encode(claims, other, "RS256", {"kid": "one"})


def changed_afterwards(provider: Provider, claims: Claims) -> str:
    head, _, signature = signed(provider, claims).split(".")
    return f"{head}.{_part({**claims, 'sub': 'eve'})}.{signature}"


def with_its_own_key(_: Provider, claims: Claims) -> str:
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    document = jwt.algorithms.RSAAlgorithm.to_jwk(other.public_key(), as_dict=True)
    return jwt.encode(claims, other, "RS256", {"kid": "one", "jwk": document})


def with_a_critical_header(_: Provider, claims: Claims) -> str:
    return jwt.encode(claims, KEYS["RS256"], "RS256", {"kid": "one", "crit": ["exp"], "exp": 1})


def of_another_algorithm(_: Provider, claims: Claims) -> str:
    return jwt.encode(claims, KEYS["RS256"], "RS512", {"kid": "one"})


def not_a_token(_: Provider, __: Claims) -> str:
    return "a.b.c"


def too_long(provider: Provider, claims: Claims) -> str:
    return signed(provider, {**claims, "more": "x" * 70_000})


@pytest.mark.parametrize(
    "sign",
    [
        unsigned,
        by_hmac_with_the_public_key,
        by_hmac_with_the_secret,
        by_another_key,
        changed_afterwards,
        with_its_own_key,
        with_a_critical_header,
        of_another_algorithm,
        not_a_token,
        too_long,
    ],
    ids=lambda each: each.__name__,
)
async def test_a_forged_token_is_refused(site: Site, sign: Sign) -> None:
    site.provider.sign = sign
    await assert_token_refused(site)


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA"])
async def test_these_algorithms_are_taken(site: Site, algorithm: str) -> None:
    site.provider.keys[:] = [public_key(algorithm), {"kty": "oct", "k": "AAAA", "kid": "one"}]
    site.provider.sign = lambda _, claims: jwt.encode(
        claims, KEYS[algorithm], algorithm, {"kid": "one"}
    )
    assert (await site.sign_in()).status_code == 303


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "another"},
        {"aud": ["another"]},
        {"aud": ["masthead", "another"]},
        {"aud": ["masthead", "another"], "azp": "another"},
        {"azp": "another"},
        {"aud": None},
        {"iss": "https://elsewhere.test"},
        {"iss": None},
        {"nonce": "another"},
        {"nonce": None},
        {"nonce": 5},
        {"sub": None},
        {"sub": ""},
        {"sub": "x" * 256},
        {"sub": "a\nb"},
        {"exp": None},
        {"exp": "soon"},
        {"exp": 1_000_000_000},
        {"iat": None},
        {"iat": 9_000_000_000},
        {"iat": 1_000_000_000},
        {"nbf": 9_000_000_000},
        {"exp": float("nan")},
        {"exp": float("inf")},
        {"iat": 10**400},
    ],
    ids=lambda each: str(each)[:40],
)
async def test_a_token_with_a_wrong_claim_is_refused(site: Site, claims: Claims) -> None:
    await assert_token_refused(site, **claims)


async def test_a_token_for_several_clients_that_names_us_is_taken(site: Site) -> None:
    answer = await site.sign_in(aud=["masthead", "another"], azp="masthead")
    assert answer.status_code == 303


async def test_an_answer_counts_once(site: Site) -> None:
    browser = site.browser()
    back = site.provider.authorize(await site.depart(browser))
    sealed = browser.api.cookies["mh_sign_on"]
    assert (await browser.get(back)).status_code == 303
    again = site.browser()
    again.api.cookies.set("mh_sign_on", sealed, domain=site.tenant.host)
    answer = await again.get(back)
    assert answer.status_code == 422
    assert "pb_auth" not in answer.headers.get("set-cookie", "")
    assert len(site.provider.exchanges) == 1


async def test_a_code_of_another_sign_in_is_refused(site: Site) -> None:
    """The provider binds a code to its challenge; here the nonce tells as well."""
    stolen = site.provider.authorize(await site.depart(site.browser()))
    code = stolen.partition("code=")[2].partition("&")[0]
    browser = site.browser()
    own = site.provider.authorize(await site.depart(browser))
    state = own.partition("state=")[2]
    await assert_refused(site, browser, f"{START_OF}/callback?code={code}&state={state}")


async def test_the_answer_belongs_to_the_browser_that_began(site: Site) -> None:
    back = site.provider.authorize(await site.depart(site.browser()))
    await assert_refused(site, site.browser(), back)
    other = site.browser()
    await site.depart(other)
    await assert_refused(site, other, back)
    assert site.provider.exchanges == []


async def test_a_sign_in_that_took_too_long_is_refused(site: Site) -> None:
    browser = site.browser()
    back = site.provider.authorize(await site.depart(browser))
    site.world.clock.advance(seconds=SEALED.lifetime.total_seconds() + 1)
    await assert_refused(site, browser, back)


async def test_the_answer_belongs_to_the_site_that_began(
    outside: Outside, site: Site, provider: Provider
) -> None:
    other = await site_with(await outside.world.new_tenant("other"), provider)
    browser = site.browser()
    back = provider.authorize(await site.depart(browser))
    there = other.browser()
    there.api.cookies.set("mh_sign_on", browser.api.cookies["mh_sign_on"], domain=other.tenant.host)
    await assert_refused(other, there, back)
    # The provider of one site is none of the other.
    await other.tenant.update("sign_in_providers", other.record["id"], {"enabled": False})
    assert (await other.browser().get(START_OF)).status_code == 404


async def test_the_answer_belongs_to_the_provider_that_was_asked(
    outside: Outside, site: Site
) -> None:
    """The mix-up attack: another provider of the site gets neither code nor token."""
    async with Provider(outside.authority, site.world.clock) as second:
        await site_with(site.tenant, second, slug="second")
        browser = site.browser()
        back = site.provider.authorize(await site.depart(browser))
        await assert_refused(site, browser, back.replace("/news/", "/second/"))
        assert second.exchanges == []


@pytest.mark.parametrize("given", ["", "https://elsewhere.test"])
async def test_the_answer_names_its_issuer(site: Site, given: str) -> None:
    site.provider.answers_issuer = True
    browser = site.browser()
    back = site.provider.authorize(await site.depart(browser))
    without = back.partition("&iss=")[0]
    more = f"&{urlencode({'iss': given})}" if given else ""
    await assert_refused(site, browser, f"{without}{more}")
    assert site.provider.exchanges == []
    assert (await site.sign_in()).status_code == 303


@pytest.mark.parametrize(
    "onward",
    [
        "https://evil.test/admin",
        "//evil.test",
        "/\\evil.test",
        "/admin/../../evil",
        "/admin\\@evil.test",
        "javascript:alert(1)",
        "/admin/sign-out",
    ],
)
async def test_nobody_is_led_elsewhere(site: Site, onward: str) -> None:
    browser = site.browser()
    location = await site.depart(browser, f"?{urlencode({'next': onward})}")
    answer = await browser.get(site.provider.authorize(location))
    assert (answer.status_code, answer.headers["location"]) == (303, "/admin")


async def test_keys_are_read_again_for_a_new_one_but_not_for_each(site: Site) -> None:
    assert (await site.sign_in()).status_code == 303
    assert site.provider.fetched_keys == 1
    site.provider.sign = lambda _, claims: jwt.encode(
        claims, KEYS["RS256"], "RS256", {"kid": "unknown"}
    )
    for _ in range(5):
        assert (await site.sign_in()).status_code == 422
    assert site.provider.fetched_keys == 1
    site.world.clock.advance(seconds=KEYS_AGAIN.total_seconds() + 1)
    for _ in range(5):
        assert (await site.sign_in()).status_code == 422
    assert site.provider.fetched_keys == 2
    site.provider.keys[:] = [public_key(kid="unknown")]
    site.world.clock.advance(seconds=KEYS_AGAIN.total_seconds() + 1)
    assert (await site.sign_in()).status_code == 303


async def test_failures_of_a_network_are_limited(site: Site) -> None:
    browser = site.browser()
    answers = [
        (await browser.get(f"{START_OF}/callback?code=x&state=y")).status_code
        for _ in range(LIMITS.per_pair + 1)
    ]
    assert answers == [422] * LIMITS.per_pair + [429]
    # Not those of others.
    assert (await site.sign_in()).status_code == 303


@pytest.mark.parametrize(
    "query",
    [
        "",
        "code=x",
        "state=%00",
        "state=%F0%9F%92%A9&code=%ED%A0%80",
        "error=access_denied&state=x",
        "code=" + "x" * 6_000 + "&state=x",
        "iss=x&iss=y&state=&code=",
    ],
)
async def test_whatever_comes_back_is_answered(site: Site, query: str) -> None:
    browser = site.browser()
    await site.depart(browser)
    await assert_refused(site, browser, f"{START_OF}/callback?{query}")


async def test_whoever_gives_up_at_the_provider_is_told_so(site: Site) -> None:
    browser = site.browser()
    back = site.provider.authorize(await site.depart(browser))
    state = back.partition("state=")[2]
    query = urlencode({"error": "<b>denied</b>", "error_description": "<script>"})
    answer = await browser.get(f"{START_OF}/callback?{query}&state={state}")
    assert answer.status_code == 422
    assert "did not sign you in" in answer.text
    assert "denied" not in answer.text
    assert site.provider.exchanges == []
