"""Signing in: passwords, session tokens and password reset tokens of accounts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from masthead import ids
from masthead.audit.collection import IMPERSONATED, OPENED, SIGNED_IN
from masthead.audit.entries import log_action
from masthead.caller import Caller, Kind, in_tenant
from masthead.config.keyring import KeyRing
from masthead.email_address import normal_email
from masthead.errors import BadRequest, Invalid, Problem, Unauthenticated
from masthead.identity import passwords, sessions
from masthead.identity.factor_fields import has_second_factor
from masthead.identity.known_browsers import KnownBrowsers, tell_later
from masthead.identity.sessions import TokenType
from masthead.identity.sign_ins import Client, SignIns
from masthead.identity.tenants import Role, superusers
from masthead.ids import TenantId
from masthead.limits.sign_in_throttle import Attempt, LoginThrottle
from masthead.records.accounts import credentials, new_token_key
from masthead.records.collection import Collection, Record
from masthead.records.engine import Records
from masthead.records.fields.base import REQUIRED
from masthead.records.versions import TenantVersions

ADMIN_SESSION = timedelta(days=1)
MEMBER_SESSION = timedelta(days=14)
FILE_TOKEN = timedelta(minutes=2)
RESET_LINK = timedelta(minutes=15)
SECOND_STEP = timedelta(minutes=5)
MAX_SAME_ID = 5
"""Ids are unique within a tenant: a token is checked against so many accounts of its id."""
MAX_VERIFIED = 10_000

FAILED = "Failed to authenticate. Check the email address and the password."
FAILED_ON_BARE_HOST = (
    f"{FAILED} If you have accounts at several sites, sign in at the site's own address."
)


class SecondStepNeeded(Unauthenticated):
    """The password was right, and the account has a second factor: see `second_step`."""

    message = "The password is right. This account also needs its second factor."

    def __init__(self, ticket: str) -> None:
        super().__init__()
        self.ticket = ticket


@dataclass(frozen=True, slots=True)
class SignedIn:
    token: str
    caller: Caller


@dataclass(frozen=True, slots=True)
class _Session:
    """A verified token, valid while the tenant's identity version is the same."""

    caller: Caller
    claims: sessions.Claims
    account_tenant: str
    version: int


