"""How many records there are, and how much happened on a day: read from counters where there are
some, so that no total reads rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from masthead.base.caller import Caller
from masthead.base.clock import Clock
from masthead.engine.records.access import access_of, allow_reading, scope_of_caller
from masthead.engine.records.collection import BUCKET_SEPARATOR, Collection
from masthead.engine.records.derived.daily_counts import ByDay, DailyCounts
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.parser import ParsedFilter, parse_given
from masthead.engine.records.read.context import Context
from masthead.engine.records.read.query import PreparedTotal, Queries, Shape
from masthead.storage.database import EVERY_TENANT, Database, Row

SUM_LASTS: Final = timedelta(minutes=1)
_HIGHEST_CHARACTER = "\U0010ffff"


class Counts:
    def __init__(
        self, database: Database, queries: Queries, daily: DailyCounts, now: Clock
    ) -> None:
        self._database = database
        self._queries = queries
        self._daily = daily
        self._clock = now
        self._sums: dict[tuple[str, str], tuple[datetime, int]] = {}

    async def total(self, caller: Caller, collection: Collection, given: str | Expression) -> int:
        """How many records that the caller may read match a filter, without reading any."""
        access = allow_reading(caller, collection)
        parsed = parse_given(given, for_admin=not caller.is_reader)
        shape = Shape(
            collection.name,
            access,
            caller.tenant_id is not None,
            filter=parsed.shape if parsed else None,
        )
        return await self.total_of(caller, shape, parsed, Context(caller, self._clock()))

    async def total_of(
        self, caller: Caller, shape: Shape, parsed: ParsedFilter | None, context: Context
    ) -> int:
        """The total of a list whose access is checked and whose filter is parsed."""
        # It depends neither on the order nor on the fields.
        bare = Shape(
            shape.collection,
            shape.access,
            shape.has_tenant,
            filter=shape.filter,
            search=shape.search,
        )
        prepared = await self._queries.total(bare, parsed, context)
        literals = parsed.values if parsed else ()
        values = self._total_values(prepared, literals)
        values["tenant"] = caller.tenant_id
        context.fill(prepared.statement.names, values)
        rows = await self._database.fetch(
            scope_of_caller(caller),
            prepared.statement,
            prepared.statement.bind(values),
            slow=prepared.is_slow,
        )
        return max(int(rows[0][0]), 0)

    def _total_values(self, prepared: PreparedTotal, literals: tuple[Any, ...]) -> dict[str, Any]:
        if prepared.plan:
            buckets = prepared.plan.buckets(literals) if prepared.plan.fixed else []
            return {
                **prepared.plan.values(literals),
                "buckets": self._database.list_value(buckets),
            }
        return {slot.parameter: slot.coerce(literals[slot.position]) for slot in prepared.slots}

    async def by_tenant(
        self, collection: Collection, tenant_ids: Sequence[str], *, summed: str = ""
    ) -> dict[str, int]:
        """How many records of the collection each of the tenants has, from a counter; with
        `summed`, the stored sum of that field."""
        statement = self._queries.tenant_totals(collection, summed)
        bound = statement.bind({"tenants": self._database.list_value(list(tenant_ids))})
        rows = await self._database.fetch(EVERY_TENANT, statement, bound)
        return {tenant_id: int(total) for tenant_id, total in rows}

    async def sum_of_all(self, collection: Collection, name: str) -> int:
        """The stored sum of a field over all tenants, at most `SUM_LASTS` old: it is read from one
        row of each."""
        key, now = (collection.name, name), self._clock()
        known = self._sums.get(key)
        # Also where the clock was set back.
        if known is None or abs(now - known[0]) >= SUM_LASTS:
            statement = self._queries.sum_of_all(collection, name)
            ((total,),) = await self._database.fetch(EVERY_TENANT, statement, statement.bind({}))
            known = self._sums[key] = now, int(total)
        return known[1]

    async def by_item(
        self,
        caller: Caller,
        collection: Collection,
        name: str,
        limit: int,
        *,
        begins: str = "",
        after: str = "",
    ) -> dict[str, int]:
        """How many records hold each item of a list field, from the counter of the field: the first
        items in the order of their text, of those that begin so and come after another one. Only
        for callers who may read every record: a counter knows no rule."""
        if collection.rules_for(access_of(caller)).read != "":
            return {}
        statement, per_item = self._queries.buckets(collection, name)
        values = {
            "tenant": caller.tenant_id,
            # After all buckets of that item: a blank follows the separator.
            "first": max(begins, f"{after} ") if after else begins,
            "last": f"{begins}{_HIGHEST_CHARACTER}",
            "limit": (limit + 1) * per_item,
        }
        rows = await self._database.fetch(
            scope_of_caller(caller), statement, statement.bind(values)
        )
        return dict(islice(_by_item(rows).items(), limit))

    async def of_items(
        self, caller: Caller, collection: Collection, name: str, items: Sequence[str]
    ) -> dict[str, int]:
        """How many records hold each of these items of a list field; those that none holds are left
        out. Only for callers who may read every record: a counter knows no rule."""
        if not items or collection.rules_for(access_of(caller)).read != "":
            return {}
        statement, buckets = self._queries.item_totals(collection, name, items)
        values = {"tenant": caller.tenant_id, "buckets": self._database.list_value(buckets)}
        bound = statement.bind(values)
        return _by_item(await self._database.fetch(scope_of_caller(caller), statement, bound))

    async def by_day(
        self,
        caller: Caller,
        collection: Collection,
        metrics: Sequence[str],
        since: str,
        *,
        subjects: Sequence[str] = ("",),
    ) -> dict[tuple[str, str], ByDay]:
        """Counts of what happened to a collection's records, by metric and subject, from the UTC
        day `since` on; a day without any is left out. Only for callers who may read every record,
        because a count knows no rule; others get those of the subject that they are."""
        if collection.rules_for(access_of(caller)).read != "":
            subjects = [each for each in subjects if each and each == caller.id]
        if not subjects or caller.tenant_id is None:
            return {}
        return await self._daily.read(
            scope_of_caller(caller), caller.tenant_id, metrics, subjects, since=since
        )


def _by_item(buckets: Sequence[Row]) -> dict[str, int]:
    """The sums of the totals of the items' buckets."""
    totals: dict[str, int] = {}
    for bucket, total in buckets:
        item = bucket.partition(BUCKET_SEPARATOR)[0]
        totals[item] = totals.get(item, 0) + total
    return totals
