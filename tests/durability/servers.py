"""The service as a process that a test may kill, and the sites it serves."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from tests.forking import forked_program

from masthead.base import ids
from masthead.base.caller import system
from masthead.base.config.settings import Settings
from masthead.base.ids import TenantId
from masthead.engine.records.accounts import credentials
from masthead.features.site.collection import site_settings
from masthead.identity.passwords import hash_password
from masthead.identity.tenants import superusers, tenants
from masthead.service.services import Services, build

PASSWORD = "correct horse battery"
ATTEMPTS = 200


def environment(data_dir: Path, database_url: str) -> dict[str, str]:
    return {
        "MASTHEAD_DATA_DIR": str(data_dir),
        "MASTHEAD_DATABASE_URL": database_url,
        "MASTHEAD_LOG": "json",
    }


@dataclass(frozen=True, slots=True)
class Site:
    tenant_id: TenantId
    slug: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Host": f"{self.slug}.localhost", "Authorization": self.token}


async def new_site(parts: Services, slug: str) -> Site:
    """A tenant with its settings and an owner, who is signed in."""
    tenant_id = TenantId(ids.new_id())
    email = f"owner@{slug}.example"
    async with parts.records.unit(system(tenant_id)) as unit:
        await unit.create(tenants, {"id": tenant_id, "slug": slug, "name": slug, "plan": "pro"})
        await unit.create(site_settings, {"slug": slug, "site_name": slug})
        stamped = credentials(await hash_password(PASSWORD))
        await unit.create(superusers, {"email": email}, stamped=stamped)
    signed_in = await parts.accounts.sign_in(
        superusers, tenant_id, email, PASSWORD, address="127.0.0.1"
    )
    return Site(tenant_id, slug, signed_in.token)


async def new_sites(environ: dict[str, str], *slugs: str) -> list[Site]:
    parts = await build(Settings.from_environ(environ))
    try:
        return [await new_site(parts, slug) for slug in slugs]
    finally:
        await parts.close()


@dataclass(frozen=True, slots=True)
class Running:
    pid: int
    url: str

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


class Servers:
    def __init__(self, environ: dict[str, str], started: ExitStack) -> None:
        self._environ = environ
        self._started = started

    def start(self) -> Running:
        """One more server process; it answers its first request once it is ready."""
        process = subprocess.Popen(
            [forked_program("tests.durability.forking_server:serve")],
            env={**os.environ, **self._environ},
            stdout=subprocess.PIPE,
            text=True,
        )
        self._started.enter_context(process)
        self._started.callback(process.terminate)
        assert process.stdout is not None
        pid, port = process.stdout.readline().split()
        return Running(int(pid), f"http://127.0.0.1:{port}")


@contextmanager
def servers(environ: dict[str, str]) -> Iterator[Servers]:
    with ExitStack() as started:
        yield Servers(environ, started)


async def ready(client: httpx.AsyncClient) -> None:
    """Waits for the first healthy answer; the transport itself waits for the port."""
    for _ in range(ATTEMPTS):
        try:
            if (await client.get("/api/health")).status_code == 200:
                return
        except httpx.TransportError:
            continue
    raise AssertionError("the server did not come up")
