"""One text, a post or a page: in the editor, or as a form of its HTML. Both work without script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from masthead.base import ids
from masthead.base.errors import BadRequest, Conflict, Forbidden, Invalid, Problem
from masthead.base.languages.words import words
from masthead.content.texts.content import JSON
from masthead.content.texts.editing import Opened, change_draft, discard_copy, open_text, save_text
from masthead.content.texts.editor_document import opened_document
from masthead.content.texts.html_opening import HtmlOpening, open_html
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.links.file_uses import uses_of
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.forms import Ask, sentence_of, widgets
from masthead.faces.admin.pages.mailings.sending import mail_link
from masthead.faces.admin.pages.texts.conflict import conflict_page
from masthead.faces.admin.pages.texts.conversion import converted, difference_of
from masthead.faces.admin.pages.texts.lists import may_publish, status_of
from masthead.faces.admin.pages.texts.posts import with_known_tags
from masthead.faces.admin.pages.texts.reviewing import Review, may_change, review_of
from masthead.faces.admin.pages.texts.snippets import may_write
from masthead.faces.admin.pages.texts.values import (
    asks_of,
    beginners,
    made_slug,
    read_given,
    with_kept_slug,
    with_shown_slug,
)
from masthead.faces.admin.pages.trash import restore_address
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import Section
from masthead.faces.reader.pictures import small
from masthead.features.media.collection import media
from masthead.features.posts.review import READY
from masthead.features.posts.site import lists_show

MAX_FORM = 8 * 1024 * 1024
"""Bytes, in which some letters have three and those of other scripts six or nine: a book of half a
million words. Longer texts come through the APIs."""
MAX_ECHO = 1_000_000
"""Characters of a refused text that are shown again to be mended."""
NEW = "new"
"""The version of a text that is not stored yet."""

_DESCRIPTION = 160
"""Characters that a search engine shows."""
_SHARED_PICTURE = "600x0"
_MOST_PICTURES = 200
_SENTENCES = {
    "save": words("Saved."),
    "preview": "",
    "review": "",
    "discard": words("The changes are discarded."),
    "convert": words("Converted. The HTML that it was is in the history."),
    "ready": words("It is ready for review. Editors and owners get an email."),
    "unready": words("It is no longer ready for review."),
}
"""Sentences by the action of the form's button. `review` saves, and leads to the dialog that
publishes."""
_REVIEWS = {"ready": {"review": READY}, "unready": {"review": ""}}

_OF_PUBLISHED = {"save": words("Saved. The site shows it after Update.")}
_CHANGED_HTML = {"convert": words("Saved as HTML. Check what converting changes now.")}
_NOT_COPIED = ("slug", "authors", "content_source", "translations")
_LONGEST_COPIED = 240
"""Characters of a title: it may have 255."""
_LEADS_TO = {"preview": "preview", "review": "publish"}


class _Edited(msgspec.Struct, frozen=True):
    """A text on its page."""

    record: Record
    version: str
    is_new: bool = False
    review: Review | None = None
    has_copy: bool = False
    """Changes that are not on the site yet."""
    is_outdated: bool = False
    """The live text is newer than the copy."""
    has_page: bool = False
    """Readers of the site can open it."""
    document: dict[str, Any] | None = None
    lacks: tuple[str, ...] = ()
    """Parts that the editor does not support."""
    conversion: HtmlOpening | None = None
    """The conversion of a text that the editor can't open as it is."""

    @property
    def can_open(self) -> bool:
        """Whether the editor shows all of it."""
        return self.document is not None or not self.record["content_html"]


async def new_form(section: Section, request: AdminRequest) -> Answer:
    """The id is chosen here and stays in the address, so that a reload finds what was typed."""
    texts = section.texts
    request.records.check_may_create(request.caller, texts)
    chosen = request.query.get("id", "")
    if not ids.is_id(chosen):
        return await _page(section, request, _new(section, request, ids.new_id()))
    if await request.records.find(texts, {"id": chosen}, tenant_id=request.tenant_id):
        return Redirect(section.url(chosen))
    return await _page(section, request, _new(section, request, chosen))


async def create(section: Section, request: AdminRequest) -> Answer:
    edited = _new(section, request, ids.new_id())
    given = await read_given(section, request, edited.record)
    action = _action(section, request)
    try:
        record = await request.records.create(request.caller, section.texts, given)
    except Invalid as error:
        _check_echo(request, error)
        return await _page(section, request, edited, error.problems)
    return _after(section, record["id"], action)


async def form(section: Section, request: AdminRequest, text_id: str) -> Answer:
    """The editor, or the HTML where the editor would lose something, and with `as=html`."""
    opened = await open_text(request.records, request.caller, section.kind, text_id)
    if not may_change(request, opened.text):
        return _read_only(section, request, opened)
    return await _page(section, request, await _edited(section, request, opened))


