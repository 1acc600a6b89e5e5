"""What is asked of a running version, and how a round of it is measured."""

from __future__ import annotations

import http.client
import json
import random
import re
import secrets
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from bench import data, load
from bench.commits.comparison import Sample
from bench.commits.version import API, READ, WRITTEN, Service
from bench.http import Answer, answer_to, request_bytes
from bench.load import SERIAL
from bench.process import processor_seconds

WARM, MISS = ", warm", ", miss"
RECORDS: Final = "/api/collections/posts/records"
_IN_TURN: Final = 100
_SERIAL: Final = SERIAL.decode()
_SERIALS_PER_ROUND: Final = 1_000_000
_CHECK_SERIAL: Final = 99_000_000
_WARM_UP: Final = 0.3
"""Of the seconds of a round, before it."""
_SAVED_WORDS: Final = 600


class CanNot(Exception):
    """A version does not have what is asked."""


class Server(Protocol):
    """A version, or the ceiling."""

    @property
    def port(self) -> int: ...

    @property
    def pids(self) -> list[int]: ...


@dataclass(frozen=True)
class Settings:
    seconds: float
    connections: int


@dataclass(frozen=True)
class Taken:
    sample: Sample
    problems: list[str]


class Task(Protocol):
    """An operation, prepared for one version."""

    answer: Answer
    """Of one operation: the ceiling sends the same."""

    def round(self, server: Server, number: int, settings: Settings) -> Taken: ...


@dataclass(frozen=True)
class Operation:
    name: str
    prepare: Callable[[Service], Task]
    """Raises CanNot."""


class Load:
    """Requests in turn on many connections."""

    def __init__(
        self,
        service: Service,
        requests: list[bytes],
        shows: bytes = b"",
        *,
        is_repeatable: bool = True,
    ) -> None:
        self._requests = requests
        self._is_repeatable = is_repeatable
        self.answer = answer_to(service.port, requests[0], _CHECK_SERIAL)
        if not self.answer.is_good:
            raise CanNot(f"{_line(requests[0])}: {self.answer.status}")
        if shows not in self.answer.body:
            raise CanNot(f"{_line(requests[0])}: the answer does not show {shows.decode()!r}")

    def round(self, server: Server, number: int, settings: Settings) -> Taken:
        plan = load.Plan(
            port=server.port,
            requests=self._requests,
            seconds=settings.seconds,
            warm_up_seconds=settings.seconds * _WARM_UP,
            connections=settings.connections,
            first_serial=number * _SERIALS_PER_ROUND,
            is_repeatable=self._is_repeatable,
            server_pids=server.pids,
        )
        try:
            result = load.run(plan)
        except subprocess.SubprocessError as error:
            # It has written why.
            return Taken(Sample(0), [f"the load generator: {error}"])
        processor = result.server_seconds / max(1, result.requests)
        return Taken(Sample(result.rps, processor), result.problems)


class Autosave:
    """One author who goes on writing: each save names the version that the last one made."""

    def __init__(self, service: Service) -> None:
        page = answer_to(
            service.port, service.get("/admin/posts/new", service.signed_in(WRITTEN)), 0
        ).body.decode()
        owner = re.search(r'data-(?:page-)?owner="([^"]*)"', page)
        token = re.search(r'name="form_token" value="([^"]*)"', page)
        if not owner or not token:
            raise CanNot("/admin/posts/new has no editor")
        self._headers = {
            **service.signed_in(WRITTEN),
            "Content-Type": "application/json",
            "Sec-Fetch-Site": "same-origin",
            "X-Form-Token": token[1],
            "X-Page-Owner": owner[1],
        }
        self._words = data.words(random.Random(data.VERSION), _SAVED_WORDS)
        self._path = f"/admin/posts/{secrets.token_hex(8)[:15]}/text"
        self._versions: dict[int, str] = {}
        self._saves = 0
        connection = _connected(service.port)
        self.answer = self._save(connection)
        connection.close()
        if not self.answer.is_good:
            raise CanNot(f"POST /admin/posts/…/text: {self.answer.status}")

    def round(self, server: Server, number: int, settings: Settings) -> Taken:
        connection = _connected(server.port)
        problems, done = [], 0
        used, began = processor_seconds(server.pids), time.perf_counter()
        while (elapsed := time.perf_counter() - began) < settings.seconds:
            answer = self._save(connection)
            done += 1
            if not answer.is_good:
                problems.append(f"a save was answered with {answer.status}")
                break
        used = processor_seconds(server.pids) - used
        connection.close()
        return Taken(Sample(done / elapsed, used / max(1, done)), problems)

    def _save(self, connection: http.client.HTTPConnection) -> Answer:
        self._saves += 1
        body = {
            # By port, because the ceiling has a version of its own.
            "version": self._versions.get(connection.port, "new"),
            "title": "Bench",
            "content_json": _document(f"{self._saves} {self._words}"),
        }
        connection.request("POST", self._path, json.dumps(body), self._headers)
        response = connection.getresponse()
        answer = Answer(response.status, response.getheaders(), response.read())
        if answer.is_good:
            self._versions[connection.port] = json.loads(answer.body)["version"]
        return answer


