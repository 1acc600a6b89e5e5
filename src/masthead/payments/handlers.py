"""What each of the processor's events means here (the decided table of spec 6.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from masthead.payments.inbox import Inbox
from masthead.payments.memberships import Fact, learn
from masthead.payments.orders import remember_product, settle_checkout, settle_refund
from masthead.payments.shapes import (
    Checkout,
    PaymentEvent,
    read_checkout,
    read_failed_invoice,
    read_refund,
    read_subscription,
)
from masthead.payments.standing import STANDINGS, Standing, Told, told_of_status
from masthead.records.write.unit import Unit

Handler = Callable[[Unit, Inbox, PaymentEvent], Awaitable[str]]
"""Returns why the event was not acted on as it asks; '' when it was."""


async def checkout_completed(unit: Unit, inbox: Inbox, event: PaymentEvent) -> str:
    checkout = read_checkout(event.subject)
    if checkout.mode == "subscription":
        await _joined(unit, event, checkout)
    elif checkout.mode == "payment":
        return await settle_checkout(unit, inbox, checkout)
    return ""


async def _joined(unit: Unit, event: PaymentEvent, checkout: Checkout) -> None:
    await learn(
        unit,
        Fact(
            at=event.at,
            # Paid for later: the subscription's own events will say when.
            told=told_of_status("active", event.at) if checkout.is_paid else Told(),
            subscription=checkout.subscription or checkout.customer or checkout.id,
            customer=checkout.customer,
            email=checkout.email,
            name=checkout.name,
            may_join=True,
        ),
    )


async def subscription_changed(unit: Unit, _: Inbox, event: PaymentEvent) -> str:
    await _subscription(unit, event, read_subscription(event.subject).status)
    return ""


async def subscription_ended(unit: Unit, _: Inbox, event: PaymentEvent) -> str:
    await _subscription(unit, event, "canceled")
    return ""


async def _subscription(unit: Unit, event: PaymentEvent, status: str) -> None:
    subscription = read_subscription(event.subject)
    for item in subscription.items:
        await remember_product(unit, item)
    await learn(
        unit,
        Fact(
            at=event.at,
            told=told_of_status(status, event.at),
            subscription=subscription.id,
            customer=subscription.customer,
            email=subscription.email,
            period_end=subscription.period_end,
            may_join=STANDINGS.get(status) is Standing.ACTIVE,
        ),
    )


async def payment_failed(unit: Unit, _: Inbox, event: PaymentEvent) -> str:
    invoice = read_failed_invoice(event.subject)
    subscription = invoice.subscription or invoice.customer
    if subscription:
        told = Told(failed_at=event.at)
        await learn(unit, Fact(event.at, told, subscription, invoice.customer, invoice.email))
    return ""


async def charge_refunded(unit: Unit, inbox: Inbox, event: PaymentEvent) -> str:
    await settle_refund(unit, inbox, read_refund(event.subject))
    return ""


HANDLERS: Mapping[str, Handler] = {
    "checkout.session.completed": checkout_completed,
    # Beyond the six: what a checkout with a slow means of payment is completed by.
    "checkout.session.async_payment_succeeded": checkout_completed,
    "customer.subscription.created": subscription_changed,
    "customer.subscription.updated": subscription_changed,
    "customer.subscription.deleted": subscription_ended,
    "invoice.payment_failed": payment_failed,
    "charge.refunded": charge_refunded,
}
