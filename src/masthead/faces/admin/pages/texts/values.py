"""The values of a text's form: which it asks for, what was typed, and what is stored."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from masthead.base.caller import SITE_STAFF
from masthead.base.languages.words import words
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.collection import Record
from masthead.engine.records.write.slugs import slugify
from masthead.faces.admin.forms import Ask, given_values, sent_values, widgets
from masthead.faces.admin.languages import language_choices
from masthead.faces.admin.levels import level_names
from masthead.faces.admin.people import staff_names
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import Section

_TEXT = frozenset({"title", "content_html"})
_CHOSEN = frozenset({"authors", "tiers", "language"})
"""Not asked for where there is nothing to choose from."""


async def asks_of(section: Section, request: AdminRequest, record: Record) -> tuple[Ask, ...]:
    """Authors that the form does not list stay authors."""
    languages = language_choices(request, record["language"])
    choices = {"language": languages}
    if section.has_authors:
        choices["tiers"] = await _levels(request, record)
    # Only editors and owners may name authors.
    if section.has_authors and not request.caller.is_writer:
        names = await staff_names(request)
        own = dict.fromkeys(beginners(section, request), words("You"))
        choices["authors"] = dict.fromkeys(record["authors"], words("Another author")) | own | names
    return tuple(
        replace(each, choices=choices.get(each.name, each.choices))
        for each in section.asks
        if (each.name not in _CHOSEN or choices.get(each.name))
        and (each.name != "translations" or languages or record["translations"])
    )


async def _levels(request: AdminRequest, record: Record) -> dict[str, str]:
    return dict.fromkeys(record["tiers"], words("A tier that is deleted")) | await level_names(
        request
    )


def beginners(section: Section, request: AdminRequest) -> list[str]:
    """The authors of a text that this person begins. An operator is none of the site's staff."""
    is_staff = request.caller.kind in SITE_STAFF
    return [request.caller.id] if section.has_authors and is_staff else []


async def read_given(section: Section, request: AdminRequest, record: Record) -> dict[str, Any]:
    asks = await asks_of(section, request, record)
    given = given_values(request.caller, section.texts, asks, request.form)
    if "tiers" in given and given.get("visibility", record.get("visibility")) != "paid":
        # The page hides the ticks then.
        given["tiers"] = []
    # Unchanged but for line ends, which a browser rewrites: not the author's change.
    if given.get("content_html") == plain_lines(record["content_html"]):
        del given["content_html"]
    return given


async def stored_settings(
    section: Section, request: AdminRequest, stored: Record, form: Mapping[str, str]
) -> dict[str, str]:
    """All that `form` holds but title and text, with the stored values. What means the same as the
    stored value is returned as it was sent, so that the editor can compare the two as texts."""
    asks = [each for each in await asks_of(section, request, stored) if each.name not in _TEXT]
    caller, texts = request.caller, section.texts
    given = with_kept_slug(stored, given_values(caller, texts, asks, form))
    shown = widgets(caller, texts, asks, with_shown_slug(stored))
    wanted = widgets(caller, texts, asks, with_shown_slug({**stored, **given}))
    found: dict[str, str] = {}
    for name in given:
        own = (name, f"has_{name}")
        sent = {key: form[key] for key in form if key in own or key.partition(".")[0] == name}
        found |= sent if wanted[name] == shown[name] else sent_values(shown[name])
    return found


def with_kept_slug(stored: Record, given: Mapping[str, Any]) -> dict[str, Any]:
    """The address of a published text stays where none is given."""
    stays = stored["status"] == PUBLISHED and given.get("slug") == ""
    return {**given, "slug": stored["slug"]} if stays else dict(given)


def made_slug(record: Record) -> str:
    """The slug of a draft, if it follows its title because none was chosen."""
    made = re.escape(slugify(record["title"]))
    is_made = re.fullmatch(rf"{made}(-\d+)?", record["slug"])
    return record["slug"] if is_made and record["status"] != PUBLISHED else ""


def with_shown_slug(record: Record) -> Record:
    return {**record, "slug": ""} if made_slug(record) else record


def plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n")