class Accounts:
    def __init__(
        self,
        records: Records,
        keyring: KeyRing,
        throttle: LoginThrottle,
        versions: TenantVersions,
    ) -> None:
        self._records = records
        self._keyring = keyring
        self._throttle = throttle
        self._versions = versions
        self.sign_ins = SignIns(records)
        self._browsers = KnownBrowsers(throttle)
        self._verified: dict[str, _Session] = {}

    async def sign_in(
        self,
        collection: Collection,
        tenant_id: TenantId | None,
        identity: str,
        password: str,
        *,
        address: str,
        user_agent: str = "",
    ) -> SignedIn:
        """Raises SecondStepNeeded for an account that a password alone does not open."""
        account = await self.find(collection, tenant_id, identity)
        attempt = Attempt(collection.name, identity, address, account_key(account))
        await self._throttle.admit(attempt)
        # One hash is checked in any case, so that the time reveals nothing about accounts.
        password_hash = account["password_hash"] if account else ""
        if not await passwords.verify_password(password_hash, password) or account is None:
            raise BadRequest(FAILED if tenant_id else FAILED_ON_BARE_HOST)
        await self._throttle.note_success(attempt)
        await self._renew_hash(collection, account, password)
        self.check_second_step(collection, account)
        return await self.begin(collection, account, Client(address, user_agent), tenant_id)

    def check_second_step(self, collection: Collection, account: Record) -> None:
        """After a password or a code from an email; raises SecondStepNeeded."""
        if has_second_factor(account):
            ticket = self._issue(collection, account, TokenType.SECOND_STEP, SECOND_STEP)
            raise SecondStepNeeded(ticket)

    async def begin(
        self,
        collection: Collection,
        account: Record,
        client: Client,
        tenant_id: TenantId | None = None,
        *,
        proved_at: str | None = None,
    ) -> SignedIn:
        """A new sign-in of an account whose owner has proved who they are, at the site of the
        tenant or on the service's own host. `proved_at`: when, if that was not just now."""
        lifetime = session_lifetime(collection)
        sign_in = await self.sign_ins.begin(
            collection, account, client, lifetime, proved_at=proved_at
        )
        if collection is superusers:
            caller = replace(account_caller(collection, account), address=client.address)
            is_new = await self._browsers.is_new(account, client)
            async with self._records.unit(caller) as unit:
                log_action(unit, SIGNED_IN)
                if is_new:
                    await tell_later(unit, account, client)
            if caller.kind is Kind.OPERATOR and tenant_id:
                # The site's own log has nothing of the platform's.
                async with self._records.unit(in_tenant(caller, tenant_id)) as unit:
                    log_action(unit, OPENED)
        signed_in = self._signed_in(collection, account, sign_in)
        lacks = await self._lacks_factor(collection, account)
        return replace(signed_in, caller=replace(signed_in.caller, lacks_factor=lacks))

    async def impersonate(
        self, by: Caller, collection: Collection, account: Record, lifetime: timedelta
    ) -> SignedIn:
        """A session of another account, for an operator or an owner; the log has it, and it is
        among the account's sign-ins, where it can be ended."""
        client = Client(by.address, f"{by.kind} acting as this account".capitalize())
        sign_in = await self.sign_ins.begin(collection, account, client, lifetime)
        about = (collection.name, account["id"])
        label = account["email"] if collection is superusers else ""
        async with self._records.unit(in_tenant(by, TenantId(account["tenant_id"]))) as unit:
            log_action(unit, IMPERSONATED, label=label, about=about)
        token = self._issue(
            collection, account, TokenType.AUTH, lifetime, sign_in=sign_in, refreshable=False
        )
        caller = account_caller(collection, account)
        return SignedIn(token, replace(caller, sign_in=sign_in, is_renewable=False))

    async def refresh(
        self, collection: Collection, caller: Caller, client: Client | None = None
    ) -> SignedIn | None:
        """A new token for a valid session; None if the caller has none in this collection."""
        account = await self._account_of(collection, caller)
        if account is None or not caller.is_renewable:
            return None
        if not ids.is_id(caller.sign_in):
            return await self.begin(collection, account, client or Client(), proved_at="")
        lifetime = session_lifetime(collection)
        if not await self.sign_ins.extend(account["tenant_id"], caller.sign_in, lifetime):
            return None
        return self._signed_in(collection, account, caller.sign_in)

    async def file_token(self, collection: Collection, caller: Caller) -> str | None:
        account = await self._account_of(collection, caller)
        if account is None:
            return None
        sign_in = caller.sign_in if ids.is_id(caller.sign_in) else ""
        return self._issue(collection, account, TokenType.FILE, FILE_TOKEN, sign_in=sign_in)

    async def caller_of(
        self, token: str, token_type: TokenType = TokenType.AUTH, *, lacking: bool = False
    ) -> Caller | None:
        """The caller of a valid token: its account exists and has the same token key. With
        `lacking`, also one who has to add a second factor first.

        Verifying a signature takes longer than the rest of a small request, so a session is cached
        while the tenant's identity version is the same.
        """
        cached = self._verified.get(token)
        if cached is not None:
            versions = await self._versions.of(cached.account_tenant)
            if cached.version == versions.identity and cached.claims.type is token_type:
                now = self._records.clock()
                if cached.claims.expires <= now:
                    return None
                if cached.claims.sign_in:
                    self.sign_ins.seen(cached.account_tenant, cached.claims.sign_in, now)
                return _unless_lacking(cached.caller, lacking=lacking)
            self._verified.pop(token, None)
        session = await self._session_of(token, token_type)
        if session is None:
            return None
        if len(self._verified) >= MAX_VERIFIED:
            self._verified.clear()
        self._verified[token] = session
        if session.claims.sign_in:
            now = self._records.clock()
            self.sign_ins.seen(session.account_tenant, session.claims.sign_in, now)
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
        found = await self._records.find(
            collection, {"id": account["id"]}, tenant_id=TenantId(tenant_id)
        )
        claims = found and sessions.verify(
            self._keyring,
            token,
            found[0]["token_key"],
            token_type=token_type,
            now=self._records.clock,
        )
        if not claims:
            return None
        sign_in = claims.sign_in
        if sign_in and not await self.sign_ins.is_open(tenant_id, sign_in, claims.id):
            return None
        caller = account_caller(collection, found[0])
        # A token without a sign-in is older than the table of them.
        lacks = await self._lacks_factor(collection, found[0])
        caller = replace(
            caller,
            sign_in=sign_in or _digest(token),
            lacks_factor=lacks,
            is_renewable=claims.refreshable,
        )
        return _Session(caller, claims, tenant_id, version)

    async def _lacks_factor(self, collection: Collection, account: Record) -> bool:
        """The settings are part of what a session is cached with: see `TenantVersions`."""
        if collection is not superusers or has_second_factor(account):
            return False
        if not account["tenant_id"]:
            # No site's settings are about operators.
            return False
        settings = self._records.registry["site_settings"]
        tenant_id = TenantId(account["tenant_id"])
        found = await self._records.find(settings, {}, tenant_id=tenant_id)
        return bool(found) and bool(found[0]["require_second_factor"])

    async def verify_password(
        self, collection: Collection, caller: Caller, password: str, address: str
    ) -> bool:
        """Checks the password of the account that the caller is signed in with.

        Counts as a sign-in, so that a stolen session can't be used to guess the password.
        """
        account = await self._account_of(collection, caller)
        attempt = Attempt(collection.name, caller.email, address, account_key(account))
        await self._throttle.admit(attempt)
        if account is None or not await passwords.verify_password(
            account["password_hash"], password
        ):
            return False
        await self._throttle.note_success(attempt)
        return True

    async def _account_of(self, collection: Collection, caller: Caller) -> Record | None:
        if caller.collection != collection.name:
            return None
        # An operator may act in a tenant, but has no account there.
        is_operator = caller.kind is Kind.OPERATOR
        tenant_id = TenantId("") if is_operator else caller.tenant_id
        found = await self._records.find(collection, {"id": caller.id}, tenant_id=tenant_id)
        return found[0] if found else None

    def reset_token(
        self, collection: Collection, account: Record, lifetime: timedelta = RESET_LINK
    ) -> str:
        """For a link to set a new password. It is invalid once the password or the email address
        changes."""
        marked = {**account, "token_key": _reset_key(account)}
        return self._issue(collection, marked, TokenType.PASSWORD_RESET, lifetime)

    async def by_reset_token(self, collection: Collection, token: str) -> Record | None:
        found = await self._named_by(collection, token)
        return next((each for each in found if self.is_reset_token(token, each)), None)

    def is_reset_token(self, token: str, account: Record) -> bool:
        return self._is_signed(token, TokenType.PASSWORD_RESET, _reset_key(account))

    async def by_ticket(self, collection: Collection, ticket: str) -> Record | None:
        """The account that waits for its second step."""
        found = await self._named_by(collection, ticket)
        kind = TokenType.SECOND_STEP
        return next((a for a in found if self._is_signed(ticket, kind, a["token_key"])), None)

    async def _named_by(self, collection: Collection, token: str) -> list[Record]:
        claims = sessions.peek(token)
        if claims is None or claims.collection_id != collection.id or not ids.is_id(claims.id):
            return []
        # As with sessions, the key decides.
        return await self._records.find(collection, {"id": claims.id}, limit=MAX_SAME_ID)

    def _is_signed(self, token: str, kind: TokenType, key: str) -> bool:
        now = self._records.clock
        return sessions.verify(self._keyring, token, key, token_type=kind, now=now) is not None

    async def find(
        self, collection: Collection, tenant_id: TenantId | None, email: str
    ) -> Record | None:
        """The account of an email address on the tenant's host.

        Operators sign in on any host. On a host without a tenant it is the oldest account, so that
        a newer account of the same address does not replace it.
        """
        equals = {"email": normal_email(email)}
        found = await self._records.find(collection, equals, tenant_id=tenant_id)
        if collection is superusers:
            # Always queried, so that it takes the same time for every address.
            operators = await self._records.find(collection, equals, tenant_id=TenantId(""))
            found = found or operators if tenant_id else operators or found
        return found[0] if found else None

    async def _renew_hash(self, collection: Collection, account: Record, password: str) -> None:
        """Replaces a hash with weaker parameters while the password is known."""
        if not passwords.needs_rehash(account["password_hash"]):
            return
        renewed = await passwords.hash_password(password)
        system = Caller(Kind.SYSTEM, TenantId(account["tenant_id"]))
        await self._records.update(
            system, collection, account["id"], {}, stamped={"password_hash": renewed}
        )

    def _signed_in(self, collection: Collection, account: Record, sign_in: str) -> SignedIn:
        lifetime = session_lifetime(collection)
        token = self._issue(collection, account, TokenType.AUTH, lifetime, sign_in=sign_in)
        return SignedIn(token, replace(account_caller(collection, account), sign_in=sign_in))

    def _issue(
        self,
        collection: Collection,
        account: Record,
        kind: TokenType,
        lifetime: timedelta,
        *,
        sign_in: str = "",
        refreshable: bool = True,
    ) -> str:
        return sessions.issue(
            self._keyring,
            account_id=account["id"],
            collection_id=collection.id,
            token_key=account["token_key"],
            token_type=kind,
            lifetime=lifetime,
            sign_in=sign_in,
            refreshable=refreshable,
            now=self._records.clock,
        )


