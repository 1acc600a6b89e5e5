"""Writes members. For a member who exists already an import may add paid access, a name or a
customer id. It never removes paid access and never turns the newsletter on again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct

from masthead.base.errors import Invalid
from masthead.base.languages.words import staff_marked
from masthead.engine.records.accounts import credentials
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.text import Text
from masthead.faces.importers.dates import created_stamp
from masthead.faces.importers.report import Outcome, Result
from masthead.faces.importers.source import SourceMember
from masthead.faces.importers.write.batches import (
    DELETED,
    UNCHANGED,
    Batches,
    BatchState,
    reason_of,
)
from masthead.faces.importers.write.drafts import fingerprint, key_of_member
from masthead.faces.importers.write.dry_unit import AnyUnit
from masthead.faces.importers.write.previous_imports import Item
from masthead.features.members.collection import blog_members, imported_consent
from masthead.features.members.welcome import welcomed_elsewhere
from masthead.features.payments.collection import tiers

EXISTS: Final = staff_marked("already a member")
CUT: Final = staff_marked("The note or the labels of a member were cut: too long or too many.")
_LABELS: Final = cast(TextList, blog_members.by_name["labels"])
_NOTE: Final = cast(Text, blog_members.by_name["note"]).max


class _MemberState(BatchState, frozen=True):
    items: Mapping[str, Item]
    by_id: Mapping[str, Record]
    by_email: Mapping[str, Record]
    levels: Mapping[str, Record]
    """The tiers of this site, by name."""


class _Decision(Struct, frozen=True):
    result: Result
    reason: str = ""
    record_id: str = ""
    """'' for a new member."""
    changes: Mapping[str, Any] | None = None


class MemberBatches(Batches[SourceMember, _MemberState]):
    async def _load(self, items: Sequence[SourceMember], unit: AnyUnit) -> _MemberState:
        known = await self._destination.items([key_of_member(each) for each in items], unit)
        ids = [item.record_id for item in known.values()]
        emails = [each.email for each in items]
        read = self._destination.previous.records
        return _MemberState(
            known,
            await read(blog_members.name, ids, unit),
            await read(blog_members.name, emails, unit, by="email"),
            await read(
                tiers.name, {name for each in items for name in each.levels}, unit, by="name"
            ),
        )

    async def _write(self, unit: AnyUnit, item: SourceMember, state: _MemberState) -> Outcome:
        decision = _decide(item, state)
        if decision.result == "skipped" and decision.reason != EXISTS:
            return self._outcome(item, decision.result, decision.reason)
        record_id, version = decision.record_id, 0
        try:
            if not record_id:
                stamp = created_stamp(item.created, self._destination.records.clock())
                if item.newsletter:
                    stamp |= imported_consent(self._destination.consent, unit.now)
                stamp |= welcomed_elsewhere(item.tier)
                record = await unit.create(
                    blog_members,
                    _with_level(_values(item), item, state),
                    stamped={**credentials(""), **stamp},
                )
                record_id, version = record["id"], record["version"]
            elif decision.changes:
                welcomed = welcomed_elsewhere(decision.changes.get("tier", ""))
                changes = _with_level(decision.changes, item, state)
                record = await unit.update(blog_members, record_id, changes, stamped=welcomed)
                version = record["version"]
        except Invalid as error:
            return self._outcome(item, "failed", reason_of(error))
        key = key_of_member(item)
        known = state.items.get(key)
        created_by = self._destination.previous.run_id if not decision.record_id else ""
        state.new_items[key] = Item(
            blog_members.name,
            record_id,
            fingerprint(item),
            version if _is_unedited(item, state, decision) else 0,
            known.run_id if known is not None else created_by,
        )
        return self._outcome(item, decision.result, decision.reason)

    def _outcome(self, item: SourceMember, result: Result, reason: str = "") -> Outcome:
        # Without the address: the report is stored, and an erasure does not search it.
        shown = "" if result != "failed" else item.email[:3] + "…"
        warnings = _warnings(item) if result in ("imported", "updated") else ()
        return Outcome("member", shown, result, reason=reason, warnings=warnings)


def _is_unedited(member: SourceMember, state: _MemberState, decision: _Decision) -> bool:
    """Created by an import and not edited since, so that a later import may overwrite it."""
    if not decision.record_id:
        return True
    item = state.items.get(key_of_member(member))
    return item is not None and item.record_version == state.by_id[item.record_id]["version"]


def _decide(member: SourceMember, state: _MemberState) -> _Decision:
    item = state.items.get(key_of_member(member))
    if item is None:
        known = state.by_email.get(member.email)
        return _Decision("imported") if known is None else _merged(member, known)
    known = state.by_id.get(item.record_id)
    if known is None:
        return _Decision("skipped", DELETED)
    if item.fingerprint == fingerprint(member):
        return _Decision("skipped", UNCHANGED)
    if item.record_version == known["version"]:
        changes = {name: value for name, value in _values(member).items() if name != "email"}
        return _Decision("updated", record_id=known["id"], changes=changes)
    return _merged(member, known)


def _merged(member: SourceMember, known: Record) -> _Decision:
    """The values that may be added to a member who was not created by an import, or was edited
    since."""
    changes: dict[str, Any] = {}
    if member.tier == "paid" and known["tier"] != "paid":
        changes["tier"] = "paid"
    if member.payment_customer_id and not known["payment_customer_id"]:
        changes["payment_customer_id"] = member.payment_customer_id
    if member.name and not known["name"]:
        changes["name"] = _values(member)["name"]
    given = _given(member)
    for name in ("note", "labels", "language"):
        if known[name] in ("", "[]") and name in given:
            changes[name] = given[name]
    if not changes:
        return _Decision("skipped", EXISTS, record_id=known["id"])
    return _Decision("updated", record_id=known["id"], changes=changes)


def _with_level(
    values: Mapping[str, Any], member: SourceMember, state: _MemberState
) -> Mapping[str, Any]:
    """With the tier of this site that has the name of theirs, if they are paid."""
    known = [state.levels[name]["id"] for name in member.levels if name in state.levels]
    return {**values, "tier_id": known[0]} if known and values.get("tier") == "paid" else values


def _values(member: SourceMember) -> dict[str, Any]:
    name = blog_members.by_name["name"]
    assert isinstance(name, Text)
    return {
        "email": member.email,
        "name": member.name[: name.max],
        "tier": member.tier,
        "newsletter": member.newsletter,
        "payment_customer_id": member.payment_customer_id,
        **_given(member),
    }


def _given(member: SourceMember) -> dict[str, Any]:
    """The values that not every export has, and that staff here may have set meanwhile."""
    found = {
        "labels": _labels(member),
        "note": member.note[:_NOTE],
        "status": member.past_state,
        "language": member.language,
    }
    return {name: value for name, value in found.items() if value}


def _labels(member: SourceMember) -> list[str]:
    kept = (each.strip()[: _LABELS.max_length].strip() for each in member.labels)
    return [each for each in dict.fromkeys(kept) if each][: _LABELS.max_items]


def _warnings(member: SourceMember) -> tuple[str, ...]:
    is_cut = len(member.note) > _NOTE or any(
        len(each.strip()) > _LABELS.max_length for each in member.labels
    )
    return (CUT,) if is_cut or len(set(member.labels)) > _LABELS.max_items else ()
