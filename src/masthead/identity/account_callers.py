"""Accounts as callers, and the key that names one."""

from __future__ import annotations

from masthead.base.caller import Caller, Kind
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Collection, Record
from masthead.identity.tenants import Role, superusers

_STAFF = {
    Role.OWNER: Kind.OWNER,
    Role.EDITOR: Kind.EDITOR,
    Role.AUTHOR: Kind.AUTHOR,
    Role.CONTRIBUTOR: Kind.CONTRIBUTOR,
}


def account_key(account: Record | None) -> tuple[str, str]:
    """Names one account among those of the same address."""
    return (account["tenant_id"], account["id"]) if account else ("", "")


def account_caller(collection: Collection, account: Record) -> Caller:
    tenant_id = TenantId(account["tenant_id"]) if account["tenant_id"] else None
    if collection is superusers:
        kind = Kind.OPERATOR if tenant_id is None else _STAFF[account["role"]]
    else:
        kind = Kind.MEMBER
    return Caller(kind, tenant_id, account["id"], account["email"], collection.name)
