"""Calls of the admin's own scripts: JSON in and out, with the same checks as its forms."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.types import Receive, Scope, Send

from masthead.admin.forms import sentence_of
from masthead.admin.request import AdminRequest, AdminServices, open_request
from masthead.errors import BadRequest, Conflict, Invalid, Unauthenticated
from masthead.web.answers import header, send_json
from masthead.web.bodies import decode_json_object, read_body
from masthead.web.errors import MethodNotAllowed
from masthead.web.forms import FORM_TOKEN, MAX_BYTES, check_same_origin

TOKEN_HEADER = b"x-form-token"
OWNER_HEADER = b"x-page-owner"
"""Of the page that calls: see `AdminRequest.page_owner`."""
_HEADERS = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    """What a script is answered."""

    body: dict[str, Any]
    status: int = 200


Handler = Callable[..., Awaitable[JsonAnswer]]


class ScriptCall:
    """Calls `handler` with the request, the body of a POST, and the parameters of the path."""

    def __init__(
        self,
        services: AdminServices,
        method: str,
        handler: Handler,
        *parameters: str,
        limit: int = MAX_BYTES,
    ) -> None:
        self._services = services
        self._method = method
        self._handler = handler
        self._parameters = parameters
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != self._method:
            raise MethodNotAllowed((self._method,))
        request = await open_request(self._services, scope)
        if not request.is_signed_in:
            raise Unauthenticated("You are signed out. Sign in, and it is saved.")
        _check_owner(request)
        values = [scope["path_params"][name] for name in self._parameters]
        if self._method == "POST":
            values.insert(0, await self._body(request, receive))
        try:
            answer = await self._handler(request, *values)
        except Invalid as error:
            answer = _refused(error)
        await send_json(send, answer.status, answer.body, _HEADERS)

    async def _body(self, request: AdminRequest, receive: Receive) -> dict[str, Any]:
        check_same_origin(request.scope)
        token = header(request.scope, TOKEN_HEADER) or ""
        request.services.form_tokens.check({FORM_TOKEN: token}, request.form_binding)
        return decode_json_object(await read_body(request.scope, receive, limit=self._limit))


def _check_owner(request: AdminRequest) -> None:
    """Another tab may have chosen another site or signed in another account since the page was
    made. What was typed there belongs neither to that site nor to that account."""
    made_for = header(request.scope, OWNER_HEADER) or ""
    if made_for == request.page_owner:
        return
    site, _, account = made_for.partition("/")
    if not site or not account:
        raise BadRequest(
            "The call lacks the site and the account of its page. Open the page again."
        )
    if account != request.caller.id:
        raise Conflict(
            "Another account is signed in now. The text stays on this device: sign in with the "
            "account that wrote it, and save again."
        )
    raise Conflict(
        "Another site is chosen now. The text stays on this device: choose its site again, and "
        "save again."
    )


def _refused(error: Invalid) -> JsonAnswer:
    problems = {name: sentence_of(problem) for name, problem in error.problems.items()}
    return JsonAnswer({"message": str(error), "problems": problems}, 422)
