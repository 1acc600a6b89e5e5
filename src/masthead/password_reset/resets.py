"""A new password by mail: the way in for an account whose password is lost or locked.

The link is a token signed with the account's own key, as sessions are. It lives 15 minutes, and the
new password makes it worthless like every session; nothing is stored. A request does the same for
every address, known or not: the worker finds out whether there is an account.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from masthead.caller import system
from masthead.config.settings import Settings
from masthead.errors import BadRequest
from masthead.identity.accounts import RESET_LINK, Accounts, new_credentials
from masthead.identity.tenants import superusers
from masthead.ids import TenantId
from masthead.jobs.runner import Handler, Job
from masthead.limits.sign_in_throttle import Attempt, LoginThrottle
from masthead.mail import account_emails
from masthead.mail.outbox import Outbox
from masthead.records.collection import Collection, Record
from masthead.records.engine import Records
from masthead.site.address import Site, Sites

JOB = "password_reset.mail"
ADMIN_PATH = "/admin/reset-password"
MEMBER_PATH = "/member/reset-password"

DEAD_LINK = "This link has been used already, or it is too old. Ask for a new one."

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class PasswordResets:
    records: Records
    accounts: Accounts
    throttle: LoginThrottle
    outbox: Outbox
    sites: Sites
    settings: Settings

    async def request(
        self, collection: Collection, tenant_id: TenantId | None, email: str, address: str
    ) -> None:
        """Raises RateLimited when the network asks too often; says nothing about the account."""
        attempt = Attempt(collection.name, email, address)
        if not await self.throttle.admit_reset(attempt, tenant_id or ""):
            return
        asked = {"collection": collection.name, "tenant_id": tenant_id, "email": email}
        async with self.records.unit(system()) as unit:
            await unit.enqueue(JOB, asked)

    def handlers(self) -> Mapping[str, Handler]:
        return {JOB: self._mail}

    async def find(self, collection: Collection, tenant_id: TenantId | None, token: str) -> Record:
        """Whose password a link sets, while it is alive; raises BadRequest afterwards."""
        account = await self.accounts.by_reset_token(collection, token)
        # As with sessions: operators may use any host, and every account the bare host.
        if account is None or (tenant_id and account["tenant_id"] not in ("", tenant_id)):
            raise BadRequest(DEAD_LINK)
        return account

    async def confirm(
        self,
        collection: Collection,
        tenant_id: TenantId | None,
        token: str,
        given: Mapping[str, Any],
        address: str,
    ) -> None:
        """Sets the `password` that was given, ends every session and lets its network in."""
        # First, so that hashing is not to be had without a link.
        account = await self.find(collection, tenant_id, token)
        stamped = await new_credentials(given, required=True)
        home = TenantId(account["tenant_id"])
        async with self.records.unit(system(home)) as unit:
            # Again in the tenant's turn to write: of two clicks at once, one finds it gone.
            found = await unit.find(collection, {"id": account["id"]}, limit=1)
            if not found or not self.accounts.is_reset_token(token, found[0]):
                raise BadRequest(DEAD_LINK)
            # The link was read in the mailbox, which verifies the address.
            stamped = {**stamped, "verified": True}
            await unit.update(collection, account["id"], {}, stamped=stamped)
        await self.throttle.forgive(Attempt(collection.name, account["email"], address))

    async def _mail(self, job: Job) -> None:
        asked = job.payload
        collection = self.records.registry[asked["collection"]]
        account = await self.accounts.find(collection, asked["tenant_id"], asked["email"])
        # Staff without a password have no way in until an owner gives them one.
        if account is None or (collection is superusers and not account["password_hash"]):
            return
        home = TenantId(account["tenant_id"])
        if not await self.throttle.admit_reset_mail(collection.name, home):
            log.warning("password_reset.too_many_mails", tenant_id=home)
            return
        site = await self.site_of(home)
        path = ADMIN_PATH if collection is superusers else MEMBER_PATH
        token = self.accounts.reset_token(collection, account)
        mail = account_emails.reset_password(
            site_name=site.name,
            site_url=site.url,
            to=account["email"],
            link=f"{site.url}{path}?token={token}",
            minutes=int(RESET_LINK.total_seconds() // 60),
        )
        async with self.records.unit(system(home)) as unit:
            await self.outbox.queue(unit, mail)

    async def site_of(self, tenant_id: TenantId) -> Site:
        if tenant_id:
            return await self.sites.of(tenant_id)
        # An operator's account belongs to the platform.
        return Site("Masthead", self.settings.base_url.rstrip("/"))
