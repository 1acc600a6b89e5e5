"""The interface of both services: a folder that is filled once, a running process, and the bytes
of the requests that are measured."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol
from urllib.parse import urlencode

from bench import process
from bench.data import Post
from bench.http import call, request_bytes

EMAIL, PASSWORD = "bench@example.com", "bench-password-1"
KEYS = "bench-keys.json"
PLENTY = 1_000_000_000
"""A limit that is counted at every call, but never reached."""


class CanNot(Exception):
    """A service does not have what is asked."""


class Side(Protocol):
    """A version of a service, not running."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str:
        """A digest of all that decides how posts are stored; in the name of a cached data set."""

    def fill(self, folder: Path, posts: Iterable[Post]) -> None: ...

    def serving(self, folder: Path) -> AbstractContextManager[Service]: ...

    def run(self, folder: Path, *arguments: str) -> str:
        """The output of a command. Raises CanNot."""


@dataclass
class Service:
    """A running service. Its methods return the bytes of one request for a site."""

    port: int
    pid: int
    keys: dict[str, str]
    records: ClassVar = "/api/collections/posts/records"
    api: ClassVar = ""

    @cached_property
    def token(self) -> str:
        """A token of an account that may change all sites."""
        path = "/api/collections/_superusers/auth-with-password"
        return str(
            call(self.port, "POST", path, {"identity": EMAIL, "password": PASSWORD})["token"]
        )

    def host(self, site: str) -> dict[str, str]:
        raise NotImplementedError

    def key(self, site: str) -> dict[str, str]:
        raise NotImplementedError

    def signed(self, site: str) -> dict[str, str]:
        return self.host(site) | {"Authorization": self.token}

    def keyed(self, site: str) -> dict[str, str]:
        return self.host(site) | self.key(site)

    def body(self, site: str, given: dict[str, Any]) -> dict[str, Any]:
        """The body of a new post."""
        return given

    def filter(self, site: str, given: str) -> str:
        return given

    def health(self) -> bytes:
        return request_bytes("GET", "/api/health", {"Host": f"localhost:{self.port}"})

    def list(self, site: str, given: str = "", **query: str | int) -> bytes:
        """As a guest, newest first."""
        wanted = {"filter": found} if (found := self.filter(site, given)) else {}
        path = f"{self.records}?{urlencode({**wanted, 'sort': '-created', **query})}"
        return request_bytes("GET", path, self.host(site))

    def view(self, post: Post) -> bytes:
        return request_bytes("GET", f"{self.records}/{post.id}", self.host(post.site))

    def create(self, site: str, given: dict[str, Any]) -> bytes:
        return request_bytes("POST", self.records, self.signed(site), self.body(site, given))

    def update(self, post: Post, given: dict[str, Any]) -> bytes:
        return request_bytes("PATCH", f"{self.records}/{post.id}", self.signed(post.site), given)

    def api_list(self, site: str, per_page: int) -> bytes:
        """With a key: posts in any state, without their content."""
        raise NotImplementedError

    def api_view(self, post: Post) -> bytes:
        return request_bytes("GET", f"{self.api}/{post.id}", self.keyed(post.site))

    def api_create(self, site: str, given: dict[str, Any]) -> bytes:
        return request_bytes("POST", self.api, self.keyed(site), self.body(site, given))

    def api_update(self, post: Post, given: dict[str, Any]) -> bytes:
        return request_bytes("PATCH", f"{self.api}/{post.id}", self.keyed(post.site), given)

    def page(self, site: str, path: str, *, is_signed_in: bool = False) -> bytes:
        raise CanNot("there are no pages")

    def wait_until_calm(self) -> None:
        """Until it has done what it does later for the requests so far."""
        process.wait_until_calm(self.pid)

    def megabytes(self) -> float:
        return process.pss_megabytes(self.pid)
