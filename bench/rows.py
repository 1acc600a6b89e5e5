"""The measured operations, with the checks of their answers and the goals beside PocketBase."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from bench import data
from bench.autosave import Autosave
from bench.data import Content, Post
from bench.load import SERIAL
from bench.service import Service
from bench.tasks import Load, Request, Task

FIRST_READ: Final = ", first read"
PER_PAGE: Final = 20
_IN_TURN: Final = 1_000
_SERIAL: Final = SERIAL.decode()
_SLUG: Final = f"bench-{_SERIAL}"
_RENAMED: Final = {"title": f"Bench {_SERIAL} renamed"}

Requests = Callable[[Service, Content], Iterator[Request]]


@dataclass(frozen=True)
class Operation:
    name: str
    prepare: Callable[[Service, Content], Task]
    """Raises CanNot."""
    goal: float | None = None
    """The ratio of our rate to that of PocketBase."""
    is_beside: bool = True
    """Whether PocketBase has it, too."""


def _health(service: Service, _: Content) -> Iterator[Request]:
    yield Request(service.health(), lambda body: isinstance(json.loads(body), dict))


def _record_list(service: Service, content: Content) -> Iterator[Request]:
    for site, posts in content.public.items():
        yield Request(service.list(site, perPage=PER_PAGE), shows(posts[:PER_PAGE], len(posts)))


def _last_page(service: Service, content: Content) -> Iterator[Request]:
    for site, posts in content.public.items():
        last = (len(posts) - 1) // PER_PAGE
        raw = service.list(site, perPage=PER_PAGE, page=last + 1)
        yield Request(raw, shows(posts[last * PER_PAGE :], len(posts)))


def _search(service: Service, content: Content) -> Iterator[Request]:
    for number, (site, posts) in enumerate(content.public.items()):
        word = data.WORDS[number % len(data.WORDS)]
        found = [post for post in posts if word in post.title.lower()]
        raw = service.list(site, f"title ~ '{word}'", perPage=PER_PAGE)
        yield Request(raw, shows(found[:PER_PAGE], len(found)))


def _api_list(service: Service, content: Content) -> Iterator[Request]:
    for site, posts in content.by_site.items():
        yield Request(service.api_list(site, PER_PAGE), shows(posts[:PER_PAGE], len(posts)))


def _each(request: Callable[[Service, Post], bytes], check: Callable[[Post], Any]) -> Requests:
    """A request for each of many public posts."""

    def requests(service: Service, content: Content) -> Iterator[Request]:
        for post in in_turn(content):
            yield Request(request(service, post), check(post))

    return requests


def _creates(
    request: Callable[[Service, str, dict[str, Any]], bytes], slug: str, *without: str
) -> Requests:
    """A slug of its own for each row: in a site it is unique."""
    given = {name: value for name, value in (new_post() | {"slug": slug}).items() if value}

    def requests(service: Service, content: Content) -> Iterator[Request]:
        body = {name: value for name, value in given.items() if name not in without}
        for site in content.site_names:
            yield Request(request(service, site, body), _is_written)

    return requests


def _api_create(service: Service, site: str, given: dict[str, Any]) -> bytes:
    return service.api_create(site, given)


def _page(path: str, *, is_signed_in: bool = False) -> Requests:
    def requests(service: Service, content: Content) -> Iterator[Request]:
        for site, posts in content.public.items():
            # The admin shows drafts, too; both show the newest public post.
            raw = service.page(site, path.format(slug=posts[0].slug), is_signed_in=is_signed_in)
            yield Request(raw, _has(posts[0].title))

    return requests


def _first_read(requests: Requests) -> Requests:
    """The same requests, each with an address of its own, which no cache knows."""

    def prepare(service: Service, content: Content) -> Iterator[Request]:
        for each in requests(service, content):
            yield Request(with_serial(each.raw), each.is_right)

    return prepare


def _load(requests: Requests, *, is_repeatable: bool) -> Callable[[Service, Content], Task]:
    return lambda service, content: Load(
        service, list(requests(service, content)), is_repeatable=is_repeatable
    )


def read(name: str, requests: Requests, **more: Any) -> Operation:
    return Operation(name, _load(requests, is_repeatable=True), **more)


def write(name: str, requests: Requests, **more: Any) -> Operation:
    return Operation(name, _load(requests, is_repeatable=False), **more)


def with_serial(raw: bytes) -> bytes:
    path, protocol, rest = raw.partition(b" HTTP/1.1")
    sign = b"&" if b"?" in path else b"?"
    return path + sign + b"n=" + SERIAL + protocol + rest


def in_turn(content: Content) -> list[Post]:
    """Public posts of all ages; adjacent posts belong to different sites."""
    each = max(1, _IN_TURN // content.sites)
    columns = []
    for posts in content.public.values():
        step = max(1, len(posts) // each)
        columns.append(list(islice(posts, 0, step * each, step)))
    return [post for row in zip(*columns, strict=False) for post in row]


def shows(posts: list[Post], total: int) -> Callable[[bytes], bool]:
    titles = [post.title for post in posts]

    def check(body: bytes) -> bool:
        answer = json.loads(body)
        shown = answer["totalItems"] if "totalItems" in answer else answer["total"]
        return [item["title"] for item in answer["items"]] == titles and shown == total

    return check


def _is(post: Post) -> Callable[[bytes], bool]:
    def check(body: bytes) -> bool:
        answer = json.loads(body)
        expected = (post.id, post.title, post.content_html, post.tags)
        return expected == tuple(answer[key] for key in ("id", "title", "content_html", "tags"))

    return check


def _has(title: str) -> Callable[[bytes], bool]:
    return lambda body: title.encode() in body


def _is_written(body: bytes) -> bool:
    answer = json.loads(body)
    # The public API returns a written record in `data`.
    record = answer.get("data", answer)
    return bool(record["id"]) and bool(record["title"].startswith("Bench "))


def _renamed(_: Post) -> Callable[[bytes], bool]:
    return _is_written


def new_post() -> dict[str, Any]:
    source = random.Random(data.VERSION)
    return {
        "title": f"Bench {_SERIAL} {data.words(source, 5)}",
        "status": "published",
        "visibility": "public",
        "tags": ["news", "bench"],
        "excerpt": data.words(source, 25),
        "content_html": f"<p>{data.words(source, 240)}</p>",
        "published_at": "2024-06-01 12:00:00.000Z",
    }


_record_view = _each(lambda service, post: service.view(post), _is)
_api_view = _each(lambda service, post: service.api_view(post), _is)
# The public API does not accept these two.
_NOT_OF_API: Final = ("visibility", "published_at")

# The caches of both APIs take the whole query; that of pages takes what they read: the thread of a
# discussion, and the position in a list, here before its beginning.
_POST_PAGE: Final = "/posts/{slug}"
_HOME_FIRST_READ: Final = f"/?before=2999-01-01T00:00:00.000Z_0000000{_SERIAL}"

OPERATIONS: Final = (
    read("health", _health),
    read("record list", _record_list, goal=15),
    read(f"record list{FIRST_READ}", _first_read(_record_list), goal=15),
    read(f"last page{FIRST_READ}", _first_read(_last_page), goal=20),
    read("title ~", _search, goal=10),
    read(f"title ~{FIRST_READ}", _first_read(_search)),
    read("record view", _record_view, goal=2),
    read(f"record view{FIRST_READ}", _first_read(_record_view), goal=1.2),
    read("v1 list", _api_list, goal=20),
    read(f"v1 list{FIRST_READ}", _first_read(_api_list)),
    read("v1 view", _api_view, goal=2),
    read(f"v1 view{FIRST_READ}", _first_read(_api_view)),
    read("post's page", _page(_POST_PAGE), is_beside=False),
    read(f"post's page{FIRST_READ}", _page(f"{_POST_PAGE}?thread={_SERIAL}"), is_beside=False),
    read("home", _page("/"), is_beside=False),
    read(f"home{FIRST_READ}", _page(_HOME_FIRST_READ), is_beside=False),
    # It says how long ago a post was changed.
    write("admin list", _page("/admin/posts", is_signed_in=True), is_beside=False),
    # Writes last, so that the answers of all reads are known.
    write("record update", _each(lambda to, post: to.update(post, _RENAMED), _renamed), goal=1),
    write("record create", _creates(lambda to, *post: to.create(*post), _SLUG), goal=1),
    write("v1 update", _each(lambda to, post: to.api_update(post, _RENAMED), _renamed), goal=1),
    write("v1 create", _creates(_api_create, f"v1-{_SLUG}", *_NOT_OF_API), goal=1),
    write("v1 create from a title", _creates(_api_create, "", *_NOT_OF_API), goal=1),
    Operation("editor autosave", Autosave, is_beside=False),
)
