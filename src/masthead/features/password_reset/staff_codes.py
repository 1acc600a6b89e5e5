"""Codes by which staff and operators sign in without their password.

A request is the same for known and unknown addresses: only the worker looks up the account.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from masthead.base.caller import system
from masthead.base.errors import BadRequest
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.collection import Record
from masthead.features.members.mailed_links import WRONG_CODE
from masthead.features.password_reset.resets import PasswordResets
from masthead.identity.account_callers import account_key
from masthead.identity.accounts import Accounts, SignedIn
from masthead.identity.codes import Code, SignInCodes, account_mark
from masthead.identity.limits.sign_in_throttle import Attempt
from masthead.identity.sign_ins import Client
from masthead.identity.tenants import superusers
from masthead.outside.mail.emails import write_email

JOB = "password_reset.staff_code"


class StaffCodes(msgspec.Struct, frozen=True):
    accounts: Accounts
    codes: SignInCodes
    resets: PasswordResets
    """Their limits and names are those of new passwords: both let in whoever reads the mailbox."""

    async def request(self, tenant_id: TenantId | None, email: str, address: str) -> str:
        """The id that the code counts with. Raises RateLimited for too many requests of a network;
        reveals nothing of the account."""
        code_id = self.codes.id_for(superusers, tenant_id, email)
        attempt = Attempt(superusers.name, email, address)
        if await self.resets.throttle.admit_reset(attempt, f"code {tenant_id or ''}"):
            requested = {"tenant_id": tenant_id, "email": email, "code_id": code_id}
            async with self.resets.records.unit(system()) as unit:
                await unit.enqueue(JOB, requested)
        return code_id

    async def use(
        self, tenant_id: TenantId | None, code_id: str, code: str, client: Client
    ) -> SignedIn:
        """Raises BadRequest for a wrong code, RateLimited for too many, SecondStepNeeded as after a
        password."""
        found = await self.codes.check(superusers, tenant_id, code_id, code)
        if found is None:
            raise BadRequest(WRONG_CODE)
        account = await self._spend(found)
        attempt = Attempt(superusers.name, found.email, client.address, account_key(account))
        await self.resets.throttle.forgive(attempt)
        self.accounts.check_second_step(superusers, account)
        return await self.accounts.begin(superusers, account, client, tenant_id)

    def handlers(self) -> Mapping[str, Handler]:
        return {JOB: self._mail}

    async def _spend(self, code: Code) -> Record:
        async with self.resets.records.unit(system(code.tenant_id)) as unit:
            # In the transaction, so that of two attempts one finds it used.
            is_unused = await self.codes.spend(unit, code)
            found = await unit.find_one(superusers, {"id": code.staff_id})
            if not is_unused or not found or account_mark(found) != code.account_mark:
                raise BadRequest(WRONG_CODE)
            return found

    async def _mail(self, job: Job) -> None:
        requested = job.payload
        account = await self.accounts.find(superusers, requested["tenant_id"], requested["email"])
        # Staff without a password can't sign in until an owner sets one.
        if account is None or not account["password_hash"]:
            return
        tenant_id = TenantId(account["tenant_id"])
        if not await self.resets.throttle.admit_reset_mail(superusers.name, tenant_id):
            log.warning("password_reset.too_many_mails", tenant_id=tenant_id)
            return
        site = await self.resets.sites.of(tenant_id)
        async with self.resets.records.unit(system(tenant_id)) as unit:
            code = await self.codes.store(
                unit, requested["code_id"], account["email"], staff=account
            )
            mail = write_email("staff_code", site.for_staff(account), account["email"], code=code)
            await self.resets.outbox.queue(unit, mail)
