"""An installation that faults happen to: a database, a folder, a service that can be killed, and a
site with everything that the load needs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
from tests.faces.admin.visitor import OWN
from tests.faults.service import OFFSET, MovedClock
from tests.faults.toxics import Proxy
from tests.features.payments.processor import SECRET
from tests.forking import forked_program
from tests.outside.mail.postbox import Postbox
from tests.tls import Authority, Receiver
from tests.v1.keys import USUAL
from tests.world import RunningClock, TenantWorld, World, open_world

from masthead.base.caller import system
from masthead.identity.api_keys import create_key
from masthead.service.services import build

ROOT_SECRET = "k" * 40
MEMBERS = 3
_EVENTS = ("post.created", "post.published", "post.updated", "post.unpublished", "post.deleted")


@dataclass
class Installation:
    """The service that a test does something to, and what its clients need to call it."""

    folder: Path
    environ: dict[str, str]
    world: World
    tenant: TenantWorld
    key: str
    owner: str
    """The token of a session of the owner."""
    owner_email: str
    members: list[str]
    receiver: Receiver
    postbox: Postbox
    authority: Authority
    """Its certificates are trusted."""
    url: str = ""
    was_killed: bool = False
    _process: subprocess.Popen[str] | None = None
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.folder / "service.log"

    @property
    def host(self) -> str:
        return self.tenant.host

    def client(self) -> httpx.AsyncClient:
        return self._client({"Authorization": f"Bearer {self.key}"})

    def browser(self, token: str = "") -> httpx.AsyncClient:
        """With cookies of its own; signed in with the token of a session."""
        cookies = {"pb_auth": token} if token else {}
        return self._client(OWN, cookies)

    def _client(
        self, headers: Mapping[str, str], cookies: Mapping[str, str] | None = None
    ) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=self.url,
            headers={"Host": self.host, **headers},
            cookies=cookies,
            timeout=60,
            verify=False,
            # The service ends idle connections after five seconds: none of ours is used again then.
            limits=httpx.Limits(keepalive_expiry=2),
        )

    def start(self) -> None:
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                [forked_program("tests.faults.service:serve")],
                env={**_without_settings(), **self.environ},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        pid, port = self._process.stdout.readline().split()
        self.pid, self.url = int(pid), f"http://127.0.0.1:{port}"

    def kill(self) -> None:
        self.was_killed = True
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        with self._process as process:
            if process.poll() is None:
                os.kill(self.pid, number)
            process.wait(120)
        self._process = None

    async def reopen(self) -> None:
        """The test's own view of the database, which it had closed."""
        self.world.parts = await build(self.world.parts.settings, self.world.clock)

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def move_clock(self, seconds: float) -> None:
        """Sets by how much the service's clock is ahead of the machine's."""
        path = Path(self.environ[OFFSET])
        new = path.with_suffix(".new")
        new.write_text(str(seconds))
        new.replace(path)

    @property
    def clock(self) -> MovedClock:
        return MovedClock(Path(self.environ[OFFSET]))


@asynccontextmanager
async def installed(
    database_url: str,
    folder: Path,
    *,
    through: Mapping[str, str] | None = None,
    mail: Proxy | None = None,
    **environ: str,
) -> AsyncIterator[Installation]:
    """Not started yet. `through`: settings of the service that differ from those of the test, which
    looks past all proxies at what is there. `mail`: the proxy of the mail server."""
    authority = Authority(folder)
    (folder / "offset").write_text("0")
    async with Receiver(authority.certificate()) as receiver, Postbox() as postbox:
        if mail is not None:
            mail.target_port = postbox.port
        settings = {
            "MASTHEAD_OUTBOUND_ALLOW": "127.0.0.0/8",
            "MASTHEAD_OUTBOUND_CA_FILE": str(authority.ca_file),
            "MASTHEAD_SMTP_URL": f"smtp://127.0.0.1:{postbox.port}",
            "MASTHEAD_RATE_LIMITS": "off",
            "MASTHEAD_RETRY_POLICY": "1,1,2,2,5,5,10,10,20,30;disable_after=500",
            "MASTHEAD_LOG": "json",
            **environ,
        }
        clock = RunningClock()
        world = await open_world(database_url, folder, clock, **settings)
        process = {
            "MASTHEAD_SECRET_KEY": ROOT_SECRET,
            "MASTHEAD_BASE_URL": "http://localhost",
            "MASTHEAD_DATA_DIR": str(folder),
            "MASTHEAD_DATABASE_URL": database_url,
            OFFSET: str(folder / "offset"),
            **settings,
            **(through or {}),
        }
        try:
            content = await _new_site(world, receiver.url())
            site = Installation(folder, process, world, *content, receiver, postbox, authority)
            try:
                yield site
            finally:
                site.stop()
        finally:
            await world.parts.close()


async def another_site(site: Installation, *, hook: str = "/hook") -> Installation:
    """Another site of the same service, which must be running. `hook`: the path that hears of its
    events, at the same receiver."""
    tenant, key, owner, email, members = await _new_site(site.world, site.receiver.url(hook))
    return replace(site, tenant=tenant, key=key, owner=owner, owner_email=email, members=members)


async def _new_site(world: World, hook: str) -> tuple[TenantWorld, str, str, str, list[str]]:
    tenant = await world.new_tenant("coast", plan="enterprise")
    await tenant.settings(member_payment_webhook_secret=SECRET)
    owner = await tenant.owner()
    members = [
        (await tenant.member(email=f"reader{number}@host.example", newsletter=True)).id
        for number in range(MEMBERS)
    ]
    _, key = await create_key(world.parts.records, tenant.id, "load", USUAL)
    await world.parts.records.create(
        system(tenant.id),
        world.collection("webhook_subscriptions"),
        {"name": "board", "url": hook, "events": list(_EVENTS)},
        stamped={"secret": "whsec_" + "a" * 40},
    )
    return tenant, key, owner.token, owner.email, members


def _without_settings() -> dict[str, str]:
    return {name: each for name, each in os.environ.items() if "MASTHEAD" not in name}


def last_errors(log: Path) -> list[str]:
    """The log lines of errors that nobody expects: a traceback is a fault of ours."""
    return [str(each) for each in _lines(log) if each["event"] in ("request.failed", "job.crashed")]


def lost_views(log: Path) -> int:
    """Views whose commit had no answer: they may be stored, and are not stored again."""
    return sum(each["views"] for each in _lines(log) if each["event"] == "views.maybe_not_recorded")


def _lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(each) for each in log.read_text().splitlines() if each.startswith("{")]
