"""Events with all that the processor writes into them, of two versions of its API: most of it is
of no interest here, and must not get in the way."""

from __future__ import annotations

from typing import Any, Final

from tests.features.payments.processor import JUNE, Event, event

OLD: Final = "2023-10-16"
NEW: Final = "2025-06-30.basil"
MONTH: Final = 2_592_000


def whole(kind: str, subject: dict[str, Any], created: int = JUNE, version: str = OLD) -> Event:
    return event(
        kind,
        subject,
        created,
        api_version=version,
        pending_webhooks=2,
        request={"id": "req_tide", "idempotency_key": None},
    )


def session(**given: Any) -> dict[str, Any]:
    details = {"email": "Nell@Example.com", "name": "Nell Ashby", "phone": None, "address": None}
    return {
        "id": "cs_test_tide",
        "object": "checkout.session",
        "after_expiration": None,
        "amount_subtotal": 700,
        "amount_total": 700,
        "automatic_tax": {"enabled": False, "status": None},
        "client_reference_id": None,
        "currency": "eur",
        "customer": "cus_tide",
        "customer_details": {**details, "tax_exempt": "none", "tax_ids": []},
        "customer_email": None,
        "expires_at": JUNE + 86_400,
        "invoice": "in_tide",
        "livemode": False,
        "metadata": {},
        "mode": "subscription",
        "payment_intent": None,
        "payment_method_types": ["card"],
        "payment_status": "paid",
        "status": "complete",
        "subscription": "sub_tide",
        "success_url": "https://tideline.example/thanks",
        "total_details": {"amount_discount": 0, "amount_shipping": 0, "amount_tax": 0},
        **given,
    }


def purchase(**given: Any) -> dict[str, Any]:
    once = {"mode": "payment", "customer": None, "invoice": None, "subscription": None}
    return session(**{**once, "payment_intent": "pi_tide", **given})


def subscription(status: str = "active", version: str = OLD, **given: Any) -> dict[str, Any]:
    """Since 2025 the period is the item's."""
    period = {"current_period_start": JUNE, "current_period_end": JUNE + MONTH}
    price = {"id": "price_tide", "object": "price", "product": "prod_tide", "unit_amount": 700}
    item = {"id": "si_tide", "object": "subscription_item", "price": price, "quantity": 1}
    new = version == NEW
    return {
        "id": "sub_tide",
        "object": "subscription",
        "application": None,
        "cancel_at": None,
        "cancel_at_period_end": False,
        "canceled_at": None,
        "collection_method": "charge_automatically",
        "created": JUNE,
        "currency": "eur",
        "customer": "cus_tide",
        "default_payment_method": None,
        "items": {"object": "list", "data": [{**item, **period} if new else item]},
        "latest_invoice": "in_tide",
        "livemode": False,
        "metadata": {},
        "status": status,
        "trial_end": None,
        **({} if new else period),
        **given,
    }


def invoice(version: str = OLD, **given: Any) -> dict[str, Any]:
    """Since 2025 its subscription is that of its parent."""
    parent = {
        "type": "subscription_details",
        "subscription_details": {"subscription": "sub_tide", "metadata": {}},
    }
    of = {"parent": parent} if version == NEW else {"subscription": "sub_tide", "charge": "ch_tide"}
    return {
        "id": "in_tide",
        "object": "invoice",
        "amount_due": 700,
        "amount_paid": 0,
        "attempt_count": 1,
        "attempted": True,
        "billing_reason": "subscription_cycle",
        "currency": "eur",
        "customer": "cus_tide",
        "customer_email": "nell@example.com",
        "lines": {"object": "list", "data": []},
        "metadata": {},
        "status": "open",
        **of,
        **given,
    }


def charge(**given: Any) -> dict[str, Any]:
    return {
        "id": "ch_tide",
        "object": "charge",
        "amount": 700,
        "amount_captured": 700,
        "amount_refunded": 700,
        "billing_details": {"email": "nell@example.com", "name": None},
        "captured": True,
        "currency": "eur",
        "customer": "cus_tide",
        "disputed": False,
        "invoice": "in_tide",
        "metadata": {},
        "paid": True,
        "payment_intent": "pi_tide",
        "refunded": True,
        "status": "succeeded",
        **given,
    }


def _subscribed(kind: str, *given: str, **more: Any) -> Event:
    version = given[1] if len(given) > 1 else OLD
    return whole(f"customer.subscription.{kind}", subscription(*given, **more), version=version)


def _checkout(subject: dict[str, Any]) -> Event:
    return whole("checkout.session.completed", subject)


def _minimal(kind: str) -> Event:
    subject = {"id": "sub_tide", "customer": "cus_tide"}
    return {"id": f"evt_minimal_{kind}", "type": kind, "data": {"object": subject}}


def _lines(*amounts: int) -> dict[str, Any]:
    lines = [
        {"id": f"li_{n}", "amount_total": n, "quantity": 1, "price": {"product": f"prod_{n}"}}
        for n in amounts
    ]
    return {"object": "list", "data": lines, "has_more": False}


_NOBODY: Final = {"email": None, "name": None}

