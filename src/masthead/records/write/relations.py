"""What must hold between the records of a tenant: relations lead to records that are there, and
some records can't be the last of their kind to go.

Everything is asked inside a unit, whose tenant takes turns to write, so that no answer is old.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any

from masthead.errors import BadRequest, Invalid
from masthead.records.collection import Collection, Pointer, Record
from masthead.records.fields.relation import OnDelete, Relation, missing_relation
from masthead.records.fields.relation_list import RelationList
from masthead.records.read.query import decoded
from masthead.records.write.parts import Parts

if TYPE_CHECKING:
    from masthead.records.write.unit import Unit

CASCADE_STEP = 500


async def check_relations(
    unit: Unit,
    parts: Parts,
    collection: Collection,
    record: Record,
    changed: Container[str] | None = None,
) -> None:
    """What is pointed at exists, and agrees: a reply's parent stands under the same post.

    Asked beforehand, because a database only says that some foreign key failed, and after a
    failed statement the transaction is of no more use.
    """
    for relation in collection.pointers:
        if not record[relation.name] or (changed is not None and relation.name not in changed):
            continue
        if not await _leads_somewhere(unit, parts, relation, record):
            same = relation.same if isinstance(relation, Relation) else ()
            raise Invalid({relation.name: missing_relation(relation.to, same).problem})


async def _leads_somewhere(unit: Unit, parts: Parts, relation: Pointer, record: Record) -> bool:
    target, value = parts.registry[relation.to], record[relation.name]
    if isinstance(relation, RelationList):
        statement = parts.writes.existing(target)
        keys = {"tenant": unit.tenant_id, "keys": parts.writes.list_value(value)}
        return len(await unit.fetch(statement, keys)) == len(value)
    found = await unit.find(target, {"id": value}, limit=1)
    return bool(found) and all(found[0][name] == record[name] for name in relation.same)


async def check_not_last(
    unit: Unit, collection: Collection, old: Record, new: Record | None
) -> None:
    """Of the last two of a kind only one can go. The platform's own records are no tenant's."""
    if collection.last_kept is None or not unit.tenant_id:
        return
    name, value = collection.last_kept
    if old[name] != value or (new is not None and new[name] == value):
        return
    if len(await unit.find(collection, {name: value}, limit=2)) < 2:
        raise BadRequest(
            f"This is the last record with the {name} {value}, and there must be one. "
            f"Give another one the {name} {value} first."
        )


async def pointing(
    unit: Unit, parts: Parts, source: Collection, relation: Pointer, record_id: str
) -> list[Record]:
    """Some of the records that point at one that is about to go."""
    statement = parts.writes.pointing(source, relation)
    values = {"tenant": unit.tenant_id, "target": record_id, "limit": CASCADE_STEP}
    return [decoded(source).record(row) for row in await unit.fetch(statement, values)]


def goes_along(relation: Pointer) -> bool:
    """Whether a record is deleted with the one that it points at."""
    if isinstance(relation, RelationList):
        return False
    return relation.on_delete is OnDelete.CASCADE or relation.required


def without(relation: Pointer, record: Record, target_id: str) -> Any:
    """The relation's value when what it points at is gone."""
    if isinstance(relation, RelationList):
        return [each for each in record[relation.name] if each != target_id]
    return ""
