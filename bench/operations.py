"""The measured operations, the checks of their answers, and the targets."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from bench import data
from bench.load import SERIAL
from bench.sides import Server

PER_PAGE = 20
UPLOAD_BYTES = 100_000
LAST_PAGE = data.PUBLIC_PER_TENANT // PER_PAGE
_RECORDS_IN_TURN = 1_000

Check = Callable[[Any], bool]
"""Whether a decoded answer is the right one."""


@dataclass(frozen=True)
class Request:
    raw: bytes
    is_right: Check


@dataclass(frozen=True)
class Operation:
    name: str
    requests: Callable[[Server], list[Request]]
    target: float | None = None
    """The required ratio of our rate to that of PocketBase; None for no target."""
    is_repeatable: bool = True


@cache
def public_posts() -> dict[str, list[data.Post]]:
    """By tenant, newest first."""
    found: dict[str, list[data.Post]] = {tenant: [] for tenant in data.tenant_names()}
    for post in data.posts():
        if post.is_public:
            found[post.tenant].append(post)
    for posts in found.values():
        posts.reverse()
    return found


@cache
def all_posts() -> dict[str, list[data.Post]]:
    """By tenant, oldest first."""
    found: dict[str, list[data.Post]] = {tenant: [] for tenant in data.tenant_names()}
    for post in data.posts():
        found[post.tenant].append(post)
    return found


def _health(server: Server) -> list[Request]:
    return [Request(server.health(), lambda answer: isinstance(answer, dict))]


def _list(server: Server) -> list[Request]:
    return [
        Request(server.list_posts(tenant, perPage=PER_PAGE), shows(posts[:PER_PAGE], len(posts)))
        for tenant, posts in public_posts().items()
    ]


def _list_without_total(server: Server) -> list[Request]:
    return [
        Request(
            server.list_posts(tenant, perPage=PER_PAGE, skipTotal=1), shows(posts[:PER_PAGE], -1)
        )
        for tenant, posts in public_posts().items()
    ]


def _last_page(server: Server) -> list[Request]:
    return [
        Request(
            server.list_posts(tenant, perPage=PER_PAGE, page=LAST_PAGE),
            shows(posts[-PER_PAGE:], len(posts)),
        )
        for tenant, posts in public_posts().items()
    ]


def _search(server: Server) -> list[Request]:
    requests = []
    for number, (tenant, posts) in enumerate(public_posts().items()):
        word = data.WORDS[number % len(data.WORDS)]
        matching = [post for post in posts if word in post.title.lower()]
        requests.append(
            Request(
                server.list_posts(tenant, f"title ~ '{word}'", perPage=PER_PAGE),
                shows(matching[:PER_PAGE], len(matching)),
            )
        )
    return requests


def _view(server: Server) -> list[Request]:
    return [Request(server.view_post(post), _is(post)) for post in _records_in_turn()]


def _first_read(
    requests: Callable[[Server], list[Request]],
) -> Callable[[Server], list[Request]]:
    """The same requests, each with an address of its own, which no cache knows."""

    def prepare(server: Server) -> list[Request]:
        return [Request(with_serial(each.raw), each.is_right) for each in requests(server)]

    return prepare


def with_serial(raw: bytes) -> bytes:
    path, protocol, rest = raw.partition(b" HTTP/1.1")
    sign = b"&" if b"?" in path else b"?"
    return path + sign + b"n=" + SERIAL + protocol + rest


def _create(server: Server) -> list[Request]:
    source = random.Random(data.VERSION)
    return [
        Request(server.create_post(tenant, new_post(source)), _has_new_title)
        for tenant in data.tenant_names()
    ]


def _create_with_slug(server: Server) -> list[Request]:
    source = random.Random(data.VERSION)
    slug = {"slug": f"bench-{SERIAL.decode()}"}
    return [
        Request(server.create_post(tenant, new_post(source) | slug), _has_new_title)
        for tenant in data.tenant_names()
    ]


def _update(server: Server) -> list[Request]:
    title = {"title": f"Bench {SERIAL.decode()} renamed"}
    return [Request(server.update_post(post, title), _has_new_title) for post in _records_in_turn()]


def _api_list(server: Server) -> list[Request]:
    return [
        Request(server.api_list(tenant, PER_PAGE), shows(posts[-PER_PAGE:][::-1], len(posts)))
        for tenant, posts in all_posts().items()
    ]


def _api_view(server: Server) -> list[Request]:
    return [Request(server.api_view(post), _is(post)) for post in _records_in_turn()]


def _api_update(server: Server) -> list[Request]:
    title = {"title": f"Bench {SERIAL.decode()} renamed"}
    return [Request(server.api_update(post, title), _has_new_title) for post in _records_in_turn()]


def _api_create(server: Server) -> list[Request]:
    return _api_creates(server, {})


def _api_create_with_slug(server: Server) -> list[Request]:
    return _api_creates(server, {"slug": f"bench-api-{SERIAL.decode()}"})


def _api_creates(server: Server, more: dict[str, str]) -> list[Request]:
    source = random.Random(data.VERSION + 1)
    requests = []
    for tenant in data.tenant_names():
        body = new_post(source) | more
        # The public API does not accept these two.
        del body["visibility"], body["published_at"]
        requests.append(Request(server.api_create(tenant, body), _has_new_title))
    return requests


def _api_upload(server: Server) -> list[Request]:
    content = random.Random(data.VERSION).randbytes(UPLOAD_BYTES)
    return [
        Request(server.api_upload(tenant, content), lambda answer: bool(_inner(answer)["id"]))
        for tenant in data.tenant_names()
    ]


OPERATIONS = (
    Operation("health", _health),
    Operation("list 20 with total", _list, target=15),
    Operation("list 20 with total, first read", _first_read(_list), target=15),
    Operation("list 20 without total, first read", _first_read(_list_without_total)),
    Operation("list last page with total, first read", _first_read(_last_page), target=20),
    Operation("list title ~ word", _search, target=10),
    Operation("list title ~ word, first read", _first_read(_search)),
    Operation("view one post", _view, target=2),
    Operation("view one post, first read", _first_read(_view), target=1.2),
    Operation("v1 list 20 with total", _api_list, target=20),
    Operation("v1 view one post", _api_view, target=2),
    # Writes last, so that the answers of all reads are known.
    Operation("update a title", _update, target=1, is_repeatable=False),
    Operation("create from a title", _create, target=1, is_repeatable=False),
    Operation("create with a slug", _create_with_slug, is_repeatable=False),
    Operation("v1 update a title", _api_update, target=1, is_repeatable=False),
    Operation("v1 create from a title", _api_create, target=1, is_repeatable=False),
    Operation("v1 create with a slug", _api_create_with_slug, is_repeatable=False),
    Operation("v1 upload 100 KB", _api_upload, is_repeatable=False),
)


def _records_in_turn() -> list[data.Post]:
    """Posts of all ages; adjacent posts belong to different tenants."""
    by_tenant = list(public_posts().values())
    each = _RECORDS_IN_TURN // data.TENANTS
    step = data.PUBLIC_PER_TENANT // each
    return [posts[number * step] for number in range(each) for posts in by_tenant]


def shows(posts: list[data.Post], total: int) -> Check:
    titles = [post.title for post in posts]

    def check(answer: Any) -> bool:
        shown = answer["totalItems"] if "totalItems" in answer else answer["total"]
        return [item["title"] for item in answer["items"]] == titles and shown == total

    return check


def _is(post: data.Post) -> Check:
    def check(answer: Any) -> bool:
        expected = (post.id, post.title, post.content_html, post.tags)
        return expected == tuple(answer[key] for key in ("id", "title", "content_html", "tags"))

    return check


def _has_new_title(answer: Any) -> bool:
    record = _inner(answer)
    return bool(record["title"].startswith("Bench ")) and bool(record["id"])


def _inner(answer: Any) -> Any:
    """The public API returns a written record in `data`."""
    return answer.get("data", answer)


def new_post(source: random.Random) -> dict[str, Any]:
    return {
        "title": f"Bench {SERIAL.decode()} {data.words(source, 5)}",
        "status": "published",
        "visibility": "public",
        "tags": ["news", "bench"],
        "excerpt": data.words(source, 25),
        "content_html": f"<p>{data.words(source, 240)}</p>",
        "published_at": "2024-06-01 12:00:00.000Z",
    }
