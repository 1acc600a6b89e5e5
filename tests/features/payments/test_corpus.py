"""Whole payment events of every kind, and those of the corpus, end in the expected state."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests import corpus
from tests.features.payments import whole_events
from tests.features.payments.processor import Processor

# Of the corpus, after a member that the tenant knows by the event's customer, and is free/active.
SINGLE = {
    "real/customer.subscription.created.json": "paid/active",
    "real/customer.subscription.updated.json": "paid/active",
    "real/customer.subscription.deleted.json": "free/cancelled",
    "real/invoice.payment_failed.json": "free/past_due",
    "real/invoice.paid.json": "free/active",
    "real/payment_intent.succeeded.json": "free/active",
    "real/customer.created.json": "free/active",
    "real/charge.refunded.json": "free/active",
    "real/charge.dispute.created.json": "free/active",
    "real/checkout.session.completed.json": "free/active",
    "real/checkout.session.completed.payment_mode.json": "free/active",
    "real/checkout.session.completed.setup_mode.json": "free/active",
    "synthetic/checkout-email-null.json": "paid/active",
    "synthetic/checkout-email-uppercase.json": "paid/active",
    "synthetic/checkout-free-trial.json": "paid/active",
    "synthetic/checkout-zero-decimal-jpy.json": "paid/active",
    "synthetic/checkout-setup-mode.json": "free/active",
    "synthetic/checkout-unpaid-async.json": "free/active",
    "synthetic/checkout-payment-cart.json": "free/active",
    "synthetic/checkout-payment-digital-product.json": "free/active",
    "synthetic/charge-refunded-full.json": "free/active",
    "synthetic/charge-refunded-partial.json": "free/active",
    "synthetic/invoice-failed-no-subscription.json": "free/past_due",
    "synthetic/minimal-variant-b-created.json": "paid/active",
    "synthetic/minimal-variant-b-deleted.json": "free/cancelled",
    "synthetic/subscription-customer-expanded.json": "paid/active",
    "synthetic/subscription-incomplete.json": "free/active",
    "synthetic/subscription-paused.json": "free/past_due",
    "synthetic/subscription-trialing.json": "paid/active",
    "synthetic/subscription-unknown-customer.json": "free/cancelled",
    "synthetic/subscription-unpaid.json": "free/past_due",
    "synthetic/unknown-event-type.json": "free/active",
}
ORDERS = {
    "real/checkout.session.completed.json": ("paid", 3000, "usd"),
    "real/checkout.session.completed.payment_mode.json": ("paid", 25000, "usd"),
    "synthetic/checkout-unpaid-async.json": ("pending", 900, "usd"),
    "synthetic/checkout-payment-cart.json": ("paid", 4200, "usd"),
    "synthetic/checkout-payment-digital-product.json": ("paid", 1900, "usd"),
}
REFUSED = (
    "synthetic/array-body.json",
    "synthetic/empty-body.json",
    "synthetic/missing-data-object.json",
    "synthetic/no-type.json",
    "synthetic/not-json.txt",
)
OTHERS = {"real/stripe-openapi-fixtures3.json", "synthetic/out-of-order-and-duplicates.jsonl"}
# An event of the processor for each of its objects that is handled.
KINDS = {
    "checkout.session": "checkout.session.completed",
    "subscription": "customer.subscription.updated",
    "invoice": "invoice.payment_failed",
    "charge": "charge.refunded",
}


@dataclass(frozen=True)
class Single:
    raw: bytes
    state: str
    order: tuple[str, int, str] | None = None

    @property
    def subject(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.raw)["data"]["object"]
        return found


def files(*names: str) -> list[tuple[str, Path]]:
    return [(name, path) for name in names for path in corpus.found(f"payments/{name}")]


def single_events() -> dict[str, Single]:
    ours = {
        name: Single(json.dumps(event).encode(), state, whole_events.ORDERS.get(name))
        for name, (event, state) in whole_events.SINGLE.items()
    }
    found = files(*SINGLE)
    return ours | {
        name: Single(f.read_bytes(), SINGLE[name], ORDERS.get(name)) for name, f in found
    }


EVENTS = single_events()
CHECKOUTS = {
    name: each for name, each in EVENTS.items() if each.subject.get("object") == "checkout.session"
}


def of_each(found: dict[str, Any]) -> list[Any]:
    return [pytest.param(each, id=name) for name, each in found.items()]


def test_no_file_of_the_corpus_is_left_out() -> None:
    named = {f"payments/{name}" for name in (*SINGLE, *REFUSED, *OTHERS)}
    found = {corpus.name_of(path) for path in corpus.found("payments/*/*.*")}
    assert [name for name in found - named if "/lifecycle-" not in name] == []


@pytest.mark.parametrize("event", of_each(EVENTS))
async def test_a_single_event(processor: Processor, event: Single) -> None:
    customer = event.subject.get("customer")
    customer = customer["id"] if isinstance(customer, dict) else customer
    known = {"email": "known@example.com", "payment_customer_id": customer or "cus_known"}
    await processor.tenant.create("blog_members", known)
    for _ in range(2):
        assert (await processor.post(event.raw)).status_code == 200
    assert await processor.state("known@example.com") == event.state
    orders = await processor.find("orders")
    found = [(each["status"], each["total"], each["currency"]) for each in orders]
    assert found == ([event.order] if event.order else [])
    assert len(await processor.find("blog_members")) == 1


@pytest.mark.parametrize("event", of_each(CHECKOUTS))
async def test_a_checkout_of_an_unknown_customer(processor: Processor, event: Single) -> None:
    assert (await processor.post(event.raw)).status_code == 200
    details = event.subject.get("customer_details") or {}
    email = (details.get("email") or "").lower()
    assert await processor.state(email) == (
        "paid/active" if event.state == "paid/active" and email else ""
    )


def invalid_events() -> dict[str, bytes]:
    return whole_events.REFUSED | {name: path.read_bytes() for name, path in files(*REFUSED)}


@pytest.mark.parametrize("raw", of_each(invalid_events()))
async def test_an_invalid_event_is_refused(processor: Processor, raw: bytes) -> None:
    assert (await processor.post(raw)).status_code == 400


Steps = list[tuple[bytes, str]]
"""Events with the state after each, '' where it stays."""


def lifetimes() -> dict[str, Steps]:
    found = {
        version: [(json.dumps(event).encode(), state) for event, state in steps]
        for version in (whole_events.OLD, whole_events.NEW)
        for steps in [whole_events.lifetime(version)]
    }
    for path in corpus.found("payments/synthetic/lifecycle-*.jsonl"):
        told = json.loads(path.with_suffix(".expected.json").read_text())
        states = [step["suggested_member_state_after"].partition(" ")[0] for step in told]
        after = ["" if state == "unchanged" else state for state in states]
        found[path.stem] = list(zip(path.read_bytes().splitlines(), after, strict=True))
    return found


@pytest.mark.parametrize("steps", of_each(lifetimes()))
async def test_a_lifecycle_step_by_step(processor: Processor, steps: Steps) -> None:
    email = json.loads(steps[0][0])["data"]["object"]["customer_details"]["email"].lower()
    before = ""
    for raw, state in steps:
        assert (await processor.post(raw)).status_code == 200
        before = state or before
        assert await processor.state(email) == before, raw


def mixed_up() -> dict[str, list[bytes]]:
    """Twice some, and the end before what it ended."""
    joined, begun, _, failed, late, *_, ended, _ = whole_events.lifetime(whole_events.OLD)
    order = (begun, joined, joined, ended, late, failed, ended)
    found = {"own": [json.dumps(event).encode() for event, _ in order]}
    for path in corpus.found("payments/synthetic/out-of-order-and-duplicates.jsonl"):
        found["corpus"] = path.read_bytes().splitlines()
    return found


@pytest.mark.parametrize("lines", of_each(mixed_up()))
async def test_out_of_order_and_duplicates(processor: Processor, lines: list[bytes]) -> None:
    for raw in lines:
        assert (await processor.post(raw)).status_code == 200
    (member,) = await processor.find("blog_members")
    assert (member["tier"], member["status"]) == ("free", "cancelled")


def example_objects() -> list[dict[str, Any]]:
    """As its documentation has them, with nothing filled in that may be left out."""
    found = [
        {"id": f"{kind}_1", "object": kind, **dict.fromkeys(EMPTY, value)}
        for kind in KINDS
        for value in (None, "", 0, False, [], {}, "text", [{}], {"data": None})
    ]
    for _, path in files("real/stripe-openapi-fixtures3.json"):
        found += json.loads(path.read_text())["resources"].values()
    return [each for each in found if each.get("object") in KINDS]


EMPTY = (
    *("amount", "amount_refunded", "amount_subtotal", "amount_total", "cancel_at_period_end"),
    *("currency", "current_period_end", "customer", "customer_details", "customer_email", "items"),
    *("line_items", "metadata", "mode", "parent", "payment_intent", "payment_status", "refunded"),
    *("status", "subscription"),
)


async def test_example_objects_never_break_it(processor: Processor) -> None:
    for number, subject in enumerate(example_objects()):
        kind = KINDS[subject["object"]]
        event = {"id": f"evt_{number}", "type": kind, "data": {"object": subject}}
        assert (await processor.post(json.dumps(event).encode())).status_code == 200, subject
