"""The two endpoints: who may call them, what they answer, and that an event counts once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.databases import fresh_url
from tests.features.payments.processor import (
    SECRET,
    Processor,
    bought,
    event,
    joined,
    new_processor,
    sign,
    subscription,
    timed,
)
from tests.features.privacy.test_erasure import rows_of
from tests.world import MovableClock, World, open_world

from masthead.service.app import http_app
from masthead.service.services import build


def body_of(sent: dict[str, Any]) -> bytes:
    return json.dumps(sent).encode()


async def refusal(answer: Any) -> tuple[int, str]:
    error = answer.json()["error"]
    assert set(error) == {"code", "message", "details"}
    return answer.status_code, error["code"]


class TestTenantReceiver:
    async def test_every_header_is_read_over_the_raw_bytes(self, processor: Processor) -> None:
        now = int(processor.world.clock().timestamp())
        body = b"  " + body_of(joined()) + b"\n"
        for headers in (
            {"Payment-Signature": sign(SECRET, body)},
            {"Stripe-Signature": timed(SECRET, body, now)},
            {"X-Service-Signature": f"sha256={sign(SECRET, body)}"},
        ):
            answer = await processor.post(body, headers)
            assert (answer.status_code, answer.json()) == (200, {"received": True})
            answer = await processor.post(body.strip(), headers)
            assert await refusal(answer) == (400, "BAD_REQUEST")

    async def test_an_unsigned_or_late_event_changes_nothing(self, processor: Processor) -> None:
        body = body_of(joined())
        now = int(processor.world.clock().timestamp())
        late = {"stripe-signature": timed(SECRET, body, now - 301)}
        for headers in ({}, {"payment-signature": sign("guess", body)}, late):
            assert await refusal(await processor.post(body, headers)) == (400, "BAD_REQUEST")
        assert await processor.state() == ""

    async def test_a_repeated_signature_header_is_refused(self, processor: Processor) -> None:
        body = body_of(joined())
        signed = sign(SECRET, body)
        twice: Any = [("payment-signature", signed), ("payment-signature", signed)]
        assert (await processor.post(body, twice)).status_code == 400

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"[]",
            b"payment=ok",
            b'{"id": "evt_1"}',
            b'{"type": "charge.refunded"}',
            b'{"id": 7, "type": "charge.refunded", "data": {"object": {"id": "ch_1"}}}',
            b'{"id": "evt_1", "type": "customer.subscription.updated", "data": {}}',
            b'{"id": "evt_1", "type": "charge.refunded", "data": null}',
            b'{"id": "evt_1", "type": "invoice.payment_failed", "data": {"object": 1}}',
            b'{"id": "evt_1", "type": "checkout.session.completed", "data": {"object": {}}}',
        ],
    )
    async def test_an_invalid_body_is_refused(self, processor: Processor, body: bytes) -> None:
        assert await refusal(await processor.post(body)) == (400, "BAD_REQUEST")

    @pytest.mark.parametrize(
        "name",
        [
            *("customer", "subscription", "customer_details", "metadata", "line_items"),
            *("amount_total", "currency", "payment_intent", "mode", "payment_status"),
        ],
    )
    async def test_unexpected_values_in_a_signed_event_cause_no_error(
        self, processor: Processor, name: str
    ) -> None:
        odd: list[Any] = [None, 7, -1, 2**62, "x" * 300, [], {}, {"data": [1, {}]}, True]
        for value in odd:
            for sent in (joined(), bought()):
                sent["data"]["object"][name] = value
                assert (await processor.post(body_of(sent))).status_code == 200, value

    async def test_a_body_over_a_mebibyte_is_refused(self, processor: Processor) -> None:
        answer = await processor.post(body_of(joined(client_reference_id="x" * 1024 * 1024)))
        assert answer.status_code == 413

    async def test_other_types_of_event_are_taken_and_ignored(self, processor: Processor) -> None:
        await processor.send(event("customer.created", {"id": "cus_1"}), event("x", {}))
        assert await processor.find("payment_customers") == []

    @pytest.mark.parametrize("slug", ["Demo", "a_b", "x" * 64, "nobody", "%20", "a.b"])
    async def test_an_unknown_slug_is_not_found(self, processor: Processor, slug: str) -> None:
        answer = await processor.post(body_of(joined()), path=f"/api/member-webhook/{slug}")
        assert await refusal(answer) == (404, "NOT_FOUND")

    async def test_without_a_secret_it_is_not_found(self, app: World) -> None:
        processor = await new_processor(app, member_payment_webhook_secret="")
        body = body_of(joined())
        for secret in ("", SECRET):
            answer = await processor.post(body, {"payment-signature": sign(secret, body)})
            assert await refusal(answer) == (404, "NOT_FOUND")

    async def test_only_post_is_served(self, processor: Processor) -> None:
        answer = await processor.tenant.guest.get(processor.path)
        assert await refusal(answer) == (405, "METHOD_NOT_ALLOWED")
        assert answer.headers["allow"] == "POST"

    async def test_the_host_is_the_tenants_or_the_services(self, processor: Processor) -> None:
        other = await processor.world.new_tenant("other")
        body = body_of(joined())
        answer = await processor.post(body, host=other.host)
        assert await refusal(answer) == (404, "NOT_FOUND")
        assert (await processor.post(body, host="localhost")).status_code == 200

    async def test_a_tenants_secret_is_refused_for_another_tenant(
        self, processor: Processor, app: World
    ) -> None:
        other = await new_processor(app, member_payment_webhook_secret="another secret")
        assert (await other.post(body_of(joined()), None)).status_code == 400
        await processor.send(joined())
        assert await other.state() == ""

    async def test_the_same_event_id_counts_once_per_tenant(
        self, processor: Processor, app: World
    ) -> None:
        other, sent = await new_processor(app), joined()
        await processor.send(sent)
        await other.send(sent)
        assert await processor.state() == await other.state() == "paid/active"

    async def test_a_read_only_tenant_is_still_paid(self, processor: Processor) -> None:
        await processor.tenant.settings(read_only_mode=True)
        await processor.send(joined())
        assert await processor.state() == "paid/active"

    async def test_a_test_event_does_not_count_with_a_live_key(self, app: World) -> None:
        live = await new_processor(app, member_payment_secret_key="sk_live_1")
        await live.send(joined())
        assert await live.state() == ""
        await live.send(joined() | {"livemode": True})
        assert await live.state() == "paid/active"


class TestOnce:
    async def test_a_repeat_gets_the_same_answer_and_changes_nothing(
        self, processor: Processor
    ) -> None:
        sent = [joined(), bought()]
        await processor.send(*sent)
        before = await processor.tenant.events()
        versions = processor.world.parts.versions
        version = await versions.of(processor.tenant.id)
        await processor.send(*sent, *sent)
        assert await processor.tenant.events() == before
        assert await versions.of(processor.tenant.id) == version
        assert len(await processor.find("orders")) == 1

    async def test_many_at_once_count_once(self, processor: Processor) -> None:
        sent = bought()
        await asyncio.gather(*(processor.send(sent) for _ in range(8)))
        assert len(await processor.find("orders")) == 1
        names = await processor.tenant.event_names()
        assert names.count("order.paid") == 1

    async def test_two_processes_at_once_count_once(self, processor: Processor) -> None:
        """Each with connections, caches and a writer of its own."""
        world, sent = processor.world, bought()
        other = await build(world.parts.settings, world.clock)
        try:
            calls = [processor.send(sent) for _ in range(4)]
            calls += [processor.send(sent, app=http_app(other)) for _ in range(4)]
            await asyncio.gather(*calls)
        finally:
            await other.close()
        assert len(await processor.find("orders")) == 1
        assert (await processor.tenant.event_names()).count("order.paid") == 1

    async def test_an_interrupted_event_is_applied_completely_or_not_at_all(
        self, processor: Processor
    ) -> None:
        sent = body_of(joined())
        cuts, timeout = 0, 0.0005
        while True:
            posting = asyncio.create_task(processor.post(sent))
            # A little longer each time.
            await asyncio.wait({posting}, timeout=timeout)
            cuts, timeout = cuts + posting.cancel(), timeout * 1.1
            await asyncio.gather(posting, return_exceptions=True)
            # In this order: a commit that was under way may end in between.
            state = await processor.state()
            if await rows_of(processor.world, processor.tenant.id, "payment_inbox"):
                break
            assert state == ""
        assert cuts
        assert await processor.state() == "paid/active"
        names = await processor.tenant.event_names()
        await processor.send(joined())
        assert await processor.tenant.event_names() == names


@pytest.fixture(params=["sqlite", "postgresql"])
async def platform(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    url = fresh_url(request.param, tmp_path)
    clock = MovableClock()
    world = await open_world(url, tmp_path, clock, MASTHEAD_PAYMENT_WEBHOOK_SECRET="platform")
    yield world
    await world.parts.close()


class TestPlatformReceiver:
    PATH = "/api/payment/webhook"

    async def post(self, shop: Processor, sent: dict[str, Any], secret: str = "platform") -> Any:
        body = body_of(sent)
        headers = {"payment-signature": sign(secret, body)}
        return await shop.post(body, headers, path=self.PATH, host="localhost")

    async def test_the_metadata_names_the_tenant(self, platform: World) -> None:
        shop, other = await new_processor(platform), await new_processor(platform)
        by_id = joined(metadata={"tenant_id": shop.tenant.id})
        assert (await self.post(shop, by_id)).json() == {"received": True}
        by_slug = subscription("past_due", 1_719_000_000)
        by_slug["data"]["object"]["metadata"] = {"tenant_slug": shop.tenant.slug}
        assert (await self.post(shop, by_slug)).status_code == 200
        assert (await shop.state(), await other.state()) == ("paid/past_due", "")

    async def test_an_invoice_names_it_through_its_subscription(self, platform: World) -> None:
        shop = await new_processor(platform)
        await shop.send(joined())
        details = {"subscription": "sub_1", "metadata": {"tenant_id": shop.tenant.id}}
        invoice = {"id": "in_1", "customer": "cus_1", "parent": {"subscription_details": details}}
        sent = event("invoice.payment_failed", invoice, 1_719_000_000)
        assert (await self.post(shop, sent)).status_code == 200
        assert await shop.state() == "paid/past_due"

    async def test_refusals(self, platform: World) -> None:
        shop = await new_processor(platform)
        mine = {"tenant_id": shop.tenant.id}
        # The tenant's own secret is for the tenant's own endpoint only.
        assert (await self.post(shop, joined(metadata=mine), SECRET)).status_code == 400
        answers: list[dict[str, Any]] = [
            {},
            {"tenant_id": "nobody"},
            {"tenant_slug": "nobody"},
            mine | {"tenant_slug": "nobody"},
            {"tenant_id": 7},
        ]
        for metadata in answers:
            answer = await self.post(shop, joined(metadata=metadata))
            assert await refusal(answer) == (404, "NOT_FOUND"), metadata
        assert (await self.post(shop, event("customer.created", {}))).status_code == 200
        connected = joined(metadata=mine) | {"account": "acct_1"}
        assert (await self.post(shop, connected)).status_code == 200
        assert await shop.state() == ""

    async def test_without_a_secret_it_is_not_found(self, processor: Processor) -> None:
        answer = await self.post(processor, joined(metadata={"tenant_id": processor.tenant.id}))
        assert await refusal(answer) == (404, "NOT_FOUND")