async def save(section: Section, request: AdminRequest, text_id: str) -> Answer:
    opened = await open_text(request.records, request.caller, section.kind, text_id)
    if not may_change(request, opened.text):
        raise Forbidden(
            section.said(
                words("Only an editor or an owner can change the post now."),
                words("Only an editor or an owner can change the page now."),
            )
        )
    given = await read_given(section, request, opened.values)
    action = _action(section, request)
    try:
        await _apply_action(request, opened, action, given)
    except Invalid as error:
        _check_echo(request, error)
        return await _page(
            section, request, await _edited(section, request, opened), error.problems
        )
    except Conflict:
        return await conflict_page(section, request, text_id, given)
    if "content_html" in given:
        return _after(section, text_id, action, {**_of(opened), **_CHANGED_HTML})
    return _after(section, text_id, action, _of(opened))


def _of(opened: Opened) -> Mapping[str, str]:
    return _OF_PUBLISHED if opened.text["status"] == PUBLISHED else {}


def _check_echo(request: AdminRequest, error: Invalid) -> None:
    """A page with megabytes of text would take as long as the text that was refused."""
    if len(request.form.get("content_html", "")) > MAX_ECHO:
        raise BadRequest(
            words(
                "Nothing was saved. %(why)s The text is too long to show here "
                "again. Go back in your "
                "browser, which still has it.",
                why=" ".join(str(each.message) for each in error.problems.values()),
            )
        ) from error


def _after(
    section: Section, text_id: str, action: str, sentences: Mapping[str, str] | None = None
) -> Redirect:
    url = section.url(text_id)
    if action in _LEADS_TO:
        return Redirect(f"{url}/{_LEADS_TO[action]}")
    return Redirect(url, (sentences or {}).get(action) or _SENTENCES[action])


async def _apply_action(
    request: AdminRequest, opened: Opened, action: str, given: dict[str, Any]
) -> None:
    records, caller, text_id = request.records, request.caller, opened.text["id"]
    version = request.form.get("version", "")
    text = (records, caller, opened.kind, text_id)
    has_seen_both = "replaces_newer" in request.form
    if action == "review" and _is_the_same(opened, given):
        return
    if action == "convert" and "content_html" not in given:
        given, has_seen_both = {**given, "content_json": await converted(opened)}, True
    if action == "discard":
        await discard_copy(*text, version=version)
    elif action in _REVIEWS:
        await change_draft(*text, version=version, state=_REVIEWS[action], given=given)
    else:
        await save_text(*text, version=version, given=given, replaces_newer=has_seen_both)


def _is_the_same(opened: Opened, given: Mapping[str, Any]) -> bool:
    """Nothing was typed: a published text needs no working copy."""
    shown = with_shown_slug(opened.values)
    return all(
        shown.get(name) == value for name, value in with_kept_slug(opened.values, given).items()
    )


async def duplicate(section: Section, request: AdminRequest, text_id: str) -> Answer:
    """A new draft with what the editor shows of the text. Who copies a text begins it."""
    opened = await open_text(request.records, request.caller, section.kind, text_id)
    values = opened.values
    given = {name: values[name] for name in section.kind.edited if name not in _NOT_COPIED}
    given["title"] = str(words("%(title)s (copy)", title=values["title"][:_LONGEST_COPIED]))
    if values["content_source"] != JSON:
        # Older than the HTML.
        del given["content_json"]
    prepared = await request.records.prepare(section.texts, given)
    async with request.records.unit(request.caller, prepared=prepared) as unit:
        record = await unit.create(section.texts, given)
    return Redirect(
        section.url(record["id"]),
        words("This is a copy of “%(title)s”.", title=values["title"][:80]),
    )


async def delete_form(section: Section, request: AdminRequest, text_id: str) -> Answer:
    opened = await open_text(request.records, request.caller, section.kind, text_id)
    values = {"section": section, "text": opened.text, "back": section.url(text_id)}
    return Page(
        "texts/delete.html", words("Delete “%(title)s”?", title=opened.text["title"]), values
    )


async def delete(section: Section, request: AdminRequest, text_id: str) -> Answer:
    record = await request.records.delete(request.caller, section.texts, text_id)
    sentence = words("“%(title)s” is in the trash.", title=record["title"][:80])
    return Redirect(section.address, sentence, undo=restore_address(record))


def _read_only(section: Section, request: AdminRequest, opened: Opened) -> Page:
    """An own post of a contributor, once it is published or scheduled."""
    post = opened.text
    kind, status = status_of(request, post)
    values = {
        "section": section,
        "own": section.url(post["id"]),
        "kind": kind,
        "status": status,
        "is_published": post["status"] == PUBLISHED,
        "site_path": _site_path(section, request, post) if _has_page(post) else "",
    }
    return Page("texts/read.html", post["title"], values)


def _new(section: Section, request: AdminRequest, text_id: str) -> _Edited:
    record = {**section.empty(), "id": text_id}
    if section.has_authors:
        record["authors"] = beginners(section, request)
    return _Edited(record, NEW, is_new=True)


def _has_page(text: Record) -> bool:
    return text["status"] == PUBLISHED and not text.get("email_only")


def _site_path(section: Section, request: AdminRequest, text: Record) -> str:
    return f"{request.site_url}{section.site_prefix}{text['slug']}"


