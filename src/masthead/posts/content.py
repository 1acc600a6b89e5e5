"""A text has two forms, HTML and the editor's document. This module records which one is newer, for
posts and pages. Callers may also send Markdown, which becomes both."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from masthead.errors import Invalid, Problem
from masthead.records.collection import Save
from masthead.records.fields.base import Access, FieldError
from masthead.records.fields.text import Text
from masthead.records.fields.values import Select

HTML, JSON = "html", "json"

CONTENT_MARKDOWN: Final = Text(
    name="content_markdown",
    max=300_000,
    help="The text as Markdown, instead of `content_html` and `content_json`: CommonMark with "
    "tables, strikethrough, task lists and footnotes. Both are made from it; it is not stored. "
    "HTML in it is kept; where the editor can't show that HTML, `content_json` becomes null.",
)
_CONVERTED_AT_ONCE: Final = 1_000
"""Characters, for which a thread would cost more than the conversion."""
_BOTH: Final = Problem(
    "validation_one_text", "Send either content_markdown or content_html and content_json."
)
_converting = asyncio.Semaphore(1)
"""One large text at a time: several would compete with the event loop for the interpreter."""

CONTENT_SOURCE = Select(
    name="content_source",
    values=(HTML, JSON),
    default=HTML,
    read=Access.AUTHOR,
    write=Access.ENGINE,
    help="The newer one of the two texts: the one that an editor opens.",
)


async def replace_markdown(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values of a post or a page, with both forms of the text in place of Markdown. Raises
    Invalid."""
    if CONTENT_MARKDOWN.name not in given:
        return given
    values = dict(given)
    markdown = values.pop(CONTENT_MARKDOWN.name)
    if values.keys() & {"content_html", "content_json"}:
        raise Invalid({CONTENT_MARKDOWN.name: _BOTH})
    try:
        text = CONTENT_MARKDOWN.parse(markdown)
    except FieldError as error:
        raise Invalid({CONTENT_MARKDOWN.name: error.problem}) from None
    return {**values, **await _converted(text)}


async def _converted(text: str) -> Mapping[str, Any]:
    # Imported with the first text: the parser would slow down every start.
    from masthead.posts.markdown import convert

    if len(text) <= _CONVERTED_AT_ONCE:
        return convert(text)._asdict()
    async with _converting:
        return (await asyncio.to_thread(convert, text))._asdict()


def update_content_source(save: Save) -> Mapping[str, Any]:
    """A change of one form leaves the other, except that a document is rendered to HTML."""
    if "content_source" in save.given:
        # An earlier state is restored, with both of its forms.
        return {}
    html_changed, json_changed = (_is_changed(save, n) for n in ("content_html", "content_json"))
    content_json = save.new["content_json"]
    if json_changed and content_json is not None:
        return {"content_source": JSON, **_rendered(save)}
    if html_changed or json_changed:
        return {"content_source": HTML}
    return {}


def _rendered(save: Save) -> Mapping[str, str]:
    if "content_html" in save.given:
        return {}
    html = html_of(save.new["content_json"])
    # JSON that can't be rendered, such as another editor's, leaves the HTML.
    return {"content_html": html} if html else {}


def html_of(content_json: Any) -> str | None:
    # Imported with the first document: the editor's schema and parser would slow down every start.
    from masthead.posts.editor import render

    return render(content_json)


def _is_changed(save: Save, name: str) -> bool:
    if name not in save.given:
        return False
    return save.old is None or save.old[name] != save.new[name]
