"""From a request to a page: the audience, the cache, the theme, and errors that look like the site.

Pages are cached per audience and validated by the tenant's version, as the API's answers are. No
page holds anything that is one reader's alone, except personal pages and the answers of forms,
which are never cached.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from urllib.parse import quote, urlencode

from starlette.types import Receive, Scope

from masthead.caller import Audience, guest
from masthead.errors import MastheadError, NotFound
from masthead.posts.collection import posts
from masthead.posts.site import PUBLISHED_LIST
from masthead.reader.cards import cards_of, listed_posts
from masthead.reader.near_posts import near_posts
from masthead.reader.redirects import is_old_address, redirect_of
from masthead.reader.request import (
    ReaderServices,
    SiteRequest,
    Visit,
    open_request,
    personal_visit,
    read_query,
    visit_of,
)
from masthead.reader.site import ANY_FORM_TOKEN, chrome_of, logo_size, site_of
from masthead.reader.views import ErrorPage, Head, message_of
from masthead.web import pages
from masthead.web.answers import Answer, Endpoint, RawHeaders, header_list
from masthead.web.assets import content_policy
from masthead.web.cache import AnswerCache, CachedAnswer
from masthead.web.errors import MethodNotAllowed, retry_after
from masthead.web.etags import is_unchanged, site_mark
from masthead.web.forms import check_same_origin, own_origin, read_form
from masthead.web.request_context import request_context

# A shared cache in front may keep a guest's page for a moment, and show it while it asks again.
_SHARED = b"public, max-age=0, s-maxage=5, stale-while-revalidate=60, stale-if-error=86400"
_PRIVATE = b"private, no-cache"
_PERSONAL = b"private, no-store"
_URL_CHARACTERS = "/:?#[]@!$&'()*+,;=%~"
LATEST = 3
"""Posts on the page for what was not found."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A page before it is rendered."""

    template: str
    head: Head
    page: object
    status: int = 200
    is_cached: bool = True
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """An answer that is no page, such as a feed."""

    body: bytes
    content_type: bytes
    status: int = 200


@dataclass(frozen=True, slots=True)
class Moved:
    """The page has another address now."""

    url: str
    status: int = 301
    headers: tuple[tuple[bytes, bytes], ...] = ()


def see_other(url: str, *headers: tuple[bytes, bytes]) -> Moved:
    """After a form has been acted on: reloading the next page does not send it again."""
    return Moved(url, 303, headers)


Result = Drawn | Document | Moved
Make = Callable[..., Awaitable[Result]]
Making = Callable[[SiteRequest], Awaitable[Result]]
Form = dict[str, str]
Handle = Callable[..., Awaitable[Drawn | Moved]]


