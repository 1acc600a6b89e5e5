"""Every payment event of the corpus, real ones included, ends in the expected state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.payments.processor import Processor

FOLDER = Path(__file__).parents[3] / "shared/corpus/payments"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="without the corpus")

# Of a member that the tenant knows by the event's customer or address, and is free/active before.
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
LIVES = ("lifecycle-2024-06-20", "lifecycle-2025-basil")
OTHERS = {"real/stripe-openapi-fixtures3.json", "synthetic/out-of-order-and-duplicates.jsonl"}


def test_no_file_is_left_out() -> None:
    files = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.*")}
    lives = {f"synthetic/{name}{end}" for name in LIVES for end in (".jsonl", ".expected.json")}
    assert files == {*SINGLE, *REFUSED, *lives, *OTHERS}


@pytest.mark.parametrize("name", SINGLE)
async def test_a_single_event(processor: Processor, name: str) -> None:
    raw = (FOLDER / name).read_bytes()
    customer = json.loads(raw)["data"]["object"].get("customer")
    customer = customer["id"] if isinstance(customer, dict) else customer
    known = {"email": "known@example.com", "payment_customer_id": customer or "cus_known"}
    await processor.tenant.create("blog_members", known)
    for _ in range(2):
        assert (await processor.post(raw)).status_code == 200
    assert await processor.state("known@example.com") == SINGLE[name]
    found = [(each["status"], each["total"], each["currency"]) for each in await orders(processor)]
    assert found == ([ORDERS[name]] if name in ORDERS else [])
    assert len(await processor.find("blog_members")) == 1


async def orders(processor: Processor) -> list[Any]:
    return await processor.find("orders")


@pytest.mark.parametrize("name", [name for name in SINGLE if "checkout-" in name])
async def test_a_checkout_of_an_unknown_customer(processor: Processor, name: str) -> None:
    raw = (FOLDER / name).read_bytes()
    assert (await processor.post(raw)).status_code == 200
    details = json.loads(raw)["data"]["object"]["customer_details"]
    email = (details["email"] or "").lower()
    assert await processor.state(email) == (
        "paid/active" if SINGLE[name] == "paid/active" and email else ""
    )


@pytest.mark.parametrize("name", REFUSED)
async def test_an_invalid_event_is_refused(processor: Processor, name: str) -> None:
    assert (await processor.post((FOLDER / name).read_bytes())).status_code == 400


@pytest.mark.parametrize("name", LIVES)
async def test_a_lifecycle_step_by_step(processor: Processor, name: str) -> None:
    steps = (FOLDER / f"synthetic/{name}.jsonl").read_bytes().splitlines()
    expected = json.loads((FOLDER / f"synthetic/{name}.expected.json").read_text())
    email = json.loads(steps[0])["data"]["object"]["customer_details"]["email"]
    before = ""
    for raw, step in zip(steps, expected, strict=True):
        assert (await processor.post(raw)).status_code == 200
        wanted = step["suggested_member_state_after"].partition(" ")[0]
        before = before if wanted == "unchanged" else wanted
        assert await processor.state(email) == before, step["id"]


async def test_out_of_order_and_duplicates(processor: Processor) -> None:
    lines = (FOLDER / "synthetic/out-of-order-and-duplicates.jsonl").read_bytes().splitlines()
    for raw in lines:
        assert (await processor.post(raw)).status_code == 200
    assert await processor.state("order@example.com") == "free/cancelled"


async def test_the_processors_example_objects_never_break_it(processor: Processor) -> None:
    resources = json.loads((FOLDER / "real/stripe-openapi-fixtures3.json").read_text())["resources"]
    kinds = {
        "checkout.session": "checkout.session.completed",
        "subscription": "customer.subscription.updated",
        "invoice": "invoice.payment_failed",
        "charge": "charge.refunded",
    }
    sent = 0
    for subject in resources.values():
        if kind := kinds.get(subject.get("object")):
            event = {"id": f"evt_{kind}", "type": kind, "data": {"object": subject}}
            assert (await processor.post(json.dumps(event).encode())).status_code == 200
            sent += 1
    assert sent >= len(kinds)
