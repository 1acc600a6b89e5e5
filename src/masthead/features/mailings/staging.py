"""Writes the recipients of a mailing.

Few are written in the transaction that starts it. Many would keep all other writers of an SQLite
file waiting, so they are staged before: in batches, each in a transaction of its own, while the
mailing still is `scheduled`. The transaction that starts it then only settles what has changed of
the members since the first batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

import sqlalchemy as sa

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.features.mailings.audience import is_in_audience, is_reader, is_welcome
from masthead.features.mailings.collection import SCHEDULED, mailings
from masthead.features.mailings.tables import IS_OPEN, RecipientState, mailing_recipients
from masthead.features.members.collection import blog_members, member_history
from masthead.storage.database import Database, Statement, scope_of

AT_ONCE: Final = 10_000
"""The most that are written in the transaction that starts a mailing: one statement, which a busy
PostgreSQL has to end within its time limit."""
BATCH: Final = 2_000
PAUSE_SECONDS: Final = 0.02
"""Between two batches, for all others who write."""
CLOCKS_DIFFER: Final = timedelta(minutes=5)
"""The most between two machines."""

_NAMES: Final = ("tenant_id", "member_id", "mailing_id", "state", "due_at")

Chosen = Mapping[str, Any]
"""A mailing, or what one would have: `newsletter`, `audience` and `labels`, and what
`whose_language` says."""


class Recipients:
    """Its methods run in the caller's unit, which holds the site's write lock."""

    def __init__(
        self,
        database: Database,
        tables: Mapping[str, sa.Table],
        *,
        at_once: int = AT_ONCE,
        batch: int = BATCH,
    ) -> None:
        self.at_once = at_once
        self._batch = batch
        self._database = database
        self._members = tables[blog_members.name]
        self._compiled: dict[tuple[Any, ...], Statement] = {}
        r = mailing_recipients.c
        here = (r.tenant_id == sa.bindparam("tenant"), r.mailing_id == sa.bindparam("mailing"))
        self._last = database.compile(sa.select(sa.func.max(r.member_id)).where(*here))
        self._began = database.compile(sa.select(sa.func.min(r.due_at)).where(*here, IS_OPEN))
        self._open = database.compile(
            sa.select(r.member_id).where(*here, IS_OPEN).limit(sa.literal_column("1"))
        )
        self._staged = database.compile(
            sa.select(sa.func.count()).select_from(mailing_recipients).where(*here)
        )
        self._discard = database.compile(sa.delete(mailing_recipients).where(*here))
        self._welcome = database.compile(self._one_welcomed(tables))

    async def count(self, unit: Unit, mailing: Chosen) -> int:
        """How many would get it now."""
        ((number,),) = await unit.fetch(self.number(mailing), self.values(unit.tenant_id, mailing))
        return int(number)

    def number(self, mailing: Chosen) -> Statement:
        def build() -> Any:
            chosen = sa.select(sa.func.count()).select_from(self._members)
            return chosen.where(*self._chosen(mailing))

        return self._statement("number", mailing, build)

    def values(self, tenant_id: TenantId | None, mailing: Chosen) -> dict[str, Any]:
        return {
            "tenant": tenant_id,
            "slug": mailing["newsletter"],
            "labels": self._database.list_value(mailing["labels"]),
            "language": mailing.get("language", ""),
            "without_languages": self._database.list_value(mailing.get("without_languages") or []),
        }

    async def write(self, unit: Unit, mailing: Record) -> int:
        """All of them."""
        insert = self._insert("write", mailing)
        return await unit.execute(insert, self._written(unit, mailing), slow=True)

    async def stage(self, unit: Unit, mailing: Record) -> bool:
        """The next batch. False: there is none."""
        m = self._members.c
        ((last,),) = await unit.fetch(self._last, _key(unit, mailing))
        insert = self._insert("stage", mailing, m.id > sa.bindparam("after"), most=self._batch)
        values = {**self._written(unit, mailing), "after": last or ""}
        return await unit.execute(insert, values, slow=True) == self._batch

    async def has_open(self, unit: Unit, mailing_id: str) -> bool:
        """Whether an email is still to be sent to one of them."""
        key = {"tenant": unit.tenant_id, "mailing": mailing_id}
        return bool(await unit.fetch(self._open, key))

    async def settle(self, unit: Unit, mailing: Record) -> int | None:
        """Puts right what was staged; returns how many recipients there are. None if nothing was
        staged."""
        ((began,),) = await unit.fetch(self._began, _key(unit, mailing))
        if not began:
            return None
        while await self.stage(unit, mailing):
            pass  # another worker was not ready yet
        r, m = mailing_recipients.c, self._members.c
        has_changed = (m.tenant_id == sa.bindparam("tenant"), m.updated >= sa.bindparam("since"))
        left = sa.select(m.id).where(*has_changed, sa.not_(sa.and_(*self._chosen(mailing))))
        here = (r.tenant_id == sa.bindparam("tenant"), r.mailing_id == sa.bindparam("mailing"))
        remove = self._statement(
            "remove",
            mailing,
            lambda: sa.delete(mailing_recipients).where(*here, r.member_id.in_(left)),
        )
        is_there = sa.exists().where(*here, r.member_id == m.id)
        add = self._insert("add", mailing, has_changed[1], sa.not_(is_there))
        since = clock.to_text(clock.from_text(began) - CLOCKS_DIFFER)
        values = {**self._written(unit, mailing), "since": since}
        for statement in (remove, add):
            await unit.execute(statement, values, slow=True)
        ((number,),) = await unit.fetch(self._staged, _key(unit, mailing))
        return int(number)

    async def welcome(self, unit: Unit, mailing: Record, member_id: str) -> bool:
        """Adds one member to a welcome email. False: they are there already, or may not get it."""
        values = {"member": member_id, "now": unit.now}
        return bool(await unit.execute(self._welcome, {**_key(unit, mailing), **values}))

    def _one_welcomed(self, tables: Mapping[str, sa.Table]) -> Any:
        r, m, mailing = mailing_recipients.c, self._members.c, tables[mailings.name].c
        is_there = sa.exists().where(
            r.tenant_id == m.tenant_id, r.mailing_id == mailing.id, r.member_id == m.id
        )
        due_at = sa.bindparam("now", type_=r.due_at.type)
        chosen = sa.select(
            m.tenant_id, m.id, mailing.id, sa.literal(RecipientState.PENDING.value), due_at
        )
        chosen = chosen.where(
            m.tenant_id == sa.bindparam("tenant"),
            m.id == sa.bindparam("member"),
            mailing.tenant_id == m.tenant_id,
            mailing.id == sa.bindparam("mailing"),
            is_welcome(m, tables[member_history.name].c, mailing.welcome),
            sa.not_(is_there),
        )
        return sa.insert(mailing_recipients).from_select(_NAMES, chosen)

    async def discard(self, unit: Unit, mailing: Record) -> None:
        await unit.execute(self._discard, _key(unit, mailing), slow=True)

    def _insert(
        self, name: str, mailing: Record, *conditions: Any, most: int | None = None
    ) -> Statement:
        def build() -> Any:
            r, m = mailing_recipients.c, self._members.c
            # By another name than in the conditions: PostgreSQL infers another type.
            mailing_id = sa.bindparam("mailing_id", type_=r.mailing_id.type)
            due_at = sa.bindparam("now", type_=r.due_at.type)
            state = sa.literal(RecipientState.PENDING.value)
            chosen = sa.select(m.tenant_id, m.id, mailing_id, state, due_at)
            chosen = chosen.where(*self._chosen(mailing), *conditions).order_by(m.id)
            if most is not None:
                chosen = chosen.limit(sa.literal_column(str(most)))
            return sa.insert(mailing_recipients).from_select(_NAMES, chosen)

        return self._statement(name, mailing, build)

    def _written(self, unit: Unit, mailing: Record) -> dict[str, Any]:
        values = {**self.values(unit.tenant_id, mailing), **_key(unit, mailing)}
        return {**values, "mailing_id": mailing["id"], "now": unit.now}

    def _statement(self, name: str, mailing: Chosen, build: Callable[[], Any]) -> Statement:
        """Compiles it once for all mailings whose conditions differ only in their values. Compiling
        takes some milliseconds, in which the event loop does nothing else."""
        has = (mailing["labels"], mailing.get("language"), mailing.get("without_languages"))
        key = (name, mailing["audience"], *map(bool, has))
        if key not in self._compiled:
            self._compiled[key] = self._database.compile(build())
        return self._compiled[key]

    def _chosen(self, mailing: Chosen) -> tuple[Any, ...]:
        m = self._members.c
        return (
            m.tenant_id == sa.bindparam("tenant"),
            is_reader(m, sa.bindparam("slug", required=True)),
            is_in_audience(m, dict(mailing)),
        )


async def stage_many(
    records: Records, recipients: Recipients, tenant_id: TenantId, mailing_id: str
) -> None:
    """Stages the recipients of a scheduled mailing that has too many to be written at once. After a
    crash, and with several workers, each batch continues where the last one ended."""
    for mailing in await records.find(mailings, {"id": mailing_id}, tenant_id=tenant_id):
        number = recipients.number(mailing)
        bound = number(recipients.values(tenant_id, mailing))
        database = records.database
        ((total,),) = await database.fetch(scope_of(tenant_id), *bound, slow=True)
        if total <= recipients.at_once:
            return
    while True:
        if not await _stage_batch(records, recipients, tenant_id, mailing_id):
            return
        await asyncio.sleep(PAUSE_SECONDS)


async def _stage_batch(
    records: Records, recipients: Recipients, tenant_id: TenantId, mailing_id: str
) -> bool:
    async with records.unit(system(tenant_id)) as unit:
        found = await unit.find_one(mailings, {"id": mailing_id})
        if not found or found["status"] != SCHEDULED:
            return False
        return await recipients.stage(unit, found)


def _key(unit: Unit, mailing: Record) -> dict[str, Any]:
    return {"tenant": unit.tenant_id, "mailing": mailing["id"]}
