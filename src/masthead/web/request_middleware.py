"""ASGI middleware of every request: request id, tenant by host, error responses and access log.

Small on purpose: it runs for every request.
"""

from __future__ import annotations

from collections.abc import Awaitable
from functools import lru_cache
from time import perf_counter, time

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, reset_contextvars

from masthead import ids, logs
from masthead.access_log import Answered
from masthead.config.settings import Settings
from masthead.errors import BadRequest, DiskFull, MastheadError, NotFound, Unauthenticated
from masthead.identity.directory import Tenant, TenantDirectory
from masthead.identity.hosts import BareHost, HostKind, Subdomain, classify_host, parse_host
from masthead.storage.disk import DiskState, is_disk_full
from masthead.web.answers import header, header_lines, send_empty
from masthead.web.bodies import ClientDisconnected
from masthead.web.error_log import ErrorLog
from masthead.web.errors import ErrorResponders, InternalError
from masthead.web.one_address import HSTS, OneAddress, with_or_without_www
from masthead.web.proxies import client_address, is_https
from masthead.web.request_context import RequestContext

log = structlog.get_logger()

HEALTH = "/api/health"
NO_ANSWER = 499
"""Logged, never sent, as by nginx: the client closed the connection before the response."""
API_PREFIX, V1_PREFIX = "/api/", "/api/v1/"
UNKNOWN_HOST = (
    "No site is served at this address. "
    "The operator sets MASTHEAD_BASE_DOMAIN; an owner gives a site its domain in the admin."
)


class RequestMiddleware:
    def __init__(
        self,
        app: ASGIApp,
        directory: TenantDirectory,
        settings: Settings,
        error_responders: ErrorResponders,
        error_log: ErrorLog,
        one_address: OneAddress,
    ) -> None:
        self._app = app
        self._error_log = error_log
        self._error_responders = error_responders
        self._directory = directory
        self._settings = settings
        self._disk = DiskState()
        self._place = lru_cache(maxsize=4_096)(self._placed)
        self._one_address = one_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = perf_counter()
        request_id = ids.new_id()
        # Every log line of the request has it.
        bound = bind_contextvars(request_id=request_id)
        answer = _Answer(send, request_id)
        context = None
        try:
            scope["masthead.request"] = context = await self._context(scope, request_id)
            if self._one_address.promises_https(scope, context):
                answer.headers.append(HSTS)
            redirect = self._one_address.redirect(scope, context)
            if redirect is None:
                await self._app(scope, receive, answer.send)
            else:
                await send_empty(answer.send, 301, redirect)
        except ClientDisconnected:
            return
        except MastheadError as error:
            # The status has been sent already: the connection can only be closed.
            if answer.status != NO_ANSWER:
                raise
            await self._error_responders.send(scope, answer.send, error)
        # One of the service's three edges: no request may stop the service.
        except Exception as error:
            if is_disk_full(error) and answer.status == NO_ANSWER:
                # Of a temporary file of an upload, for example.
                self._disk.note_full(error)
                await self._error_responders.send(scope, answer.send, DiskFull())
                return
            log.exception("request.failed", path=scope["path"])
            tenant_id = context.tenant_id if context else None
            self._error_log.record(
                error, request_id, tenant_id or "", scope["method"], scope["path"]
            )
            if answer.status != NO_ANSWER:
                raise InternalError from None
            await self._error_responders.send(scope, answer.send, InternalError())
        finally:
            if scope["path"] != HEALTH:
                _log_answer(scope, context, request_id, answer.status, perf_counter() - began)
            reset_contextvars(**bound)

    async def _context(self, scope: Scope, request_id: str) -> RequestContext:
        codings = header_lines(scope).get(b"transfer-encoding")
        if codings is not None and (len(codings) > 1 or codings[0].strip().lower() != b"chunked"):
            # A proxy in front may find another end of the body than the server did.
            raise BadRequest("A body may be sent in chunks and in no other transfer coding.")
        trusted = self._settings.trusted_proxies
        return RequestContext(
            request_id,
            await self._tenant(scope),
            client_address(scope, trusted),
            is_https(scope, trusted),
        )

    async def _tenant(self, scope: Scope) -> Tenant | None:
        raw = header(scope, b"host")
        if raw is None:
            raise BadRequest("The request needs exactly one Host header.")
        place = self._place(raw)
        if scope["path"] == HEALTH:
            # A load balancer may use any host name.
            return None
        # Not for pages: a shared cache keeps them under the host's name alone.
        is_api = scope["path"].startswith(API_PREFIX)
        named = header(scope, b"x-tenant-id") if is_api else None
        if named is None:
            return await self._tenant_at(place)
        at_host = None if isinstance(place, BareHost) else await self._tenant_at(place)
        try:
            return await self._tenant_named(named, at_host)
        except BadRequest as error:
            if scope["path"].startswith(V1_PREFIX):
                # The key is the credential, and it can't belong to an unknown tenant.
                raise Unauthenticated(str(error)) from None
            raise

    def _placed(self, raw_host: str) -> HostKind:
        return classify_host(
            parse_host(raw_host), self._settings.base_domain, self._settings.base_url
        )

    async def _tenant_at(self, place: HostKind) -> Tenant | None:
        if isinstance(place, BareHost):
            slug = self._settings.default_tenant
            return await self._directory.by_slug(slug) if slug else None
        if isinstance(place, Subdomain):
            tenant = await self._directory.by_slug(place.slug)
        else:
            tenant = await self._directory.by_domain(place.domain)
            if tenant is None and self._one_address.is_on:
                # Leads to the domain, see `OneAddress`.
                tenant = await self._directory.by_domain(with_or_without_www(place.domain))
        if tenant is None:
            raise NotFound(UNKNOWN_HOST)
        return tenant

    async def _tenant_named(self, named: str, at_host: Tenant | None) -> Tenant:
        """`x-tenant-id` must not contradict a host that names a tenant."""
        tenant = at_host if at_host and at_host.id == named else await self._directory.by_id(named)
        if tenant is None:
            raise BadRequest("The x-tenant-id header names no tenant.")
        if at_host is not None and at_host.id != tenant.id:
            raise BadRequest("The x-tenant-id header names another tenant than the host does.")
        return tenant


def _log_answer(
    scope: Scope, context: RequestContext | None, request_id: str, status: int, seconds: float
) -> None:
    tenant_id, key_id = (context.tenant_id, context.key_id) if context else (None, "")
    method, path = scope["method"], scope["path"]
    logs.log_answer(Answered(request_id, method, path, status, seconds, tenant_id, key_id, time()))


class _Answer:
    """Adds headers to the response, the request id first, and records its status."""

    __slots__ = ("_send", "headers", "status")

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self.headers = [(b"x-request-id", request_id.encode())]
        self.status = NO_ANSWER

    def send(self, message: Message) -> Awaitable[None]:
        # Returned without a coroutine of its own: a stream calls it many times a second.
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], *self.headers]
        return self._send(message)
