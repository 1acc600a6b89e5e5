"""Access checks that need no record: whether a rule is locked, or excludes the caller by id, and
whether the caller has the tenant that a call needs."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache

from masthead.base import ids
from masthead.base.caller import Caller, Kind
from masthead.base.errors import BadRequest, Forbidden, NotFound, Unauthenticated
from masthead.base.languages.words import staff_words
from masthead.engine.records.collection import Collection
from masthead.engine.records.fields.base import Access
from masthead.engine.records.filter.ast import Comparison, Identifier, Literal, Operand, conjuncts
from masthead.engine.records.filter.parser import parse
from masthead.storage.database import EVERY_TENANT, Scope, scope_of

NAME_A_TENANT = "Say which tenant: use its host name or the x-tenant-id header."


class Action(StrEnum):
    """The rules of a collection, by what they are about."""

    READ = "read"
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


_ACCESS = {
    Kind.GUEST: Access.PUBLIC,
    Kind.MEMBER: Access.MEMBER,
    Kind.SITE: Access.SITE,
    Kind.CONTRIBUTOR: Access.CONTRIBUTOR,
    Kind.AUTHOR: Access.AUTHOR,
    Kind.EDITOR: Access.EDITOR,
    Kind.OWNER: Access.ADMIN,
    Kind.KEY: Access.ADMIN,
    Kind.OPERATOR: Access.PLATFORM,
    Kind.SYSTEM: Access.PLATFORM,
    Kind.SHELL: Access.PLATFORM,
}


def access_of(caller: Caller) -> Access:
    return _ACCESS[caller.kind]


def allow(caller: Caller, collection: Collection, action: Action) -> str:
    """The rule for the action. If it is locked, refuses and says who may do it."""
    rule = _rule(collection, access_of(caller), action)
    if rule is not None:
        return rule
    refuse_guest(caller)
    raise Forbidden(_refusal(caller, collection, action))


def refuse_guest(caller: Caller) -> None:
    if caller.kind is Kind.GUEST:
        raise Unauthenticated


def _rule(collection: Collection, access: Access, action: Action) -> str | None:
    rule: str | None = getattr(collection.rules_for(access), action)
    return rule


def _refusal(caller: Caller, collection: Collection, action: Action) -> str:
    what = name_of(collection)
    if caller.kind not in _ROLES:
        return f"Only the staff of the site can {_VERBS[action]} {what}."
    ask = staff_words("Ask an owner of the site.")
    if caller.is_writer and _rule(collection, Access.EDITOR, action) is not None:
        ask = staff_words("Ask an editor or an owner of the site.")
    refusal = _refused(action, _ROLES[caller.kind], what)
    return staff_words("%(refusal)s %(ask)s", refusal=refusal, ask=ask)


def _refused(action: Action, who: str, what: str) -> str:
    match action:
        case Action.READ:
            return staff_words("%(who)s can't see %(what)s.", who=who, what=what)
        case Action.CREATE:
            return staff_words("%(who)s can't add %(what)s.", who=who, what=what)
        case Action.UPDATE:
            return staff_words("%(who)s can't change %(what)s.", who=who, what=what)
        case Action.DELETE:
            return staff_words("%(who)s can't delete %(what)s.", who=who, what=what)


def name_of(collection: Collection) -> str:
    return collection.called or collection.name.replace("_", " ")


_ROLES = {
    Kind.CONTRIBUTOR: staff_words("Contributors"),
    Kind.AUTHOR: staff_words("Authors"),
    Kind.EDITOR: staff_words("Editors"),
}
_VERBS = {
    Action.READ: "see",
    Action.CREATE: "add",
    Action.UPDATE: "change",
    Action.DELETE: "delete",
}


def allow_reading(caller: Caller, collection: Collection) -> Access:
    allow(caller, collection, Action.READ)
    return access_of(caller)


def allow_record(caller: Caller, collection: Collection, action: Action, record_id: str) -> None:
    """Refuses if the caller and the id are enough for the rule to refuse. The query checks the
    conditions on other fields."""
    rule = allow(caller, collection, action)
    if rule and excludes(rule, caller, record_id):
        raise NotFound


def excludes(rule: str, caller: Caller, record_id: str) -> bool:
    """Whether the rule refuses the caller the record with this id, whatever it holds."""
    known = {
        ("@request", "auth", "id"): caller.id,
        ("@request", "auth", "collectionName"): caller.collection,
        ("id",): record_id,
    }
    for left, right in _equalities(rule):
        values = {_value(left, known), _value(right, known)}
        if None not in values and len(values) > 1:
            return True
    return False


def check_id(record_id: str) -> None:
    """A text that is no id names no record. PostgreSQL would refuse some as a parameter."""
    if not ids.is_id(record_id):
        raise NotFound


def require_tenant(caller: Caller) -> None:
    """Only platform callers may act without a tenant."""
    if caller.tenant_id is None and not caller.is_platform:
        raise no_tenant(caller)


def no_tenant(caller: Caller) -> Exception:
    if caller.kind is Kind.GUEST:
        return Unauthenticated()
    return BadRequest(NAME_A_TENANT)


def scope_of_caller(caller: Caller) -> Scope:
    return EVERY_TENANT if caller.tenant_id is None else scope_of(caller.tenant_id)


@lru_cache(maxsize=256)
def _equalities(rule: str) -> tuple[tuple[Operand, Operand], ...]:
    return tuple(
        (each.left, each.right)
        for each in conjuncts(parse(rule))
        if isinstance(each, Comparison) and each.op == "="
    )


def _value(operand: Operand, known: dict[tuple[str, ...], str]) -> str | None:
    if isinstance(operand, Literal):
        return operand.value if isinstance(operand.value, str) else None
    if isinstance(operand, Identifier) and not operand.modifier:
        return known.get(operand.path)
    return None
