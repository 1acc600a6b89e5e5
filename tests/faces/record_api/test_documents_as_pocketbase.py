"""Filters inside JSON documents, put to PocketBase itself and to the record store with the same
records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.faces.record_api.peer import Peer, running_peer
from tests.world import TenantWorld, records_of

POSTS = records_of("posts")

DOCUMENTS: dict[str, Any] = {
    "none": None,
    "empty": {},
    "two": {"meta": {"depth": 2, "lang": "en", "live": True, "words": ["a", "b"]}},
    "three": {"meta": {"depth": 3, "lang": "de", "live": False, "words": []}},
    "text": {"meta": {"depth": "2", "lang": "", "live": "true", "words": "a"}},
    "half": {"meta": {"depth": 2.5, "lang": "En", "live": 1, "words": ["b"]}},
    "null": {"meta": {"depth": None, "lang": None, "live": None, "words": None}},
    "zero": {"meta": {"depth": 0, "lang": "0", "live": 0}},
}
_OPERATORS = ("=", "!=", ">", ">=", "<", "<=", "~", "!~")
_OPERANDS = ("''", "'2'", "'en'", "2", "2.5", "3", "0", "true", "false", "null", "title", "'e%'")
_PATHS = ("depth", "lang", "live", "nope", "words.0", "depth.more")
TABLE = [
    f"content_json.meta.{path} {operator} {operand}"
    for path in _PATHS
    for operator in _OPERATORS
    for operand in _OPERANDS
] + [
    f"{operand} {operator} content_json.meta.depth"
    for operator in _OPERATORS
    for operand in _OPERANDS
    # PocketBase looks into `2.0` for what is in a document.
    if "~" not in operator or not operand[0].isdigit()
] + [
    f"content_json.meta.depth {operator} content_json.meta.{other}"
    for operator in _OPERATORS
    for other in ("depth", "lang", "live", "nope")
]  # fmt: skip


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    with running_peer(tmp_path_factory.mktemp("pocketbase")) as peer:
        fields = [{"name": "title", "type": "text"}, {"name": "content_json", "type": "json"}]
        peer.post("/api/collections", {"name": "posts", "type": "base", "fields": fields})
        for title, document in DOCUMENTS.items():
            peer.post(POSTS, {"title": title, "content_json": document})
        yield peer


@pytest.mark.parametrize("sort", ["content_json.meta.depth", "-content_json.meta.depth"])
async def test_values_inside_documents_have_an_order(tenant: TenantWorld, sort: str) -> None:
    owner = await tenant.owner()
    for title, document in DOCUMENTS.items():
        await tenant.post(title=title, content_json=document)
    items = (await owner.api.get(POSTS, params={"sort": sort})).json()["items"]
    titles = [item["title"] for item in (items if sort[0] != "-" else reversed(items))]
    assert set(titles[:3]) == {"none", "empty", "null"}
    assert titles[3:] == ["zero", "two", "half", "three", "text"]


@pytest.mark.parametrize("table", [TABLE[::9], pytest.param(TABLE, marks=pytest.mark.sweep)])
async def test_filters_inside_documents_find_what_pocketbase_finds(
    peer: Peer, tenant: TenantWorld, table: list[str]
) -> None:
    owner = await tenant.owner()
    for title, document in DOCUMENTS.items():
        await tenant.post(title=title, content_json=document)
    differences = []
    for expression in table:
        answer = await owner.api.get(POSTS, params={"filter": expression, "perPage": 100})
        assert answer.status_code == 200, (expression, answer.text)
        ours = sorted(item["title"] for item in answer.json()["items"])
        theirs = peer.found(POSTS, expression, "title")
        if ours != theirs:
            differences.append(f"{expression}: {ours}, PocketBase {theirs}")
    assert not differences, f"{len(differences)} of {len(table)}\n" + "\n".join(differences)