def _unless_lacking(caller: Caller, *, lacking: bool) -> Caller | None:
    return None if caller.lacks_factor and not lacking else caller


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def _reset_key(account: Record) -> str:
    return f"{account['token_key']} {account['email']}"


_STAFF = {Role.OWNER: Kind.OWNER, Role.EDITOR: Kind.EDITOR, Role.AUTHOR: Kind.AUTHOR}


def session_lifetime(collection: Collection) -> timedelta:
    return ADMIN_SESSION if collection is superusers else MEMBER_SESSION


def account_key(account: Record | None) -> tuple[str, str]:
    """Names one account among those of the same address."""
    return (account["tenant_id"], account["id"]) if account else ("", "")


def account_caller(collection: Collection, account: Record) -> Caller:
    tenant_id = TenantId(account["tenant_id"]) if account["tenant_id"] else None
    if collection is superusers:
        kind = Kind.OPERATOR if tenant_id is None else _STAFF[account["role"]]
    else:
        kind = Kind.MEMBER
    return Caller(kind, tenant_id, account["id"], account["email"], collection.name)


async def new_credentials(given: Mapping[str, Any], *, required: bool) -> dict[str, Any]:
    """The engine's values for the `password` in a body, after checking `passwordConfirm`."""
    if not required and given.get("password") in (None, ""):
        return {"token_key": new_token_key()}
    return credentials(await passwords.hash_password(checked_password(given)))


def checked_password(given: Mapping[str, Any]) -> str:
    """The `password` in a body, which is the same as `passwordConfirm`; not hashed yet."""
    password = given.get("password") or ""
    problems: dict[str, Problem] = {}
    if "passwordConfirm" in given and given["passwordConfirm"] != password:
        mismatch = Problem("validation_values_mismatch", "Must be the same as the password.")
        problems["passwordConfirm"] = mismatch if given["passwordConfirm"] else REQUIRED
    if not password:
        problems["password"] = REQUIRED
    elif not isinstance(password, str):
        problems["password"] = Problem("validation_invalid_type", "Must be text.")
    elif not problems and (problem := passwords.check_password(password)):
        problems["password"] = problem
    if problems:
        raise Invalid(problems)
    return str(password)
