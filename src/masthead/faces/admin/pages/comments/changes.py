"""One change of comments: approve, hold back, mark as spam or delete what is selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from masthead.base.errors import BadRequest, NotFound
from masthead.engine.records.write.unit import Unit
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.pages.comments.listing import CommentFilters, email_of, place_of
from masthead.faces.admin.pages.undo import undo_address
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.selected import MOST, PER_UNIT, SELECT, find_matching, ticked
from masthead.features.comments.collection import APPROVED, PENDING, SPAM, comments
from masthead.features.undo.undoing import Steps

_STATUS = {"approve": APPROVED, "hold": PENDING, "spam": SPAM}
_DONE = {
    "approve": "approved",
    "hold": "held back",
    "spam": "marked as spam",
    "delete": "deleted",
}
_TITLES = {
    "approve": "Approve these comments?",
    "hold": "Hold these comments?",
    "spam": "Mark these comments as spam?",
    "delete": "Delete these comments?",
}


async def change_comments(request: AdminRequest) -> Answer:
    """`one` is the button of a row, `<action>.<id>`; `action` is about what is ticked."""
    request.records.check_may_update(request.caller, comments, "")
    form = request.form
    filters = CommentFilters.of(form)
    action, _, one = form.get("one", "").partition(".")
    action = action or form.get("action", "")
    if action not in _DONE:
        raise BadRequest("Choose what to do with the selected comments.")
    is_all = not one and form.get("all") == "1"
    if is_all:
        chosen = await find_matching(request, filters.listing(email_of(request, filters)))
    else:
        chosen = [one] if one else ticked(form)
    if not chosen:
        return Redirect(filters.url(**place_of(form)), "No comment was selected.")
    if (is_all or action == "delete") and "confirmed" not in form:
        return _question(form, filters, action, chosen, is_all=is_all)
    steps = await _change(request, chosen, action)
    sentence = _sentence(action, steps.count, len(chosen))
    return Redirect(_back(form, filters, chosen), sentence, undo=undo_address(steps))


def _back(form: Mapping[str, str], filters: CommentFilters, chosen: Sequence[str]) -> str:
    """The list, at the comment that came after those."""
    order = form.get("order", "").split(",")
    left = set(chosen)
    last = max((at for at, each in enumerate(order) if each in left), default=-1)
    following = [each for each in order[last + 1 :] if each not in left]
    more = {"current": following[0]} if following else {}
    return filters.url(**place_of(form), **more)


def _question(
    form: Mapping[str, str],
    filters: CommentFilters,
    action: str,
    chosen: Sequence[str],
    *,
    is_all: bool,
) -> Page:
    values = {
        "filters": filters,
        "action": action,
        "count": len(chosen),
        "is_all": is_all,
        "ticked": [] if is_all else [f"{SELECT}{each}" for each in chosen],
        "place": place_of(form) | {"order": form.get("order", "")},
        "back": filters.url(**place_of(form), **({} if is_all else {"current": chosen[0]})),
        "has_limit": is_all and len(chosen) == MOST,
    }
    title = "Delete this comment?" if len(chosen) == 1 and not is_all else _TITLES[action]
    return Page("comments/change.html", title, values)


async def _change(request: AdminRequest, chosen: Sequence[str], action: str) -> Steps:
    """Deleted ones are skipped."""
    steps = Steps(request.caller, comments, ("status",))
    for start in range(0, len(chosen), PER_UNIT):
        async with request.records.unit(request.caller) as unit:
            for comment_id in chosen[start : start + PER_UNIT]:
                with suppress(NotFound):
                    await _change_one(unit, comment_id, action, steps)
            steps.save(unit)
    return steps


async def _change_one(unit: Unit, comment_id: str, action: str, steps: Steps) -> None:
    if action == "delete":
        steps.note_deletion(await unit.delete(comments, comment_id))
        return
    found = await unit.require(comments, {"id": comment_id})
    record = await unit.update(comments, comment_id, {"status": _STATUS[action]})
    steps.note_change(found, record)


def _sentence(action: str, changed: int, asked: int) -> str:
    if not changed:
        return "Nothing needed to change."
    noun = "1 comment is" if changed == 1 else f"{changed:,} comments are"
    rest = asked - changed
    left = f" {rest:,} were not changed." if rest > 1 else " One was not changed."
    return f"{noun} {_DONE[action]}." + (left if rest else "")
