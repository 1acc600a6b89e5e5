"""Search of the editor's link dialog: own posts, pages and tags, with their addresses on the
site."""

from __future__ import annotations

from urllib.parse import quote

from masthead.base.languages.words import words
from masthead.content.texts.languages import root_of
from masthead.engine.records.access import access_of
from masthead.engine.records.fields.base import Access
from masthead.engine.records.filter.ast import Comparison, Identifier, Literal
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.calls import JsonAnswer
from masthead.faces.admin.pages.members.listing import searched
from masthead.faces.admin.pages.texts.lists import status_of
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import PAGES, POSTS, Section
from masthead.features.posts.tag_records import tags

MOST = 6
_MOST_TAGS = 3


async def links_call(request: AdminRequest) -> JsonAnswer:
    typed = request.query.get("q", "").strip()[:200]
    if not typed:
        return JsonAnswer({"found": []})
    # Pages are for editors and owners.
    sections = (POSTS, PAGES) if access_of(request.caller) >= Access.EDITOR else (POSTS,)
    found = [
        *[each for section in sections for each in await _texts(request, section, typed)],
        *await _tags(request, typed),
    ]
    return JsonAnswer({"found": found})


async def _texts(request: AdminRequest, section: Section, typed: str) -> list[dict[str, str]]:
    texts = section.texts
    wanted_names = {"title", "slug", "edition", "status", "published_at", "scheduled_for"}
    names = wanted_names & texts.by_name.keys()
    wanted = ListRequest(
        per_page=MOST, search=searched(typed), names=frozenset(names), skip_total=True
    )
    page = await request.records.page(request.caller, texts, wanted)
    kind = section.said(words("Post"), words("Page"))
    return [
        {
            "label": each["title"],
            "url": f"{root_of(each['edition'])}{section.site_prefix}{quote(each['slug'])}",
            "note": f"{kind}, {status_of(request, each)[1]}",
            "icon": "file-text" if section is POSTS else "files",
        }
        for each in page.items
    ]


async def _tags(request: AdminRequest, typed: str) -> list[dict[str, str]]:
    wanted = ListRequest(
        per_page=_MOST_TAGS,
        filter=Comparison(Identifier(("name",)), "~", Literal(f"%{typed}%")),
        names=frozenset({"name", "slug"}),
        skip_total=True,
    )
    page = await request.records.page(request.caller, tags, wanted)
    return [
        {
            "label": each["name"],
            "url": f"/tags/{quote(each['slug'])}",
            "note": words("Tag"),
            "icon": "tag",
        }
        for each in page.items
    ]
