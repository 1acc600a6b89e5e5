"""One post: in the editor, or as a form of its HTML. Both work without script."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from masthead import clock, ids
from masthead.admin.endpoint import Answer, Moved, Shown
from masthead.admin.forms import Ask, given_values, sent_values, sentence_of, widgets
from masthead.admin.pages.people import staff_names
from masthead.admin.pages.posts import ADDRESS, READERS, status_of
from masthead.admin.request import AdminRequest
from masthead.caller import Kind
from masthead.editing.texts import (
    POSTS,
    Opened,
    discard_copy,
    open_text,
    put_live,
    save_text,
    schedule,
    take_down,
)
from masthead.errors import BadRequest, Conflict, Invalid, Problem
from masthead.posts.collection import posts
from masthead.posts.content import JSON
from masthead.posts.opening import opened_document
from masthead.records.collection import Record
from masthead.records.write.publication import PUBLISHED
from masthead.records.write.slugs import slugify

MAX_FORM = 20 * 1024 * 1024
"""Bytes: a text of the greatest length, in which every character is encoded."""
LATER = "publish_on"
"""The field of the time at which a draft publishes itself."""
NEW = "new"
"""The version of a post that is not stored yet."""

_TEXT = frozenset({"title", "content_html"})
_SENTENCES = {
    "save": "Saved.",
    "publish": "The post is published.",
    "unpublish": "It is a draft.",
    "discard": "The changes are discarded.",
    "schedule": "The post publishes itself at that time.",
    "unschedule": "It does not publish itself any more.",
}


async def asks_of(request: AdminRequest, record: Record) -> tuple[Ask, ...]:
    """Whom the form does not know by name stays an author all the same."""
    names = await staff_names(request)
    authors = dict.fromkeys(record["authors"], "Another author") | names
    asks = _rows(authors)
    if request.caller.kind is Kind.AUTHOR:
        # Only editors and owners may name authors.
        return tuple(each for each in asks if each.name != "authors")
    return asks


def _rows(authors: Mapping[str, str]) -> tuple[Ask, ...]:
    return (
        Ask("title", "Title"),
        Ask("content_html", "Text, as HTML", rows=24),
        Ask("slug", "Address", "Empty: made from the title.", prefix="/posts/"),
        Ask("visibility", "Who may read", choices=READERS),
        Ask("tags", "Tags", "Separated by commas."),
        Ask("excerpt", "Excerpt", "Shown in lists and search results.", rows=4),
        Ask("authors", "Authors", "Nobody: the owner.", choices=authors),
        Ask("featured_image", "Picture", "The address of a picture, or a path such as /media/…"),
        Ask("seo_title", "Title for search engines", "Empty: the title."),
        Ask("seo_description", "Description for search engines", "Empty: the excerpt.", rows=3),
    )


@dataclass(frozen=True, slots=True)
class _Edited:
    """A post on its page."""

    record: Record
    version: str
    is_new: bool = False
    has_copy: bool = False
    """Changes that are not on the site yet."""
    is_outdated: bool = False
    """The live post is newer than the copy."""
    document: dict[str, Any] | None = None
    lacks: tuple[str, ...] = ()
    """What the editor has no part for."""

    @property
    def can_open(self) -> bool:
        """Whether the editor shows all of it."""
        return self.document is not None or not self.record["content_html"]


async def new_post_form(request: AdminRequest) -> Answer:
    """The id is chosen here and stays in the address, so that a reload finds what was typed."""
    request.records.check_may_create(request.caller, posts)
    chosen = request.query.get("id", "")
    if not ids.is_id(chosen):
        return await _page(request, _new(ids.new_id()))
    if await request.records.find(posts, {"id": chosen}, tenant_id=request.tenant_id):
        return Moved(f"{ADDRESS}/{chosen}")
    return await _page(request, _new(chosen))


async def new_post(request: AdminRequest) -> Answer:
    edited = _new(ids.new_id())
    given = await _given(request, edited.record)
    action = _action(request)
    if action == "publish":
        given["status"] = PUBLISHED
    try:
        record = await request.records.create(request.caller, posts, given)
    except Invalid as error:
        return await _page(request, edited, error.problems)
    return Moved(f"{ADDRESS}/{record['id']}", _SENTENCES[action])


async def post_form(request: AdminRequest, post_id: str) -> Answer:
    """The editor, or the HTML where the editor lacks something. `as` chooses one of them."""
    opened = await open_text(request.records, request.caller, POSTS, post_id)
    return await _page(request, _edited(opened))


async def save_post(request: AdminRequest, post_id: str) -> Answer:
    opened = await open_text(request.records, request.caller, POSTS, post_id)
    given = await _given(request, opened.values)
    action = _action(request)
    try:
        await _changed(request, opened, action, given)
    except Invalid as error:
        return await _page(request, _edited(opened), error.problems)
    except Conflict:
        return await _conflict(request, post_id, given)
    sentence = _SENTENCES[action]
    if opened.text["status"] == PUBLISHED:
        sentence = {
            "save": "Saved. The site shows it after Update.",
            "publish": "The change is live.",
        }.get(action, sentence)
    return Moved(f"{ADDRESS}/{post_id}", sentence)


async def _changed(
    request: AdminRequest, opened: Opened, action: str, given: dict[str, Any]
) -> None:
    text = (request.records, request.caller, POSTS, opened.text["id"])
    version = request.form.get("version", "")
    has_seen_both = "replaces_newer" in request.form
    moment = _chosen_moment(request) if action == "schedule" else ""
    if action == "discard":
        await discard_copy(*text, version)
    elif opened.text["status"] != PUBLISHED and action == "publish":
        await put_live(*text, version, given)
    else:
        saved = await save_text(*text, version, given, replaces_newer=has_seen_both)
        if action == "publish":
            await put_live(*text, saved.version)
        elif action == "unpublish":
            await take_down(*text, saved.version)
        elif action in ("schedule", "unschedule"):
            records, caller, _, post_id = text
            await schedule(records, caller, post_id, saved.version, moment)


def _chosen_moment(request: AdminRequest) -> str:
    """Of the form, in the site's time zone."""
    try:
        chosen = datetime.fromisoformat(request.form.get(LATER, ""))
        moment = chosen.replace(tzinfo=request.time_zone).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Invalid(
            {LATER: Problem("validation_invalid_date", "Choose a day and a time.")}
        ) from error
    if moment <= request.now:
        raise Invalid({LATER: Problem("validation_past", "Choose a time in the future.")})
    return clock.to_text(moment)


