"""Every request comes in here and every response leaves here.

A request takes the steps of `_answer` in their order, then the endpoint of its path answers. What
an endpoint raises is answered in the format of the path, and each response has a line in the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter, time

import structlog
from starlette.types import Receive, Scope, Send
from structlog.contextvars import bind_contextvars, reset_contextvars

from masthead import ids, logs
from masthead.access_log import Answered
from masthead.config.settings import Settings
from masthead.errors import BadRequest, DiskFull, MastheadError
from masthead.storage.disk import DiskState, is_disk_full
from masthead.web.addressed_site import HEALTH, AddressedSite
from masthead.web.answers import Answer, header_lines
from masthead.web.bodies import ClientDisconnected
from masthead.web.cors import allow_origin
from masthead.web.dispatch import Dispatch
from masthead.web.error_log import ErrorLog
from masthead.web.errors import ErrorResponders, InternalError
from masthead.web.lazy_face import LazyFace
from masthead.web.one_address import HSTS, OneAddress
from masthead.web.proxies import client_address, is_https
from masthead.web.request_context import RequestContext
from masthead.web.sending import NO_ANSWER, Sending
from masthead.web.suspension import OpenWhileSuspended

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontDoor:
    routes: Dispatch
    settings: Settings
    site: AddressedSite
    one_address: OneAddress
    open_while_suspended: OpenWhileSuspended
    error_responders: ErrorResponders
    error_log: ErrorLog
    disk: DiskState

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = perf_counter()
        request_id = ids.new_id()
        # Every log line of the request has it.
        bound = bind_contextvars(request_id=request_id)
        sending = Sending(scope, send)
        sending.added.append((b"x-request-id", request_id.encode()))
        try:
            await self._answer(scope, receive, sending, request_id)
        except ClientDisconnected:
            return
        except MastheadError as error:
            # The status has been sent already: the connection can only be closed.
            if sending.status != NO_ANSWER:
                raise
            await sending.answer(await self.error_responders.answer(scope, error))
        # One of the service's three edges: no request may stop the service.
        except Exception as error:
            await self._fail(scope, sending, request_id, error)
        finally:
            if scope["path"] != HEALTH:
                _log_answer(scope, request_id, sending.status, perf_counter() - began)
            reset_contextvars(**bound)

    async def _answer(
        self, scope: Scope, receive: Receive, sending: Sending, request_id: str
    ) -> None:
        _check_framing(scope)
        trusted = self.settings.trusted_proxies
        scope["masthead.request"] = context = RequestContext(
            request_id,
            await self.site.of(scope),
            client_address(scope, trusted),
            is_https(scope, trusted),
            sending.added,
        )
        if self.one_address.promises_https(scope, context):
            sending.added.append(HSTS)
        moved = self.one_address.redirect(scope, context)
        if moved is not None:
            await sending.answer(Answer(301, headers=moved))
            return
        preflight = allow_origin(scope, context)
        if preflight is not None:
            await sending.answer(preflight)
            return
        self.open_while_suspended.check(scope["path"], context.tenant)
        await respond(self.routes, scope, receive, sending)

    async def _fail(
        self, scope: Scope, sending: Sending, request_id: str, error: Exception
    ) -> None:
        if is_disk_full(error) and sending.status == NO_ANSWER:
            # Of a temporary file of an upload, for example.
            self.disk.note_full(error)
            await sending.answer(await self.error_responders.answer(scope, DiskFull()))
            return
        log.exception("request.failed", path=scope["path"])
        context: RequestContext | None = scope.get("masthead.request")
        tenant_id = context.tenant_id if context else None
        self.error_log.record(error, request_id, tenant_id or "", scope["method"], scope["path"])
        if sending.status != NO_ANSWER:
            raise InternalError from None
        await sending.answer(await self.error_responders.answer(scope, InternalError()))


async def respond(routes: Dispatch, scope: Scope, receive: Receive, sending: Sending) -> None:
    endpoint = routes.find(scope)
    while isinstance(endpoint, LazyFace):
        endpoint = (await endpoint.load()).routes.find(scope)
    answer = await endpoint.answer(scope, receive)
    if isinstance(answer, Answer):
        await sending.answer(answer)
    else:
        await answer.send(sending.send)


def _check_framing(scope: Scope) -> None:
    codings = header_lines(scope).get(b"transfer-encoding")
    if codings is not None and (len(codings) > 1 or codings[0].strip().lower() != b"chunked"):
        # A proxy in front may find another end of the body than the server did.
        raise BadRequest("A body may be sent in chunks and in no other transfer coding.")


def _log_answer(scope: Scope, request_id: str, status: int, seconds: float) -> None:
    context: RequestContext | None = scope.get("masthead.request")
    tenant_id, key_id = (context.tenant_id, context.key_id) if context else (None, "")
    method, path = scope["method"], scope["path"]
    logs.log_answer(Answered(request_id, method, path, status, seconds, tenant_id, key_id, time()))
