"""One version with data of its own: a site that is only read, and one that is written to.

Everything is made by commands and the public API, which every version has.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from bench import data, process
from bench.commits.checkout import Checkout
from bench.http import call, request_bytes

READ, WRITTEN = "read", "written"
API: Final = "/api/v1/posts"
_EMAIL, _PASSWORD = "bench@example.com", "bench-password-1"
# Limits are counted at every call, but never reached.
_PLENTY: Final = tuple(f"--per-{each}=1000000000" for each in ("minute", "hour", "day"))
_CALM_SECONDS: Final = 0.5
_CALM_SHARE: Final = 0.05
_MOST_SECONDS: Final = 20.0


@dataclass(frozen=True)
class Post:
    id: str
    slug: str
    title: str


@dataclass
class Version:
    checkout: Checkout
    folder: Path

    def __post_init__(self) -> None:
        self._data = self.folder / "data"
        self._keys: dict[str, str] = {}
        self._posts: dict[str, list[Post]] = {}

    def fill(self, posts: int) -> None:
        self.folder.mkdir()
        for slug in (READ, WRITTEN):
            owner = ("--owner-email", _EMAIL, "--owner-password", _PASSWORD)
            new = ("--slug", slug, "--name", slug.title(), "--plan", "enterprise")
            self.run("tenant", "create", *new, *owner)
            self.run("tenant", "set-plan", slug, "enterprise", *_PLENTY)
            scopes = ("--scope", "posts:read", "--scope", "posts:write")
            made = self.run("key", "create", "--tenant", slug, "--name", "bench", *scopes)
            self._keys[slug] = json.loads(made)["key"]
        with self.serving() as service:
            for slug in (READ, WRITTEN):
                self._posts[slug] = service.filled(slug, posts)
            service.wait_until_calm()

    def run(self, *arguments: str) -> str:
        """The output of a command."""
        done = subprocess.run(
            [self.checkout.command, *arguments, "--json"],
            env=os.environ | {"MASTHEAD_DATA_DIR": str(self._data), "PYTHONDONTWRITEBYTECODE": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            said = done.stderr.strip() or done.stdout.strip()
            raise RuntimeError(f"masthead {' '.join(arguments[:2])}: {said}")
        return done.stdout

    @contextmanager
    def serving(self) -> Iterator[Service]:
        with process.masthead(self._data, command=self.checkout.command) as (port, server):
            yield Service(port, server.pid, self._keys, self._posts)


class Service:
    """A running version, and requests for it."""

    def __init__(
        self, port: int, pid: int, keys: dict[str, str], posts: dict[str, list[Post]]
    ) -> None:
        self.port = port
        self.pids = [pid, *process.descendants(pid)]
        self.posts = posts
        self._keys = keys
        self._tokens: dict[str, str] = {}

    def headers(self, slug: str) -> dict[str, str]:
        return {"Host": f"{slug}.localhost:{self.port}"}

    def keyed(self, slug: str) -> dict[str, str]:
        return self.headers(slug) | {"Authorization": f"Bearer {self._keys[slug]}"}

    def token(self, slug: str) -> str:
        """Of the site's owner."""
        if slug not in self._tokens:
            path = "/api/collections/_superusers/auth-with-password"
            credentials = {"identity": _EMAIL, "password": _PASSWORD}
            answer = call(self.port, "POST", path, credentials, self.headers(slug))
            self._tokens[slug] = str(answer["token"])
        return self._tokens[slug]

    def signed_in(self, slug: str) -> dict[str, str]:
        """As a browser is."""
        return self.headers(slug) | {"Cookie": f"pb_auth={self.token(slug)}"}

    def get(self, path: str, headers: dict[str, str]) -> bytes:
        return request_bytes("GET", path, headers)

    def filled(self, slug: str, count: int) -> list[Post]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        found = []
        for post in islice(data.posts_of_one(slug, count), count):
            body = json.dumps(_body(post))
            sent = self.keyed(slug) | {"Content-Type": "application/json"}
            connection.request("POST", API, body, sent)
            response = connection.getresponse()
            answer = json.loads(response.read())
            if response.status != 201:
                raise RuntimeError(f"a post could not be made: {response.status} {answer}")
            made = answer.get("data", answer)
            found.append(Post(made["id"], made["slug"], made["title"]))
        connection.close()
        return found

    def megabytes(self) -> float:
        return process.pss_megabytes(self.pids[0])

    def wait_until_calm(self) -> None:
        """New posts are indexed for a while, and what runs at a start ends."""
        deadline = time.monotonic() + _MOST_SECONDS
        used = process.processor_seconds(self.pids)
        while time.monotonic() < deadline:
            time.sleep(_CALM_SECONDS)
            before, used = used, process.processor_seconds(self.pids)
            if used - before < _CALM_SECONDS * _CALM_SHARE:
                return


def _body(post: data.Post) -> dict[str, Any]:
    return {
        "title": post.title,
        "slug": post.slug,
        "status": "published",
        "tags": post.tags,
        "excerpt": post.excerpt,
        "content_html": post.content_html,
    }
