"""The languages of a site and its texts: a site has one of its own, and may have others, each with
addresses of its own (`/de/`).

The edition of a text says below which of them it is: empty for the site's own, otherwise the tag in
lower case. A text without a language, or in one that the site does not have, is in the site's own
edition, so that no list loses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from masthead.engine.records.changes import Change, Later, Save
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.languages import MAX_TAG, LanguageTag
from masthead.engine.records.fields.text import Text

EDITIONS_JOB: Final = "texts.editions"

LANGUAGE: Final = LanguageTag(
    name="language",
    help="The language of the text, as a BCP 47 tag. If empty, the site's own.",
)
EDITION: Final = Text(
    name="edition",
    max=MAX_TAG,
    read=Access.SITE,
    write=Access.ENGINE,
    help="The first part of its address, if its language is one of the site's `languages`, such as "
    "`de`. Empty for the site's own.",
)


def editions_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """The languages of a site by their edition: its own first, by an empty text."""
    own = settings["language"] or "en"
    others = {each.lower(): each for each in settings["languages"]}
    others.pop(own.lower(), None)
    return {"": own, **others}


def edition_of(language: str, settings: Mapping[str, Any]) -> str:
    """The edition for texts and members of a language; the site's own for one that it lacks."""
    tag = language.lower()
    return tag if tag and tag in editions_of(settings) else ""


def language_of(text: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """The language of the words around a text."""
    return editions_of(settings).get(text["edition"]) or settings["language"] or "en"


def root_of(edition: str) -> str:
    """The beginning of its addresses, without a slash at the end."""
    return f"/{edition}" if edition else ""


def stamp_edition(save: Save) -> Mapping[str, Any]:
    """Most texts have no language, and cost nothing."""
    language = save.new["language"]
    edition = edition_of(language, save.site.settings) if language else ""
    return {"edition": edition} if edition != save.new["edition"] else {}


def editions_jobs(change: Change) -> Iterator[Later]:
    """A site with other languages puts its texts into its editions again."""
    old, new = change.old, change.new
    if old is not None and new is not None and editions_of(old) != editions_of(new):
        yield Later(EDITIONS_JOB, {})
