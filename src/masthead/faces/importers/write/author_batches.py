"""Writes authors as staff accounts, found by e-mail address. A new account can't sign in until it
gets a password."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from masthead.base.errors import Invalid
from masthead.base.languages.words import staff_marked
from masthead.engine.records.accounts import new_token_key
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.text import Slug
from masthead.faces.importers.report import Outcome, Result
from masthead.faces.importers.source import SourceAuthor
from masthead.faces.importers.write.batches import DELETED, Batches, BatchState, reason_of
from masthead.faces.importers.write.destination import Destination
from masthead.faces.importers.write.dry_unit import AnyUnit
from masthead.faces.importers.write.previous_imports import Item
from masthead.identity.tenants import Role, superusers

KNOWN: Final = staff_marked("on the staff already")


class _AuthorState(BatchState, frozen=True):
    account_ids: dict[str, str]
    """Accounts by key, for authors that were imported before; '' if the account was deleted."""
    by_email: dict[str, Record]


class AuthorBatches(Batches[SourceAuthor, _AuthorState]):
    # Posts need the account ids of all authors.
    is_repeated = True

    def __init__(self, destination: Destination) -> None:
        super().__init__(destination)
        self.account_ids: dict[str, str] = {}
        """Accounts by source id, for the authors written so far."""
        self._by_email: dict[str, Record] = {}
        """Accounts of the authors of this run: two with one address are one account."""

    async def _load(self, items: Sequence[SourceAuthor], unit: AnyUnit) -> _AuthorState:
        previous = self._destination.previous
        known = await self._destination.items([_key(each) for each in items], unit)
        existing = await previous.records(
            superusers.name, [each.record_id for each in known.values()], unit
        )
        ids = {
            key: item.record_id if item.record_id in existing else "" for key, item in known.items()
        }
        emails = [each.email for each in items]
        there = await previous.records(superusers.name, emails, unit, by="email")
        return _AuthorState(ids, {**self._by_email, **there})

    async def _write(self, unit: AnyUnit, item: SourceAuthor, state: _AuthorState) -> Outcome:
        key = _key(item)
        account_id = state.account_ids.get(key)
        if account_id == "":
            return self._outcome(item, "skipped", DELETED)
        is_known = bool(account_id) or item.email in state.by_email
        if not account_id:
            run_id = "" if is_known else self._destination.previous.run_id
            try:
                account = state.by_email.get(item.email) or await _create(unit, item)
            except Invalid as error:
                return self._outcome(item, "failed", reason_of(error))
            state.by_email[item.email] = account
            account_id = account["id"]
            state.account_ids[key] = account_id
            state.new_items[key] = Item(superusers.name, account_id, "", account["version"], run_id)
        self.account_ids[item.source_id] = account_id
        return (
            self._outcome(item, "skipped", KNOWN) if is_known else self._outcome(item, "imported")
        )

    def _written(self, state: _AuthorState) -> None:
        self._by_email |= state.by_email

    def _outcome(self, item: SourceAuthor, result: Result, reason: str = "") -> Outcome:
        """Without a name or an address, because the report is stored."""
        shown = "" if "@" in item.source_id else item.source_id
        return Outcome("author", shown, result, reason=reason)


async def _create(unit: AnyUnit, author: SourceAuthor) -> Record:
    values = {"email": author.email, "role": Role.AUTHOR, "name": author.name, "bio": author.bio}
    if author.name and await _is_free(unit, author.slug):
        values["slug"] = author.slug
    return await unit.create(superusers, values, stamped={"token_key": new_token_key()})


async def _is_free(unit: AnyUnit, slug: str) -> bool:
    """Whether the page of the author can keep its name."""
    field = superusers.by_name["slug"]
    assert isinstance(field, Slug)
    assert field.pattern
    is_valid = len(slug) <= field.max and field.pattern.fullmatch(slug)
    return bool(is_valid) and not await unit.find(superusers, {"slug": slug}, limit=1)


def _key(author: SourceAuthor) -> str:
    """A digest, because a login is often an e-mail address, which must not be stored twice."""
    return "author:" + hashlib.sha256(author.source_id.encode("utf-8", "replace")).hexdigest()
