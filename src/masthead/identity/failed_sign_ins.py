"""Failed sign-ins: a log line for each, and for accounts of staff an entry in the activity log."""

from __future__ import annotations

import msgspec

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.audit.entries import log_failed_sign_in
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.identity.account_callers import account_caller
from masthead.identity.limits.sign_in_throttle import LoginThrottle
from masthead.identity.tenants import superusers


class FailedSignIns(msgspec.Struct, frozen=True):
    records: Records
    throttle: LoginThrottle

    async def note(
        self,
        collection: Collection,
        account: Record | None,
        factor: str,
        *,
        address: str,
        tenant_id: TenantId | None = None,
    ) -> None:
        """`factor`: what was wrong; `tenant_id`: the site of an attempt at no account. Unknown
        addresses do the same work, so that the time says nothing. What they typed is not stored:
        it may be anybody's address, or a password."""
        site = TenantId(account["tenant_id"] if account else tenant_id or "")
        account_id = account["id"] if account else ""
        kind = collection.name
        log.warning("sign_in.failed", tenant_id=site, kind=kind, account=account_id, factor=factor)
        # Guesses from many networks must not fill the log with entries.
        if collection is not superusers or not await self.throttle.admit_failure_entry(site):
            return
        caller = account_caller(collection, account) if account else None
        async with self.records.unit(system(site)) as unit:
            log_failed_sign_in(unit, caller, factor, address)
