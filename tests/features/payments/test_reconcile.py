"""The nightly report lists inconsistencies and changes nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.databases import fresh_url
from tests.features.payments.processor import (
    JUNE,
    Processor,
    bought,
    ended,
    joined,
    new_processor,
    subscription,
)
from tests.world import World, open_world

from masthead.base.config.settings import Settings
from masthead.features.payments.reconcile import MAX_LISTED, Reconciliation, Report, Reports
from masthead.service.cli.installation_checks import CHECKS
from masthead.service.schema import tables


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
async def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    """A separate service: the report reads every tenant, and other tests leave hundreds."""
    folder = tmp_path_factory.mktemp("reconcile")
    world = await open_world(fresh_url(request.param, folder), folder)
    yield world
    await world.parts.close()


async def reconcile(processor: Processor) -> Report:
    parts = processor.world.parts
    await Reconciliation(parts.records, tables).run()
    reports = {tenant: report for tenant, _, report in await Reports(parts.database).all()}
    return reports[processor.tenant.id]


async def test_consistent_data_has_no_findings(processor: Processor) -> None:
    await processor.send(joined(), bought(), subscription("past_due", JUNE + 1))
    assert (await reconcile(processor)).is_clean


async def test_a_tier_set_by_hand_against_the_subscription(processor: Processor) -> None:
    await processor.send(joined(), joined(customer="cus_2", subscription="sub_2"))
    member = await processor.one("blog_members")
    await processor.send(ended(JUNE + 1), ended(JUNE + 1, id="sub_2", customer="cus_2"))
    await processor.tenant.update("blog_members", member["id"], {"tier": "paid"})
    report = await reconcile(processor)
    assert report.members.count == 1
    assert report.members.first[0].id == member["id"]
    assert report.members.first[0].why == "is paid, and free by the subscription"
    assert await processor.state() == "paid/cancelled"
    await processor.tenant.update("blog_members", member["id"], {"tier": "free"})
    assert (await reconcile(processor)).is_clean


async def test_orders_without_payment(processor: Processor) -> None:
    by_hand = {"email": "buyer@example.com", "status": "shipped"}
    shipped = await processor.tenant.create("orders", by_hand)
    pending = await processor.tenant.create("orders", {"email": "buyer@example.com"})
    await processor.send(bought())
    assert [each.id for each in (await reconcile(processor)).orders.first] == [shipped["id"]]
    processor.world.clock.advance(days=1, seconds=1)
    found = (await reconcile(processor)).orders
    assert {(each.id, each.why) for each in found.first} == {
        (shipped["id"], "has no payment"),
        (pending["id"], "waits for its payment"),
    }


async def test_subscriptions_without_a_member_and_events_not_applied(app: World) -> None:
    processor = await new_processor(app, member_payment_secret_key="sk_live_1")
    await processor.send(subscription("active") | {"livemode": True}, joined())
    report = await reconcile(processor)
    assert report.subscriptions.count == report.events.count == 1
    assert "live" in report.events.first[0].why
    processor.world.clock.advance(days=8)
    assert (await reconcile(processor)).events.count == 0


async def test_a_long_list_is_counted_in_full_and_listed_in_part(processor: Processor) -> None:
    for number in range(MAX_LISTED + 2):
        values = {"email": f"buyer{number}@example.com", "status": "paid"}
        await processor.tenant.create("orders", values)
    found = (await reconcile(processor)).orders
    assert (found.count, len(found.first)) == (MAX_LISTED + 2, MAX_LISTED)


async def test_doctor_shows_the_last_report(database_url: str, tmp_path: Path) -> None:
    world = await open_world(database_url, tmp_path)
    try:
        processor = await new_processor(world)
        assert "nothing to reconcile yet" in await payments_check(database_url, tmp_path)
        await processor.send(joined())
        await reconcile(processor)
        assert "no differences" in await payments_check(database_url, tmp_path)
        by_hand = {"email": "buyer@example.com", "status": "paid"}
        order = await processor.tenant.create("orders", by_hand)
        await reconcile(processor)
        said = await payments_check(database_url, tmp_path)
        assert said == f"{processor.tenant.slug}: 1 orders ({order['id']} has no payment)"
    finally:
        await world.parts.close()


async def payments_check(database_url: str, folder: Path) -> str:
    environ = {"MASTHEAD_SECRET_KEY": "k" * 40}
    settings = Settings.from_environ(environ, data_dir=folder, database_url=database_url)
    _, detail = await CHECKS["payments"](settings)
    return detail
