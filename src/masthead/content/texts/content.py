"""A text has two forms, HTML and the editor's document. This module records which one is newer, for
posts and pages, and makes the clean HTML that readers see. Callers may also send Markdown, which
becomes both."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from masthead.base.errors import Invalid, Problem, Unavailable
from masthead.base.limited_process import LimitedProcess, TookTooLong
from masthead.base.limited_process import Unavailable as NoProcess
from masthead.base.turns import Turns
from masthead.content.html.clean_texts import RULES, clean, clean_all_or_plain
from masthead.content.html.sanitizer import TooCostly
from masthead.engine.records.changes import PreparedTexts, Rendering, Save
from masthead.engine.records.fields.base import Access, FieldError
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Number, Select
from masthead.storage.cancelling import complete

if TYPE_CHECKING:
    from masthead.content.texts.markdown import Converted

HTML, JSON = "html", "json"
MAX_HTML: Final = 5_000_000
_SMALL_DOCUMENT: Final = 10_000
"""Bytes of JSON. Longer ones take so long that a thread renders them."""

CONTENT_HTML = Text(
    name="content_html",
    max=MAX_HTML,
    help="The text as it was sent. Readers get a clean version, without scripts, styles and "
    "anything else that the site does not show.",
)
CLEAN_FIELDS = (
    Text(name="content_clean", max=10_000_000, read=Access.ENGINE, write=Access.ENGINE),
    Number(name="clean_rules", read=Access.ENGINE, write=Access.ENGINE),
)
"""The clean text for readers, empty if it is as it was sent, and the number of the rules that made
it."""

STAMPED: Final = frozenset({"edited_by", "revised_at", "content_clean", "clean_rules"})
"""Fields that change along with a text. The audit log does not name them."""

CONTENT_MARKDOWN: Final = Text(
    name="content_markdown",
    max=300_000,
    help="The text as Markdown, instead of `content_html` and `content_json`: CommonMark with "
    "tables, strikethrough, task lists and footnotes. Both are made from it; it is not stored. "
    "HTML in it is kept; if the editor can't show that HTML, `content_json` becomes null.",
)
_SHORT_MARKDOWN: Final = 1_000
_FEW_MARKS: Final = 40
"""Characters with a meaning in Markdown, and ends of lines. With more of them the time of the
parser can grow with the square of the length."""
_MARK: Final = re.compile(r"[^\w ,;:'\"?]|_|(?<=\d)[.)]")
_ANSWER_SECONDS: Final = 20.0
"""For two seconds of the processor, which a busy machine gives late."""
_BOTH: Final = Problem(
    "validation_one_text", "Send either content_markdown or content_html and content_json."
)
_turns: Final = Turns(2)
_processes: Final[list[LimitedProcess]] = []
"""Those that convert no Markdown now."""

CONTENT_SOURCE = Select(
    name="content_source",
    values=(HTML, JSON),
    default=HTML,
    read=Access.CONTRIBUTOR,
    write=Access.ENGINE,
    help="The newer of the two texts, which an editor opens.",
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
    return {**values, **(await convert_markdown(text))._asdict()}


async def convert_markdown(text: str, *, keeps_lines: bool = False) -> Converted:
    """As `content/texts/markdown.py` has it: at once where that is sure to be quick, otherwise in
    a process that the kernel ends if it takes too long. Raises Invalid, RateLimited and
    Unavailable."""
    # Imported with the first text: the parser would slow down every start.
    from masthead.content.texts.markdown import convert

    if len(text) <= _SHORT_MARKDOWN and len(_MARK.findall(text)) <= _FEW_MARKS:
        return convert(text, keeps_lines=keeps_lines)
    async with _turns.turn():
        return await complete(asyncio.to_thread(_convert_apart, text, keeps_lines))


def _convert_apart(text: str, keeps_lines: bool) -> Converted:
    from masthead.content.texts.markdown import TOO_SLOW, convert_in_process, refused

    try:
        # The last one that was used, so that few texts start one process only.
        process = _processes.pop()
    except IndexError:
        process = LimitedProcess(convert_in_process, answer_seconds=_ANSWER_SECONDS)
    try:
        found: Converted | str = process.ask(text, keeps_lines)
    except TookTooLong:
        raise refused(TOO_SLOW) from None
    except NoProcess:
        raise Unavailable from None
    finally:
        _processes.append(process)
    if isinstance(found, str):
        raise refused(found)
    return found


def update_content_source(save: Save) -> Mapping[str, Any]:
    """A change of one form leaves the other, except that a document is rendered to HTML."""
    if "content_source" in save.given:
        # A revision is restored, with both of its forms.
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
    document = save.new["content_json"]
    known = [html for each, html in save.prepared.documents if each is document or each == document]
    html = known[0] if known else html_of(document)
    # JSON that can't be rendered, such as another editor's, leaves the HTML.
    return {"content_html": html} if html else {}


def html_of(content_json: Any) -> str | None:
    # Imported with the first document: the editor's schema and parser would slow down every start.
    from masthead.content.texts.editor import render

    return render(content_json)


async def prepare(values: Mapping[str, Any]) -> PreparedTexts:
    """For a change with these values: the HTML of a document, and the clean text."""
    prepared = PreparedTexts()
    html, document = values.get("content_html"), values.get("content_json")
    if document is not None and not html:
        is_small = isinstance(document, dict) and _size(document) <= _SMALL_DOCUMENT
        rendered = html_of(document) if is_small else await _render_apart(document)
        prepared.documents.append((document, rendered))
        html = rendered
    elif document is not None:
        check_cards(document)
    # Any other value is refused by the field.
    if html and isinstance(html, str) and len(html) <= MAX_HTML:
        prepared.texts[html] = await _clean(html)
    return prepared


def check_cards(document: Any) -> None:
    """For a document that is not rendered, because its HTML came along. Raises Invalid."""
    if isinstance(document, dict) and document.get("type") == "doc":
        from masthead.content.texts.editor import check_cards as check

        check(document)


async def _render_apart(document: Any) -> str | None:
    async with _turns.turn():
        return await complete(asyncio.to_thread(html_of, document))


def _size(document: dict[str, Any]) -> int:
    try:
        return len(msgspec.json.encode(document))
    except (TypeError, ValueError, RecursionError, UnicodeError):
        return _SMALL_DOCUMENT + 1


async def _clean(html: str) -> str:
    try:
        return await clean(html)
    except TooCostly as error:
        problem = Problem("validation_html_too_costly", str(error))
        raise Invalid({"content_html": problem}) from None


RENDERING = Rendering(
    of="content_html",
    into="content_clean",
    made_by="clean_rules",
    rules=RULES,
    prepare=prepare,
    make=_clean,
    make_anyway=clean_all_or_plain,
)


def _is_changed(save: Save, name: str) -> bool:
    if name not in save.given:
        return False
    return save.old is None or save.old[name] != save.new[name]
