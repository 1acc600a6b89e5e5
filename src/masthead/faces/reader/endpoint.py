"""From a request to a page: the audience, the cache, the theme, and errors that look like the site.

Pages are cached per audience and validated by the tenant's version, as the API's answers are. Only
personal pages and the answers to forms contain data of a single reader; they are never cached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache, partial
from hashlib import sha256
from urllib.parse import quote, urlencode

import msgspec
from msgspec.structs import replace

from masthead.base.caller import Audience, Reader, guest
from masthead.base.errors import MastheadError, NotFound, SiteSuspended
from masthead.base.languages.translators import speaking, translator_of
from masthead.base.languages.words import words
from masthead.faces.reader.cards import cards_of, list_posts, next_position
from masthead.faces.reader.near_posts import near_posts
from masthead.faces.reader.own_code import code_for, script_hashes
from masthead.faces.reader.redirects import is_old_address, redirect_of
from masthead.faces.reader.request import (
    ReaderServices,
    SiteRequest,
    Visit,
    open_request,
    personal_visit,
    read_query,
    visit_of,
)
from masthead.faces.reader.site import (
    ANY_FORM_TOKEN,
    announced_until,
    chrome_of,
    is_over,
    shown_site,
    site_of,
)
from masthead.faces.reader.views import ErrorPage, Head, message_of
from masthead.features.site.record_view import as_settings
from masthead.web import pages
from masthead.web.answers import Answer, RawHeaders, header_list
from masthead.web.asgi import Scope
from masthead.web.assets import content_policy
from masthead.web.cache import AnswerCache, CachedAnswer
from masthead.web.dispatch import Action, Route, reading
from masthead.web.errors import MethodNotAllowed, retry_after
from masthead.web.etags import is_unchanged, site_mark
from masthead.web.failures import log_failure
from masthead.web.forms import own_origin
from masthead.web.policy import (
    FORM_BYTES,
    Body,
    BodyKind,
    Cache,
    Limit,
    Origin,
    Policy,
    WhileSuspended,
    Who,
)
from masthead.web.request import Request, Viewed

# A shared cache in front may keep a guest's page for a moment, and show it while it asks again.
_SHARED = b"public, max-age=0, s-maxage=5, stale-while-revalidate=60, stale-if-error=86400"
_PRIVATE = b"private, no-cache"
_NO_AI = ((b"x-robots-tag", b"noai, noimageai"),)
_POLICY = b"content-security-policy"
_PERSONAL = b"private, no-store"
_URL_CHARACTERS = "/:?#[]@!$&'()*+,;=%~"
LATEST = 3
"""Posts on the page for what was not found."""


class Page(msgspec.Struct, frozen=True):
    """A page before it is rendered."""

    template: str
    head: Head
    page: object
    status: int = 200
    is_cached: bool = True
    headers: tuple[tuple[bytes, bytes], ...] = ()
    viewed: Viewed | None = None
    """Under which name its views are counted, if they are."""


class Document(msgspec.Struct, frozen=True):
    """An answer that is no page, such as a feed."""

    body: bytes
    content_type: bytes
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Redirect(msgspec.Struct, frozen=True):
    """The page has another address now."""

    url: str
    status: int = 301
    headers: tuple[tuple[bytes, bytes], ...] = ()


def see_other(url: str, *headers: tuple[bytes, bytes]) -> Redirect:
    """After a form has been acted on: reloading the next page does not send it again."""
    return Redirect(url, 303, headers)


Result = Page | Document | Redirect
Make = Callable[..., Awaitable[Result]]
Making = Callable[[SiteRequest], Awaitable[Result]]
Form = dict[str, str]
Handle = Callable[..., Awaitable[Page | Redirect]]


class SitePages:
    """Answers requests of the reader's site with the pages that functions make."""

    def __init__(self, services: ReaderServices, cache: AnswerCache) -> None:
        self.services = services
        self._cache = cache

    def page(
        self,
        path: str,
        make: Make,
        *parameters: str,
        for_guests: bool = False,
        query: Sequence[str] = (),
        personal: bool | Callable[[Request], bool] = False,
        while_suspended: WhileSuspended = WhileSuspended.CLOSED,
        markdown: Make | None = None,
    ) -> Route:
        """`query`: the parameters that the response depends on; a page that is cached gets no
        others, and whatever else is in an address leads to the same page. `for_guests`: the
        response is that of a guest, also for a signed-in member. `personal`: it is for one reader,
        who may be the request's `member`, and is not cached. Some pages are personal for certain
        requests only. `markdown` makes the same for programs that prefer it."""

        async def answer(request: Request) -> Answer:
            making = partial(_make, make, request, parameters)
            if markdown is not None and pages.prefers_markdown(request):
                written = partial(_make, markdown, request, parameters)
                return await self.answer(request, written, for_guests=True, variant="markdown")
            if personal(request) if callable(personal) else personal:
                return await self.personal_answer(request, making)
            return await self.answer(request, making, query=query, for_guests=for_guests)

        policy = Policy(
            who=Who.ANYONE if for_guests else Who.VISITOR,
            while_suspended=while_suspended,
            cache=Cache.NOBODY if personal is True else Cache.VERSIONED,
        )
        return Route(path, reading(answer, policy))

    def form(
        self,
        path: str,
        handle: Handle,
        *parameters: str,
        page: Make | None = None,
        is_open: bool = False,
        limit: Limit = Limit.NONE,
        while_suspended: WhileSuspended = WhileSuspended.CLOSED,
    ) -> Route:
        """Answers a form that is sent to the address: `handle(request, form, *values)`.

        `page` makes the personal page for GET. `is_open`: also from a page that was opened before
        the reader signed in or out.
        """

        async def answer(request: Request) -> Answer:
            async def making(site_request: SiteRequest) -> Result:
                values = [request.path_parameters[name] for name in parameters]
                return await handle(site_request, request.form, *values)

            site_request, visit = await self._personal_request(request)
            with speaking(translator_of(site_request.language)):
                result = _in_language(site_request, await _make_or_redirect(site_request, making))
                return await self._personal(request, result, site_request, visit)

        policy = Policy(
            who=Who.VISITOR,
            while_suspended=while_suspended,
            limit=limit,
            origin=Origin.OWN if is_open else Origin.FORM,
            body=Body(BodyKind.FORM, FORM_BYTES),
        )
        actions: dict[str, Action] = {}
        if page:
            shown = self.page(
                path, page, *parameters, personal=True, while_suspended=while_suspended
            )
            actions.update(shown.actions)
        actions["POST"] = Action(answer, policy)
        return Route(path, actions, self._show_refusal)

    async def _show_refusal(self, request: Request, error: MastheadError) -> Answer:
        """A form that was not admitted, on a page that looks like the site."""
        if request.tenant is None or isinstance(error, SiteSuspended | MethodNotAllowed):
            raise error
        site_request, visit = await self._personal_request(request)
        with speaking(translator_of(site_request.language)):
            page = _error_page(site_request, error)
            return await self._personal(request, page, site_request, visit)

    async def answer(
        self,
        request: Request,
        make: Making,
        *,
        query: Sequence[str] = (),
        for_guests: bool = False,
        variant: str = "",
    ) -> Answer:
        """`variant`: another form of what is at the address."""
        tenant = request.tenant
        if tenant is None:
            raise NotFound(words("There is no site at this address."))
        visit = Visit(guest(tenant.id))
        if not for_guests:
            visit = await visit_of(self.services, request, tenant.id)
        if visit.audience is Audience.STAFF and self._tried_theme(request, visit):
            return await self.personal_answer(request, make)
        reader = visit.reader
        read = read_query(request.query_string, query)
        asked = urlencode(read).encode() if read else b""
        key = (tenant.id, f"site{mark_of(reader)} {variant} {request.path}", asked)
        versions = await self._cache.versions(tenant.id)
        version = versions.content
        cached = self._cache.get(key, version)
        if cached is not None:
            return self._whole(request, 200, cached, visit)
        site_request = await open_request(
            self.services, tenant, reader, request, query=read, versions=versions
        )
        with speaking(translator_of(site_request.language)):
            result = await _result(site_request, make)
            if isinstance(result, Redirect):
                return _moved_answer(result)
            answer = await self._draw(version, site_request, result)
        if answer.tag:
            # A post that is scheduled shows at its time, without a change of anything.
            until = await next_position(site_request, site_request.now)
            if not is_over(site_request) and (gone := announced_until(site_request)):
                until = min(until, gone) if until else gone
            self._cache.put(
                key,
                version,
                answer.body,
                answer.tag,
                headers=answer.headers,
                until=until,
                viewed=answer.viewed,
                frame_origins=answer.frame_origins,
                code=answer.code,
            )
        return self._whole(request, result.status, answer, visit)

    async def personal_answer(self, request: Request, make: Making) -> Answer:
        """A page for one reader."""
        site_request, visit = await self._personal_request(request)
        with speaking(translator_of(site_request.language)):
            result = _in_language(site_request, await _result(site_request, make))
            return await self._personal(request, result, site_request, visit)

    async def show(self, request: Request, make_page: pages.MakePage) -> Answer:
        """A page of a link in an email, in the look of the site. A program that accepts only JSON
        gets that, and where there is no site the page is a plain one."""
        if request.tenant is None or pages.wants_json(request):
            return pages.page_answer(request, await make_page())

        async def make(site_request: SiteRequest) -> Result:
            page = await make_page()
            head = Head(title=f"{page.title} · {site_of(site_request).name}", noindex=True)
            return Page("message.html", head, message_of(page), page.status)

        site_request, visit = await self._personal_request(request)
        with speaking(translator_of(site_request.language)):
            result = await _make_or_redirect(site_request, make)
            return await self._personal(request, result, site_request, visit)

    async def _personal_request(self, request: Request) -> tuple[SiteRequest, Visit]:
        tenant = request.tenant
        if tenant is None:
            raise NotFound(words("There is no site at this address."))
        visit = await personal_visit(self.services, request, tenant.id)
        site_request = await open_request(
            self.services,
            tenant,
            visit.reader,
            request,
            visit=visit,
            posted=self.services.posted_comments.of(request),
        )
        if theme := self._tried_theme(request, visit):
            site_request.site_record = as_settings(site_request.site_record | {"theme": theme})
        return site_request, visit

    def _tried_theme(self, request: Request, visit: Visit) -> str:
        """The theme that an owner tries with `?theme=`; empty for anyone else, and for a theme that
        does not exist."""
        if b"theme=" not in request.query_string or not visit.caller.is_admin:
            return ""
        theme = read_query(request.query_string, ("theme",)).get("theme", "")
        return theme if theme in self.services.themes.names() else ""

    async def _personal(
        self, request: Request, result: Result, site_request: SiteRequest, visit: Visit
    ) -> Answer:
        if isinstance(result, Redirect):
            return _moved_answer(result)
        answer = await self._draw(0, site_request, result)
        answer.tag = b""
        return self._whole(request, result.status, answer, visit, is_personal=True)

    def _whole(
        self,
        request: Request,
        status: int,
        answer: CachedAnswer,
        visit: Visit,
        *,
        is_personal: bool = False,
    ) -> Answer:
        body, tag = answer.body, answer.tag
        if visit.audience is not Audience.STAFF:
            request.viewed = answer.viewed
        if visit.is_signed_in:
            token = self.services.form_tokens.of(visit.caller.sign_in).encode()
            body = body.replace(ANY_FORM_TOKEN.encode(), token)
            # A browser must not show a page with the token of an earlier sign-in again.
            tag = tag and b'%s-%s"' % (tag[:-1], sha256(token).hexdigest()[:12].encode())
        headers = _headers(request.scope, answer, tag, visit, is_personal=is_personal)
        if tag and is_unchanged(header_list(request.scope, b"if-none-match"), tag):
            return Answer(304, headers=headers)
        # Also for HEAD, whose headers are those of GET: the server leaves the body out.
        return Answer(status, body, headers)

    async def _draw(
        self, version: int, request: SiteRequest, result: Page | Document
    ) -> CachedAnswer:
        # Another version of the theme is another page, too.
        tag = b'"%d-%s-%s-%s"' % (
            version,
            site_mark(request.tenant_id),
            mark_of(request.reader).encode(),
            self.services.themes.fingerprint,
        )
        no_ai = _NO_AI if request.site_record["crawlers"] == "search" else ()
        if isinstance(result, Document):
            headers = [(b"content-type", result.content_type), *result.headers, *no_ai]
            # A page may be at the same address.
            tag = b'%s-d"' % tag[:-1] if result.status == 200 else b""
            return CachedAnswer(version, result.body, tag, headers)
        code = code_for(request, result.template)
        chrome = chrome_of(request, result.head, await shown_site(request), code)
        theme = request.site_record["theme"]
        body = self.services.themes.render(theme, result.template, chrome, result.page).encode()
        headers = [(b"content-type", b"text/html; charset=utf-8"), *result.headers, *no_ai]
        is_cached = result.is_cached and result.status == 200
        viewed = result.viewed if request.site_record["count_views"] else None
        return CachedAnswer(
            version,
            body,
            tag if is_cached else b"",
            headers,
            viewed=viewed,
            frame_origins=tuple(sorted(request.frame_origins)),
            code=script_hashes(code),
        )


