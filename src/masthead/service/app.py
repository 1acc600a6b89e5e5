"""Mounts the faces on the shared components, and starts and stops them with the worker."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from masthead.base import clock, logs
from masthead.base.config.settings import Settings
from masthead.base.counters import CACHES
from masthead.base.errors import MastheadError
from masthead.faces.mcp import MCP_PATH, has_mcp
from masthead.faces.reader.drafts import draft_routes
from masthead.faces.reader.endpoint import SitePages
from masthead.faces.reader.member.routes import member_page_routes
from masthead.faces.reader.routes import other_addresses, reader_routes
from masthead.faces.reader.themes import OUR_STATIC
from masthead.faces.record_api import description as record_description
from masthead.faces.record_api import realtime_description
from masthead.faces.record_api.call import RecordStore
from masthead.faces.record_api.errors import error_answer as record_store_error
from masthead.faces.record_api.routes import PREFIXES as RECORD_STORE_PREFIXES
from masthead.faces.record_api.routes import ROWS as RECORD_ROWS
from masthead.faces.record_api.routes import routes as record_routes
from masthead.features.ai import description as ai_description
from masthead.features.ai import http as ai
from masthead.features.comments.http import comment_mail_routes
from masthead.features.comments.v1 import routes as comment_table
from masthead.features.mailings import http as mail_events
from masthead.features.mailings.tracking_http import tracking_routes
from masthead.features.mailings.v1 import routes as mailing_table
from masthead.features.media.http import media_routes
from masthead.features.media.v1 import routes as media_table
from masthead.features.members.http import member_routes
from masthead.features.members.v1 import routes as member_table
from masthead.features.pages.v1 import routes as page_table
from masthead.features.password_reset.http import reset_routes
from masthead.features.payments import description as payments_description
from masthead.features.payments import receiver as payments
from masthead.features.payments.v1 import routes as tier_table
from masthead.features.posts.tags_v1 import routes as tag_table
from masthead.features.posts.v1 import routes as post_table
from masthead.features.privacy import description as privacy_description
from masthead.features.privacy import http as privacy
from masthead.features.site.address import site_url
from masthead.features.site.design import PLAIN
from masthead.features.site.redirects_v1 import routes as redirect_table
from masthead.features.site.v1 import routes as site_table
from masthead.features.statistics.v1 import routes as statistics_table
from masthead.features.trash.v1 import routes as trash_table
from masthead.features.webhooks.events_v1 import routes as event_table
from masthead.features.webhooks.v1 import routes as webhook_table
from masthead.service.metrics.page import MetricsPage, metrics_routes
from masthead.service.metrics.queues import Queues
from masthead.service.schema import registry, tables
from masthead.service.services import Services, build
from masthead.service.tracing.setup import open_traces
from masthead.storage.disk import DiskState
from masthead.storage.presence import Presence
from masthead.web import health, pages
from masthead.web.addressed_site import AddressedSite
from masthead.web.answers import Answer
from masthead.web.asgi import Receive, Scope, Send
from masthead.web.asking_again import Proofs
from masthead.web.assets import Assets, assets_routes
from masthead.web.asyncapi.endpoint import event_description_routes
from masthead.web.cache import AnswerCache
from masthead.web.checks import Checks
from masthead.web.dispatch import Dispatch, Face, LazyFace, LazyRoute, Route
from masthead.web.errors import ErrorResponder, ErrorResponders, MethodNotAllowed
from masthead.web.front_door import FrontDoor
from masthead.web.in_flight import InFlight
from masthead.web.observers import RequestObserver, join_observers
from masthead.web.one_address import OneAddress
from masthead.web.openapi.endpoints import description_routes
from masthead.web.openapi.service import Part, service_description_routes
from masthead.web.request import Request
from masthead.web.rows import mount
from masthead.web.services import RoomServices
from masthead.web.v1.endpoint import V1Answers
from masthead.web.v1.errors import error_responder
from masthead.web.v1.mount import mount as mount_v1
from masthead.web.well_known import well_known_routes

if TYPE_CHECKING:
    from masthead.service.background import Background
    from masthead.service.tracing.spans import Traces


def http_app(services: Services) -> FrontDoor:
    return faces(services)[0]


def faces(
    services: Services,
    in_flight: InFlight | None = None,
    metrics: MetricsPage | None = None,
    traces: RequestObserver | None = None,
) -> tuple[FrontDoor, LazyFace]:
    """All faces behind the front door, and the one that is not built yet."""
    settings = services.settings
    pages_cache = AnswerCache(services.versions, services.records.clock, counts=CACHES["site"])
    site = SitePages(services, pages_cache)
    elsewhere = other_addresses(site)
    assets = (Assets(PLAIN, [OUR_STATIC]), *services.themes.assets.values())
    admin = LazyFace(partial(_admin_face, services, site, assets, elsewhere))
    # Its tools call the API through the front door, which is built below and has its route.
    mcp = LazyFace(lambda: _mcp_face(services, door, elsewhere))
    v1_cache = AnswerCache(services.versions, counts=CACHES["v1"])
    v1 = V1Answers(services, services.idempotency, v1_cache)
    token = settings.metrics.token if settings.metrics else None
    readers = (*reader_routes(site), *member_page_routes(site, services))
    routes = Dispatch(
        [
            *record_routes(RecordStore(services, services.realtime, services.guest_answers)),
            *description_routes(V1_TABLE, settings),
            *event_description_routes(registry, settings),
            *service_description_routes(SERVICE_PARTS, registry, settings),
            *mount_v1(V1_TABLE, v1),
            *media_routes(services),
            *mount(payments.ROWS, RoomServices(services, services.payments)),
            *mount(mail_events.ROWS, RoomServices(services, services.mailings)),
            *mount(ai.ROWS, RoomServices(services, services.ai)),
            *mount(privacy.ROWS, RoomServices(services, services.privacy)),
            *mount(health.ROWS, services),
            *(metrics_routes(metrics, token) if metrics and token else ()),
            *member_routes(
                services.records, services.sites, services.members.email_changes, site.show
            ),
            *tracking_routes(services.mailings.tracking),
            *comment_mail_routes(services.records, services.sites, site.show),
            *reset_routes(services.passwords.resets, site.show),
            *(LazyRoute(path, admin) for path in ADMIN_PATHS),
            *([LazyRoute(MCP_PATH, mcp)] if has_mcp() else ()),
            *well_known_routes(settings, services.records.clock),
            *draft_routes(site),
            *readers,
            *services.accents.routes(),
            *assets_routes(*assets),
        ],
        fallback=elsewhere,
        in_languages=readers,
    )
    responders = error_responders(settings, admin.error_answer)
    observer = join_observers(metrics.requests if metrics else None, traces, services.views)
    door = front_door(services, routes, responders, in_flight, observer=observer)
    return door, admin


def metrics_page(
    services: Services, in_flight: InFlight, folder: Path | None = None
) -> MetricsPage:
    # Imported here: it is the worker, and most services are started without metrics.
    from masthead.service.background import job_handlers

    kinds = tuple(job_handlers(services))
    queues = Queues(services.database, tables, kinds, services.records.clock)
    return MetricsPage(services, queues, in_flight, folder)


def front_door(
    services: Services,
    routes: Dispatch,
    responders: ErrorResponders | None = None,
    in_flight: InFlight | None = None,
    *,
    observer: RequestObserver | None = None,
) -> FrontDoor:
    settings = services.settings
    return FrontDoor(
        routes=routes,
        checks=Checks(
            settings=settings,
            directory=services.directory,
            callers=services.callers,
            staff=services.staff,
            keys=services.keys,
            limiter=services.limiter,
            form_tokens=services.form_tokens,
            proofs=Proofs(services.accounts, services.staff.second_steps, services.staff.passkeys),
        ),
        settings=settings,
        site=AddressedSite(services.directory, settings),
        one_address=OneAddress(
            settings, lambda tenant: site_url(settings, tenant.slug, tenant.custom_domain)
        ),
        error_responders=responders or error_responders(settings),
        error_log=services.error_log,
        disk=DiskState(),
        in_flight=in_flight or InFlight(),
        observer=observer,
    )


def _admin_face(
    services: Services, site: SitePages, assets: Sequence[Assets], elsewhere: Route
) -> Face:
    # Imported here: with all its pages it is a fifth of a start.
    from masthead.service.admin_face import AdminFace

    return AdminFace(services, site, assets, elsewhere)


def _mcp_face(services: Services, door: FrontDoor, elsewhere: Route) -> Face:
    # Imported here: few sites have an assistant, and its library takes as long as a start.
    from masthead.faces.mcp.face import McpFace

    return McpFace(V1_TABLE, services.settings, services.windows, door=door, elsewhere=elsewhere)


def _background(services: Services, traces: Traces | None) -> Background:
    # Imported here: with its first chores it is an eighth of a start.
    from masthead.service.background import Background

    return Background(services, traces)


def error_responders(
    settings: Settings, admin: ErrorResponder = pages.error_answer
) -> ErrorResponders:
    """The format of errors by path."""
    return ErrorResponders(
        _error_answer,
        {
            # Also for health, AI, data protection, payments and unknown paths.
            "/api": error_responder(settings.error_codes),
            MCP_PATH: error_responder(settings.error_codes),
            **dict.fromkeys(RECORD_STORE_PREFIXES, record_store_error),
            "/member": pages.error_answer,
            "/admin": admin,
        },
    )


ADMIN_PATHS = ("/admin", "/admin/{path:path}", "/assets/admin/{path:path}")

V1_TABLE = (
    *post_table,
    *tag_table,
    *page_table,
    *trash_table,
    *media_table,
    *comment_table,
    *member_table,
    *tier_table,
    *mailing_table,
    *site_table,
    *redirect_table,
    *event_table,
    *webhook_table,
    *statistics_table,
)
"""Every endpoint of the public API."""

SERVICE_PARTS = (
    Part(
        RECORD_ROWS,
        record_description.TAGS | realtime_description.TAGS,
        record_description.responses(),
    ),
    Part(ai.ROWS, {ai_description.TAG: "Text from an AI provider, as a stream."}),
    Part(privacy.ROWS, {privacy_description.TAG: "Exports and deletions of personal data."}),
    Part(payments.ROWS, {payments_description.TAG: "What the payment processor calls."}),
    Part(mail_events.ROWS, {mail_events.TAG: "What email providers call."}),
    Part(health.ROWS, {health.TAG: "For load balancers and monitors."}),
)
"""Every other endpoint that programs call."""


class Service:
    """The ASGI application of one server process, with its background worker."""

    def __init__(
        self,
        settings: Settings,
        *,
        with_worker: bool = True,
        metrics_folder: Path | None = None,
        now: clock.Clock = clock.now,
    ) -> None:
        """`metrics_folder` is where several processes share their numbers."""
        self._clock = now
        self._settings = settings
        self._with_worker = with_worker
        self._metrics_folder = metrics_folder
        self.metrics: MetricsPage | None = None
        """Once the service has started, if it has any."""
        self._sharing: asyncio.Task[None] | None = None
        self._traces: Traces | None = None
        self.in_flight = InFlight()
        self._services: Services | None = None
        self._http: FrontDoor | None = None
        self._admin: LazyFace | None = None
        self._presence: Presence | None = None
        self._worker: Background | None = None
        self._worker_task: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self.http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    @property
    def http(self) -> FrontDoor:
        """The application that our own server calls, once the service has started."""
        assert self._http is not None
        return self._http

    async def start(self) -> Services:
        # First: if it can't be, nothing else has to be closed.
        self._traces = open_traces(self._settings)
        self._services = services = await build(self._settings, self._clock)
        if self._settings.metrics:
            self.metrics = metrics_page(services, self.in_flight, self._metrics_folder)
            self._sharing = asyncio.create_task(self.metrics.share_forever())
        self._http, self._admin = faces(services, self.in_flight, self.metrics, self._traces)
        self._presence = Presence(services.database)
        self._presence.begin()
        return services

    async def warm_up(self) -> None:
        """Starts the worker, and loads what the start does not need and a request soon will, beside
        the requests that are answered already."""
        assert self._services is not None
        assert self._admin is not None
        if self._with_worker:
            self._worker = await asyncio.to_thread(_background, self._services, self._traces)
            self._worker_task = asyncio.create_task(self._worker.run_forever())
        await self._admin.load()
        for name in ("jwt", "email_validator"):
            await asyncio.to_thread(import_module, name)

    async def stop(self) -> None:
        """Finishes running jobs and deliveries, then closes everything."""
        self.end_streams()
        if self._sharing:
            self._sharing.cancel()
        if self._worker and self._worker_task:
            self._worker.stop()
            await self._worker_task
        if self._presence:
            await self._presence.end()
        if self._services:
            await self._services.close()
        if self._traces:
            await self._traces.close()

    def end_streams(self) -> None:
        """Ends responses that could go on for minutes."""
        if self._services:
            self._services.ai.generator.open_streams.close()
            self._services.realtime.end_all()

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        await self.start()
        await send({"type": "lifespan.startup.complete"})
        # A warm-up that fails ends this call at once, and the server logs why.
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.warm_up())
            await receive()
        with contextlib.suppress(asyncio.CancelledError):
            await self.stop()
        await send({"type": "lifespan.shutdown.complete"})


def create_app() -> Service:
    """For any ASGI server: `uvicorn --factory masthead.service.app:create_app`. Migrate first."""
    settings = Settings.from_environ(os.environ)
    logs.configure(settings.log)
    return Service(settings)


async def _error_answer(request: Request, error: MastheadError) -> Answer:
    """Outside the APIs, a browser gets a page, and so does a method that pages do not take."""
    is_page = pages.wants_html(request) or isinstance(error, MethodNotAllowed)
    return await (pages.error_answer if is_page else record_store_error)(request, error)
