"""How payment events change members, and which member an event is about."""

from __future__ import annotations

import pytest
from tests.features.payments.processor import (
    JUNE,
    Processor,
    ended,
    event,
    failed,
    joined,
    subscription,
)
from tests.world import TenantWorld

LATER = JUNE + 1_000


class TestWhoItIs:
    async def test_an_unknown_customer_becomes_a_paying_member(self, processor: Processor) -> None:
        await processor.send(joined())
        member = await processor.one("blog_members")
        assert (member["email"], member["name"]) == ("reader@example.com", "A Reader")
        assert (member["tier"], member["status"]) == ("paid", "active")
        assert member["payment_customer_id"] == "cus_1"
        # Paying is no consent to be written to.
        assert member["newsletter"] is False
        names = await processor.tenant.event_names()
        assert names.count("member.tier_changed") == 1
        assert "subscriber.added" not in names

    async def test_the_customer_id_goes_before_the_address(self, processor: Processor) -> None:
        create = processor.tenant.create
        known = {"email": "old@example.com", "payment_customer_id": "cus_1"}
        await create("blog_members", known)
        await create("blog_members", {"email": "reader@example.com"})
        await processor.send(joined())
        assert await processor.state("old@example.com") == "paid/active"
        assert await processor.state("reader@example.com") == "free/active"

    @pytest.mark.parametrize(
        ("known", "given"),
        [
            ("reader@example.com", "Reader@EXAMPLE.com"),
            ("ömil@münchen.example", "O\u0308mil@xn--mnchen-3ya.example"),
        ],
    )
    async def test_addresses_are_compared_in_their_normal_form(
        self, processor: Processor, known: str, given: str
    ) -> None:
        member = await processor.tenant.create("blog_members", {"email": known})
        await processor.send(joined(customer_details={"email": given}))
        assert await processor.state(member["email"]) == "paid/active"

    async def test_without_an_address_the_customer_is_stored_for_later(
        self, processor: Processor
    ) -> None:
        await processor.send(joined(customer_details={"email": None}))
        assert await processor.find("blog_members") == []
        assert (await processor.one("payment_subscriptions"))["tier"] == "paid"
        await processor.send(failed(LATER))
        assert await processor.find("blog_members") == []
        await processor.send(joined(LATER + 1))
        assert await processor.state() == "paid/active"

    @pytest.mark.parametrize("first", ["checkout", "subscription"])
    async def test_a_checkout_of_ours_belongs_to_the_member_who_started_it(
        self, processor: Processor, first: str
    ) -> None:
        create = processor.tenant.create
        member = await create("blog_members", {"email": "home@example.com"})
        await create("blog_members", {"email": "reader@example.com"})
        ours = {"metadata": {"member_id": member["id"]}}
        events = [joined(**ours), subscription("active", kind="created", **ours)]
        for each in events if first == "checkout" else reversed(events):
            await processor.send(each)
            assert await processor.state("home@example.com") == "paid/active"
        assert await processor.state("reader@example.com") == "free/active"

    @pytest.mark.parametrize("named", ["abcdefghij01234", "nobody", 7, None, {"id": "x"}])
    async def test_a_member_who_is_not_there_is_found_by_address(
        self, processor: Processor, named: object
    ) -> None:
        await processor.send(joined(metadata={"member_id": named}))
        assert await processor.state() == "paid/active"

    async def test_a_reference_that_anyone_can_put_into_a_link_counts_for_nothing(
        self, processor: Processor
    ) -> None:
        other = await processor.tenant.create("blog_members", {"email": "other@example.com"})
        await processor.send(joined(client_reference_id=other["id"]))
        assert await processor.state("other@example.com") == "free/active"
        assert await processor.state() == "paid/active"

    async def test_a_member_of_another_tenant_is_not_named_by_a_checkout(
        self, processor: Processor, other_tenant: TenantWorld
    ) -> None:
        other = await other_tenant.create("blog_members", {"email": "reader@example.com"})
        await processor.send(joined(metadata={"member_id": other["id"]}))
        assert await processor.state() == "paid/active"
        records = processor.world.parts.records
        (untouched,) = await records.find(
            processor.world.collection("blog_members"), {}, tenant_id=other_tenant.id
        )
        assert untouched["tier"] == "free"

    async def test_an_expanded_customer_is_found_by_its_address(self, processor: Processor) -> None:
        customer = {"id": "cus_1", "email": "reader@example.com"}
        await processor.send(subscription("active", customer=customer))
        assert await processor.state() == "paid/active"

    async def test_an_end_or_a_failure_creates_no_member(self, processor: Processor) -> None:
        customer = {"id": "cus_1", "email": "reader@example.com"}
        await processor.send(ended(customer=customer), failed(customer="cus_2"))
        assert await processor.find("blog_members") == []

    async def test_a_second_customer_of_the_same_member(self, processor: Processor) -> None:
        again = joined(LATER, customer="cus_2", subscription="sub_2", id="cs_2")
        await processor.send(joined(), again)
        assert (await processor.one("blog_members"))["payment_customer_id"] == "cus_2"
        # Events of the first customer still find the member.
        await processor.send(ended(LATER + 1))
        assert await processor.state() == "paid/active"
        await processor.send(ended(LATER + 2, id="sub_2", customer="cus_2"))
        assert await processor.state() == "free/cancelled"

    async def test_a_customer_known_from_before_stays_known(self, processor: Processor) -> None:
        known = {"email": "reader@example.com", "payment_customer_id": "cus_0"}
        await processor.tenant.create("blog_members", known)
        await processor.send(joined(), ended(LATER))
        await processor.send(subscription("active", LATER + 1, customer="cus_0", id="sub_0"))
        assert await processor.state() == "paid/active"

    async def test_a_member_who_was_deleted_may_come_back(self, processor: Processor) -> None:
        await processor.send(joined())
        member = await processor.one("blog_members")
        owner = await processor.tenant.owner()
        await owner.api.delete(f"/api/collections/blog_members/records/{member['id']}")
        await processor.send(subscription("active", LATER), joined(LATER))
        assert await processor.state() == "paid/active"


