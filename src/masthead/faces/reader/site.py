"""The parts that every page of a site has: its name, links, reader and what machines learn."""

from __future__ import annotations

import secrets

import msgspec
from markupsafe import Markup
from msgspec.structs import replace

from masthead.base.caller import Audience
from masthead.base.languages.words import as_text
from masthead.faces.reader.pictures import pictures_of
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.views import Chrome, Head, Link, Reader, Site
from masthead.features.site.address import site_url
from masthead.features.site.record_view import as_settings

FEEDS = (
    ("application/rss+xml", "/feed.xml"),
    ("application/atom+xml", "/atom.xml"),
    ("application/feed+json", "/feed.json"),
)

ANY_FORM_TOKEN = secrets.token_hex(20)
"""A placeholder in cached pages, replaced by the token of the reader's own sign-in. It is secret,
so that no text of an author can be mistaken for it."""


def site_of(request: SiteRequest) -> Site:
    record = request.site_record
    if request.tenant.is_suspended:
        # What its owner shows is closed, also around the account of a member.
        shown = {"site_description": "", "site_logo": "", "site_favicon": "", "navigation": ()}
        record = as_settings(record | shown)
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
    )


def page_title(request: SiteRequest, title: str) -> str:
    return f"{title} · {site_of(request).name}"


async def shown_site(request: SiteRequest) -> Site:
    """With the size of its logo, so that nothing moves when it arrives and it has no room to spare;
    without a logo or an icon that does not open for the reader."""
    site = site_of(request)
    pictures = await pictures_of(request, [site.logo, site.favicon])
    if (logo := pictures.get(site.logo)) is not None:
        site = replace(site, logo_width=logo.width, logo_height=logo.height)
    return replace(
        site,
        logo=site.logo if site.logo in pictures else "",
        favicon=site.favicon if site.favicon in pictures else "",
    )


def chrome_of(request: SiteRequest, head: Head, site: Site) -> Chrome:
    """Only what holds for everyone of the same audience: the page is cached for all of them."""
    reader = Reader(
        is_member=request.audience >= Audience.FREE,
        is_paid=request.audience >= Audience.PAID,
        is_staff=request.audience >= Audience.STAFF,
        form_token=ANY_FORM_TOKEN if request.audience > Audience.GUEST else "",
    )
    feeds = (*head.feeds, *(Link(site.name, address) for _, address in FEEDS))
    head = replace(head, canonical=head.canonical or site.url + request.path, feeds=feeds)
    return Chrome(site, reader, head, request.path)


def absolute(site: Site, address: str) -> str:
    """Other sites need the whole address of a picture."""
    return site.url + address if address.startswith("/") else address


def json_ld(value: object) -> Markup:
    """JSON in which no character can end the script element around it."""
    text = msgspec.json.encode(value, enc_hook=as_text).decode()
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704  (nothing in it is markup)
