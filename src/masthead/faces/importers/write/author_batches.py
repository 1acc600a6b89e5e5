"""Writes authors as staff accounts, found by e-mail address. A new account can't sign in until it
gets a password."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from masthead.base.errors import Invalid
from masthead.engine.records.accounts import new_token_key
from masthead.engine.records.fields.text import Slug
from masthead.engine.records.write.unit import Unit
from masthead.faces.importers.report import Outcome, Result
from masthead.faces.importers.source import SourceAuthor
from masthead.faces.importers.write.batches import DELETED, Batches, BatchState, reason_of
from masthead.faces.importers.write.destination import Destination
from masthead.faces.importers.write.previous_imports import CurrentRecord, Item
from masthead.identity.tenants import Role, superusers

KNOWN: Final = "on the staff already"


class _AuthorState(BatchState, frozen=True):
    account_ids: dict[str, str]
    """Accounts by key, for authors that were imported before; '' if the account was deleted."""
    by_email: dict[str, CurrentRecord]


class AuthorBatches(Batches[SourceAuthor, _AuthorState]):
    # Posts need the account ids of all authors.
    is_repeated = True

    def __init__(self, destination: Destination) -> None:
        super().__init__(destination)
        self.account_ids: dict[str, str] = {}
        """Accounts by source id, for the authors written so far."""
        self._new_emails: set[str] = set()
        """Addresses of accounts that a real run would have made before; used in a dry run."""

    async def _load(self, items: Sequence[SourceAuthor], unit: Unit | None) -> _AuthorState:
        previous = self._destination.previous
        known = await previous.items(
            self._destination.namespace, [_key(each) for each in items], unit
        )
        existing = await previous.records(
            superusers.name, [each.record_id for each in known.values()], unit
        )
        ids = {
            key: item.record_id if item.record_id in existing else "" for key, item in known.items()
        }
        return _AuthorState(ids, await previous.accounts([each.email for each in items], unit))

    def _preview(self, item: SourceAuthor, state: _AuthorState) -> Outcome:
        outcome = self._decide(item, state)
        self._new_emails.add(item.email)
        return outcome

    async def _write(self, unit: Unit, item: SourceAuthor, state: _AuthorState) -> Outcome:
        outcome = self._decide(item, state)
        if outcome.reason == DELETED:
            return outcome
        key = _key(item)
        if key not in state.account_ids:
            run_id = "" if item.email in state.by_email else self._destination.previous.run_id
            try:
                account = state.by_email.get(item.email) or await _create(unit, item)
            except Invalid as error:
                return _outcome(item, "failed", reason_of(error))
            state.by_email[item.email] = account
            state.account_ids[key] = account.id
            state.new_items[key] = Item(superusers.name, account.id, "", account.version, run_id)
        self.account_ids[item.source_id] = state.account_ids[key]
        return outcome

    def _decide(self, item: SourceAuthor, state: _AuthorState) -> Outcome:
        account_id = state.account_ids.get(_key(item))
        if account_id == "":
            return _outcome(item, "skipped", DELETED)
        # Two authors with one address are one account.
        is_there = item.email in state.by_email or item.email in self._new_emails
        if account_id or is_there:
            return _outcome(item, "skipped", KNOWN)
        return _outcome(item, "imported")


async def _create(unit: Unit, author: SourceAuthor) -> CurrentRecord:
    values = {"email": author.email, "role": Role.AUTHOR, "name": author.name, "bio": author.bio}
    if author.name and await _is_free(unit, author.slug):
        values["slug"] = author.slug
    record = await unit.create(superusers, values, stamped={"token_key": new_token_key()})
    return CurrentRecord(record["id"], record["version"])


async def _is_free(unit: Unit, slug: str) -> bool:
    """Whether the page of the author can keep its name."""
    field = superusers.by_name["slug"]
    assert isinstance(field, Slug)
    assert field.pattern
    is_valid = len(slug) <= field.max and field.pattern.fullmatch(slug)
    return bool(is_valid) and not await unit.find(superusers, {"slug": slug}, limit=1)


def _key(author: SourceAuthor) -> str:
    """A digest, because a login is often an e-mail address, which must not be stored twice."""
    return "author:" + hashlib.sha256(author.source_id.encode("utf-8", "replace")).hexdigest()


def _outcome(author: SourceAuthor, result: Result, reason: str = "") -> Outcome:
    """Without a name or an address, because the report is stored."""
    shown = "" if "@" in author.source_id else author.source_id
    return Outcome("author", shown, result, reason=reason)