class SitePages:
    """Answers requests of the reader's site with the pages that functions make."""

    def __init__(self, services: ReaderServices, cache: AnswerCache) -> None:
        self.services = services
        self._cache = cache

    def endpoint(
        self,
        make: Make,
        *parameters: str,
        for_guests: bool = False,
        query: Sequence[str] = (),
        personal: bool | Callable[[Scope], bool] = False,
    ) -> _Endpoint:
        """`query`: the parameters that the response depends on; a page that is cached gets no
        others, and whatever else is in an address leads to the same page. `for_guests`: the
        response is that of a guest, also for a signed-in member. `personal`: it is for one reader,
        who may be the request's `member`, and is not cached. Some pages are personal for certain
        requests only."""
        return _Endpoint(self, make, parameters, query, for_guests, personal)

    def form(
        self, handle: Handle, *parameters: str, page: Make | None = None, is_open: bool = False
    ) -> _Form:
        """Answers a form that is sent to the address: `handle(request, form, *values)`.

        `page` makes the personal page for GET. `is_open`: also from a page that was opened before
        the reader signed in or out.
        """
        shown = self.endpoint(page, *parameters, personal=True) if page else None
        return _Form(self, handle, parameters, shown, is_open)

    async def answer(
        self,
        scope: Scope,
        make: Making,
        *,
        query: Sequence[str] = (),
        for_guests: bool = False,
    ) -> Answer:
        context = request_context(scope)
        if context.tenant is None:
            raise NotFound("There is no site at this address.")
        _check_method(scope, "GET", "HEAD")
        visit = Visit(guest(context.tenant.id))
        if not for_guests:
            visit = await visit_of(self.services, scope, context.tenant.id)
        audience = visit.audience
        read = read_query(scope["query_string"], query)
        asked = urlencode(read).encode() if read else b""
        key = (context.tenant.id, f"site{audience:d} {scope['path']}", asked)
        cached = await self._cache.get(key)
        if cached is not None:
            return self._whole(scope, 200, cached, visit)
        version = await self._cache.version(context.tenant.id)
        request = await open_request(self.services, context.tenant, audience, scope, query=read)
        result = await _result(request, make)
        if isinstance(result, Moved):
            return _moved_answer(result)
        answer = await self._drawn(version, request, result)
        if answer.tag:
            # A post that is scheduled shows at its time, without a change of anything.
            until = await request.records.next_position(
                request.tenant_id, posts, (PUBLISHED_LIST, ""), request.now
            )
            self._cache.put(key, version, answer.body, answer.tag, answer.headers, until=until)
        return self._whole(scope, result.status, answer, visit)

    async def personal_answer(self, scope: Scope, make: Making) -> Answer:
        """A page for one reader, or the answer to their form."""
        request, visit = await self._personal_request(scope)
        return await self._personal(scope, await _result(request, make), request, visit)

    async def show(self, scope: Scope, make_page: pages.MakePage) -> Answer:
        """A page of a link in an email, in the look of the site. A program that accepts only JSON
        gets that, and where there is no site the page is a plain one."""
        if request_context(scope).tenant is None or pages.wants_json(scope):
            return pages.page_answer(scope, await make_page())

        async def make(request: SiteRequest) -> Result:
            page = await make_page()
            head = Head(title=f"{page.title} · {site_of(request).name}", noindex=True)
            return Drawn("message.html", head, message_of(page), page.status)

        request, visit = await self._personal_request(scope)
        return await self._personal(scope, await _made(request, make), request, visit)

    async def form_answer(
        self, scope: Scope, receive: Receive, handle: Handle, *, is_open: bool
    ) -> Answer:
        request, visit = await self._personal_request(scope)

        async def make(request: SiteRequest) -> Result:
            check_same_origin(scope)
            form = await read_form(scope, receive)
            if visit.is_signed_in and not is_open:
                self.services.form_tokens.check(form, visit.caller.sign_in)
            return await handle(request, form)

        return await self._personal(scope, await _made(request, make), request, visit)

    async def _personal_request(self, scope: Scope) -> tuple[SiteRequest, Visit]:
        tenant = request_context(scope).tenant
        if tenant is None:
            raise NotFound("There is no site at this address.")
        visit = await personal_visit(self.services, scope, tenant.id)
        request = await open_request(
            self.services,
            tenant,
            visit.audience,
            scope,
            visit,
            posted=self.services.posted_comments.of(scope),
        )
        return request, visit

    async def _personal(
        self, scope: Scope, result: Result, request: SiteRequest, visit: Visit
    ) -> Answer:
        if isinstance(result, Moved):
            return _moved_answer(result)
        answer = await self._drawn(0, request, result)
        answer.tag = b""
        return self._whole(scope, result.status, answer, visit, is_personal=True)

    def _whole(
        self,
        scope: Scope,
        status: int,
        answer: CachedAnswer,
        visit: Visit,
        *,
        is_personal: bool = False,
    ) -> Answer:
        body, tag = answer.body, answer.tag
        if visit.is_signed_in:
            token = self.services.form_tokens.of(visit.caller.sign_in).encode()
            body = body.replace(ANY_FORM_TOKEN.encode(), token)
            # A browser must not show a page with the token of an earlier sign-in again.
            tag = tag and b'%s-%s"' % (tag[:-1], sha256(token).hexdigest()[:12].encode())
        headers = _headers(scope, answer, tag, visit, is_personal=is_personal)
        if tag and is_unchanged(header_list(scope, b"if-none-match"), tag):
            return Answer(304, headers=headers)
        # Also for HEAD, whose headers are those of GET: the server leaves the body out.
        return Answer(status, body, headers)

    async def _drawn(
        self, version: int, request: SiteRequest, result: Drawn | Document
    ) -> CachedAnswer:
        # Another version of the theme is another page, too.
        tag = b'"%d-%s-%d-%s"' % (
            version,
            site_mark(request.tenant_id),
            request.audience,
            self.services.themes.fingerprint,
        )
        if isinstance(result, Document):
            headers = [(b"content-type", result.content_type)]
            return CachedAnswer(version, result.body, tag if result.status == 200 else b"", headers)
        chrome = chrome_of(request, result.head, await logo_size(request))
        theme = request.site_record["theme"]
        body = self.services.themes.render(theme, result.template, chrome, result.page).encode()
        headers = [(b"content-type", b"text/html; charset=utf-8"), *result.headers]
        is_cached = result.is_cached and result.status == 200
        return CachedAnswer(version, body, tag if is_cached else b"", headers)


