"""Records the tokens in and out by tenant, day and payer."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa
from sqlalchemy import Column, PrimaryKeyConstraint, Table

from masthead.base import clock
from masthead.base.ids import TenantId
from masthead.storage import dialects
from masthead.storage.database import Database, scope_of
from masthead.storage.metadata import metadata

ai_usage = Table(
    "ai_usage",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    # UTC, as 2026-11-14.
    Column("day", dialects.Text(), nullable=False),
    # Whose key was used: `tenant` or `platform`.
    Column("payer", dialects.Text(), nullable=False),
    Column("calls", dialects.Integer(), nullable=False),
    Column("tokens_in", dialects.Integer(), nullable=False),
    Column("tokens_out", dialects.Integer(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "day", "payer"),
)


class DayOfUse(msgspec.Struct, frozen=True):
    calls: int
    tokens: int
    """In and out, with both keys."""


class Ledger:
    def __init__(self, database: Database, now: clock.Clock = clock.now) -> None:
        self._database = database
        self._clock = now
        keys = ("tenant_id", "day", "payer")
        self._add = database.compile(
            dialects.upsert_add(ai_usage, keys, "calls", "tokens_in", "tokens_out")
        )
        spent = sa.func.sum(ai_usage.c.tokens_in + ai_usage.c.tokens_out)
        self._spent = database.compile(
            sa.select(sa.cast(sa.func.coalesce(spent, 0), dialects.Integer())).where(
                ai_usage.c.tenant_id == sa.bindparam("tenant"),
                ai_usage.c.day == sa.bindparam("today"),
            )
        )

        self._by_day = database.compile(
            sa.select(
                ai_usage.c.day,
                sa.cast(sa.func.sum(ai_usage.c.calls), dialects.Integer()),
                sa.cast(spent, dialects.Integer()),
            )
            .where(
                ai_usage.c.tenant_id == sa.bindparam("tenant"),
                ai_usage.c.day >= sa.bindparam("since"),
            )
            .group_by(ai_usage.c.day)
        )

    async def record(
        self, tenant_id: TenantId, tokens_in: int, tokens_out: int, *, by_platform: bool
    ) -> None:
        values = {
            "tenant_id": tenant_id,
            "day": self._today(),
            "payer": "platform" if by_platform else "tenant",
            "calls": 1,
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
        }
        async with self._database.transaction(scope_of(tenant_id)) as tx:
            await tx.execute(*self._add(values))

    async def spent_today(self, tenant_id: TenantId) -> int:
        """Tokens in and out, with both keys."""
        values = {"tenant": tenant_id, "today": self._today()}
        rows = await self._database.fetch(scope_of(tenant_id), *self._spent(values))
        return int(rows[0][0])

    async def by_day(self, tenant_id: TenantId, since: str) -> dict[str, DayOfUse]:
        """From the UTC day `since` on; a day without calls is left out."""
        bound = self._by_day({"tenant": tenant_id, "since": since})
        rows = await self._database.fetch(scope_of(tenant_id), *bound)
        return {day: DayOfUse(calls, tokens) for day, calls, tokens in rows}

    def _today(self) -> str:
        return clock.to_text(self._clock())[:10]
