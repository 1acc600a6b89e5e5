"""Who a session's token belongs to: its signature, its account and its sign-in are checked."""

from __future__ import annotations

import hashlib

import msgspec
from msgspec.structs import replace

from masthead.base import ids
from masthead.base.byte_cache import ByteCache
from masthead.base.caller import Caller
from masthead.base.config.keyring import KeyRing
from masthead.base.counters import CACHES
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.versions import TenantVersions
from masthead.identity import sessions
from masthead.identity.account_callers import account_caller
from masthead.identity.factor_fields import has_second_factor
from masthead.identity.sessions import TokenType
from masthead.identity.sign_ins import SignIns
from masthead.identity.tenants import superusers

MAX_SAME_ID = 5
"""Ids are unique within a tenant: a token is checked against so many accounts of its id."""


class _Session(msgspec.Struct, frozen=True):
    """A verified token, valid while the tenant's identity version is the same."""

    caller: Caller
    claims: sessions.Claims
    account_tenant: str
    version: int


class VerifiedSessions:
    def __init__(
        self, records: Records, keyring: KeyRing, versions: TenantVersions, sign_ins: SignIns
    ) -> None:
        self._records = records
        self._keyring = keyring
        self._versions = versions
        self._sign_ins = sign_ins
        self._verified: ByteCache[str, _Session] = ByteCache(CACHES["sessions"])

    async def caller_of(
        self, token: str, token_type: TokenType = TokenType.AUTH, *, lacking: bool = False
    ) -> Caller | None:
        """The caller of a valid token: its account exists and has the same token key. With
        `lacking`, also one who has to add a second factor first.

        Verifying a signature takes longer than the rest of a small request, so a session is cached
        while the tenant's identity version is the same.
        """
        cached = self._verified.read(token)
        if cached is not None:
            versions = await self._versions.of(cached.account_tenant)
            if cached.version == versions.identity and cached.claims.type is token_type:
                now = self._records.clock()
                if cached.claims.expires <= now:
                    return None
                if cached.claims.sign_in:
                    self._sign_ins.seen(cached.account_tenant, cached.claims.sign_in, now)
                return _unless_lacking(cached.caller, lacking=lacking)
            self._verified.remove(token)
        session = await self._session_of(token, token_type)
        if session is None:
            return None
        self._verified.put(token, session, len(token))
        if session.claims.sign_in:
            now = self._records.clock()
            self._sign_ins.seen(session.account_tenant, session.claims.sign_in, now)
        return _unless_lacking(session.caller, lacking=lacking)

    async def _session_of(self, token: str, token_type: TokenType) -> _Session | None:
        claims = sessions.peek(token)
        if claims is None or claims.type is not token_type or not ids.is_id(claims.id):
            return None
        collection = self._records.registry.find(claims.collection_id)
        if collection is None or not collection.is_auth:
            return None
        # Ids are unique within a tenant only, so the token key decides.
        found = await self._records.find(collection, {"id": claims.id}, limit=MAX_SAME_ID)
        for account in found:
            session = await self._verify_session(token, token_type, collection, account)
            if session is not None:
                return session
        return None

    async def _verify_session(
        self, token: str, token_type: TokenType, collection: Collection, account: Record
    ) -> _Session | None:
        tenant_id = account["tenant_id"]
        version = (await self._versions.of(tenant_id)).identity
        # Read again after the version: the first read only found the tenant.
        found = await self._records.find_one(
            collection, {"id": account["id"]}, tenant_id=TenantId(tenant_id)
        )
        if found is None:
            return None
        claims = sessions.verify(
            self._keyring,
            token,
            found["token_key"],
            token_type=token_type,
            now=self._records.clock,
        )
        if not claims:
            return None
        sign_in = claims.sign_in
        if sign_in and not await self._sign_ins.is_open(tenant_id, sign_in, claims.id):
            return None
        caller = account_caller(collection, found)
        # A token without a sign-in is older than the table of them.
        lacks = await self.lacks_factor(collection, found)
        caller = replace(
            caller,
            sign_in=sign_in or _digest(token),
            lacks_factor=lacks,
            is_renewable=claims.refreshable,
        )
        return _Session(caller, claims, tenant_id, version)

    async def lacks_factor(self, collection: Collection, account: Record) -> bool:
        """The settings are part of what a session is cached with: see `TenantVersions`."""
        if collection is not superusers or has_second_factor(account):
            return False
        if not account["tenant_id"]:
            # No site's settings are about operators.
            return False
        settings = self._records.registry["site_settings"]
        tenant_id = TenantId(account["tenant_id"])
        found = await self._records.find_one(settings, {}, tenant_id=tenant_id)
        return bool(found and found["require_second_factor"])


def _unless_lacking(caller: Caller, *, lacking: bool) -> Caller | None:
    return None if caller.lacks_factor and not lacking else caller


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
