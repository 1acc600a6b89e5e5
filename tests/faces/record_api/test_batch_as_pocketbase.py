"""Batches, put to PocketBase itself and to the record store: the same statuses, records and
problems, by the same requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.faces.record_api.peer import Peer, running_peer
from tests.world import TenantWorld, records_of

POSTS = records_of("posts")
ID, OTHER = "abcdefghij00001", "abcdefghij00002"


def create(**values: Any) -> dict[str, Any]:
    return {"method": "POST", "url": POSTS, "body": values}


def upsert(**values: Any) -> dict[str, Any]:
    return {"method": "PUT", "url": POSTS, "body": values}


def update(record_id: str, **values: Any) -> dict[str, Any]:
    return {"method": "PATCH", "url": f"{POSTS}/{record_id}", "body": values}


def delete(record_id: str) -> dict[str, Any]:
    return {"method": "DELETE", "url": f"{POSTS}/{record_id}"}


BATCHES: dict[str, Any] = {
    "creates": {"requests": [create(title="a"), create(title="b")]},
    "fields of each": {"requests": [{**create(title="a"), "url": f"{POSTS}?fields=title"}]},
    "upserts": {
        "requests": [
            upsert(id=ID, title="new"),
            upsert(id=ID, title="again"),
            upsert(title="without an id"),
            upsert(id="", title="with an empty one"),
        ]
    },
    "a whole life": {
        "requests": [create(id=OTHER, title="a"), update(OTHER, title="b"), delete(OTHER)]
    },
    "created again": {
        "requests": [delete(ID), upsert(id=ID, title="back"), update(ID, title="changed")]
    },
    "unknown keys": {"requests": [{**create(title="a"), "more": 1}], "more": 1},
    "none": {"requests": []},
    "no list": {},
    "not a list": {"requests": "x"},
    "not objects": {"requests": [1]},
    "a body that is a list": {"requests": [{**create(), "body": [1]}]},
    "without a method": {"requests": [{"url": POSTS, "body": {"title": "a"}}]},
    "a method in small letters": {"requests": [create(title="a"), {**create(), "method": "post"}]},
    "without an address": {"requests": [{"method": "POST", "body": {"title": "a"}}]},
    "a long address": {"requests": [{**create(title="a"), "url": "/" + "x" * 2_000}]},
    "several mistakes": {"requests": [{}, create(title="a"), {"method": "x", "url": POSTS}]},
    "too many": {"requests": [create(title="a")] * 51},
    "an unknown address": {"requests": [{**create(title="a"), "url": "/api/nope"}]},
    "another server": {"requests": [{**create(title="a"), "url": f"http://example.com{POSTS}"}]},
    "a read": {"requests": [{"method": "GET", "url": POSTS}]},
    "a sign-in": {
        "requests": [{"method": "POST", "url": "/api/collections/_superusers/auth-refresh"}]
    },
    "an upsert by address": {"requests": [{**upsert(title="a"), "url": f"{POSTS}/{ID}"}]},
    "an unknown collection": {"requests": [{**create(title="a"), "url": records_of("nope")}]},
    "the second is invalid": {"requests": [create(title="a"), create(title="")]},
    "both are invalid": {"requests": [create(), create(title="")]},
    "one id twice": {
        "requests": [create(id="abcdefghij00003", title=title) for title in ("a", "b")]
    },
    "an update of none": {"requests": [update("abcdefghij99999", title="a")]},
    "a deletion of none": {"requests": [delete("abcdefghij99999")]},
    "a deletion twice": {"requests": [create(id=OTHER, title="a"), delete(OTHER), delete(OTHER)]},
}  # fmt: skip


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    with running_peer(tmp_path_factory.mktemp("pocketbase")) as peer:
        title = {"name": "title", "type": "text", "required": True}
        peer.post("/api/collections", {"name": "posts", "type": "base", "fields": [title]})
        peer.patch("/api/settings", {"batch": {"enabled": True, "maxRequests": 50, "timeout": 3}})
        yield peer


def essence(answer: httpx.Response) -> Any:
    """Without what differs by design: ids that were not chosen, further fields, the envelope's
    `code`, and the wording of messages."""
    body = answer.json()
    if answer.status_code == 200:
        return [(each["status"], each["body"] and each["body"]["title"]) for each in body]
    return (answer.status_code, _problems(body["data"]))


def _problems(data: Any) -> Any:
    """The codes of all problems, and the statuses of refused requests."""
    if not isinstance(data, dict):
        return data
    if "response" in data:
        response = data["response"]
        return (data["code"], response["status"], _problems(response["data"]))
    if isinstance(data.get("code"), str):
        return (data["code"], data.get("params"))
    return {name: _problems(each) for name, each in data.items()}


async def test_batches_have_the_answers_of_pocketbase(peer: Peer, tenant: TenantWorld) -> None:
    owner = await tenant.owner()
    async with httpx.AsyncClient(base_url=peer.url, headers=peer.signed) as theirs:
        for name, batch in BATCHES.items():
            ours = essence(await owner.api.post("/api/batch", json=batch))
            assert ours == essence(await theirs.post("/api/batch", json=batch)), name
        found = [(await each.get(POSTS)).json()["totalItems"] for each in (owner.api, theirs)]
        assert found[0] == found[1] > 0
