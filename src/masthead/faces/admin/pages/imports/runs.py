"""The imports of a site, newest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from masthead.base.languages.retelling import retold
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.faces.admin.lists import ListPage
from masthead.faces.admin.request import AdminRequest
from masthead.faces.importers.collection import (
    DONE,
    FAILED,
    IMPORT,
    PICTURES,
    PREVIEW,
    QUEUED,
    UNDO,
    import_runs,
)

ADDRESS = "/admin/tools/import"
NEW = f"{ADDRESS}/new"
PLATFORMS = {"wordpress": "WordPress", "ghost": "Ghost", "substack": "Substack"}
_DOING = {
    PREVIEW: words("Being read"),
    IMPORT: words("Being imported"),
    PICTURES: words("Copying pictures"),
    UNDO: words("Being undone"),
}
_DONE = {
    PREVIEW: ("warn", words("Ready for you to review")),
    IMPORT: ("good", words("Imported")),
    PICTURES: ("good", words("Imported")),
    UNDO: ("draft", words("Undone")),
}
_FAILED = {
    PREVIEW: words("Refused"),
    IMPORT: words("Failed"),
    PICTURES: words("Pictures failed"),
    UNDO: words("Undo failed"),
}


class ImportList(ListPage, frozen=True):
    address = ADDRESS
    title = words("Import")
    about = words("Posts, members and pictures from WordPress, Ghost or Substack.")
    back = (words("Settings"), "/admin/settings")
    collection = import_runs
    names = frozenset({"platform", "task", "state", "file_name", "error", "created"})
    template = "imports/_list.html"
    page = "imports/list.html"
    live = "import_runs"
    empty = (
        words("Nothing imported yet"),
        words(
            "Bring posts, members and pictures from WordPress, Ghost or "
            "Substack. You see a preview "
            "first, and you can undo a whole import."
        ),
    )
    waves = True

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        rows = [
            each | {"badge": state_of(each), "error": without_flags(retold(each["error"]))}
            for each in items
        ]
        return {"rows": rows, "platforms": PLATFORMS}


def state_of(run: Mapping[str, Any]) -> tuple[str, str]:
    """The kind of badge, and the word."""
    task, state = run["task"], run["state"]
    if state == DONE:
        return _DONE[task]
    if state == FAILED:
        return "bad", _FAILED[task]
    return ("draft", words("Waiting for its turn")) if state == QUEUED else ("info", _DOING[task])


def without_flags(text: str) -> str:
    """A sentence of the engine, without the flag of the command line at its end."""
    before, mark, after = text.partition(" (--")
    return before + after.partition(")")[2] if mark else text
