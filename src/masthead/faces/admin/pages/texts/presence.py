"""Who else has a text open, for the head of the editor."""

from __future__ import annotations

from typing import Any

from masthead.base.errors import NotFound
from masthead.base.languages.formats import listed
from masthead.base.languages.words import words
from masthead.faces.admin.calls import JsonAnswer
from masthead.faces.admin.people import names_of
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import Section

NAMED = 3


async def here_call(
    section: Section, request: AdminRequest, _: dict[str, Any], text_id: str
) -> JsonAnswer:
    """An open editor says every few seconds that it is there."""
    found = await request.records.find_related(
        request.caller, section.texts, "id", [text_id], limit=1, names=frozenset({"title"})
    )
    if not found:
        raise NotFound
    presence = request.services.presence
    others = await presence.note(request.tenant_id, text_id, request.caller.id)
    return JsonAnswer({"words": await _words(request, others)})


async def _words(request: AdminRequest, others: list[str]) -> str:
    if not others:
        return ""
    shown = sorted(str(each or words("someone")) for each in await names_of(request, others))
    if len(shown) > NAMED:
        more = words("%(number)s more", number=len(shown) - NAMED)
        shown = [*shown[:NAMED], str(more)]
    return words("Also here: %(names)s", names=listed(shown))
