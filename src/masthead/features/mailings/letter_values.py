"""Values that a letter shows around the text, and its pictures, read from the site's records."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import quote
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import replace

from masthead.base import clock
from masthead.base.caller import Audience, Caller, Reader, system
from masthead.base.caller import site as on_the_site
from masthead.base.ids import TenantId
from masthead.base.languages.formats import listed
from masthead.base.languages.moments import Day
from masthead.base.languages.translators import direction_of, primary_language
from masthead.base.languages.words import words
from masthead.content.html.markup import VOID, Token, iterate_tokens
from masthead.content.texts.languages import root_of
from masthead.engine.links.file_readers import is_open
from masthead.engine.links.file_uses import named_files
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.read.page import ListRequest
from masthead.features.mailings.letter_html import RETINA, WIDTH, Addresses, MailedPicture
from masthead.features.media.collection import file_names, media
from masthead.features.media.path import media_path, named_file
from masthead.features.media.signed_addresses import IN_EMAILS, sign_file
from masthead.features.payments.collection import tiers
from masthead.features.payments.levels import names_of
from masthead.features.posts.site import without_paywall
from masthead.features.site.accent import readable
from masthead.features.site.address import Site
from masthead.features.site.collection import site_settings
from masthead.identity.tenants import superusers, tenants

MAX_TEXT: Final = 400_000
"""Characters of a post's text and tags that are mailed: the rest is on the site."""
MAX_PICTURES: Final = 200
"""The most pictures of a letter whose sizes are looked up."""
_MAX_FILES: Final = 500
"""The most files of one email."""
FULL_WIDTH: Final = 600
_ACCENT: Final = "#8f1d2c"
_STILL: Final = frozenset({"image/jpeg", "image/png", "image/webp"})
"""Types of which thumbs are emailed: a thumb of a GIF would not move."""


class Wall(NamedTuple):
    """Stands for the part of a text that its reader may not read."""

    heading: str
    text: str
    label: str
    url: str


class LetterValues(msgspec.Struct, frozen=True):
    tokens: Sequence[Token]
    """The clean text, as far as its reader may read it and it is mailed."""
    is_cut: bool
    """The rest of the text is on the site only."""
    pictures: Mapping[str, MailedPicture]
    addresses: Addresses
    wall: Wall | None
    shown: Mapping[str, Any]
    """For the templates."""


async def read_values(
    records: Records,
    *,
    tenant_id: TenantId,
    site: Site,
    newsletter: Record,
    post: Record,
    reader: Reader,
) -> LetterValues:
    """`post` is as the site shows it to this reader."""
    settings = await _settings(records, tenant_id)
    caller = on_the_site(tenant_id, reader)
    html = post["content_html"]
    shown = {
        "byline": await _byline(records, caller, tenant_id, settings, post=post),
        "is_note": False,
        "text_language": post["language"] or site.language,
    }
    wall = (
        None
        if post["is_open"]
        else await _wall(records, caller, site, settings, post=post, html=html)
    )
    values = await _values(
        records, caller, site, newsletter, settings=settings, post=post, html=html, shown=shown
    )
    return replace(values, wall=wall)


async def read_note_values(
    records: Records,
    *,
    tenant_id: TenantId,
    site: Site,
    newsletter: Record,
    title: str,
    html: str,
    language: str,
    is_once: bool,
) -> LetterValues:
    """The values of an email that is no post: it has no page, no author and no date."""
    return await _values(
        records,
        on_the_site(tenant_id, Reader(Audience.FREE)),
        site,
        newsletter,
        settings=await _settings(records, tenant_id),
        post={**_NO_POST, "title": title},
        html=html,
        shown={"byline": "", "is_note": is_once, "text_language": language},
    )


_NO_POST: Final = {"email_only": True, "featured_image": "", "excerpt": "", "summary": ""}


async def _settings(records: Records, tenant_id: TenantId) -> Record:
    stored = await records.find_one(site_settings, {}, tenant_id=tenant_id)
    return stored or {each.name: each.default_value() for each in _FIELDS}


