"""From a request to a page of the admin: the sign-in, the checks of forms, the frame, and errors
that look like the admin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache, partial
from typing import Any
from urllib.parse import quote

from starlette.types import Receive, Scope, Send

from masthead.admin.flash import COOKIE as FLASH_COOKIE
from masthead.admin.flash import admin_cookie, flash_cookie, read_flash
from masthead.admin.frame import frame_of
from masthead.admin.navigation import DATA_PROTECTION, count_waiting
from masthead.admin.request import AdminRequest, AdminServices, open_request
from masthead.admin.sizes import Largest, largest_upload, too_large_said
from masthead.errors import MastheadError, NotFound
from masthead.identity.accounts import SignedIn, session_lifetime
from masthead.identity.sessions import ADMIN_COOKIE, set_cookie
from masthead.identity.tenants import superusers
from masthead.web import pages
from masthead.web.answers import Answer as Response
from masthead.web.answers import Endpoint, RawHeaders, Stream
from masthead.web.assets import content_policy
from masthead.web.cookies import own_cookie
from masthead.web.errors import MethodNotAllowed, retry_after
from masthead.web.files import serve_object
from masthead.web.forms import MAX_BYTES, check_same_origin, own_origin, read_form
from masthead.web.multipart import MAX_FIELD_BYTES
from masthead.web.multipart import read_form as read_multipart
from masthead.web.request_context import request_context

SIGN_IN = "/admin/sign-in"
CHOOSE_A_SITE = "/admin/tenants"
AGAIN_EMAIL = "again_email"
AGAIN_PASSWORD = "again_password"  # noqa: S105  (the name of a field)
_URL_CHARACTERS = "/:?#[]@!$&'()*+,;=%~"


class Who(Enum):
    """Whom a page is for. What they may read and change is for the engine to say."""

    ANYONE = auto()
    MAILED = auto()
    """Anyone with the link of a mail. Its token is the proof that the form is meant, also for a
    browser that says nothing of where the page comes from."""
    STAFF = auto()
    OWNER = auto()
    """An owner of the site, or an operator who works in it."""
    OPERATOR = auto()


_OPEN = frozenset({Who.ANYONE, Who.MAILED})
_OF_A_SITE = frozenset({Who.STAFF, Who.OWNER})
MAX_SIGNED_OUT = 256 * 1024
"""Bytes of a form of one who is not signed in."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A page before it is rendered."""

    template: str
    title: str
    values: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    fragment: str = ""
    """The template of the part that htmx asks for."""
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """See another page, which shows the sentence."""

    url: str
    sentence: str = ""
    cookies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Framed:
    """A page of another face that the admin shows in a frame."""

    body: bytes


