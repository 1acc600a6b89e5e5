"""Password resets by email.

The link holds a token signed with the account's own key, like a session token. It is valid for 15
minutes, and a new password invalidates it like every session; nothing is stored. A request is the
same for known and unknown addresses: only the worker looks up the account.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from masthead.base.caller import system
from masthead.base.errors import BadRequest
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.base.logs import log
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.features.site.address import Sites
from masthead.identity.account_callers import account_key
from masthead.identity.accounts import RESET_LINK, Accounts
from masthead.identity.given_passwords import new_credentials
from masthead.identity.limits.sign_in_throttle import Attempt, LoginThrottle
from masthead.identity.tenants import superusers
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.outbox import Outbox

JOB = "password_reset.mail"
ADMIN_PATH = "/admin/reset-password"
MEMBER_PATH = "/member/reset-password"


class DeadLink(BadRequest):
    message = words("This link has been used or has expired. Request a new one.")


class PasswordResets(msgspec.Struct, frozen=True):
    records: Records
    accounts: Accounts
    throttle: LoginThrottle
    outbox: Outbox
    sites: Sites

    async def request(
        self, collection: Collection, tenant_id: TenantId | None, email: str, address: str
    ) -> None:
        """Raises RateLimited for too many requests of a network; reveals nothing of the account."""
        attempt = Attempt(collection.name, email, address)
        if not await self.throttle.admit_reset(attempt, tenant_id or ""):
            return
        requested = {"collection": collection.name, "tenant_id": tenant_id, "email": email}
        async with self.records.unit(system()) as unit:
            await unit.enqueue(JOB, requested)

    def handlers(self) -> Mapping[str, Handler]:
        return {JOB: self._mail}

    async def find(self, collection: Collection, tenant_id: TenantId | None, token: str) -> Record:
        """The account of a valid link; raises DeadLink for others."""
        account = await self.accounts.by_reset_token(collection, token)
        # As with sessions: operators may use any host, and every account the service's own host.
        if account is None or (tenant_id and account["tenant_id"] not in ("", tenant_id)):
            raise DeadLink
        return account

    async def confirm(
        self,
        collection: Collection,
        tenant_id: TenantId | None,
        token: str,
        given: Mapping[str, Any],
        *,
        address: str,
    ) -> None:
        """Sets the given `password`, ends every session and unblocks the client's network."""
        # First, so that nothing is hashed without a valid link.
        account = await self.find(collection, tenant_id, token)
        stamped = await new_credentials(given, required=True, email=account["email"])
        account_tenant = TenantId(account["tenant_id"])
        async with self.records.unit(system(account_tenant)) as unit:
            # Checked again inside the transaction, for two concurrent clicks.
            found = await unit.find_one(collection, {"id": account["id"]})
            if not found or not self.accounts.is_reset_token(token, found):
                raise DeadLink
            # The link came by email, so the address is verified.
            stamped = {**stamped, "verified": True}
            await unit.update(collection, account["id"], {}, stamped=stamped)
        attempt = Attempt(collection.name, account["email"], address, account_key(account))
        await self.throttle.forgive(attempt)

    async def _mail(self, job: Job) -> None:
        requested = job.payload
        collection = self.records.registry[requested["collection"]]
        account = await self.accounts.find(collection, requested["tenant_id"], requested["email"])
        # Staff without a password can't sign in until an owner sets one.
        if account is None or (collection is superusers and not account["password_hash"]):
            return
        account_tenant = TenantId(account["tenant_id"])
        if not await self.throttle.admit_reset_mail(collection.name, account_tenant):
            log.warning("password_reset.too_many_mails", tenant_id=account_tenant)
            return
        site = await self.sites.of(account_tenant)
        path = ADMIN_PATH if collection is superusers else MEMBER_PATH
        token = self.accounts.reset_token(collection, account)
        values: dict[str, Any] = {
            "link": f"{site.url}{path}?token={token}",
            "minutes": int(RESET_LINK.total_seconds() // 60),
        }
        own = site.for_staff(account) if collection is superusers else site.for_member(account)
        mail = write_email("reset_password", own, account["email"], **values)
        async with self.records.unit(system(account_tenant)) as unit:
            await self.outbox.queue(unit, mail)
