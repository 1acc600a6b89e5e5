"""Modifiers in filters and sorts, put to PocketBase itself and to the record store with the same
records. PocketBase's counterpart of a list is a field with several choices."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.faces.record_api.peer import Peer, running_peer
from tests.world import TenantWorld, records_of

POSTS = records_of("posts")
CHOICES = ["red", "Red", "blue", "green"]
SHELF: dict[str, list[str]] = {
    "none": [],
    "One": ["red"],
    "two": ["Red", "blue"],
    "THREE": ["red", "blue", "green"],
    "other": ["Red"],
}
_OPERATORS = ("=", "!=", ">", ">=", "<", "<=", "~", "!~")
TABLE = [
    f"title:lower {operator} {operand}"
    for operator in _OPERATORS
    for operand in ("'one'", "'One'", "'t'", "''", "title", "null")
] + [
    f"{operand} {operator} title:lower"
    for operator in _OPERATORS
    for operand in ("'one'", "'One'", "title")
] + [
    f"tags:length {sign}{operator} {operand}"
    for operator in _OPERATORS[:6]
    for sign in ("", "?")
    for operand in ("0", "1", "2", "'1'")
] + [
    f"tags:each {sign}{operator} {operand}"
    for operator in _OPERATORS
    for sign in ("", "?")
    for operand in ("'red'", "'Red'", "'r'", "''", "title")
] + [
    "tags:each ?= 'red' && tags:length > 1",
    "tags:each = 'red' || title:lower = 'two'",
    "tags:each != 'red' && tags:each ?= 'blue'",
]  # fmt: skip
SORTS = (
    *("title:lower", "-title:lower", "tags:length,title", "-tags:length,-title:lower"),
    *("tags:each,title", "-tags:each,title", "title:length", "title:each", "-title:length"),
)
REFUSED = ("title:length = 1", "title:each = 'a'", "title:isset = true", "title:changed = true")


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    with running_peer(tmp_path_factory.mktemp("pocketbase")) as peer:
        fields = [
            {"name": "title", "type": "text"},
            {"name": "tags", "type": "select", "values": CHOICES, "maxSelect": 4},
        ]
        peer.post("/api/collections", {"name": "posts", "type": "base", "fields": fields})
        for title, tags in SHELF.items():
            peer.post(POSTS, {"title": title, "tags": tags})
        yield peer


@pytest.fixture
async def shelf(tenant: TenantWorld) -> TenantWorld:
    for title, tags in SHELF.items():
        await tenant.post(title=title, tags=tags)
    return tenant


@pytest.mark.parametrize("table", [TABLE[::5], pytest.param(TABLE, marks=pytest.mark.sweep)])
async def test_filters_with_modifiers_find_what_pocketbase_finds(
    peer: Peer, shelf: TenantWorld, table: list[str]
) -> None:
    owner = await shelf.owner()
    differences = []
    for expression in table:
        answer = await owner.api.get(POSTS, params={"filter": expression, "perPage": 100})
        assert answer.status_code == 200, (expression, answer.text)
        ours = sorted(item["title"] for item in answer.json()["items"])
        theirs = peer.found(POSTS, expression, "title")
        if ours != theirs:
            differences.append(f"{expression}: {ours}, PocketBase {theirs}")
    assert not differences, f"{len(differences)} of {len(table)}\n" + "\n".join(differences)


async def test_sorts_with_modifiers_have_pocketbases_order(peer: Peer, shelf: TenantWorld) -> None:
    owner = await shelf.owner()
    for sort in SORTS:
        items = (await owner.api.get(POSTS, params={"sort": sort})).json()["items"]
        theirs = peer.get(f"{POSTS}?sort={sort}")["items"]
        assert [each["title"] for each in items] == [each["title"] for each in theirs], sort


async def test_a_modifier_that_does_not_fit_is_refused(shelf: TenantWorld) -> None:
    owner = await shelf.owner()
    for expression in REFUSED:
        refused = await owner.api.get(POSTS, params={"filter": expression})
        assert refused.status_code == 400, expression
        assert expression.split(" ")[0].partition(":")[2] in refused.json()["message"]
    assert (await owner.api.get(POSTS, params={"sort": "title:nope"})).status_code == 400
