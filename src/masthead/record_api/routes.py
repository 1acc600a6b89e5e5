"""The routes of the record store: PocketBase's endpoints on our own engine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from masthead.record_api import batch, changes, description, files, records, sign_in
from masthead.record_api.call import Call, RecordStoreServices
from masthead.web.answers import Answer, Stream
from masthead.web.dispatch import Action, Route
from masthead.web.openapi.description import Description
from masthead.web.policy import Body, BodyKind, Limit, Origin, Policy, WhileSuspended, Who
from masthead.web.request import Request
from masthead.web.rows import READ, Row, mount

Handler = Callable[[Call], Awaitable[Answer | Stream]]

RECORDS = "/api/collections/{collection}/records"
RECORD = "/api/collections/{collection}/records/{id}"
AUTH = "/api/collections/{collection}"
PREFIXES = ("/api/collections", "/api/admins", "/api/files", "/api/batch")
"""Under these, errors have the record store's envelope: see `app.error_responders`."""


def _row(
    method: str,
    path: str,
    handler: Handler,
    described: Description,
    *,
    while_suspended: WhileSuspended = WhileSuspended.OPERATORS,
    limit: Limit = Limit.COSTLY_READS,
) -> Row:
    async def answer(services: RecordStoreServices, request: Request) -> Answer | Stream:
        return await handler(Call(services, request, await services.callers.of(request)))

    policy = Policy(
        who=Who.VISITOR,
        while_suspended=while_suspended,
        origin=Origin.COOKIES,
        limit=limit,
        body=Body(BodyKind.JSON) if described.body else None,
    )
    return Row(method, path, answer, policy, described)


# Signing in: also at a suspended site, whose people may ask for their data.
_account = partial(_row, while_suspended=WhileSuspended.OPEN, limit=Limit.SIGN_INS)

ROWS = (
    _row("GET", RECORDS, records.list_records, description.LIST),
    _row("POST", RECORDS, changes.create_record, description.CREATE),
    _row("GET", RECORD, records.view_record, description.VIEW),
    _row("PATCH", RECORD, changes.update_record, description.UPDATE),
    _row("DELETE", RECORD, changes.delete_record, description.DELETE),
    _row("POST", "/api/batch", batch.change_records, description.BATCH),
    _account("POST", f"{AUTH}/auth-with-password", sign_in.auth_with_password, description.SIGN_IN),
    _account("POST", f"{AUTH}/auth-refresh", sign_in.auth_refresh, description.REFRESH),
    _account("GET", f"{AUTH}/auth-methods", sign_in.auth_methods, description.METHODS),
    _account(
        "POST",
        f"{AUTH}/request-password-reset",
        sign_in.request_password_reset,
        description.REQUEST_RESET,
    ),
    _account(
        "POST",
        f"{AUTH}/confirm-password-reset",
        sign_in.confirm_password_reset,
        description.CONFIRM_RESET,
    ),
    _account(
        "POST",
        "/api/admins/auth-with-password",
        sign_in.admin_auth_with_password,
        description.OLD_SIGN_IN,
    ),
    _account(
        "POST", "/api/admins/auth-refresh", sign_in.admin_auth_refresh, description.OLD_REFRESH
    ),
    _row("POST", "/api/files/token", sign_in.file_token, description.FILE_TOKEN),
    _row(READ, "/api/files/{collection}/{id}/{name}", files.serve_file, description.FILE),
)


def routes(services: RecordStoreServices) -> list[Route]:
    return [
        Route(each.path, {**each.actions, "OPTIONS": Action(_options(each), _FOR_ANYONE)})
        for each in mount(ROWS, services)
    ]


def _options(route: Route) -> Callable[[Request], Awaitable[Answer]]:
    allowed = ", ".join((*route.actions, "OPTIONS")).encode()

    async def answer(_: Request) -> Answer:
        return Answer(204, headers=[(b"allow", allowed)])

    return answer


_FOR_ANYONE = Policy(who=Who.ANYONE, while_suspended=WhileSuspended.OPEN)
