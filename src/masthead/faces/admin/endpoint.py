"""From a request to a page of the admin: the sign-in, the checks of forms, the frame, and errors
that look like the admin."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import timedelta
from functools import lru_cache, partial
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from masthead.base.errors import (
    Invalid,
    MastheadError,
    NotFound,
    RateLimited,
    SiteSuspended,
    Unavailable,
)
from masthead.base.languages.translators import admin_translator, speaking
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.faces.admin.flash import COOKIE as FLASH_COOKIE
from masthead.faces.admin.flash import NOTHING, Flash, admin_cookie, flash_cookie, read_flash
from masthead.faces.admin.frame import frame_of
from masthead.faces.admin.navigation import DATA_PROTECTION, count_waiting
from masthead.faces.admin.people import owners_of
from masthead.faces.admin.request import (
    AdminRequest,
    AdminTools,
    browser_language,
    open_request,
    path_values,
)
from masthead.faces.services import FaceServices
from masthead.identity.factor_fields import has_second_factor
from masthead.identity.sign_ins import PROOF_LASTS
from masthead.web import pages
from masthead.web.answers import Answer as Response
from masthead.web.answers import RawHeaders, Stream
from masthead.web.asgi import Scope, Send
from masthead.web.asking_again import ProofNeeded
from masthead.web.assets import content_policy
from masthead.web.checks import FactorNeeded, RoleTooLow, SignInNeeded, SiteNotChosen
from masthead.web.cookies import own_cookie
from masthead.web.dispatch import Action, Route, reading
from masthead.web.errors import MethodNotAllowed, retry_after
from masthead.web.files import serve_object
from masthead.web.forms import own_origin
from masthead.web.policy import (
    FORM_BYTES,
    MAX_SIGNED_OUT,
    STAFF,
    Body,
    BodyKind,
    Bytes,
    Limit,
    Origin,
    Policy,
    WhileSuspended,
    Who,
    largest_upload,
)
from masthead.web.request import Request
from masthead.web.staff import AGAIN_EMAIL, CodeAsked, SignInFailed, party_of

SIGN_IN = "/admin/sign-in"
CONFIRM = "/admin/account/confirm"
_TO_FILL_IN = timedelta(minutes=5)
"""How long someone may take for a form whose page has asked for the proof."""
CHOOSE_A_SITE = "/admin/tenants"
_URL_CHARACTERS = "/:?#[]@!$&'()*+,;=%~"


class Page(msgspec.Struct, frozen=True):
    """A page before it is rendered."""

    template: str
    title: str
    values: dict[str, Any] = msgspec.field(default_factory=dict)
    status: int = 200
    fragment: str = ""
    """The template of the part that htmx asks for."""
    headers: tuple[tuple[bytes, bytes], ...] = ()


def refused_page(
    template: str, title: str, values: dict[str, Any], error: MastheadError | None
) -> Page:
    """The page of a form with why it was refused, if it was: 429 says when to try again."""
    status = 200 if error is None else 429 if isinstance(error, RateLimited) else 422
    return Page(template, title, values, status, headers=tuple(retry_after(status, error)))


class Redirect(msgspec.Struct, frozen=True):
    """See another page, which shows the sentence."""

    url: str
    sentence: str = ""
    cookies: tuple[str, ...] = ()
    undo: str = ""
    """The address that undoes what the sentence tells: a form there."""
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Framed(msgspec.Struct, frozen=True):
    """A page of another face that the admin shows in a frame."""

    body: bytes
    policy: str = ""
    """Its own Content-Security-Policy, where it differs from that of our pages."""


class Download(msgspec.Struct, frozen=True):
    """A file, as a download. It is made while it is sent."""

    chunks: AsyncIterator[bytes]
    file_name: str
    content_type: str


class Stored(msgspec.Struct, frozen=True):
    """A file of the object store, as a download that can be resumed."""

    key: str
    file_name: str
    content_type: str


Answer = Page | Redirect | Framed | Download | Stored
Handler = Callable[..., Awaitable[Answer]]


class AdminPages:
    """Answers requests to the admin with the pages that functions make."""

    def __init__(self, services: FaceServices, tools: AdminTools) -> None:
        self.services = services
        self.tools = tools

    def at(
        self,
        address: str,
        *,
        get: Handler | None = None,
        post: Handler | None = None,
        who: Who = Who.STAFF,
        anywhere: bool = False,
        limit: int = FORM_BYTES,
        files: int = 0,
        largest: Bytes = largest_upload,
        while_suspended: bool = False,
        asks_again: bool = False,
        asks_first: bool = False,
        takes_proof: bool = False,
        for_enrolment: bool = False,
    ) -> Route:
        """A row of the addresses. Handlers get the request, then the parameters of the path.
        `anywhere`: also for an operator who has not chosen a site. `limit` is of the form, in
        bytes. A form with files may be as large as so many of the largest. `while_suspended`: also
        for the staff of a suspended site. `asks_again`: what the form does is a sensitive step;
        without a form, what the page shows is. `asks_first`: the page asks, too, because what is
        typed there expires. `takes_proof`: the form is the question, and asks in any case."""
        parameters = tuple(re.findall(r"\{(\w+)\}", address))
        # What is not about a site is about the account.
        is_open = while_suspended or anywhere or who not in STAFF
        policy = Policy(
            who=who,
            while_suspended=WhileSuspended.OPEN if is_open else WhileSuspended.OPERATORS,
            needs_site=not anywhere and who is not Who.OPERATOR,
            limit=Limit.NONE if who in STAFF else Limit.SIGN_INS,
            asks_again=asks_again and (asks_first or post is None),
            proof_left=_TO_FILL_IN if asks_first else timedelta(),
            for_enrolment=for_enrolment,
        )
        actions: dict[str, Action] = {}
        if get:
            actions.update(reading(partial(self._answer, get, parameters), policy))
        if post:
            kind = BodyKind.FILES if files else BodyKind.FORM
            policy = replace(
                policy,
                asks_again=asks_again,
                proof_left=PROOF_LASTS if takes_proof else timedelta(),
                origin=_ORIGINS.get(who, Origin.FORM),
                body=Body(kind, limit, MAX_SIGNED_OUT, files=files, largest=largest),
            )
            answer = partial(self._answer, post, parameters, page=get)
            actions["POST"] = Action(answer, policy)
        return Route(address, actions)

    async def _answer(
        self,
        handler: Handler,
        parameters: tuple[str, ...],
        request: Request,
        page: Handler | None = None,
    ) -> Response | Stream:
        """`page` has the form that the handler is for: it is shown again where that is refused."""
        opened = await open_request(self.services, self.tools, request)
        with speaking(admin_translator(opened.language)):
            try:
                values = path_values(request, parameters)
                answer = await _handle(opened, handler, page, values)
            except MastheadError as error:
                if pages.wants_json(request):
                    raise
                request.error = error
                answer = _error_page(error)
            return await _response(opened, answer)

    async def refuse(self, request: Request, error: MastheadError) -> Response | Stream:
        """For what the checks have refused."""
        if pages.wants_json(request) or isinstance(error, Unavailable):
            raise error
        opened = await open_request(self.services, self.tools, request)
        with speaking(admin_translator(opened.language)):
            return await _response(opened, await _refusal(opened, error))

    async def error_answer(self, request: Request, error: MastheadError) -> Response:
        """For what no page has caught: reads nothing, as the database may be the reason."""
        if pages.wants_json(request):
            return await pages.error_answer(request, error)
        language = browser_language(request.scope)
        with speaking(admin_translator(language)):
            values = {**_error_values(error), "request_id": request.id, "language": language}
            body = self.tools.templates.render("error-bare.html", values)
        status = pages.described(error)[0]
        return _page(request.scope, status, body, _error_headers(status, error))


_ORIGINS = {Who.LINK: Origin.LINK, Who.ANYONE: Origin.OWN}


async def _handle(
    request: AdminRequest, handler: Handler, page: Handler | None, values: list[str]
) -> Answer:
    try:
        answer: Answer = await handler(request, *values)
    except Invalid as error:
        if page is None or not error.problems:
            raise
        request.problems = error.problems
        answer = await page(request, *values)
        if not (isinstance(answer, Page) and "problems" in answer.values):
            # It does not say what is wrong.
            raise
    if request.problems and isinstance(answer, Page) and answer.status == 200:
        return replace(answer, status=422)
    return answer


async def _refusal(request: AdminRequest, error: MastheadError) -> Answer:
    """The answer to a caller who may not open the page."""
    if isinstance(error, CodeAsked):
        return _sign_in_again_page(request, error.problem, guarded=error.account)
    if isinstance(error, SignInFailed):
        return _sign_in_again_page(request, str(error))
    if isinstance(error, SignInNeeded):
        if request.form:
            return _sign_in_again_page(request)
        return Redirect(f"{SIGN_IN}?next={quote(request.address, safe='')}")
    if isinstance(error, FactorNeeded):
        return Page("factor-needed.html", words("Add a second factor"), status=403)
    if isinstance(error, ProofNeeded):
        if request.form:
            return prove_page(request, request.form, request.address, error.problem)
        return Redirect(f"{CONFIRM}?next={quote(request.address, safe='')}")
    if isinstance(error, SiteNotChosen):
        return Redirect(CHOOSE_A_SITE)
    if isinstance(error, SiteSuspended) and request.site is not None:
        return _suspended_page(request)
    if isinstance(error, RoleTooLow):
        return await _role_page(request, error)
    return _error_page(error)


async def _role_page(request: AdminRequest, error: RoleTooLow) -> Page:
    """Says who may open the page, and which people those are."""
    page = _error_page(error)
    if error.who is Who.OPERATOR:
        return page
    title = (
        words("Only for editors and owners")
        if error.who is Who.EDITOR
        else words("Only for owners")
    )
    return replace(
        page, title=title, values={**page.values, "title": title, "ask": await owners_of(request)}
    )


def _sign_in_again_page(
    request: AdminRequest, problem: str = "", *, guarded: Record | None = None
) -> Page:
    """`guarded`: the account whose password was right, and whose second factor is missing."""
    staff, party = request.services.staff, party_of(request.context)
    hidden = {name: value for name, value in request.form.items() if name != AGAIN_EMAIL}
    values = {
        "hidden": hidden,
        "email": request.form.get(AGAIN_EMAIL, ""),
        "problem": problem,
        "action": request.address,
        "asks_code": guarded is not None,
        "passkey": staff.passkeys.ask(party, guarded) if guarded else None,
    }
    return Page("sign-in-again.html", words("You were signed out"), values, status=401)


def prove_page(
    request: AdminRequest, hidden: Mapping[str, str], action: str, problem: str = ""
) -> Page:
    """Asks who it is, with what was typed as hidden fields."""
    staff, account = request.services.staff, request.account
    values = {
        "hidden": hidden,
        "action": action,
        "problem": problem,
        "email": account["email"],
        "is_guarded": has_second_factor(account),
        "has_password": bool(account["password_hash"]),
        "has_app": bool(account["totp_secret"]),
        "passkey": staff.passkeys.ask(party_of(request.context), account),
    }
    return Page("prove.html", words("Confirm that it’s you"), values, status=403)


def _suspended_page(request: AdminRequest) -> Page:
    values = {
        "reason": request.tenant.suspension_reason,
        "since": request.local(request.tenant.suspended_at),
        "is_owner": request.caller.is_admin,
        "privacy": DATA_PROTECTION.url,
    }
    return Page("suspended.html", words("This site is suspended"), values, status=403)


def _error_page(error: MastheadError) -> Page:
    status = pages.described(error)[0]
    values = _error_values(error)
    headers = tuple(_error_headers(status, error))
    return Page("error.html", values["title"], values, status, headers=headers)


def _error_values(error: MastheadError) -> dict[str, Any]:
    status, _, title = pages.described(error)
    if isinstance(error, NotFound):
        text = words("It may have been deleted, or the address may have a typo.")
    else:
        text = str(error)
    return {"status": status, "title": title, "text": text}


def _error_headers(status: int, error: MastheadError) -> RawHeaders:
    headers = retry_after(status, error)
    if isinstance(error, MethodNotAllowed):
        headers.append((b"allow", ", ".join(error.allowed).encode()))
    return headers


async def _response(request: AdminRequest, answer: Answer) -> Response | Stream:
    scope, is_https = request.scope, request.context.is_https
    cookies: tuple[str, ...] = ()
    if isinstance(answer, Redirect):
        cookies = answer.cookies
        if answer.sentence:
            keyring = request.services.keyring
            told = Flash(answer.sentence, answer.undo)
            cookies = (*cookies, flash_cookie(keyring, told, is_https=is_https))
        return _moved(request, answer.url, cookies, answer.headers)
    if isinstance(answer, Framed):
        policy = answer.policy.encode() or _policy(own_origin(scope), "'self'")
        return _page(scope, 200, answer.body, [(b"content-security-policy", policy)])
    if isinstance(answer, Download):
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
    told = read_flash(request.services.keyring, flash) if flash else NOTHING
    template = answer.template if is_whole else answer.fragment
    if is_whole and request.is_signed_in:
        await count_waiting(request)
    values = {"frame": frame_of(request, answer.title, told), **answer.values}
    body = request.tools.templates.render(template, values)
    headers = [*answer.headers, *((b"set-cookie", each.encode()) for each in cookies)]
    return _page(scope, answer.status, body, headers)


def _moved(
    request: AdminRequest,
    url: str,
    cookies: tuple[str, ...],
    added: tuple[tuple[bytes, bytes], ...] = (),
) -> Response:
    location = quote(url, safe=_URL_CHARACTERS).encode()
    headers: RawHeaders = [(b"cache-control", b"no-store"), (b"vary", b"HX-Request"), *added]
    headers += [(b"set-cookie", each.encode()) for each in cookies]
    if request.is_fragment:
        # htmx then opens the address as a full page.
        return Response(200, headers=[*headers, (b"hx-redirect", location)])
    return Response(303, headers=[*headers, (b"location", location)])


async def _send_file(scope: Scope, file: Download, send: Send) -> None:
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
    # By name, so that an answer can set its own policy.
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
