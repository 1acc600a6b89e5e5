"""The handler of each event of the payment processor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from masthead.engine.records.write.unit import Unit
from masthead.features.payments.gifts import is_gift, settle_gift, void_refunded
from masthead.features.payments.inbox import Inbox
from masthead.features.payments.memberships import SubscriptionUpdate, Terms, apply_update
from masthead.features.payments.orders import settle_checkout, settle_refund, store_product
from masthead.features.payments.payloads import (
    Checkout,
    PaymentEvent,
    parse_checkout,
    parse_failed_invoice,
    parse_refund,
    parse_subscription,
)
from masthead.features.payments.subscription_state import (
    MEMBER_STATUS,
    MemberStatus,
    SubscriptionState,
    state_from_status,
)

Handler = Callable[[Unit, Inbox, PaymentEvent], Awaitable[str]]
"""Returns why the event was not applied; '' if it was."""


async def checkout_completed(unit: Unit, inbox: Inbox, event: PaymentEvent) -> str:
    checkout = parse_checkout(event.subject)
    if checkout.mode == "subscription":
        await _apply_subscription(unit, event, checkout)
    elif is_gift(checkout):
        return await settle_gift(unit, inbox, checkout)
    elif checkout.mode == "payment":
        return await settle_checkout(unit, inbox, checkout)
    return ""


async def _apply_subscription(unit: Unit, event: PaymentEvent, checkout: Checkout) -> None:
    await apply_update(
        unit,
        SubscriptionUpdate(
            at=event.at,
            # If paid later, the subscription's own events will say when.
            state=state_from_status("active", event.at)
            if checkout.is_paid
            else SubscriptionState(),
            subscription=checkout.subscription or checkout.customer or checkout.id,
            customer=checkout.customer,
            email=checkout.email,
            name=checkout.name,
            member_id=checkout.member_id,
            # Otherwise the row has another key than the subscription, whose own events count it.
            offer_id=checkout.offer_id if checkout.subscription else "",
            creates_member=True,
        ),
    )


async def subscription_changed(unit: Unit, _: Inbox, event: PaymentEvent) -> str:
    await _subscription(unit, event, parse_subscription(event.subject).status)
    return ""


async def subscription_ended(unit: Unit, _: Inbox, event: PaymentEvent) -> str:
    await _subscription(unit, event, "canceled")
    return ""


async def _subscription(unit: Unit, event: PaymentEvent, status: str) -> None:
    subscription = parse_subscription(event.subject)
    for item in subscription.items:
        await store_product(unit, item)
    await apply_update(
        unit,
        SubscriptionUpdate(
            at=event.at,
            state=state_from_status(status, event.at),
            subscription=subscription.id,
            customer=subscription.customer,
            email=subscription.email,
            member_id=subscription.member_id,
            offer_id=subscription.offer_id,
            terms=Terms(subscription.price, subscription.period_end, subscription.ends_at),
            creates_member=MEMBER_STATUS.get(status) is MemberStatus.ACTIVE,
        ),
    )


async def payment_failed(unit: Unit, _: Inbox, event: PaymentEvent) -> str:
    invoice = parse_failed_invoice(event.subject)
    subscription = invoice.subscription or invoice.customer
    if subscription:
        state = SubscriptionState(failed_at=event.at)
        await apply_update(
            unit, SubscriptionUpdate(event.at, state, subscription, invoice.customer, invoice.email)
        )
    return ""


async def charge_refunded(unit: Unit, inbox: Inbox, event: PaymentEvent) -> str:
    refund = parse_refund(event.subject)
    await settle_refund(unit, inbox, refund)
    await void_refunded(unit, inbox, refund.payment)
    return ""


HANDLERS: Mapping[str, Handler] = {
    "checkout.session.completed": checkout_completed,
    # Completes a checkout with a delayed payment method.
    "checkout.session.async_payment_succeeded": checkout_completed,
    "customer.subscription.created": subscription_changed,
    "customer.subscription.updated": subscription_changed,
    "customer.subscription.deleted": subscription_ended,
    "invoice.payment_failed": payment_failed,
    "charge.refunded": charge_refunded,
}
