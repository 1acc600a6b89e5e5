"""Every request comes in here and every response leaves here.

A request takes the steps of `_answer` in their order; then its route's checks, and its handler. A
refusal is answered in the format of the route, and each response has a line in the log.
"""

from __future__ import annotations

from time import perf_counter, time

import msgspec

from masthead.base import ids, logs
from masthead.base.access_log import Answered, shown_path
from masthead.base.config.settings import Settings
from masthead.base.errors import BadRequest, DiskFull, MastheadError, NotFound
from masthead.base.logs import log
from masthead.base.turns import working_for
from masthead.storage.disk import DiskState, is_disk_full
from masthead.web.addressed_site import HEALTH, AddressedSite
from masthead.web.answers import Answer, ClientDisconnected, Stream, header_lines
from masthead.web.asgi import Receive, Scope, Send
from masthead.web.checks import Checks
from masthead.web.cors import allow_origin
from masthead.web.dispatch import ANY_METHOD, Dispatch, LazyRoute
from masthead.web.error_log import ErrorLog
from masthead.web.errors import ErrorResponders, InternalError, MethodNotAllowed
from masthead.web.failures import log_failure
from masthead.web.in_flight import InFlight
from masthead.web.observers import RequestObserver
from masthead.web.one_address import HSTS, OneAddress
from masthead.web.proxies import client_address, is_https
from masthead.web.request import Request
from masthead.web.sending import NO_ANSWER, Sending

_CLOSE = (b"connection", b"close")


class FrontDoor(msgspec.Struct, frozen=True, kw_only=True):
    routes: Dispatch
    checks: Checks
    settings: Settings
    site: AddressedSite
    one_address: OneAddress
    error_responders: ErrorResponders
    error_log: ErrorLog
    disk: DiskState
    in_flight: InFlight
    observer: RequestObserver | None = None
    """None: requests are neither counted nor traced."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = perf_counter()
        self.in_flight.begin(began)
        request_id = ids.new_id()
        # Every log line of the request has it.
        bound = logs.request_id.set(request_id)
        sending = Sending(scope, send)
        sending.added.append((b"x-request-id", request_id.encode()))
        if self.in_flight.is_draining and scope["http_version"].startswith("1"):
            sending.added.append(_CLOSE)
        request = Request(scope, receive, request_id=request_id, added=sending.added)
        try:
            await send_answer(sending, await self._answer(request))
        except ClientDisconnected:
            return
        except MastheadError as error:
            # The status has been sent already: the connection can only be closed.
            if sending.status != NO_ANSWER:
                raise
            request.error = error
            await send_answer(sending, await self.error_responders.answer(request, error))
        # One of the service's three edges: no request may stop the service.
        except Exception as error:
            await self._fail(request, sending, error)
        finally:
            self.in_flight.end()
            seconds = perf_counter() - began
            if self.observer is not None:
                self.observer.note_answer(request, sending.status, seconds)
            if scope["path"] != HEALTH:
                _log_answer(request, sending.status, seconds)
            if sending.status >= 500 and request.error is not None:
                log_failure(request.error, sending.status, scope["path"])
            # Its traceback refers to the request: a cycle would keep both in memory.
            request.error = None
            logs.request_id.reset(bound)

    async def _answer(self, request: Request) -> Answer | Stream:
        scope, trusted = request.scope, self.settings.trusted_proxies
        _check_framing(request)
        # No stored name has a NUL character, and PostgreSQL refuses to look for one.
        if "\x00" in request.path:
            raise NotFound
        request.tenant = await self.site.of(scope)
        request.address = client_address(scope, trusted)
        request.is_https = is_https(scope, trusted)
        if self.one_address.promises_https(request):
            request.added.append(HSTS)
        moved = self.one_address.redirect(request)
        if moved is not None:
            return Answer(301, headers=moved)
        preflight = allow_origin(request)
        if preflight is not None:
            return preflight
        return await respond(self.routes, self.checks, request)

    async def _fail(self, request: Request, sending: Sending, error: Exception) -> None:
        if is_disk_full(error) and sending.status == NO_ANSWER:
            # Of a temporary file of an upload, for example.
            self.disk.note_full(error)
            request.error = DiskFull()
            request.error.__cause__ = error
            await send_answer(sending, await self.error_responders.answer(request, request.error))
            return
        log.exception("request.failed", path=shown_path(request.path))
        tenant_id = request.concerned_tenant_id or ""
        self.error_log.record(
            error, request.id, tenant_id, request.method, path=shown_path(request.path)
        )
        if sending.status != NO_ANSWER:
            raise InternalError from None
        await send_answer(sending, await self.error_responders.answer(request, InternalError()))


async def respond(routes: Dispatch, checks: Checks, request: Request) -> Answer | Stream:
    """Finds the route of the path, then runs its checks and its handler."""
    route = routes.find(request)
    while isinstance(route, LazyRoute):
        route = (await route.face.load()).routes.find(request)
    request.route = route.path
    action = route.actions.get(request.scope["method"]) or route.actions.get(ANY_METHOD)
    try:
        if action is None:
            await checks.admit(request, route.any_method)
            raise MethodNotAllowed(tuple(route.actions))
        request.policy = action.policy
        await checks.admit(request, action.policy)
        if action.policy.body is not None:
            working_for.set(_site_of(request))
        return await action.handler(request)
    except MastheadError as error:
        request.error = error
        if route.error_answer is None:
            raise
        return await route.error_answer(request, error)
    finally:
        if request.holds_resources:
            await request.resources.aclose()


def _site_of(request: Request) -> str:
    site = request.key.tenant if request.key is not None else request.site or request.tenant
    return site.id if site is not None else ""


async def send_answer(sending: Sending, answer: Answer | Stream) -> None:
    if isinstance(answer, Answer):
        await sending.answer(answer)
    else:
        await answer.send(sending.send)


def _check_framing(request: Request) -> None:
    codings = header_lines(request.scope).get(b"transfer-encoding")
    if codings is not None and (len(codings) > 1 or codings[0].strip().lower() != b"chunked"):
        # A proxy in front may find another end of the body than the server did: what comes next
        # on the connection could be a part of it.
        request.added.append(_CLOSE)
        raise BadRequest("A body may be sent in chunks and in no other transfer coding.")


def _log_answer(request: Request, status: int, seconds: float) -> None:
    key_id = request.key.id if request.key else ""
    logs.log_answer(
        Answered(
            request.id,
            request.method,
            request.path,
            status,
            seconds,
            request.concerned_tenant_id,
            key_id,
            time(),
        )
    )
