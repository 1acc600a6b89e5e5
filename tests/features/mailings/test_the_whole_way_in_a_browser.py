"""The way of a newsletter in Chromium: written, tried, published and sent, paused, resumed, ended;
an email comes back, and the member shows it. The mail server is a real one on loopback."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from aiosmtpd.smtp import SMTP, Envelope, Session
from playwright.async_api import Page, expect
from tests.browser import Browser, needs_chromium
from tests.faces.admin.served import world_at_its_address
from tests.looks import PHONE, WIDE, accessibility, sideways
from tests.outside.mail.postbox import Postbox
from tests.waiting import until
from tests.world import TenantWorld

from masthead.service.background import job_runner, mailing_worker

pytestmark = needs_chromium

READERS = 4
SECRET = "a-secret-of-the-provider"


@dataclass
class Gate(Postbox):
    """Answers as many emails as it is told to; the next one waits for that."""

    answers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    waiting: int = 0

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        self.waiting += 1
        await self.answers.acquire()
        self.waiting -= 1
        return await super().handle_DATA(server, session, envelope)

    def let_through(self, number: int) -> None:
        for _ in range(number):
            self.answers.release()


@dataclass
class Desk:
    page: Page
    origin: str
    tenant: TenantWorld
    gate: Gate


@pytest.fixture
async def desk(tmp_path: Path, browser: Browser) -> AsyncIterator[Desk]:
    async with Gate() as gate:
        environ = {
            "MASTHEAD_SMTP_URL": f"smtp://127.0.0.1:{gate.port}",
            "MASTHEAD_MAIL_CONNECTIONS": "1",
            "MASTHEAD_MAIL_EVENTS_SECRET": SECRET,
            "MASTHEAD_DEFAULT_TENANT": "demo",
        }
        async with world_at_its_address(tmp_path, **environ) as (world, port):
            tenant = await world.new_tenant("Tideline", slug="demo")
            for number in range(READERS):
                values = {"email": f"reader{number}@example.com", "newsletter": True}
                await tenant.create("blog_members", values)
            owner = await tenant.owner(name="Nell Ashby")
            workers = (job_runner(world.parts), mailing_worker(world.parts))
            running = [asyncio.create_task(each.run_forever()) for each in workers]
            origin = f"http://localhost:{port}"
            context = await browser.new_context(
                viewport={"width": WIDE, "height": 800}, reduced_motion="reduce"
            )
            await context.add_cookies([{"name": "pb_auth", "value": owner.token, "url": origin}])
            yield Desk(await context.new_page(), origin, tenant, gate)
            gate.let_through(100)
            for each in workers:
                each.stop()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(*running)


async def looks_well(page: Page) -> None:
    assert await sideways(page) == {}
    assert await accessibility(page, [(PHONE, "light"), (WIDE, "dark")]) == {}


@pytest.mark.slow("a newsletter from its first word to its bounce, in a browser")
async def test_from_the_first_word_to_the_bounce(desk: Desk) -> None:
    page, gate = desk.page, desk.gate
    await page.goto(f"{desk.origin}/admin/posts/new")
    await page.get_by_label("Title", exact=True).fill("Spring tides")
    await page.locator("[contenteditable]").click()
    await page.keyboard.type("The moon is nearer this week.")
    await page.get_by_role("button", name="Publish…").click()
    await expect(page.get_by_text("Nobody gets an email.")).to_be_visible()
    await page.get_by_label("On the site and by email").check()
    await page.get_by_label("Subject").fill("The moon is near")
    said = page.get_by_text("will be emailed now to 4 members of Tideline, once.")
    await expect(said).to_be_visible()
    await looks_well(page)

    await page.get_by_role("button", name="Send me a test").click()
    await expect(page.get_by_role("status").filter(has_text="A test email")).to_be_visible()
    gate.let_through(1)
    await until(lambda: len(gate.letters) == 1)
    assert gate.letters[0]["subject"] == "[Test] The moon is near"
    await expect(page.get_by_label("Subject")).to_have_value("The moon is near")

    await page.get_by_role("button", name="Publish and send 4 emails").click()
    await expect(page.get_by_text("0 of 4")).to_be_visible()
    gate.let_through(1)
    await expect(page.get_by_text("1 of 4")).to_be_visible()
    await until(lambda: gate.waiting == 1)
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_text("Paused").first).to_be_visible()
    # What was being handed over still leaves, and nothing after it.
    gate.let_through(10)
    await until(lambda: len(gate.letters) == 3)
    await looks_well(page)
    assert (gate.waiting, len(gate.letters)) == (0, 3)

    await page.get_by_role("button", name="Resume").click()
    await expect(page.get_by_text("4 of 4")).to_be_visible()
    await expect(page.locator(".head").get_by_text("Sent")).to_be_visible()
    sent = sorted(each.rcpt_tos[0] for each in gate.envelopes[1:])
    assert sent == [f"reader{number}@example.com" for number in range(READERS)]

    report = {
        "type": "bounce",
        "kind": "hard",
        "email": sent[0],
        "message_id": next(
            str(each["message-id"]) for each in gate.letters[1:] if sent[0] in str(each["to"])
        ),
    }
    async with httpx.AsyncClient() as provider:
        events = f"{desk.origin}/api/mail/events/generic"
        answer = await provider.post(events, params={"secret": SECRET}, json=report)
    assert answer.status_code == 200
    await page.reload()
    await page.get_by_role("link", name="Bounced").click()
    await looks_well(page)
    await page.get_by_role("link", name=sent[0]).click()
    await expect(page.get_by_text("an email bounced")).to_be_visible()
    await expect(page.get_by_text("The moon is near")).to_be_visible()
    await expect(page.locator(".history").get_by_text("bounced")).to_be_visible()
    await looks_well(page)