async def delete_form(request: AdminRequest, post_id: str) -> Answer:
    opened = await open_text(request.records, request.caller, POSTS, post_id)
    values = {"post": opened.text, "back": f"{ADDRESS}/{post_id}"}
    return Shown("posts/delete.html", f"Delete “{opened.text['title']}”?", values)


async def delete_post(request: AdminRequest, post_id: str) -> Answer:
    record = await request.records.delete(request.caller, posts, post_id)
    return Moved(ADDRESS, f"“{record['title'][:80]}” is deleted.")


def empty_post() -> Record:
    return {each.name: each.default_value() for each in posts.fields} | {"id": "", "version": 0}


def _new(post_id: str) -> _Edited:
    return _Edited({**empty_post(), "id": post_id}, NEW, is_new=True)


def _edited(opened: Opened) -> _Edited:
    values = opened.values
    edited = _Edited(
        values,
        opened.version,
        has_copy=opened.copy is not None,
        is_outdated=opened.is_outdated,
    )
    opening = opened_document(values["content_json"]) if values["content_source"] == JSON else None
    if opening is None:
        return edited
    if opening.lacks:
        return replace(edited, lacks=tuple(sorted(opening.lacks)))
    return replace(edited, document=opening.document)


async def _given(request: AdminRequest, record: Record) -> dict[str, Any]:
    asks = await asks_of(request, record)
    given = given_values(request.caller, posts, asks, request.form)
    # Unchanged but for line ends, which a browser rewrites: not the author's change.
    if given.get("content_html") == _lines(record["content_html"]):
        del given["content_html"]
    return given


def _action(request: AdminRequest) -> str:
    action = request.form.get("action", "save")
    if action not in _SENTENCES:
        raise BadRequest("Choose what to do with the post.")
    return action


