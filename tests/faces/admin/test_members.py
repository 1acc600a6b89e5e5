"""Members in the admin: the list, one of them, labels, CSV, and data protection."""

from __future__ import annotations

import csv
import io
import json
import re
from html import unescape
from importlib.resources import files
from pathlib import Path

import pytest
from tests.faces.admin.visitor import Visitor, hidden_in, staff
from tests.features.privacy.requests import DELETE, member_deletion
from tests.outside.mail.offices import Office
from tests.world import TenantWorld

from masthead.base.caller import Caller, Kind, system
from masthead.engine.records.collection import Record
from masthead.faces.admin.flash import COOKIE, read_flash
from masthead.faces.admin.pages.members.download import ROWS
from masthead.faces.admin.pages.members.listing import PER_PAGE
from masthead.faces.admin.pages.members.member import MAIL_WORDS
from masthead.features.members.collection import MAX_HISTORY, member_mails
from masthead.features.members.mail_log import MemberMails
from masthead.features.privacy.limits import OWNERS, admit
from masthead.features.site.address import Site
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.outbox import RETENTION
from masthead.service.schema import tables

HTMX = {"hx-request": "true"}


def names_in(page: str) -> list[str]:
    found = re.findall(r'<a class="name(?: soft)?" href="[^"]*">([^<]*)', page)
    return [unescape(each) for each in found]


def link_in(page: str, label: str) -> str:
    found = re.search(rf'<a class="btn btn-s" href="([^"]*)"[^>]*>(?:<svg.*?</svg>)?{label}', page)
    return unescape(found[1]) if found else ""


@pytest.fixture
async def browser(tenant: TenantWorld) -> Visitor:
    return (await staff(tenant, "owner", name="Nell Ashby"))[0]


async def member(tenant: TenantWorld, name: str, **values: object) -> Record:
    email = f"{name.lower().replace(' ', '.')}@example.com"
    given = {"email": email, "name": name, **values}
    tenant.world.clock.advance(seconds=1)
    return await tenant.world.parts.records.create(
        system(tenant.id),
        tenant.world.collection("blog_members"),
        given,
        stamped={"token_key": "k" * 30},
    )


async def stored(tenant: TenantWorld, member_id: str) -> Record | None:
    found = await tenant.world.parts.records.find(
        tenant.world.collection("blog_members"), {"id": member_id}, tenant_id=tenant.id
    )
    return found[0] if found else None


async def shown(browser: Visitor, query: str = "") -> list[str]:
    answer = await browser.get(f"/admin/members{query}")
    assert answer.status_code == 200, answer.text
    return names_in(answer.text)


