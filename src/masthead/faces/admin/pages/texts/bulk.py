"""One change of many texts: publish, unpublish, tag or delete what is selected."""

from __future__ import annotations

from typing import Any

from masthead.base.errors import BadRequest, Invalid, NotFound
from masthead.base.languages.words import words
from masthead.content.texts.publication import DRAFT, PUBLISHED
from masthead.engine.records.collection import Collection
from masthead.engine.records.write.unit import Unit
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.pages.texts.lists import TextList
from masthead.faces.admin.pages.undo import undo_address
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.selected import Selection, change_each, done_in_words, read_selection
from masthead.features.undo.undoing import Steps

DONE = {
    "publish": words("published"),
    "unpublish": words("unpublished"),
    "tag": words("tagged"),
    "untag": words("changed"),
    "delete": words("in the trash"),
}
_STATUS = {"publish": PUBLISHED, "unpublish": DRAFT}
_OF_TAGS = ("tag", "untag")


async def change_selected(filters_of: type[TextList], request: AdminRequest) -> Answer:
    form = request.form
    filters = filters_of.of(form)
    section = filters.section
    action = form.get("action", "")
    if action not in DONE or (action in _OF_TAGS and not section.has_tags):
        raise BadRequest(
            section.said(
                words("Choose what to do with the selected posts."),
                words("Choose what to do with the selected pages."),
            )
        )
    chosen = await read_selection(request, filters.listing(request))
    if not chosen.ids:
        return Redirect(
            filters.url(),
            section.said(words("No post was selected."), words("No page was selected.")),
        )
    tag = form.get("tag_name", "").strip()
    needs_tag = action in _OF_TAGS and not tag
    if needs_tag or ((chosen.is_all or action == "delete") and "confirmed" not in form):
        return _question(request, filters, action, chosen)
    steps = Steps(request.caller, section.texts, _undone(section.texts))

    async def change(unit: Unit, text_id: str) -> None:
        await _change_one(unit, section.texts, text_id, action, tag=tag, steps=steps)

    try:
        await change_each(request, steps, chosen.ids, change)
    except Invalid as error:
        if action not in _OF_TAGS or "tags" not in error.problems:
            raise
        problem = error.problems["tags"].message
        return _question(request, filters, action, chosen, problem=problem)
    sentence = done_in_words(section.texts.name, DONE[action], steps.count, len(chosen.ids))
    return Redirect(filters.url(), sentence, undo=undo_address(steps))


def _undone(texts: Collection) -> tuple[str, ...]:
    names = ("status", "published_at", "scheduled_for", "tags")
    return tuple(name for name in names if name in texts.by_name)


def _question(
    request: AdminRequest,
    filters: TextList,
    action: str,
    chosen: Selection,
    *,
    problem: str = "",
) -> Page:
    values: dict[str, Any] = {
        "section": filters.section,
        "filters": filters,
        "action": action,
        "chosen": chosen.values(),
        "tag_name": request.form.get("tag_name", ""),
        "problem": problem,
        "back": filters.url(),
    }
    return Page(
        "texts/bulk.html",
        filters.section.said(*_TITLES[action]),
        values,
        status=422 if problem else 200,
    )


_TITLES = {
    "publish": (words("Publish these posts?"), words("Publish these pages?")),
    "unpublish": (words("Unpublish these posts?"), words("Unpublish these pages?")),
    "tag": (words("Tag these posts"), words("Tag these pages")),
    "untag": (words("Remove a tag"), words("Remove a tag")),
    "delete": (words("Delete these posts?"), words("Delete these pages?")),
}


async def _change_one(
    unit: Unit, texts: Collection, text_id: str, action: str, *, tag: str, steps: Steps
) -> None:
    if action == "delete":
        steps.note_deletion(await unit.delete(texts, text_id))
        return
    found = await unit.find(texts, {"id": text_id}, limit=1)
    if not found:
        raise NotFound
    [old] = found
    if action in _STATUS:
        given: dict[str, Any] = {"status": _STATUS[action]}
    else:
        others = [each for each in old["tags"] if each != tag]
        given = {"tags": [*others, tag] if action == "tag" else others}
        if action == "tag" and tag in old["tags"]:
            given = {}
    steps.note_change(old, await unit.update(texts, text_id, given))
