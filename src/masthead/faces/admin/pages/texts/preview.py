"""A text as guests, members and paid members would read it, in the look of the site."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import msgspec

from masthead.base.caller import Audience, Reader
from masthead.base.languages.words import words
from masthead.content.texts.editing import open_text
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Framed, Page
from masthead.faces.admin.pages.texts.lists import status_of
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import Section
from masthead.features.posts.site import before_paywall, is_open, reader_of_all


class _Readers(msgspec.Struct, frozen=True):
    reader: Reader
    label: str
    read_all: str
    read_beginning: str
    read_title: str


_READERS = {
    "guest": _Readers(
        Reader(Audience.GUEST),
        words("Guest"),
        words("Guests read everything."),
        words("Guests read only the part before the paywall."),
        words("Guests read only the title and the excerpt."),
    ),
    "member": _Readers(
        Reader(Audience.FREE),
        words("Member"),
        words("Members read everything."),
        words("Members read only the part before the paywall."),
        words("Members read only the title and the excerpt."),
    ),
    "paid": _Readers(
        Reader(Audience.PAID),
        words("Paid member"),
        words("Paid members read everything."),
        words("Paid members read only the part before the paywall."),
        words("Paid members read only the title and the excerpt."),
    ),
}
_LEVEL = "level"
_WIDTHS = {"desktop": words("Desktop"), "phone": words("Phone")}


async def preview(section: Section, request: AdminRequest, text_id: str) -> Answer:
    """The frame around the page, with the choices of readers and width in its address."""
    opened = await open_text(request.records, request.caller, section.kind, text_id)
    text = opened.values
    choices = _choices(text)
    chosen, width = _chosen(request, choices), request.query.get("width", "")
    if width not in _WIDTHS:
        width = "desktop"
    readers = choices[chosen]
    own = section.url(text_id)

    def url(readers: str, width: str) -> str:
        return f"{own}/preview?{urlencode({'as': readers, 'width': width})}"

    badge, status = status_of(request, opened.text)
    values = {
        "section": section,
        "own": own,
        "kind": badge,
        "status": status,
        "has_copy": opened.copy is not None,
        "readers": [
            (each.label, url(name, width), name == chosen, None) for name, each in choices.items()
        ],
        "widths": [
            (label, url(chosen, name), name == width, None) for name, label in _WIDTHS.items()
        ],
        "width": width,
        "page": f"{own}/preview/page?{urlencode({'as': chosen})}",
        "sees": _sees(readers, text),
    }
    return Page("texts/preview.html", words("Preview of “%(title)s”", title=text["title"]), values)


async def preview_page(section: Section, request: AdminRequest, text_id: str) -> Answer:
    """The page itself, for the frame."""
    opened = await open_text(request.records, request.caller, section.kind, text_id)
    choices = _choices(opened.values)
    reader = choices[_chosen(request, choices)].reader
    body = await request.tools.previews.page(
        request.context, request.tenant, reader, section.texts, text=opened.values
    )
    return Framed(body)


def _choices(text: Record) -> dict[str, _Readers]:
    """The readers by the name in the address; with those of a tier if the post is for one."""
    if not text.get("tiers"):
        return _READERS
    with_level = _Readers(
        reader_of_all(text),
        words("With the tier"),
        words("Members with one of its tiers read everything."),
        words("Members with one of its tiers read only the part before the paywall."),
        words("Members with one of its tiers read only the title and the excerpt."),
    )
    return {**_READERS, _LEVEL: with_level}


def _chosen(request: AdminRequest, choices: Mapping[str, _Readers]) -> str:
    chosen = request.query.get("as", "")
    return chosen if chosen in choices else "guest"


def _sees(readers: _Readers, text: Record) -> str:
    """How much of the text they get."""
    if "visibility" not in text or is_open(text, readers.reader):
        return readers.read_all
    if before_paywall(text["content_html"]):
        return readers.read_beginning
    return readers.read_title
