"""Members from a CSV: the upload, what its columns mean, the check of its rows, the run."""

from __future__ import annotations

import asyncio
import csv
import io
import itertools
import re
import tempfile
import tracemalloc
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.engine.jobs.claims import claimed
from tests.faces.admin.visitor import OWN, Visitor, staff
from tests.faces.importers.write.exports import rows as table_rows
from tests.world import TenantWorld

from masthead.base.caller import system
from masthead.base.errors import NotFound
from masthead.engine.audit.collection import audit_log
from masthead.engine.jobs.runner import JobRunner
from masthead.engine.records.collection import Record
from masthead.engine.records.due_records import delete_expired
from masthead.faces.importers import jobs as import_jobs
from masthead.faces.importers.member_csv.actions import choose_columns, chosen_columns
from masthead.faces.importers.member_csv.collection import (
    ABANDONED_AFTER,
    MAX_PROBLEMS,
    MEMBERS_JOB,
    REPORT_FOR,
    member_imports,
)
from masthead.faces.importers.member_csv.rows import (
    BAD_DATE,
    BAD_EMAIL,
    BAD_NEWSLETTER,
    BAD_TIER,
    NO_EMAIL,
    REPEATED,
)
from masthead.faces.importers.member_csv.run import BATCH, MemberImport, Overtaken
from masthead.features.media.jobs import handlers as media_handlers
from masthead.features.members.collection import UNSUBSCRIBED

ADDRESS = "/admin/members/import"
RUN = {"do": "run", "consent": "the form at tideline.example"}
LIST = (
    "Email,Full Name,Labels,Newsletter,Tier,Created at,Shoe size\n"
    'ana@example.com,Ana Lind,"founders, press",yes,paid,2020-01-02,38\n'
    "bo@example.com,Bo Lind,,no,free,2021-03-04T05:06:07Z,44\n"
)


@pytest.fixture
async def browser(tenant: TenantWorld) -> Visitor:
    return (await staff(tenant, "owner", name="Nell Ashby"))[0]


async def sent(browser: Visitor, content: str | bytes, name: str = "list.csv") -> httpx.Response:
    raw = content if isinstance(content, bytes) else content.encode()
    return await browser.api.post(
        ADDRESS,
        data={"form_token": await browser.token()},
        files={"file": (name, raw, "text/csv")},
        headers=OWN,
    )


async def uploaded(browser: Visitor, content: str | bytes, name: str = "list.csv") -> str:
    """The address of the page of the import."""
    answer = await sent(browser, content, name)
    assert answer.status_code == 303, text_in(answer.text)
    return str(answer.headers["location"])


def mapping_in(page: str) -> dict[str, str]:
    """As a browser sends the form."""
    found = re.findall(r'<select[^>]*name="(column\.\d+)"[^>]*>(.*?)</select>', page, re.DOTALL)
    chosen = {name: re.search(r'value="(\w*)" selected', options) for name, options in found}
    return {name: each[1] if each else "" for name, each in chosen.items()}


async def started(browser: Visitor, address: str, **more: str) -> None:
    form = mapping_in((await browser.get(address)).text) | RUN | more
    answer = await browser.post(address, form)
    assert answer.status_code == 303, text_in(answer.text)


async def worked(tenant: TenantWorld) -> None:
    runner = worker_of(tenant)
    while await runner.run_due():
        pass


def worker_of(tenant: TenantWorld) -> JobRunner:
    parts = tenant.world.parts
    handlers = {**import_jobs.handlers(parts), **media_handlers(parts.records, parts.objects)}
    return JobRunner(parts.database, handlers, parts.records.clock)


async def imported(tenant: TenantWorld, browser: Visitor, content: str | bytes, **more: str) -> str:
    """The report."""
    address = await uploaded(browser, content)
    await started(browser, address, **more)
    await worked(tenant)
    return (await browser.get(address)).text


async def members(tenant: TenantWorld) -> dict[str, Record]:
    found = await tenant.world.parts.records.find(
        tenant.world.collection("blog_members"), {}, tenant_id=tenant.id, limit=10_000
    )
    return {each["email"]: each for each in found}


async def imports(tenant: TenantWorld) -> list[Record]:
    return await tenant.world.parts.records.find(member_imports, {}, tenant_id=tenant.id, limit=100)