async def _edited(section: Section, request: AdminRequest, opened: Opened) -> _Edited:
    values = opened.values
    edited = _Edited(
        values,
        opened.version,
        has_copy=opened.copy is not None,
        is_outdated=opened.is_outdated,
        has_page=_has_page(opened.text),
        review=await review_of(request, opened.text) if section.has_review else None,
    )
    opening = opened_document(values["content_json"]) if values["content_source"] == JSON else None
    if opening is not None and not opening.lacks:
        return replace(edited, document=opening.document)
    lacks = tuple(sorted(opening.lacks)) if opening else ()
    found = await open_html(values["content_html"])
    if not lacks and found.is_same and (opening := opened_document(found.document)):
        return replace(edited, document=opening.document)
    return replace(edited, lacks=lacks, conversion=found)


def _action(section: Section, request: AdminRequest) -> str:
    action = request.form.get("action", "save")
    if action not in _SENTENCES or (action in _REVIEWS and not section.has_review):
        raise BadRequest(
            section.said(
                words("Choose what to do with the post."), words("Choose what to do with the page.")
            )
        )
    return action


async def _library_alts(section: Section, request: AdminRequest, record: Record) -> dict[str, str]:
    """The library's alternative texts of the pictures in a text, by their id: readers get them
    where the text has none of its own."""
    uses = uses_of(section.texts)
    ids = sorted(uses.files(record))[:_MOST_PICTURES] if uses else []
    if not ids:
        return {}
    found = await request.records.find_related(request.caller, media, "id", ids, limit=len(ids))
    return {each["id"]: each["alt"] for each in found if each["alt"]}


async def _page(
    section: Section,
    request: AdminRequest,
    edited: _Edited,
    problems: Mapping[str, Problem] | None = None,
) -> Page:
    record = edited.record
    asks = await _with_known_tags(request, await asks_of(section, request, record))
    typed = request.form if problems else None
    shown = with_shown_slug(record)
    fields = widgets(request.caller, section.texts, asks, shown, typed=typed, problems=problems)
    fields["slug"] = replace(fields["slug"], placeholder=made_slug(record))
    has_copy = edited.has_copy
    badge, status = (
        ("draft", words("New")) if edited.is_new else status_of(request, record, has_copy=has_copy)
    )
    own = section.url(record["id"])
    wanted = request.query.get("as", "")
    in_editor = wanted != "html" and edited.can_open
    values = {
        "section": section,
        "is_new": edited.is_new,
        "kind": badge,
        "status": status,
        "is_published": record["status"] == PUBLISHED,
        "has_page": edited.has_page,
        "has_copy": has_copy,
        "is_outdated": edited.is_outdated,
        "fields": fields,
        "problems": {
            name: (fields[name].label if name in fields else name, sentence_of(problem))
            for name, problem in (problems or {}).items()
        },
        "action": f"{section.address}/new" if edited.is_new else own,
        "own": own,
        "mails": await mail_link(section, request, record),
        "new_url": f"{section.address}/new?id={record['id']}" if edited.is_new else "",
        "version": request.form.get("version", "") if problems else edited.version,
        "saved": "" if edited.is_new else request.when(record["updated"]),
        "site_path": _site_path(section, request, record),
        "may_publish": may_publish(request, section),
        "review": edited.review,
        "result": _result(section, request, record),
        "asks_name": bool(beginners(section, request)) and not request.account["name"],
        "can_open": edited.can_open,
        "lacks": edited.lacks,
        "conversion": edited.conversion,
        "difference": await difference_of(record, edited.conversion),
        "document_json": _json(edited.document),
        "library_alts": _json(await _library_alts(section, request, record) if in_editor else {}),
        "owner": request.page_owner,
        "saves_snippets": may_write(request),
        "email": request.account.get("email", ""),
        # On the service's own host the address does not name the site.
        "tenant_id": "" if request.context.tenant else request.tenant_id,
    }
    title = record["title"]
    if edited.is_new:
        title = section.said(words("New post"), words("New page"))
    template = "texts/editor.html" if in_editor else "texts/edit.html"
    return Page(template, title, values, status=422 if problems else 200)


async def _with_known_tags(request: AdminRequest, asks: tuple[Ask, ...]) -> tuple[Ask, ...]:
    return tuple(
        [await with_known_tags(request, each) if each.name == "tags" else each for each in asks]
    )


def _result(section: Section, request: AdminRequest, record: Record) -> dict[str, str]:
    """Values of the head that the text's page will have: see `faces/reader/pages/texts.py`."""
    summary = lists_show(record)["summary"] if section.is_listed else ""
    folder = section.site_prefix.strip("/")
    return {
        "host": urlsplit(request.site_url).netloc,
        "place": f"{folder} › " if folder else "",
        "slug": record["slug"],
        "title": record["seo_title"]
        or f"{record['title'] or words('Untitled')} · {request.site_name}",
        "description": (record["seo_description"] or record["excerpt"] or summary)[:_DESCRIPTION],
        "summary": summary,
        "picture": small(record["featured_image"], _SHARED_PICTURE),
    }


def _json(document: dict[str, Any] | None) -> str:
    return msgspec.json.encode(document).decode() if document else ""
