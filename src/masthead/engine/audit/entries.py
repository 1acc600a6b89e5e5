"""Entries of the audit log: for changes of records, and for actions that change none."""

from __future__ import annotations

from typing import Any

from masthead.base.caller import Caller, Kind
from masthead.engine.audit.collection import (
    CHANGED,
    CREATED,
    DELETED,
    FAILED_SIGN_IN,
    MAX_LABEL,
    RESTORED,
    audit_log,
)
from masthead.engine.records.changes import Change
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.write.unit import Unit

_BY_ITSELF = frozenset({"updated", "version"})
"""Changes along with everything else."""


def log_change(unit: Unit, collection: Collection, change: Change) -> None:
    """For the engine, which calls it for every change that a caller asks for. The log leaves out
    those of the service itself and of API keys, of collections without an audit, and those that
    the collection leaves out."""
    caller = unit.caller
    if collection.audited is None or not caller.is_logged:
        return
    if not collection.is_audited(change):
        return
    record, unnamed = change.record, _BY_ITSELF | collection.audited_without
    names = [
        name
        for name, was in change.replaced.items()
        if name not in unnamed and not (_is_nothing(was) and _is_nothing(record[name]))
    ]
    action = CREATED if change.old is None else DELETED if change.new is None else CHANGED
    action = RESTORED if change.is_restored else action
    entry = {
        **_by(caller),
        "action": action,
        "subject": collection.name,
        "record_id": record["id"],
        "label": str(record[collection.audited])[:MAX_LABEL] if collection.audited else "",
        "changed": names,
        "status": record[state] if (state := collection.audited_state) in names else "",
    }
    unit.append(audit_log, entry)


def _is_nothing(value: Any) -> bool:
    """In whichever form a field holds it."""
    return value is None or value in ("", [], {})


def log_action(
    unit: Unit,
    action: str,
    *,
    label: str = "",
    by: Caller | None = None,
    about: tuple[str, str] = ("", ""),
) -> None:
    """Something that changes no record. `by`: who asked for what the service itself does here;
    `about`: the collection and the id of a record."""
    caller = by or unit.caller
    if caller.is_logged:
        subject, record_id = about
        entry: dict[str, Any] = {**_by(caller), "action": action, "label": label[:MAX_LABEL]}
        entry |= {"subject": subject, "record_id": record_id, "status": "", "changed": []}
        unit.append(audit_log, entry)


def log_failed_sign_in(unit: Unit, caller: Caller | None, factor: str, address: str) -> None:
    """`caller`: whom it would have been; None for an address without an account."""
    by = _by(caller) if caller else {"account_id": "", "email": "", "role": str(Kind.GUEST)}
    entry = {"action": FAILED_SIGN_IN, "label": factor, "subject": "", "record_id": ""}
    unit.append(audit_log, {**by, **entry, "address": address, "status": "", "changed": []})


def _by(caller: Caller) -> Record:
    return {
        "account_id": caller.id,
        "email": caller.email,
        "role": str(caller.kind),
        "address": caller.address,
    }
