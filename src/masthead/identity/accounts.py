"""Signing in: passwords, and the tokens of sessions, second steps and new passwords."""

from __future__ import annotations

from datetime import timedelta

import msgspec
from msgspec.structs import replace

from masthead.base import ids
from masthead.base.caller import Caller, Kind, in_tenant
from masthead.base.config.keyring import KeyRing
from masthead.base.email_address import normal_email
from masthead.base.errors import BadRequest, Unauthenticated
from masthead.base.ids import TenantId
from masthead.engine.audit.collection import IMPERSONATED, OPENED, SIGNED_IN
from masthead.engine.audit.entries import log_action
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.versions import TenantVersions
from masthead.identity import passwords, sessions
from masthead.identity.account_callers import account_caller, account_key
from masthead.identity.factor_fields import has_second_factor
from masthead.identity.failed_sign_ins import FailedSignIns
from masthead.identity.known_browsers import KnownBrowsers, tell_later
from masthead.identity.limits.sign_in_throttle import Attempt, LoginThrottle
from masthead.identity.sessions import TokenType
from masthead.identity.sign_ins import Client, SignIns
from masthead.identity.tenants import superusers
from masthead.identity.verified_sessions import MAX_SAME_ID, VerifiedSessions

ADMIN_SESSION = timedelta(days=1)
MEMBER_SESSION = timedelta(days=14)
FILE_TOKEN = timedelta(minutes=2)
RESET_LINK = timedelta(minutes=15)
SECOND_STEP = timedelta(minutes=5)

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


class SignedIn(msgspec.Struct, frozen=True):
    token: str
    caller: Caller


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
        self.sign_ins = SignIns(records)
        self.sessions = VerifiedSessions(records, keyring, versions, self.sign_ins)
        self.failures = FailedSignIns(records, throttle)
        self._browsers = KnownBrowsers(throttle)

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
            await self.failures.note(
                collection, account, "password", address=address, tenant_id=tenant_id
            )
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
        lacks = await self.sessions.lacks_factor(collection, account)
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
            home = caller.tenant_id
            await self.failures.note(
                collection, account, "password", address=address, tenant_id=home
            )
            return False
        await self._throttle.note_success(attempt)
        return True

    async def _account_of(self, collection: Collection, caller: Caller) -> Record | None:
        if caller.collection != collection.name:
            return None
        # An operator may act in a tenant, but has no account there.
        is_operator = caller.kind is Kind.OPERATOR
        tenant_id = TenantId("") if is_operator else caller.tenant_id
        return await self._records.find_one(collection, {"id": caller.id}, tenant_id=tenant_id)

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


def _reset_key(account: Record) -> str:
    return f"{account['token_key']} {account['email']}"


def session_lifetime(collection: Collection) -> timedelta:
    return ADMIN_SESSION if collection is superusers else MEMBER_SESSION