# By name: the event and what a member becomes of it who was free/active and the event's customer.
SINGLE: Final[dict[str, tuple[Event, str]]] = {
    "a subscription begins": (_subscribed("created"), "paid/active"),
    "a subscription begins, since 2025": (_subscribed("created", "active", NEW), "paid/active"),
    "a subscription goes on": (_subscribed("updated"), "paid/active"),
    "a subscription is on trial": (_subscribed("created", "trialing"), "paid/active"),
    "a first payment is open": (_subscribed("created", "incomplete"), "free/active"),
    "a first payment never came": (_subscribed("updated", "incomplete_expired"), "free/cancelled"),
    "a payment is late": (_subscribed("updated", "past_due"), "free/past_due"),
    "no payment came": (_subscribed("updated", "unpaid"), "free/past_due"),
    "a subscription is paused": (_subscribed("updated", "paused"), "free/past_due"),
    "a status that nobody knows": (_subscribed("updated", "dormant"), "free/active"),
    "a subscription ends": (_subscribed("deleted", "canceled"), "free/cancelled"),
    "a subscription ends, since 2025": (_subscribed("deleted", "canceled", NEW), "free/cancelled"),
    "a customer is written out": (
        _subscribed("updated", customer={"id": "cus_tide", "object": "customer", "email": None}),
        "paid/active",
    ),
    "a subscription with its id alone": (
        _minimal("customer.subscription.created"),
        "paid/active",
    ),
    "an end with its id alone": (
        _minimal("customer.subscription.deleted"),
        "free/cancelled",
    ),
    "a payment fails": (whole("invoice.payment_failed", invoice()), "free/past_due"),
    "a payment fails, since 2025": (
        whole("invoice.payment_failed", invoice(NEW), version=NEW),
        "free/past_due",
    ),
    "a payment fails without a subscription": (
        whole("invoice.payment_failed", invoice(subscription=None)),
        "free/past_due",
    ),
    "an invoice is paid": (whole("invoice.paid", invoice(status="paid")), "free/active"),
    "a payment succeeds": (
        whole("payment_intent.succeeded", {"id": "pi_tide", "customer": "cus_tide"}),
        "free/active",
    ),
    "a customer is created": (
        whole("customer.created", {"id": "cus_tide", "email": "nell@example.com"}),
        "free/active",
    ),
    "all is paid back without an order": (whole("charge.refunded", charge()), "free/active"),
    "a part is paid back without an order": (
        whole("charge.refunded", charge(amount_refunded=200, refunded=False)),
        "free/active",
    ),
    "a payment is disputed": (
        whole("charge.dispute.created", {"id": "dp_tide", "charge": "ch_tide"}),
        "free/active",
    ),
    "a kind of event that nobody knows": (
        whole("moon.phase.changed", {"id": "moon_1", "customer": "cus_tide"}),
        "free/active",
    ),
    "a reader joins": (_checkout(session()), "paid/active"),
    "a reader joins without an address": (
        _checkout(session(customer_details=_NOBODY)),
        "paid/active",
    ),
    "a reader joins on trial": (
        _checkout(session(amount_total=0, payment_status="no_payment_required")),
        "paid/active",
    ),
    "a reader joins in a currency without cents": (
        _checkout(session(amount_subtotal=900, amount_total=900, currency="jpy")),
        "paid/active",
    ),
    "a card is stored": (
        _checkout(session(mode="setup", subscription=None, setup_intent="seti_tide")),
        "free/active",
    ),
    "a reader buys": (_checkout(purchase()), "free/active"),
    "a reader buys a cart": (
        _checkout(purchase(metadata={"cart_id": "gone"}, line_items=_lines(300, 400))),
        "free/active",
    ),
    "a reader buys a product": (
        _checkout(purchase(metadata={"kind": "product", "product_id": "gone"})),
        "free/active",
    ),
    "a reader buys and pays later": (_checkout(purchase(payment_status="unpaid")), "free/active"),
    "a late payment for a purchase came": (
        whole("checkout.session.async_payment_succeeded", purchase()),
        "free/active",
    ),
}
ORDERS: Final = {
    "a reader buys": ("paid", 700, "eur"),
    "a reader buys a cart": ("paid", 700, "eur"),
    "a reader buys a product": ("paid", 700, "eur"),
    "a reader buys and pays later": ("pending", 700, "eur"),
    "a late payment for a purchase came": ("paid", 700, "eur"),
}
REFUSED: Final = {
    "no bytes": b"",
    "no JSON": b"a payment came",
    "a list": b"[]",
    "no type": b'{"id": "evt_1", "data": {"object": {}}}',
    "no object": b'{"id": "evt_1", "type": "invoice.payment_failed", "data": {}}',
    "no data": b'{"id": "evt_1", "type": "invoice.payment_failed"}',
}


def lifetime(version: str) -> list[tuple[Event, str]]:
    """From the first checkout to the end, with the state after each event."""

    def at(month: float, kind: str, subject: dict[str, Any], state: str) -> tuple[Event, str]:
        return whole(kind, subject, JUNE + int(month * MONTH), version), state

    changed = "customer.subscription.updated"
    return [
        at(0, "checkout.session.completed", session(), "paid/active"),
        at(0, "customer.subscription.created", subscription("active", version), "paid/active"),
        at(1, changed, subscription("active", version), "paid/active"),
        at(2, "invoice.payment_failed", invoice(version), "paid/past_due"),
        at(2, changed, subscription("past_due", version), "paid/past_due"),
        at(2.1, "invoice.payment_failed", invoice(version, attempt_count=2), "paid/past_due"),
        at(2.2, changed, subscription("active", version), "paid/active"),
        at(2.5, changed, subscription("active", version, cancel_at_period_end=True), "paid/active"),
        at(3, "customer.subscription.deleted", subscription("canceled", version), "free/cancelled"),
        at(3.1, "charge.refunded", charge(), "free/cancelled"),
    ]