class TestList:
    async def test_a_first_visit_says_what_to_do(self, browser: Visitor) -> None:
        assert "No members yet" in (await browser.get("/admin/members")).text

    async def test_filters_and_totals(self, tenant: TenantWorld) -> None:
        await member(tenant, "Ana Lind", tier="paid", newsletter=True, labels=["founders"])
        await member(tenant, "Bo Lind", status="cancelled", labels=["press", "founders"])
        tenant.world.clock.advance(days=20)
        await member(tenant, "Cy Marsh", tier="paid", status="past_due")
        browser, _ = await staff(tenant, "owner")
        everyone = ["Cy Marsh", "Bo Lind", "Ana Lind"]
        for query, found in (
            ("", everyone),
            ("?sort=created", everyone[::-1]),
            ("?tier=paid", ["Cy Marsh", "Ana Lind"]),
            ("?status=cancelled", ["Bo Lind"]),
            ("?tier=paid&status=active", ["Ana Lind"]),
            ("?newsletter=yes", ["Ana Lind"]),
            ("?newsletter=no", ["Cy Marsh", "Bo Lind"]),
            ("?label=founders", ["Bo Lind", "Ana Lind"]),
            ("?label=founders&newsletter=yes", ["Ana Lind"]),
            ("?joined=7", ["Cy Marsh"]),
            ("?q=lin", ["Bo Lind", "Ana Lind"]),
            ("?q=cy.marsh@example.com", ["Cy Marsh"]),
            ("?q=lind&tier=paid", ["Ana Lind"]),
            ("?tier=gold&status=x&newsletter=1&joined=abc&sort=name", everyone),
        ):
            assert (query, await shown(browser, query)) == (query, found)
        page = (await browser.get("/admin/members?tier=paid")).text
        assert "1–2 of 2" in page
        tally = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", page))
        assert tally == {
            "Free": "1",
            "Paid": "2",
            "Payment late": "1",
            "Newsletter": "1",
            "New in 30 days": "3",
        }
        assert re.findall(r'<option value="(\w+)" ?>\1<', page) == ["founders", "press"]

    async def test_counters_follow_changes(self, tenant: TenantWorld, browser: Visitor) -> None:
        ana = await member(tenant, "Ana", newsletter=True)
        await member(tenant, "Bo")
        await tenant.update("blog_members", ana["id"], {"newsletter": False, "tier": "paid"})
        assert "1–2 of 2" in (await browser.get("/admin/members?newsletter=no")).text
        assert "1–1 of 1" in (await browser.get("/admin/members?newsletter=no&tier=paid")).text

    async def test_pages_by_cursor(self, tenant: TenantWorld, browser: Visitor) -> None:
        for number in range(PER_PAGE + 2):
            await member(tenant, f"Number {number}")
        page = (await browser.get("/admin/members")).text
        assert len(names_in(page)) == PER_PAGE
        older = (await browser.get(link_in(page, "Older"))).text
        assert names_in(older) == ["Number 1", "Number 0"]
        assert f"{PER_PAGE + 1}–{PER_PAGE + 2} of {PER_PAGE + 2}" in older

    async def test_a_list_of_one_page_has_nothing_to_turn(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        await member(tenant, "Ana Torres")
        page = (await browser.get("/admin/members")).text
        assert "1–1 of 1" in page
        assert "Older" not in page

    async def test_a_fragment_is_a_part_of_its_page(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        await member(tenant, "Ana")
        whole = (await browser.get("/admin/members")).text
        assert (await browser.get("/admin/members", **HTMX)).text.strip() in whole

    async def test_the_selected_ones_get_a_label(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        ana, bo = await member(tenant, "Ana"), await member(tenant, "Bo", labels=["press"])
        form = {f"select.{each['id']}": "on" for each in (ana, bo)} | {"action": "label"}
        question = await browser.post("/admin/members/change", form)
        assert "2 members" in question.text
        sure = hidden_in(question.text) | {"action": "label", "label_name": "founders"}
        page = await browser.follow(await browser.post("/admin/members/change", sure))
        assert "2 members have the label “founders”." in page
        assert await shown(browser, "?label=founders") == ["Bo", "Ana"]
        form = {"all": "1", "label": "press", "action": "unlabel", "label_name": "press"}
        page = await browser.follow(await browser.post("/admin/members/change", form))
        assert "1 member no longer has the label “press”." in page
        found = await stored(tenant, bo["id"])
        assert found is not None
        assert found["labels"] == ["founders"]
        long = sure | {"label_name": "x" * 51}
        refused = await browser.post("/admin/members/change", long)
        assert refused.status_code == 422
        assert "50 character" in refused.text


class TestOne:
    async def test_a_member_is_added_without_a_mail(self, office: Office) -> None:
        tenant = await office.world.new_tenant()
        browser, _ = await staff(tenant, "owner")
        form = {
            "email": "Ana@Example.com",
            "name": "Ana",
            "tier": "paid",
            "has_newsletter": "1",
            "newsletter": "on",
            "labels": "press, founders",
            "consent_source": "a card at the counter",
        }
        answer = await browser.post("/admin/members/new", form)
        # A cookie outlives the page: it says nothing about a person.
        [cookie] = [each for each in answer.headers.get_list("set-cookie") if COOKIE in each]
        flash = cookie.partition("=")[2].partition(";")[0]
        assert read_flash(office.world.parts.keyring, flash).sentence == "The member is added."
        page = await browser.follow(answer)
        assert "Paid, Active" in page
        assert "a card at the counter" in page
        again = await browser.post("/admin/members/new", form)
        assert again.status_code == 422
        assert "Ana" in again.text
        assert await office.mails() == []

    async def test_what_is_changed_is_in_the_history(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        ana = await member(tenant, "Ana Lind")
        address = f"/admin/members/{ana['id']}"
        form = {
            "name": "Ana Lind-Marsh",
            "tier": "paid",
            "status": "active",
            "has_newsletter": "1",
            "newsletter": "on",
            "labels": "press",
            "note": "Met at the fair.",
        }
        tenant.world.clock.advance(minutes=1)
        page = await browser.follow(await browser.post(address, form))
        assert "Changed from free to paid" in page
        assert "Turned the newsletter on" in page
        assert "Joined" in page
        assert "Met at the fair." in page
        assert "member.tier_changed" in await tenant.event_names()
        post = await tenant.published(title="The last ferry")
        async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
            given = {"post_id": post["id"], "author_name": "Ana", "body": "A bench."}
            comments = tenant.world.collection("comments")
            await unit.create(comments, given, stamped={"member_id": ana["id"]})
        order = {"email": ana["email"], "member_id": ana["id"], "status": "paid", "total": 4400}
        items = [{"name": "Print A2", "quantity": 1}]
        await tenant.create("orders", order | {"currency": "gbp", "items": items})
        page = (await browser.get(address)).text
        assert "Commented on" in page
        assert "<q>A bench.</q>" in page
        assert "Ordered for £44: Paid" in page
        assert "Print A2" in page
        only = (await browser.get(f"{address}?kind=comments")).text
        assert "Ordered for" not in only

    async def test_the_address_of_one_without_a_name_is_shown_once(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        for given, times in (("", 0), ("Ana Torres", 1)):
            made = await member(tenant, f"Ana {times}", email=f"ana{times}@a.example")
            await tenant.update("blog_members", made["id"], {"name": given})
            page = (await browser.get(f"/admin/members/{made['id']}")).text
            assert page.count('<span class="mail">') == times

    async def test_a_refused_change_shows_what_was_typed(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        ana = await member(tenant, "Ana")
        form = {"name": "Kept", "labels": "x" * 51}
        answer = await browser.post(f"/admin/members/{ana['id']}", form)
        assert answer.status_code == 422
        assert "Kept" in answer.text

    async def test_labels_and_notes_are_for_the_staff_alone(self, tenant: TenantWorld) -> None:
        ana = await tenant.member(email="ana@example.com", labels=["press"], note="Difficult")
        own = await ana.api.get(f"/api/collections/blog_members/records/{ana.id}")
        assert own.status_code == 200
        assert not {"labels", "note"} & own.json().keys()
        address = f"/api/collections/blog_members/records/{ana.id}"
        await ana.api.patch(address, json={"labels": ["owner"], "note": "Nice"})
        found = await stored(tenant, ana.id)
        assert found is not None
        assert (found["labels"], found["note"]) == (["press"], "Difficult")
        listed = await ana.api.get(
            "/api/collections/blog_members/records", params={"filter": "labels ?= 'press'"}
        )
        assert listed.status_code == 400
        history = await ana.api.get("/api/collections/member_history/records")
        assert history.status_code in (403, 404)


def history_in(page: str) -> list[str]:
    """The lines of the history, the newest first."""
    [shown] = re.findall(r'<ol class="history">(.*?)</ol>', page, re.DOTALL)
    lines = re.findall(r"<p>(.*?)</p>", shown, re.DOTALL)
    return [unescape(" ".join(re.sub(r"<[^>]*>", "", each).split())) for each in lines]


class TestWhoAndWhat:
    async def test_the_history_says_who_made_a_change(self, tenant: TenantWorld) -> None:
        browser, nell = await staff(tenant, "owner", name="Nell Ashby")
        _, left = await staff(tenant, "owner", name="Rik Vos")
        ana = await tenant.member(email="ana@example.com")
        operator = await tenant.world.operator(name="Theo Vance")
        records = f"/api/collections/blog_members/records/{ana.id}"
        operators = tenant.world.client(tenant.host)
        operators.headers["authorization"] = operator.token
        for api, change in (
            (nell.api, {"tier": "paid"}),
            (ana.api, {"newsletter": True}),
            (left.api, {"status": "past_due"}),
            (operators, {"status": "active"}),
            (nell.api, {"note": "Met at the fair.", "name": "Ana Lind"}),
        ):
            tenant.world.clock.advance(minutes=1)
            assert (await api.patch(records, json=change)).status_code == 200
        tenant.world.clock.advance(minutes=1)
        await tenant.update("blog_members", ana.id, {"tier": "free"})
        superusers = tenant.world.collection("_superusers")
        await tenant.world.parts.records.delete(system(tenant.id), superusers, left.id)
        lines = history_in((await browser.get(f"/admin/members/{ana.id}?kind=changes")).text)
        assert lines[0] == "Changed from paid to free"
        assert sorted(lines[1:3]) == [
            "The name changed, by Nell Ashby",
            "The note changed, by Nell Ashby",
        ]
        assert lines[3:] == [
            "Became active, was past due, by an operator",
            "Became past due, was active, by a former member of the staff",
            "Turned the newsletter on, by the member",
            "Changed from free to paid, by Nell Ashby",
            "Joined",
        ]

    async def test_an_api_key_is_named_as_one(self, tenant: TenantWorld, browser: Visitor) -> None:
        ana = await member(tenant, "Ana")
        key = Caller(Kind.KEY, tenant.id, id="k" * 15)
        members = tenant.world.collection("blog_members")
        await tenant.world.parts.records.update(key, members, ana["id"], {"tier": "paid"})
        lines = history_in((await browser.get(f"/admin/members/{ana['id']}")).text)
        assert "Changed from free to paid, by an API key" in lines

    async def test_mails_are_listed_with_what_became_of_them(self, office: Office) -> None:
        tenant = await office.world.new_tenant()
        browser, _ = await staff(tenant, "owner")
        ana = await member(tenant, "Ana")
        bo = await member(tenant, "Bo")
        parts, address = office.world.parts, f"/admin/members/{ana['id']}?kind=mails"
        assert "Nothing here yet." in (await browser.get(address)).text

        async def queue(to: str) -> str:
            mail = write_email(
                "sign_in",
                Site("Tideline", "https://x.example"),
                to,
                link="https://x/secret",
                code="123456",
            )
            async with parts.records.unit(system(tenant.id)) as unit:
                return await parts.mail.queue(unit, mail)

        await queue("Ana@Example.com")
        await queue("stranger@example.com")
        assert history_in((await browser.get(address)).text) == [
            "Email: a sign-in link, waiting to be written"
        ]
        assert len(await office.mails()) == 2
        assert history_in((await browser.get(address)).text) == [
            "Email: a sign-in link, written to a file, not sent"
        ]
        office.world.clock.advance(minutes=1)
        bounced = await queue("ana@example.com")
        await parts.mail.fail(tenant.id, bounced, "Later.", gave_up=False)
        assert history_in((await browser.get(address)).text)[0].endswith("waiting to be written")
        await parts.mail.discard(tenant.id, bounced, "No such mailbox.")
        assert history_in((await browser.get(address)).text) == [
            "Email: a sign-in link, could not be delivered",
            "Email: a sign-in link, written to a file, not sent",
        ]
        # Its job has ended without an answer of a mail server, and the email is swept.
        office.world.clock.advance(minutes=1)
        await queue("ana@example.com")
        office.world.clock.advance(days=RETENTION.days, seconds=-1)
        browser, _ = await staff(tenant, "owner")
        assert history_in((await browser.get(address)).text)[0].endswith("waiting to be written")
        office.world.clock.advance(seconds=2)
        assert history_in((await browser.get(address)).text)[0].endswith("could not be delivered")
        rows = await parts.records.find(member_mails, {}, tenant_id=tenant.id, limit=99)
        assert {each["member_id"] for each in rows} == {ana["id"]}
        assert "secret" not in str(rows)
        assert "example.com" not in str(rows)
        assert bo["id"] not in str(rows)

    async def test_the_newest_hundred_mails_stay(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        ana = await member(tenant, "Ana")
        log = MemberMails(tenant.world.parts.records, tables)
        for number in range(MAX_HISTORY + 2):
            tenant.world.clock.advance(seconds=1)
            async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
                await log.queued(unit, f"{number:015}", ana["email"], "sign_in")
        rows = await tenant.world.parts.records.find(
            member_mails, {"member_id": ana["id"]}, tenant_id=tenant.id, limit=999
        )
        assert len(rows) == MAX_HISTORY
        assert f"{0:015}" not in {each["mail_id"] for each in rows}
        editor, _ = await staff(tenant, "editor")
        page = (await editor.get(f"/admin/members/{ana['id']}?kind=mails")).text
        assert len(history_in(page)) == 20

    async def test_a_mail_of_a_read_only_site_goes_out_without_a_line(
        self, tenant: TenantWorld
    ) -> None:
        ana = await member(tenant, "Ana")
        _, owner = await staff(tenant, "owner")
        await tenant.settings(read_only_mode=True)
        parts = tenant.world.parts
        mail = write_email("test_mail", Site("Tideline", "https://x.example"), ana["email"])
        async with parts.records.unit(Caller(Kind.OWNER, tenant.id, id=owner.id)) as unit:
            assert await parts.mail.queue(unit, mail)
        assert await parts.records.find(member_mails, {}, tenant_id=tenant.id) == []

    def test_every_mail_has_words(self) -> None:
        folder = Path(str(files("masthead.outside.mail") / "templates"))
        templates = {each.stem for each in folder.glob("*.html")} - {"base", "parts"}
        # Drawn as letters, without a template of their own.
        drawn = {"newsletter_test", "welcome_email_test"}
        assert MAIL_WORDS.keys() == templates | drawn


class TestCsvOut:
    async def test_the_list_as_it_is_filtered(self, tenant: TenantWorld, browser: Visitor) -> None:
        await member(tenant, "Ana", tier="paid", labels=["a", "b"], newsletter=True)
        await member(tenant, "Bo")
        await tenant.create(
            "blog_members", {"email": "eve@example.com", "name": '=HYPERLINK("x")', "tier": "paid"}
        )
        answer = await browser.get("/admin/members/members.csv?tier=paid")
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        assert answer.headers["content-disposition"].startswith('attachment; filename="members-')
        rows = list(csv.DictReader(io.StringIO(answer.text)))
        assert [each["email"] for each in rows] == ["eve@example.com", "ana@example.com"]
        assert rows[0]["name"] == '\'=HYPERLINK("x")'
        assert (rows[1]["labels"], rows[1]["newsletter"]) == ("a, b", "yes")

    @pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r"])
    async def test_no_cell_is_a_formula(
        self, tenant: TenantWorld, browser: Visitor, begin: str
    ) -> None:
        await member(tenant, "Ana", labels=[f"x{begin}1"])
        await tenant.create("blog_members", {"email": "b@example.com", "name": f"{begin}1+1"})
        rows = list(csv.reader(io.StringIO((await browser.get(CSV)).text)))
        cells = [cell for row in rows for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]

    async def test_more_than_one_page_of_rows(self, tenant: TenantWorld, browser: Visitor) -> None:
        members = tenant.world.collection("blog_members")
        async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
            for number in range(ROWS + 5):
                given = {"email": f"number{number}@example.com", "name": f"Number {number}"}
                await unit.create(members, given, stamped={"token_key": "k" * 30})
        rows = list(csv.DictReader(io.StringIO((await browser.get(CSV)).text)))
        names = [each["name"] for each in rows]
        assert len(names) == ROWS + 5
        assert set(names) == {f"Number {number}" for number in range(ROWS + 5)}


CSV = "/admin/members/members.csv"


class TestDataProtection:
    async def test_an_export_is_made_shown_and_downloaded(self, office: Office) -> None:
        tenant = await office.world.new_tenant()
        browser, _ = await staff(tenant, "owner")
        ana = await member(tenant, "Ana")
        address = f"/admin/members/{ana['id']}"
        page = await browser.follow(await browser.post(f"{address}/export"))
        assert "The export is ready." in page
        assert "Ready until" in page
        link = re.search(r'href="([^"]*/download)"', page)
        assert link
        file = await browser.get(link[1])
        assert json.loads(file.text)["member"]["email"] == "ana@example.com"
        assert "attachment" in file.headers["content-disposition"]
        assert (await office.mail_to("ana@example.com"))["subject"]
        office.world.clock.advance(days=8)
        browser, _ = await staff(tenant, "owner")
        assert (await browser.get(link[1])).status_code == 404

    async def test_the_staffs_note_and_labels_are_exported_as_their_form_says(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        ana = await member(tenant, "Ana", labels=["press"], note="Met at the fair.")
        address = f"/admin/members/{ana['id']}"
        page = await browser.follow(await browser.post(f"{address}/export"))
        assert unescape(page).count("An export of the person's data includes") == 2
        fields = tenant.world.collection("blog_members").by_name
        assert all("data export" in fields[name].help for name in ("labels", "note"))
        [link] = re.findall(r'href="([^"]*/download)"', page)
        exported = (await browser.get(link)).json()["member"]
        assert (exported["labels"], exported["note"]) == (["press"], "Met at the fair.")

    async def test_an_erasure_is_confirmed_cancelled_and_done(self, office: Office) -> None:
        tenant = await office.world.new_tenant()
        browser, _ = await staff(tenant, "owner")
        ana = await member(tenant, "Ana")
        await tenant.update("blog_members", ana["id"], {"tier": "paid"})
        address = f"/admin/members/{ana['id']}"
        wrong = await browser.post(f"{address}/erase", {"email": "bo@example.com"})
        assert wrong.status_code == 422
        page = await browser.follow(
            await browser.post(f"{address}/erase", {"email": "ana@example.com"})
        )
        assert "Planned for" in page
        cancel = re.search(r'action="([^"]*/cancel)"', page)
        assert cancel
        page = await browser.follow(await browser.post(cancel[1]))
        assert "Cancelled" in page
        assert (await browser.post(cancel[1])).status_code == 404
        await browser.post(f"{address}/erase", {"email": "ana@example.com"})
        office.world.clock.advance(days=31)
        await office.send()
        assert await stored(tenant, ana["id"]) is None
        browser = (await staff(tenant, "owner"))[0]
        assert (await browser.get(address)).status_code == 404
        page = (await browser.get("/admin/settings/privacy")).text
        assert "Erased" in page
        assert "blog_members: 1" in page
        assert "ana@example.com" not in page

    async def test_an_erasure_that_the_member_asked_for_is_not_the_owners_to_cancel(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        ana = await tenant.member(email="ana@example.com")
        asked = await ana.api.post(DELETE, json=member_deletion(ana.id))
        assert asked.status_code == 202, asked.text
        address = f"/admin/members/{ana.id}"
        page = (await browser.get(address)).text
        assert "by the member" in page
        assert "Cancel the erasure" not in page
        forged = f"{address}/requests/{asked.json()['request_id']}/cancel"
        assert (await browser.post(forged)).status_code == 404
        # Cancelling the site's own leaves the member's as it is.
        page = await browser.follow(
            await browser.post(f"{address}/erase", {"email": "ana@example.com"})
        )
        [own] = re.findall(r'action="([^"]*/cancel)"', page)
        page = await browser.follow(await browser.post(own))
        assert "The erasure is cancelled." in page
        assert page.count("Planned for") == 1

    async def test_requests_are_limited_with_those_by_the_api(self, office: Office) -> None:
        tenant = await office.world.new_tenant()
        browser, account = await staff(tenant, "owner")
        ana = await member(tenant, "Ana")
        windows = office.world.parts.windows
        owner = Caller(Kind.OWNER, tenant.id, account.id, account.email, "_superusers")
        for _ in range(OWNERS.per_caller - 2):
            await admit(windows, tenant.id, owner, "")
        address, typed = f"/admin/members/{ana['id']}", {"email": ana["email"]}
        assert (await browser.post(f"{address}/export")).status_code == 303
        assert (await browser.post(f"{address}/erase", typed)).status_code == 303
        mails = len(await office.mails())
        assert (await browser.post(f"{address}/export")).status_code == 429
        refused = await browser.post(f"{address}/erase", typed)
        assert refused.status_code == 429
        assert "Try again later." in refused.text
        assert len(await office.mails()) == mails


OWNERS_ALONE = (
    ("GET", "/admin/members/new"),
    ("GET", "/admin/members/{id}/erase"),
    ("POST", "/admin/members/new"),
    ("POST", "/admin/members/change"),
    ("POST", "/admin/members/{id}"),
    ("POST", "/admin/members/{id}/export"),
    ("POST", "/admin/members/{id}/erase"),
)


class TestRoles:
    async def test_an_editor_reads_the_list_and_changes_nothing(self, tenant: TenantWorld) -> None:
        ana = await member(tenant, "Ana", labels=["press"])
        editor, _ = await staff(tenant, "editor")
        assert await shown(editor) == ["Ana"]
        page = (await editor.get(f"/admin/members/{ana['id']}")).text
        assert "press" in page
        assert "Erase…" not in page
        assert "ana@example.com" in (await editor.get(CSV)).text
        await _nothing_is_changed(tenant, editor, ana, (403, 404))

    async def test_an_author_has_no_members(self, tenant: TenantWorld) -> None:
        ana = await member(tenant, "Ana")
        author, _ = await staff(tenant, "author")
        assert "/admin/members" not in (await author.get("/admin")).text
        for address in ("/admin/members", CSV, f"/admin/members/{ana['id']}"):
            answer = await author.get(address)
            assert answer.status_code == 403
            assert "ana@example.com" not in answer.text
        await _nothing_is_changed(tenant, author, ana, (403, 404))

    async def test_another_sites_members_are_not_there(self, tenant: TenantWorld) -> None:
        ana = await member(tenant, "Ana")
        elsewhere = await tenant.world.new_tenant()
        stranger, _ = await staff(elsewhere, "owner")
        assert await shown(stranger) == []
        assert (await stranger.get(f"/admin/members/{ana['id']}")).status_code == 404
        for path in ("", "/export", "/erase"):
            answer = await stranger.post(
                f"/admin/members/{ana['id']}{path}", {"email": "ana@example.com", "name": "Eve"}
            )
            assert answer.status_code == 404
        form = {f"select.{ana['id']}": "on", "action": "label", "label_name": "x"}
        page = await stranger.follow(await stranger.post("/admin/members/change", form))
        assert "0 members" in page
        assert await stored(tenant, ana["id"]) == ana


async def _nothing_is_changed(
    tenant: TenantWorld, visitor: Visitor, ana: Record, refused: tuple[int, ...]
) -> None:
    form = {
        "email": "ana@example.com",
        "name": "Eve",
        "tier": "paid",
        f"select.{ana['id']}": "on",
        "action": "label",
        "label_name": "x",
    }
    for method, path in OWNERS_ALONE:
        address = path.format(id=ana["id"])
        answer = await (visitor.get(address) if method == "GET" else visitor.post(address, form))
        assert answer.status_code in refused, (method, path, answer.status_code)
    assert await stored(tenant, ana["id"]) == ana


async def test_an_address_that_came_back_is_shown_and_can_be_mailed_again(
    tenant: TenantWorld,
) -> None:
    bounced = {"mail_state": "bounced", "mail_state_reason": "550 5.1.1 No such user"}
    member = await tenant.create("blog_members", {"email": "gone@example.com"})
    records, members = tenant.world.parts.records, tenant.world.collection("blog_members")
    await records.update(system(tenant.id), members, member["id"], {}, stamped=bounced)
    path = f"/admin/members/{member['id']}"
    editor, _ = await staff(tenant, "editor")
    page = (await editor.get(path)).text
    assert "550 5.1.1 No such user" in page
    assert "mail-again" not in page
    owner, _ = await staff(tenant, "owner")
    assert "mail-again" in (await owner.get(path)).text
    page = await owner.follow(await owner.post(f"{path}/mail-again"))
    assert "This address gets newsletters again." in page
    [found] = await records.find(members, {"id": member["id"]}, tenant_id=tenant.id)
    assert found["mail_state"] == "ok"


async def test_an_owner_signs_a_member_out_everywhere(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    owner, _ = await staff(tenant, "owner")
    editor, _ = await staff(tenant, "editor")
    member, foreign = await tenant.member(), await other_tenant.member()
    own = f"/api/collections/blog_members/records/{member.id}"
    assert (await member.api.get(own)).status_code == 200
    assert (await editor.post(f"/admin/members/{member.id}/sign-out")).status_code == 403
    assert (await owner.post(f"/admin/members/{foreign.id}/sign-out")).status_code == 404
    page = await owner.follow(await owner.post(f"/admin/members/{member.id}/sign-out"))
    assert "The member is signed out everywhere" in page
    assert (await member.api.get(own)).status_code == 404
    log = (await owner.get("/admin/activity")).text
    assert "Signed out everywhere" in log
    assert member.email not in log
