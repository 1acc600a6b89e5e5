"""A provider's description of itself: its endpoints and its keys, cached for a while.

A token that names an unknown key makes the keys be read again, at most once a minute for each
provider: providers change their keys, and a flood of forged tokens must not become a flood of
requests.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, TypeVar

import msgspec

from masthead.base.clock import Clock
from masthead.features.single_sign_on.documents import Document, fetch_document, text_of
from masthead.features.single_sign_on.errors import ProviderFailed
from masthead.outside.outbound.client import OutboundClient
from masthead.outside.outbound.errors import OutboundError
from masthead.outside.outbound.targets import WEBHOOKS, parse_url

FRESH = timedelta(hours=1)
AFTER_FAILURE = timedelta(seconds=15)
"""For so long a provider that failed is not asked again."""
KEYS_AGAIN = timedelta(minutes=1)
MAX_CACHED = 500
MAX_KEYS = 100
WELL_KNOWN = "/.well-known/openid-configuration"

T = TypeVar("T")


class Metadata(msgspec.Struct, frozen=True):
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str
    sends_issuer: bool
    """The answer to a sign-in names the issuer (RFC 9207)."""
    takes_basic: bool
    """The client's secret may be sent in the Authorization header."""


class _Cached(msgspec.Struct, frozen=True):
    at: float
    value: Any
    error: str = ""


class Discovery:
    def __init__(self, client: OutboundClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._cached: dict[tuple[str, str, str], _Cached] = {}

    async def metadata(self, tenant_id: str, issuer: str) -> Metadata:
        """Raises ProviderFailed."""
        return await self._get(
            ("metadata", tenant_id, issuer), lambda: self.fetch_metadata(tenant_id, issuer)
        )

    async def keys(self, tenant_id: str, metadata: Metadata, wanted: str = "") -> list[Document]:
        """The keys; read again if none of them has the wanted id. Raises ProviderFailed."""
        key = ("keys", tenant_id, metadata.jwks_uri)
        found = await self._get(key, lambda: self.fetch_keys(tenant_id, metadata))
        is_known = not wanted or any(each.get("kid") == wanted for each in found)
        if is_known or self._age(key) < KEYS_AGAIN.total_seconds():
            return found
        self._cached.pop(key, None)
        return await self._get(key, lambda: self.fetch_keys(tenant_id, metadata))

    async def fetch_metadata(self, tenant_id: str, issuer: str) -> Metadata:
        """As it is now."""
        url = issuer.rstrip("/") + WELL_KNOWN
        document = await fetch_document(self._client, url, share=tenant_id)
        if text_of(document, "issuer") != issuer:
            named = text_of(document, "issuer")[:200]
            raise ProviderFailed(f"{url} names another issuer: {named!r}")
        endpoints = {
            name: _endpoint(document, name)
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")
        }
        has_userinfo = bool(text_of(document, "userinfo_endpoint"))
        methods = document.get("token_endpoint_auth_methods_supported")
        return Metadata(
            issuer=issuer,
            **endpoints,
            userinfo_endpoint=_endpoint(document, "userinfo_endpoint") if has_userinfo else "",
            sends_issuer=document.get("authorization_response_iss_parameter_supported") is True,
            takes_basic=not isinstance(methods, list) or "client_secret_basic" in methods,
        )

    async def fetch_keys(self, tenant_id: str, metadata: Metadata) -> list[Document]:
        document = await fetch_document(self._client, metadata.jwks_uri, share=tenant_id)
        keys = document.get("keys")
        if not isinstance(keys, list) or not keys or len(keys) > MAX_KEYS:
            raise ProviderFailed(f"{metadata.jwks_uri}: between 1 and {MAX_KEYS} keys expected.")
        return [each for each in keys if isinstance(each, dict)]

    async def _get(
        self, key: tuple[str, str, str], fetch: Callable[[], Coroutine[Any, Any, T]]
    ) -> T:
        cached = self._cached.get(key)
        if cached is not None:
            lasts = AFTER_FAILURE if cached.error else FRESH
            if self._age(key) < lasts.total_seconds():
                if cached.error:
                    raise ProviderFailed(f"{cached.error} (not asked again yet)")
                found: T = cached.value
                return found
        if len(self._cached) >= MAX_CACHED:
            self._cached.clear()
        try:
            value = await fetch()
        except ProviderFailed as error:
            self._cached[key] = _Cached(self._now(), None, error.why)
            raise
        self._cached[key] = _Cached(self._now(), value)
        return value

    def _age(self, key: tuple[str, str, str]) -> float:
        cached = self._cached.get(key)
        return self._now() - cached.at if cached else float("inf")

    def _now(self) -> float:
        return self._clock().timestamp()


def _endpoint(document: Document, name: str) -> str:
    url = text_of(document, name)
    try:
        parse_url(url, WEBHOOKS)
    except OutboundError as error:
        raise ProviderFailed(f"{name} {url[:200]!r}: {error.message}") from error
    return url
