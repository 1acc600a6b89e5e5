"""The pages of links in emails: `/member/unsubscribe` and `/member/confirm-email`.

Mail scanners open every link, so a GET only shows a button; the POST acts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from urllib.parse import parse_qs

from msgspec.structs import replace

from masthead.base.errors import BadRequest, NotFound
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.engine.records.engine import Records
from masthead.features.members import email_change, unsubscribe
from masthead.features.members.email_change import EmailChanges
from masthead.features.members.unsubscribe import Unsubscribe
from masthead.features.site.address import Site, Sites
from masthead.web.answers import Answer
from masthead.web.bodies import SMALL_FORM_BYTES
from masthead.web.dispatch import Action, Route
from masthead.web.pages import Page, ShowPage
from masthead.web.policy import Body, BodyKind, Policy, WhileSuspended, Who
from masthead.web.request import Request

MAX_QUERY_BYTES = 4_000

BAD_LINK = words("This link is incomplete. Open it from the email again, or copy all of it.")

MakeLinkPage = Callable[[TenantId, Site, dict[str, str], bool], Awaitable[Page]]


def member_routes(
    records: Records, sites: Sites, changes: EmailChanges, show: ShowPage
) -> list[Route]:
    unsubscribing = Unsubscribe(records, records.keyring)
    return [
        mailed_link(unsubscribe.PATH, sites, _unsubscribe_page(unsubscribing), show),
        mailed_link(email_change.PATH, sites, _confirm_page(changes), show),
    ]


def mailed_link(
    path: str,
    sites: Sites,
    make: MakeLinkPage,
    show: ShowPage,
    *,
    while_suspended: WhileSuspended = WhileSuspended.OPEN,
) -> Route:
    """A link in an email: `make` gets its query, and whether the page's button was pressed."""

    async def answer(request: Request) -> Answer:
        tenant_id = request.tenant_id
        if tenant_id is None:
            raise NotFound
        return await show(request, partial(make_page, request, tenant_id))

    async def make_page(request: Request, tenant_id: TenantId) -> Page:
        is_post = request.method == "POST"
        if is_post:
            # One-click mail programs send `List-Unsubscribe=One-Click`, the page's form nothing;
            # the token is in the URL either way (RFC 8058).
            await request.body()
        return await make(tenant_id, await sites.of(tenant_id), _query(request), is_post)

    policy = Policy(
        who=Who.LINK,
        while_suspended=while_suspended,
        body=Body(BodyKind.RAW, SMALL_FORM_BYTES),
    )
    action = Action(answer, policy)
    return Route(path, {"GET": action, "HEAD": action, "POST": action})


def _unsubscribe_page(unsubscribing: Unsubscribe) -> MakeLinkPage:
    async def make(tenant_id: TenantId, site: Site, query: dict[str, str], is_post: bool) -> Page:
        # A blank is an unencoded plus, because addresses hold no blanks.
        email = query.get("email", "").replace(" ", "+")
        if not await unsubscribing.is_genuine(tenant_id, email, query.get("token", "")):
            raise BadRequest(BAD_LINK)
        newsletter = await unsubscribing.newsletter(tenant_id, query.get("newsletter", ""))
        if is_post:
            await unsubscribing.unsubscribe(tenant_id, email, newsletter)
        if newsletter is not None:
            rest = unsubscribing.url("", tenant_id, email)
            return _one_newsletter_page(site, email, newsletter["name"], rest, is_done=is_post)
        if not is_post:
            return link_page(
                site,
                "ready",
                words("Unsubscribe?"),
                words(
                    "%(email)s will get no more newsletters from %(site)s.",
                    email=email,
                    site=site.name,
                ),
                button=words("Unsubscribe"),
            )
        return link_page(
            site,
            "unsubscribed",
            words("You are unsubscribed"),
            words("%(email)s gets no more newsletters from %(site)s.", email=email, site=site.name),
            words("You can close this page."),
        )

    return make


def _one_newsletter_page(site: Site, email: str, name: str, rest: str, *, is_done: bool) -> Page:
    """Only the newsletter of the email first, then all others."""
    link = (words("Unsubscribe from all newsletters"), rest)
    said = {"email": email, "newsletter": name, "site": site.name}
    if not is_done:
        text = words(
            "%(email)s will no longer get the newsletter %(newsletter)s from %(site)s.", **said
        )
        page = link_page(
            site,
            "ready",
            words("Unsubscribe?"),
            text,
            button=words("Unsubscribe from %(newsletter)s", newsletter=name),
        )
    else:
        text = words(
            "%(email)s no longer gets the newsletter %(newsletter)s from %(site)s.", **said
        )
        page = link_page(site, "unsubscribed", words("You are unsubscribed"), text)
    return replace(page, link=link)


def _confirm_page(changes: EmailChanges) -> MakeLinkPage:
    async def make(tenant_id: TenantId, site: Site, query: dict[str, str], is_post: bool) -> Page:
        token = query.get("token", "")
        if not is_post:
            pending = await changes.find(tenant_id, token)
            return link_page(
                site,
                "ready",
                words("Confirm your new address"),
                words(
                    "Your account at %(site)s will use %(email)s from now on.",
                    site=site.name,
                    email=pending.new_email,
                ),
                words("You will be signed out everywhere."),
                button=words("Confirm this address"),
            )
        pending = await changes.confirm(tenant_id, token)
        return link_page(
            site,
            "confirmed",
            words("Your address is confirmed"),
            words(
                "Your account at %(site)s uses %(email)s now.",
                site=site.name,
                email=pending.new_email,
            ),
            words("Sign in again with this address."),
        )

    return make


def link_page(site: Site, outcome: str, title: str, *text: str, button: str = "") -> Page:
    return Page(outcome, title, text, button, site.name, site.url, site.language)


def _query(request: Request) -> dict[str, str]:
    """Refuses repeated names, which would be ambiguous."""
    raw = request.query_string
    if len(raw) > MAX_QUERY_BYTES:
        raise BadRequest(BAD_LINK)
    found = parse_qs(raw.decode("latin-1"), errors="replace")
    if any(len(values) > 1 for values in found.values()):
        raise BadRequest(BAD_LINK)
    return {name: values[0] for name, values in found.items()}
