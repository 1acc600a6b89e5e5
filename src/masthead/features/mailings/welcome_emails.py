"""The welcome_emails collection: what new free and new paid members get, at most one of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from masthead.base.errors import Invalid, Problem
from masthead.base.languages.formats import Numeral
from masthead.base.languages.words import staff_marked, staff_words
from masthead.content.html.markup import tokens_of
from masthead.content.texts.content import (
    CLEAN_FIELDS,
    CONTENT_HTML,
    CONTENT_SOURCE,
    RENDERING,
    STAMPED,
    convert_markdown,
    update_content_source,
)
from masthead.engine.links.file_uses import Uses
from masthead.engine.records.changes import Change, Relisted, Save
from masthead.engine.records.collection import Collection, Index, Record
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.documents import Json
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Flag, Select
from masthead.engine.records.write.unit import Unit
from masthead.features.mailings.collection import ONE_LINE, PAUSED, SENDING, mailings
from masthead.features.members.welcome import KINDS, WELCOME_EMAILS

MAX_TEXT: Final = 100_000
TURNED_OFF: Final = staff_marked(
    "The welcome email is turned off. Those who wait get it when it is on again."
)
_BLANK: Final = Problem("validation_required", staff_words("Cannot be blank."))
_TOO_LONG: Final = Problem(
    "validation_length_out_of_range",
    staff_words("The text has more than %(number)s characters of HTML.", number=Numeral(MAX_TEXT)),
)


def before_save(save: Save) -> Mapping[str, Any]:
    stamps = update_content_source(save)
    html = stamps.get("content_html", save.new["content_html"])
    if len(html) > MAX_TEXT:
        raise Invalid({"content_html": _TOO_LONG})
    is_written = bool(save.given & {"content_html", "content_json"})
    markdown = "" if is_written else save.new["text"]
    if save.new["is_on"] and not markdown and not _says_something(html):
        raise Invalid({"content_html": _BLANK})
    return {**stamps, "text": markdown}


async def written_html(email: Record) -> str:
    """From the Markdown of one that was written before there was an editor for it."""
    if not email["text"]:
        return str(email["content_html"])
    try:
        return (await convert_markdown(email["text"], keeps_lines=True)).content_html
    except Invalid:
        # Of a text that is beyond the limits the words are sent.
        return f"<p>{escape(email['text'])}</p>"


def _says_something(html: str) -> bool:
    return any(
        (each.kind == "text" and each.name.strip()) or each.name == "img"
        for each in tokens_of(html)
    )


class Switched(NamedTuple):
    kind: str
    is_on: bool


async def hold_or_go_on(unit: Unit, switched: Sequence[Switched]) -> None:
    """Those who joined before it was turned off, and wait for the mail server, wait until it is on
    again."""
    service = unit.by_service()
    for kind, is_on in switched:
        old, new = ((PAUSED, TURNED_OFF), (SENDING, ""))[:: 1 if is_on else -1]
        wanted = {"welcome": kind, "status": old[0], "reason": old[1]}
        for mailing in await unit.find(mailings, wanted, limit=1):
            values = {"status": new[0], "reason": new[1]}
            await service.update(mailings, mailing["id"], {}, stamped=values)


class Switch:
    """Follows the welcome emails."""

    settle = staticmethod(hold_or_go_on)

    @staticmethod
    def note(change: Change, _: Relisted) -> Iterator[Switched]:
        if change.touches(("is_on",)):
            is_on = change.new is not None and change.new["is_on"]
            yield Switched(change.record["kind"], is_on)


FILES: Final = Uses(("content_html",))
welcome_emails = Collection(
    WELCOME_EMAILS,
    (
        Select(
            name="kind",
            values=KINDS,
            required=True,
            immutable=True,
            help="`free`: sent when a free member's address is confirmed. `paid`: sent when a "
            "member first pays.",
        ),
        Flag(name="is_on", help="Whether new members get it."),
        Text(
            name="subject",
            required=True,
            max=255,
            pattern=ONE_LINE,
            allowed=staff_words(
                "May not be blank or contain line breaks or other control characters."
            ),
        ),
        replace(CONTENT_HTML, max=MAX_TEXT),
        Json(name="content_json"),
        CONTENT_SOURCE,
        *CLEAN_FIELDS,
        # Markdown, of those that were not saved in the editor yet.
        Text(name="text", max=20_000, read=Access.ENGINE, write=Access.ENGINE),
    ),
    audited="kind",
    audited_without=STAMPED | {"text"},
    help="The emails that welcome new members, one for each tier. Sent once to each member.",
    before_save=before_save,
    rendering=RENDERING,
    listings=(FILES.listings,),
    followers=(FILES, Switch()),
    indexes=(Index(("kind",), unique=True),),
    called=staff_words("welcome emails"),
)
