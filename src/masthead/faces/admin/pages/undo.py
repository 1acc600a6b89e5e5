"""The button Undo after a change of many records."""

from __future__ import annotations

from typing import Final

from masthead.base.languages.formats import listed
from masthead.base.languages.words import counted, words
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Redirect
from masthead.faces.admin.environment import number
from masthead.faces.admin.pages.account.sign_in import only_ours
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.selected import things
from masthead.features.undo.undoing import Steps, Undone, undo

ADDRESS: Final = "/admin/undo/{id}"
_NAMED_BY: Final = {
    "posts": "title",
    "pages": "title",
    "media": "filename",
    "comments": "author_name",
    "blog_members": "email",
}
_MOST_NAMED: Final = 3
_TOO_LATE: Final = words("It is too late to undo this.")


def undo_address(steps: Steps) -> str:
    """For the notice after the change."""
    return ADDRESS.format(id=steps.batch) if steps.count else ""


async def undo_change(request: AdminRequest, batch: str) -> Answer:
    back = only_ours(request.form.get("next", ""))
    undone = await undo(request.records, request.caller, batch)
    return Redirect(back, _sentence(undone) if undone else _TOO_LATE)


def _sentence(undone: Undone) -> str:
    said = []
    if undone.count:
        what = things(undone.subject, undone.count)
        said.append(
            counted("%(what)s is as before.", "%(what)s are as before.", undone.count, what=what)
        )
    if undone.left:
        said.append(
            counted(
                "%(names)s was changed since and stays so.",
                "%(names)s were changed since and stay so.",
                len(undone.left),
                names=_names(undone.subject, undone.left),
            )
        )
    if undone.gone:
        what = things(undone.subject, undone.gone)
        said.append(
            counted(
                "%(what)s is deleted for good.",
                "%(what)s are deleted for good.",
                undone.gone,
                what=what,
            )
        )
    return " ".join(map(str, said))


def _names(subject: str, left: list[Record]) -> str:
    names = [f"“{each[_NAMED_BY[subject]][:60]}”" for each in left[:_MOST_NAMED]]
    if rest := len(left) - len(names):
        names.append(str(words("%(number)s more", number=number(rest))))
    return listed(names)
