"""Search of the command palette: pages and settings of the admin, posts, members and mailings."""

from __future__ import annotations

import msgspec

from masthead.base.languages.words import words
from masthead.engine.records.access import access_of
from masthead.engine.records.fields.base import Access
from masthead.engine.records.filter.ast import Comparison, Identifier, Literal
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.endpoint import Answer, Page
from masthead.faces.admin.navigation import every_group_of
from masthead.faces.admin.pages.mailings.mailing import ADDRESS as MAILINGS
from masthead.faces.admin.pages.members.listing import ADDRESS as MEMBERS
from masthead.faces.admin.pages.members.listing import searched
from masthead.faces.admin.pages.settings.subnav import (
    AI,
    DESIGN,
    DOMAIN,
    KEYS,
    MAIL,
    NEWSLETTERS,
    PAYMENTS,
    PRIVACY,
    SECTIONS,
    SENDING,
    SETTINGS,
    SIGN_IN,
)
from masthead.faces.admin.pages.texts.lists import status_of
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import POSTS
from masthead.features.mailings.collection import mailings
from masthead.features.members.collection import blog_members
from masthead.features.posts.collection import posts

MOST = 8
_ABOUT = {
    SETTINGS: words(
        "name description language time zone members comments moderation editors related posts"
    ),
    DESIGN: words(
        "theme fonts width logo icon favicon colour appearance links navigation footer social "
        "announcement code script"
    ),
    DOMAIN: words("address host DNS"),
    KEYS: words("API key token plan limits"),
    SIGN_IN: words("single sign-on provider Google Microsoft Keycloak"),
    PAYMENTS: words("checkout processor paid tiers"),
    AI: words("model provider writing"),
    NEWSLETTERS: words("digest sender"),
    MAIL: words("SMTP mail server test"),
    SENDING: words("DKIM SPF DMARC DNS"),
    PRIVACY: words("GDPR export delete site"),
}
"""Words that people look for, and the page of the settings that is about them."""


class PaletteEntry(msgspec.Struct, frozen=True):
    label: str
    url: str
    icon: str
    note: str = ""


async def palette(request: AdminRequest) -> Answer:
    typed = request.query.get("q", "").strip()[:200]
    found = _pages(request, typed)
    if typed and _can_write(request):
        found += await _posts(request, typed)
        if access_of(request.caller) >= Access.EDITOR:
            found += await _members(request, typed)
            found += await _mailings(request, typed)
    return Page(
        "palette.html", words("Search"), {"found": found, "q": typed}, fragment="palette.html"
    )


def _pages(request: AdminRequest, typed: str) -> list[PaletteEntry]:
    links = (
        [PaletteEntry(words("New post"), f"{POSTS.address}/new", "plus", words("Action"))]
        if _can_write(request)
        else []
    )
    for group in every_group_of(request):
        links += [
            PaletteEntry(each.label, each.url, each.icon, words("Page")) for each in group.links
        ]
    found = [each for each in links if typed.casefold() in str(each.label).casefold()]
    if typed and request.caller.is_admin and _can_write(request):
        found += _settings(typed.casefold())
    # The shop and its orders are one page.
    return list({each.url: each for each in reversed(found)}.values())[::-1]


def _settings(typed: str) -> list[PaletteEntry]:
    return [
        PaletteEntry(label, url, "settings", words("Settings"))
        for label, url in SECTIONS
        if typed in f"{label} {_ABOUT.get(url, '')}".casefold()
    ]


def _can_write(request: AdminRequest) -> bool:
    return request.site is not None and not request.is_shut_out


async def _members(request: AdminRequest, typed: str) -> list[PaletteEntry]:
    """Finds members by name or address."""
    wanted = ListRequest(
        per_page=MOST,
        search=searched(typed),
        names=frozenset({"name", "email"}),
        skip_total=True,
    )
    page = await request.records.page(request.caller, blog_members, wanted)
    return [
        PaletteEntry(
            each["name"] or each["email"], f"{MEMBERS}/{each['id']}", "user", each["email"]
        )
        for each in page.items
    ]


async def _mailings(request: AdminRequest, typed: str) -> list[PaletteEntry]:
    """Finds mailings by subject: a site has few enough to read them all."""
    wanted = ListRequest(
        per_page=MOST,
        filter=Comparison(Identifier(("subject",)), "~", Literal(f"%{typed}%")),
        names=frozenset({"subject"}),
        skip_total=True,
    )
    page = await request.records.page(request.caller, mailings, wanted)
    return [
        PaletteEntry(each["subject"], f"{MAILINGS}/{each['id']}", "send", words("Mailing"))
        for each in page.items
    ]


async def _posts(request: AdminRequest, typed: str) -> list[PaletteEntry]:
    """Finds posts by any words of their text."""
    wanted = ListRequest(
        per_page=MOST,
        search=searched(typed),
        names=frozenset({"title", "status", "published_at", "scheduled_for"}),
        skip_total=True,
    )
    page = await request.records.page(request.caller, posts, wanted)
    return [
        PaletteEntry(each["title"], POSTS.url(each["id"]), "file-text", status_of(request, each)[1])
        for each in page.items
    ]
