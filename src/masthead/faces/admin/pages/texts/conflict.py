"""The page that shows two versions of a text: the one that was sent, and the one that was stored in
the meantime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masthead.base.languages.words import words
from masthead.content.texts.editing import Opened, open_text
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Page
from masthead.faces.admin.forms import translation_lines
from masthead.faces.admin.pages.texts.values import plain_lines, with_kept_slug, with_shown_slug
from masthead.faces.admin.people import names_of
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import Section


async def conflict_page(
    section: Section, request: AdminRequest, text_id: str, given: Mapping[str, Any]
) -> Page:
    """Both texts. The stored one is read again: it is newer than the form."""
    opened = await open_text(request.records, request.caller, section.kind, text_id)
    newest = opened.text if opened.is_outdated else opened.values
    edited_by = last_changed(opened)["edited_by"]
    is_own = edited_by == request.caller.id
    [by] = await names_of(request, [edited_by])
    labels = {ask.name: ask.label for ask in section.asks}
    mine, theirs = with_kept_slug(newest, given), with_shown_slug(newest)
    pairs = [
        (labels[name], _text(name, mine[name]), _text(name, theirs[name]))
        for name in labels
        if name in mine and _text(name, mine[name]) != _text(name, theirs[name])
    ]
    hidden = {
        name: value for name, value in request.form.items() if name not in ("version", "form_token")
    }
    values = {
        "section": section,
        "text": newest,
        "cause": _cause(section, request, opened, by=by, is_own=is_own),
        "is_own": is_own,
        "pairs": pairs,
        "hidden": {**hidden, "replaces_newer": "1"},
        "version": opened.version,
        "action": section.url(text_id),
    }
    return Page("texts/conflict.html", words("Two versions"), values, status=409)


def last_changed(opened: Opened) -> Record:
    """The text or its working copy: what was saved last, and a save would replace."""
    return opened.text if opened.is_outdated or opened.copy is None else opened.copy


def was_just_published(opened: Opened) -> bool:
    """Its last change was its publication, by its schedule or by hand."""
    text = opened.text
    if last_changed(opened) is not text:
        return False
    return bool(text["status"] == PUBLISHED and text["updated"] == text["published_at"])


def _cause(
    section: Section, request: AdminRequest, opened: Opened, *, by: str, is_own: bool
) -> str:
    when = request.when(last_changed(opened)["updated"])
    if was_just_published(opened):
        return section.said(
            words("This post was published since you opened it: %(when)s.", when=when),
            words("This page was published since you opened it: %(when)s.", when=when),
        )
    if is_own:
        return section.said(
            words("You saved this post in another tab or browser since: %(when)s.", when=when),
            words("You saved this page in another tab or browser since: %(when)s.", when=when),
        )
    by = str(by)
    who = by[:1].upper() + by[1:] if by else words("Someone else or a program")
    return section.said(
        words("%(who)s has saved this post since you opened it: %(when)s.", who=who, when=when),
        words("%(who)s has saved this page since you opened it: %(when)s.", who=who, when=when),
    )


def _text(name: str, value: Any) -> str:
    if name == "translations":
        return translation_lines(value)
    return ", ".join(value) if isinstance(value, list) else plain_lines(str(value))