class _Endpoint(Endpoint):
    def __init__(
        self,
        pages: SitePages,
        make: Make,
        parameters: tuple[str, ...],
        query: Sequence[str],
        for_guests: bool,
        personal: bool | Callable[[Scope], bool],
    ) -> None:
        self._pages = pages
        self._make = make
        self._parameters = parameters
        self._query = query
        self._for_guests = for_guests
        self._personal = personal

    async def answer(self, scope: Scope, receive: Receive) -> Answer:
        values = [scope["path_params"][name] for name in self._parameters]

        def make(request: SiteRequest) -> Awaitable[Result]:
            return self._make(request, *values)

        is_personal = self._personal(scope) if callable(self._personal) else self._personal
        if is_personal:
            _check_method(scope, "GET", "HEAD")
            return await self._pages.personal_answer(scope, make)
        return await self._pages.answer(scope, make, query=self._query, for_guests=self._for_guests)


class _Form(Endpoint):
    def __init__(
        self,
        pages: SitePages,
        handle: Handle,
        parameters: tuple[str, ...],
        page: _Endpoint | None,
        is_open: bool,
    ) -> None:
        self._pages = pages
        self._handle = handle
        self._parameters = parameters
        self._page = page
        self._is_open = is_open

    async def answer(self, scope: Scope, receive: Receive) -> Answer:
        if self._page and scope["method"] in ("GET", "HEAD"):
            return await self._page.answer(scope, receive)
        _check_method(scope, *(("GET", "HEAD", "POST") if self._page else ("POST",)))
        values = [scope["path_params"][name] for name in self._parameters]

        def handle(request: SiteRequest, form: Form) -> Awaitable[Drawn | Moved]:
            return self._handle(request, form, *values)

        return await self._pages.form_answer(scope, receive, handle, is_open=self._is_open)


def _check_method(scope: Scope, *allowed: str) -> None:
    if scope["method"] not in allowed:
        raise MethodNotAllowed(allowed)


def _moved_answer(moved: Moved) -> Answer:
    location = (b"location", quote(moved.url, safe=_URL_CHARACTERS).encode())
    headers = [location, (b"cache-control", b"no-cache"), *moved.headers]
    return Answer(moved.status, headers=headers)


async def _result(request: SiteRequest, make: Making) -> Result:
    if is_old_address(request) and (moved := await redirect_of(request)):
        return Moved(*moved)
    return await _made(request, make)


async def _made(request: SiteRequest, make: Making) -> Result:
    try:
        return await make(request)
    except NotFound:
        return await _moved(request) or await _not_found(request)
    except MastheadError as error:
        status, _, title = pages.described(error)
        head = Head(title=f"{title} · {site_of(request).name}", noindex=True)
        page = ErrorPage(status, title, str(error))
        headers = tuple(retry_after(status, error))
        return Drawn("error.html", head, page, status, headers=headers)


async def _moved(request: SiteRequest) -> Moved | None:
    if moved := await redirect_of(request):
        return Moved(*moved)
    if request.path.endswith("/") and request.path.strip("/"):
        # One slash in front: two would name another host.
        return Moved("/" + request.path.strip("/"))
    return None


async def _not_found(request: SiteRequest) -> Drawn:
    near = await near_posts(request, LATEST)
    found = near or (await listed_posts(request, LATEST, first_page=True))[0]
    title = "There is nothing here"
    text = "The page may have been moved or taken down. Search for it, or read something new."
    page = ErrorPage(404, title, text, await cards_of(request, found), is_near=bool(near))
    head = Head(title=f"{title} · {site_of(request).name}", noindex=True)
    return Drawn("error.html", head, page, 404)


@lru_cache(maxsize=1_024)
def _policy(origin: str) -> bytes:
    return content_policy(origin).encode()


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
        (b"content-security-policy", _policy(own_origin(scope))),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", referrer),
        *answer.headers,
    ]
    if tag:
        headers.append((b"etag", tag))
    if is_personal:
        headers.append((b"x-robots-tag", b"noindex, nofollow"))
    return headers
