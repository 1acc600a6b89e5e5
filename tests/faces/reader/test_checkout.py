"""The way to the payment, against a processor over a real socket."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from tests.faces.reader.shop import ACCOUNT, OWN, TIER, TIERS, Shop, api, shop, shop_app
from tests.features.payments.processor import Processor, joined, subscription
from tests.features.payments.processor_api import CHECKOUT, KEY, PORTAL, ProcessorApi, refuses, says
from tests.log_lines import capture_logs
from tests.tls import (
    Authority,
    Behaviour,
    Receiver,
    answer,
    cut,
    cut_mid_answer,
    drip,
    flood,
    hang,
    not_http,
    redirect,
    untrusted_certificate,
)
from tests.world import Account, TenantWorld

from masthead.outside.outbound.streams import OutboundStreams

__all__ = ["api", "shop"]

IMPATIENT_SECONDS = 0.5


def next_address(page: httpx.Response) -> str:
    """Where the page leads by its link, and by itself: the policy of the site's pages lets no form
    redirect to another site."""
    assert page.status_code == 200, page.text
    assert "form-action 'self'" in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "private, no-store"
    found = re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', page.text)
    assert found
    assert f'href="{found[1]}"' in page.text
    return unescape(found[1])


class TestCheckout:
    async def test_a_member_is_sent_to_a_checkout_of_the_chosen_tier(
        self, shop: Shop, member: Account
    ) -> None:
        page = await shop.upgrade(member)
        (path,) = shop.api.sessions
        assert next_address(page) == shop.api.receiver.url(path)
        (call,) = shop.api.calls
        assert call.path == CHECKOUT
        site = f"http://{shop.tenant.host}"
        named = {
            "tenant_id": shop.tenant.id,
            "tenant_slug": shop.tenant.slug,
            "member_id": member.id,
            "tier_id": shop.tier["id"],
        }
        assert shop.api.last_form == {
            "mode": "subscription",
            "line_items[0][price]": "price_month",
            "line_items[0][quantity]": "1",
            "customer_email": member.email,
            "client_reference_id": member.id,
            "success_url": f"{site}{ACCOUNT}?checkout=1",
            "cancel_url": f"{site}{TIERS}",
            **{f"metadata[{name}]": value for name, value in named.items()},
            **{f"subscription_data[metadata][{name}]": value for name, value in named.items()},
        }

    async def test_a_known_customer_pays_as_that_customer(self, shop: Shop) -> None:
        member = await shop.tenant.member(payment_customer_id="cus_1")
        next_address(await shop.upgrade(member))
        assert shop.api.last_form["customer"] == "cus_1"
        assert "customer_email" not in shop.api.last_form

    async def test_a_customer_that_the_processor_does_not_know_pays_by_address(
        self, shop: Shop
    ) -> None:
        member = await shop.tenant.member(payment_customer_id="cus_gone")
        shop.api.receiver.next(refuses(400, code="resource_missing", param="customer"))
        next_address(await shop.upgrade(member))
        assert shop.api.last_form["customer_email"] == member.email
        assert "customer" not in shop.api.last_form

    async def test_a_double_click_opens_one_checkout(self, shop: Shop, member: Account) -> None:
        first, second = await shop.upgrade(member), await shop.upgrade(member)
        assert next_address(first) == next_address(second)
        assert len(shop.api.sessions) == 1
        # One that was paid or has expired can't be used again.
        shop.tenant.world.clock.advance(minutes=6)
        assert next_address(await shop.upgrade(member)) != next_address(first)

    async def test_two_members_never_share_a_checkout(self, shop: Shop, member: Account) -> None:
        other = await shop.tenant.member()
        first, second = await shop.upgrade(member), await shop.upgrade(other)
        assert next_address(first) != next_address(second)

    async def test_a_guest_signs_in_first(self, shop: Shop) -> None:
        form = {"tier": shop.tier["id"]}
        for path in ("/member/upgrade", "/member/billing"):
            moved = await shop.reader().post(path, data=form, headers=OWN)
            assert moved.status_code == 303
            assert moved.headers["location"] == f"/member/sign-in?back={TIERS}"
        assert shop.api.calls == []

    @pytest.mark.parametrize("status", ["active", "past_due"])
    async def test_who_has_paid_is_not_sold_a_second_subscription(
        self, shop: Shop, status: str
    ) -> None:
        member = await shop.tenant.member()
        form = {"form_token": await _token(shop, member), "tier": shop.tier["id"]}
        # Paid in another tab after this page was opened.
        await shop.tenant.update("blog_members", member.id, {"tier": "paid", "status": status})
        moved = await shop.reader(member).post("/member/upgrade", data=form, headers=OWN)
        assert (moved.status_code, moved.headers["location"]) == (303, ACCOUNT)
        assert shop.api.calls == []

    async def test_who_has_cancelled_may_come_back(self, shop: Shop) -> None:
        member = await shop.tenant.member(status="cancelled")
        next_address(await shop.upgrade(member))

    async def test_what_is_not_on_sale_is_not_found(
        self, shop: Shop, member: Account, other_tenant: TenantWorld
    ) -> None:
        others = await other_tenant.create("tiers", TIER)
        hidden = await shop.tenant.create("tiers", {**TIER, "active": False})
        unpayable = await shop.tenant.create("tiers", {**TIER, "payment_price_id": ""})
        wrong = (others["id"], hidden["id"], unpayable["id"], "abcdefghij01234", "'", "../x")
        for tier in wrong:
            assert (await shop.upgrade(member, tier)).status_code == 404
        token = await _token(shop, member)
        await shop.tenant.settings(deleted_at="2026-11-14 00:00:00Z")
        form = {"form_token": token, "tier": shop.tier["id"]}
        closing = await shop.reader(member).post("/member/upgrade", data=form, headers=OWN)
        assert closing.status_code == 404
        assert shop.api.calls == []

    async def test_the_form_of_another_site_or_sign_in_is_refused(
        self, shop: Shop, member: Account
    ) -> None:
        reader, form = shop.reader(member), {"tier": shop.tier["id"]}
        bare = await reader.post("/member/upgrade", data=form, headers=OWN)
        foreign = await reader.post(
            "/member/upgrade", data=form, headers={"sec-fetch-site": "same-site"}
        )
        assert (bare.status_code, foreign.status_code) == (403, 403)
        opened = await reader.get("/member/upgrade")
        assert (opened.status_code, opened.headers["allow"]) == (405, "POST")
        assert shop.api.calls == []

    async def test_a_member_of_another_site_is_a_guest(
        self, shop: Shop, other_tenant: TenantWorld
    ) -> None:
        stranger = await other_tenant.member()
        form = {"tier": shop.tier["id"]}
        moved = await shop.reader(stranger).post("/member/upgrade", data=form, headers=OWN)
        assert moved.status_code == 303
        assert shop.api.calls == []

    async def test_one_member_can_not_make_the_service_call_without_end(
        self, shop: Shop, member: Account
    ) -> None:
        statuses = [(await shop.upgrade(member)).status_code for _ in range(11)]
        assert statuses == [200] * 10 + [429]
        refused = await shop.upgrade(member)
        assert int(refused.headers["retry-after"]) > 0
        assert len(shop.api.calls) == 10
        other = await shop.tenant.member()
        next_address(await shop.upgrade(other))
        shop.tenant.world.clock.advance(minutes=1)
        next_address(await shop.upgrade(member))


class TestPaymentPage:
    @pytest.mark.parametrize(
        ("page", "expected"),
        [
            ("https://pay.example.com/b", "https://pay.example.com/b?"),
            ("https://pay.example.com/b?locale=de", "https://pay.example.com/b?locale=de&"),
            ("https://pay.example.com/b#card", "https://pay.example.com/b?"),
        ],
    )
    async def test_a_payment_page_is_told_who_pays(
        self, shop: Shop, page: str, expected: str
    ) -> None:
        member = await shop.tenant.member(email="ana+news@example.com")
        values = {**TIER, "payment_price_id": "", "payment_url": page}
        tier = await shop.tenant.create("tiers", values)
        url = next_address(await shop.upgrade(member, tier["id"]))
        assert url.startswith(expected)
        asked = parse_qs(urlsplit(url).query)
        assert asked["prefilled_email"] == ["ana+news@example.com"]
        assert asked["client_reference_id"] == [member.id]
        assert urlsplit(url).fragment == urlsplit(page).fragment
        # It is for the reader to open, not for the service.
        assert shop.api.calls == []

    async def test_it_serves_a_site_without_a_payment_key(
        self, shop: Shop, member: Account
    ) -> None:
        await shop.tenant.settings(member_payment_secret_key="")
        values = {**TIER, "payment_url": "https://pay.example.com/b"}
        tier = await shop.tenant.create("tiers", values)
        assert next_address(await shop.upgrade(member, tier["id"])).startswith(
            "https://pay.example.com/b?"
        )


class TestPortal:
    async def test_a_customer_is_sent_to_the_portal(self, shop: Shop) -> None:
        member = await shop.tenant.member(payment_customer_id="cus_1")
        form = {"form_token": await _token(shop, member)}
        await shop.tenant.update("blog_members", member.id, {"tier": "paid"})
        page = await shop.reader(member).post("/member/billing", data=form, headers=OWN)
        (path,) = shop.api.sessions
        assert next_address(page) == shop.api.receiver.url(path)
        (call,) = shop.api.calls
        assert call.path == PORTAL
        assert shop.api.last_form == {
            "customer": "cus_1",
            "return_url": f"http://{shop.tenant.host}{ACCOUNT}",
        }

    async def test_who_is_no_customer_stays_on_the_account(
        self, shop: Shop, member: Account
    ) -> None:
        moved = await shop.billing(member)
        assert (moved.status_code, moved.headers["location"]) == (303, ACCOUNT)
        assert shop.api.calls == []

    async def test_without_a_payment_key_there_is_no_portal(self, shop: Shop) -> None:
        values = {**TIER, "payment_url": "https://pay.example.com/b"}
        await shop.tenant.create("tiers", values)
        await shop.tenant.settings(member_payment_secret_key="")
        moved = await shop.billing(await shop.tenant.member(payment_customer_id="cus_1"))
        assert (moved.status_code, moved.headers["location"]) == (303, ACCOUNT)
        assert shop.api.calls == []


async def _token(shop: Shop, member: Account) -> str:
    """From a page with a form of a free member."""
    found = re.search(
        r'name="form_token" value="(\w+)"', (await shop.reader(member).get(TIERS)).text
    )
    assert found
    return found[1]


def a_session(url: Any) -> Behaviour:
    return says(200, {"id": "cs_1", "url": url})


NO_ANSWER, REFUSED = "did not answer", "could not be started"


class TestFailures:
    @pytest.mark.parametrize(
        ("behaviour", "title"),
        [
            (refuses(400, code="resource_missing", param="line_items[0][price]"), REFUSED),
            (refuses(401, type="invalid_request_error"), REFUSED),
            (refuses(402, code="card_declined"), REFUSED),
            (refuses(403), REFUSED),
            (refuses(404), REFUSED),
            (refuses(409, code="idempotency_key_in_use"), NO_ANSWER),
            (refuses(429, code="rate_limit"), NO_ANSWER),
            (refuses(500), NO_ANSWER),
            (answer(503, b"<h1>Down</h1>"), NO_ANSWER),
            (answer(200, b"<h1>A page</h1>"), REFUSED),
            (answer(200, b"\xff\xfe"), REFUSED),
            (answer(200, b"[" * 100_000), REFUSED),
            (says(200, ["https://pay.example.com/"]), REFUSED),
            (says(200, {}), REFUSED),
            (redirect("https://pay.example.com/", 302), REFUSED),
            (redirect("http://169.254.169.254/latest", 307), REFUSED),
            (flood(), REFUSED),
            (flood(is_declared=False), REFUSED),
            (cut, NO_ANSWER),
            (cut_mid_answer, NO_ANSWER),
            (not_http, NO_ANSWER),
        ],
    )
    async def test_an_answer_that_opens_nothing_is_a_clear_page(
        self, shop: Shop, member: Account, behaviour: Behaviour, title: str
    ) -> None:
        shop.api.receiver.next(behaviour)
        await self._fails(shop, member, title)
        # Nothing lingers: the next attempt works.
        next_address(await shop.upgrade(member))

    @pytest.mark.parametrize(
        "url",
        [
            None,
            7,
            "",
            "/c/pay",
            "javascript:alert(1)",
            "data:text/html,<script>alert(1)</script>",
            "http://pay.example.com/",
            "//pay.example.com/",
            "https://",
            "https://reader@pay.example.com/",
            "https://pay.example.com/\r\nSet-Cookie: a=b",
            'https://pay.example.com/"><script>alert(1)</script>',
            "https://pay.example.com/ x",
            "https://pay.example.com/" + "x" * 8_000,
        ],
    )
    async def test_readers_are_sent_to_web_pages_only(
        self, shop: Shop, member: Account, url: Any
    ) -> None:
        shop.api.receiver.next(a_session(url))
        await self._fails(shop, member, REFUSED)

    @pytest.mark.parametrize("behaviour", [hang, drip(0.01)])
    async def test_a_slow_processor_is_not_waited_for(
        self, shop: Shop, member: Account, behaviour: Behaviour
    ) -> None:
        shop.app = shop_app(shop.tenant.world, shop.api.url, seconds=IMPATIENT_SECONDS)
        shop.api.receiver.next(behaviour)
        await self._fails(shop, member, NO_ANSWER)

    async def test_a_processor_that_is_not_there(self, shop: Shop, member: Account) -> None:
        await shop.api.receiver.refuse()
        await self._fails(shop, member, NO_ANSWER)

    async def test_a_certificate_of_the_processor_is_checked(
        self, shop: Shop, member: Account, tmp_path: Path
    ) -> None:
        authority = Authority(tmp_path)
        streams = OutboundStreams(ca_file=authority.ca_file)
        for certificate, is_trusted in (
            (authority.certificate(), True),
            (authority.certificate_of_another_host(), False),
        ):
            async with Receiver(certificate) as receiver:
                api = ProcessorApi(receiver)
                shop.app = shop_app(shop.tenant.world, api.url, streams=streams)
                if is_trusted:
                    assert next_address(await shop.upgrade(member)).startswith("https://")
                else:
                    await self._fails(shop, member, NO_ANSWER)
                assert len(api.calls) == is_trusted
        await streams.close()

    async def test_an_impostor_gets_no_key(self, shop: Shop, member: Account) -> None:
        async with Receiver(untrusted_certificate()) as impostor:
            shop.app = shop_app(shop.tenant.world, impostor.url(""))
            await self._fails(shop, member, NO_ANSWER)
            assert impostor.requests == []

    @pytest.mark.parametrize("key", ["sk_live\r\nX-Evil: 1", "sk live", "sk_ключ"])
    async def test_a_key_that_can_not_be_a_header_is_not_sent(
        self, shop: Shop, member: Account, key: str
    ) -> None:
        await shop.tenant.settings(member_payment_secret_key=key)
        await self._fails(shop, member, REFUSED)
        assert shop.api.calls == []

    async def _fails(self, shop: Shop, member: Account, title: str) -> None:
        with capture_logs() as logs:
            page = await shop.upgrade(member)
        assert page.status_code == 502
        assert title in page.text
        assert "Nothing was charged" in page.text
        (line,) = [each for each in logs if each["event"] == "payments.processor_failed"]
        for part in (KEY, KEY[:12], KEY[-4:], "alert(1)"):
            assert part not in page.text
            assert part not in repr(logs)
        assert line["call"] == CHECKOUT
        assert line["reason"]


class TestPaid:
    """From the checkout to the text of a paid post."""

    @pytest.mark.parametrize("first", ["checkout", "subscription"])
    async def test_the_signed_event_makes_the_member_paid(
        self, shop: Shop, member: Account, first: str
    ) -> None:
        post = await shop.tenant.published(visibility="paid", content_html="<p>Behind it.</p>")
        reader, address = shop.reader(member), f"/posts/{post['slug']}"
        next_address(await shop.upgrade(member))
        assert "Behind it." not in (await reader.get(address)).text
        form = shop.api.last_form
        prefix = "subscription_data[metadata]["
        copied = {
            name.removeprefix(prefix).rstrip("]"): value
            for name, value in form.items()
            if name.startswith(prefix)
        }
        # The reader pays with another address than the account's.
        events = [
            joined(metadata=copied, client_reference_id=form["client_reference_id"]),
            subscription("active", kind="created", metadata=copied),
        ]
        if first == "subscription":
            events.reverse()
        processor = Processor(shop.tenant)
        await processor.send(events[0])
        assert "Behind it." in (await reader.get(address)).text
        await processor.send(events[0], events[1])
        assert "Behind it." in (await reader.get(address)).text
        stored = await processor.find("blog_members")
        assert [each["id"] for each in stored] == [member.id]
        assert stored[0]["payment_customer_id"] == "cus_1"
