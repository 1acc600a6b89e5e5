"""Editing a post or a page: what is saved where, and when it goes live.

A draft is changed itself. A published text gets a working copy, which goes live as a whole. Every
change names the version that its editor has seen, so that no one overwrites what another person, or
an integration, has written meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from masthead.base.caller import Caller
from masthead.base.errors import BadRequest, Conflict, NotFound
from masthead.base.languages.words import staff_words
from masthead.content.texts.content import JSON, html_of
from masthead.content.texts.kinds import TextKind
from masthead.content.texts.publication import DRAFT, PUBLISHED
from masthead.content.texts.revisions import CHANGES, next_revision, state_of
from masthead.engine.records.changes import PreparedTexts
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.slugs import find_free_slug, slugify
from masthead.engine.records.write.unit import Unit
from masthead.identity.tenants import superusers

MAX_SLUG = 255
_FORMS_OF_TEXT = {"content_html", "content_json"}
_TEXT = (*_FORMS_OF_TEXT, "content_source")
_NOT_RESTORED = ("slug", "authors", "visibility", "tiers", "email_only", "translations")


class Opened(msgspec.Struct, frozen=True):
    """A text as an editor sees it."""

    kind: TextKind
    text: Record
    """As it is on the site, or the draft."""
    copy: Record | None

    @property
    def values(self) -> Record:
        if self.copy is None:
            return self.text
        return {**self.text, **{name: self.copy[name] for name in self.kind.edited}}

    @property
    def version(self) -> str:
        """Changes with the text and with its working copy. The copy's id is in it, because a copy
        that is discarded and the next one count from one."""
        copy = f"{self.copy['id']}-{self.copy['version']}" if self.copy else "0"
        return f"{self.text['version']}.{copy}"

    @property
    def is_outdated(self) -> bool:
        """The live text was changed after the working copy was begun."""
        return self.copy is not None and self.copy["base_version"] != self.text["version"]


async def open_text(records: Records, caller: Caller, kind: TextKind, text_id: str) -> Opened:
    if caller.tenant_id is None:
        raise NotFound
    # Checks that the caller may see it.
    await records.get(caller, kind.texts, text_id, names=frozenset({"id"}))
    tenant_id = caller.tenant_id
    text = await records.require(kind.texts, {"id": text_id}, tenant_id=tenant_id)
    of_text = {kind.pointer: text_id}
    copy = await records.find_one(kind.working_copies, of_text, tenant_id=tenant_id)
    return Opened(kind, text, copy)


async def save_text(
    records: Records,
    caller: Caller,
    kind: TextKind,
    text_id: str,
    *,
    version: str,
    given: Mapping[str, Any],
    replaces_newer: bool = False,
) -> Opened:
    """Saves what was typed. Raises Conflict if someone else has saved since `version`.

    `replaces_newer`: the editor has seen a text that it did not begin with, and goes on with its
    own. What that replaces becomes a revision, also where one account wrote both.
    """
    _check_names(kind, given)
    given = await with_html(given)
    # Also where it only goes into a working copy: what can't go live is refused at once.
    prepared = await records.prepare(kind.texts, given)
    async with records.unit(caller, prepared=prepared) as unit:
        opened = await _lock(unit, kind, text_id, version)
        given = _without_same_text(opened, await _with_slug(unit, opened, given))
        is_published = opened.text["status"] == PUBLISHED
        if is_published and opened.is_outdated and not replaces_newer:
            raise Conflict
        replaces_other = replaces_newer or _is_anothers(caller, opened)
        if is_published:
            stamped = _new_copy_state(unit, opened, given) if replaces_other else None
            return Opened(kind, opened.text, await _save_copy(unit, opened, given, stamped))
        if replaces_other:
            await _store_copy(unit, opened, given)
        stamped = _new_state(unit, opened, given) if replaces_newer else None
        return await _merge(unit, caller, opened, given, stamped=stamped)


def _new_state(unit: Unit, opened: Opened, given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The stamp by which the text as it is becomes a revision, also within one sitting."""
    if all(opened.text[name] == value for name, value in given.items()):
        return None
    return {"revised_at": next_revision(opened.text, unit.now)}


