"""The names of the error codes over HTTP, as `MASTHEAD_ERROR_CODES` sets them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.v1.keys import key_client
from tests.web.routed import broken
from tests.world import World, open_world

from masthead.service.app import front_door
from masthead.web.dispatch import Dispatch

POSTS = "/api/v1/posts"
PRO_PER_MINUTE = 30


@pytest.fixture
async def b_app(database_url: str, tmp_path: Path) -> AsyncIterator[World]:
    """A second application in this process, with a database of its own."""
    world = await open_world(database_url, tmp_path, MASTHEAD_ERROR_CODES="b")
    yield world
    await world.parts.close()


async def rate_limited(app: World) -> str:
    api = await key_client(await app.new_tenant("pro", plan="pro"))
    for _ in range(PRO_PER_MINUTE):
        assert (await api.get(POSTS)).status_code == 200
    answer = await api.get(POSTS)
    assert answer.status_code == 429
    return str(answer.json()["error"]["code"])


async def failed(app: World) -> str:
    answer = await app.client(app=front_door(app.parts, Dispatch([], broken(RuntimeError())))).get(
        POSTS
    )
    assert answer.status_code == 500
    return str(answer.json()["error"]["code"])


async def test_with_b_two_codes_have_other_names(b_app: World) -> None:
    assert await rate_limited(b_app) == "RATE_LIMIT_EXCEEDED"
    assert await failed(b_app) == "INTERNAL_SERVER_ERROR"
    unknown = await b_app.client().get("/api/v1/nothing")
    assert unknown.json()["error"]["code"] == "NOT_FOUND"


async def test_two_applications_in_one_process_have_codes_of_their_own(
    app: World, b_app: World
) -> None:
    codes = [await rate_limited(each) for each in (app, b_app, app)]
    assert codes == ["RATE_LIMITED", "RATE_LIMIT_EXCEEDED", "RATE_LIMITED"]
    assert [await failed(each) for each in (b_app, app)] == [
        "INTERNAL_SERVER_ERROR",
        "INTERNAL_ERROR",
    ]
