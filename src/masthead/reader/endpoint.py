"""From a request to a page: the audience, the cache, the theme, and errors that look like the site.

Pages are cached per audience and validated by the tenant's version, as the API's answers are. No
page holds anything that is one reader's alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

from starlette.types import Receive, Scope, Send

from masthead.caller import Audience
from masthead.errors import MastheadError, NotFound
from masthead.posts.collection import posts
from masthead.posts.site import PUBLISHED_LIST
from masthead.reader.cards import cards_of, listed_posts
from masthead.reader.redirects import is_old_address, redirect_of
from masthead.reader.request import (
    ReaderServices,
    SiteRequest,
    audience_of,
    open_request,
)
from masthead.reader.site import chrome_of, site_of
from masthead.reader.views import ErrorPage, Head
from masthead.web import pages
from masthead.web.answers import RawHeaders, header, header_list, send_bytes, send_empty
from masthead.web.assets import content_policy
from masthead.web.cache import AnswerCache, CachedAnswer
from masthead.web.errors import MethodNotAllowed
from masthead.web.etags import is_unchanged
from masthead.web.request_context import request_context

# A shared cache in front may keep a guest's page for a moment, and show it while it asks again.
_SHARED = b"public, max-age=0, s-maxage=5, stale-while-revalidate=60, stale-if-error=86400"
_PRIVATE = b"private, no-cache"
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


@dataclass(frozen=True, slots=True)
class Document:
    """An answer that is no page, such as a feed."""

    body: bytes
    content_type: bytes


@dataclass(frozen=True, slots=True)
class Moved:
    """The page has another address now."""

    url: str
    status: int = 301


Result = Drawn | Document | Moved
Make = Callable[..., Awaitable[Result]]
Making = Callable[[SiteRequest], Awaitable[Result]]


class SitePages:
    """Answers requests of the reader's site with the pages that functions make."""

    def __init__(self, services: ReaderServices, cache: AnswerCache) -> None:
        self.services = services
        self._cache = cache

    def endpoint(self, make: Make, *parameters: str, for_guests: bool = False) -> _Endpoint:
        """`for_guests`: the response is that of a guest, also for a signed-in member."""
        return _Endpoint(self, make, parameters, for_guests)

    async def send(
        self, scope: Scope, send: Send, make: Making, *, for_guests: bool = False
    ) -> None:
        context = request_context(scope)
        if context.tenant is None:
            raise NotFound("There is no site at this address.")
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed(("GET", "HEAD"))
        audience = Audience.GUEST
        if not for_guests:
            audience = await audience_of(self.services, scope, context.tenant.id)
        key = (context.tenant.id, f"site{audience:d} {scope['path']}", scope["query_string"])
        cached = await self._cache.get(key)
        if cached is not None:
            await _send(scope, send, 200, cached, audience)
            return
        version = await self._cache.version(context.tenant.id)
        request = await open_request(self.services, context.tenant, audience, scope)
        result = await _result(request, make)
        if isinstance(result, Moved):
            location = (b"location", quote(result.url, safe=_URL_CHARACTERS).encode())
            await send_empty(send, result.status, [location, (b"cache-control", b"no-cache")])
            return
        answer = self._answer(version, request, result)
        if answer.tag:
            # A post that is scheduled shows at its time, without a change of anything.
            until = await request.records.next_position(
                request.tenant_id, posts, (PUBLISHED_LIST, ""), request.now
            )
            self._cache.put(key, version, answer.body, answer.tag, answer.headers, until=until)
        status = result.status if isinstance(result, Drawn) else 200
        await _send(scope, send, status, answer, audience)

    def _answer(self, version: int, request: SiteRequest, result: Drawn | Document) -> CachedAnswer:
        # Another version of the theme is another page, too.
        tag = b'"%d-%d-%s"' % (version, request.audience, self.services.themes.fingerprint)
        if isinstance(result, Document):
            headers = [(b"content-type", result.content_type)]
            return CachedAnswer(version, result.body, tag, headers)
        chrome = chrome_of(request, result.head)
        theme = request.site_record["theme"]
        body = self.services.themes.render(theme, result.template, chrome, result.page).encode()
        headers = [(b"content-type", b"text/html; charset=utf-8")]
        is_cached = result.is_cached and result.status == 200
        return CachedAnswer(version, body, tag if is_cached else b"", headers)


class _Endpoint:
    def __init__(
        self, pages: SitePages, make: Make, parameters: tuple[str, ...], for_guests: bool
    ) -> None:
        self._pages = pages
        self._make = make
        self._parameters = parameters
        self._for_guests = for_guests

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        values = [scope["path_params"][name] for name in self._parameters]

        def make(request: SiteRequest) -> Awaitable[Result]:
            return self._make(request, *values)

        await self._pages.send(scope, send, make, for_guests=self._for_guests)


async def _result(request: SiteRequest, make: Making) -> Result:
    if is_old_address(request) and (moved := await redirect_of(request)):
        return Moved(*moved)
    try:
        return await make(request)
    except NotFound:
        return await _moved(request) or await _not_found(request)
    except MastheadError as error:
        status, _, title = pages.described(error)
        head = Head(title=f"{title} · {site_of(request).name}", noindex=True)
        return Drawn("error.html", head, ErrorPage(status, title, str(error)), status)


async def _moved(request: SiteRequest) -> Moved | None:
    if moved := await redirect_of(request):
        return Moved(*moved)
    if request.path.endswith("/") and request.path.strip("/"):
        # One slash in front: two would name another host.
        return Moved("/" + request.path.strip("/"))
    return None


async def _not_found(request: SiteRequest) -> Drawn:
    found, _ = await listed_posts(request, LATEST, first_page=True)
    title = "There is nothing here"
    text = "The page may have been moved or taken down. Search for it, or read something new."
    page = ErrorPage(404, title, text, await cards_of(request, found))
    head = Head(title=f"{title} · {site_of(request).name}", noindex=True)
    return Drawn("error.html", head, page, 404)


def _origin(scope: Scope) -> str:
    """Of the request, which may have come by the site's own domain or by its subdomain."""
    scheme = "https" if request_context(scope).is_https else "http"
    return f"{scheme}://{header(scope, b'host')}"


@lru_cache(maxsize=1_024)
def _policy(origin: str) -> bytes:
    return content_policy(origin).encode()


async def _send(
    scope: Scope, send: Send, status: int, answer: CachedAnswer, audience: Audience
) -> None:
    is_shared = audience is Audience.GUEST and bool(answer.tag)
    headers: RawHeaders = [
        (b"cache-control", _SHARED if is_shared else _PRIVATE),
        (b"vary", b"Cookie, Authorization"),
        (b"content-security-policy", _policy(_origin(scope))),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"strict-origin-when-cross-origin"),
        *answer.headers,
    ]
    if answer.tag:
        headers.append((b"etag", answer.tag))
        if is_unchanged(header_list(scope, b"if-none-match"), answer.tag):
            await send_empty(send, 304, headers)
            return
    body = b"" if scope["method"] == "HEAD" else answer.body
    await send_bytes(send, status, body, headers)
