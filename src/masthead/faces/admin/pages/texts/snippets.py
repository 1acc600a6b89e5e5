"""Snippets: the page that lists them, the form of one, and what the editor's script asks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from masthead.base.errors import BadRequest, Invalid, Problem
from masthead.base.languages.alphabet import by_letters
from masthead.base.languages.words import words
from masthead.content.texts.content import html_of
from masthead.content.texts.editor_document import opened_document
from masthead.content.texts.html_opening import open_html
from masthead.engine.records.access import access_of
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.base import REQUIRED, Access
from masthead.engine.records.filter.ast import Comparison, Expression, Identifier, Literal
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.calls import JsonAnswer
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.forms import Ask, Form
from masthead.faces.admin.lists import ListPage, Search
from masthead.faces.admin.request import AdminRequest
from masthead.features.posts.snippets import snippets, summary_of

ADDRESS = "/admin/snippets"
MAX_FORM = 1024 * 1024
MOST_FOUND = 8
_FORM = Form(
    snippets, (Ask("name", words("Name"), words("Staff find it by its name in the editor.")),)
)


def may_write(request: AdminRequest) -> bool:
    return access_of(request.caller) >= Access.EDITOR


class SnippetList(ListPage, frozen=True):
    address = ADDRESS
    title = words("Snippets")
    page = "texts/snippets.html"
    back = (words("Posts"), "/admin/posts")
    about = words("Parts of a text for use again. In the editor, type /snippet.")
    collection = snippets
    template = "texts/_snippets.html"
    search = Search(words("Search by name"), words("Name"))
    empty = (
        words("No snippets yet"),
        words(
            "Select a part of a text in the editor and choose More formatting, Save as a snippet."
        ),
    )
    no_match = (words("No snippet has this name"), words("Try a part of the name."))

    q: str = ""

    def conditions(self, _: AdminRequest) -> list[Expression]:
        return [_named(self.q)] if self.q else []

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        return {
            "rows": [{**each, "summary": summary_of(_document(each))} for each in items],
            "may_write": may_write(request),
        }


def _named(typed: str) -> Expression:
    return Comparison(Identifier(("name",)), "~", Literal(f"%{typed}%"))


async def new_snippet(request: AdminRequest) -> Answer:
    request.records.check_may_create(request.caller, snippets)
    return await _page(request)


async def create_snippet(request: AdminRequest) -> Answer:
    made = await request.records.create(request.caller, snippets, await _given(request))
    return Redirect(ADDRESS, words("“%(name)s” is saved.", name=made["name"]))


async def snippet_form(request: AdminRequest, snippet_id: str) -> Answer:
    return await _page(request, await request.records.get(request.caller, snippets, snippet_id))


async def save_snippet(request: AdminRequest, snippet_id: str) -> Answer:
    given = await _given(request)
    saved = await request.records.update(request.caller, snippets, snippet_id, given)
    return Redirect(ADDRESS, words("“%(name)s” is saved.", name=saved["name"]))


async def delete_snippet(request: AdminRequest, snippet_id: str) -> Answer:
    record = await request.records.delete(request.caller, snippets, snippet_id)
    return Redirect(ADDRESS, words("“%(name)s” is deleted.", name=record["name"]))


async def _given(request: AdminRequest) -> dict[str, Any]:
    """The editor sends its document; without script the form has HTML."""
    given = _FORM.given(request)
    sent, html = request.form.get("content_json", ""), request.form.get("content_html")
    if sent:
        try:
            return {**given, "content_json": msgspec.json.decode(sent)}
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            raise BadRequest(words("The request contains no document.")) from None
    if html is None or html.replace("\r\n", "\n") == request.form.get("html_before", html + "."):
        return given
    found = await open_html(html)
    if found.document is None:
        problem = Problem(
            "validation_document",
            words("This can't be a snippet: %(reason)s.", reason=found.reason),
        )
        raise Invalid({"content_json": problem})
    if not found.document["content"]:
        raise Invalid({"content_json": REQUIRED})
    return {**given, "content_json": found.document}


async def _page(request: AdminRequest, record: Record | None = None) -> Page:
    stored = record or {"name": "", "content_json": None}
    content = _document(stored)
    opening = opened_document(content)
    html = await asyncio.to_thread(html_of, content) if opening else ""
    typed = request.form.get("content_html", html or "") if request.problems else html or ""
    document = opening.document if opening else None
    if request.problems and request.form.get("content_json"):
        sent = _sent(request)
        document = sent or document
    values = {
        **_FORM.values(request, stored, labels={"content_json": words("Text")}),
        "snippet": record,
        "html": typed,
        "document_json": msgspec.json.encode(document).decode() if document else "",
        "problem": request.problems.get("content_json"),
        "owner": request.page_owner,
        # On the service's own host the address does not name the site.
        "tenant_id": "" if request.context.tenant else request.tenant_id,
        "action": f"{ADDRESS}/{record['id']}" if record else f"{ADDRESS}/new",
    }
    title = record["name"] if record else words("New snippet")
    return Page("texts/snippet.html", title, values)


def _sent(request: AdminRequest) -> dict[str, Any] | None:
    """The document of a form that was refused, to be shown again."""
    try:
        opening = opened_document(msgspec.json.decode(request.form["content_json"]))
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    return opening.document if opening and not opening.lacks else None


async def found_call(request: AdminRequest) -> JsonAnswer:
    """The snippets whose name has some typed."""
    typed = request.query.get("q", "").strip()[:100]
    wanted = ListRequest(
        per_page=MOST_FOUND,
        filter=_named(typed) if typed else "",
        sort="name:lower",
        skip_total=True,
    )
    page = await request.records.page(request.caller, snippets, wanted)
    found = [
        {"id": each["id"], "label": each["name"], "note": summary_of(_document(each))}
        for each in sorted(page.items, key=lambda each: by_letters(each["name"]))
    ]
    return JsonAnswer({"found": found})


async def document_call(request: AdminRequest) -> JsonAnswer:
    """The document of one snippet, as the editor names its parts."""
    record = await request.records.get(request.caller, snippets, request.query.get("id", ""))
    opening = opened_document(_document(record))
    return JsonAnswer({"content_json": opening.document if opening else None})


def _document(record: Record) -> Any:
    """Records that a caller gets have JSON as text."""
    stored = record["content_json"]
    return msgspec.json.decode(stored) if isinstance(stored, msgspec.Raw) else stored


async def save_call(request: AdminRequest, body: dict[str, Any]) -> JsonAnswer:
    """Saves what was selected in the editor."""
    given = {name: body.get(name) for name in ("name", "content_json")}
    made = await request.records.create(request.caller, snippets, given)
    return JsonAnswer({"id": made["id"]})
