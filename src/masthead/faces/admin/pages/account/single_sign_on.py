"""Signing in with a provider of the site, and connecting one with the caller's own account."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from masthead.base.errors import BadRequest, NotFound, RateLimited
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.pages.account.profile import ADDRESS
from masthead.faces.admin.pages.account.sign_in import CODE, WITH, only_ours, sign_in_page
from masthead.faces.admin.request import AdminRequest
from masthead.features.single_sign_on.collection import STAFF
from masthead.features.single_sign_on.errors import StaleSignOn
from masthead.features.single_sign_on.pending import SEALED, Pending
from masthead.features.single_sign_on.person import Person
from masthead.features.single_sign_on.sign_ons import Arrival
from masthead.features.single_sign_on.staff import CONNECTING
from masthead.identity.accounts import SecondStepNeeded
from masthead.identity.hosts import parse_host
from masthead.web.cookies import own_cookie, set_own_cookie
from masthead.web.staff import session_cookies, ticket_cookie

COOKIE = "mh_sign_on"
CONNECTIONS = f"{ADDRESS}/connections"
_SECTION = f"{ADDRESS}#connections"
_TOO_OLD = words("The page was open for too long. Connect the provider again.")


async def depart(request: AdminRequest, slug: str) -> Answer:
    """To the provider."""
    onward = only_ours(request.query.get("next", ""))
    provider = await _provider(request, slug)
    if not _is_at_site_address(request):
        return Redirect(f"{request.site_url}{WITH}/{slug}?next={quote(onward, safe='')}")
    pending = request.services.single_sign_on.flow.pending.new(STAFF, provider["id"], onward)
    try:
        return await _depart(request, provider, pending)
    except BadRequest as error:
        return await sign_in_page(request, onward, problem=str(error), error=error)


async def connect(request: AdminRequest, slug: str) -> Answer:
    """The same, for someone who is signed in. Nothing is connected before they confirm it."""
    provider = await _provider(request, slug)
    if request.is_operator:
        raise NotFound
    pending = request.services.single_sign_on.flow.pending.new(
        STAFF, provider["id"], ADDRESS, connects=request.caller.sign_in
    )
    try:
        return await _depart(request, provider, pending)
    except BadRequest as error:
        return Redirect(_SECTION, str(error))


async def arrive(request: AdminRequest, slug: str) -> Answer:
    """Back from the provider."""
    provider = await _provider(request, slug)
    single_sign_on = request.services.single_sign_on
    arrival = Arrival(
        cookie=own_cookie(request.scope, COOKIE),
        query=request.query,
        redirect_uri=callback_address(request, slug),
        address=request.context.address,
    )
    onward = "/admin"
    try:
        person, pending = await single_sign_on.flow.arrive(provider, STAFF, arrival)
        if pending.connects:
            return _confirm_page(request, person, pending)
        onward = only_ours(pending.onward)
        signed_in = await single_sign_on.staff.sign_in(request.tenant_id, person, request.client)
    except SecondStepNeeded as needed:
        cookies = (ticket_cookie(request.context, needed.ticket), _cookie(request, ""))
        return Redirect(f"{CODE}?next={quote(onward, safe='')}", cookies=cookies)
    except (BadRequest, RateLimited) as error:
        return await sign_in_page(request, onward, problem=str(error), error=error)
    begun = (*session_cookies(request.context, signed_in), _cookie(request, ""))
    return Redirect(onward, cookies=begun)


async def finish_connecting(request: AdminRequest) -> Answer:
    person, sign_in = request.form.get("person", ""), request.caller.sign_in
    found = CONNECTING.open(request.services.keyring, person, sign_in, request.records.clock())
    if found is None or request.is_operator:
        return Redirect(_SECTION, _TOO_OLD)
    try:
        await request.services.single_sign_on.staff.connect(request.caller, *found)
    except BadRequest as error:
        return Redirect(_SECTION, str(error))
    return Redirect(_SECTION, words("You can now sign in with it."))


async def disconnect(request: AdminRequest, link_id: str) -> Answer:
    name = await request.services.single_sign_on.staff.disconnect(
        request.caller, request.account, link_id
    )
    return Redirect(_SECTION, words("%(name)s no longer signs you in.", name=name))


def callback_address(request: AdminRequest, slug: str) -> str:
    """From stored values: providers compare it with what the owner has entered there."""
    return f"{request.site_url}{WITH}/{slug}/callback"


async def _depart(request: AdminRequest, provider: Record, pending: Pending) -> Answer:
    flow = request.services.single_sign_on.flow
    address = callback_address(request, provider["slug"])
    departure = await flow.depart(provider, pending, address)
    return Redirect(departure.url, cookies=(_cookie(request, departure.cookie),))


def _confirm_page(request: AdminRequest, person: Person, pending: Pending) -> Page:
    if not request.is_signed_in or pending.connects != request.caller.sign_in:
        raise StaleSignOn(words("This was started in another session."))
    sealed = CONNECTING.seal(
        request.services.keyring,
        (person.provider["id"], person.subject),
        request.caller.sign_in,
        request.records.clock(),
    )
    values = {
        "provider": person.provider["name"],
        "theirs": person.email or person.name or person.subject,
        "email": request.account["email"],
        "person": sealed,
        "action": CONNECTIONS,
        "back": _SECTION,
    }
    return Page(
        "account/connect.html", words("Connect %(name)s?", name=person.provider["name"]), values
    )


async def _provider(request: AdminRequest, slug: str) -> Record:
    """A provider of the host's own site: on the service's own host no site is known before the
    sign-in."""
    flow = request.services.single_sign_on.flow
    return await flow.provider(request.context.tenant_id, slug, STAFF)


def _is_at_site_address(request: AdminRequest) -> bool:
    """The cookie belongs to this host, and the provider leads back to the site's own."""
    here = parse_host(request.context.header(b"host") or "").name
    return here == (urlsplit(request.site_url).hostname or "")


def _cookie(request: AdminRequest, sealed: str) -> str:
    seconds = int(SEALED.lifetime.total_seconds()) if sealed else 0
    return set_own_cookie(
        COOKIE, sealed, path="/admin", seconds=seconds, is_https=request.context.is_https
    )
