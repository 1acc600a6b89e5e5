"""Parses the processor's payloads, of API versions 2020-08-27 to 2025 (basil), and minimal ones
with little more than ids. Everything that is not named here is ignored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from masthead.base import clock
from masthead.base.errors import BadRequest
from masthead.engine.records.fields.base import FieldError
from masthead.engine.records.fields.text import Email
from masthead.engine.records.fields.values import LARGEST
from masthead.web.bodies import decode_json_object

MAX_ID = 255
MAX_NAME = 255
MEMBER = "member_id"
"""In the metadata of a checkout that this service has started, and of its subscription."""
OFFER = "offer_id"
"""There too, if the member has taken an offer."""
LAST_SECOND = 253_402_300_799
"""The end of the year 9999, after which a date has no fixed-width text."""

Payload = Mapping[str, Any]
_EMAIL = Email(name="email")


class PaymentEvent(msgspec.Struct, frozen=True):
    id: str
    type: str
    at: str
    """The processor's time of the event, in seconds."""
    is_live: bool | None
    account: str
    """The connected account; '' is the account that the secret belongs to."""
    subject: Payload


class Item(msgspec.Struct, frozen=True):
    product: str
    price: str
    name: str = ""
    quantity: int = 1
    amount: int = 0


class Checkout(msgspec.Struct, frozen=True):
    id: str
    mode: str
    is_paid: bool
    customer: str
    email: str
    name: str
    subscription: str
    payment: str
    """The payment intent; the session itself if there was nothing to pay."""
    subtotal: int
    """Before discounts and taxes; the total if the processor does not send it."""
    total: int
    currency: str
    items: tuple[Item, ...]
    metadata: Payload

    @property
    def member_id(self) -> str:
        return _id(self.metadata.get(MEMBER))

    @property
    def offer_id(self) -> str:
        return _id(self.metadata.get(OFFER))


class Subscription(msgspec.Struct, frozen=True):
    id: str
    customer: str
    email: str
    """Known only if the payload includes the customer."""
    status: str
    period_end: str
    ends_at: str
    """'' while it is active."""
    items: tuple[Item, ...]
    member_id: str
    offer_id: str

    @property
    def price(self) -> str:
        return next((item.price for item in self.items if item.price), "")


class FailedInvoice(msgspec.Struct, frozen=True):
    customer: str
    email: str
    subscription: str


class Refund(msgspec.Struct, frozen=True):
    payment: str
    amount: int
    is_full: bool


def parse_event(raw_body: bytes, received: datetime) -> PaymentEvent:
    body = decode_json_object(raw_body)
    event_id, kind = _id(body.get("id")), _id(body.get("type"))
    if not event_id or not kind:
        raise BadRequest("A payment event needs an id and a type.")
    data = _object(body.get("data"))
    is_live = body.get("livemode")
    return PaymentEvent(
        event_id,
        kind,
        _moment(body.get("created")) or clock.to_text(received.replace(microsecond=0)),
        is_live if isinstance(is_live, bool) else None,
        _id(body.get("account")),
        _object(data.get("object")),
    )


def parse_checkout(subject: Payload) -> Checkout:
    session = _required_id(subject)
    details = _object(subject.get("customer_details"))
    subscription = _id(subject.get("subscription"))
    email = details.get("email") or subject.get("customer_email")
    subtotal = subject.get("amount_subtotal")
    return Checkout(
        session,
        _text(subject.get("mode")) or ("subscription" if subscription else "payment"),
        subject.get("payment_status") != "unpaid",
        _id(subject.get("customer")),
        _email(email) or _email(_object(subject.get("customer")).get("email")),
        _text(details.get("name"))[:MAX_NAME],
        subscription,
        _id(subject.get("payment_intent")) or session,
        _amount(subtotal if type(subtotal) is int else subject.get("amount_total")),
        _amount(subject.get("amount_total")),
        _text(subject.get("currency")).lower()[:3],
        _line_items(subject),
        _object(subject.get("metadata")),
    )


