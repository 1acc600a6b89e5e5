"""The history of a text: its revisions, the difference of two, and restoring one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masthead.base.errors import Conflict
from masthead.base.languages.words import words
from masthead.content.texts.difference import Piece, compare, compare_words
from masthead.content.texts.editing import Opened, open_text, restore_revision
from masthead.content.texts.publication import PUBLISHED
from masthead.content.texts.revisions import CHANGES
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.conditions import equals
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.environment import clock_time
from masthead.faces.admin.lists import Listing, read_page, with_query
from masthead.faces.admin.pages.texts.reviewing import may_change
from masthead.faces.admin.people import staff_names
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import Section

_BADGES = {
    "draft": ("draft", words("Draft")),
    PUBLISHED: ("good", words("Published")),
    CHANGES: ("info", words("Changes, not live")),
}
_LISTED = frozenset({"title", "status", "saved_at", "saved_by", "created"})
_NOT_SETTINGS = frozenset({"title", "content_html"})
_WITH = {"now": words("With the current text"), "before": words("With the revision before it")}
_PER_PAGE = 100


async def revisions(section: Section, request: AdminRequest, text_id: str) -> Answer:
    """All of them, in pages. `from` is one that was chosen: the others lead to a comparison."""
    opened = await open_text(request.records, request.caller, section.kind, text_id)
    own = section.url(text_id)
    chosen_id = request.query.get("from", "")
    chosen = await _revision(section, request, text_id, chosen_id) if chosen_id else None
    page = await read_page(request, _listing(section, text_id, chosen_id), _PER_PAGE)
    if page is None:
        return Redirect(f"{own}/revisions")
    found, pager = page
    names = await staff_names(request)
    now = [_now(opened, names)] if pager.first <= 1 else []
    values = {
        "section": section,
        "own": own,
        "title": opened.values["title"],
        "revisions": [*now, *(_shown(each, names) for each in found)],
        "has_none": not found and pager.first <= 1,
        "chosen": chosen,
        "pager": pager,
    }
    return Page("texts/revisions.html", words("History"), values)


async def revision(
    section: Section, request: AdminRequest, text_id: str, revision_id: str
) -> Answer:
    return await _page(section, request, text_id, revision_id)


async def restore(
    section: Section, request: AdminRequest, text_id: str, revision_id: str
) -> Answer:
    version = request.form.get("version", "")
    stored = await _revision(section, request, text_id, revision_id)
    try:
        await restore_revision(
            request.records,
            request.caller,
            section.kind,
            text_id,
            version=version,
            revision_id=revision_id,
        )
    except Conflict:
        return await _page(section, request, text_id, revision_id, status=409)
    is_live = (await _open_text(section, request, text_id)).text["status"] == PUBLISHED
    moment = clock_time(request.local(stored["saved_at"]))
    said = [words("The revision of %(moment)s is back.", moment=moment)]
    if is_live:
        said.append(words("It goes live with Update."))
    said.append(words("The text it replaced is in the history."))
    return Redirect(section.url(text_id), " ".join(map(str, said)))


async def _page(
    section: Section, request: AdminRequest, text_id: str, revision_id: str, *, status: int = 200
) -> Page:
    opened = await _open_text(section, request, text_id)
    stored = await _revision(section, request, text_id, revision_id)
    before = await _before(section, request, stored)
    wanted = request.query.get("with", "")
    other = before if wanted == "before" else None
    if wanted not in ("", "now", "before"):
        other = await _revision(section, request, text_id, wanted)
    old, new = _in_order(other, stored) if other else (stored, opened.values)
    names = await staff_names(request)
    own = section.url(text_id)
    url = f"{own}/revisions/{revision_id}"
    values = {
        "section": section,
        "own": own,
        "url": url,
        "revision": _shown(stored, names),
        "compared_with": [
            (_WITH["now"], url, other is None, None),
            *_with_before(url, before, other),
            *_with_chosen(request, url, wanted, other),
        ],
        "is_with_other": other is not None,
        "is_newer": new is stored,
        "title": _title(old, new),
        "settings": _settings(section, old, new, names),
        "difference": await compare(old["content_html"], new["content_html"]),
        "is_only_looks": old["content_html"] != new["content_html"],
        "may_change": may_change(request, opened.text),
        "version": opened.version,
        "is_published": opened.text["status"] == PUBLISHED,
        "is_outdated": status == 409,
    }
    title = words(
        "Revision of %(clock_time)s", clock_time=clock_time(request.local(stored["saved_at"]))
    )
    return Page("texts/revision.html", title, values, status=status)


async def _open_text(section: Section, request: AdminRequest, text_id: str) -> Opened:
    return await open_text(request.records, request.caller, section.kind, text_id)


def _in_order(one: Record, other: Record) -> tuple[Record, Record]:
    """The older one first."""
    older, newer = sorted((one, other), key=lambda each: (each["created"], each["id"]))
    return older, newer


def _with_before(
    url: str, before: Record | None, other: Record | None
) -> list[tuple[str, str, bool, None]]:
    if before is None:
        return []
    return [(_WITH["before"], f"{url}?with=before", other == before, None)]


def _with_chosen(
    request: AdminRequest, url: str, wanted: str, other: Record | None
) -> list[tuple[str, str, bool, None]]:
    if other is None or wanted == "before":
        return []
    moment = clock_time(request.local(other["saved_at"]))
    return [(words("With that of %(moment)s", moment=moment), f"{url}?with={wanted}", True, None)]


def _listing(section: Section, text_id: str, chosen_id: str) -> Listing:
    """Newest first, without their texts."""
    wanted = ListRequest(
        filter=equals(section.kind.pointer, text_id),
        sort="-created",
        names=_LISTED,
        skip_total=True,
    )
    address, chosen = f"{section.url(text_id)}/revisions", {"from": chosen_id} if chosen_id else {}

    def url(**more: object) -> str:
        return with_query(address, **{**chosen, **{name: str(each) for name, each in more.items()}})

    return Listing(section.kind.revisions, wanted, url)


async def _revision(
    section: Section, request: AdminRequest, text_id: str, revision_id: str
) -> Record:
    # Checks that the caller may see it.
    kind = section.kind
    await request.records.get(request.caller, kind.revisions, revision_id, names=frozenset({"id"}))
    wanted = {"id": revision_id, kind.pointer: text_id}
    return await request.records.require(kind.revisions, wanted, tenant_id=request.tenant_id)


async def _before(section: Section, request: AdminRequest, stored: Record) -> Record | None:
    pointer = section.kind.pointer
    wanted = ListRequest(
        per_page=1,
        filter=equals(pointer, stored[pointer]),
        sort="-created",
        after=(stored["created"], stored["id"]),
        names=frozenset({"id"}),
        skip_total=True,
    )
    page = await request.records.page(request.caller, section.kind.revisions, wanted)
    if not page.items:
        return None
    return await _revision(section, request, stored[pointer], page.items[0]["id"])


def _shown(stored: Record, names: Mapping[str, str]) -> Record:
    badge = _BADGES.get(stored["status"], _BADGES["draft"])
    return stored | {"badge": badge, "by": _who(stored["saved_by"], names)}


def _now(opened: Opened, names: Mapping[str, str]) -> Record:
    """The text as it is now: without an id."""
    newest = opened.copy or opened.text
    saved = {
        "id": "",
        "title": opened.values["title"],
        "status": CHANGES if opened.copy else opened.text["status"],
        "saved_at": newest["updated"],
        "saved_by": newest["edited_by"],
    }
    return _shown(saved, names)


def _who(account_id: str, names: Mapping[str, str]) -> str:
    if not account_id:
        # An import or a schedule.
        return words("The service")
    return names.get(account_id) or words("An API key or a former account")


def _title(old: Record, new: Record) -> tuple[Piece, ...]:
    return compare_words(old["title"], new["title"])


def _settings(
    section: Section, old: Record, new: Record, names: Mapping[str, str]
) -> list[tuple[str, str, str]]:
    """The label of each that differs, and both values in words."""
    found = []
    for ask in section.asks:
        if ask.name in _NOT_SETTINGS or old[ask.name] == new[ask.name]:
            continue
        choices = ask.choices or (names if ask.name == "authors" else {})
        found.append((ask.label, _words(old[ask.name], choices), _words(new[ask.name], choices)))
    return found


def _words(value: Any, choices: Mapping[str, str]) -> str:
    values = value if isinstance(value, list) else [value]
    return ", ".join(choices.get(each, str(each)) for each in values)
