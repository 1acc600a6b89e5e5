"""The routes of the record store: PocketBase's endpoints on our own engine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.types import Receive, Scope

from masthead.errors import NotFound
from masthead.record_api import files, records, sign_in
from masthead.record_api.call import Call, RecordStoreServices
from masthead.web.answers import Answer, Endpoint, Stream
from masthead.web.dispatch import Route

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
    return Route(path, _Endpoint(services, handlers))


def _account(services: RecordStoreServices, path: str, **handlers: Handler) -> Route:
    """Signing in: also at a suspended site, whose people may ask for their data."""
    endpoint = _Endpoint(services, handlers, while_suspended=True)
    return Route(path, endpoint)


class _Endpoint(Endpoint):
    """A path of the record store with its methods."""

    def __init__(
        self,
        services: RecordStoreServices,
        handlers: dict[str, Handler],
        *,
        while_suspended: bool = False,
    ) -> None:
        self._services = services
        self._while_suspended = while_suspended
        self._handlers = handlers
        self._allowed = ", ".join((*handlers, "OPTIONS")).encode()

    async def answer(self, scope: Scope, receive: Receive) -> Answer | Stream:
        handler = self._handlers.get(scope["method"])
        if handler is None:
            if scope["method"] == "OPTIONS":
                return Answer(204, headers=[(b"allow", self._allowed)])
            # PocketBase has no 405.
            raise NotFound
        callers = self._services.callers
        caller = await callers.of(scope)
        if not self._while_suspended:
            await callers.refuse_if_suspended(scope, caller)
        return await handler(Call(self._services, scope, receive, caller))
