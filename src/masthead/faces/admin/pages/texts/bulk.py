"""One change of many texts: publish, unpublish, tag or delete what is selected."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from masthead.base.errors import BadRequest, Invalid, NotFound
from masthead.content.texts.publication import DRAFT, PUBLISHED
from masthead.engine.records.collection import Collection
from masthead.engine.records.write.unit import Unit
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.pages.texts.lists import TextList
from masthead.faces.admin.pages.undo import undo_address
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.selected import MOST, PER_UNIT, SELECT, find_matching, ticked
from masthead.features.undo.undoing import Steps

DONE = {
    "publish": "published",
    "unpublish": "unpublished",
    "tag": "tagged",
    "untag": "changed",
    "delete": "in the trash",
}
_STATUS = {"publish": PUBLISHED, "unpublish": DRAFT}
_OF_TAGS = ("tag", "untag")


async def change_selected(filters_of: type[TextList], request: AdminRequest) -> Answer:
    form = request.form
    filters = filters_of.of(form)
    section = filters.section
    action = form.get("action", "")
    if action not in DONE or (action in _OF_TAGS and not section.has_tags):
        raise BadRequest(f"Choose what to do with the selected {section.noun}s.")
    is_all = form.get("all") == "1"
    listing = filters.listing(request)
    chosen = await find_matching(request, listing) if is_all else ticked(form)
    if not chosen:
        return Redirect(filters.url(), f"No {section.noun} was selected.")
    tag = form.get("tag_name", "").strip()
    needs_tag = action in _OF_TAGS and not tag
    if needs_tag or ((is_all or action == "delete") and "confirmed" not in form):
        return _question(request, filters, action, chosen, is_all=is_all)
    steps = Steps(request.caller, section.texts, _undone(section.texts))
    try:
        await _change(request, section.texts, chosen, action, tag=tag, steps=steps)
    except Invalid as error:
        if action not in _OF_TAGS or "tags" not in error.problems:
            raise
        problem = error.problems["tags"].message
        return _question(request, filters, action, chosen, is_all=is_all, problem=problem)
    sentence = _sentence(section.noun, action, steps.count, len(chosen))
    return Redirect(filters.url(), sentence, undo=undo_address(steps))


def _undone(texts: Collection) -> tuple[str, ...]:
    names = ("status", "published_at", "scheduled_for", "tags")
    return tuple(name for name in names if name in texts.by_name)


def _question(
    request: AdminRequest,
    filters: TextList,
    action: str,
    chosen: Sequence[str],
    *,
    is_all: bool,
    problem: str = "",
) -> Page:
    noun = filters.section.noun
    values: dict[str, Any] = {
        "section": filters.section,
        "filters": filters,
        "action": action,
        "count": len(chosen),
        "is_all": is_all,
        "ticked": [] if is_all else [f"{SELECT}{each}" for each in chosen],
        "tag_name": request.form.get("tag_name", ""),
        "problem": problem,
        "back": filters.url(),
        "has_limit": is_all and len(chosen) == MOST,
    }
    return Page(
        "texts/bulk.html", _TITLES[action].format(noun=noun), values, status=422 if problem else 200
    )


_TITLES = {
    "publish": "Publish these {noun}s?",
    "unpublish": "Unpublish these {noun}s?",
    "tag": "Tag these {noun}s",
    "untag": "Remove a tag",
    "delete": "Delete these {noun}s?",
}


async def _change(
    request: AdminRequest,
    texts: Collection,
    chosen: Sequence[str],
    action: str,
    *,
    tag: str,
    steps: Steps,
) -> None:
    """Texts that are deleted, or that the caller may not change, are skipped."""
    for start in range(0, len(chosen), PER_UNIT):
        async with request.records.unit(request.caller) as unit:
            for text_id in chosen[start : start + PER_UNIT]:
                with suppress(NotFound):
                    await _change_one(unit, texts, text_id, action, tag=tag, steps=steps)
            steps.save(unit)


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


def _sentence(noun: str, action: str, changed: int, asked: int) -> str:
    if not changed:
        return "Nothing needed to change."
    what = f"1 {noun} is" if changed == 1 else f"{changed:,} {noun}s are"
    rest = asked - changed
    left = f" {rest:,} were not changed." if rest > 1 else " One was not changed."
    return f"{what} {DONE[action]}." + (left if rest else "")
