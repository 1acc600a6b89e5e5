"""Second factors of staff and operators are added, removed and reset here.

Each change is one transaction: the account, the entry in the log, and an email to the account's
address, so that nobody gets or loses a factor without notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from masthead.audit.collection import ADDED_FACTOR, MADE_RECOVERY_CODES, REMOVED_FACTOR
from masthead.audit.entries import log_action
from masthead.caller import Caller, system
from masthead.config.settings import Settings
from masthead.identity.factor_fields import NO_FACTORS, has_second_factor
from masthead.identity.one_time_codes import hash_recovery_code, new_recovery_codes
from masthead.identity.tenants import superusers
from masthead.ids import TenantId
from masthead.mail import account_emails
from masthead.mail.outbox import Outbox
from masthead.records.collection import Record
from masthead.records.engine import Records
from masthead.records.write.unit import Unit
from masthead.site.address import Site, Sites

APP = "Authenticator app"


@dataclass(frozen=True, slots=True)
class Factors:
    records: Records
    outbox: Outbox
    sites: Sites
    settings: Settings

    async def add_app(self, caller: Caller, account: Record, secret: str, step: int) -> list[str]:
        """`step` is that of the code that showed that the app works. Returns the recovery codes
        that come with the first factor, which are stored nowhere."""
        added = {"totp_secret": secret, "totp_step": step}
        return await self._add(caller, account, added, called=APP)

    async def remove_app(self, caller: Caller, account: Record) -> None:
        removed = {"totp_secret": "", "totp_step": 0}
        await self._remove(caller, account, removed, called=APP)

    async def renew_recovery_codes(self, caller: Caller, account: Record) -> list[str]:
        codes = new_recovery_codes()
        stamped = {"recovery_hashes": _hashes(codes, account)}
        await self._change(caller, account, stamped, MADE_RECOVERY_CODES, label="")
        return codes

    async def _add(
        self, caller: Caller, account: Record, added: Mapping[str, Any], *, called: str
    ) -> list[str]:
        codes = [] if has_second_factor(account) else new_recovery_codes()
        hashes = {"recovery_hashes": _hashes(codes, account)} if codes else {}
        await self._change(caller, account, {**added, **hashes}, ADDED_FACTOR, label=called)
        return codes

    async def _remove(
        self, caller: Caller, account: Record, removed: Mapping[str, Any], *, called: str
    ) -> None:
        left = {**account, **removed}
        stamped = removed if has_second_factor(left) else {**NO_FACTORS, **removed}
        await self._change(caller, account, stamped, REMOVED_FACTOR, label=called)

    async def _change(
        self,
        caller: Caller,
        account: Record,
        stamped: Mapping[str, Any],
        action: str,
        *,
        label: str,
    ) -> None:
        tenant_id = TenantId(account["tenant_id"])
        site = await self._site_of(tenant_id)
        async with self.records.unit(system(tenant_id)) as unit:
            await unit.update(superusers, account["id"], {}, stamped=stamped)
            log_action(unit, action, label=label, by=caller)
            await self._tell(unit, account, site, _TOLD[action].format(label))

    async def _tell(self, unit: Unit, account: Record, site: Site, what: str) -> None:
        notice = account_emails.factors_changed(
            site_name=site.name, site_url=site.url, to=account["email"], what=what
        )
        await self.outbox.queue(unit, notice)

    async def _site_of(self, tenant_id: TenantId) -> Site:
        if tenant_id:
            return await self.sites.of(tenant_id)
        # An operator's account belongs to the platform.
        return Site("Masthead", self.settings.base_url.rstrip("/"))


_TOLD = {
    ADDED_FACTOR: "A second factor was added: {}.",
    REMOVED_FACTOR: "A second factor was removed: {}.",
    MADE_RECOVERY_CODES: "New recovery codes were made. The earlier ones no longer work.",
}


def _hashes(codes: list[str], account: Record) -> list[str]:
    return [hash_recovery_code(each, account["id"]) for each in codes]