class TestStates:
    @pytest.mark.parametrize("kind", ["created", "updated"])
    @pytest.mark.parametrize(
        ("status", "after"),
        [
            ("active", "paid/active"),
            ("trialing", "paid/active"),
            ("past_due", "paid/past_due"),
            ("unpaid", "paid/past_due"),
            ("paused", "paid/past_due"),
            ("canceled", "free/cancelled"),
            ("incomplete_expired", "free/cancelled"),
            ("incomplete", "paid/active"),
            ("some_future_word", "paid/active"),
        ],
    )
    async def test_a_subscription_that_changes(
        self, processor: Processor, kind: str, status: str, after: str
    ) -> None:
        await processor.send(joined(), subscription(status, LATER, kind))
        assert await processor.state() == after

    @pytest.mark.parametrize("status", ["past_due", "unpaid", "paused"])
    async def test_a_late_payment_keeps_the_tier_of_the_free_too(
        self, processor: Processor, status: str
    ) -> None:
        known = {"email": "reader@example.com", "payment_customer_id": "cus_1"}
        await processor.tenant.create("blog_members", known)
        await processor.send(subscription(status))
        assert await processor.state() == "free/past_due"

    async def test_a_subscription_that_ends(self, processor: Processor) -> None:
        await processor.send(joined(), ended(LATER))
        assert await processor.state() == "free/cancelled"
        names = await processor.tenant.event_names()
        assert names.count("member.tier_changed") == 2
        assert names.count("subscriber.removed") == 1

    async def test_a_payment_that_fails_and_one_that_succeeds(self, processor: Processor) -> None:
        await processor.send(joined(), failed(LATER))
        assert await processor.state() == "paid/past_due"
        await processor.send(subscription("active", LATER + 1))
        assert await processor.state() == "paid/active"

    async def test_an_invoice_without_a_subscription_counts_for_the_customer(
        self, processor: Processor
    ) -> None:
        await processor.send(joined(), failed(LATER, subscription=None))
        assert await processor.state() == "paid/past_due"
        await processor.send(subscription("active", LATER + 1))
        assert await processor.state() == "paid/active"

    async def test_the_last_failure_does_not_reopen_an_ended_subscription(
        self, processor: Processor
    ) -> None:
        await processor.send(joined(), ended(LATER), failed(LATER + 1))
        assert await processor.state() == "free/cancelled"

    async def test_a_checkout_to_be_paid_later_waits(self, processor: Processor) -> None:
        await processor.send(joined(payment_status="unpaid"))
        assert await processor.state() == "free/active"
        await processor.send(subscription("active", LATER))
        assert await processor.state() == "paid/active"

    async def test_an_older_subscription_that_ends_leaves_the_newer_one(
        self, processor: Processor
    ) -> None:
        await processor.send(joined(), joined(LATER, subscription="sub_2"), ended(LATER + 1))
        assert await processor.state() == "paid/active"

    async def test_a_new_subscription_after_the_end(self, processor: Processor) -> None:
        again = joined(LATER + 1, subscription="sub_2")
        await processor.send(joined(), ended(LATER), again, subscription("active", JUNE + 1))
        assert await processor.state() == "paid/active"

    async def test_minimal_events_are_processed_in_the_order_received(
        self, processor: Processor
    ) -> None:
        """An id, a customer and items; neither a status nor a time."""
        known = {"email": "reader@example.com", "payment_customer_id": "cus_1"}
        await processor.tenant.create("blog_members", known)
        bare = event("customer.subscription.created", {"id": "sub_1", "customer": "cus_1"})
        del bare["created"]
        await processor.send(bare)
        assert await processor.state() == "paid/active"
        processor.world.clock.advance(seconds=2)
        await processor.send(bare | {"id": "evt_bare", "type": "customer.subscription.deleted"})
        assert await processor.state() == "free/cancelled"

    async def test_a_late_event_does_not_overwrite_a_manual_change(
        self, processor: Processor
    ) -> None:
        await processor.send(joined(), subscription("active", LATER))
        member = await processor.one("blog_members")
        await processor.tenant.update("blog_members", member["id"], {"tier": "free"})
        await processor.send(subscription("past_due", JUNE + 1))
        assert await processor.state() == "free/active"
        await processor.send(subscription("active", LATER + 1))
        assert await processor.state() == "paid/active"


