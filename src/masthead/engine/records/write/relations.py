"""Constraints between the records of a tenant: relations point at existing records, and some values
must remain on at least one record.

Everything runs inside a unit, which holds the tenant's write lock, so that no check is outdated.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from masthead.base.errors import BadRequest, Invalid
from masthead.engine.records.collection import Collection, Pointer, Record
from masthead.engine.records.fields.relation import OnDelete, Relation, missing_relation
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.read.decoding import engine_decoder
from masthead.engine.records.write.transaction import TenantTransaction

CASCADE_STEP = 500


async def check_relations(
    unit: TenantTransaction,
    collection: Collection,
    record: Record,
    *,
    changed: Container[str] | None = None,
) -> None:
    """The targets exist and agree: a reply's parent belongs to the same post. Sets the root of a
    new record's chain.

    Checked before writing, because a database only says that some foreign key failed, and a failed
    statement ends the transaction.
    """
    for relation in collection.pointers:
        if not record[relation.name] or (changed is not None and relation.name not in changed):
            continue
        if isinstance(relation, RelationList):
            await _check_list(unit, relation, record)
        else:
            target = await _find_target(unit, relation, record)
            if relation.root:
                record[relation.root] = target[relation.root] or target["id"]


async def _check_list(unit: TenantTransaction, relation: RelationList, record: Record) -> None:
    value = record[relation.name]
    if len(await unit.existing(unit.registry[relation.to], value)) != len(value):
        raise Invalid({relation.name: missing_relation(relation.to).problem})


async def _find_target(unit: TenantTransaction, relation: Relation, record: Record) -> Record:
    found = await unit.find(unit.registry[relation.to], {"id": record[relation.name]}, limit=1)
    if not found or any(found[0][name] != record[name] for name in relation.same):
        raise Invalid({relation.name: missing_relation(relation.to, relation.same).problem})
    return found[0]


async def check_required_value(
    unit: TenantTransaction, collection: Collection, old: Record, new: Record | None
) -> None:
    """The last record with the collection's required value keeps it, except on the platform."""
    if collection.required_value is None or not unit.tenant_id:
        return
    name, value = collection.required_value
    if old[name] != value or (new is not None and new[name] == value):
        return
    if len(await unit.find(collection, {name: value}, limit=2)) < 2:
        raise BadRequest(
            f"This is the last record with the {name} {value}, and there must be one. "
            f"Give another one the {name} {value} first."
        )


async def find_dependents(
    unit: TenantTransaction,
    source: Collection,
    relation: Pointer,
    *,
    record_id: str,
    limit: int = CASCADE_STEP,
) -> list[Record]:
    """Some of the records that point at one, in no order."""
    statement = unit.context.statements.dependents(source, relation)
    values = {"tenant": unit.tenant_id, "target": record_id, "limit": limit}
    return [engine_decoder(source).record(row) for row in await unit.fetch(statement, values)]


def is_deleted_with_target(relation: Pointer) -> bool:
    """Whether records go with the record that this relation of theirs points at."""
    if isinstance(relation, RelationList):
        return False
    return relation.on_delete is OnDelete.CASCADE or relation.required


def value_without(relation: Pointer, record: Record, target: Record) -> Any:
    """The relation's value once the target is deleted. A chain closes over the gap."""
    if isinstance(relation, RelationList):
        return [each for each in record[relation.name] if each != target["id"]]
    return target[relation.name] if relation.root else ""


async def has_dependents(
    unit: TenantTransaction, collection: Collection, record_id: str, of: Container[str] = ()
) -> bool:
    """Whether a record of this collection, or of those named by `of`, points at the one with this
    id."""
    for source, relation in unit.registry.referrers[collection.name]:
        is_asked = source.name in of if of else source is collection
        if is_asked and await find_dependents(unit, source, relation, record_id=record_id, limit=1):
            return True
    return False
