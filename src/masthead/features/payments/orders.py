"""Creates orders from checkouts of products and carts, and applies refunds to them."""

from __future__ import annotations

from typing import Any

from masthead.base import ids
from masthead.base.languages.words import staff_marked
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.write.unit import Unit
from masthead.features.commerce.collection import carts, orders, products
from masthead.features.payments.collection import payment_products
from masthead.features.payments.inbox import Inbox, Refunded
from masthead.features.payments.memberships import find_member
from masthead.features.payments.payloads import Checkout, Item, Refund

NO_EMAIL = staff_marked("no email address in the checkout: no order was made")
OTHER_AMOUNT = staff_marked(
    "the amount or currency is not that of the order or product: order left pending"
)


async def settle_checkout(unit: Unit, inbox: Inbox, checkout: Checkout) -> str:
    """Creates or completes the order. Returns why it is not paid although it should be."""
    for item in checkout.items:
        await store_product(unit, item)
    order = await _order_of(unit, checkout)
    product = await _product_in_metadata(unit, checkout)
    note = "" if _is_right_amount(checkout, order, product) else OTHER_AMOUNT
    is_paid = checkout.is_paid and not note
    if order is None:
        order = await _make_order(unit, checkout, product, is_paid)
        if order is None:
            return NO_EMAIL
    elif is_paid and order["status"] == "pending":
        order = await unit.update(orders, order["id"], _paid(checkout))
    if is_paid:
        await _close_cart(unit, checkout)
    await _apply_refund(unit, order, await inbox.find_refunded(unit, checkout.payment))
    return note


async def settle_refund(unit: Unit, inbox: Inbox, refund: Refund) -> None:
    total = await inbox.add_refund(unit, refund)
    # Without an order it is a subscription's payment, or the checkout's event comes later.
    if found := await unit.find_one(orders, {"payment_id": refund.payment}):
        await _apply_refund(unit, found, total)


async def store_product(unit: Unit, item: Item) -> None:
    if not item.product:
        return
    known = await unit.find_one(payment_products, {"payment_product_id": item.product})
    ours = await unit.find_one(products, {"payment_product_id": item.product})
    values = {
        "payment_product_id": item.product,
        "payment_price_id": item.price or (known["payment_price_id"] if known else ""),
        "product_id": ours["id"] if ours else (known["product_id"] if known else ""),
    }
    if known:
        await unit.update(payment_products, known["id"], values)
    else:
        await unit.create(payment_products, values)


async def _order_of(unit: Unit, checkout: Checkout) -> Record | None:
    """The order with this payment, else the pending one."""
    found = await unit.find_one(orders, {"payment_id": checkout.payment})
    if found:
        return found
    pending = await _by_id(unit, orders, checkout.metadata.get("order_id"))
    return pending if pending and not pending["payment_id"] else None


async def _product_in_metadata(unit: Unit, checkout: Checkout) -> Record | None:
    named = checkout.metadata.get("product_id")
    if not isinstance(named, str) or not named:
        return None
    if product := await _by_id(unit, products, named):
        return product
    return await unit.find_one(products, {"payment_product_id": named})


def _is_right_amount(checkout: Checkout, order: Record | None, product: Record | None) -> bool:
    """A payment for something else must not pay for this order."""
    if order is not None and order["total"]:
        return _is_currency_of(checkout, order) and checkout.total == order["total"]
    if product is not None and product["price"]:
        # Before discounts, because the owner grants them.
        return _is_currency_of(checkout, product) and checkout.subtotal >= product["price"]
    return True


def _is_currency_of(checkout: Checkout, priced: Record) -> bool:
    return not priced["currency"] or bool(priced["currency"].lower() == checkout.currency)


async def _make_order(
    unit: Unit, checkout: Checkout, product: Record | None, is_paid: bool
) -> Record | None:
    member = await find_member(unit, checkout.customer, checkout.email)
    email = checkout.email or (member["email"] if member else "")
    if not email:
        return None
    values = {
        "email": email,
        "member_id": member["id"] if member else "",
        "items": await _items(unit, checkout, product),
        **_paid(checkout),
    }
    return await unit.create(orders, values | ({} if is_paid else {"status": "pending"}))


def _paid(checkout: Checkout) -> dict[str, Any]:
    return {
        "status": "paid",
        "total": checkout.total,
        "currency": checkout.currency,
        "payment_id": checkout.payment,
    }


async def _items(unit: Unit, checkout: Checkout, product: Record | None) -> list[Any]:
    if checkout.items:
        return [await _order_item(unit, item) for item in checkout.items]
    if product is not None:
        whole = {"name": product["name"], "quantity": 1, "amount": checkout.total}
        return [{"product_id": product["id"], **whole}]
    cart = await _by_id(unit, carts, checkout.metadata.get("cart_id"))
    if cart and isinstance(cart["items"], list):
        return cart["items"]
    named = checkout.metadata.get("product_id")
    return [{"payment_product_id": named, "quantity": 1}] if isinstance(named, str) else []


async def _order_item(unit: Unit, item: Item) -> dict[str, Any]:
    ours = await unit.find_one(products, {"payment_product_id": item.product})
    return {
        "product_id": ours["id"] if ours and item.product else None,
        "payment_product_id": item.product,
        "payment_price_id": item.price,
        "name": ours["name"] if ours and item.product else item.name,
        "quantity": item.quantity,
        "amount": item.amount,
    }


async def _close_cart(unit: Unit, checkout: Checkout) -> None:
    if cart := await _by_id(unit, carts, checkout.metadata.get("cart_id")):
        await unit.update(carts, cart["id"], {"status": "paid"})


async def _apply_refund(unit: Unit, order: Record, total: Refunded) -> None:
    if not total.amount and not total.is_full:
        return
    changes: dict[str, Any] = {"refunded_amount": total.amount}
    if total.is_full:
        changes["status"] = "refunded"
    await unit.update(orders, order["id"], changes)


async def _by_id(unit: Unit, collection: Collection, record_id: Any) -> Record | None:
    if not isinstance(record_id, str) or not ids.is_id(record_id):
        return None
    return await unit.find_one(collection, {"id": record_id})
