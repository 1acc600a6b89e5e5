"""The catalog: complete, and true of what the changes of records really say."""

from __future__ import annotations

import pytest
from tests.engine.events.described import check_payload, payload_schema_of
from tests.engine.events.year import live_a_year
from tests.world import TenantWorld

from masthead.engine.events.catalog import CATALOG, Cause, EventKind
from masthead.engine.events.names import EVENT_NAMES, TEST_PING
from masthead.service.schema import registry

NAMES = """post.created post.updated post.published post.unpublished post.deleted page.published
comment.posted comment.approved comment.received comment.deleted
subscriber.added subscriber.removed member.subscribed member.unsubscribed member.tier_changed
order.paid order.refunded order.shipped product.created product.updated
cart.abandoned gift_card.issued gift_card.redeemed mailing.sent media.uploaded test.ping"""

each_kind = pytest.mark.parametrize("kind", CATALOG, ids=lambda kind: kind.name)


def test_each_event_name_is_listed_once() -> None:
    assert sorted(EVENT_NAMES) == sorted(NAMES.split())
    assert TEST_PING in EVENT_NAMES


async def test_every_event_fires_with_the_payload_of_the_catalog(tenant: TenantWorld) -> None:
    await live_a_year(tenant)
    fired = await tenant.events()
    assert {name for name, _ in fired} == set(EVENT_NAMES)
    for name, payload in fired:
        check_payload(name, payload)


async def test_optional_values_are_sometimes_missing_or_null(tenant: TenantWorld) -> None:
    """And at times it is not: otherwise the catalog promises too little."""
    await live_a_year(tenant)
    fired = await tenant.events()
    for kind in CATALOG:
        payloads = [payload for name, payload in fired if name == kind.name]
        schema = payload_schema_of(kind.name)
        for optional in set(schema["properties"]) - set(schema["required"]):
            assert {optional in payload for payload in payloads} == {True, False}, kind.name
        for fact in (each for each in kind.facts if not each.where_true):
            nulls = {payload[fact.name] is None for payload in payloads}
            assert fact.nullable == (True in nulls), (kind.name, fact.name)
            assert fact.name == "published_at" or False in nulls, (kind.name, fact.name)


@each_kind
def test_the_example_matches_the_schema(kind: EventKind) -> None:
    check_payload(kind.name, kind.example)
    changed = kind.example.get("changed", [])
    assert set(kind.example.get("previous", {})) == set(changed)
    assert Cause.UPDATE in kind.causes or not changed


@each_kind
def test_facts_show_fields_that_may_be_read(kind: EventKind) -> None:
    collection = registry[kind.collection]
    for fact in kind.facts:
        assert fact.help.endswith(".")
        if fact.field is not None:
            assert not getattr(collection.by_name[fact.field], "encrypted", False)
    assert not kind.trigger.endswith(".")