def mark_of(reader: Reader) -> str:
    """The readers who get the same page: of an audience, and of a level."""
    return f"{reader.audience:d}{reader.level}"


def _make(
    make: Make, request: Request, parameters: tuple[str, ...], site_request: SiteRequest
) -> Awaitable[Result]:
    return make(site_request, *(request.path_parameters[name] for name in parameters))


def _in_language(request: SiteRequest, result: Result) -> Result:
    """The next page after a form, or before one, is in the same language."""
    if not isinstance(result, Redirect) or result.status != 303 or not request.root:
        return result
    is_page = result.url == "/" or result.url.startswith("/member/")
    return replace(result, url=request.root + result.url) if is_page else result


def _moved_answer(moved: Redirect) -> Answer:
    location = (b"location", quote(moved.url, safe=_URL_CHARACTERS).encode())
    headers = [location, (b"cache-control", b"no-cache"), *moved.headers]
    return Answer(moved.status, headers=headers)


async def _result(request: SiteRequest, make: Making) -> Result:
    if is_old_address(request) and (moved := await redirect_of(request)):
        return Redirect(*moved)
    return await _make_or_redirect(request, make)


async def _make_or_redirect(request: SiteRequest, make: Making) -> Result:
    try:
        if request.is_in_no_language:
            raise NotFound
        return await make(request)
    except NotFound:
        return await _find_redirect(request) or await _not_found(request)
    except MastheadError as error:
        return _error_page(request, error)


