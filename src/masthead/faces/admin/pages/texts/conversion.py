"""The conversion of a text from HTML to a document of the editor, and the words that it changes."""

from __future__ import annotations

from typing import Any

from masthead.base.errors import BadRequest, RateLimited
from masthead.base.languages.words import words
from masthead.content.texts.difference import Difference, compare
from masthead.content.texts.editing import Opened
from masthead.content.texts.html_opening import HtmlOpening, open_html
from masthead.engine.records.collection import Record


async def converted(opened: Opened) -> dict[str, Any]:
    """The document of a text that is HTML."""
    found = await open_html(opened.values["content_html"])
    if found.document is None:
        raise BadRequest(words("This can't be converted: %(reason)s.", reason=found.reason))
    return found.document


async def difference_of(record: Record, conversion: HtmlOpening | None) -> Difference | None:
    if conversion is None or conversion.document is None:
        return None
    try:
        return await compare(record["content_html"], conversion.html)
    except RateLimited:
        return Difference(is_too_long=True)
