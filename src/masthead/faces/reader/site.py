"""The parts that every page of a site has: its name, links, reader and what machines learn."""

from __future__ import annotations

import secrets

import msgspec
from markupsafe import Markup
from msgspec.structs import replace

from masthead.base.caller import Audience
from masthead.base.languages.words import as_text
from masthead.content.texts.languages import root_of
from masthead.faces.reader.page_tree import page_tree
from masthead.faces.reader.pictures import pictures_of
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.views import Announcement, Chrome, Code, Head, Link, Reader, Site
from masthead.features.site.address import site_url
from masthead.features.site.design import PLAIN, site_name_of
from masthead.features.site.record_view import SettingsRecord, as_settings

MANUAL = "manual"
"""The theme that shows the tree of pages."""
NO_CODE = Code()
FEEDS = (
    ("application/rss+xml", "/feed.xml"),
    ("application/atom+xml", "/atom.xml"),
    ("application/feed+json", "/feed.json"),
)

ANY_FORM_TOKEN = secrets.token_hex(20)
"""A placeholder in cached pages, replaced by the token of the reader's own sign-in. It is secret,
so that no text of an author can be mistaken for it."""


def site_of(request: SiteRequest) -> Site:
    """Made once for a request: many parts of a page ask for it."""
    if request.made_site is None:
        request.made_site = _site(request)
    return request.made_site


def _site(request: SiteRequest) -> Site:
    record = request.site_record
    if request.tenant.is_suspended:
        # What its owner shows is closed, also around the account of a member.
        record = as_settings(record | _CLOSED)
    look = look_of(record)
    return Site(
        name=record["site_name"] or request.tenant.name,
        description=record["site_description"],
        url=site_url(request.services.settings, request.tenant.slug, record["custom_domain"]),
        language=request.language,
        logo=record["site_logo"],
        favicon=record["site_favicon"],
        style=request.services.accents.url(record["accent_color"]),
        navigation=tuple(
            Link(each["label"], each["url"], each["url"] == request.path)
            for each in record["navigation"] or ()
        ),
        members_enabled=record["members_enabled"],
        comments_enabled=record["comments_enabled"],
        fonts=look.fonts,
        width=look.width,
        home_layout=look.home_layout,
        logo_dark=record["site_logo_dark"],
        announcement=_announcement(request),
        footer=tuple(line for line in record["footer_text"].splitlines() if line.strip()),
        footer_links=tuple(
            Link(each["label"], each["url"]) for each in record["footer_links"] or ()
        ),
        social=tuple(Link(site_name_of(each), each) for each in record["social"]),
        root=request.root,
    )


_CLOSED = {
    **dict.fromkeys(("site_description", "site_logo", "site_logo_dark", "site_favicon"), ""),
    **{"navigation": (), "footer_text": "", "footer_links": (), "social": ()},
}


class Look(msgspec.Struct, frozen=True):
    """The choices of a theme, where the site's settings have none."""

    fonts: str = "mixed"
    width: str = "normal"
    home_layout: str = "lead"


LOOKS = {
    PLAIN: Look(),
    "letter": Look("serif", "normal", "list"),
    "manual": Look("sans", "normal", "list"),
}


def look_of(record: SettingsRecord) -> Look:
    """As the site's settings choose, and otherwise as its theme has it."""
    own = LOOKS.get(record["theme"], LOOKS[PLAIN])
    return Look(
        record["fonts"] or own.fonts,
        record["width"] or own.width,
        record["home_layout"] or own.home_layout,
    )


def _announcement(request: SiteRequest) -> Announcement | None:
    given = request.site_record["announcement"]
    if not given or request.tenant.is_suspended or is_over(request):
        return None
    return Announcement(given["text"], given["url"] or "")


def is_over(request: SiteRequest) -> bool:
    until = announced_until(request)
    return bool(until) and until <= request.now


def announced_until(request: SiteRequest) -> str:
    """The moment at which pages lose the announcement; empty if they don't."""
    given = request.site_record["announcement"]
    return str(given["until"] or "") if given else ""


def page_title(request: SiteRequest, title: str) -> str:
    return f"{title} · {site_of(request).name}"


async def shown_site(request: SiteRequest) -> Site:
    """With the size of its logo, so that nothing moves when it arrives and it has no room to spare;
    without a logo or an icon that does not open for the reader."""
    site = site_of(request)
    pictures = await pictures_of(request, [site.logo, site.logo_dark, site.favicon])
    if (logo := pictures.get(site.logo)) is not None:
        site = replace(site, logo_width=logo.width, logo_height=logo.height)
    return replace(
        site,
        logo=site.logo if site.logo in pictures else "",
        logo_dark=site.logo_dark if site.logo and site.logo_dark in pictures else "",
        pages=await page_tree(request) if request.site_record["theme"] == MANUAL else (),
        favicon=site.favicon if site.favicon in pictures else "",
    )


def chrome_of(request: SiteRequest, head: Head, site: Site, code: Code = NO_CODE) -> Chrome:
    """Only what holds for everyone of the same audience: the page is cached for all of them."""
    reader = Reader(
        is_member=request.audience >= Audience.FREE,
        is_paid=request.audience >= Audience.PAID,
        is_staff=request.audience >= Audience.STAFF,
        form_token=ANY_FORM_TOKEN if request.audience > Audience.GUEST else "",
    )
    feeds = (*head.feeds, *(Link(site.name, site.root + address) for _, address in FEEDS))
    site = replace(site, languages=_languages(request, head))
    head = replace(head, canonical=head.canonical or site.url + request.path, feeds=feeds)
    return Chrome(site, reader, head, request.path, code)


def _languages(request: SiteRequest, head: Head) -> tuple[Link, ...]:
    """A text leads to its translations, a page of the members to itself, any other to the front
    page of the language."""
    if len(request.editions) == 1:
        return ()
    known = {each.label.lower(): each.url for each in head.translations}
    path = request.own_path if request.own_path.startswith("/member/") else "/"
    return tuple(
        Link(tag, known.get(tag.lower()) or root_of(edition) + path, tag == request.language)
        for edition, tag in request.editions.items()
    )


def in_all_languages(request: SiteRequest, path: str) -> tuple[Link, ...]:
    """A list in each language of the site, for search engines; empty for a site with one."""
    if len(request.editions) == 1:
        return ()
    url = site_of(request).url
    return tuple(
        Link(tag, f"{url}{root_of(edition)}{path}") for edition, tag in request.editions.items()
    )


def absolute(site: Site, address: str) -> str:
    """Other sites need the whole address of a picture."""
    return site.url + address if address.startswith("/") else address


def json_ld(value: object) -> Markup:
    """JSON in which no character can end the script element around it."""
    text = msgspec.json.encode(value, enc_hook=as_text).decode()
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704  (nothing in it is markup)
