"""Where an import writes: the tenant's records, and the list of what was imported."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

import msgspec

from masthead.base.caller import Caller, system
from masthead.base.ids import TenantId
from masthead.engine.events.names import EVENT_NAMES
from masthead.engine.records.changes import PreparedTexts
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.faces.importers.write.dry_unit import AnyUnit, DryUnit
from masthead.faces.importers.write.previous_imports import Item, PreviousImports


class Destination(msgspec.Struct, frozen=True):
    records: Records
    previous: PreviousImports
    tenant_id: TenantId
    namespace: str
    """`opening.id_namespace` of the export."""
    emit_events: bool = False
    consent: str = ""
    """How the members agreed to get newsletters."""
    dry_run: bool = False
    _coming_posts: set[int] = msgspec.field(default_factory=set)
    """Hashes of the keys of posts that a dry run would have written so far."""

    @property
    def caller(self) -> Caller:
        return system(self.tenant_id)

    @asynccontextmanager
    async def unit(self, prepared: PreparedTexts | None = None) -> AsyncIterator[AnyUnit]:
        if self.dry_run:
            yield DryUnit(self.records, self.caller, self.tenant_id)
            return
        # By their names, as those of the past: nobody is welcomed who joined somewhere else.
        emitted = EVENT_NAMES if self.emit_events else False
        async with self.records.unit(self.caller, emit_events=emitted, prepared=prepared) as unit:
            yield unit

    async def items(self, keys: Iterable[str], unit: AnyUnit | None = None) -> dict[str, Item]:
        return await self.previous.items(self.namespace, keys, unit)

    async def save(self, unit: AnyUnit, items: Mapping[str, Item]) -> None:
        if isinstance(unit, Unit):
            await self.previous.save(unit, self.namespace, items)
        else:
            posts = (key for key, item in items.items() if item.collection == "posts")
            self._coming_posts.update(map(hash, posts))

    def is_coming(self, post_key: str) -> bool:
        """Whether a run would have written the post by now."""
        return hash(post_key) in self._coming_posts

    def item_of(
        self, record: Record, collection: str, fingerprint: str, known: Item | None
    ) -> Item:
        """`known` is that of an earlier import, whose run has created the record."""
        run_id = known.run_id if known else self.previous.run_id
        return Item(collection, record["id"], fingerprint, record["version"], run_id)
