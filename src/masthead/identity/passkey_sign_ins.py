"""Signing in with a passkey: in place of the password, or as the second step after it."""

from __future__ import annotations

import msgspec

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.identity.account_callers import account_key
from masthead.identity.accounts import Accounts, SignedIn
from masthead.identity.challenges import Challenges
from masthead.identity.limits.sign_in_throttle import Attempt, LoginThrottle
from masthead.identity.passkeys import (
    Party,
    Passkey,
    PasskeyRefused,
    account_named_by,
    passkeys_of,
    read_answer,
    request_options,
    stored,
    verify_use,
    with_use,
)
from masthead.identity.sign_ins import Client
from masthead.identity.tenants import superusers

PASSKEYS = f"{superusers.name} passkeys"
_SIGN_IN = "sign in at "


class PasskeyRequest(msgspec.Struct, frozen=True):
    """The values with which a page asks the browser for a passkey."""

    options: str
    sealed: str


class PasskeyForm(msgspec.Struct, frozen=True):
    """The values that the page's form brings back."""

    answer: str
    sealed: str


class PasskeySignIns(msgspec.Struct, frozen=True):
    records: Records
    accounts: Accounts
    throttle: LoginThrottle
    challenges: Challenges

    def ask_anyone(self, party: Party) -> PasskeyRequest:
        challenge = self.challenges.new(_SIGN_IN + party.host)
        return PasskeyRequest(request_options(party, challenge.value), challenge.sealed)

    def ask(self, party: Party, account: Record) -> PasskeyRequest | None:
        """None if the account has no passkey for this host."""
        if not any(each.host == party.host for each in passkeys_of(account)):
            return None
        challenge = self.challenges.new(_proof_of(account))
        return PasskeyRequest(request_options(party, challenge.value, account), challenge.sealed)

    async def sign_in(
        self, given: PasskeyForm, party: Party, client: Client, tenant_id: TenantId | None
    ) -> SignedIn:
        """Without a password: the passkey names its account, and has recognized its owner."""
        home, account_id = account_named_by(read_answer(given.answer))
        attempt = Attempt(PASSKEYS, f"{home}/{account_id}", client.address, (home, account_id))
        await self.throttle.admit(attempt)
        found = await self.records.find_one(superusers, {"id": account_id}, tenant_id=home)
        is_known_here = not tenant_id or home in ("", tenant_id)
        if not found or not is_known_here:
            await self.accounts.failures.note(
                superusers, None, "passkey", address=client.address, tenant_id=tenant_id
            )
            raise PasskeyRefused
        bound_to = _SIGN_IN + party.host
        await self._use(found, given, party, bound_to, needs_owner=True, address=client.address)
        await self.throttle.note_success(attempt)
        return await self.accounts.begin(superusers, found, client, tenant_id)

    async def finish(
        self,
        account: Record,
        given: PasskeyForm,
        party: Party,
        client: Client,
        *,
        tenant_id: TenantId | None,
    ) -> SignedIn:
        """The second step of an account whose password was right."""
        await self.use(account, given, party, client.address)
        return await self.accounts.begin(superusers, account, client, tenant_id)

    async def use(self, account: Record, given: PasskeyForm, party: Party, address: str) -> None:
        """Takes the answer of one of the account's passkeys; raises PasskeyRefused."""
        attempt = Attempt(PASSKEYS, account["email"], address, account_key(account))
        await self.throttle.admit(attempt)
        bound_to = _proof_of(account)
        await self._use(account, given, party, bound_to, needs_owner=False, address=address)
        await self.throttle.note_success(attempt)

    async def _use(
        self,
        account: Record,
        given: PasskeyForm,
        party: Party,
        bound_to: str,
        *,
        needs_owner: bool,
        address: str,
    ) -> None:
        challenge = await self.challenges.take(given.sealed, bound_to)
        answer = read_answer(given.answer)
        passkey = _named(account, answer.get("id"), party.host)
        try:
            count = await verify_use(passkey, answer, party, challenge, needs_owner=needs_owner)
        except PasskeyRefused as error:
            log.warning("passkey.refused", account=account["id"], why=str(error.__cause__))
            await self.accounts.failures.note(superusers, account, "passkey", address=address)
            raise
        await self._note(account, passkey, count)

    async def _note(self, account: Record, passkey: Passkey, count: int) -> None:
        now = clock.to_text(self.records.clock())
        async with self.records.unit(system(TenantId(account["tenant_id"]))) as unit:
            # Read in the transaction: a copy of the passkey may be used at the same time.
            found = await unit.find_one(superusers, {"id": account["id"]})
            used = with_use(passkeys_of(found), passkey.id, count, now) if found else None
            if used is not None:
                stamped = {"passkeys": stored(used)}
                await unit.update(superusers, account["id"], {}, stamped=stamped)
        if used is None:
            raise PasskeyRefused


def _named(account: Record, credential_id: object, host: str) -> Passkey:
    for each in passkeys_of(account):
        if each.id == credential_id and each.host == host:
            return each
    raise PasskeyRefused


def _proof_of(account: Record) -> str:
    return f"proof of {account['tenant_id']}/{account['id']}"
