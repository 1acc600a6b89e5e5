"""The routes of the record store: PocketBase's endpoints on our own engine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from msgspec.structs import replace

from masthead.faces.record_api import (
    account_changes,
    batch,
    changes,
    collections,
    description,
    other_services,
    realtime_description,
    records,
    sign_in,
)
from masthead.faces.record_api import account_description as accounts
from masthead.faces.record_api import realtime_calls as realtime
from masthead.faces.record_api.batch_request import MAX_JSON_BYTES
from masthead.faces.record_api.call import Call, RecordStore
from masthead.faces.record_api.guest_answers import Handler, answer_from_cache
from masthead.features.media.http import file_answer
from masthead.web.answers import Answer, Stream
from masthead.web.bodies import SMALL_FORM_BYTES
from masthead.web.dispatch import Action, Route
from masthead.web.openapi.description import Description
from masthead.web.policy import (
    JSON_BYTES,
    Body,
    BodyKind,
    Cache,
    Limit,
    Origin,
    Policy,
    WhileSuspended,
    Who,
)
from masthead.web.request import Request
from masthead.web.rows import READ, RouteRow, mount

COLLECTIONS = "/api/collections"
COLLECTION = "/api/collections/{collection}"
RECORDS = f"{COLLECTION}/records"
RECORD = f"{RECORDS}/{{id}}"
REALTIME = "/api/realtime"
PREFIXES = (
    "/api/collections",
    "/api/admins",
    "/api/files",
    "/api/batch",
    REALTIME,
    *other_services.INSTEAD,
)
"""Under these, errors have the record store's envelope: see `app.error_responders`."""


def _row(
    method: str,
    path: str,
    handler: Handler,
    described: Description,
    *,
    while_suspended: WhileSuspended = WhileSuspended.OPERATORS,
    limit: Limit = Limit.COSTLY_READS,
    max_body: int = JSON_BYTES,
    cache: Cache = Cache.NOBODY,
) -> RouteRow:
    answering = partial(answer_from_cache, handler) if cache is Cache.VERSIONED else handler

    async def answer(store: RecordStore, request: Request) -> Answer | Stream:
        return await answering(Call(store, request, await store.services.callers.of(request)))

    policy = replace(
        _FOR_VISITORS,
        while_suspended=while_suspended,
        limit=limit,
        body=Body(BodyKind.JSON, max_body) if described.body else None,
        cache=cache,
    )
    return RouteRow(method, path, answer, policy, described)


async def _serve_file(call: Call) -> Answer | Stream:
    return await file_answer(call.services, call.request, call.collection())


_FOR_VISITORS = Policy(
    who=Who.VISITOR,
    while_suspended=WhileSuspended.OPERATORS,
    origin=Origin.COOKIES,
    limit=Limit.COSTLY_READS,
)


# Signing in: also at a suspended site, whose people may ask for their data.
_account = partial(
    _row,
    while_suspended=WhileSuspended.OPEN,
    limit=Limit.SIGN_INS,
    max_body=SMALL_FORM_BYTES,
)

_ACCOUNT_CALLS: tuple[tuple[str, Handler, Description], ...] = (
    ("auth-with-password", sign_in.auth_with_password, accounts.SIGN_IN),
    ("auth-refresh", sign_in.auth_refresh, accounts.REFRESH),
    ("request-otp", sign_in.request_otp, accounts.REQUEST_OTP),
    ("auth-with-otp", sign_in.auth_with_otp, accounts.SIGN_IN_OTP),
    ("auth-with-oauth2", sign_in.auth_with_oauth2, accounts.OAUTH2),
    (
        "request-password-reset",
        account_changes.request_password_reset,
        accounts.REQUEST_RESET,
    ),
    (
        "confirm-password-reset",
        account_changes.confirm_password_reset,
        accounts.CONFIRM_RESET,
    ),
    (
        "request-verification",
        account_changes.request_verification,
        accounts.REQUEST_VERIFICATION,
    ),
    (
        "confirm-verification",
        account_changes.confirm_verification,
        accounts.CONFIRM_VERIFICATION,
    ),
    (
        "request-email-change",
        account_changes.request_email_change,
        accounts.REQUEST_EMAIL_CHANGE,
    ),
    (
        "confirm-email-change",
        account_changes.confirm_email_change,
        accounts.CONFIRM_EMAIL_CHANGE,
    ),
)

