"""The posts that the bench loads into Masthead, as a guest and an operator then see them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from bench import data, http, masthead, operations

POSTS = list(islice(data.posts(), 2 * data.TENANTS))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[masthead.Masthead]:
    folder: Path = tmp_path_factory.mktemp("bench") / "data"
    folder.mkdir()
    side = masthead.side(workers=1)
    side.build(folder, POSTS)
    with side.serving(folder) as running:
        assert isinstance(running, masthead.Masthead)
        yield running


def test_a_tenant_lists_its_own_posts_newest_first_with_their_total(
    server: masthead.Masthead,
) -> None:
    expected = [post for post in reversed(POSTS) if post.tenant == "t007"]
    answer = http.send(server.port, server.list_posts("t007", perPage=20), serial=1)
    assert operations.shows(expected, len(expected))(answer)
    assert [item["content_html"] for item in answer["items"]] == [
        post.content_html for post in expected
    ]


def test_posts_keep_their_ids_and_moments(server: masthead.Masthead) -> None:
    post = POSTS[0]
    answer = http.send(server.port, server.view_post(post), serial=1)
    assert (answer["id"], answer["created"], answer["published_at"]) == (
        post.id,
        "2023-11-14T22:13:20.000Z",
        "2023-11-14T22:13:20.000Z",
    )


def test_the_operator_creates_in_the_tenant_of_the_host(server: masthead.Masthead) -> None:
    body = {"title": "Bench", "status": "published", "visibility": "public"}
    created = http.send(server.port, server.create_post("t001", body), serial=1)
    answer = http.send(server.port, server.list_posts("t001"), serial=1)
    assert answer["items"][0]["id"] == created["id"]
    assert answer["totalItems"] == 3
