"""The way to a provider and back: the authorization code flow of OpenID Connect with PKCE."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus, urlencode

import msgspec

from masthead.base.config.keyring import DecryptionError
from masthead.base.errors import NotFound
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.base.logs import log
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.features.single_sign_on import id_token
from masthead.features.single_sign_on.collection import serves, sign_in_providers
from masthead.features.single_sign_on.discovery import Discovery, Metadata
from masthead.features.single_sign_on.documents import fetch_document, post_form, text_of
from masthead.features.single_sign_on.errors import (
    ProviderFailed,
    SignOnFailed,
    StaleSignOn,
    TokenRefused,
)
from masthead.features.single_sign_on.pending import Pending, PendingSignOns
from masthead.features.single_sign_on.person import Person, claim_values
from masthead.identity.limits.sign_in_throttle import WAIT, Attempt, Limits, LoginThrottle
from masthead.outside.outbound.client import OutboundClient

SCOPES = "openid email profile"
MAX_PROVIDERS = 20
MAX_CODE = 4_000
REFUSED = words("The sign-in provider did not sign you in. Try it again, or sign in another way.")
LIMITS = Limits(per_pair=20, per_account=100_000, sentence=WAIT)
"""Limits on failures. All people of a provider share its id, so only the failures of a network
count."""


class Departure(msgspec.Struct, frozen=True):
    url: str
    cookie: str


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """The values that the browser brings back."""

    cookie: str
    query: Mapping[str, str]
    redirect_uri: str
    address: str


class SignOns(msgspec.Struct, frozen=True):
    records: Records
    client: OutboundClient
    discovery: Discovery
    pending: PendingSignOns
    throttle: LoginThrottle

    async def providers(self, tenant_id: TenantId, audience: str) -> list[Record]:
        """Those that the audience can sign in with, the oldest first."""
        found = await self.records.find(
            sign_in_providers, {"enabled": True}, tenant_id=tenant_id, limit=MAX_PROVIDERS
        )
        serving = [each for each in found if serves(each, audience)]
        return sorted(serving, key=lambda each: (each["created"], each["id"]))

    async def provider(self, tenant_id: TenantId | None, slug: str, audience: str) -> Record:
        if tenant_id is None:
            raise NotFound
        found = await self.records.find_one(sign_in_providers, {"slug": slug}, tenant_id=tenant_id)
        if not found or not serves(found, audience):
            raise NotFound
        return found

    async def depart(self, provider: Record, pending: Pending, redirect_uri: str) -> Departure:
        """Raises ProviderFailed."""
        tenant_id = provider["tenant_id"]
        try:
            metadata = await self.discovery.metadata(tenant_id, provider["issuer"])
        except SignOnFailed as error:
            _log(provider, error)
            raise
        asked = {
            "response_type": "code",
            "client_id": provider["client_id"],
            "redirect_uri": redirect_uri,
            "scope": " ".join((SCOPES, *provider["extra_scopes"].split())),
            "state": pending.state,
            "nonce": pending.nonce,
            "code_challenge": pending.challenge,
            "code_challenge_method": "S256",
        }
        endpoint = metadata.authorization_endpoint.partition("#")[0]
        url = f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"
        return Departure(url, self.pending.seal(tenant_id, pending))

    async def arrive(
        self, provider: Record, audience: str, arrival: Arrival
    ) -> tuple[Person, Pending]:
        """Raises SignOnFailed, or RateLimited after too many failures of a network."""
        attempt = Attempt("single sign-on", provider["id"], arrival.address)
        await self.throttle.admit(attempt, LIMITS)
        try:
            person, pending = await self._arrive(provider, audience, arrival)
        except SignOnFailed as error:
            _log(provider, error)
            raise
        await self.throttle.note_success(attempt)
        return person, pending

    async def _arrive(
        self, provider: Record, audience: str, arrival: Arrival
    ) -> tuple[Person, Pending]:
        query, tenant_id = arrival.query, provider["tenant_id"]
        pending = await self.pending.take(
            tenant_id,
            audience,
            provider["id"],
            cookie=arrival.cookie,
            state=query.get("state", ""),
        )
        metadata = await self.discovery.metadata(tenant_id, provider["issuer"])
        _check_issuer(query, metadata)
        if query.get("error"):
            raise SignOnFailed(f"The provider says {query['error'][:100]!r}.", REFUSED)
        code = query.get("code", "")
        if not code or len(code) > MAX_CODE:
            raise StaleSignOn("There is no code.")
        tokens = await self._exchange(
            provider, metadata, pending, code=code, redirect_uri=arrival.redirect_uri
        )
        claims = await self._verify(provider, metadata, pending, text_of(tokens, "id_token"))
        claims = await self._with_userinfo(provider, metadata, claims, tokens)
        return Person(provider, claims["sub"], claims), pending

    async def _exchange(
        self,
        provider: Record,
        metadata: Metadata,
        pending: Pending,
        *,
        code: str,
        redirect_uri: str,
    ) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": pending.verifier,
        }
        headers, more = self._credentials(provider, metadata)
        return await post_form(
            self.client,
            metadata.token_endpoint,
            form | more,
            headers,
            share=provider["tenant_id"],
        )

    def _credentials(
        self, provider: Record, metadata: Metadata
    ) -> tuple[dict[str, str], dict[str, str]]:
        """The headers and the fields that say which client this is (RFC 6749, 2.3.1)."""
        client_id = provider["client_id"]
        try:
            secret = self.records.reveal(sign_in_providers, provider, "client_secret")
        except DecryptionError as error:
            raise ProviderFailed("The client secret can't be decrypted.") from error
        if not secret:
            return {}, {"client_id": client_id}
        if not metadata.takes_basic:
            return {}, {"client_id": client_id, "client_secret": secret}
        pair = f"{quote_plus(client_id)}:{quote_plus(secret)}"
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}, {}

    async def _verify(
        self, provider: Record, metadata: Metadata, pending: Pending, token: str
    ) -> dict[str, Any]:
        if not token:
            raise ProviderFailed("The provider gave no ID token.")
        wanted = id_token.key_id(token)
        keys = await self.discovery.keys(provider["tenant_id"], metadata, wanted)
        expected = id_token.Expected(
            issuer=provider["issuer"],
            client_id=provider["client_id"],
            nonce=pending.nonce,
            now=self.records.clock(),
        )
        return id_token.verify(token, keys, expected)

    async def _with_userinfo(
        self,
        provider: Record,
        metadata: Metadata,
        claims: dict[str, Any],
        tokens: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Some providers tell the address or the roles only there."""
        role_claim = provider["role_claim"]
        lacks_role = bool(role_claim) and not claim_values(claims, role_claim)
        access_token = tokens.get("access_token")
        if "email" in claims and not lacks_role:
            return claims
        if not metadata.userinfo_endpoint or not isinstance(access_token, str):
            return claims
        if not access_token.isascii() or not access_token.isprintable():
            raise ProviderFailed("The access token has other characters than ASCII.")
        more = await fetch_document(
            self.client,
            metadata.userinfo_endpoint,
            {"Authorization": f"Bearer {access_token}"},
            share=provider["tenant_id"],
        )
        if more.get("sub") != claims["sub"]:
            raise TokenRefused("The user info is about somebody else.")
        # What is signed counts; an address and whether it is verified belong together.
        without_address = more if "email" in claims else claims
        for name in ("email_verified", "xms_edov"):
            without_address.pop(name, None)
        return {**more, **claims}


def _check_issuer(query: Mapping[str, str], metadata: Metadata) -> None:
    """RFC 9207: the answer may not be that of another provider."""
    given = query.get("iss")
    if given is None and metadata.sends_issuer:
        raise TokenRefused("The answer names no issuer.")
    if given is not None and given != metadata.issuer:
        raise TokenRefused("The answer names another issuer.")


def _log(provider: Record, error: SignOnFailed) -> None:
    log.warning(
        "single_sign_on.failed",
        tenant_id=provider["tenant_id"],
        provider=provider["slug"],
        why=error.why,
    )
