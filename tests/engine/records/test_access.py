"""Who may do what before a record is read, as tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from masthead.base.caller import Caller, Kind
from masthead.base.errors import BadRequest, Forbidden, MastheadError, NotFound, Unauthenticated
from masthead.base.ids import TenantId
from masthead.engine.records.access import (
    Action,
    access_of,
    allow,
    allow_reading,
    allow_record,
    check_id,
    excludes,
    name_of,
    no_tenant,
    refuse_guest,
    require_tenant,
    scope_of_caller,
)
from masthead.engine.records.collection import FREE, Collection, Rules, SiteRules
from masthead.engine.records.fields.base import Access
from masthead.storage.database import EVERY_TENANT, scope_of

TENANT = TenantId("t00000000000001")
OWN, OTHER = "own000000000001", "other0000000001"


def caller(kind: Kind, **values: Any) -> Caller:
    return Caller(kind, TENANT, OWN, **values)


NOTES = Collection(
    name="field_notes",
    fields=(),
    rules=Rules(read="a = 1"),
    contributors=Rules(read="b = 1"),
    authors=Rules(read="c = 1", create="c = 2"),
    editors=Rules(read="d = 1", create="d = 2", update="d = 3"),
    site=SiteRules(read="e = 1", fields=(), create="e = 2"),
)
"""Nobody but administrators deletes one."""


@dataclass(frozen=True)
class Row:
    kind: Kind
    access: Access
    rules: Rules
    tenantless: type[MastheadError] | None
    """The refusal of a call that names no tenant."""


ROWS = [
    Row(Kind.GUEST, Access.PUBLIC, Rules(read="a = 1"), Unauthenticated),
    Row(Kind.MEMBER, Access.MEMBER, Rules(read="a = 1"), BadRequest),
    Row(Kind.SITE, Access.SITE, Rules(read="e = 1", create="e = 2"), BadRequest),
    Row(Kind.CONTRIBUTOR, Access.CONTRIBUTOR, NOTES.contributors, BadRequest),
    Row(Kind.AUTHOR, Access.AUTHOR, NOTES.authors, BadRequest),
    Row(Kind.EDITOR, Access.EDITOR, NOTES.editors, BadRequest),
    Row(Kind.OWNER, Access.ADMIN, FREE, BadRequest),
    Row(Kind.KEY, Access.ADMIN, FREE, BadRequest),
    Row(Kind.OPERATOR, Access.PLATFORM, FREE, None),
    Row(Kind.SYSTEM, Access.PLATFORM, FREE, None),
    Row(Kind.SHELL, Access.PLATFORM, FREE, None),
]


def test_the_table_has_every_kind_of_caller() -> None:
    assert {row.kind for row in ROWS} == set(Kind)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind.value)
class TestKinds:
    def test_its_rules(self, row: Row) -> None:
        assert access_of(caller(row.kind)) is row.access
        assert NOTES.rules_for(row.access) == row.rules
        for action in Action:
            rule = getattr(row.rules, action)
            if rule is not None:
                assert allow(caller(row.kind), NOTES, action) == rule
                continue
            refusal = Unauthenticated if row.kind is Kind.GUEST else Forbidden
            with pytest.raises(refusal):
                allow(caller(row.kind), NOTES, action)

    def test_a_call_without_a_tenant(self, row: Row) -> None:
        require_tenant(caller(row.kind))
        if row.tenantless is None:
            require_tenant(Caller(row.kind))
            return
        with pytest.raises(row.tenantless) as refused:
            require_tenant(Caller(row.kind))
        assert type(no_tenant(Caller(row.kind))) is row.tenantless
        if row.tenantless is BadRequest:
            assert str(refused.value) == (
                "Say which tenant: use its host name or the x-tenant-id header."
            )

    def test_only_guests_are_asked_to_sign_in(self, row: Row) -> None:
        if row.kind is not Kind.GUEST:
            refuse_guest(caller(row.kind))
            return
        with pytest.raises(Unauthenticated):
            refuse_guest(caller(row.kind))

    def test_what_it_may_list_it_reads_with_its_access(self, row: Row) -> None:
        assert allow_reading(caller(row.kind), NOTES) is row.access


def test_without_site_rules_the_site_shows_nothing() -> None:
    assert Collection(name="notes", fields=()).rules_for(Access.SITE) == Rules()


def test_a_list_that_is_locked_is_refused() -> None:
    with pytest.raises(Forbidden):
        allow_reading(caller(Kind.MEMBER), Collection(name="notes", fields=()))


@pytest.mark.parametrize(
    ("kind", "action", "message"),
    [
        (Kind.MEMBER, Action.CREATE, "Only the staff of the site can add field notes."),
        (Kind.SITE, Action.DELETE, "Only the staff of the site can delete field notes."),
        (
            Kind.CONTRIBUTOR,
            Action.CREATE,
            "Contributors can't add field notes. Ask an editor or an owner of the site.",
        ),
        (
            Kind.AUTHOR,
            Action.UPDATE,
            "Authors can't change field notes. Ask an editor or an owner of the site.",
        ),
        # No editor may do it either.
        (
            Kind.AUTHOR,
            Action.DELETE,
            "Authors can't delete field notes. Ask an owner of the site.",
        ),
        (
            Kind.EDITOR,
            Action.DELETE,
            "Editors can't delete field notes. Ask an owner of the site.",
        ),
    ],
)
def test_a_refusal_says_whom_to_ask(kind: Kind, action: Action, message: str) -> None:
    with pytest.raises(Forbidden) as refused:
        allow(caller(kind), NOTES, action)
    assert str(refused.value) == message


def test_a_refusal_to_read() -> None:
    editors_only = Collection(name="drafts", fields=(), editors=Rules(read=""))
    with pytest.raises(Forbidden) as refused:
        allow(caller(Kind.CONTRIBUTOR), editors_only, Action.READ)
    assert str(refused.value) == (
        "Contributors can't see drafts. Ask an editor or an owner of the site."
    )


def test_a_collection_is_called_by_its_name_or_a_better_one() -> None:
    assert name_of(NOTES) == "field notes"
    assert name_of(Collection(name="blog_members", fields=(), called="members")) == "members"


@pytest.mark.parametrize(
    ("rule", "record_id", "expected"),
    [
        ("", OTHER, False),
        ("id = @request.auth.id", OWN, False),
        ("id = @request.auth.id", OTHER, True),
        ("@request.auth.id = id", OTHER, True),
        ("id != @request.auth.id", OTHER, False),
        ("id != @request.auth.id", OWN, False),
        # All of its conditions must hold, but of two alternatives one is enough.
        ("status = 'open' && id = @request.auth.id", OTHER, True),
        ("status = 'open' && (id = @request.auth.id && status = 'new')", OTHER, True),
        ("status = 'open' && id = @request.auth.id", OWN, False),
        ("status = 'open' || id = @request.auth.id", OTHER, False),
        # A field says nothing before it is read, whatever stands on the other side.
        ("author = @request.auth.id", OTHER, False),
        ("author = 'ada'", OTHER, False),
        ("@request.auth.collectionName = 'blog_members'", OTHER, False),
        ("@request.auth.collectionName = 'superusers'", OWN, True),
        ("@request.auth.id = ''", OWN, True),
        (f"id = '{OTHER}'", OTHER, False),
        (f"id = '{OTHER}'", OWN, True),
        # No text of a known value.
        ("id = 1", OWN, False),
        ("id = null", OWN, False),
        ("id:lower = @request.auth.id", OTHER, False),
        ("id = @now", OWN, False),
    ],
)
def test_what_a_rule_refuses_by_the_ids_alone(rule: str, record_id: str, expected: bool) -> None:
    member = caller(Kind.MEMBER, collection="blog_members")
    if rule:
        assert excludes(rule, member, record_id) is expected
    found = Collection(name="notes", fields=(), rules=Rules(update=rule))
    if expected:
        with pytest.raises(NotFound):
            allow_record(member, found, Action.UPDATE, record_id)
    else:
        allow_record(member, found, Action.UPDATE, record_id)
    # It is that rule and no other.
    with pytest.raises(Forbidden):
        allow_record(member, found, Action.DELETE, record_id)


@pytest.mark.parametrize("text", ["", "a", OWN + "0", OWN.upper(), "own00000000000\0", "ö" * 15])
def test_a_text_that_is_no_id_names_no_record(text: str) -> None:
    check_id(OWN)
    with pytest.raises(NotFound):
        check_id(text)


def test_a_caller_reads_within_its_tenant() -> None:
    assert scope_of_caller(caller(Kind.OPERATOR)) == scope_of(TENANT)
    assert scope_of_caller(Caller(Kind.OPERATOR)) is EVERY_TENANT
    assert scope_of(TENANT) != EVERY_TENANT
