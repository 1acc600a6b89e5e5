"""Home: what needs attention, the last 30 days, what is being written, and a new site's first
steps. Everyone sees what their role may read."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from tests.faces.admin.visitor import Visitor, staff
from tests.v1.keys import key_client
from tests.world import Account, TenantWorld, World, records_of

from masthead.base import clock, ids
from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.faces.admin.attention import PLACES
from masthead.features.payments.reconcile import Finding, Kind, Report, Reports
from masthead.features.webhooks.collection import webhook_deliveries, webhook_subscriptions

_ROW = re.compile(r"<li><svg[^>]*>.*?</svg><p><b>([^<]*)</b>\s+<span>([^<]*)</span>", re.DOTALL)
_STAT = re.compile(
    r'<div class="stat"><h3>([^<]*)</h3><strong>([^<]*)</strong><p>([^<]*)</p>'
    r'<svg[^>]* aria-label="([^"]*)"'
)
_TITLE = re.compile(r'<a class="title" href="/admin/posts/[^"]*">([^<]*)</a>')


@pytest.fixture
async def browser(tenant: TenantWorld) -> Visitor:
    return (await staff(tenant, "owner", name="Nell Ashby"))[0]


async def home_of(browser: Visitor) -> str:
    answer = await browser.get("/admin")
    assert answer.status_code == 200
    return answer.text


def rows_in(page: str) -> list[tuple[str, ...]]:
    """Returns the rows of what needs attention, with the reasons."""
    section = page.partition('id="needs-attention"')[2].partition("</section>")[0]
    return [tuple(map(unescape, each)) for each in _ROW.findall(section)]


def stats_in(page: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(map(unescape, rest)) for name, *rest in _STAT.findall(page)}


async def test_a_new_site_shows_its_first_steps(tenant: TenantWorld, browser: Visitor) -> None:
    page = await home_of(browser)
    assert "First steps" in page
    links = re.findall(r'<a class="btn btn-s" href="([^"]*)">', page)
    assert links[:1] == ["/admin/posts/new"]
    assert "/admin/staff" in links
    for link in links:
        assert (await browser.get(link)).status_code == 200
    assert "Continue writing" not in page
    author, _ = await staff(tenant, "author")
    assert "/admin/staff" not in await home_of(author)
    await tenant.post(title="The first")
    page = await home_of(browser)
    assert "First steps" not in page
    assert "Continue writing" in page


async def test_home_shows_drafts_what_is_coming_and_what_waits(
    tenant: TenantWorld, browser: Visitor
) -> None:
    _, ines = await staff(tenant, "author", name="Ines Ferro")
    await tenant.post(title="A draft", excerpt="Its beginning")
    live = await tenant.published(title="Live")
    await tenant.post(
        title="Tomorrow", scheduled_for="2026-11-15T07:00:00Z", visibility="paid", authors=[ines.id]
    )
    await waiting_comment(tenant, live["id"])
    page = await home_of(browser)
    assert "Good morning, Nell" in page
    assert "Saturday 14 November. One thing needs you." in page
    assert _TITLE.findall(page) == ["A draft", "Tomorrow", "Live"]
    assert "Its beginning" in page
    assert "Paid members, Ines Ferro" in page
    assert stats_in(page)["Posts"][:2] == ("1", "1 more is scheduled")


async def waiting_comment(tenant: TenantWorld, post_id: str) -> None:
    values = {"author_name": "Ana", "body": "Hm", "status": "pending"}
    await tenant.create("comments", {"post_id": post_id, **values})


async def test_comments_that_wait_are_counted_with_the_oldest(
    app: World, tenant: TenantWorld, browser: Visitor
) -> None:
    post = await tenant.published()
    for _ in range(2):
        await waiting_comment(tenant, post["id"])
        app.clock.advance(hours=1)
    expected = (
        "2 comments are waiting for approval.",
        "The oldest has been waiting since Saturday 14 November",
    )
    assert rows_in(await home_of(browser)) == [expected]
    editor, _ = await staff(tenant, "editor")
    assert rows_in(await home_of(editor)) == [expected]
    author, _ = await staff(tenant, "author")
    assert rows_in(await home_of(author)) == []


async def webhook(tenant: TenantWorld, name: str, **stamped: object) -> str:
    records = tenant.world.parts.records
    given = {"name": name, "url": "https://example.com/hook", "events": ["post.published"]}
    async with records.unit(system(tenant.id)) as unit:
        record = await unit.create(webhook_subscriptions, given, stamped=stamped)
    return str(record["id"])


async def dead_delivery(
    tenant: TenantWorld, webhook_id: str, number: int = 1, status: int | None = 503
) -> None:
    records = tenant.world.parts.records
    stamped = {"webhook_id": webhook_id, "state": "dead", "attempts": 6, "last_status": status}
    async with records.unit(system(tenant.id)) as unit, unit.batched_inserts():
        for _ in range(number):
            await unit.create(webhook_deliveries, {}, stamped=stamped)


async def test_dead_deliveries_of_the_last_week_name_their_receiver(
    app: World, tenant: TenantWorld, browser: Visitor
) -> None:
    board = await webhook(tenant, "Notice <board>")
    await dead_delivery(tenant, board, 3)
    assert rows_in(await home_of(browser)) == [
        ("3 webhook deliveries died.", "“Notice <board>” answered 503 until the last attempt")
    ]
    await dead_delivery(tenant, board, status=None)
    assert rows_in(await home_of(browser))[0][1] == (
        "“Notice <board>” answered 503 until the last attempt"
    )
    await dead_delivery(tenant, ids.new_id(), 97)
    assert rows_in(await home_of(browser)) == [
        ("More than 100 webhook deliveries died.", "2 receivers did not accept them")
    ]
    app.clock.advance(days=8)
    fresh = (await staff(tenant, "owner"))[0]
    assert rows_in(await home_of(fresh)) == []


async def test_a_webhook_that_failures_turned_off_is_named(
    app: World, tenant: TenantWorld, browser: Visitor
) -> None:
    now = clock.to_text(app.clock())
    await webhook(tenant, "By hand", disabled_at=now, paused=True)
    assert rows_in(await home_of(browser)) == []
    await webhook(tenant, "Board", disabled_at=now, failure_count=5)
    assert rows_in(await home_of(browser)) == [
        ("“Board” was turned off.", "5 failures in a row; it no longer gets events")
    ]
    await webhook(tenant, "Other", disabled_at=now, failure_count=5)
    assert rows_in(await home_of(browser))[0][0] == "2 webhooks were turned off."


async def test_a_failed_import_says_why(tenant: TenantWorld, browser: Visitor) -> None:
    records, runs = tenant.world.parts.records, tenant.world.collection("import_runs")
    stamped = {"platform": "ghost", "state": "failed", "error": "The file ends in the middle."}
    async with records.unit(system(tenant.id)) as unit:
        await unit.create(runs, {}, stamped=stamped)
    assert rows_in(await home_of(browser)) == [("1 import failed.", "The file ends in the middle.")]


async def test_findings_of_the_check_of_payments_are_for_the_owner(
    app: World, tenant: TenantWorld, other_tenant: TenantWorld, browser: Visitor
) -> None:
    none = Kind(0, [])
    report = Report(
        members=none,
        orders=Kind(1, [Finding("o")]),
        subscriptions=Kind(2, [Finding("s")]),
        events=none,
    )
    reports = Reports(app.parts.database)
    await reports.store(tenant.id, report, clock.to_text(app.clock()))
    await reports.store(
        TenantId(other_tenant.id), Report(none, none, none, none), clock.to_text(app.clock())
    )
    page = await home_of(browser)
    assert rows_in(page) == [
        (
            "3 payments need checking.",
            "Found by the check of payments: 1 order without its payment,"
            " 2 subscriptions without a member",
        )
    ]
    needs = page.partition('id="needs-attention"')[2].partition("</section>")[0]
    assert 'href="/admin/settings/payments"' in needs
    listed = (await browser.get("/admin/settings/payments")).text
    assert "Paid subscriptions without a member" in listed
    editor, _ = await staff(tenant, "editor")
    assert rows_in(await home_of(editor)) == []
    stranger, _ = await staff(other_tenant, "owner")
    assert rows_in(await home_of(stranger)) == []


async def test_every_row_leads_only_to_a_page_that_exists(
    tenant: TenantWorld, browser: Visitor
) -> None:
    for place in PLACES.values():
        assert (await browser.get(place.url)).status_code == 200, place


async def test_the_charts_count_thirty_days(
    app: World, tenant: TenantWorld, browser: Visitor
) -> None:
    now = app.clock()
    for age in (0, 0, 29, 30):
        await tenant.published(published_at=clock.to_text(now - timedelta(days=age)))
    leaving = [await tenant.member() for _ in range(3)]
    admin = await tenant.owner()
    await admin.api.delete(records_of("blog_members", leaving[0].id))
    client = await key_client(tenant)
    for _ in range(2):
        assert (await client.get("/api/v1/posts")).status_code == 200
    await app.parts.keys.flush()
    stats = stats_in(await home_of(browser))
    assert list(stats) == ["Views", "Members", "Posts", "Deliveries", "API calls"]
    assert stats["Members"] == ("2", "3 joined, 1 left", "Members rose from 0 to 2 in 30 days")
    assert stats["Posts"] == ("3", "None scheduled", "3 posts in 30 days, at most 2 on one day")
    assert stats["Deliveries"] == ("0", "None yet", "0 deliveries in 30 days; 0 died")
    assert stats["API calls"] == (
        "2",
        "Most on 14 Nov: 2",
        "2 API calls in 30 days; most on 14 November: 2",
    )


async def test_a_chart_has_its_numbers_as_a_table(tenant: TenantWorld, browser: Visitor) -> None:
    await tenant.published()
    page = await home_of(browser)
    table = page[page.index("Posts per day") :]
    days = re.findall(r"<tr><td>([^<]*)</td><td class=\"r\">([^<]*)</td>\s*</tr>", table)[:30]
    assert days[0] == ("14 Nov", "1")
    assert days[-1] == ("16 Oct", "0")
    assert {count for _, count in days[1:]} == {"0"}
    assert "Days in UTC" not in page
    await tenant.settings(time_zone="Pacific/Auckland")
    assert "Days in UTC" in await home_of(browser)


async def test_roles_see_the_charts_of_what_they_may_read(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    editor, _ = await staff(tenant, "editor")
    author, account = await staff(tenant, "author")
    await tenant.published(title="Mine", authors=[account.id])
    await tenant.published(title="Of others")
    await tenant.post(title="A draft of others")
    assert list(stats_in(await home_of(editor))) == ["Views", "Members", "Posts"]
    page = await home_of(author)
    assert {name: each[0] for name, each in stats_in(page).items()} == {"Your posts": "1"}
    assert _TITLE.findall(page) == ["Mine"]


async def test_another_site_counts_for_itself(
    tenant: TenantWorld, other_tenant: TenantWorld, browser: Visitor
) -> None:
    await tenant.published()
    await other_tenant.published()
    await other_tenant.member()
    stats = stats_in(await home_of(browser))
    assert (stats["Posts"][0], stats["Members"][0]) == ("1", "0")
