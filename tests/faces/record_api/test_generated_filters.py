"""Filters by chance, with modifiers, relations and paths into documents, put to PocketBase itself
and to the record store with the same records: the same rows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from tests.faces.record_api.peer import Peer, running_peer
from tests.world import TenantWorld, records_of

SEED = 29
TAGS = ["red", "Red", "blue", "green"]
POSTS: list[dict[str, Any]] = [
    {"title": "none", "excerpt": "", "visibility": "public", "tags": [], "content_json": None},
    {
        "title": "One",
        "excerpt": "A first 100%",
        "visibility": "public",
        "tags": ["red"],
        "content_json": {"meta": {"depth": 2, "lang": "en", "live": True, "words": ["a", "b"]}},
    },
    {
        "title": "two",
        "excerpt": "second_line",
        "visibility": "members",
        "tags": ["Red", "blue"],
        "content_json": {"meta": {"depth": 3, "lang": "de", "live": False, "words": []}},
    },
    {
        "title": "THREE",
        "excerpt": 'it\'s "third"',
        "visibility": "paid",
        "tags": ["red", "blue", "green"],
        "content_json": {"meta": {"depth": "2", "lang": "", "live": "true", "words": "a"}},
    },
    {
        "title": "other",
        "excerpt": "other",
        "visibility": "members",
        "tags": ["Red"],
        "content_json": {"meta": {"depth": None, "lang": None, "live": 0}},
    },
]
COMMENTS: list[tuple[str, str, str, str, int | None]] = [
    # The post, the author, the words, the status, and the comment that it answers.
    ("One", "Ann", "first", "approved", None),
    ("two", "Ann", "first", "approved", None),
    ("two", "Bob", "second", "pending", None),
    ("THREE", "Cy", "re_ply 50%", "spam", None),
    ("THREE", "own", "own", "approved", 3),
    ("two", "other", "First", "approved", 2),
]
PRODUCTS: list[dict[str, Any]] = [
    {"name": "free", "price": 0, "active": True},
    {"name": "cheap", "price": 2, "active": False},
    {"name": "Two", "price": 250, "active": True},
    {"name": "dear", "price": 100000, "active": False},
]
PATHS = {
    "posts": (
        *("title", "title:lower", "excerpt", "excerpt:lower", "visibility", "visibility:lower"),
        *("tags:length", "tags:each", "tags", "id"),
        *(f"content_json.meta.{name}" for name in ("depth", "lang", "live", "nope", "words.0")),
        *(f"comments_via_post_id.{name}" for name in ("id", "body", "author_name", "status")),
        *("comments_via_post_id.parent_id.body", "comments_via_post_id.body:lower"),
        *("comments_via_post_id.post_id.title", "comments_via_post_id.post_id.tags:each"),
    ),
    "comments": (
        *("body", "body:lower", "author_name", "status", "parent_id", "post_id"),
        *("post_id.title", "post_id.title:lower", "post_id.tags:length", "post_id.tags:each"),
        *("post_id.content_json.meta.depth", "post_id.content_json.meta.lang"),
        *("parent_id.body", "parent_id.parent_id.body", "parent_id.post_id.title"),
        *("comments_via_parent_id.body", "comments_via_parent_id.id"),
    ),
    "products": ("name", "name:lower", "price", "active", "id"),
}
VALUES = (
    # A number next to a text is read as 1.0 by PocketBase: no text here looks like one.
    *("''", "'red'", "'Red'", "'one'", "'One'", "'first'", "'Ann'", "'a'", "'2'", "'en'", "'%st'"),
    *("'re\\_ply'", "'100%'", '"it\'s"', "0", "1", "2", "3", "250", "2.5", "true", "false", "null"),
)
SIGNS = ("=", "!=", ">", ">=", "<", "<=", "~", "!~")


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    with running_peer(tmp_path_factory.mktemp("pocketbase")) as peer:
        _make_collections(peer)
        for each in POSTS:
            peer.post(records_of("posts"), {"id": _id(each["title"]), **each})
        for number, each in enumerate(COMMENTS):
            peer.post(records_of("comments"), _comment(number, *each))
        for each in PRODUCTS:
            peer.post(records_of("products"), {"id": _id(each["name"]), **each})
        yield peer


def _make_collections(peer: Peer) -> None:
    def make(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
        shape = {"name": name, "type": "base", "fields": list(fields)}
        return peer.post("/api/collections", shape)

    def texts(*names: str) -> list[dict[str, Any]]:
        return [{"name": name, "type": "text"} for name in names]

    choices = {"type": "select", "maxSelect": 1}
    posts = make(
        "posts",
        *texts("title", "excerpt"),
        {**choices, "name": "visibility", "values": ["public", "members", "paid"]},
        {**choices, "name": "tags", "values": TAGS, "maxSelect": len(TAGS)},
        {"name": "content_json", "type": "json"},
    )
    status = {**choices, "name": "status", "values": ["approved", "pending", "spam"]}
    to_post = {
        "name": "post_id",
        "type": "relation",
        "collectionId": posts["id"],
        "maxSelect": 1,
    }
    comments = make("comments", *texts("author_name", "body"), status, to_post)
    to_parent = to_post | {"name": "parent_id", "collectionId": comments["id"]}
    peer.patch("/api/collections/comments", {"fields": [*comments["fields"], to_parent]})
    number, flag = {"name": "price", "type": "number"}, {"name": "active", "type": "bool"}
    make("products", *texts("name"), number, flag)


def _comment(
    number: int, post: str, author: str, body: str, status: str, answers: int | None
) -> dict[str, Any]:
    return {
        "id": _id(f"comment{number}"),
        "post_id": _id(post),
        "author_name": author,
        "body": body,
        "status": status,
        "parent_id": "" if answers is None else _id(f"comment{answers}"),
    }


def _id(start: str) -> str:
    return start.lower().ljust(15, "x")


@pytest.fixture
async def shelf(tenant: TenantWorld) -> TenantWorld:
    for each in POSTS:
        await tenant.published(id=_id(each["title"]), **each)
    for number, each in enumerate(COMMENTS):
        await tenant.create("comments", _comment(number, *each))
    for product in PRODUCTS:
        await tenant.create("products", {"id": _id(product["name"]), **product})
    return tenant


def generated(count: int) -> Iterator[tuple[str, str]]:
    """Collections and filters, always the same ones."""
    chance = random.Random(SEED)
    for _ in range(count):
        collection = chance.choices(tuple(PATHS), (6, 4, 1))[0]
        yield collection, _expression(chance, collection, depth=chance.choice((0, 0, 1, 2)))


def _expression(chance: random.Random, collection: str, depth: int) -> str:
    if depth == 0:
        return _comparison(chance, collection)
    parts = [_expression(chance, collection, depth - 1) for _ in range(chance.choice((2, 2, 3)))]
    joined = chance.choice((" && ", " || ")).join(parts)
    return f"({joined})" if depth > 1 or chance.random() < 0.3 else joined


def _comparison(chance: random.Random, collection: str) -> str:
    left = chance.choice(PATHS[collection])
    is_value = chance.random() < 0.85
    alike = [each for each in PATHS[collection] if _type(each) == _type(left)]
    right = chance.choice(VALUES) if is_value else chance.choice(alike)
    sign = chance.choice(("", "", "?"))
    if "tags" in (left, right):
        # Ours compares the items of a list then, where PocketBase needs `:each`.
        sign = ""
    if chance.random() < 0.1:
        left, right = right, left
    return f"{left} {sign}{chance.choice(SIGNS)} {right}"


def _type(path: str) -> str:
    """Two fields of different types are compared by SQLite's rules in PocketBase, row by row: a
    text that looks like a number is one beside a number, and a text elsewhere."""
    if path in ("price", "active") or path.endswith(":length"):
        return path
    return "document" if "content_json" in path else "text"


@pytest.mark.parametrize("number", [50, pytest.param(2_000, marks=pytest.mark.sweep)])
async def test_generated_filters_find_what_pocketbase_finds(
    peer: Peer, shelf: TenantWorld, number: int
) -> None:
    owner = await shelf.owner()
    differences = []
    for collection, expression in generated(number):
        path = records_of(collection)
        answer = await owner.api.get(path, params={"filter": expression, "perPage": 100})
        ours = (
            sorted(item["id"] for item in answer.json()["items"])
            if answer.status_code == 200
            else answer.json()["message"]
        )
        theirs = peer.found(path, expression, "id")
        if ours != theirs:
            differences.append(f"{collection}: {expression}\n  {ours}\n  PocketBase {theirs}")
    assert not differences, f"{len(differences)} of {number}\n" + "\n".join(differences)
