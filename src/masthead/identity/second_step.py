"""The second step of a sign-in: a code of an account whose password was right.

Between the two steps there is a ticket: a token of five minutes, signed with the account's own key,
that opens nothing by itself. A browser holds it in a cookie, so that the second step is done where
the first one was.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from masthead.base.caller import system
from masthead.base.config.keyring import DecryptionError
from masthead.base.errors import BadRequest
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_words
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.identity.account_callers import account_key
from masthead.identity.accounts import SECOND_STEP, Accounts, SignedIn
from masthead.identity.limits.sign_in_throttle import CODE_LIMITS, Attempt, LoginThrottle
from masthead.identity.one_time_codes import matching_hash, matching_step
from masthead.identity.sign_ins import Client
from masthead.identity.tenants import superusers

CODES = f"{superusers.name} codes"
"""Wrong codes are counted apart from wrong passwords."""


class TicketExpired(BadRequest):
    message = staff_words("The sign-in has taken too long. Begin again with the password.")


class WrongCode(BadRequest):
    """Also for a code that was used before."""

    message = staff_words(
        "That code is wrong, or it was used already. Type the code that the app shows now."
    )


class SecondSteps(msgspec.Struct, frozen=True):
    records: Records
    accounts: Accounts
    throttle: LoginThrottle

    async def account_of(self, ticket: str, tenant_id: TenantId | None) -> Record:
        """Whose password was right; raises TicketExpired."""
        account = await self.accounts.by_ticket(superusers, ticket) if ticket else None
        # As with sessions: operators may use any host, and every account the service's own host.
        if account is None or (tenant_id and account["tenant_id"] not in ("", tenant_id)):
            raise TicketExpired
        return account

    async def finish(
        self, ticket: str, code: str, client: Client, tenant_id: TenantId | None
    ) -> SignedIn:
        account = await self.account_of(ticket, tenant_id)
        await self.use_code(account, code, client.address)
        return await self.accounts.begin(superusers, account, client, tenant_id)

    async def finish_once(
        self, ticket: str, code: str, client: Client, tenant_id: TenantId | None
    ) -> SignedIn:
        """Like `finish`, with a ticket that a program holds: it signs in once. A wrong code leaves
        it."""
        account = await self.account_of(ticket, tenant_id)
        await self.use_code(account, code, client.address)
        # Only what is signed: a signature can be written in several ways.
        digest = hashlib.sha256(ticket.rpartition(".")[0].encode()).hexdigest()
        if not await self.throttle.take_once(digest, SECOND_STEP):
            raise TicketExpired
        return await self.accounts.begin(superusers, account, client, tenant_id)

    async def use_code(self, account: Record, code: str, address: str) -> None:
        """Takes a code of the account's app, or one of its recovery codes; raises WrongCode, or
        RateLimited after too many. A code that was taken counts never again."""
        attempt = Attempt(CODES, account["email"], address, account_key(account))
        await self.throttle.admit(attempt, CODE_LIMITS)
        async with self.records.unit(system(TenantId(account["tenant_id"]))) as unit:
            # Read in the transaction: of two requests with the same code one comes second.
            found = await unit.find_one(superusers, {"id": account["id"]})
            used = self._used(found, code) if found else None
            if used is not None:
                await unit.update(superusers, account["id"], {}, stamped=used)
        if used is None:
            await self.accounts.failures.note(superusers, account, "code", address=address)
            raise WrongCode
        await self.throttle.note_success(attempt)

    def _used(self, account: Record, code: str) -> dict[str, Any] | None:
        """The values to store of an account once the code is used; None if it is wrong."""
        step = self._step(account, code)
        if step is not None:
            return {"totp_step": step}
        hashes = account["recovery_hashes"]
        used = matching_hash(code, account["id"], hashes)
        return {"recovery_hashes": [each for each in hashes if each != used]} if used else None

    def _step(self, account: Record, code: str) -> int | None:
        if not account["totp_secret"]:
            return None
        try:
            secret = self.records.reveal(superusers, account, "totp_secret")
        except DecryptionError:
            # Stored with a root secret that is gone: recovery codes need none.
            return None
        return matching_step(secret, code, self.records.clock(), account["totp_step"])
