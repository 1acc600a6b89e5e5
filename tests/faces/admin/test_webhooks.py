"""The webhooks panel: health, secrets that are shown once, the log, dead letters, and for whom."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from tests.faces.admin.payloads import PAYLOADS
from tests.faces.admin.test_posts import HTMX, link_in
from tests.faces.admin.visitor import OWN, Visitor, hidden_in, staff
from tests.features.webhooks.conftest import authority, hooks, hooks_world
from tests.features.webhooks.hooks import Hooks
from tests.outside.mail.offices import Office, text_of
from tests.tls import answer

from masthead.base import ids
from masthead.base.config.values import RetryPolicy
from masthead.engine.events.catalog import CATALOG
from masthead.faces.admin.lists import PER_PAGE
from masthead.features.webhooks import delivery_log
from masthead.features.webhooks.actions import MAX_PER_TENANT
from masthead.features.webhooks.delivery_log import DeliveryFilter
from masthead.features.webhooks.signing import sign
from masthead.features.webhooks.statements import MAX_LATELY_DEAD
from masthead.service.background import job_runner
from masthead.service.schema import tables
from masthead.storage.database import EVERY_TENANT

__all__ = ["authority", "hooks", "hooks_world"]

ADDRESS = "/admin/webhooks"
ONCE = RetryPolicy(())
"""One attempt, so that a failure is dead at once."""
OFF_AFTER_ONE = RetryPolicy((), disable_after=1)


@pytest.fixture
async def browser(hooks: Hooks) -> Visitor:
    return (await staff(hooks.tenant, "owner", name="Nell Ashby"))[0]


def filled(hooks: Hooks, **values: str) -> dict[str, str]:
    return {
        "id": str(ids.new_id()),
        "name": "Board",
        "url": hooks.receiver.url(),
        "has_events": "1",
        "events.post.created": "on",
        **values,
    }


def secret_in(page: str) -> str:
    [found] = re.findall(r"data-copied>([0-9a-f]{64})<", page)
    return str(found)


def events_in(page: str) -> list[str]:
    return re.findall(r'<a class="mono" href="[^"]*">([^<]*)', page)


def states_in(page: str) -> list[str]:
    return re.findall(r'<td class="fit"><span class="badge badge-\w+">([^<]*)', page)


def deliveries_in(page: str) -> list[str]:
    return re.findall(rf'href="{ADDRESS}/deliveries/(\w+)"', page)


async def died(hooks: Hooks, count: int = 1, status: int = 503) -> dict[str, Any]:
    """A subscription with so many dead deliveries."""
    hook = await hooks.subscribe("post.created")
    for number in range(count):
        await hooks.tenant.post(title=f"Post {number}")
    hooks.receiver.next(*[answer(status, b"Try <b>later</b>")] * count)
    await hooks.deliver(ONCE)
    return hook


async def run_jobs(hooks: Hooks) -> int:
    return await job_runner(hooks.world.parts).run_due()


class TestSubscriptions:
    async def test_one_is_made_with_its_secret_shown_once(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        page = (await browser.get(ADDRESS)).text
        assert "Set up the first webhook" in page
        form = (await browser.get(f"{ADDRESS}/new")).text
        for kind in CATALOG[:-1]:
            assert f'name="events.{kind.name}"' in form
            assert f'id="example-{kind.name}"' in form
        assert "events.test.ping" not in form
        given = filled(hooks, **{"events.post.published": "on"})
        answered = await browser.post(f"{ADDRESS}/new", given)
        assert answered.status_code == 200
        assert answered.headers["cache-control"] == "no-store"
        secret = secret_in(answered.text)
        stored = await hooks.subscription(given["id"])
        assert stored["events"] == ["post.created", "post.published"]
        records = hooks.world.parts.records
        assert records.reveal(
            hooks.world.collection("webhook_subscriptions"), stored, "secret"
        ) == (secret)
        assert secret not in (await browser.get(f"{ADDRESS}/{given['id']}")).text

    async def test_a_form_that_is_sent_twice_makes_one(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        given = filled(hooks)
        await browser.post(f"{ADDRESS}/new", given)
        page = await browser.follow(await browser.post(f"{ADDRESS}/new", given))
        assert "This webhook already exists" in page
        assert len(re.findall('class="name"', (await browser.get(ADDRESS)).text)) == 1

    async def test_what_is_wrong_stands_by_its_field(self, hooks: Hooks, browser: Visitor) -> None:
        for values, error in (
            ({"url": "http://example.com"}, "url-error"),
            ({"url": "https://10.0.0.1/x"}, "url-error"),
            ({"name": ""}, "name-error"),
        ):
            refused = await browser.post(f"{ADDRESS}/new", filled(hooks, **values))
            assert refused.status_code == 422
            assert f'id="{error}"' in refused.text
            assert re.search(r'name="events.post.created"[^>]* checked', refused.text)
        nothing = filled(hooks)
        del nothing["events.post.created"]
        refused = await browser.post(f"{ADDRESS}/new", nothing)
        assert 'id="events-error"' in refused.text

    async def test_the_hundred_and_first_is_refused_with_the_reason(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        for _ in range(MAX_PER_TENANT):
            await hooks.subscribe()
        refused = await browser.post(f"{ADDRESS}/new", filled(hooks))
        assert refused.status_code == 422
        assert "Delete one first" in refused.text

    async def test_it_is_edited_paused_and_turned_on(self, hooks: Hooks, browser: Visitor) -> None:
        hook = await hooks.subscribe("post.created")
        address = f"{ADDRESS}/{hook['id']}"
        given = filled(hooks, name="Search index", **{"events.media.uploaded": "on"})
        page = await browser.follow(await browser.post(address, given))
        assert "Saved." in page
        stored = await hooks.subscription(hook["id"])
        assert (stored["name"], stored["events"]) == (
            "Search index",
            ["post.created", "media.uploaded"],
        )
        refused = await browser.post(address, filled(hooks, url="nonsense"))
        assert refused.status_code == 422
        assert 'value="nonsense"' in refused.text
        page = await browser.follow(await browser.post(f"{address}/pause"))
        assert "Paused" in page
        stored = await hooks.subscription(hook["id"])
        assert stored["disabled_at"]
        assert stored["paused"]
        page = (await browser.get(ADDRESS)).text
        assert "Paused" in page
        assert "has been off since" not in page
        page = await browser.follow(await browser.post(f"{address}/turn-on"))
        assert "Search index is on and gets events again." in page
        stored = await hooks.subscription(hook["id"])
        assert not stored["disabled_at"]
        assert not stored["paused"]

    async def test_a_new_secret_is_shown_once_and_signs_the_next_delivery(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        hook = await hooks.subscribe("post.created")
        shown = await browser.post(f"{ADDRESS}/{hook['id']}/rotate")
        secret = secret_in(shown.text)
        assert secret != hook["secret"]
        await hooks.tenant.post()
        await hooks.deliver()
        [sent] = hooks.receiver.requests
        signed = sign(secret, sent.headers["x-service-timestamp"], sent.body)
        assert sent.headers["x-service-signature"] == signed

    async def test_it_is_deleted_after_a_question(self, hooks: Hooks, browser: Visitor) -> None:
        hook = await died(hooks)
        question = (await browser.get(f"{ADDRESS}/{hook['id']}/delete")).text
        assert "Delete Hook?" in question
        page = await browser.follow(await browser.post(f"{ADDRESS}/{hook['id']}/delete"))
        assert "Hook is deleted" in page
        assert "Deleted webhook" in page
        [delivery] = deliveries_in(page)
        shown = (await browser.get(f"{ADDRESS}/deliveries/{delivery}")).text
        assert "Its webhook was deleted" in shown
        assert (await browser.get(f"{ADDRESS}/{hook['id']}")).status_code == 404

    async def test_health_says_the_last_answer_and_the_failures(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        await hooks.subscribe("post.created")
        assert states_in((await browser.get(ADDRESS)).text) == ["Not called yet"]
        await hooks.tenant.post()
        hooks.receiver.next(answer(502))
        await hooks.deliver()
        assert states_in((await browser.get(ADDRESS)).text)[0] == "Retrying"
        await hooks.deliver_to_the_end(ONCE)
        page = (await browser.get(ADDRESS)).text
        assert states_in(page)[0] == "Healthy"
        assert '<td class="r fit" data-l="last">200</td>' in page
        assert "1 delivered, 0 died" in page
        await hooks.tenant.post()
        hooks.receiver.next(answer(500))
        await hooks.deliver(ONCE)
        page = (await browser.get(ADDRESS)).text
        assert states_in(page)[0] == "Failing"
        assert '<td class="r fit bad" data-l="last">500</td>' in page
        assert '<td class="r fit bad" data-l="failed">1</td>' in page
        assert "1 delivered, 1 died" in page


class TestDisabled:
    async def test_failures_show_a_notice_until_it_is_turned_on(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        hook = await hooks.subscribe("post.created")
        await hooks.tenant.post()
        hooks.receiver.next(answer(503))
        await hooks.deliver(OFF_AFTER_ONE)
        page = (await browser.get(ADDRESS)).text
        assert "“Hook” has been off since" in page
        assert "A delivery died. The last answer was 503." in page
        assert "Off since" in (await browser.get(f"{ADDRESS}/{hook['id']}")).text
        [delivery] = deliveries_in(page)
        stuck = (await browser.get(f"{ADDRESS}/deliveries/{delivery}")).text
        assert "Turn its webhook on first" in stuck
        retried = await browser.post(f"{ADDRESS}/deliveries/{delivery}/retry")
        assert "was not retried" in await browser.follow(retried)
        page = await browser.follow(await browser.post(f"{ADDRESS}/{hook['id']}/turn-on"))
        assert "has been off since" not in page
        retried = await browser.post(f"{ADDRESS}/deliveries/{delivery}/retry")
        assert "It is being sent again." in await browser.follow(retried)
        await hooks.deliver()
        assert await hooks.states() == ["delivered"]

    async def test_a_mail_leads_the_owner_to_the_webhook(self, hooks: Hooks) -> None:
        owner = await hooks.tenant.owner()
        hook = await hooks.subscribe("post.created")
        await hooks.tenant.post()
        hooks.receiver.next(answer(503))
        await hooks.deliver(OFF_AFTER_ONE)
        office = Office(hooks.world, hooks.world.parts.settings.data_dir / "mail")
        mail = await office.mail_to(owner.email)
        assert f"/admin/webhooks/{hook['id']}" in text_of(mail)


class TestTest:
    async def test_it_shows_the_request_and_the_answer(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        hook = await hooks.subscribe("post.created")
        hooks.receiver.next(answer(418, b"<script>alert(1)</script> a teapot"))
        page = await browser.follow(await browser.post(f"{ADDRESS}/{hook['id']}/test"))
        assert "Test failed" in page
        assert "answered 418" in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt; a teapot" in page
        assert "<script>alert" not in page
        [sent] = hooks.receiver.requests
        assert sent.headers["x-service-signature"] in unescape(page)
        assert "Test again" in page
        assert states_in((await browser.get(ADDRESS)).text)[0] == "Test failed"
        hooks.clock.advance(minutes=1)
        await browser.post(f"{ADDRESS}/{hook['id']}/test")
        page = (await browser.get(ADDRESS)).text
        assert states_in(page)[0] == "Tested"
        assert '<td class="r fit" data-l="last">200</td>' in page
        assert "Tested" in (await browser.get(f"{ADDRESS}/{hook['id']}")).text
        stored = await hooks.subscription(hook["id"])
        assert stored["failure_count"] == 0

    async def test_a_receiver_that_is_gone_is_said(self, hooks: Hooks, browser: Visitor) -> None:
        hook = await hooks.subscribe("post.created")
        await hooks.receiver.refuse()
        page = await browser.follow(await browser.post(f"{ADDRESS}/{hook['id']}/test"))
        assert "Test failed" in page
        assert '<b class="bad">None</b>' in page

    async def test_reasons_are_in_the_language_of_the_account(self, hooks: Hooks) -> None:
        browser = (await staff(hooks.tenant, "owner", language="de"))[0]
        hook = await hooks.subscribe("post.created")
        await hooks.receiver.refuse()
        page = await browser.follow(await browser.post(f"{ADDRESS}/{hook['id']}/test"))
        assert page.count("Der Host nimmt keine Verbindungen an.") == 3
        asked = filled(hooks, url="https://10.0.0.1/x")
        refused = await browser.post(f"{ADDRESS}/new", asked)
        assert "Der Host hat eine Adresse, die dieser Dienst nicht aufruft." in refused.text


class TestLog:
    async def test_filters(self, hooks: Hooks, browser: Visitor) -> None:
        board = await hooks.subscribe("post.created", "post.published")
        index = await hooks.subscribe("post.published", url=hooks.receiver.url("/index"))
        hooks.receiver.at("/index", answer(500))
        await hooks.tenant.post()
        await hooks.deliver(ONCE)
        hooks.clock.advance(hours=2)
        await hooks.tenant.published()
        await hooks.deliver(ONCE)
        created, published = "post.created", "post.published"
        for query, found in (
            ("", [published, published, created, created]),
            ("state=dead", [published]),
            ("state=delivered", [published, created, created]),
            ("state=pending", []),
            (f"event={created}", [created, created]),
            (f"webhook={index['id']}", [published]),
            (f"webhook={board['id']}&state=delivered", [published, created, created]),
            (f"webhook={board['id']}&state=dead", []),
            (f"webhook={board['id']}&event={published}", [published]),
            (f"event={published}&state=dead&webhook={index['id']}", [published]),
            ("time=1h", [published, published, created]),
            (f"time=1h&event={created}", [created]),
            ("state=x&event=%00&webhook=%00&time=9", [published, published, created, created]),
        ):
            page = (await browser.get(f"{ADDRESS}?{query}")).text
            assert (query, sorted(events_in(page))) == (query, sorted(found))
        assert "No delivery matches" in (await browser.get(f"{ADDRESS}?state=pending")).text

    async def test_pages_by_cursor_lead_there_and_back(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        await hooks.subscribe("post.created")
        for _ in range(2 * PER_PAGE + 3):
            await hooks.tenant.post()
        for query in ("", "?state=pending", "?event=post.created"):
            address, pages = f"{ADDRESS}{query}", []
            while address:
                page = (await browser.get(address)).text
                pages.append(deliveries_in(page))
                address = link_in(page, "Older")
            assert [len(each) for each in pages] == [PER_PAGE, PER_PAGE, 3]
            assert len({each for some in pages for each in some}) == 2 * PER_PAGE + 3
            back = await browser.get(link_in(page, "Newer"))
            assert deliveries_in(back.text) == pages[1]
            first = await browser.get(link_in(back.text, "Newer"))
            assert deliveries_in(await browser.follow(first)) == pages[0]

    async def test_a_search_of_many_goes_on_where_it_ended(
        self, hooks: Hooks, browser: Visitor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(delivery_log, "MAX_SCANNED", 3)
        hook = await hooks.subscribe("post.created", "post.published")
        await hooks.tenant.published()
        for _ in range(4):
            await hooks.tenant.post()
        address = f"{ADDRESS}?event=post.published&webhook={hook['id']}"
        page = (await browser.get(address)).text
        assert events_in(page) == []
        assert "Searched back to" in page
        page = (await browser.get(link_in(page, "Older"))).text
        assert events_in(page) == ["post.published"]
        assert link_in(page, "Older") == ""
        assert link_in(page, "Newer") == address

    @pytest.mark.parametrize("query", ["", "state=dead", "state=pending"])
    async def test_a_fragment_is_a_part_of_its_page(
        self, hooks: Hooks, browser: Visitor, query: str
    ) -> None:
        await died(hooks, 2)
        page = await browser.get(f"{ADDRESS}?{query}")
        part = await browser.get(f"{ADDRESS}?{query}", **HTMX)
        assert part.text.strip().startswith('<div id="list"')
        assert part.text.strip() in page.text

    async def test_one_delivery_shows_what_was_sent_and_came_back(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        hook = await died(hooks)
        [delivery] = deliveries_in((await browser.get(ADDRESS)).text)
        await browser.post(f"{ADDRESS}/{hook['id']}/rotate")
        page = unescape((await browser.get(f"{ADDRESS}/deliveries/{delivery}")).text)
        [sent] = hooks.receiver.requests
        assert "Dead after 1 attempt" in page
        assert "Try <b>later</b>" in page
        for name in ("x-service-signature", "webhook-signature", "x-service-delivery"):
            assert f"<dt>{name}</dt><dd>{sent.headers[name]}</dd>" in page
        command = page[
            page.index("curl -X POST") : page.index("</pre>", page.index("curl -X POST"))
        ]
        assert sent.body.decode() in command
        assert sent.headers["x-service-signature"] in command
        assert hook["secret"] not in page
        [attempt] = await hooks.attempts(await hooks.delivery())
        assert attempt.url == hooks.receiver.url()

    async def test_an_attempt_of_an_older_version_is_shown_without_its_headers(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        await died(hooks)
        database = hooks.world.parts.database
        attempts = tables["webhook_deliveries"].metadata.tables["webhook_attempts"]
        async with database.transaction(EVERY_TENANT) as tx:
            old = sa.update(attempts).values(url="", signed_at=0, signature="")
            await tx.execute(database.compile(old), ("", 0, ""))
        [delivery] = deliveries_in((await browser.get(ADDRESS)).text)
        page = (await browser.get(f"{ADDRESS}/deliveries/{delivery}")).text
        assert "headers of this attempt are not stored" in page
        assert "curl -X POST" not in page

    async def test_what_comes_from_outside_is_escaped(self, hooks: Hooks, browser: Visitor) -> None:
        hook = await hooks.subscribe("post.updated")
        for number, payload in enumerate(PAYLOADS[::15]):
            given = filled(hooks, name=payload[:100], url=f"{hooks.receiver.url()}?{number}")
            await browser.post(f"{ADDRESS}/{hook['id']}", given)
            hooks.receiver.next(answer(500, payload.encode()))
            shown = await browser.follow(await browser.post(f"{ADDRESS}/{hook['id']}/test"))
            list_ = (await browser.get(ADDRESS)).text
            edit = (await browser.get(f"{ADDRESS}/{hook['id']}")).text
            for page in (shown, list_, edit):
                assert payload not in page or "<" not in payload


class TestDeadLetters:
    async def test_selected_ones_are_retried_once(self, hooks: Hooks, browser: Visitor) -> None:
        await died(hooks, 3)
        dead = deliveries_in((await browser.get(f"{ADDRESS}?state=dead")).text)
        form = {f"select.{each}": "on" for each in dead[:2]} | {"state": "dead"}
        moved = await browser.post(f"{ADDRESS}/retry", form)
        assert moved.headers["location"] == f"{ADDRESS}?state=dead"
        assert "2 deliveries are being sent again." in await browser.follow(moved)
        again = await browser.follow(await browser.post(f"{ADDRESS}/retry", form))
        assert "2 were not retried" in again
        assert await hooks.deliver() == 2
        assert sorted(await hooks.states()) == ["dead", "delivered", "delivered"]
        nothing = await browser.follow(await browser.post(f"{ADDRESS}/retry", {}))
        assert "No delivery was selected." in nothing

    async def test_the_frame_says_how_many_died_lately(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        count = re.compile(r'count-bad"><span class="vh">dead deliveries: </span>([0-9+,]+)<')
        assert not count.search((await browser.get("/admin")).text)
        await died(hooks, 3)
        assert count.findall((await browser.get("/admin")).text) == ["3"]
        editor, _ = await staff(hooks.tenant, "editor")
        assert not count.search((await editor.get("/admin")).text)
        hooks.clock.advance(days=8)
        visitor, _ = await staff(hooks.tenant, "owner")
        assert not count.search((await visitor.get("/admin")).text)

    async def test_the_frame_counts_up_to_a_limit(self, hooks: Hooks, browser: Visitor) -> None:
        await died(hooks, MAX_LATELY_DEAD + 1)
        assert f"dead deliveries: </span>{MAX_LATELY_DEAD}+<" in (await browser.get("/admin")).text

    async def test_all_that_match_are_retried_in_the_background(
        self, hooks: Hooks, browser: Visitor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("masthead.features.webhooks.retries.RETRY_BATCH", 2)
        await died(hooks, 5)
        assert "Retry 5 dead" in (await browser.get(ADDRESS)).text
        question = await browser.post(f"{ADDRESS}/retry", {"all": "1"})
        assert "All 5 that match" in question.text
        form = hidden_in(question.text)
        started = await browser.post(f"{ADDRESS}/retry", form)
        page = await browser.follow(started)
        assert "Counting the dead deliveries." in page
        assert 'hx-trigger="every 1s"' in page
        assert "Retrying." in (await browser.get(ADDRESS)).text
        part = await browser.get(started.headers["location"], **HTMX)
        assert part.text.strip() in page
        await run_jobs(hooks)
        done = await browser.get(started.headers["location"], **HTMX)
        assert "5 deliveries are being sent again." in done.text
        assert "every 1s" not in done.text
        assert await hooks.deliver() == 5
        assert set(await hooks.states()) == {"delivered"}
        assert "Retrying." not in (await browser.get(ADDRESS)).text

    async def test_two_clicks_start_one_run_and_send_nothing_twice(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        await died(hooks, 3)
        form = hidden_in((await browser.post(f"{ADDRESS}/retry", {"all": "1"})).text)
        other = hidden_in((await browser.post(f"{ADDRESS}/retry", {"all": "1"})).text)
        first = await browser.post(f"{ADDRESS}/retry", form)
        second = await browser.post(f"{ADDRESS}/retry", form)
        assert first.headers["location"] == second.headers["location"]
        third = await browser.post(f"{ADDRESS}/retry", other)
        hooks.clock.advance(seconds=1)
        await run_jobs(hooks)
        hooks.receiver.default = answer(503)
        await hooks.deliver(ONCE)
        # Dead again, but not for the run that was started before.
        await run_jobs(hooks)
        assert await hooks.deliver() == 0
        pages = [(await browser.get(each.headers["location"])).text for each in (first, third)]
        assert sorted("3 deliveries are being sent again." in page for page in pages) == [
            False,
            True,
        ]

    async def test_a_run_that_a_crash_has_cut_off_goes_on(
        self, hooks: Hooks, browser: Visitor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("masthead.features.webhooks.retries.RETRY_BATCH", 2)
        await died(hooks, 5)
        form = hidden_in((await browser.post(f"{ADDRESS}/retry", {"all": "1"})).text)
        started = await browser.post(f"{ADDRESS}/retry", form)
        log = hooks.world.parts.webhooks.deliveries.log
        requeue, calls = log.requeue, 0

        async def cut_off(*given: Any, **named: Any) -> int:
            nonlocal calls
            calls += 1
            if calls == 2:
                raise ConnectionError
            return await requeue(*given, **named)

        monkeypatch.setattr(log, "requeue", cut_off)
        await run_jobs(hooks)
        page = (await browser.get(started.headers["location"])).text
        assert "2 of 5" in page
        hooks.clock.advance(minutes=1)
        await run_jobs(hooks)
        page = (await browser.get(started.headers["location"])).text
        assert "5 deliveries are being sent again." in page
        assert await hooks.deliver() == 5

    async def test_filters_narrow_what_is_retried(self, hooks: Hooks, browser: Visitor) -> None:
        first = await died(hooks)
        await hooks.subscribe("post.published")
        hooks.receiver.default = answer(503)
        await hooks.tenant.published()
        await hooks.deliver(ONCE)
        hooks.receiver.default = answer()
        assert await hooks.states() == ["dead"] * 3
        given = {"all": "1", "webhook": first["id"], "event": "post.created", "time": "30d"}
        question = await browser.post(f"{ADDRESS}/retry", given)
        assert "All 2 that match" in question.text
        await browser.post(f"{ADDRESS}/retry", hidden_in(question.text))
        await run_jobs(hooks)
        await hooks.deliver()
        dead = await hooks.deliveries(DeliveryFilter(state="dead"))
        assert [each.event for each in dead] == ["post.published"]


class TestAccess:
    def requests(self, webhook: str, delivery: str) -> list[tuple[str, str]]:
        posts = ("", "/pause", "/turn-on", "/rotate", "/test", "/delete")
        return [
            *(("GET", f"{ADDRESS}{path}") for path in ("", "/new", f"/{webhook}")),
            ("GET", f"{ADDRESS}/{webhook}/delete"),
            ("GET", f"{ADDRESS}/deliveries/{delivery}"),
            ("POST", f"{ADDRESS}/new"),
            ("POST", f"{ADDRESS}/retry"),
            ("POST", f"{ADDRESS}/deliveries/{delivery}/retry"),
            *(("POST", f"{ADDRESS}/{webhook}{path}") for path in posts),
        ]

    @pytest.mark.parametrize("role", ["editor", "author"])
    async def test_it_is_for_owners_alone(self, hooks: Hooks, role: str) -> None:
        hook = await died(hooks)
        delivery = await hooks.delivery()
        other, _ = await staff(hooks.tenant, role)
        assert ADDRESS not in (await other.get("/admin/more")).text
        for method, address in self.requests(hook["id"], delivery.id):
            answered = await self._asked(other, method, address)
            assert (method, address, answered.status_code) == (method, address, 403)
        assert await hooks.states() == ["dead"]
        assert not (await hooks.subscription(hook["id"]))["disabled_at"]

    async def test_another_site_has_none_of_it(self, hooks: Hooks) -> None:
        hook = await died(hooks)
        delivery = await hooks.delivery()
        elsewhere = await hooks.world.new_tenant()
        owner, _ = await staff(elsewhere, "owner")
        for method, address in self.requests(hook["id"], delivery.id):
            if hook["id"] not in address and f"{delivery.id}" not in address:
                continue
            answered = await self._asked(owner, method, address)
            if address.endswith(f"{delivery.id}/retry"):
                answered = await owner.get(answered.headers["location"])
            assert (method, address, answered.status_code) == (method, address, 404)
        form = {f"select.{delivery.id}": "on"}
        await owner.post(f"{ADDRESS}/retry", form)
        assert "Hook" not in (await owner.get(ADDRESS)).text
        assert await hooks.states() == ["dead"]

    async def test_ids_that_are_none_are_not_found(self, browser: Visitor) -> None:
        for address in ("/x", "/%00", "/deliveries/x", "/deliveries/%00", "/retries/x"):
            assert (await browser.get(f"{ADDRESS}{address}")).status_code == 404
        for address in ("/x/test", "/deliveries/x/retry", "/aaaaaaaaaaaaaaa/pause"):
            assert (await browser.post(f"{ADDRESS}{address}")).status_code == 404

    async def test_a_plan_without_webhooks_says_so(self, hooks: Hooks, browser: Visitor) -> None:
        hook = await hooks.subscribe()
        await hooks.tenant.update("tenants", hooks.tenant.id, {"plan": "free"})
        page = (await browser.get(ADDRESS)).text
        assert "part of the Pro plan" in page
        assert f"{ADDRESS}/new" not in page
        assert "part of the Pro plan" in (await browser.get(f"{ADDRESS}/new")).text
        for address in ("/new", f"/{hook['id']}/test"):
            refused = await browser.post(f"{ADDRESS}{address}", filled(hooks))
            assert refused.status_code == 403
        assert not hooks.receiver.requests

    async def _asked(self, visitor: Visitor, method: str, address: str) -> httpx.Response:
        if method == "GET":
            return await visitor.get(address)
        return await visitor.post(address)


class TestChoice:
    async def test_all_events_stay_chosen_when_the_form_is_saved(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        given = filled(hooks, **{"events.*": "on"})
        del given["events.post.created"]
        await browser.post(f"{ADDRESS}/new", given)
        page = f"{ADDRESS}/{given['id']}"
        assert re.search(r'name="events\.\*"\s+checked', (await browser.get(page)).text)
        saved = await browser.post(page, given | {"name": "Other"})
        assert saved.status_code == 303
        assert (await hooks.subscription(given["id"]))["events"] == ["*"]

    async def test_a_filter_and_headers(self, hooks: Hooks, browser: Visitor) -> None:
        given = filled(hooks, filter="data.title ~ 'light'", headers="X-Key: 7f3k\r\nX-Route: news")
        made = await browser.post(f"{ADDRESS}/new", given)
        page = f"{ADDRESS}/{given['id']}"
        text = unescape((await browser.get(page)).text)
        assert "X-Key and X-Route are set." in text
        assert "data.title ~ 'light'" in text
        assert "7f3k" not in made.text + text
        await hooks.tenant.post(title="The lighthouse")
        await hooks.tenant.post(title="The harbour")
        await hooks.deliver()
        (received,) = hooks.receiver.requests
        assert (received.headers["x-key"], received.headers["x-route"]) == ("7f3k", "news")

    async def test_headers_stay_until_they_are_removed(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        given = filled(hooks, headers="X-Key: 7f3k")
        await browser.post(f"{ADDRESS}/new", given)
        page = f"{ADDRESS}/{given['id']}"
        await browser.post(page, given | {"headers": ""})
        assert (await hooks.subscription(given["id"]))["header_names"] == ["X-Key"]
        await browser.post(page, given | {"headers": "", "remove": "headers"})
        stored = await hooks.subscription(given["id"])
        assert (stored["headers"], stored["header_names"]) == ("", [])

    async def test_the_old_secret_works_for_as_long_as_was_chosen(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        hook = await hooks.subscribe()
        page = f"{ADDRESS}/{hook['id']}"
        made = await browser.post(f"{page}/rotate", {"overlap": "24"})
        assert "The secret before this one works until" in made.text
        new = secret_in(made.text)
        await hooks.tenant.post()
        await hooks.deliver()
        headers, body = hooks.receiver.requests[0].headers, hooks.receiver.requests[0].body
        stamp = headers["x-service-timestamp"]
        both = [sign(each, stamp, body) for each in (new, hook["secret"])]
        assert headers["x-service-signature"] == ",".join(both)
        hooks.clock.advance(hours=24)
        assert "before this one works" not in (await browser.get(page)).text

    async def test_what_is_wrong_with_a_filter_stands_by_it(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        wrong = filled(hooks, filter="title = 'x'", headers="Host: x")
        refused = await browser.post(f"{ADDRESS}/new", wrong)
        assert refused.status_code == 422
        assert 'id="filter-error"' in refused.text
        assert 'id="headers-error"' in refused.text


class TestFilter:
    async def test_a_filter_is_tried_on_the_last_events(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        for number in range(25):
            await hooks.tenant.post(title=f"The {'lighthouse' if number % 3 else 'harbour'}")
            hooks.clock.advance(seconds=1)
        typed = filled(hooks, name="Typed", filter="data.title ~ 'light'")
        page = await browser.post(f"{ADDRESS}/new/try", typed)
        assert page.status_code == 200
        shown = unescape(page.text)
        assert "Would have matched 13 of the last 20 events." in shown
        assert shown.count(">Matches<") == 13
        assert 'value="Typed"' in shown
        assert "data.title ~ 'light'</textarea>" in shown
        hook = await hooks.subscribe("post.created")
        saved = f"{ADDRESS}/{hook['id']}"
        tried = {**typed, "filter": "event = 'x'", "form_token": await browser.token()}
        part = await browser.api.post(f"{saved}/try", data=tried, headers={**OWN, **HTMX})
        assert part.text.lstrip().startswith('<div id="tried"')
        assert "Would have matched 0 of the last 20 events." in part.text
        assert "filter" not in (await hooks.api.get(f"/api/v1/webhooks/{hook['id']}")).json()

    @pytest.mark.parametrize(
        ("values", "sentence"),
        [
            ({"filter": "title = 'x'"}, "The filter can’t be used. Unknown field title."),
            ({"filter": "event ="}, "The filter can’t be used."),
            ({"events.post.created": ""}, "None of the chosen events has happened"),
            ({}, "Choose events first"),
        ],
    )
    async def test_what_can_not_be_tried(
        self, hooks: Hooks, browser: Visitor, values: dict[str, str], sentence: str
    ) -> None:
        typed = filled(hooks, **values)
        if not values:
            del typed["events.post.created"]
        page = await browser.post(f"{ADDRESS}/new/try", typed)
        assert (page.status_code, sentence in unescape(page.text)) == (200, True)

    async def test_what_is_tried_is_escaped(self, hooks: Hooks, browser: Visitor) -> None:
        for payload in PAYLOADS:
            await hooks.tenant.post(title=payload)
        page = await browser.post(f"{ADDRESS}/new/try", filled(hooks))
        assert "Would have matched" in page.text
        assert not [each for each in PAYLOADS if "<" in each and each in page.text]


class TestReplay:
    async def test_events_are_sent_again_after_a_question(
        self, hooks: Hooks, browser: Visitor
    ) -> None:
        hook = await hooks.subscribe("post.created")
        for title in ("One", "Two"):
            await hooks.tenant.post(title=title)
        await hooks.deliver()
        hooks.clock.advance(minutes=5)
        address = f"{ADDRESS}/{hook['id']}/replay"
        form = (await browser.get(address)).text
        assert address in (await browser.get(f"{ADDRESS}/{hook['id']}")).text
        [begin], [end] = (
            re.findall(rf'name="{name}"[^>]*?value="([^"]+)"', form) for name in ("from", "to")
        )
        given = {"from": begin, "to": end, "event": ""}
        question = (await browser.post(address, given)).text
        assert "Send 2 events again?" in question
        confirmed = hidden_in(question)
        assert confirmed.items() >= {"from": begin, "confirmed": "1"}.items()
        for _ in range(2):
            page = await browser.follow(await browser.post(address, confirmed))
            assert "2 events are being sent again." in page
        while await run_jobs(hooks):
            pass
        await hooks.deliver()
        assert len(hooks.receiver.requests) == 4
        activity = unescape((await browser.get("/admin/activity")).text)
        assert "Sent events again to" in activity

    async def test_what_is_wrong_stands_by_its_field(self, hooks: Hooks, browser: Visitor) -> None:
        hook = await hooks.subscribe("post.created")
        address = f"{ADDRESS}/{hook['id']}/replay"
        for values, error in (
            ({"from": "", "to": "2026-11-16T10:00"}, 'id="from-error"'),
            ({"from": "2026-11-16T10:00", "to": "2026-11-16T09:00"}, 'id="to-error"'),
            ({"from": "2026-09-01T10:00", "to": "2026-11-16T09:00"}, 'id="to-error"'),
            ({"from": "2026-11-01T10:00", "to": "2026-11-16T09:00", "event": "x"}, "Events</a>"),
        ):
            refused = await browser.post(address, values)
            assert (refused.status_code, error in refused.text) == (422, True), values
        nothing = await browser.post(
            address, {"from": "2026-11-01T10:00", "to": "2026-11-02T10:00"}
        )
        assert "No event matches in that time." in nothing.text
