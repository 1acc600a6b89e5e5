"""One change of comments: approve, hold back, mark as spam or delete what is selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from masthead.base.errors import BadRequest
from masthead.base.languages.words import words
from masthead.engine.records.write.unit import Unit
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.pages.comments.listing import CommentList, place_of
from masthead.faces.admin.pages.undo import undo_address
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.selected import Selection, change_each, done_in_words, read_selection
from masthead.features.comments.collection import APPROVED, PENDING, SPAM, comments
from masthead.features.undo.undoing import Steps

_STATUS = {"approve": APPROVED, "hold": PENDING, "spam": SPAM}
_DONE = {
    "approve": words("approved"),
    "hold": words("held back"),
    "spam": words("marked as spam"),
    "delete": words("deleted"),
}
_TITLES = {
    "approve": words("Approve these comments?"),
    "hold": words("Hold these comments?"),
    "spam": words("Mark these comments as spam?"),
    "delete": words("Delete these comments?"),
}


async def change_comments(request: AdminRequest) -> Answer:
    """`one` is the button of a row, `<action>.<id>`; `action` is about what is ticked."""
    request.records.check_may_update(request.caller, comments, "")
    form = request.form
    filters = CommentList.of(form)
    action, _, one = form.get("one", "").partition(".")
    action = action or form.get("action", "")
    if action not in _DONE:
        raise BadRequest(words("Choose what to do with the selected comments."))
    chosen = Selection([one]) if one else await read_selection(request, filters.listing(request))
    if not chosen.ids:
        return Redirect(filters.url(**place_of(form)), words("No comment was selected."))
    if (chosen.is_all or action == "delete") and "confirmed" not in form:
        return _question(form, filters, action, chosen)
    steps = Steps(request.caller, comments, ("status",))

    async def change(unit: Unit, comment_id: str) -> None:
        await _change_one(unit, comment_id, action, steps)

    await change_each(request, steps, chosen.ids, change)
    sentence = done_in_words("comments", _DONE[action], steps.count, len(chosen.ids))
    return Redirect(_back(form, filters, chosen.ids), sentence, undo=undo_address(steps))


def _back(form: Mapping[str, str], filters: CommentList, chosen: Sequence[str]) -> str:
    """The list, at the comment that came after those."""
    order = form.get("order", "").split(",")
    left = set(chosen)
    last = max((at for at, each in enumerate(order) if each in left), default=-1)
    following = [each for each in order[last + 1 :] if each not in left]
    more = {"current": following[0]} if following else {}
    return filters.url(**place_of(form), **more)


def _question(
    form: Mapping[str, str], filters: CommentList, action: str, chosen: Selection
) -> Page:
    current = {} if chosen.is_all else {"current": chosen.ids[0]}
    values = {
        "filters": filters,
        "action": action,
        "chosen": chosen.values(),
        "place": place_of(form) | {"order": form.get("order", "")},
        "back": filters.url(**place_of(form), **current),
    }
    is_one = len(chosen.ids) == 1 and not chosen.is_all
    title = words("Delete this comment?") if is_one else _TITLES[action]
    return Page("comments/change.html", title, values)


async def _change_one(unit: Unit, comment_id: str, action: str, steps: Steps) -> None:
    if action == "delete":
        steps.note_deletion(await unit.delete(comments, comment_id))
        return
    found = await unit.require(comments, {"id": comment_id})
    record = await unit.update(comments, comment_id, {"status": _STATUS[action]})
    steps.note_change(found, record)
