"""The requests of the editor's script."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from masthead.base import clock, ids
from masthead.base.errors import BadRequest, Conflict, Invalid
from masthead.base.languages.words import words
from masthead.content.texts.content import JSON, convert_markdown
from masthead.content.texts.editing import Opened, discard_copy, open_text, save_text, with_html
from masthead.content.texts.editor_document import opened_document
from masthead.engine.records.collection import Record
from masthead.faces.admin.calls import JsonAnswer
from masthead.faces.admin.forms import given_values
from masthead.faces.admin.pages.texts.conflict import last_changed, was_just_published
from masthead.faces.admin.pages.texts.form import NEW
from masthead.faces.admin.pages.texts.lists import status_of
from masthead.faces.admin.pages.texts.values import asks_of, made_slug, stored_settings
from masthead.faces.admin.people import names_of
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import Section
from masthead.faces.importers.platforms.ghost.markdown import render_markdown

MAX_SAVE = 4 * 1024 * 1024
"""Bytes: twice the longest document that is stored."""
MAX_MARKDOWN = 512 * 1024
UNTITLED = words("Untitled")


async def save_call(
    section: Section, request: AdminRequest, body: dict[str, Any], text_id: str
) -> JsonAnswer:
    version = body.get("version")
    if not isinstance(version, str):
        raise BadRequest(words("The save lacks the version of the text. Open it again."))
    try:
        if version == NEW:
            return _saved(request, await _create_text(section, request, text_id, body))
        if body.get("discards") is True:
            return _saved(request, await _discard_changes(section, request, text_id, version))
        opened = await open_text(request.records, request.caller, section.kind, text_id)
        given = await _read_given(section, request, opened.values, body)
        opened = await save_text(
            request.records,
            request.caller,
            section.kind,
            text_id,
            version=version,
            given=given,
            replaces_newer=body.get("replaces") is True,
        )
    except Conflict:
        return await _differs(section, request, text_id, _form(body))
    return _saved(request, opened)


async def _create_text(
    section: Section, request: AdminRequest, text_id: str, body: Mapping[str, Any]
) -> Opened:
    """The page has chosen the id, so that a save whose answer was lost makes no second text."""
    given = await with_html(await _read_given(section, request, section.empty(), body))
    try:
        await request.records.create(request.caller, section.texts, {**given, "id": text_id})
    except Invalid as error:
        if "id" in error.problems and ids.is_id(text_id):
            raise Conflict from error
        raise
    return await open_text(request.records, request.caller, section.kind, text_id)


async def _discard_changes(
    section: Section, request: AdminRequest, text_id: str, version: str
) -> Opened:
    return await discard_copy(
        request.records, request.caller, section.kind, text_id, version=version
    )


async def _read_given(
    section: Section, request: AdminRequest, stored: Record, body: Mapping[str, Any]
) -> dict[str, Any]:
    document = body.get("content_json")
    if not isinstance(document, dict) or document.get("type") != "doc":
        raise BadRequest(words("The request contains no document."))
    asks = await asks_of(section, request, stored)
    given = given_values(request.caller, section.texts, asks, _form(body))
    given.pop("content_html", None)
    # A draft may have no title yet.
    given["title"] = given.get("title") or UNTITLED
    return {**given, "content_json": document}


def _form(body: Mapping[str, Any]) -> dict[str, str]:
    return {name: value for name, value in body.items() if isinstance(value, str)}


def _saved(request: AdminRequest, opened: Opened) -> JsonAnswer:
    return JsonAnswer(
        {
            "version": opened.version,
            "saved_at": _now(request),
            "made_slug": made_slug(opened.values),
            "state": _state(request, opened),
        }
    )


def _state(request: AdminRequest, opened: Opened) -> dict[str, str]:
    """The state of the text for the bar."""
    kind, words = status_of(request, opened.values, has_copy=opened.copy is not None)
    return {"kind": kind, "words": words}


def _now(request: AdminRequest) -> str:
    return clock.to_text(request.records.clock())


async def _differs(
    section: Section, request: AdminRequest, text_id: str, form: Mapping[str, str]
) -> JsonAnswer:
    """The stored text, for the author to compare with the form that was sent."""
    opened = await open_text(request.records, request.caller, section.kind, text_id)
    # Where the live text was changed after its working copy was begun, the two are in conflict.
    theirs = opened.text if opened.is_outdated or opened.copy is None else opened.values
    changed = last_changed(opened)
    opening = opened_document(theirs["content_json"]) if theirs["content_source"] == JSON else None
    [by] = await names_of(request, [changed["edited_by"]])
    return JsonAnswer(
        {
            "version": opened.version,
            "title": theirs["title"],
            "content_json": opening.document if opening else None,
            "content_html": theirs["content_html"],
            "fields": await stored_settings(section, request, theirs, form),
            "is_live": opened.is_outdated,
            "is_published": was_just_published(opened),
            "is_own": changed["edited_by"] == request.caller.id,
            "by": by,
            "state": _state(request, opened),
            "at": changed["updated"],
        },
        409,
    )


async def token_call(request: AdminRequest) -> JsonAnswer:
    """For a page that was open while its user signed in again."""
    return JsonAnswer({"form_token": request.services.form_tokens.of(request.form_binding)})


async def markdown_call(_: AdminRequest, body: dict[str, Any]) -> JsonAnswer:
    text = body.get("text")
    if not isinstance(text, str):
        raise BadRequest(words("Send the text to convert."))
    if body.get("exactly") is True:
        # Of a program, which writes Markdown on purpose.
        return JsonAnswer({"html": (await convert_markdown(text, keeps_lines=True)).content_html})
    return JsonAnswer({"html": await asyncio.to_thread(render_markdown, text)})
