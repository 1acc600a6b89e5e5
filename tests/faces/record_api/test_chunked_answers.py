"""An answer has a size limit, checked before it is in memory, and is sent in chunks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.world import Account, TenantWorld, records_of

from masthead.base.caller import system
from masthead.base.errors import AnswerTooLarge
from masthead.engine.records.read.page import ListRequest
from masthead.faces.record_api.parameters import MAX_ANSWER_BYTES, MAX_READER_BYTES
from masthead.identity.limits.read_limits import COSTLY_PER_MINUTE
from masthead.web.asgi import Message

POSTS = records_of("posts")
LONG = 4_900_000


async def published(tenant: TenantWorld, count: int, text: Callable[[int], str]) -> list[str]:
    made = [await tenant.published(title=f"{n}", content_html=text(n)) for n in range(count)]
    return [post["id"] for post in reversed(made)]


async def test_an_answer_above_the_limit_is_refused_with_a_hint(
    tenant: TenantWorld, owner: Account
) -> None:
    ids = await published(tenant, 7, lambda n: "x" * LONG)
    for api, limit in ((owner.api, MAX_ANSWER_BYTES), (tenant.guest, MAX_READER_BYTES)):
        refused = await api.get(POSTS, params={"perPage": 1000})
        assert refused.status_code == 400
        assert refused.json()["code"] == "validation_invalid_data"
        for word in (f"{limit:,} bytes", "`perPage`", "`fields`"):
            assert word in refused.json()["message"]
    fewer = await owner.api.get(POSTS, params={"perPage": 3})
    assert [item["id"] for item in fewer.json()["items"]] == ids[:3]
    assert [len(item["content_html"]) for item in fewer.json()["items"]] == [LONG] * 3
    assert fewer.json()["totalItems"] == 7
    short = await tenant.guest.get(POSTS, params={"perPage": 1000, "fields": "id"})
    assert short.json()["items"] == [{"id": each} for each in ids]


async def test_large_lists_of_one_network_are_limited(tenant: TenantWorld) -> None:
    await published(tenant, 1, lambda n: "x" * 1_200_000)
    guest = tenant.guest
    for _ in range(COSTLY_PER_MINUTE):
        assert (await guest.get(POSTS)).status_code == 200
    assert (await guest.get(POSTS)).status_code == 429
    assert (await guest.get(POSTS, params={"perPage": 1})).status_code == 429
    assert (await tenant.guest.get(POSTS)).status_code == 200


@pytest.mark.parametrize(
    "values",
    [
        {"content_html": "\u00fc" * 1_000},
        {"content_html": "x" * 2_000},
        {"content_json": {"text": "x" * 1_990}},
        {"content_json": {"text": ["x" * 10] * 150}},
    ],
)
async def test_rows_are_counted_before_they_are_records(
    tenant: TenantWorld, values: dict[str, Any]
) -> None:
    for _ in range(5):
        await tenant.post(**values)
    records, posts = tenant.world.parts.records, tenant.world.collection("posts")

    async def found(max_bytes: int, **more: Any) -> int:
        wanted = ListRequest(max_bytes=max_bytes, **more)
        return len((await records.page(system(tenant.id), posts, wanted)).items)

    assert await found(100_000) == 5
    with pytest.raises(AnswerTooLarge):
        await found(4_500)
    assert await found(4_500, per_page=2) == 2
    assert await found(4_500, names=frozenset({"id", "title"})) == 5


async def test_a_counted_page_has_its_order(tenant: TenantWorld, owner: Account) -> None:
    ids = await published(tenant, 6, lambda n: "x" * (100_000 * n))
    for wanted, expected in (
        ({}, ids),
        ({"sort": "title"}, ids[::-1]),
        ({"sort": "-title", "perPage": 2, "page": 2}, ids[2:4]),
        ({"filter": "title > '1'"}, ids[:4]),
    ):
        answer = await owner.api.get(POSTS, params=wanted)
        assert [item["id"] for item in answer.json()["items"]] == expected


async def test_the_same_long_record_in_many_places_is_counted_in_each(
    tenant: TenantWorld, owner: Account
) -> None:
    post = await tenant.published(content_html="x" * 1_000_000)
    for _ in range(40):
        await tenant.create("comments", {"post_id": post["id"], "author_name": "A", "body": "c"})
    comments = records_of("comments")
    refused = await owner.api.get(comments, params={"perPage": 100, "expand": "post_id"})
    assert (refused.status_code, "`fields`" in refused.json()["message"]) == (400, True)
    wanted = {"perPage": 100, "expand": "post_id", "fields": "id,expand.post_id.title"}
    assert (await owner.api.get(comments, params=wanted)).status_code == 200
    one = records_of("posts", post["id"])
    back = await owner.api.get(one, params={"expand": "comments_via_post_id.post_id"})
    assert back.status_code == 400
    deep = "comments_via_post_id.post_id.comments_via_post_id.post_id.comments_via_post_id.post_id"
    bomb = await owner.api.get(one, params={"expand": deep, "fields": "id"})
    assert bomb.status_code == 400
    assert "20,000 records" in bomb.json()["message"]


async def test_a_large_answer_is_made_as_the_client_takes_it(tenant: TenantWorld) -> None:
    await published(tenant, 6, lambda n: "x" * 1_300_000)
    taken: list[Message] = []
    may_send = asyncio.Event()

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        taken.append(message)
        if message["type"] == "http.response.body":
            await may_send.wait()

    scope = {
        "type": "http",
        "method": "GET",
        "path": POSTS,
        "query_string": b"perPage=6",
        "headers": [(b"host", tenant.host.encode())],
        "client": ("198.18.0.1", 4242),
        "scheme": "http",
    }
    answering = asyncio.create_task(tenant.world.http(scope, receive, send))
    while len(taken) < 2:
        await asyncio.sleep(0)
    for _ in range(100):
        await asyncio.sleep(0)
    # Nothing more is handed over while the first piece waits.
    assert len(taken) == 2
    may_send.set()
    await answering
    bodies = [message["body"] for message in taken[1:]]
    assert max(map(len, bodies)) < 1_000_000
    length = dict(taken[0]["headers"])[b"content-length"]
    assert int(length) == sum(map(len, bodies)) > 6 * 1_300_000
