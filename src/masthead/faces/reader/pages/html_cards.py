"""An author's own HTML, as the page in the frame of its card.

It is at an address of its own, because what is written into a page gets the page's policy, under
which no script of the author's runs."""

from __future__ import annotations

import asyncio
from typing import Final

from masthead.base.errors import NotFound
from masthead.content.cards.catalog import element_at
from masthead.content.html.card_attributes import CARD
from masthead.content.html.markup import tokens_of
from masthead.engine.records.collection import Collection
from masthead.engine.records.read.page import ListRequest
from masthead.faces.reader.card_views import FRAME_POLICY, digest_of, framed
from masthead.faces.reader.content import for_reader
from masthead.faces.reader.endpoint import Document
from masthead.faces.reader.pages.lists import _equals
from masthead.faces.reader.request import SiteRequest
from masthead.features.pages.collection import pages
from masthead.features.posts.collection import posts

PATH: Final = "/share/html/{kind}/{id}/{digest}"
_TEXTS: Final[dict[str, Collection]] = {each.name: each for each in (posts, pages)}
_HEADERS: Final = (
    (b"content-security-policy", FRAME_POLICY.encode()),
    (b"x-robots-tag", b"noindex"),
)


def address_of(texts: Collection, record_id: str) -> str:
    """The beginning of the addresses of a text's own HTML."""
    return f"/share/html/{texts.name}/{record_id}/"


async def html_card(request: SiteRequest, kind: str, record_id: str, digest: str) -> Document:
    """That of the part which its reader may read."""
    texts = _TEXTS.get(kind)
    if texts is None:
        raise NotFound
    wanted = ListRequest(per_page=1, filter=_equals("id", record_id), skip_total=True)
    found = (await request.records.page(request.caller, texts, wanted)).items
    if not found:
        raise NotFound
    html = await for_reader(request, found[0]["content_html"])
    source = await asyncio.to_thread(_source_in, html, digest)
    if not source:
        raise NotFound
    return Document(framed(source).encode(), b"text/html; charset=utf-8", headers=_HEADERS)


def _source_in(html: str, digest: str) -> str:
    tokens = tokens_of(html) if 'data-card="html"' in html else []
    for at, token in enumerate(tokens):
        if token.attributes.get(CARD) == "html" and (found := element_at(tokens, at)):
            source = str(found.values["html"])
            if digest_of(source) == digest:
                return source
    return ""