def _connected(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=60)


def _document(text: str) -> dict[str, Any]:
    paragraph = {"type": "paragraph", "content": [{"type": "text", "text": text}]}
    return {"type": "doc", "content": [paragraph]}


def _line(request: bytes) -> str:
    return request.partition(b" HTTP/1.1\r\n")[0].decode()


def _health(service: Service) -> Task:
    return Load(service, [service.get("/api/health", {"Host": f"localhost:{service.port}"})])


def _api_list(query: str) -> Callable[[Service], Task]:
    def prepare(service: Service) -> Task:
        newest = service.posts[READ][-1].title.encode()
        path = f"{API}?per_page=20{query}"
        return Load(service, [service.get(path, service.keyed(READ))], newest)

    return prepare


def _api_view(query: str) -> Callable[[Service], Task]:
    def prepare(service: Service) -> Task:
        return _views(service, f"{API}/{{}}{query}", service.keyed(READ))

    return prepare


def _record_list(query: str) -> Callable[[Service], Task]:
    def prepare(service: Service) -> Task:
        newest = service.posts[READ][-1].title.encode()
        path = f"{RECORDS}?perPage=20&sort=-created{query}"
        return Load(service, [service.get(path, service.headers(READ))], newest)

    return prepare


def _record_view(query: str) -> Callable[[Service], Task]:
    def prepare(service: Service) -> Task:
        return _views(service, f"{RECORDS}/{{}}{query}", service.headers(READ))

    return prepare


def _views(service: Service, path: str, headers: dict[str, str]) -> Task:
    posts = service.posts[READ][-_IN_TURN:]
    requests = [service.get(path.format(post.id), headers) for post in posts]
    return Load(service, requests, posts[0].title.encode())


def _page(path: str) -> Callable[[Service], Task]:
    def prepare(service: Service) -> Task:
        post = service.posts[READ][-1]
        request = service.get(path.format(slug=post.slug), service.headers(READ))
        return Load(service, [request], post.title.encode())

    return prepare


def _admin_list(service: Service) -> Task:
    newest = service.posts[READ][-1].title.encode()
    request = service.get("/admin/posts", service.signed_in(READ))
    # It says how long ago a post was changed.
    return Load(service, [request], newest, is_repeatable=False)


def _create(service: Service) -> Task:
    source = random.Random(data.VERSION)
    body = {
        "title": f"Bench {_SERIAL} {data.words(source, 5)}",
        "status": "published",
        "tags": ["news", "bench"],
        "excerpt": data.words(source, 25),
        "content_html": f"<p>{data.words(source, 240)}</p>",
    }
    request = request_bytes("POST", API, service.keyed(WRITTEN), body)
    return Load(service, [request], b"Bench", is_repeatable=False)


def _update(service: Service) -> Task:
    body = {"title": f"Bench {_SERIAL} renamed"}
    posts = service.posts[WRITTEN][-_IN_TURN:]
    headers = service.keyed(WRITTEN)
    requests = [request_bytes("PATCH", f"{API}/{post.id}", headers, body) for post in posts]
    return Load(service, requests, b"renamed", is_repeatable=False)


# Each request has an address of its own, which no cache knows, and the same answer. The caches of
# both APIs take the whole query; that of pages takes what they read: the thread of a discussion,
# and the position in a list, here before its beginning.
_API_MISS: Final = f"n={_SERIAL}"
_POST_MISS: Final = f"thread={_SERIAL}"
_HOME_MISS: Final = f"before=2999-01-01T00:00:00.000Z_0000000{_SERIAL}"

OPERATIONS: Final = (
    Operation("health", _health),
    Operation(f"v1 list{WARM}", _api_list("")),
    Operation(f"v1 list{MISS}", _api_list(f"&{_API_MISS}")),
    Operation(f"v1 view{WARM}", _api_view("")),
    Operation(f"v1 view{MISS}", _api_view(f"?{_API_MISS}")),
    Operation(f"record list{WARM}", _record_list("")),
    Operation(f"record list{MISS}", _record_list(f"&{_API_MISS}")),
    Operation(f"record view{WARM}", _record_view("")),
    Operation(f"record view{MISS}", _record_view(f"?{_API_MISS}")),
    Operation(f"post's page{WARM}", _page("/posts/{slug}")),
    Operation(f"post's page{MISS}", _page(f"/posts/{{slug}}?{_POST_MISS}")),
    Operation(f"home{WARM}", _page("/")),
    Operation(f"home{MISS}", _page(f"/?{_HOME_MISS}")),
    Operation("admin list", _admin_list),
    # Writes last: what they leave to do in the background would disturb the reads.
    Operation("v1 update", _update),
    Operation("v1 create from a title", _create),
    Operation("editor autosave", Autosave),
)
