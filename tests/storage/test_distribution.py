"""The statements of `docs/scaling.md` that distribute the schema by tenant (Citus), held against
the schema and against what requests really run."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.databases import fresh_postgres_url
from tests.v1.keys import key_client
from tests.world import RunningClock, open_world

from masthead.service.schema import complete_metadata
from masthead.storage.database import EVERY_TENANT, Scope, Statement
from masthead.storage.postgres.database import PostgresDatabase, PostgresTransaction

PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"
TENANT = "tenant_id"


@dataclass(frozen=True)
class Layout:
    """The tables of the page, by what it does with them."""

    local: list[str]
    reference: list[str]
    distributed: list[str]
    new_keys: dict[str, list[str]]

    @classmethod
    def of_page(cls) -> Layout:
        text = PAGE.read_text()
        (block,) = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
        keys = re.findall(r"ALTER TABLE (\w+) [^;]*ADD PRIMARY KEY \(([^)]+)\)", block)
        return cls(
            local=re.findall(r"citus_add_local_table_to_metadata\('(\w+)'\)", block),
            reference=re.findall(r"create_reference_table\('(\w+)'\)", block),
            distributed=re.findall(r"create_distributed_table\('(\w+)', 'tenant_id'", block),
            new_keys={table: columns.split(", ") for table, columns in keys},
        )

    def primary_key(self, table: sa.Table) -> list[str]:
        return self.new_keys.get(table.name) or [column.name for column in table.primary_key]


@pytest.fixture(scope="module")
def layout() -> Layout:
    return Layout.of_page()


def test_every_table_has_one_place(layout: Layout) -> None:
    named = [*layout.local, *layout.reference, *layout.distributed]
    assert sorted(named) == sorted(complete_metadata().tables)


def test_the_keys_of_distributed_tables_contain_the_tenant(layout: Layout) -> None:
    for name in layout.distributed:
        table = complete_metadata().tables[name]
        key = layout.primary_key(table)
        # The leases of a webhook are found by the webhook first; the tenant is part of the key.
        assert key[0] == TENANT or (name, key[1]) == ("webhook_leases", TENANT), name
        for index in table.indexes:
            if index.unique:
                assert TENANT in index.columns, index.name


def test_foreign_keys_stay_within_a_tenant(layout: Layout) -> None:
    for table in complete_metadata().tables.values():
        for key in table.foreign_key_constraints:
            target = key.referred_table.name
            if table.name in layout.reference or target in layout.reference:
                assert target in layout.reference, (table.name, target)
                continue
            pairs = {(each.parent.name, each.column.name) for each in key.elements}
            assert (TENANT, TENANT) in pairs, (table.name, target)
            assert target in layout.distributed, (table.name, target)
            assert table.name in layout.distributed, (table.name, target)
            # Citus can't set a key that contains the tenant to null.
            assert key.ondelete in {None, "CASCADE", "RESTRICT", "NO ACTION"}, table.name


@dataclass
class Recorded:
    statements: list[tuple[Scope, Statement]] = field(default_factory=list)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """Every statement that reaches the database, with its scope."""
    found = Recorded()
    scopes: dict[int, Scope] = {}
    read, begin = PostgresDatabase._read, PostgresTransaction.begin
    ready, defer = PostgresTransaction._ready_for, PostgresTransaction.defer

    async def recording_read(self: Any, connection: Any, scope: Scope, *rest: Any) -> Any:
        found.statements.append((scope, rest[0]))
        return await read(self, connection, scope, *rest)

    async def recording_begin(self: Any, scope: Scope) -> None:
        scopes[id(self)] = scope
        await begin(self, scope)

    async def recording_ready(self: Any, statement: Statement) -> None:
        found.statements.append((scopes[id(self)], statement))
        await ready(self, statement)

    def recording_defer(self: Any, *deferrals: Any) -> None:
        found.statements += [(scopes[id(self)], each.statement) for each in deferrals]
        defer(self, *deferrals)

    monkeypatch.setattr(PostgresDatabase, "_read", recording_read)
    monkeypatch.setattr(PostgresTransaction, "begin", recording_begin)
    monkeypatch.setattr(PostgresTransaction, "_ready_for", recording_ready)
    monkeypatch.setattr(PostgresTransaction, "defer", recording_defer)
    return found


READ_BY_KEY = [
    "posts",
    "posts?q=tide&tag=sea",
    "media",
    "members",
    "comments",
    "site-settings",
    "mailings",
    "webhooks",
    "webhooks/events",
]
READ_BY_GUEST = [
    "/",
    "/posts/a-tide",
    "/tags/sea",
    "/archive",
    "/feed.xml",
    "/sitemap.xml",
    "/search?q=tide",
]
READ_BY_OWNER = [
    "posts/records?filter=title~'A'&expand=authors",
    "blog_members/records",
    "site_settings/records",
    "comments/records",
    "media/records",
]


async def test_every_statement_of_a_request_names_its_tenant(
    layout: Layout, recorded: Recorded, tmp_path: Path
) -> None:
    world = await open_world(fresh_postgres_url(), tmp_path, RunningClock())
    tenant = await world.new_tenant("coast")
    await tenant.published(title="A tide", tags=["sea"])
    key, owner = await key_client(tenant), await tenant.owner()
    recorded.statements.clear()

    text = {"content_html": "<p>Tides.</p>", "status": "published", "tags": ["sea"]}
    made = await key.post("/api/v1/posts", json={"title": "Another"} | text)
    path = f"/api/v1/posts/{made.json()['data']['id']}"
    answers = [made, await key.get(path), await key.patch(path, json={"title": "Changed"})]
    answers += [await key.delete(path)]
    answers += [await key.get(f"/api/v1/{each}") for each in READ_BY_KEY]
    answers += [await tenant.guest.get(each) for each in READ_BY_GUEST]
    answers += [await owner.api.get(f"/api/collections/{each}") for each in READ_BY_OWNER]
    await world.parts.close()

    assert {each.status_code for each in answers} <= {200, 201, 204}
    assert len(recorded.statements) > len(answers)
    unfiltered = {
        (scope == EVERY_TENANT, table, statement.text)
        for scope, statement in recorded.statements
        for table in statement.tables or ()
        if table in layout.distributed and not names_tenant(statement, table)
    }
    assert unfiltered == set()


def names_tenant(statement: Statement, table: str) -> bool:
    """Whether it gives the tenant of the table's rows, under the table's name or an alias."""
    text, names = statement.text, [table]
    if table != statement.target:
        names += [rf"{table}_\d+", *re.findall(rf"\b{table} AS (\w+)", text)]
    column = rf"(?:{'|'.join(names)})\.tenant_id"
    given = rf"{column} = (?:\$\d|CAST\(\$\d|\w+\.tenant_id)|\.tenant_id = {column}"
    inserted = rf"INSERT INTO {table} \([^)]*\btenant_id\b"
    return bool(re.search(given, text) or re.search(inserted, text))
