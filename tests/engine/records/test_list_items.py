"""Lists by tag are walked in order, and after any changes they say what the records say."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest
import sqlalchemy as sa
from tests.tiers import representatives
from tests.world import Account, TenantWorld, World, records_of

from masthead.base.caller import guest, system
from masthead.engine.records.access import access_of
from masthead.engine.records.derived.list_items import listed_values
from masthead.engine.records.filter.parser import parse_cached
from masthead.engine.records.read.context import Context
from masthead.engine.records.read.page import ListRequest, unusual_values
from masthead.engine.records.read.query import Shape
from masthead.engine.records.read.sorting import parse_sort
from masthead.engine.records.write.slugs import slugify
from masthead.storage.database import EVERY_TENANT, Statement, scope_of

on_sqlite = pytest.mark.parametrize("service", ["sqlite"], indirect=True)
"""PostgreSQL plans by its statistics."""

TAGS = ["news", "it's", 'a "b"', "Ünïcode", "x,y"]


async def listed(tenant: TenantWorld) -> set[tuple[str, str, str, str]]:
    database, table = tenant.world.parts.database, listed_values
    rows = await database.fetch(
        scope_of(tenant.id),
        database.compile(
            sa.select(table.c.field, table.c.value, table.c.created, table.c.record_id).where(
                table.c.tenant_id == sa.bindparam("tenant"), table.c.collection == "posts"
            )
        ),
        (tenant.id, "posts"),
    )
    return {tuple(row) for row in rows}


@pytest.mark.parametrize("seed", representatives(range(2)))
async def test_after_any_changes(
    tenant: TenantWorld, app: World, owner: Account, seed: int
) -> None:
    chance = random.Random(seed)
    records, posts, caller = app.parts.records, app.collection("posts"), system(tenant.id)
    made: dict[str, Any] = {}
    for _ in range(60):
        values = {
            "title": "x",
            "tags": chance.sample(TAGS, chance.randrange(4)),
            "status": chance.choice(["draft", "published"]),
        }
        kind = chance.choice(["create", "create", "update", "delete", "fail"])
        if kind == "create" or not made:
            async with records.unit(caller, emit_events=chance.random() < 0.5) as unit:
                record = await unit.create(posts, values)
            made[record["id"]] = record
        elif kind == "update":
            key = chance.choice(list(made))
            made[key] = await records.update(caller, posts, key, values)
        elif kind == "delete":
            await records.delete(caller, posts, made.popitem()[0])
        else:
            with suppress(ZeroDivisionError):
                async with records.unit(caller) as unit:
                    await unit.create(posts, values)
                    raise ZeroDivisionError
    by_tag = {
        ("tags", tag, post["created"], post["id"]) for post in made.values() for tag in post["tags"]
    }
    on_the_site = {
        (*listing, post["published_at"], post["id"])
        for post in made.values()
        if post["status"] == "published"
        for listing in (
            ("published", ""),
            ("published authors", ""),
            *(("published tags", slugify(tag)) for tag in post["tags"]),
        )
    }
    of_drafts = {
        ("draft tags", tag, post["created"], post["id"])
        for post in made.values()
        if post["status"] == "draft"
        for tag in post["tags"]
    }
    assert await listed(tenant) == by_tag | on_the_site | of_drafts
    for tag in TAGS:
        await _list_is_right(owner, list(made.values()), tag)


async def _list_is_right(owner: Account, made: list[Any], tag: str) -> None:
    escaped = tag.replace("'", "\\'")
    newest = sorted(made, key=lambda post: (post["created"], post["id"]), reverse=True)
    for status in ("", "draft", "published"):
        wanted = f"tags ?= '{escaped}'" + (f" && status = '{status}'" if status else "")
        for sort in ("", "-created", "created", "title"):
            params = {"filter": wanted, "sort": sort, "perPage": "100", "fields": "id"}
            answer = (await owner.api.get(records_of("posts"), params=params)).json()
            expected = [
                post["id"]
                for post in newest
                if tag in post["tags"] and status in ("", post["status"])
            ]
            got = [item["id"] for item in answer["items"]]
            assert sorted(got) == sorted(expected)
            assert answer["totalItems"] == len(expected)
            if sort in ("", "-created"):
                assert got == expected
            if sort == "created":
                assert got == expected[::-1]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("tags ?= 'news'", "ab"),
        ("tags ?= 'news' && tags ?= 'sea'", "a"),
        ("tags ?= 'news' || tags ?= 'sea'", "abc"),
        ("title = 'c' || tags ?= 'news'", "abc"),
        ("tags ?= 'News'", ""),
        ("tags ?= ''", ""),
        ("tags ?!= 'news'", "ac"),
        ("tags ?~ 'new'", "ab"),
        ("'news' ?= tags", "ab"),
        ("tags = '[\"news\"]'", "b"),
        ("tags = 'news'", ""),
    ],
)
async def test_the_filter_language(
    tenant: TenantWorld, owner: Account, expression: str, expected: str
) -> None:
    for title, tags in (("a", ["news", "sea"]), ("b", ["news"]), ("c", ["sea"]), ("d", [])):
        await tenant.post(title=title, tags=tags)
    params = {"filter": expression, "sort": "title"}
    answer = (await owner.api.get(records_of("posts"), params=params)).json()
    assert "".join(item["title"] for item in answer["items"]) == expected
    assert answer["totalItems"] == len(expected)


async def test_visitors_see_what_is_public(
    tenant: TenantWorld, other_tenant: TenantWorld, operator: Account
) -> None:
    await tenant.published(title="seen", tags=["news"])
    await tenant.post(title="draft", tags=["news"])
    await other_tenant.published(title="other", tags=["news"])
    params = {"filter": "tags ?= 'news'"}
    answer = (await tenant.guest.get(records_of("posts"), params=params)).json()
    assert [item["title"] for item in answer["items"]] == ["seen"]
    assert answer["totalItems"] == 1
    everywhere = (await operator.api.get(records_of("posts"), params=params)).json()
    assert {"seen", "draft", "other"} <= {item["title"] for item in everywhere["items"]}


@pytest.mark.parametrize("after", [None, ("2026-11-14T09:30:00.123Z", "a" * 15)])
@pytest.mark.parametrize("expression", ["tags ?= 'x'", "tags ?= 'x' && status = 'draft'"])
@on_sqlite
async def test_a_page_is_read_in_index_order_and_not_sorted(
    tenant: TenantWorld, app: World, expression: str, after: Any
) -> None:
    parsed = parse_cached(expression)
    wanted = ListRequest(filter=expression, after=after)
    caller = system(tenant.id)
    shape = Shape("posts", access_of(caller), True, filter=parsed.shape, after=after is not None)
    context = Context(caller, app.clock())
    statement = (await app.parts.records._queries.page(shape, parsed, context)).statement
    values = dict.fromkeys(statement.names, "x") | {"limit": wanted.per_page, "offset": 0}
    plan = await _plan(app, statement, values)
    assert plan[0].startswith("SEARCH listed_values")
    assert "created" not in plan[0] or after
    assert not any("TEMP B-TREE" in step or "SCAN" in step for step in plan)


@pytest.mark.parametrize(
    ("collection", "by"), [("posts", "id"), ("blog_members", "id"), ("comments", "post_id")]
)
@on_sqlite
async def test_related_records_are_found_by_their_keys(
    tenant: TenantWorld, app: World, collection: str, by: str
) -> None:
    shape = Shape(collection, access_of(system(tenant.id)), True)
    statement = app.parts.records._queries.some(shape, by).statement
    values = dict.fromkeys(statement.names, "x") | {"keys": "[]", "limit": 20}
    plan = await _plan(app, statement, values)
    assert f"(tenant_id=? AND {by}=?)" in plan[0]


@pytest.mark.parametrize(
    ("collection", "by"),
    [("orders", "payment_id"), ("media", "sha256"), ("blog_members", "payment_customer_id")],
)
@on_sqlite
async def test_records_are_found_by_an_indexed_value(
    tenant: TenantWorld, app: World, collection: str, by: str
) -> None:
    statement = app.parts.records._statements.find(app.collection(collection), (by,), True)
    values = dict.fromkeys(statement.names, "x") | {"limit": 1}
    plan = await _plan(app, statement, values)
    assert f"(tenant_id=? AND {by}=?)" in plan[0]


@pytest.mark.parametrize(
    ("collection", "expression"),
    [
        ("orders", "email = 'a@b.example'"),
        ("orders", "member_id = 'x'"),
        ("gift_cards", "email = 'a@b.example'"),
        ("comments", "post_id = 'x' && status = 'spam'"),
    ],
)
@on_sqlite
async def test_a_list_of_one_person_or_post_reads_no_others(
    tenant: TenantWorld, app: World, collection: str, expression: str
) -> None:
    parsed, caller = parse_cached(expression), system(tenant.id)
    shape = Shape(
        collection, access_of(caller), True, filter=parsed.shape, sort=parse_sort("-created")
    )
    context = Context(caller, app.clock())
    statement = (await app.parts.records._queries.page(shape, parsed, context)).statement
    values = dict.fromkeys(statement.names, "x") | {"limit": 20, "offset": 0}
    plan = await _plan(app, statement, values)
    assert f"(tenant_id=? AND {expression.partition(' ')[0]}=?)" in plan[0]
    assert len(plan) == 1


@on_sqlite
async def test_the_newest_sites_are_found_without_sorting_all_of_them(app: World) -> None:
    caller = system()
    shape = Shape("tenants", access_of(caller), has_tenant=False, sort=parse_sort("-created"))
    context = Context(caller, app.clock())
    statement = (await app.parts.records._queries.page(shape, None, context)).statement
    plan = await _plan(app, statement, {"limit": 50, "offset": 0})
    assert plan == ["SCAN tenants USING INDEX ix_tenants__created_id"]


async def _plan(app: World, statement: Any, values: dict[str, Any]) -> list[str]:
    database = app.parts.database
    explain = Statement(
        "EXPLAIN QUERY PLAN " + statement.text, statement.names, statement.constants
    )
    scope = scope_of(values["tenant"]) if "tenant" in values else EVERY_TENANT
    rows = await database.fetch(scope, explain, explain.bind(values))
    return [row[3] for row in rows]


@on_sqlite
async def test_a_search_in_titles_is_counted_in_an_index(tenant: TenantWorld, app: World) -> None:
    parsed, caller = parse_cached("title ~ 'x'"), guest(tenant.id)
    shape = Shape("posts", access_of(caller), True, filter=parsed.shape)
    total = await app.parts.records._queries.total(shape, parsed, Context(caller, app.clock()))
    plan = await _plan(app, total.statement, dict.fromkeys(total.statement.names, "x"))
    assert "USING COVERING INDEX ix_posts__public" in plan[0]


@on_sqlite
async def test_the_next_date_of_a_post_is_read_from_the_index_of_late_ones(
    tenant: TenantWorld, app: World
) -> None:
    statement = app.parts.records._queries.next_due(app.collection("posts"), "published_at")
    plan = await _plan(app, statement, dict.fromkeys(statement.names, "x"))
    index = "ix_posts__tenant_id_visibility_status_published_at"
    late = "(tenant_id=? AND visibility=? AND status=? AND published_at>?)"
    assert plan == [f"SEARCH posts USING INDEX {index} {late}"]


NEWER = (
    "post_id = 'x' && saved_at > '2026-01-01' && saved_at < '2026-01-02' && status != 'published'"
)


@pytest.mark.parametrize(
    ("collection", "expression", "sort", "index"),
    [
        ("posts", "status = 'draft'", "-created", "ix_posts__drafts_created"),
        ("posts", "status = 'draft'", "-updated", "ix_posts__drafts_updated"),
        ("posts", "status = 'published'", "-created", "ix_posts__tenant_id_created_id_status"),
        ("posts", "visibility = 'paid'", "-updated", "ix_posts__tenant_id_visibility_updated_id"),
        (
            "posts",
            "status = 'published' && visibility = 'public'",
            "-updated",
            "ix_posts__tenant_id_updated_id_status_visibility",
        ),
        ("post_revisions", NEWER, "", "ix_post_revisions__tenant_id_post_id_saved_at"),
    ],
)
@on_sqlite
async def test_a_list_of_few_records_has_an_index_of_these(
    tenant: TenantWorld, app: World, collection: str, expression: str, sort: str, index: str
) -> None:
    parsed, caller = parse_cached(expression), system(tenant.id)
    shape = Shape(
        collection,
        access_of(caller),
        True,
        filter=parsed.shape,
        sort=parse_sort(sort),
        unusual=unusual_values(app.parts.records.registry[collection], parsed),
    )
    context = Context(caller, app.clock())
    statement = (await app.parts.records._queries.page(shape, parsed, context)).statement
    values = dict.fromkeys(statement.names, "x") | {"limit": 20, "offset": 0}
    plan = await _plan(app, statement, values)
    assert f"USING INDEX {index} (" in plan[0]
