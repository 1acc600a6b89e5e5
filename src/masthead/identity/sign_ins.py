"""The sign-ins of accounts: each can be listed and ended on its own.

A session token names its sign-in. Without the row the token is refused: ending a sign-in deletes
the row and changes the tenant's identity version, by which every process drops what it has cached
of the tenant's sessions.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from masthead.base import clock, ids
from masthead.base.caller import Caller, Kind, in_tenant, system
from masthead.base.config.tokens import hash_token
from masthead.base.ids import TenantId
from masthead.engine.audit.collection import ENDED_SIGN_INS
from masthead.engine.audit.entries import log_action
from masthead.engine.records.accounts import new_token_key
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.identity.last_uses import LastUses
from masthead.identity.tables import sign_ins
from masthead.identity.tenants import superusers
from masthead.storage.database import Bound, scope_of
from masthead.storage.table_rows import TableRows

SEEN_INTERVAL = timedelta(minutes=10)
MAX_USER_AGENT = 300
MAX_LISTED = 100
PROOF_LASTS = timedelta(minutes=15)
"""Sensitive steps need a proof that is not older."""


class Client(msgspec.Struct, frozen=True):
    """From where an account signs in, for its owner to recognize."""

    address: str = ""
    user_agent: str = ""


class SignIn(msgspec.Struct, frozen=True):
    id: str
    address: str
    user_agent: str
    created: str
    last_seen: str
    """Up to ten minutes old."""
    expires: str


class SignIns:
    def __init__(self, records: Records) -> None:
        self._records = records
        self._database = database = records.database
        self._uses = LastUses(database, sign_ins.name, "last_seen", SEEN_INTERVAL)
        self._rows = TableRows(database, sign_ins)

    async def begin(
        self,
        collection: Collection,
        account: Record,
        client: Client,
        lifetime: timedelta,
        *,
        proved_at: str | None = None,
    ) -> str:
        """The id of a new sign-in. No cache can know of it yet, so no version changes.
        `proved_at`: of one that follows another, when its person proved who they are; else now."""
        now = self._records.clock()
        values = {
            "tenant_id": account["tenant_id"],
            "id": ids.new_id(),
            "member_id": None,
            "staff_id": None,
            _owner_column(collection): account["id"],
            "account_mark": hash_token(account["token_key"]),
            "address": client.address,
            "user_agent": _printable(client.user_agent)[:MAX_USER_AGENT],
            "created": clock.to_text(now),
            "last_seen": clock.to_text(now),
            "proved_at": clock.to_text(now) if proved_at is None else proved_at,
            "expires": clock.to_text(now + lifetime),
        }
        await self._execute(account["tenant_id"], self._rows.insert(values))
        return str(values["id"])

    async def extend(self, tenant_id: str, sign_in: str, lifetime: timedelta) -> bool:
        """For a new token of the same sign-in; False if it has been ended."""
        now = self._records.clock()
        values = {"last_seen": clock.to_text(now), "expires": clock.to_text(now + lifetime)}
        extended = self._rows.update(values, _key(tenant_id, sign_in))
        return bool(await self._execute(tenant_id, extended))

    async def is_open(self, tenant_id: str, sign_in: str, account_id: str) -> bool:
        owner = self._rows.select(("member_id", "staff_id"), _key(tenant_id, sign_in))
        rows = await self._database.fetch(scope_of(TenantId(tenant_id)), *owner)
        return any(account_id in (member_id, staff_id) for member_id, staff_id in rows)

    async def proved_at(self, tenant_id: str, sign_in: str) -> str:
        """When its person has last proved who they are; empty if that is unknown."""
        proved = self._rows.select(("proved_at",), _key(tenant_id, sign_in))
        rows = await self._database.fetch(scope_of(TenantId(tenant_id)), *proved)
        return str(rows[0][0]) if rows else ""

    async def is_proved(self, caller: Caller, left: timedelta = timedelta()) -> bool:
        """Whether the proof of staff or an operator is fresh enough for a sensitive step, and will
        be for the time that has to be left."""
        # An operator may act in a tenant, but has no account there.
        home = "" if caller.kind is Kind.OPERATOR else caller.tenant_id or ""
        proved = await self.proved_at(home, caller.sign_in)
        return bool(proved) and proved > clock.to_text(self._records.clock() - PROOF_LASTS + left)

    async def prove(self, tenant_id: str, sign_in: str) -> None:
        values = {"proved_at": clock.to_text(self._records.clock())}
        await self._execute(tenant_id, self._rows.update(values, _key(tenant_id, sign_in)))

    def seen(self, tenant_id: str, sign_in: str, now: datetime) -> None:
        """Written later, and only now and then."""
        self._uses.record(tenant_id, sign_in, now)

    async def of(self, collection: Collection, account: Record) -> list[SignIn]:
        """Those that are open, the one seen last first."""
        key = {**_of(collection, account), "account_mark": hash_token(account["token_key"])}
        now = {"expires": clock.to_text(self._records.clock())}
        listed = self._rows.select(
            SignIn.__struct_fields__, key, later=now, newest=("last_seen", MAX_LISTED)
        )
        rows = await self._database.fetch(scope_of(TenantId(account["tenant_id"])), *listed)
        return [SignIn(*row) for row in rows]

    async def end(self, collection: Collection, account: Record, sign_in: str) -> bool:
        """Its tokens are refused from now on, by every process; False if there was none."""
        # Asked first: a change, even of nothing, empties the tenant's caches.
        if not await self.is_open(account["tenant_id"], sign_in, account["id"]):
            return False
        key = {**_of(collection, account), "id": sign_in}
        async with self._records.unit(system(TenantId(account["tenant_id"]))) as unit:
            removed = await unit.execute(*self._rows.delete(key))
            await unit.mark_identity()
        return bool(removed)

    async def end_all(
        self, collection: Collection, account: Record, *, by: Caller | None = None
    ) -> None:
        """Also ends what has no row: sessions that are older than this table, and links. `by`: who
        has ended those of another account, for the log."""
        stamped = {"token_key": new_token_key()}
        tenant_id = TenantId(account["tenant_id"])
        async with self._records.unit(system(tenant_id)) as unit:
            await self._renew(unit, collection, account, stamped)
            if by is not None:
                label = account["email"] if collection is superusers else ""
                about = (collection.name, account["id"])
                log_action(unit, ENDED_SIGN_INS, label=label, by=by, about=about)

    async def set_password(
        self,
        caller: Caller,
        collection: Collection,
        account: Record,
        credentials: Mapping[str, Any],
    ) -> None:
        """In the name of the caller, who needs no link; ends every sign-in of the account."""
        tenant_id = TenantId(account["tenant_id"])
        async with self._records.unit(in_tenant(caller, tenant_id)) as unit:
            await self._renew(unit, collection, account, credentials)

    async def _renew(
        self, unit: Unit, collection: Collection, account: Record, stamped: Mapping[str, Any]
    ) -> None:
        await unit.execute(*self._rows.delete(_of(collection, account)))
        await unit.update(collection, account["id"], {}, stamped=stamped)

    async def sweep(self) -> None:
        await self._rows.sweep("expires", self._records.clock())

    async def flush(self) -> None:
        await self._uses.flush()

    async def _execute(self, tenant_id: str, bound: Bound) -> int:
        async with self._database.transaction(scope_of(TenantId(tenant_id))) as tx:
            return await tx.execute(*bound)


def _key(tenant_id: str, sign_in: str) -> dict[str, str]:
    return {"tenant_id": tenant_id, "id": sign_in}


def _of(collection: Collection, account: Record) -> dict[str, str]:
    return {"tenant_id": account["tenant_id"], _owner_column(collection): account["id"]}


def _owner_column(collection: Collection) -> str:
    return "staff_id" if collection is superusers else "member_id"


def _printable(text: str) -> str:
    return "".join(each for each in text if each.isprintable())
