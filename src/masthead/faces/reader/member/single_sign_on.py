"""Signing in to the reader's site with a provider of the site."""

from __future__ import annotations

from functools import partial
from urllib.parse import quote

from masthead.base.errors import BadRequest, RateLimited
from masthead.base.languages.words import words
from masthead.faces.reader.endpoint import Page, Redirect, SitePages, see_other
from masthead.faces.reader.member.back import HOME, back_path
from masthead.faces.reader.member.sessions import SIGN_IN, session_cookies
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.site import site_of
from masthead.faces.reader.views import Head, Link, MessagePage
from masthead.features.services import FeatureServices
from masthead.features.single_sign_on.collection import MEMBERS
from masthead.features.single_sign_on.pending import SEALED
from masthead.features.single_sign_on.sign_ons import Arrival
from masthead.web.answers import Answer
from masthead.web.cookies import own_cookie, set_own_cookie
from masthead.web.dispatch import Route, reading
from masthead.web.policy import Limit, Policy, WhileSuspended, Who
from masthead.web.query_string import parse_query_string
from masthead.web.request import Request

WITH = f"{SIGN_IN}/with"
COOKIE = "mh_member_sign_on"
FAILED = words("The sign-in did not work")


class SignOnPages:
    def __init__(self, pages: SitePages, services: FeatureServices) -> None:
        self._pages = pages
        self._services = services

    def routes(self) -> list[Route]:
        policy = Policy(who=Who.VISITOR, while_suspended=WhileSuspended.OPEN, limit=Limit.SIGN_INS)
        return [
            Route(f"{WITH}/{{slug}}", reading(self._depart, policy)),
            Route(f"{WITH}/{{slug}}/callback", reading(self._arrive, policy)),
        ]

    async def _depart(self, request: Request) -> Answer:
        making = partial(self._departure, request.path_parameters["slug"], request)
        return await self._pages.personal_answer(request, making)

    async def _arrive(self, request: Request) -> Answer:
        making = partial(self._arrival, request.path_parameters["slug"], request)
        return await self._pages.personal_answer(request, making)

    async def _departure(self, slug: str, raw: Request, request: SiteRequest) -> Page | Redirect:
        flow = self._services.single_sign_on.flow
        provider = await flow.provider(request.tenant_id, slug, MEMBERS)
        onward = back_path(request.query.get("back", HOME))
        pending = flow.pending.new(MEMBERS, provider["id"], onward)
        try:
            departure = await flow.depart(provider, pending, _callback(request, slug))
        except BadRequest as error:
            return _failed(request, error)
        return see_other(departure.url, _cookie(raw, departure.cookie))

    async def _arrival(self, slug: str, raw: Request, request: SiteRequest) -> Page | Redirect:
        single_sign_on = self._services.single_sign_on
        provider = await single_sign_on.flow.provider(request.tenant_id, slug, MEMBERS)
        # Codes may be longer than the queries of other pages.
        query = parse_query_string(raw.scope["query_string"], "utf-8")
        arrival = Arrival(
            cookie=own_cookie(raw.scope, COOKIE),
            query=query,
            redirect_uri=_callback(request, slug),
            address=request.client.address,
        )
        try:
            person, pending = await single_sign_on.flow.arrive(provider, MEMBERS, arrival)
            onward = back_path(pending.onward)
            signed_in = await single_sign_on.members.sign_in(
                request.tenant_id,
                person,
                request.client,
                page=f"{site_of(request).url}{onward}",
                language=_language_at(request, onward),
            )
        except (BadRequest, RateLimited) as error:
            return _failed(request, error)
        return see_other(onward, *session_cookies(request, signed_in), _cookie(raw, ""))


async def provider_links(
    services: FeatureServices, request: SiteRequest, back: str
) -> tuple[Link, ...]:
    """The buttons of the sign-in page."""
    found = await services.single_sign_on.flow.providers(request.tenant_id, MEMBERS)
    query = f"?back={quote(back, safe='')}"
    return tuple(Link(each["name"], f"{WITH}/{each['slug']}{query}") for each in found)


def _language_at(request: SiteRequest, path: str) -> str:
    """That of the address; none if it is the site's own."""
    edition = path.partition("?")[0].split("/")[1]
    return request.editions[edition] if edition and edition in request.editions else ""


def _callback(request: SiteRequest, slug: str) -> str:
    return f"{site_of(request).url}{WITH}/{slug}/callback"


def _failed(request: SiteRequest, error: BadRequest | RateLimited) -> Page:
    links = (Link(words("Sign in another way"), SIGN_IN),)
    page = MessagePage(FAILED, (str(error),), links=links)
    head = Head(title=f"{page.title} · {site_of(request).name}", noindex=True)
    status = 429 if isinstance(error, RateLimited) else 422
    return Page("message.html", head, page, status)


def _cookie(request: Request, sealed: str) -> tuple[bytes, bytes]:
    seconds = int(SEALED.lifetime.total_seconds()) if sealed else 0
    value = set_own_cookie(COOKIE, sealed, path=SIGN_IN, seconds=seconds, is_https=request.is_https)
    return b"set-cookie", value.encode()
