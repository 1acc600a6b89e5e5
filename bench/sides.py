"""The common interface of the two measured services."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bench.data import Post


class Server(Protocol):
    """A running service. Each method returns the bytes of one request."""

    @property
    def port(self) -> int: ...

    @property
    def pid(self) -> int: ...

    def health(self) -> bytes: ...

    def list_posts(self, tenant: str, filter_: str = "", **query: str | int) -> bytes:
        """As a guest, newest first."""

    def view_post(self, post: Post) -> bytes: ...

    def create_post(self, tenant: str, body: dict[str, Any]) -> bytes: ...

    def update_post(self, post: Post, body: dict[str, Any]) -> bytes: ...

    def api_list(self, tenant: str, per_page: int) -> bytes:
        """With an API key: posts of a tenant in any state, without their content."""

    def api_view(self, post: Post) -> bytes: ...

    def api_create(self, tenant: str, body: dict[str, Any]) -> bytes: ...

    def api_update(self, post: Post, body: dict[str, Any]) -> bytes: ...

    def api_upload(self, tenant: str, content: bytes) -> bytes: ...


@dataclass(frozen=True)
class Side:
    name: str
    version: str
    """Of all that decides how posts are stored; part of the name of a cached data set."""
    build: Callable[[Path, Iterable[Post]], None]
    """Fills an empty folder with tenants and their posts."""
    serving: Callable[[Path], AbstractContextManager[Server]]
