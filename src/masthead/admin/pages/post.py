"""One post as a form: the editor that works without script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masthead import ids
from masthead.admin.endpoint import Answer, Moved, Shown
from masthead.admin.forms import Ask, given_values, sentence_of, widgets
from masthead.admin.pages.people import staff_names
from masthead.admin.pages.posts import ADDRESS, READERS, status_of
from masthead.admin.request import AdminRequest
from masthead.caller import Kind
from masthead.editing.texts import POSTS, Opened, open_text, put_live, save_text
from masthead.errors import BadRequest, Conflict, Invalid, Problem
from masthead.posts.collection import posts
from masthead.records.collection import Record
from masthead.records.write.publication import DRAFT, PUBLISHED

MAX_FORM = 20 * 1024 * 1024
"""Bytes: a text of the greatest length, in which every character is encoded."""

_ACTIONS = ("save", "publish", "unpublish")
_SHOWN = frozenset({"title", "status"})
_SENTENCES = {"save": "Saved.", "publish": "The post is published.", "unpublish": "It is a draft."}


async def _asks(request: AdminRequest, record: Record) -> tuple[Ask, ...]:
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


async def new_post_form(request: AdminRequest) -> Answer:
    request.records.check_may_create(request.caller, posts)
    return await _form(request, _empty())


async def new_post(request: AdminRequest) -> Answer:
    given = await _given(request, _empty())
    action = _action(request)
    if action == "publish":
        given["status"] = PUBLISHED
    try:
        record = await request.records.create(request.caller, posts, given)
    except Invalid as error:
        return await _form(request, _empty(), error.problems)
    return Moved(f"{ADDRESS}/{record['id']}", _SENTENCES[action])


async def post_form(request: AdminRequest, post_id: str) -> Answer:
    opened = await open_text(request.records, request.caller, POSTS, post_id)
    return await _form(request, opened.values, opened=opened)


async def save_post(request: AdminRequest, post_id: str) -> Answer:
    opened = await open_text(request.records, request.caller, POSTS, post_id)
    given = await _given(request, opened.values)
    action = _action(request)
    # Unchanged but for line ends, which a browser rewrites: not the author's change.
    if given.get("content_html") == _lines(opened.values["content_html"]):
        del given["content_html"]
    try:
        text = await _saved(request, opened, given, action)
    except Invalid as error:
        return await _form(request, opened.values, error.problems, opened)
    except Conflict:
        return await _conflict(request, post_id, given)
    sentence = _SENTENCES[action]
    if action == "save" and text["status"] == PUBLISHED:
        sentence = "The change is live."
    return Moved(f"{ADDRESS}/{post_id}", sentence)


async def _saved(
    request: AdminRequest, opened: Opened, given: Mapping[str, Any], action: str
) -> Record:
    """The post after the change. Of a published one the form has no other state than the live one:
    what is saved goes live at once, with what an editor has left in the working copy."""
    records, caller, post_id = request.records, request.caller, opened.text["id"]
    version = request.form.get("version", "")
    has_seen_both = "replaces_newer" in request.form
    saved = await save_text(
        records, caller, POSTS, post_id, version, given, replaces_newer=has_seen_both
    )
    if action == "publish" or (action == "save" and saved.text["status"] == PUBLISHED):
        saved = await put_live(records, caller, POSTS, post_id, saved.version)
    elif action == "unpublish":
        return await records.update(caller, posts, post_id, {"status": DRAFT})
    return saved.text


async def delete_form(request: AdminRequest, post_id: str) -> Answer:
    record = await request.records.get(request.caller, posts, post_id, names=_SHOWN)
    values = {"post": record, "back": f"{ADDRESS}/{post_id}"}
    return Shown("posts/delete.html", f"Delete “{record['title']}”?", values)


async def delete_post(request: AdminRequest, post_id: str) -> Answer:
    record = await request.records.delete(request.caller, posts, post_id)
    return Moved(ADDRESS, f"“{record['title'][:80]}” is deleted.")


def _empty() -> Record:
    return {each.name: each.default_value() for each in posts.fields} | {"id": ""}


async def _given(request: AdminRequest, record: Record) -> dict[str, Any]:
    asks = await _asks(request, record)
    return given_values(request.caller, posts, asks, request.form)


def _action(request: AdminRequest) -> str:
    action = request.form.get("action", "save")
    if action not in _ACTIONS:
        raise BadRequest("Choose what to do with the post.")
    return action


async def _form(
    request: AdminRequest,
    record: Record,
    problems: Mapping[str, Problem] | None = None,
    opened: Opened | None = None,
) -> Shown:
    asks = await _asks(request, record)
    typed = request.form if problems else None
    fields = widgets(request.caller, posts, asks, record, typed, problems)
    is_new = not ids.is_id(record["id"])
    badge, status = ("draft", "New") if is_new else status_of(request, record)
    values = {
        "post": record,
        "is_new": is_new,
        "kind": badge,
        "status": status,
        "is_published": record["status"] == PUBLISHED,
        "fields": fields,
        "problems": {
            name: (fields[name].label if name in fields else name, sentence_of(problem))
            for name, problem in (problems or {}).items()
        },
        "action": f"{ADDRESS}/new" if is_new else f"{ADDRESS}/{record['id']}",
        "version": request.form.get("version", "") or (opened.version if opened else ""),
        "has_copy": opened is not None and opened.copy is not None,
        "is_outdated": opened is not None and opened.is_outdated,
        "saved": "" if is_new else request.when(record["updated"]),
        "site_path": f"{request.site_url}/posts/{record['slug']}",
        "has_document": record.get("content_json") is not None,
    }
    title = "New post" if is_new else record["title"]
    return Shown("posts/edit.html", title, values, status=422 if problems else 200)


async def _conflict(request: AdminRequest, post_id: str, given: Mapping[str, Any]) -> Shown:
    """Both texts. The stored one is read again: it is newer than the form."""
    opened = await open_text(request.records, request.caller, POSTS, post_id)
    newest = opened.values
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
        "hidden": hidden,
        "version": opened.version,
        "action": f"{ADDRESS}/{newest['id']}",
        "changed": request.when(newest["updated"]),
    }
    return Shown("posts/conflict.html", "Two versions", values, status=409)


def _text(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else _lines(str(value))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")