def _error_page(request: SiteRequest, error: MastheadError) -> Page:
    status, _, title = pages.described(error)
    log_failure(error, status, request.path)
    head = Head(title=f"{title} · {site_of(request).name}", noindex=True)
    page = ErrorPage(status, title, str(error))
    headers = tuple(retry_after(status, error))
    return Page("error.html", head, page, status, headers=headers)


async def _find_redirect(request: SiteRequest) -> Redirect | None:
    if moved := await redirect_of(request):
        return Redirect(*moved)
    if request.path.endswith("/") and request.path.strip("/"):
        # One slash in front: two would name another host.
        return Redirect("/" + request.path.strip("/"))
    if request.path[1:] in request.editions:
        return Redirect(f"{request.path}/")
    return None


async def _not_found(request: SiteRequest) -> Page:
    near = await near_posts(request, LATEST)
    found = near or (await list_posts(request, LATEST, first_page=True))[0]
    title = words("There is nothing here")
    text = words(
        "The page may have been moved or taken down. Search for it, or read something new."
    )
    page = ErrorPage(404, title, text, await cards_of(request, found), is_near=bool(near))
    head = Head(title=f"{title} · {site_of(request).name}", noindex=True)
    return Page("error.html", head, page, 404)


@lru_cache(maxsize=1_024)
def _policy(origin: str, frames: tuple[str, ...], code: tuple[str, ...] | None) -> bytes:
    return content_policy(origin, frames=frames, code=code).encode()


def _headers(
    scope: Scope, answer: CachedAnswer, tag: bytes, visit: Visit, *, is_personal: bool
) -> RawHeaders:
    is_shared = visit.audience is Audience.GUEST and bool(tag)
    control = _PERSONAL if is_personal else _SHARED if is_shared else _PRIVATE
    # The address of a personal page may hold a token that no other site may learn. The page's own
    # forms still name their origin, which `no-referrer` would prevent.
    referrer = b"same-origin" if is_personal else b"strict-origin-when-cross-origin"
    headers: RawHeaders = [
        (b"cache-control", control),
        (b"vary", b"Cookie, Authorization"),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", referrer),
        *answer.headers,
    ]
    if not any(name == _POLICY for name, _ in answer.headers):
        headers.append((_POLICY, _policy(own_origin(scope), answer.frame_origins, answer.code)))
    if tag:
        headers.append((b"etag", tag))
    if is_personal:
        headers.append((b"x-robots-tag", b"noindex, nofollow"))
    return headers