async def _values(
    records: Records,
    caller: Caller,
    site: Site,
    newsletter: Record,
    *,
    settings: Record,
    post: Record,
    html: str,
    shown: Mapping[str, Any],
) -> LetterValues:
    tenant_id = caller.tenant_id
    assert tenant_id is not None
    header = newsletter.get("header_image", "")
    page = "" if post.get("email_only") else site.url + _path_of(post)
    # Reading a long text takes longer than the event loop may wait.
    tokens, is_cut = await asyncio.to_thread(mailed_tokens, html, has_page=bool(page))
    around = (header, post["featured_image"])
    wanted = list(dict.fromkeys((*around, *_pictures_in(tokens))))[:MAX_PICTURES]
    pictures = await _pictures(records, tenant_id, [each for each in wanted if each])
    named = (value for each in tokens for value in each.attributes.values())
    signed = await _file_signatures(records, tenant_id, (*around, *named))
    addresses = Addresses(site.url, page, signed)
    accent, dark_accent = readable(
        newsletter.get("accent_color") or settings["accent_color"] or _ACCENT
    )
    return LetterValues(
        tokens=tokens,
        is_cut=is_cut,
        pictures=pictures,
        addresses=addresses,
        wall=None,
        shown={
            **shown,
            "language": site.language,
            "direction": direction_of(site.language),
            "text_direction": direction_of(shown["text_language"]),
            "tongue": primary_language(site.language),
            "text_tongue": primary_language(shown["text_language"]),
            "site_name": site.name,
            "site_url": site.url,
            "newsletter_name": newsletter["name"] or site.name,
            "members_enabled": settings["members_enabled"],
            "footer": [line for line in newsletter.get("footer", "").splitlines() if line.strip()],
            "title": post["title"],
            "url": page,
            "excerpt": post["excerpt"],
            "preheader": post["excerpt"] or post["summary"],
            "picture": _whole(pictures, post["featured_image"], addresses, WIDTH),
            "header": _whole(pictures, header, addresses, FULL_WIDTH),
            "accent": accent,
            "dark_accent": dark_accent,
        },
    )


def _path_of(post: Record) -> str:
    return f"{root_of(post['edition'])}/posts/{quote(post['slug'])}"


_FIELDS: Final = site_settings.fields


def mailed_tokens(html: str, *, has_page: bool) -> tuple[list[Token], bool]:
    """The text without its paywall, and whether it was cut. One that is too long to be mailed is
    cut at the end of a block, unless it has no page for the rest."""
    tokens = iterate_tokens(without_paywall(html))
    if not has_page:
        return list(tokens), False
    mailed: list[Token] = []
    length = depth = end = 0
    for token in tokens:
        length += len(token.name) + 5
        if length > MAX_TEXT:
            return mailed[:end], True
        mailed.append(token)
        if token.kind == "start" and token.name not in VOID:
            depth += 1
        elif token.kind == "end":
            depth -= 1
        if depth == 0:
            end = len(mailed)
    return mailed, False


def _pictures_in(tokens: Sequence[Token]) -> list[str]:
    """The addresses of the text's pictures."""
    images = (each for each in tokens if each.name == "img")
    return [each.attributes["src"] for each in images if each.attributes]


_OF_PICTURES: Final = frozenset(
    {"id", "file", "earlier_files", "mime_type", "width", "height", "alt"}
)


async def _pictures(
    records: Records, tenant_id: TenantId, addresses: list[str]
) -> dict[str, MailedPicture]:
    """The pictures by their address in the text; only those of the site's media."""
    wanted = {address: file for address in addresses if (file := named_file(address))}
    ids = sorted({file.record_id for file in wanted.values()})
    if not ids:
        return {}
    found = await records.find_related(
        system(tenant_id), media, "id", ids, limit=len(ids), names=_OF_PICTURES
    )
    items = {(item["id"], name): item for item in found for name in file_names(item)}
    known = {address: items[file] for address, file in wanted.items() if file in items}
    return {address: _mailed(item) for address, item in known.items() if item["width"]}


