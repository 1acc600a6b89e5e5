"""The `expand` parameter: adds related records that the caller may see."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from masthead.base.caller import Caller
from masthead.base.errors import BadRequest
from masthead.engine.records.access import access_of
from masthead.engine.records.collection import TENANT_ID, Collection, Pointer, Record
from masthead.engine.records.fields.relation import Relation
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.registry import Registry

MAX_DEPTH = 6
MAX_PATHS = 50
MAX_CHARACTERS = 3_500
MAX_RELATED = 1_000
"""Records per back-relation; a client lists the others by themselves."""
MAX_SHOWN = 20_000
"""Records in an answer with expansions. A record counts each time it appears."""


class Expansion(msgspec.Struct):
    """`post_id.tenant_id,comments_via_post_id` as a tree of names."""

    steps: dict[str, Expansion] = msgspec.field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Expansion | None:
        if not text.strip():
            return None
        if len(text) > MAX_CHARACTERS:
            raise BadRequest(f"The expand parameter is over {MAX_CHARACTERS} characters.")
        root = cls()
        # As in PocketBase, what goes beyond the limits is left out without a word.
        for path in text.split(",")[:MAX_PATHS]:
            names = [name.strip() for name in path.split(".")]
            level = root
            for name in names[:MAX_DEPTH]:
                level = level.steps.setdefault(name, cls())
        return root


def with_relations(
    collection: Collection, names: frozenset[str] | None, expansion: Expansion | None
) -> frozenset[str] | None:
    """Adds the fields that expanding reads, even where the answer leaves them out."""
    if names is None or expansion is None:
        return names
    return names | {each.name for each in collection.pointers} | {"tenant_id"}


class Expander(msgspec.Struct, frozen=True):
    """Adds `expand` to records in place. Unknown, hidden and locked relations are left out.

    Each relation reads at most `max_bytes`. A record may appear several times, so the appearances
    are limited as well."""

    registry: Registry
    find_related: Callable[..., Awaitable[list[Record]]]
    """`RecordReader.find_related`."""
    caller: Caller
    max_bytes: int | None = None

    async def expand(
        self, collection: Collection, items: Sequence[Record], expansion: Expansion
    ) -> None:
        await self._expand(collection, items, expansion)
        counted: dict[int, int] = {}
        if sum(_count_shown(item, counted) for item in items) > MAX_SHOWN:
            raise BadRequest(
                f"The expansions would show more than {MAX_SHOWN:,} records. "
                "Expand fewer relations, or ask for fewer records."
            )

    async def _expand(
        self, collection: Collection, items: Sequence[Record], expansion: Expansion
    ) -> None:
        """For a caller without a tenant the items hold their `tenant_id`. It is removed afterwards
        if the caller may not read it."""
        access = access_of(self.caller)
        for name, nested in expansion.steps.items():
            relation = collection.by_name.get(name)
            if isinstance(relation, Relation | RelationList):
                if relation.read <= access:
                    await self._expand_forward(relation, items, nested)
                continue
            back = self.registry.back_relation(collection, name)
            if back and back[1].read <= access:
                await self._expand_backward(*back, items, nested)
        if self.caller.tenant_id is None and access < TENANT_ID.read:
            for item in items:
                del item["tenant_id"]

    async def _expand_forward(
        self, relation: Pointer, items: Sequence[Record], nested: Expansion
    ) -> None:
        keys = list({key for item in items for key in _keys(item, relation)})
        if not keys:
            return
        target = self.registry[relation.to]
        # Without a tenant several records may have the same id.
        limit = len(keys) if self.caller.tenant_id is not None else MAX_RELATED
        found = await self._find(target, "id", keys, limit)
        by_id = {(self._tenant_key(record), record["id"]): record for record in found}
        tenants = [self._tenant_key(item) for item in items]
        await self._expand_nested(target, found, nested)
        for tenant, item in zip(tenants, items, strict=True):
            shown = [key for key in _keys(item, relation) if (tenant, key) in by_id]
            if related := [by_id[tenant, key] for key in shown]:
                is_one = isinstance(relation, Relation)
                _add(item, relation.name, related[0] if is_one else related)

    async def _expand_backward(
        self, source: Collection, relation: Pointer, items: Sequence[Record], nested: Expansion
    ) -> None:
        found = await self._find(source, relation.name, [each["id"] for each in items], MAX_RELATED)
        grouped: dict[tuple[str, str], list[Record]] = {}
        for record in found:
            for key in _keys(record, relation):
                grouped.setdefault((self._tenant_key(record), key), []).append(record)
        await self._expand_nested(source, found, nested)
        for item in items:
            if related := grouped.get((self._tenant_key(item), item["id"])):
                _add(item, f"{source.name}_via_{relation.name}", related)

    async def _expand_nested(
        self, collection: Collection, found: Sequence[Record], nested: Expansion
    ) -> None:
        for record in found:
            record["collectionId"] = collection.id
            record["collectionName"] = collection.name
        await self._expand(collection, found, nested)

    async def _find(
        self, collection: Collection, name: str, keys: Sequence[str], limit: int
    ) -> list[Record]:
        return await self.find_related(
            self.caller, collection, name, keys, limit=limit, max_bytes=self.max_bytes
        )

    def _tenant_key(self, record: Record) -> str:
        """Ids are unique within a tenant. Where the caller has one, all records are in it."""
        return record["tenant_id"] if self.caller.tenant_id is None else ""


def _count_shown(record: Record, counted: dict[int, int]) -> int:
    """How many records the answer shows for this one, itself included; memoized in `counted`."""
    known = counted.get(id(record))
    if known is None:
        known = 1
        for value in record.get("expand", {}).values():
            related = value if isinstance(value, list) else [value]
            known += sum(_count_shown(each, counted) for each in related)
        counted[id(record)] = known
    return known


def _keys(record: Record, relation: Pointer) -> list[str]:
    """The ids that the record's relation holds."""
    value = record.get(relation.name)
    if not value:
        return []
    return [value] if isinstance(relation, Relation) else value


def _add(item: Record, name: str, value: Record | list[Record]) -> None:
    item.setdefault("expand", {})[name] = value