def _new_copy_state(
    unit: Unit, opened: Opened, given: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """The same of the working copy."""
    copy = opened.copy
    if copy is None or all(copy[name] == value for name, value in given.items()):
        return None
    return {"revised_at": next_revision(copy, unit.now)}


def _is_anothers(caller: Caller, opened: Opened) -> bool:
    return opened.copy is not None and opened.copy["edited_by"] != caller.id


async def _store_copy(unit: Unit, opened: Opened, given: Mapping[str, Any] | None = None) -> None:
    """The working copy becomes a revision, unless what replaces it is the same: what was
    given, or the text itself."""
    kind, copy = opened.kind, opened.copy
    if copy is None:
        return
    kept = {name: opened.text[name] for name in kind.edited} if given is None else given
    if any(copy[name] != kept[name] for name in kind.edited if name in kept):
        singular = kind.pointer.removesuffix("_id")
        await unit.store_snapshot(
            state_of(opened.text["id"], copy, singular, kind.edited, status=CHANGES)
        )


async def with_html(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """With the HTML of a document that was typed. Made here and in a thread, because a long one
    takes a third of a second, for which others would wait if the change itself made it."""
    document = given.get("content_json")
    if document is None or "content_html" in given:
        return given
    html = await asyncio.to_thread(html_of, document)
    return {**given, "content_html": html} if html else given


def _without_same_text(opened: Opened, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same document as before leaves the text as it is, also where an earlier release has
    rendered it in another way."""
    stored = opened.values
    if stored["content_source"] != JSON or given.get("content_json") != stored["content_json"]:
        return given
    return {name: value for name, value in given.items() if name not in _FORMS_OF_TEXT}


async def change_status(
    records: Records,
    caller: Caller,
    kind: TextKind,
    text_id: str,
    *,
    status: str,
    version: str,
    given: Mapping[str, Any] | None = None,
    replaces_newer: bool = False,
) -> Opened:
    """The change, and those of the working copy, in the text itself: all of it or nothing. `given`
    are last changes, such as what was typed since the last save."""
    given = {**(given or {}), "status": status}
    prepared = await _prepare(records, caller, kind, text_id, given=given)
    async with records.unit(caller, prepared=prepared) as unit:
        opened = await _lock(unit, kind, text_id, version)
        is_published = opened.text["status"] == PUBLISHED
        if opened.is_outdated and is_published and not replaces_newer:
            raise Conflict
        given = await _with_slug(unit, opened, given)
        if replaces_newer:
            await _store_copy(unit, opened, given)
        # Each text that was live is a state of its own, however soon the next one follows.
        stamped = _new_state(unit, opened, _goes_live(opened, given)) if is_published else None
        return await _merge(unit, caller, opened, given, stamped=stamped)


put_live = partial(change_status, status=PUBLISHED)
"""Publishes a draft, or replaces a published text by its working copy."""
take_down = partial(change_status, status=DRAFT)
"""Makes a published text a draft again, with what was typed into its working copy."""


async def _prepare(
    records: Records, caller: Caller, kind: TextKind, text_id: str, *, given: Mapping[str, Any]
) -> PreparedTexts:
    """The text that was given, or else that of the working copy."""
    if given.keys() & _FORMS_OF_TEXT:
        return await records.prepare(kind.texts, given)
    of_text = {kind.pointer: text_id}
    copy = await records.find_one(kind.working_copies, of_text, tenant_id=caller.tenant_id)
    if copy is None:
        return PreparedTexts()
    name = "content_json" if copy["content_source"] == JSON else "content_html"
    return await records.prepare(kind.texts, {name: copy[name]})


def _goes_live(opened: Opened, given: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: opened.values[name] for name in opened.kind.edited} | dict(given)


async def _merge(
    unit: Unit,
    caller: Caller,
    opened: Opened,
    given: Mapping[str, Any],
    *,
    stamped: Mapping[str, Any] | None = None,
) -> Opened:
    """Also for a draft that still has a working copy, because it was taken down by other means than
    an editor: the copy is what its editor sees."""
    kind, copy = opened.kind, opened.copy
    typed = _changes(kind, opened.text, copy) if copy else {}
    if caller.is_writer:
        # Whom an editor has named there, an editor puts live.
        typed.pop("authors", None)
    if (given.keys() | (stamped or {}).keys()) & _FORMS_OF_TEXT:
        # Of the text only what was typed last.
        typed = {name: value for name, value in typed.items() if name not in _FORMS_OF_TEXT}
    if "authors" in typed:
        typed["authors"] = await _find_existing_accounts(unit, typed["authors"])
    text = await unit.update(kind.texts, opened.text["id"], {**typed, **given}, stamped=stamped)
    if copy is not None:
        await unit.delete(kind.working_copies, copy["id"])
    return Opened(kind, text, None)


async def _find_existing_accounts(unit: Unit, account_ids: Sequence[str]) -> list[str]:
    """A copy may name an account that was deleted since."""
    return [each for each in account_ids if await unit.find_one(superusers, {"id": each})]


async def discard_copy(
    records: Records, caller: Caller, kind: TextKind, text_id: str, *, version: str
) -> Opened:
    # Through the rule: without a copy there is no change that would check it.
    await open_text(records, caller, kind, text_id)
    async with records.unit(caller) as unit:
        opened = await _lock(unit, kind, text_id, version)
        if opened.copy is not None:
            await _store_copy(unit, opened)
            await unit.delete(kind.working_copies, opened.copy["id"])
        return Opened(kind, opened.text, None)


async def change_draft(
    records: Records,
    caller: Caller,
    kind: TextKind,
    text_id: str,
    *,
    version: str,
    state: Mapping[str, Any],
    given: Mapping[str, Any] | None = None,
) -> Opened:
    """Changes the state of a draft: the time for which it waits, or whether it is ready for review.
    `given` are last changes of the text."""
    if not state.keys() <= kind.texts.by_name.keys():
        raise NotFound
    prepared = await _prepare(records, caller, kind, text_id, given=given or {})
    async with records.unit(caller, prepared=prepared) as unit:
        opened = await _lock(unit, kind, text_id, version)
        if opened.text["status"] == PUBLISHED:
            raise BadRequest(
                staff_words("Nothing has changed: the post is published, and no longer a draft.")
            )
        changes = {**await _with_slug(unit, opened, given or {}), **state}
        return await _merge(unit, caller, opened, changes)


async def restore_revision(
    records: Records,
    caller: Caller,
    kind: TextKind,
    text_id: str,
    *,
    version: str,
    revision_id: str,
) -> Opened:
    """A revision becomes the draft, or the working copy of a published text. The address, the
    authors and who may read it stay as they are now. What it replaces becomes the newest of the
    revisions, so that it can be restored as well."""
    opened = await open_text(records, caller, kind, text_id)
    assert caller.tenant_id is not None
    wanted = {"id": revision_id, kind.pointer: text_id}
    found = await records.require(kind.revisions, wanted, tenant_id=caller.tenant_id)
    state = found
    prepared = await records.prepare(kind.texts, {"content_html": state["content_html"]})
    async with records.unit(caller, prepared=prepared) as unit:
        opened = await _lock(unit, kind, text_id, version)
        names = [name for name in kind.edited if name not in _NOT_RESTORED]
        if all(state[name] == opened.values[name] for name in names):
            return opened
        return await _restore(unit, caller, opened, state, names=names)


async def _restore(
    unit: Unit, caller: Caller, opened: Opened, state: Record, *, names: Sequence[str]
) -> Opened:
    kind, copy = opened.kind, opened.copy
    # Stamped: both forms of the text, and which is the newer, are those of the state.
    text = {name: state[name] for name in _TEXT}
    given = {name: state[name] for name in names if name not in _TEXT}
    if opened.text["status"] == PUBLISHED:
        if copy is not None and opened.is_outdated:
            # What is not restored may still be older than the published text: a conflict remains.
            text["base_version"] = copy["base_version"]
        text |= _new_copy_state(unit, opened, {name: state[name] for name in names}) or {}
        return Opened(kind, opened.text, await _save_copy(unit, opened, given, text))
    # Also within one sitting, in which no other change stores a state.
    text["revised_at"] = next_revision(opened.text, unit.now)
    restored = await _merge(unit, caller, opened, given, stamped=text)
    await _store_copy(unit, opened, {name: state[name] for name in names})
    return restored


async def _lock(unit: Unit, kind: TextKind, text_id: str, version: str) -> Opened:
    """The text under the tenant's write lock, if it is still as the caller has seen it. Whether the
    caller may change it is checked by the change."""
    text = await unit.require(kind.texts, {"id": text_id})
    copy = await unit.find_one(kind.working_copies, {kind.pointer: text_id})
    opened = Opened(kind, text, copy)
    if opened.version != version:
        raise Conflict
    return opened


async def _with_slug(unit: Unit, opened: Opened, given: Mapping[str, Any]) -> dict[str, Any]:
    """An empty slug of a draft is made from its title, also where an earlier title has made one;
    the address of a published text stays. The unit holds the tenant's write lock, so a free slug
    stays free."""
    if given.get("slug") != "":
        return dict(given)
    text, texts = opened.text, opened.kind.texts
    if text["status"] == PUBLISHED:
        return {name: value for name, value in given.items() if name != "slug"}

    async def is_taken(slug: str) -> bool:
        found = await unit.find_one(texts, {"slug": slug})
        return found is not None and found["id"] != text["id"]

    title = str(given.get("title") or text["title"])
    slug = await find_free_slug(slugify(title), is_taken, MAX_SLUG)
    return {**given, "slug": slug}


async def _save_copy(
    unit: Unit,
    opened: Opened,
    given: Mapping[str, Any],
    stamped: Mapping[str, Any] | None = None,
) -> Record:
    kind, text = opened.kind, opened.text
    stamps = {"base_version": text["version"], **(stamped or {})}
    if opened.copy is not None:
        return await unit.update(kind.working_copies, opened.copy["id"], given, stamped=stamps)
    values = {"title": text["title"], **given, kind.pointer: text["id"]}
    # Stamped rather than given: only what was typed decides which form of the text is the newer.
    begun = {name: text[name] for name in kind.edited if name not in values}
    return await unit.create(kind.working_copies, values, stamped={**begun, **stamps})


def _changes(kind: TextKind, old: Record, new: Record) -> dict[str, Any]:
    """The values of `new` that differ. Of the two forms of the text only the newer one is given:
    the other one follows from it."""
    changed = {name: new[name] for name in kind.edited if new[name] != old[name]}
    changed.pop("content_source", None)
    if new["content_source"] == JSON and "content_json" in changed:
        changed.pop("content_html", None)
    else:
        changed.pop("content_json", None)
    return changed


def _check_names(kind: TextKind, given: Mapping[str, Any]) -> None:
    unknown = given.keys() - set(kind.edited) | given.keys() & {"content_source"}
    if unknown:
        names = ", ".join(sorted(unknown))
        raise BadRequest(f"An editor can't save these fields: {names}.")
