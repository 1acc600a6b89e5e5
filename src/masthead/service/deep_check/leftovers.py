"""Finds rows of sites that do not exist, in every table whose key begins with the site."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import sqlalchemy as sa

from masthead.service.deep_check.faults import Batch, Cursor, Fault, Look, Site
from masthead.service.schema import complete_metadata, registry, tables

_KEPT = frozenset(each.name for each in registry.collections if each.platform_records)
"""They may outlive their site: the receipt of its erasure, and what operators did."""


async def check_leftovers(look: Look, _: Site, after: Cursor) -> AsyncIterator[Batch]:
    for table in sorted(complete_metadata().tables.values(), key=lambda each: each.name):
        # SQLAlchemy's own kind of text can't be encoded.
        name = str(table.name)
        if next(iter(table.primary_key)).name != "tenant_id" or name in _KEPT:
            continue
        if after and name <= after[0]:
            continue
        faults, checked, last = [], 0, ""
        statement = look.statement(("next site", name), partial(_next, table))
        while True:
            async with look.snapshot() as snapshot:
                ((found, site),) = await snapshot.fetch(statement({"after": last}))
            if found is None:
                break
            checked, last = checked + 1, found
            if site is None:
                detail = "the table has rows of a site that does not exist; delete them"
                faults.append(Fault("orphans", name, found, detail))
        yield Batch((name,), checked, faults)


def _next(table: sa.Table) -> sa.Select[Any]:
    """The next tenant id in a table, and the id of its site: one step in an index, however many
    rows a site has."""
    t = tables["tenants"].c
    following = (
        sa.select(sa.func.min(table.c.tenant_id).label("found"))
        .where(table.c.tenant_id > sa.bindparam("after", required=True))
        .subquery()
    )
    site = sa.select(t.id).where(t.tenant_id == following.c.found, t.id == following.c.found)
    return sa.select(following.c.found, site.scalar_subquery())
