"""Invitations of staff by email.

The account is created at once, without a password. The link in the email is one to set a password,
valid for a week; until it is used nobody can sign in with the account.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec

from masthead.base.caller import Caller
from masthead.base.errors import BadRequest, RateLimited
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.features.password_reset.resets import ADMIN_PATH
from masthead.features.site.address import Sites
from masthead.identity.accounts import Accounts
from masthead.identity.given_passwords import new_credentials
from masthead.identity.limits.sign_in_throttle import LONG_WINDOW, LoginThrottle
from masthead.identity.tenants import superusers
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.message import Mail
from masthead.outside.mail.outbox import Outbox

INVITATION = timedelta(days=7)
TOO_MANY = "Too many emails to the staff of this site within an hour. Wait and try again."
IS_ACTIVE = "This account already has a password. Its owner can request a new one by email."


class Invitations(msgspec.Struct, frozen=True):
    records: Records
    accounts: Accounts
    throttle: LoginThrottle
    outbox: Outbox
    sites: Sites

    async def invite(
        self, caller: Caller, tenant_id: TenantId, given: Mapping[str, Any], *, by: str
    ) -> Record:
        """Creates the account and sends the email, both or neither. `by` is the inviter's name."""
        self.records.check_may_create(caller, superusers)
        await self._admit(tenant_id)
        stamped = await new_credentials({}, required=False)
        async with self.records.unit(caller) as unit:
            account = await unit.create(superusers, given, stamped=stamped)
            await self.outbox.queue(unit, await self._mail(account, by))
        return account

    async def repeat(self, caller: Caller, tenant_id: TenantId, account_id: str, *, by: str) -> str:
        """Sends the link again; returns the address."""
        self.records.check_may_update(caller, superusers, account_id)
        await self._admit(tenant_id)
        async with self.records.unit(caller) as unit:
            # Through the rule, and without a change.
            account = await unit.update(superusers, account_id, {})
            if account["password_hash"]:
                raise BadRequest(IS_ACTIVE)
            await self.outbox.queue(unit, await self._mail(account, by))
        return str(account["email"])

    async def _admit(self, tenant_id: TenantId) -> None:
        if not await self.throttle.admit_reset_mail(superusers.name, tenant_id):
            raise RateLimited(int(LONG_WINDOW.total_seconds()), TOO_MANY)

    async def _mail(self, account: Record, by: str) -> Mail:
        site = await self.sites.of(TenantId(account["tenant_id"]))
        token = self.accounts.reset_token(superusers, account, INVITATION)
        return write_email(
            "invitation",
            site.for_staff(account),
            account["email"],
            by=by,
            role=account["role"],
            link=f"{site.url}{ADMIN_PATH}?token={token}",
            days=INVITATION.days,
        )