class TestMappings:
    async def test_customers_subscriptions_and_products_are_stored(
        self, processor: Processor
    ) -> None:
        product = await processor.tenant.create(
            "products", {"name": "Membership", "payment_product_id": "prod_member"}
        )
        await processor.send(joined(), subscription("trialing", LATER))
        member = await processor.one("blog_members")
        customer = await processor.one("payment_customers")
        assert (customer["payment_customer_id"], customer["member_id"]) == ("cus_1", member["id"])
        kept = await processor.one("payment_subscriptions")
        assert (kept["payment_subscription_id"], kept["payment_customer_id"]) == ("sub_1", "cus_1")
        assert (kept["member_id"], kept["status"]) == (member["id"], "trialing")
        assert kept["event_created"] == "2024-06-10T06:30:00.000Z"
        assert kept["current_period_end"] == "2024-07-10T06:30:00.000Z"
        mapped = await processor.one("payment_products")
        assert (mapped["payment_product_id"], mapped["payment_price_id"], mapped["product_id"]) == (
            "prod_member",
            "price_month",
            product["id"],
        )

    async def test_the_period_is_found_where_2025_put_it(self, processor: Processor) -> None:
        item = {"current_period_end": JUNE, "price": {"id": "price_1", "product": "prod_1"}}
        sent = subscription("active", items={"data": [item]})
        del sent["data"]["object"]["current_period_end"]
        await processor.send(sent)
        kept = await processor.one("payment_subscriptions")
        assert kept["current_period_end"] == "2024-06-10T06:13:20.000Z"


class TestTerms:
    """The member's account has the price of a subscription and its end."""

    async def test_the_price_and_the_end_of_the_period_are_stored(
        self, processor: Processor
    ) -> None:
        await processor.send(joined(), subscription("active"))
        stored = await processor.one("payment_subscriptions")
        assert stored["payment_price_id"] == "price_month"
        assert stored["current_period_end"] == "2024-07-10T06:13:20.000Z"
        assert stored["ends_at"] == ""

    async def test_a_cancelled_subscription_says_when_it_ends(self, processor: Processor) -> None:
        await processor.send(subscription("active", cancel_at_period_end=True))
        stored = await processor.one("payment_subscriptions")
        assert stored["ends_at"] == stored["current_period_end"]
        await processor.send(subscription("active", LATER, cancel_at=LATER + 60))
        stored = await processor.one("payment_subscriptions")
        assert stored["ends_at"] == "2024-06-10T06:31:00.000Z"

    async def test_one_that_goes_on_after_all_has_no_end(self, processor: Processor) -> None:
        await processor.send(
            subscription("active", cancel_at_period_end=True),
            subscription("active", LATER, cancel_at_period_end=False),
        )
        assert (await processor.one("payment_subscriptions"))["ends_at"] == ""

    async def test_an_older_event_does_not_bring_the_end_back(self, processor: Processor) -> None:
        await processor.send(
            subscription("active", LATER), subscription("active", cancel_at_period_end=True)
        )
        assert (await processor.one("payment_subscriptions"))["ends_at"] == ""

    async def test_a_checkout_does_not_empty_the_terms(self, processor: Processor) -> None:
        await processor.send(subscription("active"), joined(LATER))
        stored = await processor.one("payment_subscriptions")
        assert (stored["payment_price_id"], stored["current_period_end"] != "") == (
            "price_month",
            True,
        )