def _mailed(item: Record) -> MailedPicture:
    path = media_path(item["id"], item["file"])
    is_large = item["width"] > RETINA and item["mime_type"] in _STILL
    src = f"{path}?thumb={RETINA}x0" if is_large else path
    return MailedPicture(src, item["alt"], item["width"], item["height"])


def _whole(
    pictures: Mapping[str, MailedPicture], address: str, addresses: Addresses, most: int
) -> MailedPicture | None:
    """A picture outside of the text, in the width that it is shown in."""
    if not address or address.startswith("data:"):
        return None
    known = pictures.get(address)
    if known is None:
        return MailedPicture(addresses.whole(address), "", most, 0)
    width = min(known.width, most)
    height = max(1, round(known.height * width / known.width))
    return MailedPicture(addresses.whole(known.src), known.alt, width, height)


async def _byline(
    records: Records, caller: Caller, tenant_id: TenantId, settings: Record, *, post: Record
) -> str:
    """Authors and date, in the language that is spoken when it is shown. Without an author, a post
    is the owner's."""
    ids = post["authors"]
    if not ids:
        [tenant] = await records.find(tenants, {"id": tenant_id}, tenant_id=tenant_id)
        ids = [tenant["owner_id"]] if tenant["owner_id"] else []
    found = (
        await records.find_related(caller, superusers, "id", sorted(ids), limit=len(ids))
        if ids
        else []
    )
    names = {each["id"]: each["name"] for each in found}
    at = post["published_at"] or post.get("scheduled_for") or clock.to_text(records.clock())
    zone = ZoneInfo(settings["time_zone"] or "UTC")
    date = Day(clock.from_text(at).astimezone(zone))
    authors = listed([names[each] for each in ids if names.get(each)])
    return words("%(authors)s · %(date)s", authors=authors, date=date) if authors else str(date)


async def _wall(
    records: Records, caller: Caller, site: Site, settings: Record, *, post: Record, html: str
) -> Wall:
    has_more, url = bool(html.strip()), f"{site.url}/member"
    if post["visibility"] != "paid":
        return Wall(
            words("The rest of this post is for members")
            if has_more
            else words("This post is for members"),
            words("Joining %(site)s is free. You only need an email address.", site=site.name),
            words("Join"),
            f"{url}/sign-up",
        )
    sells = await _sells_tiers(records, caller, settings)
    see = words("See what you get") if sells else words("See your account")
    url = f"{url}/tiers" if sells else f"{url}/account"
    if post["tiers"]:
        names = await names_of(records, TenantId(caller.tenant_id or ""), post["tiers"])
        told = {"tiers": listed(names, "or")}
        return Wall(
            words("The rest of this post is for members with %(tiers)s", **told)
            if has_more
            else words("This post is for members with %(tiers)s", **told),
            words("Other members of %(site)s get its beginning.", site=site.name),
            see,
            url,
        )
    heading = (
        words("The rest of this post is for paid members")
        if has_more
        else words("This post is for paid members")
    )
    text = words("You read %(site)s with the free tier.", site=site.name)
    if sells:
        text = words(
            "You read %(site)s with the free tier. Paid members read everything.", site=site.name
        )
    return Wall(heading, text, see, url)


async def _sells_tiers(records: Records, caller: Caller, settings: Record) -> bool:
    """As the page of the tiers: otherwise the button would lead nowhere."""
    if not settings["members_enabled"] or settings["deleted_at"]:
        return False
    found = await records.page(caller, tiers, ListRequest(per_page=1, skip_total=True))
    return bool(found.items)


async def _file_signatures(
    records: Records, tenant_id: TenantId, texts: Iterable[str]
) -> dict[str, str]:
    """Signatures by the ids of those files in the texts that not everyone may open: with them
    the addresses in an email open for its recipient."""
    ids = sorted(named_files(texts))[:_MAX_FILES]
    if not ids:
        return {}
    found = await records.find_related(
        system(tenant_id),
        media,
        "id",
        ids,
        limit=len(ids),
        names=frozenset({"id", "private", "open_uses"}),
    )
    until = records.clock() + IN_EMAILS
    return {
        each["id"]: sign_file(records.keyring, tenant_id, each["id"], until)
        for each in found
        if not is_open(each)
    }
