"""Checks that hold in a database after any crash, read past the service and its engine."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from typing import Any

import asyncpg
from tests.databases import run_apart
from tests.durability.load import Load

from masthead.engine.records.fields.values import Flag
from masthead.service.schema import registry
from masthead.storage.urls import sqlite_path

BIRTH = {"posts": "post.created", "comments": "comment.posted"}
DEATH = {"posts": "post.deleted", "comments": "comment.deleted"}

Rows = list[tuple[Any, ...]]
Facts = dict[str, Rows]

_COUNTED = {
    f"{collection.name}/{counter.name}": (
        f"SELECT {', '.join(('tenant_id', *counter.fields))} FROM {collection.name}"
    )
    for collection in registry.collections
    for counter in collection.counters
}
_STATEMENTS = {
    **_COUNTED,
    "posts": "SELECT id, version, title FROM posts",
    "comments": "SELECT id, version, post_id FROM comments",
    "counts": "SELECT tenant_id, collection, counter, bucket, total FROM record_counts",
    "events": "SELECT collection, record_id, name FROM events ORDER BY version, ordinal",
    "behind": "SELECT events.tenant_id FROM events LEFT JOIN tenant_states "
    "ON tenant_states.tenant_id = events.tenant_id "
    "WHERE tenant_states.version IS NULL OR tenant_states.version < events.version",
}
_SQLITE_CHECKS = {
    "integrity": "PRAGMA integrity_check",
    "foreign keys": "PRAGMA foreign_key_check",
}


def read_facts(url: str) -> Facts:
    path = sqlite_path(url)
    if path is None:
        found: Facts = run_apart(lambda: _read_postgres(url))
        return found
    with closing(sqlite3.connect(path)) as connection:
        return {
            name: connection.execute(statement).fetchall()
            for name, statement in {**_STATEMENTS, **_SQLITE_CHECKS}.items()
        }


async def _read_postgres(url: str) -> Facts:
    connection = await asyncpg.connect(url)
    try:
        return {
            name: [tuple(row) for row in await connection.fetch(statement)]
            for name, statement in _STATEMENTS.items()
        }
    finally:
        await connection.close()


def check(url: str, load: Load) -> None:
    facts = read_facts(url)
    check_promises(facts, load)
    check_counters(facts)
    check_events(facts)
    assert facts["behind"] == []
    assert facts.get("integrity", [("ok",)]) == [("ok",)]
    assert facts.get("foreign keys", []) == []


def check_promises(facts: Facts, load: Load) -> None:
    """Everything acknowledged is there; what was cut off happened as a whole or not at all."""
    titles = {record_id: title for record_id, _, title in facts["posts"]}
    comments = {record_id for record_id, *_ in facts["comments"]}
    for post in load.posts.values():
        found = titles.get(post.id)
        assert found in post.possible(), f"{post} is {found}"
        # An attempt that was open is decided now.
        post.acknowledged, post.is_settled = found, True
        for comment in post.comments:
            assert (comment in comments) == (found is not None), f"{comment} of {post}"
    assert titles.keys() <= load.posts.keys()


def check_counters(facts: Facts) -> None:
    kept = {tuple(key): total for *key, total in facts["counts"] if total}
    counted: Counter[tuple[str, ...]] = Counter()
    for name in _COUNTED:
        collection, _, counter = name.partition("/")
        for tenant_id, *stored in facts[name]:
            values = _as_counted(collection, counter, stored)
            for bucket in _buckets(values, counts_items=counter.startswith("each ")):
                counted[tenant_id, collection, counter, bucket] += 1
    assert kept == dict(counted)


def _as_counted(collection: str, counter: str, stored: list[Any]) -> list[Any]:
    """SQLite has 0 and 1 for a flag."""
    fields = registry[collection].by_name
    (names,) = [each.fields for each in registry[collection].counters if each.name == counter]
    return [
        bool(value) if isinstance(fields[name], Flag) else value
        for name, value in zip(names, stored, strict=True)
    ]


def _buckets(values: list[Any], *, counts_items: bool) -> list[str]:
    if not counts_items:
        return ["\x1f".join(str(value) for value in values)]
    items, *others = values
    return ["\x1f".join((item, *map(str, others))) for item in json.loads(items)]


def check_events(facts: Facts) -> None:
    """No row without its events, no event without its row."""
    happened: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for collection, record_id, name in facts["events"]:
        happened[collection, record_id].append(name)
    alive = {
        (collection, record_id): version
        for collection in BIRTH
        for record_id, version, _ in facts[collection]
    }
    for key in alive.keys() | happened.keys():
        names, collection = happened[key], key[0]
        assert names.count(BIRTH[collection]) == 1, (key, names)
        assert names.count(DEATH[collection]) == (key not in alive), (key, names)
        if key in alive and collection == "posts":
            assert names.count("post.updated") == alive[key] - 1, (key, names)