async def _page(
    request: AdminRequest, edited: _Edited, problems: Mapping[str, Problem] | None = None
) -> Shown:
    record = edited.record
    asks = await asks_of(request, record)
    typed = request.form if problems else None
    fields = widgets(request.caller, posts, asks, _with_shown_slug(record), typed, problems)
    badge, status = ("draft", "New") if edited.is_new else status_of(request, record)
    own = f"{ADDRESS}/{record['id']}"
    wanted = request.query.get("as", "")
    in_editor = wanted != "html" and (edited.can_open or wanted == "editor")
    values = {
        "post": record,
        "is_new": edited.is_new,
        "kind": badge,
        "status": status,
        "is_published": record["status"] == PUBLISHED,
        "has_copy": edited.has_copy,
        "is_outdated": edited.is_outdated,
        "fields": fields,
        "problems": {
            name: (fields[name].label if name in fields else "Publish later", sentence_of(problem))
            for name, problem in (problems or {}).items()
        },
        "action": f"{ADDRESS}/new" if edited.is_new else own,
        "own": own,
        "new_url": f"{ADDRESS}/new?id={record['id']}" if edited.is_new else "",
        "version": request.form.get("version", "") if problems else edited.version,
        "saved": "" if edited.is_new else request.when(record["updated"]),
        "site_path": f"{request.site_url}/posts/{record['slug']}",
        "later": _later(request, record),
        "can_open": edited.can_open,
        "lacks": edited.lacks,
        "document_json": _json(edited.document),
        "owner": request.page_owner,
        # On the service's own host the address does not name the site.
        "tenant_id": "" if request.context.tenant else request.tenant_id,
    }
    title = "New post" if edited.is_new else record["title"]
    template = "posts/editor.html" if in_editor else "posts/edit.html"
    return Shown(template, title, values, status=422 if problems else 200)


async def stored_settings(
    request: AdminRequest, stored: Record, form: Mapping[str, str]
) -> dict[str, str]:
    """All that `form` holds but title and text, with the stored values. What means the same as the
    stored value is returned as it was sent, so that the editor can compare the two as texts."""
    asks = [each for each in await asks_of(request, stored) if each.name not in _TEXT]
    given = given_values(request.caller, posts, asks, form)
    if stored["status"] == PUBLISHED and given.get("slug") == "":
        # The address of a published post stays.
        given["slug"] = stored["slug"]
    shown = widgets(request.caller, posts, asks, _with_shown_slug(stored))
    wanted = widgets(request.caller, posts, asks, _with_shown_slug({**stored, **given}))
    found: dict[str, str] = {}
    for name in given:
        own = (name, f"has_{name}")
        sent = {key: form[key] for key in form if key in own or key.partition(".")[0] == name}
        found |= sent if wanted[name] == shown[name] else sent_values(shown[name])
    return found


def _later(request: AdminRequest, record: Record) -> dict[str, str]:
    """What the panel says about the time at which a draft publishes itself."""
    at = record["scheduled_for"]
    typed = request.form.get(LATER, "")
    return {
        "name": LATER,
        "value": typed or (f"{request.local(at):%Y-%m-%dT%H:%M}" if at else ""),
        "when": request.when(at) if at else "",
        "zone": str(request.time_zone),
    }


def _json(document: dict[str, Any] | None) -> str:
    return msgspec.json.encode(document).decode() if document else ""


def _with_shown_slug(record: Record) -> Record:
    """The slug of a draft follows its title until one is chosen."""
    made = re.escape(slugify(record["title"]))
    is_own = not re.fullmatch(rf"{made}(-\d+)?", record["slug"])
    return record if is_own or record["status"] == PUBLISHED else {**record, "slug": ""}


async def _conflict(request: AdminRequest, post_id: str, given: Mapping[str, Any]) -> Shown:
    """Both texts. The stored one is read again: it is newer than the form."""
    opened = await open_text(request.records, request.caller, POSTS, post_id)
    newest = opened.text if opened.is_outdated else opened.values
    labels = {ask.name: ask.label for ask in _rows({})}
    pairs = [
        (labels[name], _text(given[name]), _text(newest[name]))
        for name in labels
        if name in given and _text(given[name]) != _text(newest[name])
    ]
    hidden = {
        name: value for name, value in request.form.items() if name not in ("version", "form_token")
    }
    values = {
        "post": newest,
        "pairs": pairs,
        "hidden": {**hidden, "replaces_newer": "1"},
        "version": opened.version,
        "action": f"{ADDRESS}/{newest['id']}",
        "changed": request.when(newest["updated"]),
    }
    return Shown("posts/conflict.html", "Two versions", values, status=409)


def _text(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else _lines(str(value))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")