def parse_subscription(subject: Payload) -> Subscription:
    ends = [subject.get("current_period_end")]
    # Since 2025 (basil) each item has a period of its own.
    ends += [each.get("current_period_end") for each in _list(subject.get("items"))]
    period_end = max(map(_moment, ends))
    metadata = _object(subject.get("metadata"))
    is_last_period = subject.get("cancel_at_period_end") is True
    return Subscription(
        _required_id(subject),
        _id(subject.get("customer")),
        _email(_object(subject.get("customer")).get("email")),
        # A minimal payload has no status: it is only sent for running subscriptions.
        _text(subject.get("status")) if "status" in subject else "active",
        period_end,
        _moment(subject.get("cancel_at")) or (period_end if is_last_period else ""),
        tuple(_priced(subject.get("items"))),
        _id(metadata.get(MEMBER)),
        _id(metadata.get(OFFER)),
    )


def parse_failed_invoice(subject: Payload) -> FailedInvoice:
    _required_id(subject)
    return FailedInvoice(
        _id(subject.get("customer")),
        _email(subject.get("customer_email")),
        _id(subject.get("subscription")) or _id(_parent(subject).get("subscription")),
    )


def parse_refund(subject: Payload) -> Refund:
    refunded, amount = _amount(subject.get("amount_refunded")), _amount(subject.get("amount"))
    return Refund(
        _id(subject.get("payment_intent")) or _required_id(subject),
        refunded,
        subject.get("refunded") is True or 0 < amount <= refunded,
    )


def tenant_in_metadata(subject: Payload) -> tuple[str, str]:
    """The tenant's id and slug in the checkout's metadata; either may be ''."""
    for metadata in _metadata(subject):
        named = _text(metadata.get("tenant_id")), _text(metadata.get("tenant_slug"))
        if any(named):
            return named
    return "", ""


def _metadata(subject: Payload) -> Iterator[Payload]:
    yield _object(subject.get("metadata"))
    # An invoice repeats its subscription's, since 2023 and since 2025 (basil) respectively.
    yield _object(_object(subject.get("subscription_details")).get("metadata"))
    yield _object(_parent(subject).get("metadata"))


def _parent(invoice: Payload) -> Payload:
    """The origin of an invoice, since 2025 (basil)."""
    return _object(_object(invoice.get("parent")).get("subscription_details"))


def _line_items(subject: Payload) -> tuple[Item, ...]:
    return tuple(_priced(subject.get("line_items")))


def _priced(listed: Any) -> Iterator[Item]:
    for each in _list(listed):
        # Older API versions send a plan instead of a price.
        price = _object(each.get("price")) or _object(each.get("plan"))
        yield Item(
            _id(price.get("product")),
            _id(price),
            _text(each.get("description"))[:MAX_NAME],
            _amount(each.get("quantity")) or 1,
            _amount(each.get("amount_total")),
        )


def _object(value: Any) -> Payload:
    return value if isinstance(value, dict) else {}


def _list(listed: Any) -> list[Payload]:
    data = _object(listed).get("data")
    return [each for each in data if isinstance(each, dict)] if isinstance(data, list) else []


def _id(value: Any) -> str:
    """An id, or the id of an expanded object; '' for none."""
    if isinstance(value, dict):
        value = value.get("id")
    return value if isinstance(value, str) and len(value) <= MAX_ID else ""


def _required_id(subject: Payload) -> str:
    if found := _id(subject):
        return found
    raise BadRequest("The payment event is about an object without an id.")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _amount(value: Any) -> int:
    """In minor units of the currency."""
    return value if type(value) is int and 0 <= value <= LARGEST else 0


def _email(value: Any) -> str:
    try:
        return _EMAIL.parse(value)
    except FieldError:
        return ""


def _moment(value: Any) -> str:
    if type(value) is not int or not 0 <= value <= LAST_SECOND:
        return ""
    return clock.to_text(datetime.fromtimestamp(value, UTC))