@dataclass(frozen=True, slots=True)
class Sent:
    """A file, as a download. It is made while it is sent."""

    chunks: AsyncIterator[bytes]
    file_name: str
    content_type: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A file of the object store, as a download that can be resumed."""

    key: str
    file_name: str
    content_type: str


Answer = Shown | Moved | Framed | Sent | Stored
Handler = Callable[..., Awaitable[Answer]]


class AdminPages:
    """Answers requests to the admin with the pages that functions make."""

    def __init__(self, services: AdminServices) -> None:
        self.services = services

    def at(
        self,
        *parameters: str,
        get: Handler | None = None,
        post: Handler | None = None,
        who: Who = Who.STAFF,
        anywhere: bool = False,
        limit: int = MAX_BYTES,
        files: int = 0,
        largest: Largest = largest_upload,
        while_suspended: bool = False,
    ) -> _Endpoint:
        """`anywhere`: also for an operator who has not chosen a site. `limit` is of the form, in
        bytes. A form with files may be as large as so many of the largest. `while_suspended`: also
        for the staff of a suspended site."""
        return _Endpoint(
            self, parameters, get, post, who, anywhere, limit, files, largest, while_suspended
        )

    async def error_answer(self, scope: Scope, error: MastheadError) -> Response:
        """For what no page has caught: reads nothing, as the database may be the reason."""
        if pages.wants_json(scope) or "masthead.request" not in scope:
            return await pages.error_answer(scope, error)
        values = {**_error_values(error), "request_id": request_context(scope).request_id}
        body = self.services.templates.render("error-bare.html", values)
        status = pages.described(error)[0]
        return _page(scope, status, body, _error_headers(status, error))


class _Endpoint(Endpoint):
    def __init__(
        self,
        pages: AdminPages,
        parameters: tuple[str, ...],
        get: Handler | None,
        post: Handler | None,
        who: Who,
        anywhere: bool,
        limit: int,
        files: int,
        largest: Largest,
        while_suspended: bool,
    ) -> None:
        self._services = pages.services
        self._parameters = parameters
        self._handlers = {
            method: handler
            for method, handler in (("GET", get), ("HEAD", get), ("POST", post))
            if handler is not None
        }
        self._who = who
        self._anywhere = anywhere or who not in _OF_A_SITE
        self._limit = limit
        self._files = files
        self._largest = largest
        # What is not about a site is about the account.
        self._while_suspended = while_suspended or anywhere

    async def answer(self, scope: Scope, receive: Receive) -> Response | Stream:
        handler = self._handlers.get(scope["method"])
        if handler is None:
            raise MethodNotAllowed(tuple(self._handlers))
        async with AsyncExitStack() as files:
            return await self._answer(scope, receive, handler, files)

    async def _answer(
        self, scope: Scope, receive: Receive, handler: Handler, files: AsyncExitStack
    ) -> Response | Stream:
        request = await open_request(self._services, scope)
        cookies: tuple[str, ...] = ()
        try:
            if scope["method"] == "POST":
                request, cookies = await self._received(request, receive, files)
            answer = self._refusal(request) or await self._handled(request, handler)
        except SignInFailed as error:
            answer = _sign_in_again_page(request, str(error))
        except MastheadError as error:
            if pages.wants_json(scope):
                raise
            answer = _error_page(error)
        return await _response(request, scope, answer, cookies)

    def _refusal(self, request: AdminRequest) -> Answer | None:
        """What the caller gets instead of the page; None where the page is for them."""
        if self._who in _OPEN:
            return None
        if not request.is_signed_in:
            if request.form:
                return _sign_in_again_page(request)
            return Moved(f"{SIGN_IN}?next={quote(request.address, safe='')}")
        if self._who is Who.OPERATOR and not request.is_operator:
            raise NotFound
        if request.is_shut_out and not self._while_suspended:
            return _suspended_page(request)
        if self._who is Who.OWNER and not request.caller.is_admin:
            raise NotFound
        if request.site is None and not self._anywhere:
            return Moved(CHOOSE_A_SITE)
        return None

    async def _handled(self, request: AdminRequest, handler: Handler) -> Answer:
        values = request.path_values(self._parameters)
        answer: Answer = await handler(request, *values)
        return answer

    async def _received(
        self, request: AdminRequest, receive: Receive, files: AsyncExitStack
    ) -> tuple[AdminRequest, tuple[str, ...]]:
        """The request with its form, after the checks that it comes from a page of ours. `files`
        closes the files of the form."""
        if self._who is not Who.MAILED:
            check_same_origin(request.scope)
        if self._files:
            await self._receive_files(request, receive, files)
            return request, ()
        limit = self._limit
        if not request.is_signed_in:
            # The form is shown again, so that nothing typed is lost; but not whatever a stranger
            # sends.
            limit = min(limit, MAX_SIGNED_OUT)
        request.form = await read_form(request.scope, receive, limit=limit)
        if self._who in _OPEN:
            return request, ()
        if request.is_signed_in:
            request.services.form_tokens.check(request.form, request.form_binding)
            return request, ()
        if AGAIN_PASSWORD not in request.form:
            return request, ()
        return await _signed_in_again(request)

    async def _receive_files(
        self, request: AdminRequest, receive: Receive, files: AsyncExitStack
    ) -> None:
        """Nothing is stored for one who may not send it: their form is not read."""
        if self._refusal(request) is not None:
            return
        largest = self._largest(self._services.settings)
        limit = self._files * largest + MAX_FIELD_BYTES
        with too_large_said(largest):
            form = await files.enter_async_context(
                read_multipart(request.scope, receive, limit=limit)
            )
        request.form = dict(form.fields)
        request.services.form_tokens.check(request.form, request.form_binding)
        request.files = form.files


async def _signed_in_again(request: AdminRequest) -> tuple[AdminRequest, tuple[str, ...]]:
    """The form of one whose sign-in has ended, sent again with their password."""
    form = dict(request.form)
    email, password = form.pop(AGAIN_EMAIL, ""), form.pop(AGAIN_PASSWORD, "")
    try:
        signed_in = await sign_in_staff(request, email, password)
    except MastheadError as error:
        # With what was typed, which must not be lost.
        request.form = {**form, AGAIN_EMAIL: email}
        raise SignInFailed(str(error)) from error
    cookies = (session_cookie(request, signed_in),)
    request = await open_request(request.services, request.scope, signed_in.caller)
    request.form = form
    return request, cookies


async def sign_in_staff(request: AdminRequest, email: str, password: str) -> SignedIn:
    client = request.client
    return await request.services.accounts.sign_in(
        superusers, request.context.tenant_id, email, password, client.address, client.user_agent
    )


class SignInFailed(MastheadError):
    """While a form waits to be sent again."""


def session_cookie(request: AdminRequest, signed_in: SignedIn) -> str:
    return set_cookie(
        ADMIN_COOKIE,
        signed_in.token,
        lifetime=session_lifetime(superusers),
        secure=request.context.is_https,
    )


def _sign_in_again_page(request: AdminRequest, problem: str = "") -> Shown:
    hidden = {name: value for name, value in request.form.items() if name != AGAIN_EMAIL}
    values = {
        "hidden": hidden,
        "email": request.form.get(AGAIN_EMAIL, ""),
        "problem": problem,
        "action": request.address,
    }
    return Shown("sign-in-again.html", "You were signed out", values, status=401)


def _suspended_page(request: AdminRequest) -> Shown:
    values = {
        "reason": request.tenant.suspension_reason,
        "since": request.local(request.tenant.suspended_at),
        "is_owner": request.caller.is_admin,
        "privacy": DATA_PROTECTION.url,
    }
    return Shown("suspended.html", "This site is suspended", values, status=403)


def _error_page(error: MastheadError) -> Shown:
    status = pages.described(error)[0]
    values = _error_values(error)
    headers = tuple(_error_headers(status, error))
    return Shown("error.html", values["title"], values, status, headers=headers)


def _error_values(error: MastheadError) -> dict[str, Any]:
    status, _, title = pages.described(error)
    if isinstance(error, NotFound):
        text = "It may have been deleted, or the address has a typing error."
    else:
        text = str(error)
    return {"status": status, "title": title, "text": text}


def _error_headers(status: int, error: MastheadError) -> RawHeaders:
    headers = retry_after(status, error)
    if isinstance(error, MethodNotAllowed):
        headers.append((b"allow", ", ".join(error.allowed).encode()))
    return headers


async def _response(
    request: AdminRequest, scope: Scope, answer: Answer, cookies: tuple[str, ...]
) -> Response | Stream:
    is_https = request.context.is_https
    if isinstance(answer, Moved):
        cookies = (*cookies, *answer.cookies)
        if answer.sentence:
            keyring = request.services.keyring
            cookies = (*cookies, flash_cookie(keyring, answer.sentence, is_https=is_https))
        return _moved(request, answer.url, cookies)
    if isinstance(answer, Framed):
        framed = (b"content-security-policy", _policy(own_origin(scope), "'self'"))
        return _page(scope, 200, answer.body, [framed])
    if isinstance(answer, Sent):
        return Stream(partial(_send_file, scope, answer))
    if isinstance(answer, Stored):
        return Stream(
            lambda send: serve_object(
                scope,
                send,
                store=request.services.objects,
                key=answer.key,
                filename=answer.file_name,
                content_type=answer.content_type,
                download=True,
                cache_control="no-store",
            )
        )
    is_whole = not (request.is_fragment and answer.fragment)
    if request.is_fragment and is_whole:
        # A whole page would end up inside the part that htmx replaces.
        return _moved(request, request.address, cookies)
    flash = own_cookie(scope, FLASH_COOKIE) if is_whole else ""
    if flash:
        cookies = (*cookies, admin_cookie(FLASH_COOKIE, "", seconds=0, is_https=is_https))
    sentence = read_flash(request.services.keyring, flash) if flash else ""
    template = answer.template if is_whole else answer.fragment
    if is_whole and request.is_signed_in:
        await count_waiting(request)
    values = {"frame": frame_of(request, answer.title, sentence), **answer.values}
    body = request.services.templates.render(template, values)
    headers = [*answer.headers, *((b"set-cookie", each.encode()) for each in cookies)]
    return _page(scope, answer.status, body, headers)


def _moved(request: AdminRequest, url: str, cookies: tuple[str, ...]) -> Response:
    location = quote(url, safe=_URL_CHARACTERS).encode()
    headers: RawHeaders = [(b"cache-control", b"no-store"), (b"vary", b"HX-Request")]
    headers += [(b"set-cookie", each.encode()) for each in cookies]
    if request.is_fragment:
        # htmx then opens the address as a page of its own.
        return Response(200, headers=[*headers, (b"hx-redirect", location)])
    return Response(303, headers=[*headers, (b"location", location)])


async def _send_file(scope: Scope, file: Sent, send: Send) -> None:
    headers: RawHeaders = [
        (b"content-type", file.content_type.encode()),
        (b"content-disposition", f'attachment; filename="{file.file_name}"'.encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["method"] != "HEAD":
        async for chunk in file.chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


@lru_cache(maxsize=1_024)
def _policy(origin: str, frame_ancestors: str = "'none'") -> bytes:
    return content_policy(origin, frame_ancestors=frame_ancestors).encode()


def _page(scope: Scope, status: int, body: bytes, headers: RawHeaders) -> Response:
    # By name, so that an answer may have a policy of its own.
    usual = {
        b"content-type": b"text/html; charset=utf-8",
        b"cache-control": b"no-store",
        b"vary": b"HX-Request, Cookie",
        b"content-security-policy": _policy(own_origin(scope)),
        b"x-content-type-options": b"nosniff",
        b"x-robots-tag": b"noindex, nofollow",
        b"referrer-policy": b"same-origin",
    }
    given = {name for name, _ in headers}
    whole = [*((name, usual[name]) for name in usual if name not in given), *headers]
    # Also for HEAD, whose headers are those of GET: the server leaves the body out.
    return Response(status, body, whole)
