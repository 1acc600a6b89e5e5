"""An operator in Chromium: a new site whose owner accepts the invitation, suspended and opened
again.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

import re
from pathlib import Path

from playwright.async_api import Page, expect
from tests.browser import Browser, needs_chromium
from tests.faces.admin.served import world_at_its_address
from tests.outside.mail.offices import Office, text_of

pytestmark = needs_chromium

OWNER, PASSWORD = "ana@example.com", "another long password"


async def test_a_new_site_is_taken_over_by_its_owner_suspended_and_opened_again(
    tmp_path: Path, browser: Browser
) -> None:
    async with world_at_its_address(tmp_path) as (world, port):
        account = await world.operator(name="Theo Vance")
        operator = await (await browser.new_context()).new_page()
        bare, origin = f"http://localhost:{port}", f"http://harbour.localhost:{port}"
        cookie = {"name": "pb_auth", "value": account.token, "url": bare}
        await operator.context.add_cookies([cookie])  # type: ignore[list-item]
        await operator.goto(f"{bare}/admin/tenants")
        await operator.get_by_role("link", name="New site").click()
        await operator.get_by_label("Name of the site").fill("The Harbour")
        await operator.get_by_label("Address", exact=True).fill("harbour")
        await operator.get_by_label("Owner’s email address").fill(OWNER)
        await operator.get_by_role("button", name="Create the site").click()
        await expect(operator.locator(".toast")).to_contain_text("The Harbour is ready")

        owner = await (await browser.new_context()).new_page()
        await accept_invitation(owner, Office(world, world.parts.settings.data_dir / "mail"))
        await owner.goto(f"{origin}/admin/sign-in")
        await owner.get_by_label("Email address").fill(OWNER)
        await owner.get_by_label("Password", exact=True).fill(PASSWORD)
        await owner.get_by_role("button", name="Sign in", exact=True).click()
        await expect(owner.locator(".side-site")).to_contain_text("The Harbour")

        await operator.get_by_role("link", name="Suspend…").click()
        await operator.get_by_label("Reason").fill("The bill is open.")
        await operator.get_by_role("button", name="Suspend the site").click()
        await expect(operator.locator(".toast")).to_contain_text("The Harbour is suspended")
        assert await status_of(owner, f"{origin}/admin/posts") == 403
        await expect(owner.locator("main")).to_contain_text("The bill is open.")
        assert await status_of(owner, f"{origin}/") == 403
        await expect(owner.locator("h1")).to_have_text("This site is not available")

        await operator.get_by_role("button", name="Lift the suspension").click()
        await expect(operator.locator(".toast")).to_contain_text("is open again")
        assert await status_of(owner, f"{origin}/") == 200
        assert await status_of(owner, f"{origin}/admin/posts") == 200


async def accept_invitation(owner: Page, office: Office) -> None:
    [mail] = [each for each in await office.mails() if OWNER in each["to"]]
    [link] = re.findall(r"http://\S+token=\S+", text_of(mail))
    await owner.goto(link)
    await owner.get_by_label("New password").fill(PASSWORD)
    await owner.get_by_label("Repeat the password").fill(PASSWORD)
    await owner.get_by_role("button", name="Set the password").click()
    await expect(owner.locator("h1")).to_have_text("Your password is set")


async def status_of(page: Page, url: str) -> int:
    answer = await page.goto(url)
    assert answer is not None
    return answer.status
