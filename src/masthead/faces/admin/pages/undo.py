"""The button Undo after a change of many records."""

from __future__ import annotations

from typing import Final

from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Redirect
from masthead.faces.admin.pages.account.sign_in import only_ours
from masthead.faces.admin.request import AdminRequest
from masthead.features.undo.undoing import Steps, Undone, undo

ADDRESS: Final = "/admin/undo/{id}"
_NOUNS: Final = {
    "posts": "post",
    "pages": "page",
    "media": "file",
    "comments": "comment",
    "blog_members": "member",
}
_NAMED_BY: Final = {
    "posts": "title",
    "pages": "title",
    "media": "filename",
    "comments": "author_name",
    "blog_members": "email",
}
_MOST_NAMED: Final = 3
_TOO_LATE: Final = "It is too late to undo this."


def undo_address(steps: Steps) -> str:
    """For the notice after the change."""
    return ADDRESS.format(id=steps.batch) if steps.count else ""


async def undo_change(request: AdminRequest, batch: str) -> Answer:
    back = only_ours(request.form.get("next", ""))
    undone = await undo(request.records, request.caller, batch)
    return Redirect(back, _sentence(undone) if undone else _TOO_LATE)


def _sentence(undone: Undone) -> str:
    noun = _NOUNS[undone.subject]
    said = [f"{_counted(undone.count, noun)} as before."] if undone.count else []
    if undone.left:
        names = _names(undone.subject, undone.left)
        verb = "was" if len(undone.left) == 1 else "were"
        said.append(f"{names} {verb} changed since and {_stays(undone.left)} so.")
    if undone.gone:
        said.append(f"{_counted(undone.gone, noun)} deleted for good.")
    return " ".join(said)


def _counted(count: int, noun: str) -> str:
    return f"1 {noun} is" if count == 1 else f"{count:,} {noun}s are"


def _stays(left: list[Record]) -> str:
    return "stays" if len(left) == 1 else "stay"


def _names(subject: str, left: list[Record]) -> str:
    names = [f"“{each[_NAMED_BY[subject]][:60]}”" for each in left[:_MOST_NAMED]]
    if rest := len(left) - len(names):
        names.append(f"{rest:,} more")
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