ROWS = (
    _row("GET", COLLECTIONS, collections.list_collections, description.LIST_COLLECTIONS),
    _row("GET", COLLECTION, collections.view_collection, description.VIEW_COLLECTION),
    _row("GET", RECORDS, records.list_records, description.LIST, cache=Cache.VERSIONED),
    _row("POST", RECORDS, changes.create_record, description.CREATE),
    _row("GET", RECORD, records.view_record, description.VIEW, cache=Cache.VERSIONED),
    _row("PATCH", RECORD, changes.update_record, description.UPDATE),
    _row("DELETE", RECORD, changes.delete_record, description.DELETE),
    _row("POST", "/api/batch", batch.change_records, description.BATCH, max_body=MAX_JSON_BYTES),
    _row("GET", REALTIME, realtime.connect, realtime_description.CONNECT, limit=Limit.CONNECTIONS),
    _row(
        "POST",
        REALTIME,
        realtime.subscribe,
        realtime_description.SUBSCRIBE,
        limit=Limit.CONNECTIONS,
        max_body=realtime.MAX_BODY,
    ),
    *(
        _account("POST", f"{COLLECTION}/{path}", handler, described)
        for path, handler, described in _ACCOUNT_CALLS
    ),
    _row(
        "POST",
        f"{COLLECTION}/impersonate/{{id}}",
        sign_in.impersonate,
        accounts.IMPERSONATE,
        max_body=SMALL_FORM_BYTES,
    ),
    _account("GET", f"{COLLECTION}/auth-methods", sign_in.auth_methods, accounts.SHOW_METHODS),
    _account(
        "POST",
        "/api/admins/auth-with-password",
        sign_in.admin_auth_with_password,
        accounts.OLD_SIGN_IN,
    ),
    _account("POST", "/api/admins/auth-refresh", sign_in.admin_auth_refresh, accounts.OLD_REFRESH),
    _row("POST", "/api/files/token", sign_in.file_token, description.FILE_TOKEN),
    _row(READ, "/api/files/{collection}/{id}/{name}", _serve_file, description.FILE),
)


def routes(store: RecordStore) -> list[Route]:
    return [
        *(_with_others(each, store) for each in mount(ROWS, store)),
        Route(f"{COLLECTION}/truncate", {"DELETE": _refused_change(store)}),
        *other_services.routes(),
    ]


_REFUSED = {COLLECTIONS: ("POST",), COLLECTION: ("PUT", "PATCH", "DELETE")}
"""Changes of the collections themselves."""


def _with_others(route: Route, store: RecordStore) -> Route:
    """With `OPTIONS`, and what is refused with a reason."""
    refused = dict.fromkeys(_REFUSED.get(route.path, ()), _refused_change(store))
    options = Action(_options(route), _FOR_ANYONE)
    return Route(route.path, {**route.actions, "OPTIONS": options, **refused})


def _refused_change(store: RecordStore) -> Action:
    async def refuse(request: Request) -> Answer:
        return await collections.refuse_change(
            Call(store, request, await store.services.callers.of(request))
        )

    return Action(refuse, _FOR_VISITORS)


def _options(route: Route) -> Callable[[Request], Awaitable[Answer]]:
    allowed = ", ".join((*route.actions, "OPTIONS")).encode()

    async def answer(_: Request) -> Answer:
        return Answer(204, headers=[(b"allow", allowed)])

    return answer


_FOR_ANYONE = Policy(who=Who.ANYONE, while_suspended=WhileSuspended.OPEN)
