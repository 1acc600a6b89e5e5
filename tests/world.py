"""A whole service for tests, spoken of in the product's words: tenants, owners, members, posts.

One service per database stands for the whole test run; what keeps tests apart is that each has
tenants of its own, as the service itself keeps its tenants apart.
"""

from __future__ import annotations

import ipaddress
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import httpx
import msgspec
import sqlalchemy as sa
from argon2 import PasswordHasher
from tests.databases import do_not_wait_for_disk

from masthead.base import ids
from masthead.base.caller import system
from masthead.base.config.settings import Settings
from masthead.base.ids import TenantId
from masthead.engine.events.outbox import events
from masthead.engine.jobs.tables import jobs
from masthead.engine.records.accounts import credentials
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.search.index import search_queue
from masthead.features.members.collection import blog_members
from masthead.identity import passwords
from masthead.identity.sign_ins import Client
from masthead.identity.tenants import superusers
from masthead.service.app import http_app
from masthead.service.services import Services, build
from masthead.storage.database import EVERY_TENANT, Statement, scope_of
from masthead.web.asgi import ASGIApp

PASSWORD = "correct horse battery"
START = datetime(2026, 11, 14, 9, 30, 0, 123_000, tzinfo=UTC)

_numbers = itertools.count(1)
_FIRST_ADDRESS = ipaddress.ip_address("198.18.0.0")


class MovableClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.moment = START

    def __call__(self) -> datetime:
        return self.moment

    def advance(self, **length: float) -> None:
        self.moment += timedelta(**length)


class RunningClock(MovableClock):
    """The real time, for clients with a clock of their own; moving it has no effect."""

    def __init__(self) -> None:
        super().__init__()
        self._stopped_at: datetime | None = None

    def __call__(self) -> datetime:
        return self._stopped_at or datetime.now(UTC)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """For two answers that are compared: `2 min ago` stays the same in both."""
        self._stopped_at = datetime.now(UTC)
        try:
            yield
        finally:
            self._stopped_at = None


@dataclass(frozen=True)
class Account:
    """A signed-in account, with a client that sends its token to one host."""

    id: str
    email: str
    token: str
    api: httpx.AsyncClient


@dataclass
class TenantWorld:
    """One tenant: its name, its host, and a guest's view of it."""

    world: World
    id: TenantId
    slug: str

    @property
    def host(self) -> str:
        return f"{self.slug}.localhost"

    @property
    def guest(self) -> httpx.AsyncClient:
        return self.world.client(self.host)

    async def owner(self, **values: Any) -> Account:
        return await self.world.new_account(superusers, self, values)

    async def member(self, **values: Any) -> Account:
        return await self.world.new_account(blog_members, self, values)

    async def create(self, collection: str, values: dict[str, Any]) -> Record:
        """A record made by the service itself, a second after whatever was made before."""
        self.world.clock.advance(seconds=1)
        return await self.world.parts.records.create(
            system(self.id), self.world.collection(collection), values
        )

    async def update(self, collection: str, record_id: str, values: dict[str, Any]) -> Record:
        return await self.world.parts.records.update(
            system(self.id), self.world.collection(collection), record_id, values
        )

    async def post(self, **values: Any) -> Record:
        return await self.create("posts", {"title": "Hello big world"} | values)

    async def published(self, **values: Any) -> Record:
        return await self.post(**{"status": "published"} | values)

    async def settings(self, **values: Any) -> None:
        found = await self.world.parts.records.find(
            self.world.collection("site_settings"), {}, tenant_id=self.id
        )
        await self.update("site_settings", found[0]["id"], values)

    async def events(self) -> list[tuple[str, dict[str, Any]]]:
        """Everything in the tenant's outbox so far, in order."""
        database = self.world.parts.database
        wanted = sa.select(events.c.name, events.c.payload).where(
            events.c.tenant_id == sa.bindparam("tenant")
        )
        statement = database.compile(wanted.order_by(events.c.version, events.c.ordinal))
        rows = await database.fetch(scope_of(self.id), statement, (self.id,))
        return [(name, msgspec.json.decode(payload)) for name, payload in rows]

    async def event_names(self) -> list[str]:
        return [name for name, _ in await self.events()]


class World:
    def __init__(self, parts: Services, clock: MovableClock) -> None:
        self.parts = parts
        self.clock = clock
        self.http: ASGIApp = http_app(parts)

    @property
    def engine(self) -> str:
        return self.parts.database.name

    def collection(self, name: str) -> Collection:
        return self.parts.records.registry[name]

    def client(
        self, host: str = "localhost", *, token: str = "", address: str = "", app: Any = None
    ) -> httpx.AsyncClient:
        """An in-process client of one host; each has an IP address of its own by default."""
        address = address or str(_FIRST_ADDRESS + next(_numbers))
        transport = httpx.ASGITransport(app or self.http, client=(address, 4242))
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(transport=transport, base_url=f"http://{host}", headers=headers)

    async def new_tenant(
        self, name: str = "tenant", *, slug: str = "", plan: str = "business"
    ) -> TenantWorld:
        slug = slug or f"{name}-{next(_numbers)}"
        tenant = TenantWorld(self, TenantId(ids.new_id()), slug)
        await tenant.create(
            "tenants", {"id": tenant.id, "slug": tenant.slug, "name": name, "plan": plan}
        )
        await tenant.create("site_settings", {"slug": tenant.slug, "site_name": name})
        return tenant

    async def forget_work(self) -> None:
        """Deletes all waiting work, so that the next test that runs a worker does only its own."""
        async with self.parts.database.transaction(EVERY_TENANT) as tx:
            for each in self._no_work:
                await tx.execute(each)

    @cached_property
    def _no_work(self) -> list[Statement]:
        return [self.parts.database.compile(sa.delete(each)) for each in (jobs, search_queue)]

    async def operator(self, **values: Any) -> Account:
        return await self.new_account(superusers, None, values)

    async def new_account(
        self, collection: Collection, tenant: TenantWorld | None, values: dict[str, Any]
    ) -> Account:
        values = {"email": f"person{next(_numbers)}@example.com"} | values
        maker = system(tenant.id if tenant else None)
        stamped = credentials(_password_hash(passwords._hasher))
        record = await self.parts.records.create(maker, collection, values, stamped=stamped)
        return await self.signed_in(collection, record, tenant.host if tenant else "localhost")

    async def signed_in(self, collection: Collection, record: Record, host: str) -> Account:
        """A session without the price of a password check."""
        session = await self.parts.accounts.begin(collection, record, Client())
        api = self.client(host, token=session.token)
        return Account(record["id"], record["email"], session.token, api)


async def open_world(
    database_url: str, folder: Path, clock: MovableClock | None = None, **environ: str
) -> World:
    settings = Settings.from_environ(
        {"MASTHEAD_SECRET_KEY": "k" * 40, "MASTHEAD_BASE_URL": "http://localhost"} | environ,
        data_dir=folder,
        database_url=database_url,
    )
    clock = clock or MovableClock()
    parts = await build(settings, clock)
    do_not_wait_for_disk(parts.database)
    return World(parts, clock)


@cache
def _password_hash(hasher: PasswordHasher) -> str:
    """As the hasher that is used now makes it: no sign-in replaces it."""
    return hasher.hash(PASSWORD)


def records_of(collection: str, record_id: str = "") -> str:
    """The record store's address of a collection or of one record in it."""
    path = f"/api/collections/{collection}/records"
    return f"{path}/{record_id}" if record_id else path
