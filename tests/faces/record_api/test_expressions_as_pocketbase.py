"""Whole documents, distances, long paths and the list of collections, put to PocketBase itself and
to the record store with the same records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.faces.record_api.peer import Peer, running_peer
from tests.world import Account, TenantWorld, World, records_of

ORDERS, COMMENTS = records_of("orders"), records_of("comments")
COLLECTIONS = "/api/collections"
LENGTH = 9
DOCUMENTS: dict[str, Any] = {
    "none": None,
    "list": [],
    "object": {},
    "one": [1],
    "blank": [""],
    "text": "x",
    "zero": 0,
    "false": False,
    "sofia": {"lon": 23.32, "lat": 42.69},
    "paris": {"lon": 2.35, "lat": 48.85},
    "words": {"lon": "east", "lat": "north"},
}
_OPERATORS = ("=", "!=", ">", ">=", "<", "<=", "~", "!~")
_OPERANDS = ("''", "null", "'[]'", "'{}'", "'x'", "'%l%n%'", "0", "1", "false", "email")
_FROM = "geoDistance(items.lon, items.lat, 23.3, 42.7)"
ORDER_TABLE = [
    f"items {operator} {operand}" for operator in _OPERATORS for operand in _OPERANDS
] + [
    f"{operand} {operator} items" for operator in ("=", "!=", ">", "<") for operand in _OPERANDS
] + [
    f"{_FROM} < 25",
    f"{_FROM} > 25",
    f"25 < {_FROM}",
    f"{_FROM} ?> 1700",
    f"{_FROM} = null",
    f"{_FROM} != ''",
    f"{_FROM} < '25'",
    f"{_FROM} ~ '17'",
    "geoDistance( items.lon,items.lat , -23.5,42, ) < 9000",
    "geoDistance(items, 0, 0, 0) = 0",
    "geoDistance(total, 0, 0, 0) = 0",
    "geoDistance(true, false, @day, null) = null",
    "geoDistance(1, 2, 3, 4) = geoDistance(1, 2, 3, 4)",
    "geoDistance(12, 34, 12, 34) < 0.001",
    "geoDistance(400, 0, 40, 0) < 0.001",
    "geoDistance(0, 95, 0, 85) > 1000",
]  # fmt: skip
REFUSED = (
    "geoDistance('1', 2, 3, 4) < 5",
    "geoDistance(1, 2, 3) < 5",
    "geoDistance() < 5",
    "geoDistance(1, 2, 3, 4, 5) < 5",
    "geodistance(1, 2, 3, 4) < 5",
    "geoDistance(geoDistance(1, 2, 3, 4), 2, 3, 4) < 5",
    "geoDistance(nope, 2, 3, 4) < 5",
    "geoDistance(1, 2, 3, 4)",
)
PATHS = [
    ".".join([*[step] * count, "body"]) + " ?= 'c4'"
    for step in ("parent_id", "comments_via_parent_id")
    for count in (1, 5, 6, 7, 8)
]
LISTS: list[dict[str, str]] = [
    *({"filter": each, "sort": "name"} for each in (
        "name = 'orders'", "'orders' = name", "name ~ 'ORD'", "name !~ 'or'", "name ~ 'o%s'",
        "name ?= 'orders'", "name > 'n'", "name >= 'orders' && name <= 'orders'", "name = ''",
        "name != null", "name = 1", "name > 5", "name < 5", "name = false", "1 = 1", "1 = '1'",
        "type = 'auth' && name ~ '_super'", "system = true && name ~ '_super'", "name = type",
        "system != true && name = 'orders'", "system = 1 && name ~ '_sup'", "system = '1' && 2 > 1",
        "system > 0", "system ~ '1'", "system = ''", "system = 'true'", "id = 'x'", "name = @now",
        "name = 'x' || (name = 'orders' && type = 'base')",
    )),
    *({"filter": each} for each in (
        "nope = 1", "fields ~ 'x'", "listRule = null", "name:lower = 'orders'", "name = 'orders",
        "@request.auth.id != ''", "name.x = 1", "1 = 2 && nope = 1",
    )),
    {"filter": "name ~ 'o'", "sort": "-name", "perPage": "1", "page": "2", "fields": "name"},
    {"filter": "name ~ 'o'", "sort": "type,-name", "skipTotal": "1"},
    {"filter": "name = 'orders'", "sort": "@random"},
    {"filter": "name ~ 'o'", "sort": "-@rowid"},
    {"sort": "viewRule"},
    {"sort": "name:lower"},
]  # fmt: skip
IN_BOTH = {"orders", "comments", "_superusers"}


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    with running_peer(tmp_path_factory.mktemp("pocketbase")) as peer:
        fields = [
            {"name": "email", "type": "text"},
            {"name": "items", "type": "json"},
            {"name": "total", "type": "number"},
        ]
        body = [{"name": "body", "type": "text"}]
        made = peer.post(COLLECTIONS, {"name": "comments", "type": "base", "fields": body})
        parent = {"name": "parent_id", "type": "relation", "collectionId": made["id"]}
        peer.patch(f"{COLLECTIONS}/comments", {"fields": [*made["fields"], parent]})
        peer.post(COLLECTIONS, {"name": "orders", "type": "base", "fields": fields})
        for name, items in DOCUMENTS.items():
            peer.post(ORDERS, {"email": f"{name}@example.com", "items": items})
        earlier = ""
        for number in range(LENGTH):
            earlier = peer.post(COMMENTS, {"body": f"c{number}", "parent_id": earlier})["id"]
        yield peer


@pytest.fixture
async def owner(tenant: TenantWorld) -> Account:
    for name, items in DOCUMENTS.items():
        await tenant.create("orders", {"email": f"{name}@example.com", "items": items})
    post, earlier = await tenant.published(), ""
    for number in range(LENGTH):
        comment = {"post_id": post["id"], "author_name": "Ann", "body": f"c{number}"}
        earlier = (await tenant.create("comments", {**comment, "parent_id": earlier}))["id"]
    return await tenant.owner()


async def found(api: httpx.AsyncClient, path: str, expression: str, name: str) -> Any:
    """Returns what a filter finds, or the status of its refusal."""
    answer = await api.get(path, params={"filter": expression, "perPage": 100})
    if answer.status_code != 200:
        return answer.status_code
    return sorted(item[name] for item in answer.json()["items"])


@pytest.mark.parametrize(
    ("path", "name", "table"),
    [(ORDERS, "email", [*ORDER_TABLE, *REFUSED]), (COMMENTS, "body", PATHS)],
    ids=["orders", "comments"],
)
async def test_filters_find_what_pocketbase_finds(
    peer: Peer, owner: Account, path: str, name: str, table: list[str]
) -> None:
    differences = []
    async with httpx.AsyncClient(base_url=peer.url, headers=peer.signed) as pocketbase:
        for expression in table:
            ours = await found(owner.api, path, expression, name)
            theirs = await found(pocketbase, path, expression, name)
            if ours != theirs:
                differences.append(f"{expression}: {ours}, PocketBase {theirs}")
        for count in (5, 6, 7):
            sort = ".".join([*["parent_id"] * count, "body"])
            answers = [
                await api.get(path, params={"sort": sort}) for api in (owner.api, pocketbase)
            ]
            if path == COMMENTS and answers[0].status_code != answers[1].status_code:
                differences.append(f"{sort}: {answers}")
    assert not differences, f"{len(differences)} of {len(table)}\n" + "\n".join(differences)


async def test_the_list_of_collections_is_filtered_and_sorted_as_pocketbases(
    app: World, peer: Peer, tenant: TenantWorld
) -> None:
    """Compares the collections that both have."""
    owner, differences = await tenant.owner(), []
    both = " || ".join(f"name = '{each}'" for each in sorted(IN_BOTH))
    async with httpx.AsyncClient(base_url=peer.url, headers=peer.signed) as pocketbase:
        for query in LISTS:
            wanted = dict(query)
            if "filter" in wanted:
                wanted["filter"] = f"({both}) && ({wanted['filter']})"
            ours, theirs = [
                essence(await api.get(COLLECTIONS, params=wanted))
                for api in (owner.api, pocketbase)
            ]
            if ours != theirs:
                differences.append(f"{query}: {ours}, PocketBase {theirs}")
    assert not differences, "\n".join(differences)


def essence(answer: httpx.Response) -> Any:
    if answer.status_code != 200:
        return answer.status_code
    body = answer.json()
    return [item["name"] for item in body["items"]], body["totalItems"], body["totalPages"]
