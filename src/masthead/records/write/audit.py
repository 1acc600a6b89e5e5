"""The audit log: what staff and operators have changed, written in the transaction of the change.

It names the fields that changed, never their values, so no secret and no text ends up in it.
"""

from __future__ import annotations

from typing import Any

from masthead.caller import Caller, Kind
from masthead.records.changes import Change
from masthead.records.collection import Collection, Index, Record
from masthead.records.fields.base import Access
from masthead.records.fields.documents import TextList
from masthead.records.fields.text import Email, Text

CREATED, CHANGED, DELETED = "created", "changed", "deleted"
SIGNED_IN, OPENED = "signed in", "opened"
EXPORTED, DOWNLOADED_EXPORT = "exported a member", "downloaded an export"
PLANNED_ERASURE, CANCELLED_ERASURE = "planned an erasure", "cancelled an erasure"
DOWNLOADED_MEMBERS = "downloaded members"
EXPORTED_SITE, DOWNLOADED_SITE = "exported the site", "downloaded the site"
PLANNED_DELETION, CANCELLED_DELETION = "planned a deletion", "cancelled a deletion"
RETRIED_JOB, DISCARDED_JOB = "ran a job again", "discarded a job"
MAX_LABEL = 255
_PEOPLE = frozenset({Kind.AUTHOR, Kind.EDITOR, Kind.OWNER, Kind.OPERATOR})
_BY_ITSELF = frozenset({"updated", "version"})
"""Changes along with everything else."""

audit_log = Collection(
    "audit_log",
    (
        Text(name="account_id", max=15, write=Access.ENGINE),
        Email(name="email", personal=True, write=Access.ENGINE, help="Of the account, back then."),
        Text(
            name="role",
            max=20,
            write=Access.ENGINE,
            help=f"Of the account, back then. `{Kind.SHELL}`: without an account, by a command on "
            "the machine itself.",
        ),
        Text(
            name="address",
            max=64,
            personal=True,
            write=Access.ENGINE,
            help="The network address that the call came from.",
        ),
        Text(
            name="action",
            max=20,
            write=Access.ENGINE,
            help=f"`{CREATED}`, `{CHANGED}`, `{DELETED}`, `{SIGNED_IN}`, `{OPENED}` where an "
            "operator has come to the site to work in it; what was done with members' data: "
            f"`{EXPORTED}`, `{DOWNLOADED_EXPORT}`, `{PLANNED_ERASURE}`, "
            f"`{CANCELLED_ERASURE}`, `{DOWNLOADED_MEMBERS}`; with the whole site: "
            f"`{EXPORTED_SITE}`, `{DOWNLOADED_SITE}`, `{PLANNED_DELETION}`, "
            f"`{CANCELLED_DELETION}`; with work that had failed: "
            f"`{RETRIED_JOB}`, `{DISCARDED_JOB}`.",
        ),
        Text(name="subject", max=50, write=Access.ENGINE, help="The collection."),
        Text(name="record_id", max=15, write=Access.ENGINE),
        Text(
            name="label",
            max=MAX_LABEL,
            write=Access.ENGINE,
            help="The name of the record, the site or the kind of work. Empty for records about "
            "readers. An erasure removes the person's address from it.",
        ),
        TextList(name="changed", write=Access.ENGINE, help="The names of the changed fields."),
        Text(name="status", max=50, write=Access.ENGINE, help="The new status, if it changed."),
    ),
    help="What staff and operators have done, by whom, when and from where.",
    platform_records=True,
    owner_may_delete=False,
    made_by="the change that it describes",
    # So that a sweep need not count: lists of it go on by cursor.
    counters=(),
    indexes=(
        Index(("account_id", "created", "id")),
        Index(("subject", "created", "id")),
        Index(("created", "id"), across_tenants=True),
    ),
    called="the activity log",
)


def entry_of(caller: Caller, collection: Collection, change: Change) -> Record | None:
    """None where the log leaves the change out: it is the service's own or an API key's, of a
    collection without an audit, or one that the collection leaves out."""
    if collection.audited is None or not _is_logged(caller) or not collection.is_audited(change):
        return None
    old, new = change.old, change.new
    names: list[str] = []
    if old is not None and new is not None:
        unnamed = _BY_ITSELF | collection.audited_without
        names = [name for name in new if name not in unnamed and _differ(old[name], new[name])]
    action = CREATED if old is None else DELETED if new is None else CHANGED
    record = change.record
    return {
        **_by(caller),
        "action": action,
        "subject": collection.name,
        "record_id": record["id"],
        "label": str(record[collection.audited])[:MAX_LABEL] if collection.audited else "",
        "changed": names,
        "status": record[state] if (state := collection.audited_state) in names else "",
    }


def _differ(one: Any, other: Any) -> bool:
    """Nothing is nothing, in whichever form a field holds it."""
    return one != other and (not _is_nothing(one) or not _is_nothing(other))


def _is_nothing(value: Any) -> bool:
    return value is None or value in ("", [], {})


def event_of(caller: Caller, action: str, label: str = "") -> Record | None:
    """Something that changes no record."""
    if not _is_logged(caller):
        return None
    nothing: dict[str, Any] = dict.fromkeys(("subject", "record_id", "status"), "")
    label = label[:MAX_LABEL]
    return {**_by(caller), "action": action, **nothing, "label": label, "changed": []}


def made_by(caller: Caller) -> Record:
    """For a record that says who made a change: the account of staff, else the kind of caller."""
    if _is_person(caller):
        return {"changed_by": str(caller.kind), "account_id": caller.id}
    is_other = caller.kind in (Kind.MEMBER, Kind.KEY)
    return {"changed_by": str(caller.kind if is_other else Kind.SYSTEM), "account_id": ""}


def _is_logged(caller: Caller) -> bool:
    return _is_person(caller) or caller.kind is Kind.SHELL


def _is_person(caller: Caller) -> bool:
    # Without an id it is the service on behalf of a tenant.
    return caller.kind in _PEOPLE and bool(caller.id)


def _by(caller: Caller) -> Record:
    return {
        "account_id": caller.id,
        "email": caller.email,
        "role": str(caller.kind),
        "address": caller.address,
    }
