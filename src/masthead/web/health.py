"""`GET /api/health`: the state of the service and of its database."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import structlog

import masthead
from masthead import clock
from masthead.errors import DiskFull, Unavailable
from masthead.storage.database import Database
from masthead.web.answers import Answer, json_answer
from masthead.web.dispatch import Route, reading
from masthead.web.errors import retry_after
from masthead.web.policy import Policy, WhileSuspended, Who
from masthead.web.request import Request

log = structlog.get_logger()

NO_STORE = ((b"cache-control", b"no-store"),)
POLICY = Policy(who=Who.ANYONE, while_suspended=WhileSuspended.OPEN)


class Health:
    def __init__(self, database: Database, build: str, now: clock.Clock = clock.now) -> None:
        self._database = database
        self._build = build
        self._clock = now

    def routes(self) -> list[Route]:
        return [Route("/api/health", reading(self.answer, POLICY))]

    async def answer(self, _: Request) -> Answer:
        status, body = await self._state()
        return json_answer(status, body, (*NO_STORE, *retry_after(status)))

    async def _state(self) -> tuple[int, dict[str, Any]]:
        body: dict[str, Any] = {
            "status": "ok",
            "ts": clock.to_text(self._clock()),
            "pb": "ok",
            "build": self._build,
        }
        try:
            await self._database.ping()
        except DiskFull:
            # Pages and lists are answered, so a load balancer must not take the service out.
            body.update(status="degraded", pb="degraded", error="disk_full")
        except Unavailable as error:
            log.warning("health.record_store_down", cause=str(error.__cause__ or error))
            # Never the cause itself: it may name a host, a path or a user.
            body.update(status="degraded", pb="down", error="The record store does not answer.")
            return 503, body
        return 200, body


def build_revision(baked: str = "") -> str:
    """The revision baked in at packaging time, that of a checkout, or the package's version."""
    if baked:
        return baked[:12]
    root = Path(masthead.__file__).parents[2]
    if not (root / ".git").exists():
        return masthead.__version__
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"],  # noqa: S607
            cwd=root,
            capture_output=True,
            text=True,
            timeout=2,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return masthead.__version__
    return found.stdout.strip() or masthead.__version__
