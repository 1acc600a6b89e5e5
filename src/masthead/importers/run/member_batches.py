"""Writes a batch of members. A reader who is here already keeps what they have: an import may give
them paid access, never take it, and never turns a newsletter back on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from masthead.errors import Invalid
from masthead.importers.dates import first_made
from masthead.importers.report import Outcome, Result
from masthead.importers.run.destination import Destination
from masthead.importers.run.drafts import fingerprint, key_of_member
from masthead.importers.run.memory import Fetch, Item, StandingMember
from masthead.importers.run.post_batches import (
    DELETED,
    UNCHANGED,
    Progress,
    outcome_of_skipped,
    reason_of,
)
from masthead.importers.source import Skipped, SourceMember
from masthead.members.collection import blog_members
from masthead.records.accounts import credentials
from masthead.records.fields.text import Text
from masthead.records.read.query import access_of
from masthead.records.write.unit import Unit
from masthead.records.write.validation import check_new

ALREADY: Final = "already a member"

Entry = SourceMember | Skipped


class _State(Struct, frozen=True):
    items: Mapping[str, Item]
    by_id: Mapping[str, StandingMember]
    by_email: Mapping[str, StandingMember]
    new_items: dict[str, Item] = field(default_factory=dict)
    """To be remembered, when all of the batch is written."""


class _Verdict(Struct, frozen=True):
    result: Result
    reason: str = ""
    record_id: str = ""
    """'' for somebody new."""
    changes: Mapping[str, Any] | None = None


class MemberBatches:
    def __init__(self, into: Destination) -> None:
        self._into = into

    async def judge(self, entries: Sequence[Entry]) -> list[Outcome]:
        """What `write` would answer, without writing."""
        state = await self._state(self._into.memory.outside(self._into.tenant_id), entries)
        return [self._judged(entry, state) for entry in entries]

    async def write(self, entries: Sequence[Entry], progress: Progress) -> list[Outcome]:
        outcomes: list[Outcome] = []
        async with self._into.unit() as unit:
            state = await self._state(unit.fetch, entries)
            for entry in entries:
                if isinstance(entry, Skipped):
                    outcomes.append(outcome_of_skipped(entry))
                else:
                    outcomes.append(await self._write(unit, entry, state))
            await self._into.memory.remember(unit, self._into.family, state.new_items)
            await progress(unit, outcomes)
        return outcomes

    async def _state(self, fetch: Fetch, entries: Sequence[Entry]) -> _State:
        members = [each for each in entries if isinstance(each, SourceMember)]
        keys = [key_of_member(each) for each in members]
        items = await self._into.memory.items(fetch, self._into.tenant_id, self._into.family, keys)
        ids = [item.record_id for item in items.values()]
        return _State(
            items,
            await self._into.memory.members(fetch, self._into.tenant_id, "id", ids),
            await self._into.memory.members(
                fetch, self._into.tenant_id, "email", [each.email for each in members]
            ),
        )

    async def _write(self, unit: Unit, member: SourceMember, state: _State) -> Outcome:
        verdict = _decide(member, state)
        if verdict.result == "skipped" and verdict.reason != ALREADY:
            return _outcome(member, verdict)
        record_id, version = verdict.record_id, 0
        try:
            if not record_id:
                made = first_made(member.created, self._into.records.clock())
                stamped = {**credentials(""), **made}
                record = await unit.create(blog_members, _values(member), stamped=stamped)
                record_id, version = record["id"], record["version"]
            elif verdict.changes:
                record = await unit.update(blog_members, record_id, verdict.changes)
                version = record["version"]
        except Invalid as error:
            return _outcome(member, _Verdict("failed", reason_of(error)))
        state.new_items[key_of_member(member)] = Item(
            blog_members.name,
            record_id,
            fingerprint(member),
            version if _is_ours(member, state, verdict) else 0,
        )
        return _outcome(member, verdict)

    def _judged(self, entry: Entry, state: _State) -> Outcome:
        if isinstance(entry, Skipped):
            return outcome_of_skipped(entry)
        verdict = _decide(entry, state)
        if verdict.result == "imported":
            try:
                check_new(blog_members, _values(entry), access_of(self._into.caller))
            except Invalid as error:
                verdict = _Verdict("failed", reason_of(error))
        return _outcome(entry, verdict)


def _is_ours(member: SourceMember, state: _State, verdict: _Verdict) -> bool:
    """Made by an import and not changed here since: what the source says later, counts."""
    if not verdict.record_id:
        return True
    item = state.items.get(key_of_member(member))
    return item is not None and item.record_version == state.by_id[item.record_id].version


def _decide(member: SourceMember, state: _State) -> _Verdict:
    item = state.items.get(key_of_member(member))
    if item is None:
        known = state.by_email.get(member.email)
        return _Verdict("imported") if known is None else _merged(member, known, ALREADY)
    known = state.by_id.get(item.record_id)
    if known is None:
        return _Verdict("skipped", DELETED)
    if item.fingerprint == fingerprint(member):
        return _Verdict("skipped", UNCHANGED)
    if item.record_version == known.version:
        changes = {name: value for name, value in _values(member).items() if name != "email"}
        return _Verdict("updated", record_id=known.id, changes=changes)
    return _merged(member, known, ALREADY)


def _merged(member: SourceMember, known: StandingMember, reason: str) -> _Verdict:
    """What may be added to somebody who is here in their own right."""
    changes: dict[str, Any] = {}
    if member.tier == "paid" and known.tier != "paid":
        changes["tier"] = "paid"
    if member.payment_customer_id and not known.payment_customer_id:
        changes["payment_customer_id"] = member.payment_customer_id
    if member.name and not known.name:
        changes["name"] = _values(member)["name"]
    if not changes:
        return _Verdict("skipped", reason, record_id=known.id)
    return _Verdict("updated", record_id=known.id, changes=changes)


def _values(member: SourceMember) -> dict[str, Any]:
    name = blog_members.by_name["name"]
    assert isinstance(name, Text)
    return {
        "email": member.email,
        "name": member.name[: name.max],
        "tier": member.tier,
        "newsletter": member.newsletter,
        "payment_customer_id": member.payment_customer_id,
    }


def _outcome(member: SourceMember, verdict: _Verdict) -> Outcome:
    # No address: the report is kept, and what is kept of a person has to be found again.
    shown = "" if verdict.result != "failed" else member.email[:3] + "…"
    return Outcome("member", shown, verdict.result, reason=verdict.reason)
