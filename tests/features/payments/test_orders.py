"""Orders from checkouts, and refunds of them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.features.payments.processor import JUNE, Processor, bought, event, joined, refunded

from masthead.engine.records.collection import Record


async def order_events(processor: Processor) -> list[str]:
    return [name for name in await processor.tenant.event_names() if name.startswith("order.")]


class TestCheckouts:
    async def test_a_purchase_is_a_paid_order(self, processor: Processor) -> None:
        await processor.send(bought())
        order = await processor.one("orders")
        assert (order["email"], order["status"]) == ("buyer@example.com", "paid")
        assert (order["total"], order["currency"], order["payment_id"]) == (1900, "usd", "pi_1")
        assert await order_events(processor) == ["order.paid"]
        # Buying something is not joining.
        assert await processor.find("blog_members") == []

    async def test_a_members_purchase_is_the_members(self, processor: Processor) -> None:
        await processor.send(joined(), bought(customer="cus_1", customer_details=None))
        order, member = await processor.one("orders"), await processor.one("blog_members")
        assert (order["member_id"], order["email"]) == (member["id"], "reader@example.com")
        assert await processor.state() == "paid/active"

    async def test_a_cart_is_closed_and_its_lines_are_the_orders(
        self, processor: Processor
    ) -> None:
        cart = await processor.tenant.create("carts", {"email": "buyer@example.com"})
        ours = {"name": "Book", "payment_product_id": "prod_a"}
        product = await processor.tenant.create("products", ours)
        lines = [
            {"price": {"id": "price_a", "product": "prod_a"}, "quantity": 2, "amount_total": 1000},
            {"price": {"id": "price_b", "product": "prod_b"}, "amount_total": 900},
        ]
        metadata = {"cart_id": cart["id"]}
        await processor.send(bought(metadata=metadata, line_items={"data": lines}))
        assert (await processor.one("carts"))["status"] == "paid"
        first, second = (await processor.one("orders"))["items"]
        assert (first["product_id"], first["name"], first["quantity"]) == (product["id"], "Book", 2)
        assert (second["product_id"], second["payment_price_id"]) == (None, "price_b")
        mapped = await processor.find("payment_products")
        assert {each["payment_product_id"] for each in mapped} == {"prod_a", "prod_b"}

    async def test_without_lines_the_carts_items_are_used(self, processor: Processor) -> None:
        lines = [{"sku": "book", "quantity": 1}]
        values = {"email": "buyer@example.com", "items": lines}
        cart = await processor.tenant.create("carts", values)
        await processor.send(bought(metadata={"cart_id": cart["id"]}))
        assert (await processor.one("orders"))["items"] == lines

    async def test_a_checkout_that_is_paid_later(self, processor: Processor) -> None:
        unpaid = bought(payment_status="unpaid")
        await processor.send(unpaid)
        assert (await processor.one("orders"))["status"] == "pending"
        assert await order_events(processor) == []
        paid = event("checkout.session.async_payment_succeeded", bought()["data"]["object"])
        await processor.send(paid, bought(payment_status="unpaid"))
        assert (await processor.one("orders"))["status"] == "paid"
        assert await order_events(processor) == ["order.paid"]

    async def test_a_pending_order_is_completed(self, processor: Processor) -> None:
        order = await self.waiting(processor)
        await processor.send(bought(metadata={"order_id": order["id"]}))
        order = await processor.one("orders")
        assert (order["status"], order["payment_id"]) == ("paid", "pi_1")
        assert order["email"] == "first@example.com"

    @pytest.mark.parametrize(
        "wrong", [{"amount_total": 1}, {"currency": "jpy"}], ids=["amount", "currency"]
    )
    async def test_another_amount_or_currency_pays_no_order(
        self, processor: Processor, wrong: dict[str, Any]
    ) -> None:
        order = await self.waiting(processor)
        await processor.send(bought(metadata={"order_id": order["id"]}, **wrong))
        assert (await processor.one("orders"))["status"] == "pending"
        assert await order_events(processor) == []

    @pytest.mark.parametrize("by", ["id", "payment_product_id"])
    async def test_a_payment_below_the_price_pays_for_no_product(
        self, processor: Processor, by: str
    ) -> None:
        values = {"name": "Book", "price": 2000, "currency": "USD", "payment_product_id": "prod_a"}
        product = await processor.tenant.create("products", values)
        metadata = {"product_id": product[by]}
        await processor.send(bought(metadata=metadata))
        assert (await processor.one("orders"))["status"] == "pending"
        # A discount is granted by the owner.
        full: dict[str, Any] = {
            "amount_subtotal": 2000,
            "amount_total": 500,
            "payment_intent": "pi_2",
        }
        await processor.send(bought(metadata=metadata, **full))
        order = await processor.one("orders", payment_id="pi_2")
        assert (order["status"], order["items"][0]["product_id"]) == ("paid", product["id"])

    @pytest.mark.parametrize("missing", ["left out", "null"])
    async def test_without_a_subtotal_the_total_pays_for_a_product(
        self, processor: Processor, missing: str
    ) -> None:
        values = {"name": "Book", "price": 1900, "currency": "USD"}
        product = await processor.tenant.create("products", values)
        checkout = bought(metadata={"product_id": product["id"]}, amount_subtotal=None)
        if missing == "left out":
            del checkout["data"]["object"]["amount_subtotal"]
        await processor.send(checkout)
        assert (await processor.one("orders"))["status"] == "paid"
        assert await order_events(processor) == ["order.paid"]

    async def test_a_total_below_the_price_pays_nothing_without_a_subtotal_either(
        self, processor: Processor
    ) -> None:
        product = await processor.tenant.create("products", {"name": "Book", "price": 2000})
        await processor.send(bought(metadata={"product_id": product["id"]}, amount_subtotal=None))
        assert (await processor.one("orders"))["status"] == "pending"

    async def test_ids_of_another_tenant_are_ignored(self, processor: Processor) -> None:
        other = await processor.world.new_tenant("other")
        theirs = await other.create("orders", {"email": "their@example.com", "total": 1900})
        await processor.send(bought(metadata={"order_id": theirs["id"]}))
        assert (await processor.one("orders"))["id"] != theirs["id"]
        found = await processor.world.parts.records.find(
            processor.world.collection("orders"), {"id": theirs["id"]}
        )
        assert found[0]["status"] == "pending"

    async def test_setting_up_a_card_is_no_purchase(self, processor: Processor) -> None:
        await processor.send(bought(mode="setup", payment_status="no_payment_required"))
        assert await processor.find("orders") == []

    async def waiting(self, processor: Processor) -> Record:
        values = {"email": "first@example.com", "total": 1900, "currency": "usd"}
        return await processor.tenant.create("orders", values)


class TestRefunds:
    async def test_in_full(self, processor: Processor) -> None:
        await processor.send(bought(), refunded(created=JUNE + 1))
        order = await processor.one("orders")
        assert (order["status"], order["refunded_amount"]) == ("refunded", 1900)
        assert await order_events(processor) == ["order.paid", "order.refunded"]

    async def test_in_part_is_noted_without_an_event(self, processor: Processor) -> None:
        await processor.send(bought(), refunded(500, JUNE + 1))
        order = await processor.one("orders")
        assert (order["status"], order["refunded_amount"]) == ("paid", 500)
        assert await order_events(processor) == ["order.paid"]

    async def test_before_the_checkout(self, processor: Processor) -> None:
        await processor.send(refunded(created=JUNE + 1), bought())
        order = await processor.one("orders")
        assert (order["status"], order["refunded_amount"]) == ("refunded", 1900)
        assert await order_events(processor) == ["order.paid", "order.refunded"]

    async def test_parts_that_come_in_the_wrong_order(self, processor: Processor) -> None:
        await processor.send(bought(), refunded(900, JUNE + 2), refunded(500, JUNE + 1))
        assert (await processor.one("orders"))["refunded_amount"] == 900

    async def test_of_a_subscription_changes_neither_member_nor_orders(
        self, processor: Processor
    ) -> None:
        await processor.send(joined(), refunded(created=JUNE + 1, customer="cus_1"))
        assert await processor.find("orders") == []
        assert await processor.state() == "paid/active"
