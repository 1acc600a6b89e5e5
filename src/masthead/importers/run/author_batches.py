"""Writes a batch of authors: staff of the site by their e-mail addresses, without a way to sign in
where they are new."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from masthead.errors import Invalid
from masthead.identity.tenants import Role, superusers
from masthead.importers.report import Outcome, Result
from masthead.importers.run.destination import Destination
from masthead.importers.run.memory import Fetch, Item
from masthead.importers.run.post_batches import DELETED, Progress, outcome_of_skipped, reason_of
from masthead.importers.source import Skipped, SourceAuthor
from masthead.records.accounts import new_token_key
from masthead.records.write.unit import Unit

KNOWN: Final = "on the staff already"

Entry = SourceAuthor | Skipped


class AuthorBatches:
    def __init__(self, into: Destination) -> None:
        self._into = into

    async def judge(self, entries: Sequence[Entry]) -> list[Outcome]:
        """What `write` would answer, without writing."""
        into = self._into
        fetch = into.memory.outside(into.tenant_id)
        known = await self._known(fetch, entries)
        outcomes = []
        for entry in entries:
            if isinstance(entry, Skipped):
                outcomes.append(outcome_of_skipped(entry))
                continue
            record_id = known.get(_key(entry))
            by_address = {"email": entry.email}
            if record_id is None and await into.records.find(
                superusers, by_address, tenant_id=into.tenant_id
            ):
                record_id = entry.source_id
            outcomes.append(_judged(entry, record_id))
        return outcomes

    async def write(
        self, entries: Sequence[Entry], progress: Progress, ids: dict[str, str]
    ) -> list[Outcome]:
        """Adds to `ids` which account each author is."""
        outcomes: list[Outcome] = []
        new: dict[str, Item] = {}
        found: dict[str, str] = {}
        async with self._into.unit() as unit:
            known = await self._known(unit.fetch, entries)
            for entry in entries:
                if isinstance(entry, Skipped):
                    outcomes.append(outcome_of_skipped(entry))
                else:
                    outcomes.append(await self._write(unit, entry, known, new))
                    if record_id := known.get(_key(entry)):
                        found[entry.source_id] = record_id
            await self._into.memory.remember(unit, self._into.family, new)
            await progress(unit, outcomes)
        ids.update(found)
        return outcomes

    async def _known(self, fetch: Fetch, entries: Sequence[Entry]) -> dict[str, str]:
        """The account that an author has become, by key; '' where it is gone."""
        into = self._into
        keys = [_key(each) for each in entries if isinstance(each, SourceAuthor)]
        items = await into.memory.items(fetch, into.tenant_id, into.family, keys)
        here = await into.memory.standing(
            fetch, into.tenant_id, superusers.name, [each.record_id for each in items.values()]
        )
        return {
            key: item.record_id if item.record_id in here else "" for key, item in items.items()
        }

    async def _write(
        self, unit: Unit, author: SourceAuthor, known: dict[str, str], new: dict[str, Item]
    ) -> Outcome:
        key = _key(author)
        if key in known:
            return _judged(author, known[key])
        found = await unit.find(superusers, {"email": author.email}, limit=1)
        if found:
            record = found[0]
        else:
            values = {"email": author.email, "role": Role.AUTHOR}
            values |= {"name": author.name, "bio": author.bio}
            try:
                stamped = {"token_key": new_token_key()}
                record = await unit.create(superusers, values, stamped=stamped)
            except Invalid as error:
                return _outcome(author, "failed", reason_of(error))
        known[key] = record["id"]
        new[key] = Item(superusers.name, record["id"], "", record["version"])
        return _outcome(author, "skipped", KNOWN) if found else _outcome(author, "imported")


def _key(author: SourceAuthor) -> str:
    """A digest: a login elsewhere is often an address, and none is to be stored a second time."""
    return "author:" + hashlib.sha256(author.source_id.encode("utf-8", "replace")).hexdigest()


def _judged(author: SourceAuthor, record_id: str | None) -> Outcome:
    if record_id is None:
        return _outcome(author, "imported")
    return _outcome(author, "skipped", KNOWN if record_id else DELETED)


def _outcome(author: SourceAuthor, result: Result, reason: str = "") -> Outcome:
    """Without a name or an address: the report is stored."""
    shown = "" if "@" in author.source_id else author.source_id
    return Outcome("author", shown, result, reason=reason)
