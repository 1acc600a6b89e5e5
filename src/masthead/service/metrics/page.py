"""`/metrics`: the numbers of all processes and the state of what they share, for Prometheus."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import shutil
from pathlib import Path
from typing import Final

from masthead.base.config.values import Secret
from masthead.base.errors import DiskFull, MastheadError, Unavailable
from masthead.base.logs import log
from masthead.base.version import running_version
from masthead.service.metrics.queues import Queues
from masthead.service.metrics.snapshot import SharedFolder, Snapshot, summed, take
from masthead.web.addressed_site import METRICS
from masthead.web.answers import Answer, header
from masthead.web.asgi import Receive, Scope, Send
from masthead.web.dispatch import Route, reading
from masthead.web.in_flight import InFlight
from masthead.web.policy import Policy, WhileSuspended, Who
from masthead.web.request import Request
from masthead.web.request_counts import RequestCounts
from masthead.web.services import WebServices

SHARE_SECONDS: Final = 1.0
_NO_STORE = (b"cache-control", b"no-store")


class MetricsPage:
    def __init__(
        self,
        services: WebServices,
        queues: Queues,
        in_flight: InFlight,
        folder: Path | None = None,
    ) -> None:
        """`folder` is where the processes of one service share their numbers; None if it has only
        this one."""
        self.requests = RequestCounts()
        self._services = services
        self._in_flight = in_flight
        self._shared = SharedFolder(folder) if folder else None
        self._queues = queues

    async def share_forever(self) -> None:
        """Writes the numbers of this process for the others."""
        while self._shared is not None:
            # A full disk, for example: the next second tries again.
            with contextlib.suppress(OSError):
                await asyncio.to_thread(self._shared.write, self._taken())
            await asyncio.sleep(SHARE_SECONDS)

    async def answer(self, accept: str) -> Answer:
        # Imported with the first look at it: most services are started without metrics.
        from masthead.service.metrics.families import Present, rendered

        services = self._services
        is_full, waiting, given_up, stored = False, None, None, None
        try:
            await services.database.ping()
        except DiskFull:
            is_full = True
        except Unavailable:
            # It says so below; what was counted is shown anyway.
            log.debug("metrics.database_down")
        with contextlib.suppress(MastheadError):
            waiting, given_up = (
                await self._queues.count_waiting(),
                await self._queues.count_given_up(),
            )
            stored = await services.database.count_bytes()
        present = Present(
            waiting=waiting,
            given_up=given_up,
            database_bytes=stored,
            is_disk_full=is_full,
            free_bytes=_free(services.settings.data_dir),
            version=running_version().version,
            build=running_version().build,
        )
        own = self._taken()

        def work() -> tuple[bytes, str]:
            others = self._shared.others() if self._shared else ()
            return rendered(summed([own, *others]), present, accept)

        body, content_type = await asyncio.to_thread(work)
        return Answer(200, body, [(b"content-type", content_type.encode()), _NO_STORE])

    def _taken(self) -> Snapshot:
        size, idle = self._services.database.connections()
        gauges = {
            "masthead_requests_in_flight": float(self._in_flight.count),
            "masthead_database_connections": float(size),
            "masthead_database_connections_idle": float(idle),
        }
        return take(self.requests, gauges)


def _free(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0


def metrics_routes(page: MetricsPage, token: Secret) -> list[Route]:
    """On the service's own port, for callers that have the token."""
    expected = f"Bearer {token}".encode()

    async def show(request: Request) -> Answer:
        given = (request.header(b"authorization") or "").encode()
        if not hmac.compare_digest(given, expected):
            headers = [(b"www-authenticate", b"Bearer"), _NO_STORE]
            return Answer(401, b"Send the token of MASTHEAD_METRICS.\n", headers)
        return await page.answer(request.header(b"accept") or "")

    # The token is the credential, and no site is concerned.
    policy = Policy(who=Who.ANYONE, while_suspended=WhileSuspended.OPEN)
    return [Route(METRICS, reading(show, policy))]


class MetricsApp:
    """On a port of its own, which only the operator's network reaches."""

    def __init__(self, page: MetricsPage) -> None:
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] == METRICS and scope["method"] in ("GET", "HEAD"):
            answer = await self._page.answer(header(scope, b"accept") or "")
        else:
            answer = Answer(404, b"The metrics are at /metrics.\n")
        length = (b"content-length", str(len(answer.body)).encode())
        headers = [*answer.headers, length]
        status = answer.status
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})
