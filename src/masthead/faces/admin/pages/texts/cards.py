"""The card of an address that an author has pasted: its title and its picture, fetched once.

Nothing else fetches for a card: readers never do, and neither do the APIs and imports."""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import Mapping
from html import unescape
from typing import Any, Final
from urllib.parse import quote, urljoin

import msgspec

from masthead.base.errors import BadRequest, MastheadError
from masthead.base.languages.words import words
from masthead.base.logs import log
from masthead.content.cards.bookmark import CARD as BOOKMARK
from masthead.content.cards.embed import CARD as EMBED
from masthead.content.cards.providers import provider_of
from masthead.content.cards.values import LONGEST_TEXT, LONGEST_TITLE, WrongCard, one_line
from masthead.engine.records.safe_addresses import safe_source
from masthead.faces.admin.calls import JsonAnswer
from masthead.faces.admin.pages.media.library import picture_of
from masthead.faces.admin.request import AdminRequest
from masthead.features.media.collection import media
from masthead.features.media.record_view import as_media
from masthead.features.media.sniff import sniff
from masthead.features.media.upload import store_upload
from masthead.outside.outbound.answers import Download
from masthead.outside.outbound.errors import OutboundError
from masthead.web.multipart import Upload

MAX_PAGE: Final = 400_000
"""Bytes of a page that are read: what is asked for is in its head."""
MAX_PICTURE: Final = 8_000_000
_MAX_SENT: Final = 100_000_000
"""Bytes that a page may have: the rest is not read."""
_SECONDS: Final = 10.0
_META: Final = re.compile(r"<meta\b([^<>]{1,4000})>", re.IGNORECASE)
_TITLE: Final = re.compile(r"<title\b[^<>]*>([^<]{1,2000})</title", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(
    r"""\b(property|name|content)\s{0,20}=\s{0,20}("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE
)
_CHARSET: Final = re.compile(r"charset=[\"']?([\w-]{1,40})", re.IGNORECASE)
_OF_THE_WEB: Final = re.compile(
    r"ascii|utf-16(-[bl]e)?|iso8859-\d+|cp(125\d|866|874|932|949|950)|koi8-[ru]|tis-620|mac-roman"
    r"|gb2312|gbk|gb18030|big5(hkscs)?|euc_(jp|kr)|shift_jis|iso2022_jp"
)
"""Python's names of the encodings that browsers know beside UTF-8. Others that it has are no text,
make what no JSON can hold, or take time in proportion to the square of the length."""


class Found(msgspec.Struct, frozen=True):
    title: str = ""
    description: str = ""
    picture: str = ""
    """Its address elsewhere."""


async def card_call(request: AdminRequest, body: dict[str, Any]) -> JsonAnswer:
    url = body.get("url")
    if not isinstance(url, str) or not re.match(r"https?://", url) or not safe_source(url):
        raise BadRequest(words("Send an address that begins with https://."))
    provider = provider_of(url)
    found = await _found(request, url, provider.about if provider else "")
    image = await _stored(request, found.picture) if found.picture else ""
    card = EMBED if provider else BOOKMARK
    given = {
        "url": url,
        "title": found.title,
        "description": found.description,
        "image": image,
    }
    try:
        return JsonAnswer({"type": card.name, "attrs": card.read(given)})
    except WrongCard as error:
        raise BadRequest(str(error)) from error


async def _found(request: AdminRequest, url: str, about: str) -> Found:
    """Nothing where nothing can be fetched."""
    address = about + quote(url, safe="") if about else url
    accept = "application/json" if about else "text/html"
    try:
        async with request.services.outbound.download(
            address, max_bytes=_MAX_SENT, accept=accept, timeout_seconds=_SECONDS
        ) as download:
            raw = await _start_of(download)
    except OutboundError as error:
        log.info("card_not_fetched", url=address[:200], reason=error.message)
        return Found()
    if about:
        return _of_oembed(raw)
    return await asyncio.to_thread(_of_page, raw, download.content_type, download.url)


async def _start_of(download: Download) -> bytes:
    read = bytearray()
    async for chunk in download.chunks:
        read += chunk
        if len(read) >= MAX_PAGE:
            break
    return bytes(read[:MAX_PAGE])


def _of_oembed(raw: bytes) -> Found:
    try:
        given = msgspec.json.decode(raw)
    # Also what is no UTF-8, which is no `DecodeError`.
    except (ValueError, RecursionError):
        return Found()
    if not isinstance(given, dict):
        return Found()
    title, picture = given.get("title"), given.get("thumbnail_url")
    return Found(
        one_line(title)[:LONGEST_TITLE] if isinstance(title, str) else "",
        picture=picture if isinstance(picture, str) else "",
    )


def _of_page(raw: bytes, content_type: str, url: str) -> Found:
    declared = _CHARSET.search(content_type) or _CHARSET.search(raw[:2_000].decode("latin-1"))
    page = raw.decode(_encoding(declared[1] if declared else ""), "replace")
    said: dict[str, str] = {}
    for tag in _META.finditer(page):
        named = {name.lower(): value.strip("\"'") for name, value in _ATTRIBUTE.findall(tag[1])}
        name = (named.get("property") or named.get("name") or "").lower()
        said.setdefault(name, unescape(named.get("content", "")))
    title = _TITLE.search(page)
    picture = _first(said, "og:image:secure_url", "og:image", "twitter:image")
    return Found(
        one_line(_first(said, "og:title", "twitter:title") or unescape(title[1] if title else ""))[
            :LONGEST_TITLE
        ],
        one_line(_first(said, "og:description", "description", "twitter:description"))[
            :LONGEST_TEXT
        ],
        _joined(url, picture) if picture else "",
    )


def _encoding(declared: str) -> str:
    try:
        name = codecs.lookup(declared).name
    except (LookupError, ValueError):
        return "utf-8"
    return name if _OF_THE_WEB.fullmatch(name) else "utf-8"


def _first(said: Mapping[str, str], *names: str) -> str:
    return next((said[name] for name in names if said.get(name)), "")


def _joined(url: str, address: str) -> str:
    try:
        return urljoin(url, address)
    except ValueError:
        return ""


async def _stored(request: AdminRequest, address: str) -> str:
    """The address of the site's own copy; '' where it is no picture, or can't be had."""
    upload = Upload("file", address.rpartition("/")[2].partition("?")[0][:100] or "picture", "")
    try:
        async with request.services.outbound.download(
            address, max_bytes=MAX_PICTURE, timeout_seconds=_SECONDS
        ) as download:
            await upload.fill(download.chunks)
        if not sniff(upload.head, upload.filename).startswith("image/"):
            return ""
        same = await request.records.find(
            media, {"sha256": upload.sha256}, tenant_id=request.caller.tenant_id, limit=1
        )
        stored = (
            same[0]
            if same and not same[0]["private"]
            else await store_upload(request.services, request.caller, media, {}, uploads=[upload])
        )
        return str(picture_of(request, as_media(stored))["url"])
    except (OutboundError, MastheadError) as error:
        log.info("card_picture_not_stored", url=address[:200], reason=str(error))
        return ""
    finally:
        upload.close()
