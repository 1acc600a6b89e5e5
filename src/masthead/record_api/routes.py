"""The routes of the record store: PocketBase's endpoints on our own engine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from masthead.record_api import files, records, sign_in
from masthead.record_api.call import Call, RecordStoreServices
from masthead.web.answers import Answer, Stream
from masthead.web.dispatch import Action, Route
from masthead.web.policy import Limit, Origin, Policy, WhileSuspended, Who
from masthead.web.request import Request

Handler = Callable[[Call], Awaitable[Answer | Stream]]

RECORDS = "/api/collections/{collection}/records"
RECORD = "/api/collections/{collection}/records/{id}"
AUTH = "/api/collections/{collection}"
PREFIXES = ("/api/collections", "/api/admins", "/api/files")
"""Under these, errors have the record store's envelope: see `app.error_responders`."""


def routes(services: RecordStoreServices) -> list[Route]:
    return [
        _route(services, RECORDS, GET=records.list_records, POST=records.create_record),
        _route(
            services,
            RECORD,
            GET=records.view_record,
            PATCH=records.update_record,
            DELETE=records.delete_record,
        ),
        _account(services, f"{AUTH}/auth-with-password", POST=sign_in.auth_with_password),
        _account(services, f"{AUTH}/auth-refresh", POST=sign_in.auth_refresh),
        _account(services, f"{AUTH}/auth-methods", GET=sign_in.auth_methods),
        _account(services, f"{AUTH}/request-password-reset", POST=sign_in.request_password_reset),
        _account(services, f"{AUTH}/confirm-password-reset", POST=sign_in.confirm_password_reset),
        _account(services, "/api/admins/auth-with-password", POST=sign_in.admin_auth_with_password),
        _account(services, "/api/admins/auth-refresh", POST=sign_in.admin_auth_refresh),
        _route(services, "/api/files/token", POST=sign_in.file_token),
        _route(
            services,
            "/api/files/{collection}/{id}/{name}",
            GET=files.serve_file,
            HEAD=files.serve_file,
        ),
    ]


def _route(services: RecordStoreServices, path: str, **handlers: Handler) -> Route:
    return _mounted(services, path, WhileSuspended.OPERATORS, handlers)


def _account(services: RecordStoreServices, path: str, **handlers: Handler) -> Route:
    """Signing in: also at a suspended site, whose people may ask for their data."""
    return _mounted(services, path, WhileSuspended.OPEN, handlers, limit=Limit.SIGN_INS)


def _mounted(
    services: RecordStoreServices,
    path: str,
    while_suspended: WhileSuspended,
    handlers: dict[str, Handler],
    limit: Limit = Limit.COSTLY_READS,
) -> Route:
    policy = Policy(
        who=Who.VISITOR, while_suspended=while_suspended, origin=Origin.COOKIES, limit=limit
    )

    def action(handler: Handler) -> Action:
        async def answer(request: Request) -> Answer | Stream:
            caller = await services.callers.of(request)
            return await handler(Call(services, request, caller))

        return Action(answer, policy)

    async def options(_: Request) -> Answer:
        return Answer(204, headers=[(b"allow", ", ".join((*handlers, "OPTIONS")).encode())])

    actions = {method: action(handler) for method, handler in handlers.items()}
    return Route(path, {**actions, "OPTIONS": Action(options, _FOR_ANYONE)})


_FOR_ANYONE = Policy(who=Who.ANYONE, while_suspended=WhileSuspended.OPEN)
