"""The `expand` parameter: adds related records that the caller may see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from masthead.base.errors import BadRequest
from masthead.engine.records.access import access_of
from masthead.engine.records.collection import TENANT_ID, Collection, Pointer, Record
from masthead.engine.records.fields.relation import Relation
from masthead.engine.records.fields.relation_list import RelationList

if TYPE_CHECKING:
    from masthead.base.caller import Caller
    from masthead.engine.records.read.record_reader import RecordReader

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


async def expand_records(
    records: RecordReader,
    caller: Caller,
    collection: Collection,
    items: Sequence[Record],
    *,
    expansion: Expansion,
    max_bytes: int | None = None,
) -> None:
    """Adds `expand` to the items in place. Unknown, hidden and locked relations are left out.

    Each relation reads at most `max_bytes`. A record may appear several times, so the appearances
    are limited as well."""
    await _expand(records, caller, collection, items, expansion=expansion, max_bytes=max_bytes)
    counted: dict[int, int] = {}
    if sum(_count_shown(item, counted) for item in items) > MAX_SHOWN:
        raise BadRequest(
            f"The expansions would show more than {MAX_SHOWN:,} records. "
            "Expand fewer relations, or ask for fewer records."
        )


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


async def _expand(
    records: RecordReader,
    caller: Caller,
    collection: Collection,
    items: Sequence[Record],
    *,
    expansion: Expansion,
    max_bytes: int | None,
) -> None:
    """For a caller without a tenant the items hold their `tenant_id`. It is removed afterwards if
    the caller may not read it."""
    await _expand_all(records, caller, collection, items, expansion=expansion, max_bytes=max_bytes)
    if caller.tenant_id is None and access_of(caller) < TENANT_ID.read:
        for item in items:
            del item["tenant_id"]


async def _expand_all(
    records: RecordReader,
    caller: Caller,
    collection: Collection,
    items: Sequence[Record],
    *,
    expansion: Expansion,
    max_bytes: int | None,
) -> None:
    for name, nested in expansion.steps.items():
        relation = collection.by_name.get(name)
        if isinstance(relation, Relation | RelationList):
            if relation.read <= access_of(caller):
                await _expand_forward(
                    records, caller, relation, items, nested=nested, max_bytes=max_bytes
                )
            continue
        back = records.registry.back_relation(collection, name)
        if back and back[1].read <= access_of(caller):
            await _expand_backward(
                records, caller, *back, items=items, nested=nested, max_bytes=max_bytes
            )


async def _expand_forward(
    records: RecordReader,
    caller: Caller,
    relation: Pointer,
    items: Sequence[Record],
    *,
    nested: Expansion,
    max_bytes: int | None,
) -> None:
    keys = list({key for item in items for key in _keys(item, relation)})
    if not keys:
        return
    target = records.registry[relation.to]
    # Without a tenant several records may have the same id.
    limit = len(keys) if caller.tenant_id is not None else MAX_RELATED
    found = await records.find_related(caller, target, "id", keys, limit=limit, max_bytes=max_bytes)
    by_id = {(_tenant_key(caller, record), record["id"]): record for record in found}
    tenants = [_tenant_key(caller, item) for item in items]
    await _expand_nested(records, caller, target, found, nested=nested, max_bytes=max_bytes)
    for tenant, item in zip(tenants, items, strict=True):
        related = [by_id[tenant, key] for key in _keys(item, relation) if (tenant, key) in by_id]
        if related:
            is_one = isinstance(relation, Relation)
            _add(item, relation.name, related[0] if is_one else related)


async def _expand_backward(
    records: RecordReader,
    caller: Caller,
    source: Collection,
    relation: Pointer,
    *,
    items: Sequence[Record],
    nested: Expansion,
    max_bytes: int | None,
) -> None:
    keys = [item["id"] for item in items]
    found = await records.find_related(
        caller, source, relation.name, keys, limit=MAX_RELATED, max_bytes=max_bytes
    )
    grouped: dict[tuple[str, str], list[Record]] = {}
    for record in found:
        for key in _keys(record, relation):
            grouped.setdefault((_tenant_key(caller, record), key), []).append(record)
    await _expand_nested(records, caller, source, found, nested=nested, max_bytes=max_bytes)
    for item in items:
        if related := grouped.get((_tenant_key(caller, item), item["id"])):
            _add(item, f"{source.name}_via_{relation.name}", related)


def _keys(record: Record, relation: Pointer) -> list[str]:
    """The ids that the record's relation holds."""
    value = record.get(relation.name)
    if not value:
        return []
    return [value] if isinstance(relation, Relation) else value


def _tenant_key(caller: Caller, record: Record) -> str:
    """Ids are unique within a tenant. Where the caller has one, all records are in it."""
    return record["tenant_id"] if caller.tenant_id is None else ""


async def _expand_nested(
    records: RecordReader,
    caller: Caller,
    collection: Collection,
    found: Sequence[Record],
    *,
    nested: Expansion,
    max_bytes: int | None,
) -> None:
    for record in found:
        record["collectionId"] = collection.id
        record["collectionName"] = collection.name
    await _expand(records, caller, collection, found, expansion=nested, max_bytes=max_bytes)


def _add(item: Record, name: str, value: Record | list[Record]) -> None:
    item.setdefault("expand", {})[name] = value
