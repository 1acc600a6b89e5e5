"""Calls of the admin's own scripts: JSON in and out, with the same checks as its forms."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.types import Receive, Scope

from masthead.admin.forms import sentence_of
from masthead.admin.request import AdminRequest, AdminServices, open_request
from masthead.admin.sizes import too_large_said
from masthead.errors import (
    BadRequest,
    Conflict,
    Invalid,
    NotFound,
    SiteSuspended,
    TooLarge,
    Unauthenticated,
)
from masthead.web.answers import Answer, Endpoint, header, json_answer
from masthead.web.bodies import json_object, read_body
from masthead.web.errors import MethodNotAllowed
from masthead.web.forms import FORM_TOKEN, MAX_BYTES, check_same_origin
from masthead.web.multipart import MAX_FIELD_BYTES, Form, read_form

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


class ScriptCall(Endpoint):
    """Calls `handler` with the request, the body of a POST, and the parameters of the path."""

    _after_change = (
        "The text stays on this device: sign in with the account that wrote it, and save again.",
        "The text stays on this device: choose its site again, and save again.",
    )
    """What to do after another account has signed in, and after another site was chosen."""

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

    async def answer(self, scope: Scope, receive: Receive) -> Answer:
        if scope["method"] != self._method:
            raise MethodNotAllowed((self._method,))
        request = await open_request(self._services, scope)
        if not request.is_signed_in:
            raise Unauthenticated("You are signed out. Sign in, and it is saved.")
        _check_owner(request, self._after_change)
        if request.site is None:
            raise NotFound("This page belongs to a site. Choose one first.")
        if request.is_shut_out:
            raise SiteSuspended
        values = request.path_values(self._parameters)
        async with self._received(request, receive) as body:
            try:
                answer = await self._handler(request, *body, *values)
            except Invalid as error:
                answer = _refused(error)
        return json_answer(answer.status, answer.body, _HEADERS)

    @asynccontextmanager
    async def _received(self, request: AdminRequest, receive: Receive) -> AsyncIterator[list[Any]]:
        """The body of a POST, after the checks that a page of ours sends it."""
        if self._method != "POST":
            yield []
            return
        check_same_origin(request.scope)
        token = header(request.scope, TOKEN_HEADER) or ""
        request.services.form_tokens.check({FORM_TOKEN: token}, request.form_binding)
        async with self._body(request, receive) as body:
            yield [body]

    @asynccontextmanager
    async def _body(self, request: AdminRequest, receive: Receive) -> AsyncIterator[Any]:
        try:
            raw = await read_body(request.scope, receive, limit=self._limit)
        except TooLarge as error:
            raise TooLarge(
                f"This is larger than the {self._limit // (1024 * 1024):,} MB that can be saved at "
                "once. Shorten it, or put pictures into the library instead of the text."
            ) from error
        yield await json_object(raw)


class UploadCall(ScriptCall):
    """A call whose body is a form with one file. The file is open while the handler runs."""

    _after_change = (
        "Nothing was uploaded: sign in with the account of this page, and try again.",
        "Nothing was uploaded: choose the site of this page again, and try again.",
    )

    @asynccontextmanager
    async def _body(self, request: AdminRequest, receive: Receive) -> AsyncIterator[Form]:
        limit = self._largest() + MAX_FIELD_BYTES
        async with AsyncExitStack() as files:
            with too_large_said(self._largest()):
                form = await files.enter_async_context(
                    read_form(request.scope, receive, limit=limit)
                )
            yield form

    def _largest(self) -> int:
        """Bytes of the file."""
        return self._services.settings.max_upload


class ExportUpload(UploadCall):
    """Of an export, which only owners import: nothing of another's file is read."""

    def _largest(self) -> int:
        return self._services.settings.max_import

    @asynccontextmanager
    async def _body(self, request: AdminRequest, receive: Receive) -> AsyncIterator[Form]:
        if not request.caller.is_admin:
            raise NotFound
        async with super()._body(request, receive) as form:
            yield form


def _check_owner(request: AdminRequest, after_change: tuple[str, str]) -> None:
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
        raise Conflict(f"Another account is signed in now. {after_change[0]}")
    raise Conflict(f"Another site is chosen now. {after_change[1]}")


def _refused(error: Invalid) -> JsonAnswer:
    problems = {name: sentence_of(problem) for name, problem in error.problems.items()}
    return JsonAnswer({"message": str(error), "problems": problems}, 422)
