"""A text as guests, members and paid members would read it, in the look of the site."""

from __future__ import annotations

from urllib.parse import urlencode

import msgspec

from masthead.base.caller import Audience
from masthead.content.texts.editing import open_text
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Framed, Page
from masthead.faces.admin.pages.texts.lists import status_of
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import Section
from masthead.features.posts.site import before_paywall, is_open


class _Readers(msgspec.Struct, frozen=True):
    audience: Audience
    label: str
    plural: str


_READERS = {
    "guest": _Readers(Audience.GUEST, "Guest", "Guests"),
    "member": _Readers(Audience.FREE, "Member", "Members"),
    "paid": _Readers(Audience.PAID, "Paid member", "Paid members"),
}
_WIDTHS = {"desktop": "Desktop", "phone": "Phone"}


async def preview(section: Section, request: AdminRequest, text_id: str) -> Answer:
    """The frame around the page, with the choices of readers and width in its address."""
    opened = await open_text(request.records, request.caller, section.kind, text_id)
    chosen, width = _chosen(request), request.query.get("width", "")
    if width not in _WIDTHS:
        width = "desktop"
    text = opened.values
    readers = _READERS[chosen]
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
            (each.label, url(name, width), name == chosen, None) for name, each in _READERS.items()
        ],
        "widths": [
            (label, url(chosen, name), name == width, None) for name, label in _WIDTHS.items()
        ],
        "width": width,
        "page": f"{own}/preview/page?{urlencode({'as': chosen})}",
        "plural": readers.plural,
        "sees": _sees(readers, text),
    }
    return Page("texts/preview.html", f"Preview of “{text['title']}”", values)


async def preview_page(section: Section, request: AdminRequest, text_id: str) -> Answer:
    """The page itself, for the frame."""
    opened = await open_text(request.records, request.caller, section.kind, text_id)
    audience = _READERS[_chosen(request)].audience
    body = await request.tools.previews.page(
        request.context, request.tenant, audience, section.texts, text=opened.values
    )
    return Framed(body)


def _chosen(request: AdminRequest) -> str:
    chosen = request.query.get("as", "")
    return chosen if chosen in _READERS else "guest"


def _sees(readers: _Readers, text: Record) -> str:
    """How much of the text they get."""
    if "visibility" not in text or is_open(text, readers.audience):
        return f"{readers.plural} read everything."
    if before_paywall(text["content_html"]):
        return f"{readers.plural} read only the part before the paywall."
    return f"{readers.plural} read only the title and the excerpt."
