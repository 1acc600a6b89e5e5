"""Realtime, put to PocketBase itself and to the record store: the same statuses, problems, texts
and messages, by the same requests."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from tests.faces.record_api.listener import Listener, listening
from tests.faces.record_api.peer import Peer, running_peer
from tests.served import serving
from tests.world import TenantWorld, World, records_of

POSTS = records_of("posts")
ID = "abcdefghij00001"
_CLIENT = "the client's id"


def options(**query: str) -> str:
    return "options=" + quote(json.dumps({"query": query, "headers": {}}))


BODIES: dict[str, Any] = {
    "nothing": {},
    "a blank client": {"clientId": ""},
    "a long client": {"clientId": "x" * 256},
    "an unknown client": {"clientId": "nope"},
    "a client that is a number": {"clientId": 1},
    "null for topics": {"clientId": _CLIENT, "subscriptions": None},
    "no topics": {"clientId": _CLIENT},
    "a long topic": {"clientId": _CLIENT, "subscriptions": ["posts", "x" * 2_501]},
    "the longest topic": {"clientId": _CLIENT, "subscriptions": ["x" * 2_500]},
    "too many topics": {"clientId": _CLIENT, "subscriptions": ["a"] * 1_001},
    "the most topics": {"clientId": _CLIENT, "subscriptions": ["a"] * 1_000},
    "topics as text": {"clientId": _CLIENT, "subscriptions": "posts"},
    "topics of numbers": {"clientId": _CLIENT, "subscriptions": [1]},
    "topics of no collection": {"clientId": _CLIENT, "subscriptions": ["nope", "", "?", "a/b/c"]},
}
TOPICS = [
    "posts",
    "posts/*",
    f"posts/{ID}",
    "pbc_1125843985",
    "posts/abcdefghij00009",
    "posts/*?unknown=1",
    "posts?options=bad",
    f"posts?{options(filter='reading_minutes > 3', fields='title')}",
    "posts/*?" + options(filter="title = 'second'"),
    f"posts/{ID}?{options(fields='id')}",
    f"posts?{options(filter='nope > 3')}",
    f"posts?{options(fields='id,title', expand='nope')}",
]


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    with running_peer(tmp_path_factory.mktemp("pocketbase")) as peer:
        fields = [
            {"name": "title", "type": "text"},
            {"name": "status", "type": "text"},
            {"name": "reading_minutes", "type": "number"},
        ]
        rule = "status = 'published'"
        made = {"name": "posts", "type": "base", "fields": fields}
        peer.post("/api/collections", {**made, "listRule": rule, "viewRule": rule})
        yield peer


@pytest.fixture
async def url(app: World) -> AsyncIterator[str]:
    async with serving(app.http) as address:
        yield address
        app.parts.realtime.end_all()
        app.parts.realtime._is_closing = False


async def answers(listener: Listener) -> dict[str, Any]:
    """Without the envelope's `code`, which is ours."""
    found = {}
    for name, body in BODIES.items():
        if body.get("clientId") == _CLIENT:
            body = {**body, "clientId": listener.client_id}
        answer = await listener.api.post("/api/realtime", json=body)
        found[name] = essence(answer)
    raw = {"broken JSON": b"{bad", "no body": b"", "a list": b"[]"}
    for name, content in raw.items():
        headers = {"content-type": "application/json"}
        answer = await listener.api.post("/api/realtime", content=content, headers=headers)
        found[name] = essence(answer)
    form = {"clientId": listener.client_id, "subscriptions": ["posts", "nope"]}
    found["a form"] = essence(await listener.api.post("/api/realtime", data=form))
    for method in ("PUT", "PATCH", "DELETE"):
        found[method] = essence(await listener.api.request(method, "/api/realtime"))
    return found


def essence(answer: httpx.Response) -> Any:
    body = answer.json() if answer.content else {}
    return answer.status_code, body.get("message"), body.get("data")


async def messages(
    listener: Listener, staff: httpx.AsyncClient
) -> list[list[tuple[str, str, Any]]]:
    """Makes some changes and returns the messages of each, sorted: PocketBase has no order among
    topics."""
    await listener.subscribe(*TOPICS)
    first = {"id": ID, "title": "first", "status": "published"}
    found = []
    for answer in (
        lambda: staff.post(POSTS, json={"title": "draft", "status": "draft"}),
        lambda: staff.post(POSTS, json=first),
        lambda: staff.patch(f"{POSTS}/{ID}", json={"title": "second"}),
        lambda: staff.delete(f"{POSTS}/{ID}"),
    ):
        response = await answer()
        assert response.status_code in (200, 204), response.text
        told = await listener.so_far()
        found.append(sorted((each.name, each.action, shown(each.record)) for each in told))
    return found


def shown(record: dict[str, Any]) -> Any:
    """Without the fields that only one of them has."""
    return sorted((name, record[name]) for name in record if name in ("id", "title", "status"))


async def test_answers_and_messages_are_those_of_pocketbase(
    url: str, peer: Peer, tenant: TenantWorld
) -> None:
    owner = await tenant.owner()
    async with (
        listening(url, tenant.host) as ours,
        listening(peer.url) as theirs,
        httpx.AsyncClient(base_url=peer.url, headers=peer.signed) as superuser,
    ):
        ours_said, theirs_said = await answers(ours), await answers(theirs)
        for name, expected in theirs_said.items():
            assert ours_said[name] == expected, name
        expected_messages = await messages(theirs, superuser)
        assert [len(each) for each in expected_messages] == [0, 8, 9, 9]
        assert await messages(ours, owner.api) == expected_messages
