"""Addresses are those that members can have, and each becomes one member."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from masthead.faces.importers.platforms.member_rows import (
    REPEATED,
    Entry,
    MergedMembers,
    checked_email,
    refused,
)
from masthead.faces.importers.source import Skipped, SourceMember


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("a@example.com", "a@example.com"),
        (" Mixed.Case@Example.COM ", "mixed.case@example.com"),
        ("o'hara+tag@example.com", "o'hara+tag@example.com"),
        ("x@münchen.example", "x@xn--mnchen-3ya.example"),
        ("", None),
        ("plain", None),
        ("@example.com", None),
        ("no-domain@", None),
        ("a@b", None),
        ("two@@example.com", None),
        ("a b@example.com", None),
        ("x@example..com", None),
        ("x@-example.com", None),
        ("x@exämple..com", None),
        ("name <x@example.com>", None),
        ("x" * 65 + "@example.com", None),
        ("x@" + "é" * 100 + ".com", None),
        ("Üñí@example.com", "üñí@example.com"),
        ("üñí@exämple", None),
        ("ü\u200bñí@example.com", None),
        ("a\x00@example.com", None),
    ],
)
def test_addresses(given: str, stored: str | None) -> None:
    assert checked_email(given) == stored


def merged(*entries: Entry) -> MergedMembers:
    def read() -> Iterator[Entry]:
        return iter(entries)

    return MergedMembers(read)


def test_a_repeated_address_has_the_first_rows_profile_and_any_rows_payment() -> None:
    members = merged(
        SourceMember("a@example.com", name="First", newsletter=False),
        SourceMember("b@example.com"),
        SourceMember("a@example.com", name="Second", payment_customer_id="cus_1"),
        SourceMember("a@example.com", tier="paid", created="2024-01-01T00:00:00.000Z"),
    )
    assert members.count == 2
    assert list(members) == [
        SourceMember(
            "a@example.com",
            name="First",
            newsletter=False,
            tier="paid",
            payment_customer_id="cus_1",
            created="2024-01-01T00:00:00.000Z",
        ),
        SourceMember("b@example.com"),
        Skipped("member", "a@example.com", REPEATED),
        Skipped("member", "a@example.com", REPEATED),
    ]


def test_what_was_skipped_stays_skipped_and_is_not_counted() -> None:
    members = merged(refused(1, "nobody"), SourceMember("a@example.com"), refused(3, "x" * 500))
    assert members.count == 1
    first, _, last = members
    assert first == Skipped("member", "row 1", "invalid email address", title="nobody")
    assert isinstance(last, Skipped)
    assert len(last.title) == 100
