"""The stored lists of related posts, and how far each site is worked out."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import sqlalchemy as sa

from masthead.base.ids import TenantId
from masthead.engine.records.tables import tenant_states
from masthead.engine.records.write.unit import Unit
from masthead.features.posts.tables import related_marks, related_posts
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database, scope_of

Scores = dict[str, float]
"""How near each of the related posts is, by its id; the nearest first."""

_POSTS: Final = sa.table("posts", sa.column("tenant_id"), sa.column("id"))
_TRASH: Final = sa.table("trash", sa.column("tenant_id"), sa.column("record_id"))


class Mark(msgspec.Struct, frozen=True):
    tenant_id: TenantId
    version: int
    """The site's version now; in the table the one that was worked out."""
    updated: str
    post_id: str
    """The place of the last post that was looked at, in the order of `updated`."""


class RelatedRows:
    def __init__(self, database: Database) -> None:
        self._database = database
        rows, marks, states = related_posts.c, related_marks.c, tenant_states.c
        tenant: Any = sa.bindparam("tenant", required=True)
        post: Any = sa.bindparam("post", required=True)
        is_own = sa.and_(rows.tenant_id == tenant, rows.post_id == post)
        self._read = database.compile(sa.select(rows.related).where(is_own))
        self._remove = database.compile(sa.delete(related_posts).where(is_own))
        self._write = database.compile(
            dialects.upsert_set(related_posts, ("tenant_id", "post_id"), ("related",))
        )
        kept = sa.or_(
            sa.exists().where(_POSTS.c.tenant_id == rows.tenant_id, _POSTS.c.id == rows.post_id),
            # It may come back.
            sa.exists().where(
                _TRASH.c.tenant_id == rows.tenant_id, _TRASH.c.record_id == rows.post_id
            ),
        )
        self._drop_lost = database.compile(sa.delete(related_posts).where(~kept))
        self._changed = database.compile(
            sa.select(states.tenant_id, states.version, marks.updated, marks.post_id)
            .select_from(
                tenant_states.outerjoin(related_marks, marks.tenant_id == states.tenant_id)
            )
            .where(sa.or_(marks.version.is_(None), marks.version < states.version))
            # The site that waits for longest first.
            .order_by(sa.func.coalesce(marks.updated, ""))
            .limit(sa.bindparam("limit", required=True, type_=dialects.Integer()))
        )
        self._mark = database.compile(
            dialects.upsert_set(related_marks, ("tenant_id",), ("version", "updated", "post_id"))
        )

    async def read(self, tenant_id: TenantId, post_id: str) -> Scores:
        bound = self._read({"tenant": tenant_id, "post": post_id})
        found = await self._database.fetch(scope_of(tenant_id), *bound)
        return dict(msgspec.json.decode(found[0][0])) if found else {}

    async def write(self, unit: Unit, post_id: str, scores: Scores) -> None:
        tenant_id = unit.tenant_id
        if not scores:
            await unit.execute(self._remove, {"tenant": tenant_id, "post": post_id})
            return
        related = msgspec.json.encode([*scores.items()]).decode()
        row = {"tenant_id": tenant_id, "post_id": post_id, "related": related}
        await unit.execute(self._write, row)

    async def remove_lost(self) -> None:
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(*self._drop_lost({}), slow=True)

    async def changed_sites(self, limit: int) -> list[Mark]:
        found = await self._database.fetch(EVERY_TENANT, *self._changed({"limit": limit}))
        return [
            Mark(TenantId(tenant_id), version, updated or "", post_id or "")
            for tenant_id, version, updated, post_id in found
        ]

    async def write_mark(self, mark: Mark) -> None:
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(*self._mark(msgspec.structs.asdict(mark)))
