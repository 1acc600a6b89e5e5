"""Second factors of staff and operators are added, removed and reset here.

Each change is one transaction: the account, the entry in the log, and an email to the account's
address, so that nobody gets or loses a factor without notice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

import msgspec

from masthead.base.caller import Caller, system
from masthead.base.config.tokens import Sealed
from masthead.base.errors import BadRequest
from masthead.base.ids import TenantId
from masthead.base.languages.words import Words, marked, words
from masthead.engine.audit.collection import (
    ADDED_FACTOR,
    MADE_RECOVERY_CODES,
    REMOVED_FACTOR,
    RESET_FACTORS,
)
from masthead.engine.audit.entries import log_action
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.accounts import new_token_key
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.features.site.address import Site, Sites
from masthead.identity.browsers import browser_name
from masthead.identity.factor_fields import NO_FACTORS, has_second_factor
from masthead.identity.known_browsers import NEW_BROWSER
from masthead.identity.one_time_codes import hash_recovery_code, new_recovery_codes
from masthead.identity.passkeys import MAX_PASSKEYS, Passkey, passkeys_of, stored
from masthead.identity.tenants import superusers
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.outbox import Outbox

APP = words("Authenticator app")
TOO_MANY = f"An account has at most {MAX_PASSKEYS} passkeys. Remove one first."

PENDING_APP = Sealed("pending authenticator app", timedelta(minutes=30), str)
"""The secret of an app between its QR code and the first code of the app: the page holds it for the
sign-in that asked for it, because it is not the account's yet."""

Stamp = Callable[[Record], Record]
"""Makes the values to store of an account from the account as it is in the transaction."""


class Factors(msgspec.Struct, frozen=True):
    records: Records
    outbox: Outbox
    sites: Sites

    async def add_app(self, caller: Caller, account: Record, secret: str, step: int) -> list[str]:
        """`step` is that of the code that showed that the app works. Returns the recovery codes
        that come with the first factor, which are stored nowhere."""
        added = {"totp_secret": secret, "totp_step": step}
        return await self._add(caller, account, lambda _: added, called=APP)

    async def remove_app(self, caller: Caller, account: Record) -> None:
        removed = {"totp_secret": "", "totp_step": 0}
        await self._remove(caller, account, lambda _: removed, called=APP)

    async def add_passkey(self, caller: Caller, account: Record, passkey: Passkey) -> list[str]:
        def added(found: Record) -> Record:
            others = [each for each in passkeys_of(found) if each.id != passkey.id]
            if len(others) >= MAX_PASSKEYS:
                raise BadRequest(TOO_MANY)
            return {"passkeys": stored([*others, passkey])}

        return await self._add(caller, account, added, called=_called(passkey))

    async def remove_passkey(self, caller: Caller, account: Record, passkey: Passkey) -> None:
        def removed(found: Record) -> Record:
            left = [each for each in passkeys_of(found) if each.id != passkey.id]
            return {"passkeys": stored(left) or None}

        await self._remove(caller, account, removed, called=_called(passkey))

    async def renew_recovery_codes(self, caller: Caller, account: Record) -> list[str]:
        codes = new_recovery_codes()
        stamped = {"recovery_hashes": _hashes(codes, account)}
        await self._change(caller, account, lambda _: stamped, MADE_RECOVERY_CODES, label="")
        return codes

    async def reset(self, caller: Caller, account: Record) -> None:
        """For someone who has lost them. Every sign-in ends: one may be on what was lost."""
        stamped = {**NO_FACTORS, "token_key": new_token_key()}
        await self._change(
            caller, account, lambda _: stamped, RESET_FACTORS, label=account["email"]
        )

    def handlers(self) -> Mapping[str, Handler]:
        return {NEW_BROWSER: self._tell_of_browser}

    async def _tell_of_browser(self, job: Job) -> None:
        tenant_id = TenantId(job.payload["tenant_id"])
        wanted = {"id": job.payload["account_id"]}
        found = await self.records.find_one(superusers, wanted, tenant_id=tenant_id)
        if not found:
            return
        site = await self.sites.of(tenant_id)
        browser, address = browser_name(job.payload["browser"]), job.payload["address"]
        own = site.for_staff(found)
        notice = write_email("new_browser", own, found["email"], browser=browser, address=address)
        async with self.records.unit(system(tenant_id)) as unit:
            await self.outbox.queue(unit, notice)

    async def _add(
        self, caller: Caller, account: Record, added: Stamp, *, called: str
    ) -> list[str]:
        codes = new_recovery_codes()
        is_first = False

        def stamped(found: Record) -> Record:
            nonlocal is_first
            is_first = not has_second_factor(found)
            hashes = {"recovery_hashes": _hashes(codes, account)} if is_first else {}
            return {**added(found), **hashes}

        await self._change(caller, account, stamped, ADDED_FACTOR, label=called)
        return codes if is_first else []

    async def _remove(
        self, caller: Caller, account: Record, removed: Stamp, *, called: str
    ) -> None:
        def stamped(found: Record) -> Record:
            changed = removed(found)
            is_guarded = has_second_factor({**found, **changed})
            return changed if is_guarded else {**NO_FACTORS, **changed}

        await self._change(caller, account, stamped, REMOVED_FACTOR, label=called)

    async def _change(
        self, caller: Caller, account: Record, stamp: Stamp, action: str, *, label: str
    ) -> None:
        tenant_id = TenantId(account["tenant_id"])
        site = await self.sites.of(tenant_id)
        async with self.records.unit(system(tenant_id)) as unit:
            # As it is now: another browser may have changed it since the page was opened.
            found = await unit.require(superusers, {"id": account["id"]})
            await unit.update(superusers, account["id"], {}, stamped=stamp(found))
            log_action(unit, action, label=label, by=caller)
            await self._tell(unit, account, site, Words(_TOLD[action], {"factor": label}))

    async def _tell(self, unit: Unit, account: Record, site: Site, what: str) -> None:
        own = site.for_staff(account)
        await self.outbox.queue(
            unit, write_email("factors_changed", own, account["email"], what=what)
        )


_TOLD = {
    ADDED_FACTOR: marked("A second factor was added: %(factor)s."),
    REMOVED_FACTOR: marked("A second factor was removed: %(factor)s."),
    RESET_FACTORS: marked(
        "All second factors of %(factor)s were removed, and every sign-in has ended."
    ),
    MADE_RECOVERY_CODES: marked("New recovery codes were made. The earlier ones no longer work."),
}


def _called(passkey: Passkey) -> str:
    return words("passkey “%(name)s”", name=passkey.name)


def _hashes(codes: list[str], account: Record) -> list[str]:
    return [hash_recovery_code(each, account["id"]) for each in codes]
