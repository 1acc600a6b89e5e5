"""Masthead: posts are created by its engine, and it is served by `masthead serve`."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvloop

import masthead
from bench import data, process
from bench.http import call, request_bytes, upload_bytes
from bench.sides import Side
from masthead.base import clock
from masthead.base.caller import system
from masthead.base.config.settings import Settings
from masthead.base.ids import TenantId, new_id
from masthead.engine.records.engine import Records
from masthead.identity.api_keys import create_key
from masthead.identity.given_passwords import new_credentials
from masthead.identity.scopes import SCOPES
from masthead.service.services import bring_up_to_date
from masthead.service.services import build as build_parts

_EMAIL, _PASSWORD = "bench@example.com", "bench-password-1"
_POSTS = "/api/collections/posts/records"
_API = "/api/v1"
_KEYS = "bench-keys.json"
_PLENTY = 1_000_000_000
_UNREACHED = {
    "plan": "enterprise",
    "per_minute": _PLENTY,
    "per_hour": _PLENTY,
    "per_day": _PLENTY,
}
_AT_ONCE = 64


class Masthead:
    """A running Masthead, and the requests for one tenant."""

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
        return request_bytes("GET", "/api/health", {"Host": f"localhost:{self.port}"})

    def list_posts(self, tenant: str, filter_: str = "", **query: str | int) -> bytes:
        wanted = {"filter": filter_} if filter_ else {}
        path = f"{_POSTS}?{urlencode({**wanted, 'sort': '-created', **query})}"
        return request_bytes("GET", path, self._headers(tenant))

    def view_post(self, post: data.Post) -> bytes:
        return request_bytes("GET", f"{_POSTS}/{post.id}", self._headers(post.tenant))

    def create_post(self, tenant: str, body: dict[str, Any]) -> bytes:
        return request_bytes("POST", _POSTS, self._signed(tenant), body)

    def update_post(self, post: data.Post, body: dict[str, Any]) -> bytes:
        return request_bytes("PATCH", f"{_POSTS}/{post.id}", self._signed(post.tenant), body)

    def api_list(self, tenant: str, per_page: int) -> bytes:
        return request_bytes("GET", f"{_API}/posts?per_page={per_page}", self._keyed(tenant))

    def api_view(self, post: data.Post) -> bytes:
        return request_bytes("GET", f"{_API}/posts/{post.id}", self._keyed(post.tenant))

    def api_create(self, tenant: str, body: dict[str, Any]) -> bytes:
        return request_bytes("POST", f"{_API}/posts", self._keyed(tenant), body)

    def api_update(self, post: data.Post, body: dict[str, Any]) -> bytes:
        return request_bytes("PATCH", f"{_API}/posts/{post.id}", self._keyed(post.tenant), body)

    def api_upload(self, tenant: str, content: bytes) -> bytes:
        return upload_bytes(f"{_API}/media", self._keyed(tenant), {"alt": "bench"}, content)

    def _keyed(self, tenant: str) -> dict[str, str]:
        return self._headers(tenant) | {"Authorization": f"Bearer {self._keys[tenant]}"}

    def _headers(self, tenant: str) -> dict[str, str]:
        return {"Host": f"{tenant}.localhost:{self.port}"}

    def _signed(self, tenant: str) -> dict[str, str]:
        return self._headers(tenant) | {"Authorization": self.token}


def side(workers: int) -> Side:
    @contextmanager
    def serving(folder: Path) -> Iterator[Masthead]:
        with process.masthead(folder, workers=workers) as (port, server):
            yield Masthead(port, server.pid, json.loads((folder / _KEYS).read_text()))

    return Side("Masthead", _version(), build, serving)


def build(folder: Path, posts: Iterable[data.Post]) -> None:
    uvloop.run(_build(folder, posts))


def _version() -> str:
    """Of all that decides how a post is stored, so that an outdated data set is not used."""
    package = Path(masthead.__file__).parent
    migrations = sorted(package.glob("storage/migrations/versions/r*"))
    digest = hashlib.sha256()
    for path in (*migrations, package / "features" / "posts" / "collection.py", Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


async def _build(folder: Path, posts: Iterable[data.Post]) -> None:
    settings = Settings.from_environ({}, data_dir=folder)
    await bring_up_to_date(settings)
    moment: ContextVar[datetime] = ContextVar("moment")
    moment.set(clock.now())
    parts = await build_parts(settings, now=moment.get)
    try:
        await _create_operator(parts.records)
        loader = _Loader(parts.records, moment)
        remaining = iter(posts)
        while batch := list(islice(remaining, _AT_ONCE)):
            await loader.load(batch)
        # In a used installation only new records wait for the search index.
        while (await parts.records.search_index.run_batch()).indexed:
            pass
        (folder / _KEYS).write_text(json.dumps(loader.keys))
    finally:
        await parts.close()


async def _create_operator(records: Records) -> None:
    credentials = await new_credentials({"password": _PASSWORD}, required=True)
    superusers = records.registry["_superusers"]
    await records.create(system(), superusers, {"email": _EMAIL}, stamped=credentials)


class _Loader:
    """Creates each post with its own time, and a tenant with its first post.

    Each post has its own unit, so the rows of the tenants are mixed in the file. The writer groups
    the units of a batch into one commit."""

    def __init__(self, records: Records, moment: ContextVar[datetime]) -> None:
        self._records = records
        self._moment = moment
        self._tenants: dict[str, TenantId] = {}
        self.keys: dict[str, str] = {}

    async def load(self, batch: list[data.Post]) -> None:
        for post in batch:
            if post.tenant not in self._tenants:
                self._tenants[post.tenant] = await self._create_tenant(post.tenant)
        await asyncio.gather(*map(self._create_post, batch))

    async def _create_tenant(self, slug: str) -> TenantId:
        tenant_id = TenantId(new_id())
        collections = self._records.registry
        async with self._records.unit(system(tenant_id), emit_events=False) as unit:
            # Limits are counted at every call, but never reached.
            tenant = {"id": tenant_id, "slug": slug, "name": slug.title(), **_UNREACHED}
            await unit.create(collections["tenants"], tenant)
            site = {"slug": slug, "site_name": slug.title()}
            await unit.create(collections["site_settings"], site)
        _, self.keys[slug] = await create_key(self._records, tenant_id, "bench", tuple(SCOPES))
        return tenant_id

    async def _create_post(self, post: data.Post) -> None:
        # Each task has its own context, so this sets the time of this post only.
        self._moment.set(post.created)
        caller = system(self._tenants[post.tenant])
        async with self._records.unit(caller, emit_events=False) as unit:
            await unit.create(self._records.registry["posts"], _fields(post))


def _fields(post: data.Post) -> dict[str, Any]:
    return {
        "id": post.id,
        "title": post.title,
        "slug": post.slug,
        "status": post.status,
        "visibility": post.visibility,
        "tags": post.tags,
        "excerpt": post.excerpt,
        "content_html": post.content_html,
        "published_at": clock.to_text(post.published_at) if post.published_at else "",
    }
