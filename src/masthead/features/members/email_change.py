"""Changes a member's email address after a confirmation by the new mailbox."""

from __future__ import annotations

import hmac
import math
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec

from masthead.base import clock, ids
from masthead.base.caller import Caller, Kind
from masthead.base.config.tokens import hash_token, new_token
from masthead.base.errors import BadRequest, Invalid, RateLimited
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.engine.records.accounts import new_token_key
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.fields.base import FieldError
from masthead.engine.records.write.unit import Unit
from masthead.features.members.collection import blog_members
from masthead.features.members.tables import email_changes
from masthead.features.site.address import Sites
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.outbox import Outbox
from masthead.storage.database import Bound, Row, scope_of
from masthead.storage.table_rows import TableRows

PATH = "/member/confirm-email"
LIFETIME = timedelta(hours=24)
PER_MEMBER = 5
PER_ADDRESS = 3
"""Requests within `LIFETIME`, so that no mailbox can be flooded."""

DEAD_LINK = words("This link has been used or has expired. Request a new one in your account.")
IN_USE = words("This email address now has its own account, so nothing was changed.")


class PendingChange(msgspec.Struct, frozen=True):
    member_id: str
    new_email: str
    account_mark: str


def new_address(caller: Caller, given: Mapping[str, Any]) -> str:
    """The new address in a member's request body, or '' if it is unchanged."""
    if "email" not in given:
        return ""
    try:
        wanted: str = blog_members.by_name["email"].check(given["email"])
    except FieldError as error:
        raise Invalid({"email": error.problem}) from None
    return "" if wanted == caller.email else wanted


class EmailChanges:
    def __init__(self, records: Records, outbox: Outbox, sites: Sites) -> None:
        self._records = records
        self._outbox = outbox
        self._sites = sites
        self._rows = TableRows(records.database, email_changes)

    async def request(self, unit: Unit, member: Record, new_email: str) -> None:
        """Mails the new address. Only that email says whether the address is taken: a different
        answer would reveal other members."""
        await self._check_limits(unit, member["id"], new_email)
        site = (await self._sites.of(unit.tenant_id)).for_member(member)
        is_taken = await unit.find(blog_members, {"email": new_email}, limit=1)
        token = await self._store(unit, member, new_email, is_open=not is_taken)
        if is_taken:
            mail = write_email("email_in_use", site, new_email)
        else:
            mail = write_email(
                "confirm_email", site, new_email, link=f"{site.url}{PATH}?token={token}"
            )
        await self._outbox.queue(unit, mail)

    async def find(self, tenant_id: TenantId, token: str) -> PendingChange:
        """The change of a valid link; raises BadRequest for others."""
        found = self._open(tenant_id, token)
        return _pending(await self._records.database.fetch(scope_of(tenant_id), *found))

    async def confirm(self, tenant_id: TenantId, token: str) -> PendingChange:
        """Changes the address, ends every session and notifies the old mailbox."""
        pending = await self.find(tenant_id, token)
        member = Caller(Kind.MEMBER, tenant_id, pending.member_id, "", blog_members.name)
        site = await self._sites.of(tenant_id)
        async with self._records.unit(member) as unit:
            # Checked again inside the transaction, for two concurrent clicks.
            pending = _pending(await unit.fetch(*self._open(tenant_id, token)))
            old = await self._check_unchanged(unit, pending)
            if await unit.find(blog_members, {"email": pending.new_email}, limit=1):
                raise BadRequest(IN_USE)
            await self._end_links(unit, pending.member_id)
            changed = {"name": old["name"], "new_email": pending.new_email}
            notice = write_email("email_changed", site.for_member(old), old["email"], **changed)
            # While the address is the member's, so that it is among the mails to the member.
            await self._outbox.queue(unit, notice)
            stamped = {
                "email": pending.new_email,
                "verified": True,
                "token_key": new_token_key(),
            }
            await unit.update(blog_members, pending.member_id, {}, stamped=stamped)
        return pending

    async def sweep(self) -> None:
        await self._rows.sweep("created", self._records.clock() - LIFETIME)

    async def _check_limits(self, unit: Unit, member_id: str, new_email: str) -> None:
        now = self._records.clock()
        since = {"created": clock.to_text(now - LIFETIME)}
        for limit, each in (
            (PER_MEMBER, {"member_id": member_id}),
            (PER_ADDRESS, {"new_email": new_email}),
        ):
            key = {"tenant_id": unit.tenant_id, **each}
            found = await unit.fetch(*self._rows.select(("created",), key, later=since))
            if len(found) >= limit:
                left = clock.from_text(min(created for (created,) in found)) + LIFETIME - now
                raise RateLimited(
                    max(math.ceil(left.total_seconds()), 1),
                    words("Too many new email addresses were requested. Try again tomorrow."),
                )

    async def _store(self, unit: Unit, member: Record, new_email: str, *, is_open: bool) -> str:
        """Only the newest link works."""
        await self._end_links(unit, member["id"])
        token = new_token()
        values = {
            "tenant_id": unit.tenant_id,
            "id": ids.new_id(),
            "member_id": member["id"],
            "new_email": new_email,
            "token_hash": hash_token(token) if is_open else "",
            "account_mark": hash_token(member["token_key"]),
            "created": clock.to_text(self._records.clock()),
        }
        await unit.execute(*self._rows.insert(values))
        return token

    async def _end_links(self, unit: Unit, member_id: str) -> None:
        key = {"tenant_id": unit.tenant_id, "member_id": member_id}
        await unit.execute(*self._rows.update({"token_hash": ""}, key))

    async def _check_unchanged(self, unit: Unit, pending: PendingChange) -> Record:
        found = await unit.find_one(blog_members, {"id": pending.member_id})
        mark = hash_token(found["token_key"]) if found else ""
        if found is None or not hmac.compare_digest(mark, pending.account_mark):
            raise BadRequest(DEAD_LINK)
        return found

    def _open(self, tenant_id: TenantId, token: str) -> Bound:
        key = {"tenant_id": tenant_id, "token_hash": hash_token(token)}
        since = {"created": clock.to_text(self._records.clock() - LIFETIME)}
        return self._rows.select(("member_id", "new_email", "account_mark"), key, later=since)


def _pending(rows: list[Row]) -> PendingChange:
    if not rows:
        raise BadRequest(DEAD_LINK)
    return PendingChange(*rows[0])
