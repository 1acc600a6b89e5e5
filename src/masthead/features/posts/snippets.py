"""Snippets: parts of a text that staff insert into others from the editor, such as a note at the
end of each post."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from masthead.base.errors import Invalid, Problem
from masthead.base.languages.formats import listed
from masthead.base.languages.words import staff_words
from masthead.engine.links.file_uses import NOT_SHOWN, Uses
from masthead.engine.records.changes import Save
from masthead.engine.records.collection import FREE, Collection, Rules
from masthead.engine.records.fields.base import REQUIRED
from masthead.engine.records.fields.documents import Json
from masthead.engine.records.fields.text import Text

MAX_BYTES: Final = 200_000
MAX_SUMMARY: Final = 160
_NO_DOCUMENT: Final = Problem(
    "validation_document",
    'Must be a document of the editor: {"type": "doc", "content": […]}, with at least one part.',
)


def check_document(save: Save) -> Mapping[str, Any]:
    document = save.new["content_json"]
    if document is None:
        raise Invalid({"content_json": REQUIRED})
    if "content_json" in save.given:
        # Imported with the first snippet: the editor's schema would slow down every start.
        from masthead.content.texts.editor_document import opened_document

        opening = opened_document(document)
        content = document.get("content") if opening else None
        if opening is None or not content or not isinstance(content, list):
            raise Invalid({"content_json": _NO_DOCUMENT})
        if opening.lacks:
            lacks = listed(sorted(opening.lacks))
            message = staff_words("Has parts that the editor can't show: %(parts)s.", parts=lacks)
            raise Invalid({"content_json": Problem("validation_document", message)})
    return {}


def summary_of(document: Any) -> str:
    """The first words of a snippet, or what it begins with."""
    found = ""
    for each in _words(document):
        found = f"{found} {each}".strip()
        if len(found) > MAX_SUMMARY:
            return f"{found[: MAX_SUMMARY - 1].rstrip()}…"
    return found


_SHOWN: Final = ("summary", "label", "title", "name", "caption", "alt", "url", "src")
"""Attributes of a card or a picture that say what it is."""


def _words(part: Any) -> Iterator[str]:
    if not isinstance(part, dict):
        return
    if isinstance(part.get("text"), str):
        yield part["text"].strip()
    attributes = part.get("attrs")
    if isinstance(attributes, dict):
        shown = [attributes[name] for name in _SHOWN if isinstance(attributes.get(name), str)]
        yield from shown[:1]
    content = part.get("content")
    for each in content if isinstance(content, list) else ():
        yield from _words(each)


FILES: Final = Uses(("content_json",), shown=NOT_SHOWN)
snippets = Collection(
    "snippets",
    (
        Text(name="name", required=True, unique=True, max=100, help="Staff find it by its name."),
        Json(
            name="content_json",
            max_bytes=MAX_BYTES,
            help="A document of the editor. Inserting it copies it: a text that has it stays as "
            "it is when the snippet changes.",
        ),
    ),
    audited="name",
    help="Parts of a text that staff insert into others from the editor.",
    editors=FREE,
    authors=Rules(read=""),
    contributors=Rules(read=""),
    before_save=check_document,
    listings=(FILES.listings,),
    followers=(FILES,),
)