def text_in(page: str) -> str:
    return unescape(" ".join(re.sub(r"<[^>]*>", " ", page).split()))


def tally_in(page: str) -> dict[str, int]:
    found = re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", page)
    return {name: int(count.replace(",", "")) for name, count in found}


def counts(added: int, updated: int, unchanged: int, refused: int) -> dict[str, int]:
    return {
        "Added": added,
        "Updated": updated,
        "Without change": unchanged,
        "With errors": refused,
    }


def errors_in(page: str) -> list[tuple[int, str]]:
    found = re.findall(r'<td class="r fit num">([\d,]+)</td><td>([^<]*)</td>', page)
    return [(int(row.replace(",", "")), unescape(why)) for row, why in found]


async def is_stored(tenant: TenantWorld, key: str) -> bool:
    try:
        await tenant.world.parts.objects.head(key)
    except NotFound:
        return False
    return True


class TestFromUploadToReport:
    async def test_a_list_is_read_checked_and_imported(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        address = await uploaded(browser, LIST)
        page = (await browser.get(address)).text
        said = text_in(page)
        assert "list.csv : 2 rows, separated by commas, in UTF-8." in said
        assert list(mapping_in(page).values()) == [
            *("email", "name", "labels", "newsletter", "tier", "created"),
            "",
        ]
        assert "ana@example.com Ana Lind Paid Yes founders, press 2 Jan 2020" in said
        assert "None in the file." in said
        assert await members(tenant) == {}
        [upload] = await imports(tenant)
        assert await is_stored(tenant, upload["object_key"])

        await started(browser, address, label="From the old site")
        waiting = (await browser.get(address)).text
        assert "0 of 2" in text_in(waiting)
        assert 'hx-trigger="every 1s"' in waiting
        await worked(tenant)

        report = (await browser.get(address)).text
        assert tally_in(report) == counts(2, 0, 0, 0)
        assert "every 1s" not in report
        found = await members(tenant)
        ana, bo = found["ana@example.com"], found["bo@example.com"]
        assert (ana["name"], ana["tier"], ana["newsletter"]) == ("Ana Lind", "paid", True)
        assert ana["labels"] == ["founders", "press", "From the old site"]
        assert ana["created"] == "2020-01-02T00:00:00.000Z"
        assert (bo["tier"], bo["newsletter"]) == ("free", False)
        assert "Ana Lind" in (await browser.get("/admin/members")).text
        assert not await is_stored(tenant, upload["object_key"])
        assert "2 added" in text_in((await browser.get(ADDRESS)).text)

    async def test_a_part_of_the_page_is_what_the_page_shows(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        address = await uploaded(browser, LIST)
        await started(browser, address)
        for _ in range(2):
            part = (await browser.get(address, **{"hx-request": "true"})).text
            assert part.strip() in (await browser.get(address)).text
            await worked(tenant)

    async def test_each_row_with_an_error_is_named_and_left_out(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        long_label = "x" * 51
        content = (
            "sep=;\nemail;tier;created_at;newsletter;labels\n"
            "good@example.com;paid;2020-01-02;yes;a\n"
            "not an address;;;;\n"
            "\n"
            ";free;;;\n"
            "GOOD@example.com;;;;\n"
            "tier@example.com;gold;;;\n"
            "date@example.com;;03/04/2020;;\n"
            "news@example.com;;;perhaps;\n"
            f"label@example.com;;;;{long_label}\n"
            "both@example.com;gold;tomorrow;;\n"
        )
        expected = [
            (3, BAD_EMAIL),
            (5, NO_EMAIL),
            (6, REPEATED),
            (7, BAD_TIER),
            (8, BAD_DATE),
            (9, BAD_NEWSLETTER),
            (10, "Labels: Each item must be no more than 50 character(s)."),
            (11, f"{BAD_TIER} {BAD_DATE}"),
        ]
        address = await uploaded(browser, content)
        page = (await browser.get(address)).text
        assert errors_in(page) == expected
        assert "8 of 9 rows have an error" in text_in(page)
        await started(browser, address)
        await worked(tenant)
        report = (await browser.get(address)).text
        assert tally_in(report) == counts(1, 0, 0, 8)
        assert errors_in(report) == expected
        assert set(await members(tenant)) == {"good@example.com"}
        sheet = await browser.get(f"{address}/errors.csv")
        assert sheet.headers["content-type"].startswith("text/csv")
        header, *lines = csv.reader(io.StringIO(sheet.text))
        assert header == ["row", "problem"]
        assert lines == [[str(row), why] for row, why in expected]
        german = (await staff(tenant, "owner", language="de"))[0]
        for path in (address, f"{address}/errors.csv"):
            told = (await german.get(path)).text
            assert "Das ist keine E‑Mail-Adresse. Berichtigen Sie sie." in told
            assert "Etiketten: Jeder Eintrag darf höchstens 50 Zeichen lang sein." in told
        # What is stored and shown later holds nothing of the rows.
        [run] = await imports(tenant)
        assert "example.com" not in str(run)

    async def test_the_list_that_the_admin_writes_is_read_back(
        self, tenant: TenantWorld, other_tenant: TenantWorld, browser: Visitor
    ) -> None:
        """Formulas and who has left come through unchanged."""
        given = {"tier": "paid", "newsletter": True, "labels": ["=SUM(A1)", "founders"]}
        await tenant.create(
            "blog_members",
            {"email": "ana@example.com", "name": "'=HYPERLINK(1)", "language": "pt-BR", **given},
        )
        await tenant.create(
            "blog_members", {"email": "+bo@example.com", "status": "cancelled", "tier": "paid"}
        )
        sheet = (await browser.get("/admin/members/members.csv")).content
        assert b"''=HYPERLINK" in sheet
        other, _ = await staff(other_tenant, "owner")
        report = await imported(other_tenant, other, sheet)
        assert tally_in(report) == counts(2, 0, 0, 0)
        there, here = await members(other_tenant), await members(tenant)
        names = ("name", "tier", "status", "newsletter", "labels", "created", "language")
        for email, each in here.items():
            assert {name: there[email][name] for name in names} == {
                name: each[name] for name in names
            }

    async def test_nobody_is_mailed_and_no_event_is_written(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        await imported(tenant, browser, LIST)
        assert await table_rows(tenant, "mails") == []
        assert await tenant.event_names() == []

    async def test_what_staff_did_is_in_the_log(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        await imported(tenant, browser, LIST)
        page = text_in((await browser.get("/admin/activity")).text)
        assert "Created the member import list.csv" in page
        assert "Started the member import list.csv" in page
        logged = await tenant.world.parts.records.find(audit_log, {}, tenant_id=tenant.id, limit=99)
        assert "example.com" not in str([each["label"] for each in logged])


class TestExistingMembers:
    async def test_the_newsletter_is_never_turned_on_again(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        left = await tenant.create("blog_members", {"email": "ana@example.com", "newsletter": True})
        await tenant.update("blog_members", left["id"], {"newsletter": False})
        await tenant.create("blog_members", {"email": "never@example.com"})
        report = await imported(
            tenant, browser, "email,subscribed\nana@example.com,yes\nnever@example.com,yes\n"
        )
        assert tally_in(report) == counts(0, 0, 2, 0)
        assert not any(each["newsletter"] for each in (await members(tenant)).values())

    async def test_one_who_has_left_by_the_list_is_turned_off(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        await tenant.create("blog_members", {"email": "ana@example.com", "newsletter": True})
        report = await imported(tenant, browser, "email,subscribed\nana@example.com,no\n")
        assert tally_in(report) == counts(0, 1, 0, 0)
        assert not (await members(tenant))["ana@example.com"]["newsletter"]

    async def test_other_services_learn_who_has_left_by_the_list_and_nothing_else(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        left = await tenant.create("blog_members", {"email": "ana@example.com", "newsletter": True})
        await tenant.create("blog_members", {"email": "bo@example.com"})
        before = len(await tenant.event_names())
        content = (
            "email,subscribed,tier,name\n"
            "ana@example.com,no,paid,Ana\n"
            "bo@example.com,no,paid,Bo\n"
            "new@example.com,yes,paid,New\n"
            "never@example.com,no,free,Never\n"
        )
        for _ in range(2):
            await imported(tenant, browser, content)
            assert (await tenant.event_names())[before:] == list(UNSUBSCRIBED)
        told = [each for each in await table_rows(tenant, "events") if each["name"] in UNSUBSCRIBED]
        assert {each["record_id"] for each in told} == {left["id"]}

    async def test_only_mapped_and_filled_cells_change_a_member(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        given = {"name": "Ana", "note": "Met at the fair", "labels": ["founders"]}
        for name in ("ana", "bo"):
            await tenant.create("blog_members", {"email": f"{name}@example.com", **given})
        before = await members(tenant)
        content = (
            "email,name,labels,note,created_at,tier,language\n"
            'ana@example.com,Ana Lind,"press,founders",Other words,2001-01-01,,pt_br\n'
            "bo@example.com,,,,,,\n"
        )
        address = await uploaded(browser, content)
        form = mapping_in((await browser.get(address)).text)
        # The note is left out.
        await started(browser, address, **(form | {"column.3": ""}))
        await worked(tenant)
        assert tally_in((await browser.get(address)).text) == counts(0, 1, 1, 0)
        after = await members(tenant)
        ana = after["ana@example.com"]
        assert (ana["name"], ana["note"]) == ("Ana Lind", "Met at the fair")
        assert ana["labels"] == ["founders", "press"]
        assert ana["language"] == "pt-BR"
        assert ana["created"] == before["ana@example.com"]["created"]
        assert after["bo@example.com"] == before["bo@example.com"]

    async def test_a_tier_that_the_payment_processor_decides_stays(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        known = {"by_id": {"payment_customer_id": "cus_1"}, "by_row": {}, "free": {}}
        made = {
            name: await tenant.create("blog_members", {"email": f"{name}@example.com", **values})
            for name, values in known.items()
        }
        await tenant.create(
            "payment_subscriptions",
            {"payment_subscription_id": "sub_1", "member_id": made["by_row"]["id"]},
        )
        await tenant.create("blog_members", {"email": "paid@example.com", "tier": "paid"})
        rows = "".join(f"{name}@example.com,paid\n" for name in known) + "paid@example.com,free\n"
        report = await imported(tenant, browser, f"email,tier\n{rows}")
        assert tally_in(report) == counts(0, 1, 3, 0)
        tiers = {email: each["tier"] for email, each in (await members(tenant)).items()}
        assert tiers == {
            "by_id@example.com": "free",
            "by_row@example.com": "free",
            "free@example.com": "paid",
            "paid@example.com": "paid",
        }

    async def test_labels_that_are_too_many_together_are_an_error_of_the_row(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        full = [f"label {number}" for number in range(20)]
        await tenant.create("blog_members", {"email": "ana@example.com", "labels": full})
        report = await imported(tenant, browser, "email,labels\nana@example.com,more\n")
        assert errors_in(report) == [(2, "Labels: Must be no more than 20 item(s).")]


class TestMapping:
    async def test_a_column_can_become_another_field_or_none(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        address = await uploaded(browser, "address,email,name\nana@example.com,bo@example.com,Bo\n")
        form = {"column.0": "email", "column.1": "", "column.2": "note", "do": "check"}
        page = await browser.follow(await browser.post(address, form))
        assert list(mapping_in(page).values()) == ["email", "", "note"]
        assert "ana@example.com" in text_in(page).partition("The first of them")[2]
        await started(browser, address)
        await worked(tenant)
        [ana] = (await members(tenant)).values()
        assert (ana["email"], ana["name"], ana["note"]) == ("ana@example.com", "", "Bo")

    @pytest.mark.parametrize(
        ("form", "sentence"),
        [
            ({}, "Choose the column that has the email addresses."),
            ({"column.0": "email", "column.1": "email"}, "Two columns are set to Email address."),
            ({"column.0": "email", "label": "x" * 51}, "no more than 50 character(s)"),
            ({"column.0": "password", "column.1": "id"}, "Choose the column"),
        ],
    )
    async def test_a_mapping_that_cannot_be_is_refused_with_what_was_chosen(
        self, tenant: TenantWorld, browser: Visitor, form: dict[str, str], sentence: str
    ) -> None:
        address = await uploaded(browser, "email,name\nana@example.com,Ana\n")
        answer = await browser.post(address, {**form, "do": "run"})
        assert answer.status_code == 422
        assert sentence in text_in(answer.text)
        known = {name: each for name, each in form.items() if each == "email"}
        assert {name: each for name, each in mapping_in(answer.text).items() if each} == known
        await worked(tenant)
        assert await members(tenant) == {}

    async def test_two_columns_with_the_same_name_are_one(self, browser: Visitor) -> None:
        address = await uploaded(browser, "E-Mail,e_mail,,name\na@example.com,b@example.com,x,A\n")
        page = (await browser.get(address)).text
        assert list(mapping_in(page).values()) == ["email", "name"]
        assert "a@example.com" in page
        assert "b@example.com" not in page

    async def test_a_form_that_is_sent_twice_starts_one_run(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        address = await uploaded(browser, LIST)
        form = mapping_in((await browser.get(address)).text) | RUN
        for _ in range(2):
            assert (await browser.post(address, form)).status_code == 303
        jobs = [each for each in await table_rows(tenant, "jobs") if each["kind"] == MEMBERS_JOB]
        assert len(jobs) == 1
        await worked(tenant)
        assert tally_in((await browser.get(address)).text) == counts(2, 0, 0, 0)

    async def test_it_is_asked_how_they_agreed_and_kept(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        address = await uploaded(browser, LIST)
        form = mapping_in((await browser.get(address)).text) | {"do": "run", "consent": "  "}
        refused = await browser.post(address, form)
        assert (refused.status_code, "Say how they agreed" in refused.text) == (422, True)
        await started(browser, address, consent="a  list at the counter")
        await worked(tenant)
        found = await members(tenant)
        ana, bo = found["ana@example.com"], found["bo@example.com"]
        assert ana["consent_source"] == "import: a list at the counter"
        assert (ana["consent_at"] != "", ana["consent_form"]) == (True, "")
        # Gets none.
        assert bo["consent_source"] == ""
        page = (await browser.get(f"/admin/members/{ana['id']}")).text
        assert "import: a list at the counter" in page
        assert 'id="consent"' not in (await browser.get(f"/admin/members/{bo['id']}")).text


class TestRights:
    @pytest.mark.parametrize("role", ["editor", "author"])
    async def test_only_owners_see_and_run_imports(
        self, tenant: TenantWorld, browser: Visitor, role: str
    ) -> None:
        address = await uploaded(browser, LIST)
        await self.refused(tenant, address, (await staff(tenant, role))[0])
        page = (await (await staff(tenant, role))[0].get("/admin/members")).text
        assert ADDRESS not in page

    async def test_another_site_knows_nothing_of_it(
        self, tenant: TenantWorld, other_tenant: TenantWorld, browser: Visitor
    ) -> None:
        address = await uploaded(browser, LIST)
        stranger, _ = await staff(other_tenant, "owner")
        await self.refused(tenant, address, stranger, is_owner=True)

    async def refused(
        self, tenant: TenantWorld, address: str, visitor: Visitor, *, is_owner: bool = False
    ) -> None:
        status = 404 if is_owner else 403
        if not is_owner:
            assert (await visitor.get(ADDRESS)).status_code == status
            assert (await sent(visitor, LIST)).status_code == status
        for path in (address, f"{address}/errors.csv"):
            assert (await visitor.get(path)).status_code == status
        form = {"column.0": "email", "do": "run"}
        assert (await visitor.post(address, form)).status_code == status
        assert (await visitor.post(f"{address}/discard")).status_code == status
        await worked(tenant)
        [run] = await imports(tenant)
        assert run["status"] == "uploaded"
        assert await members(tenant) == {}

    async def test_a_form_of_another_page_is_refused(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        files = {"file": ("list.csv", LIST.encode(), "text/csv")}
        for data, headers in (({}, OWN), ({"form_token": await browser.token()}, {})):
            answer = await browser.api.post(ADDRESS, data=data, files=files, headers=headers)
            assert answer.status_code == 403
        assert await imports(tenant) == []

    async def test_the_record_store_shows_owners_the_imports_without_the_file(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        await uploaded(browser, LIST)
        owner = await tenant.owner()
        [item] = (await owner.api.get("/api/collections/member_imports/records")).json()["items"]
        assert (item["status"], item["rows"]) == ("uploaded", 2)
        assert "object_key" not in item
        refused = await owner.api.post("/api/collections/member_imports/records", json={})
        assert refused.status_code == 403
        editor = await tenant.owner(role="editor")
        hidden = await editor.api.get("/api/collections/member_imports/records")
        assert hidden.status_code == 403
        path = f"/api/files/member_imports/{item['id']}/members.csv"
        assert (await tenant.guest.get(path)).status_code == 404


class TestHostileFiles:
    @pytest.mark.parametrize(
        ("content", "sentence"),
        [
            (b"", "Choose a file first."),
            (b"\n\n", "The list is empty."),
            (b"email,name\n", "no row below"),
            (b"ana@example.com,Ana\nbo@example.com,Bo\n", "names the columns"),
            (b"PK\x03\x04rest", "Save it there as CSV"),
            (b'email,name\nana@example.com,"Ana\n', "never closed"),
            (b"email\n" + b"x" * 40_000_000, "a line of more than a million characters"),
            (b"x" * 40_000_000, "a line of more than a million characters"),
            (b"email" + b",c" * 600 + b"\na@example.com\n", "does not name columns"),
            (b"email" + b"".join(b",c%d" % n for n in range(200)) + b"\na\n", "100 columns"),
        ],
        ids=[
            *("nothing", "empty", "only-names", "no-names", "spreadsheet", "open-quote"),
            *("long-row", "long-line", "many-columns", "too-many-columns"),
        ],
    )
    async def test_a_file_that_is_no_list_is_refused_with_the_reason(
        self, tenant: TenantWorld, browser: Visitor, content: bytes, sentence: str
    ) -> None:
        answer = await sent(browser, content)
        assert answer.status_code == 422
        assert sentence in text_in(answer.text)
        assert await imports(tenant) == []

    async def test_a_line_of_100_mb_is_refused_while_it_arrives(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        answer = await sent(browser, b"x" * 100_000_000)
        assert answer.status_code == 413
        assert await imports(tenant) == []

    @pytest.mark.parametrize(
        ("content", "encoding"),
        [
            ("email,name\nana@example.com,Jürgen\n".encode("latin-1"), "Windows-1252"),
            ("email,name\nana@example.com,Jürgen\n".encode("utf-16"), "UTF-16"),
            ("email\tname\nana@example.com\tJürgen\n".encode("utf-16-be"), "UTF-16"),
            (b"\xef\xbb\xbf" + "email;name\r\nana@example.com;Jürgen\r\n".encode(), "UTF-8"),
            ("email,name\nan\0a@example.com,Jür\0gen\n".encode(), "UTF-8"),
        ],
        ids=["latin-1", "utf-16", "utf-16-be", "utf-8-mark", "nul"],
    )
    async def test_any_encoding_is_found(
        self, tenant: TenantWorld, browser: Visitor, content: bytes, encoding: str
    ) -> None:
        address = await uploaded(browser, content)
        page = text_in((await browser.get(address)).text)
        assert f"in {encoding}." in page
        assert "Jürgen" in page
        await started(browser, address)
        await worked(tenant)
        assert (await members(tenant))["ana@example.com"]["name"] == "Jürgen"

    async def test_a_file_name_is_shown_and_nothing_else(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        name = "../../" + "x" * 400 + "<b>\x07\u202e.csv"
        address = await uploaded(browser, LIST, name)
        [run] = await imports(tenant)
        assert len(run["file_name"]) == 255
        assert "members.csv" in run["object_key"]
        assert "&lt;b&gt;" in (await browser.get(address)).text

    async def test_the_check_of_a_long_list_reads_its_start_alone(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        rows = (f"m{number}@example.com,{'n' * 200}\n" for number in range(20_000))
        address = await uploaded(browser, "email,name\n" + "".join(rows) + "bad,\n")
        page = text_in((await browser.get(address)).text)
        assert "20,001 rows" in page
        assert "None in the first 2,000 rows; the rest is checked during the import." in page

    @pytest.mark.sweep
    async def test_a_long_list_takes_little_memory(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        """The worker reads all of them, and stores the last ones, as after a crash."""
        rows = 30_000
        stored, good = rows - 2_000, rows - 1_500
        content = b"email,name\n" + b"".join(
            b"m%d@example.com,%s\n" % (number, b"n" * (60 if number < good else 300))
            for number in range(rows)
        )
        # Whatever is loaded or compiled at its first use.
        await started(browser, await uploaded(browser, b"email,name\nfirst@example.com,First\n"))
        await worked(tenant)
        tracemalloc.start()
        try:
            address = await uploaded(browser, content)
            await started(browser, address)
            [run] = [each for each in await imports(tenant) if each["id"] in address]
            async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
                await unit.update(member_imports, run["id"], {}, stamped={"read_rows": stored})
            await worked(tenant)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        # Apart from that, only the addresses that were seen take room.
        assert peak < 10_000_000 + 100 * rows
        report = (await browser.get(address)).text
        assert tally_in(report) == counts(good - stored, 0, 0, rows - good)
        [run] = [each for each in await imports(tenant) if each["id"] in address]
        assert len(run["problems"]) == MAX_PROBLEMS
        assert f"the CSV has the first {MAX_PROBLEMS:,}" in text_in(report)


def many(count: int) -> str:
    """With one that comes twice, in two batches."""
    rows = [f"m{number}@example.com,founders" for number in range(count)]
    return "email,labels\n" + "\n".join([*rows, "m0@example.com,founders"]) + "\n"


class Crash(Exception):
    pass


async def work_on(
    tenant: TenantWorld, is_stopping: Callable[[], bool] = lambda: False
) -> MemberImport:
    """A worker that has claimed the job of the tenant's only import."""
    [run] = await imports(tenant)
    parts = tenant.world.parts
    job = await claimed(tenant, MEMBERS_JOB, {"import_id": run["id"]}, 1, is_stopping)
    return MemberImport(parts.records, parts.objects, job)


class TestTheRun:
    async def test_a_run_that_crashed_between_two_batches_goes_on_and_doubles_nothing(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        address = await uploaded(browser, many(2 * BATCH + 10))
        await started(browser, address)
        asked = itertools.count()

        def dies_before_the_second() -> bool:
            if next(asked):
                raise Crash
            return False

        with pytest.raises(Crash):
            await (await work_on(tenant, dies_before_the_second)).run()
        page = text_in((await browser.get(address)).text)
        assert f"{BATCH} of {2 * BATCH + 11}" in page
        assert len(await members(tenant)) == BATCH
        await worked(tenant)
        report = (await browser.get(address)).text
        assert tally_in(report) == counts(2 * BATCH + 10, 0, 0, 1)
        assert errors_in(report) == [(2 * BATCH + 12, REPEATED)]
        assert len(await members(tenant)) == 2 * BATCH + 10

    async def test_a_job_that_runs_twice_changes_nothing_more(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        report = await imported(tenant, browser, many(3))
        [run] = await imports(tenant)
        async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
            await unit.enqueue(MEMBERS_JOB, {"import_id": run["id"]})
            await unit.enqueue(MEMBERS_JOB, {"import_id": "gone00000000000"})
        await worked(tenant)
        assert await imports(tenant) == [run]
        assert tally_in(report) == counts(3, 0, 0, 1)

    @pytest.mark.both_databases
    async def test_two_workers_at_once_store_no_row_twice(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        address = await uploaded(browser, many(3))
        await started(browser, address)
        both = [await work_on(tenant), await work_on(tenant)]
        ended = await asyncio.gather(*(each.run() for each in both), return_exceptions=True)
        # On a busy machine the second may come when the first has ended.
        assert {type(each) for each in ended} <= {type(None), Overtaken}
        assert tally_in((await browser.get(address)).text) == counts(3, 0, 0, 1)

    async def test_a_worker_that_is_stopped_leaves_the_rest_to_the_next(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        address = await uploaded(browser, many(3))
        await started(browser, address)
        stopping = worker_of(tenant)
        stopping.stop()
        await stopping.run_due()
        assert "0 of 4" in text_in((await browser.get(address)).text)
        await worked(tenant)
        assert tally_in((await browser.get(address)).text) == counts(3, 0, 0, 1)

    async def test_a_site_that_is_read_only_stays_as_it_is(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        address = await uploaded(browser, LIST)
        await started(browser, address)
        await tenant.settings(read_only_mode=True)
        await worked(tenant)
        assert "This site is read-only." in text_in((await browser.get(address)).text)
        assert await members(tenant) == {}
        assert (await sent(browser, LIST)).status_code == 403
        await tenant.settings(read_only_mode=False)

    async def test_an_import_whose_file_is_gone_says_so(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        address = await uploaded(browser, LIST)
        [run] = await imports(tenant)
        form = mapping_in((await browser.get(address)).text) | RUN
        assert (await browser.post(address, form)).status_code == 303
        await tenant.world.parts.objects.delete(run["object_key"])
        await worked(tenant)
        assert "The uploaded file is gone." in text_in((await browser.get(address)).text)

    @pytest.mark.parametrize("do", ["check", "run"])
    async def test_a_form_whose_file_is_gone_asks_for_it_again(
        self, tenant: TenantWorld, browser: Visitor, do: str
    ) -> None:
        """As after a crash between the record and its file."""
        address = await uploaded(browser, LIST)
        [run] = await imports(tenant)
        form = mapping_in((await browser.get(address)).text) | RUN | {"do": do}
        await tenant.world.parts.objects.delete(run["object_key"])
        answer = await browser.post(address, form)
        assert answer.status_code == 422
        assert "The uploaded file is gone. Upload it again." in text_in(answer.text)
        assert (await imports(tenant))[0]["status"] == "uploaded"


class TestTheFile:
    async def test_its_copy_in_the_worker_has_no_name_that_a_killed_worker_could_leave(
        self,
        tenant: TenantWorld,
        browser: Visitor,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        folder = tmp_path / "temporary"
        folder.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        await started(browser, await uploaded(browser, LIST))
        while_it_runs: list[list[Path]] = []

        def look() -> bool:
            while_it_runs.append(list(folder.iterdir()))
            return False

        await (await work_on(tenant, look)).run()
        assert while_it_runs == [[]]
        assert len(await members(tenant)) == 2

    async def test_an_upload_that_nobody_starts_is_deleted_after_a_day(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        await uploaded(browser, LIST)
        [run] = await imports(tenant)
        records = tenant.world.parts.records
        tenant.world.clock.advance(seconds=ABANDONED_AFTER.total_seconds() - 60)
        await delete_expired(records, member_imports)
        assert await imports(tenant)
        tenant.world.clock.advance(minutes=2)
        await delete_expired(records, member_imports)
        await worked(tenant)
        assert await imports(tenant) == []
        assert not await is_stored(tenant, run["object_key"])

    async def test_one_that_is_started_while_the_old_ones_are_deleted_stays(
        self, tenant: TenantWorld, browser: Visitor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await uploaded(browser, LIST)
        [run] = await imports(tenant)
        tenant.world.clock.advance(seconds=ABANDONED_AFTER.total_seconds() + 60)
        records, owner = tenant.world.parts.records, system(tenant.id)
        due, found_due = records.due, []

        async def find_and_start(*args: Any) -> Any:
            found = await due(*args)
            if tenant.id in found and not found_due:
                found_due.append(found)
                await choose_columns(records, owner, run["id"], chosen_columns(run), start=True)
            return found

        with monkeypatch.context() as patched:
            patched.setattr(records, "due", find_and_start)
            await delete_expired(records, member_imports)
        assert found_due
        await worked(tenant)
        assert len(await members(tenant)) == 2

    async def test_a_person_can_delete_it_at_once(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        address = await uploaded(browser, LIST)
        [run] = await imports(tenant)
        page = await browser.follow(await browser.post(f"{address}/discard"))
        assert "The import is deleted, with its file." in page
        await worked(tenant)
        assert not await is_stored(tenant, run["object_key"])
        assert (await browser.get(address)).status_code == 404

    async def test_an_import_that_runs_is_not_deleted_under_its_worker(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        address = await uploaded(browser, LIST)
        await started(browser, address)
        page = await browser.follow(await browser.post(f"{address}/discard"))
        assert "has already started" in page
        await worked(tenant)
        assert len(await members(tenant)) == 2

    async def test_a_report_is_there_for_a_while(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        await imported(tenant, browser, LIST)
        tenant.world.clock.advance(seconds=REPORT_FOR.total_seconds() - 60)
        await delete_expired(tenant.world.parts.records, member_imports)
        assert await imports(tenant)
        tenant.world.clock.advance(minutes=2)
        await delete_expired(tenant.world.parts.records, member_imports)
        assert await imports(tenant) == []
