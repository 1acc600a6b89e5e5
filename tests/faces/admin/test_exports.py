"""Tools, Export: every format is made in the background, mailed, downloaded and removed again."""

from __future__ import annotations

import asyncio
import csv
import io
import os
import re
import signal
import tempfile
import zipfile
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from html import unescape
from pathlib import Path

import httpx
import psutil  # type: ignore[import-untyped]
import pytest
from tests.databases import fresh_url
from tests.engine.jobs.claims import claimed
from tests.engine.jobs.workers import forked_workers
from tests.faces.admin.visitor import OWN, Visitor, staff, token_in, visitor
from tests.faces.site_export.filled import fill
from tests.features.privacy.requests import DELETE, deletion
from tests.outside.mail.offices import Office, text_of
from tests.outside.mail.test_mailed_links import links_in
from tests.world import RunningClock, TenantWorld, World, open_world, records_of

from masthead.base.caller import Caller, Kind, system
from masthead.engine.jobs.runner import LEASE, RETRY_SECONDS, JobRunner
from masthead.engine.records.collection import Record
from masthead.faces.admin.flash import COOKIE, read_flash
from masthead.faces.importers.platforms.exports import open_export
from masthead.faces.importers.source import Options, SourceMember, SourcePost
from masthead.faces.site_archive.importing import import_site
from masthead.faces.site_export.collection import (
    EXPIRED,
    FAILED,
    QUEUED,
    READY,
    export_key,
    site_exports,
)
from masthead.faces.site_export.formats import OTHER_PLATFORMS
from masthead.faces.site_export.jobs import (
    ABANDONED_AFTER,
    BROKEN,
    MAKE_JOB,
    MAX_ATTEMPTS,
    NO_ANSWER,
)
from masthead.features.media.jobs import handlers as media_handlers
from masthead.features.privacy.limits import OWNERS, admit
from masthead.service.background import job_runner
from masthead.storage.local_objects import LocalObjectStore

ADDRESS = "/admin/tools/export"
HTMX = {"hx-request": "true"}
FORMATS = [each.value for each in OTHER_PLATFORMS]


@pytest.fixture
async def browser(tenant: TenantWorld) -> Visitor:
    return (await staff(tenant, "owner", name="Nell Ashby"))[0]


async def work(world: World) -> None:
    """All that a worker finds to do."""
    runner = job_runner(world.parts)
    while await runner.run_due():
        pass


async def exports(tenant: TenantWorld) -> list[Record]:
    records = tenant.world.parts.records
    found = await records.find(site_exports, {}, tenant_id=tenant.id, limit=100)
    return sorted(found, key=lambda each: str(each["created"]))


async def made(tenant: TenantWorld, browser: Visitor, wanted: str = "csv") -> Record:
    """An export that was asked for, after the worker has made it."""
    tenant.world.clock.advance(seconds=1)
    answer = await browser.post(ADDRESS, {"format": wanted})
    assert (answer.status_code, answer.headers["location"]) == (303, ADDRESS), answer.text
    await work(tenant.world)
    return (await exports(tenant))[-1]


def said(world: World, answer: httpx.Response) -> str:
    return read_flash(world.parts.keyring, answer.cookies[COOKIE]).sentence


async def stored_keys(tenant: TenantWorld) -> list[str]:
    found = tenant.world.parts.objects.list_keys(f"{tenant.id}/site_exports")
    return [key async for key in found]


def download_of(export: Record) -> str:
    return f"{ADDRESS}/{export['id']}/download"


def actions(page: str) -> list[str]:
    return re.findall(rf'"({ADDRESS}/[a-z0-9]+/(?:download|remove))"', page)


class TestFile:
    @pytest.mark.parametrize("wanted", ["wxr", "ghost"])
    async def test_our_own_importer_reads_it(
        self, tenant: TenantWorld, browser: Visitor, tmp_path: Path, wanted: str
    ) -> None:
        filled = await fill(tenant)
        export = await made(tenant, browser, wanted)
        answer = await browser.get(download_of(export))
        path = tmp_path / f"site.{'xml' if wanted == 'wxr' else 'zip'}"
        path.write_bytes(answer.content)
        platform = "wordpress" if wanted == "wxr" else "ghost"
        with closing(open_export(platform, path, Options(include_pages=True))) as source:
            posts = [each for each in source.posts() if isinstance(each, SourcePost)]
            members = [each for each in source.members() if isinstance(each, SourceMember)]
        # The importers skip what is scheduled.
        expected = {each["title"] for each in filled.posts.values()} - {"Later"}
        assert {each.title for each in posts} == expected | {filled.page["title"]}
        assert len(members) == (5 if wanted == "ghost" else 0)

    async def test_tables_hold_every_post_and_member(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        filled = await fill(tenant)
        answer = await browser.get(download_of(await made(tenant, browser, "csv")))
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            tables = {
                name: list(csv.DictReader(io.StringIO(archive.read(name).decode())))
                for name in archive.namelist()
            }
        assert {each["title"] for each in tables["posts.csv"] if each["type"] == "post"} == {
            each["title"] for each in filled.posts.values()
        }
        assert len(tables["members.csv"]) == 5

    async def test_web_pages_hold_every_text_and_file(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        filled = await fill(tenant)
        answer = await browser.get(download_of(await made(tenant, browser, "html")))
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            assert archive.testzip() is None
            names = archive.namelist()
        assert "index.html" in names
        assert sum(name.startswith("posts/") for name in names) == len(filled.posts)
        assert any(name.endswith(filled.picture["file"]) for name in names)

    async def test_it_comes_as_a_download_that_nothing_stores_or_runs(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        export = await made(tenant, browser, "wxr")
        whole = await browser.get(download_of(export))
        name = f"{tenant.slug}-wxr-{export['finished_at'][:10]}.xml"
        assert whole.headers["content-disposition"] == f'attachment; filename="{name}"'
        assert whole.headers["cache-control"] == "no-store"
        assert whole.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in whole.headers["content-security-policy"]
        assert int(whole.headers["content-length"]) == export["bytes"] == len(whole.content)
        part = await browser.get(download_of(export), range="bytes=10-19")
        assert (part.status_code, part.content) == (206, whole.content[10:20])


class TestPage:
    async def test_a_first_visit_offers_every_format(self, browser: Visitor) -> None:
        page = (await browser.get(ADDRESS)).text
        assert re.findall(r'name="format" value="(\w+)"', page) == FORMATS
        assert "No files yet" in page

    async def test_an_unknown_format_is_refused(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        for form in ({"format": "docx"}, {}):
            answer = await browser.post(ADDRESS, form)
            assert answer.status_code == 422
            assert "Choose one of the formats." in answer.text
        assert await exports(tenant) == []

    async def test_it_shows_what_waits_what_runs_and_what_is_ready(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        await fill(tenant)
        await browser.post(ADDRESS, {"format": "ghost"})
        page = (await browser.get(ADDRESS)).text
        assert "as soon as the worker is free" in page
        assert 'name="format"' not in page
        export = (await exports(tenant))[-1]
        stamped = {"state": "running", "done": 7, "total": 13}
        async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
            await unit.update(site_exports, export["id"], {}, stamped=stamped)
        part = await browser.get(ADDRESS, **HTMX)
        assert "7 of 13" in part.text
        assert "<html" not in part.text
        await work(tenant.world)
        ended = await browser.get(ADDRESS, **HTMX)
        assert ended.headers["hx-redirect"] == ADDRESS
        assert said(tenant.world, ended) == "The export is ready."
        page = unescape((await browser.get(ADDRESS)).text)
        assert "6 posts, 1 page, 5 members, 2 files" in page
        assert "21 Nov 2026" in page
        assert actions(page) == [
            f"{ADDRESS}/{export['id']}/{each}" for each in ("remove", "download")
        ]

    async def test_media_whose_file_is_missing_are_counted(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        notes = (await fill(tenant)).notes
        parts = tenant.world.parts
        await parts.objects.delete(f"{tenant.id}/media/{notes['id']}/{notes['file']}")
        await made(tenant, browser, "html")
        assert "1 file missing" in (await browser.get(ADDRESS)).text

    async def test_one_at_a_time(self, tenant: TenantWorld, browser: Visitor) -> None:
        await browser.post(ADDRESS, {"format": "csv"})
        again = await browser.post(ADDRESS, {"format": "wxr"})
        assert "Another export is being made" in said(tenant.world, again)
        assert [each["format"] for each in await exports(tenant)] == ["csv"]

    async def test_of_each_format_the_newest_file_is_stored(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        older = await made(tenant, browser, "csv")
        other = await made(tenant, browser, "wxr")
        newer = await made(tenant, browser, "csv")
        assert [each["id"] for each in await exports(tenant)] == [other["id"], newer["id"]]
        assert set(await stored_keys(tenant)) == {export_key(other), export_key(newer)}
        assert (await browser.get(download_of(older))).status_code == 404

    async def test_what_is_removed_by_hand_is_gone(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        export = await made(tenant, browser)
        answer = await browser.post(f"{ADDRESS}/{export['id']}/remove")
        assert said(tenant.world, answer) == "The export is removed."
        await work(tenant.world)
        assert (await exports(tenant), await stored_keys(tenant)) == ([], [])
        assert (await browser.get(download_of(export))).status_code == 404
        assert (await browser.post(f"{ADDRESS}/{export['id']}/remove")).status_code == 404

    async def test_a_cancelled_export_leaves_nothing(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        await browser.post(ADDRESS, {"format": "csv"})
        [export] = await exports(tenant)
        answer = await browser.post(f"{ADDRESS}/{export['id']}/remove")
        assert said(tenant.world, answer) == "The export is cancelled."
        await work(tenant.world)
        assert (await exports(tenant), await stored_keys(tenant)) == ([], [])
        ended = await browser.get(ADDRESS, **HTMX)
        assert said(tenant.world, ended) == "The export is cancelled."

    async def test_a_site_that_will_be_deleted_can_still_be_exported(
        self, tenant: TenantWorld
    ) -> None:
        browser, owner = await staff(tenant, "owner")
        assert (await owner.api.post(DELETE, json=deletion(tenant))).status_code == 202
        export = await made(tenant, browser)
        assert (await browser.get(download_of(export))).status_code == 200


class TestMail:
    async def test_the_one_who_asked_is_mailed_when_it_is_ready(self, office: Office) -> None:
        tenant = await office.world.new_tenant("Tideline", slug="tideline")
        browser, owner = await staff(tenant, "owner", name="Nell", email="nell@example.com")
        await tenant.owner(email="other@example.com")
        export = await made(tenant, browser, "ghost")
        [mail] = await office.mails()
        assert mail["to"].addresses[0].addr_spec == owner.email
        assert mail["subject"] == "The export of Tideline is ready"
        text = " ".join(text_of(mail).split())
        assert "21 November 2026" in text
        site = f"http://{tenant.host}"
        assert links_in(mail) == {site, f"{site}{ADDRESS}"}
        assert export["id"] not in text
        # The link alone opens nothing.
        opened = await tenant.guest.get(f"{site}{ADDRESS}")
        assert opened.headers["location"].startswith("/admin/sign-in?next=")

    async def test_an_operator_who_asked_is_mailed(self, office: Office) -> None:
        tenant = await office.world.new_tenant("Tideline", slug="tideline")
        operator = await office.world.operator(email="theo@example.com")
        await made(tenant, visitor(office.world, operator, tenant.host))
        assert (await office.mail_to(operator.email))["subject"].endswith("is ready")

    async def test_an_account_that_is_gone_gets_no_mail(self, office: Office) -> None:
        tenant = await office.world.new_tenant("Tideline", slug="tideline")
        await tenant.owner()
        browser, asked = await staff(tenant, "owner")
        await browser.post(ADDRESS, {"format": "csv"})
        records = office.world.parts.records
        await records.delete(system(tenant.id), office.world.collection("_superusers"), asked.id)
        assert await office.mails() == []
        assert (await exports(tenant))[0]["state"] == READY

    async def test_requests_are_limited_with_those_of_data_protection(
        self, tenant: TenantWorld
    ) -> None:
        browser, owner = await staff(tenant, "owner")
        parts = tenant.world.parts
        windows = parts.windows
        for _ in range(OWNERS.per_caller):
            await admit(windows, tenant.id, Caller(Kind.OWNER, tenant.id, owner.id), "")
        answer = await browser.post(ADDRESS, {"format": "csv"})
        assert answer.status_code == 429
        assert await exports(tenant) == []


class TestRights:
    @pytest.mark.parametrize("role", ["author", "editor"])
    async def test_only_owners_export(
        self, tenant: TenantWorld, browser: Visitor, role: str
    ) -> None:
        export = await made(tenant, browser)
        other, account = await staff(tenant, role)
        before = await exports(tenant)
        assert (await other.get(ADDRESS)).status_code == 403
        assert (await other.get(download_of(export))).status_code == 403
        for path in (ADDRESS, f"{ADDRESS}/{export['id']}/remove"):
            assert (await other.post(path, {"format": "wxr"})).status_code == 403
        assert f'href="{ADDRESS}"' not in (await other.get("/admin/more")).text
        listed = await account.api.get(records_of("site_exports"))
        assert listed.status_code == 403
        assert await exports(tenant) == before

    async def test_another_site_has_nothing_of_it(
        self, tenant: TenantWorld, other_tenant: TenantWorld, browser: Visitor
    ) -> None:
        export = await made(tenant, browser)
        stranger, _ = await staff(other_tenant, "owner")
        assert (await stranger.get(download_of(export))).status_code == 404
        assert (await stranger.post(f"{ADDRESS}/{export['id']}/remove")).status_code == 404
        assert "No files yet" in (await stranger.get(ADDRESS)).text
        # The owner of one site on the host of another.
        moved = visitor(tenant.world, await tenant.owner(), other_tenant.host)
        assert (await moved.get(download_of(export))).status_code == 303
        assert [each["id"] for each in await exports(tenant)] == [export["id"]]
        assert await stored_keys(tenant) == [export_key(export)]

    async def test_forged_forms_and_visitors_are_refused(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        export = await made(tenant, browser)
        guest = Visitor(tenant.guest)
        assert (await guest.get(download_of(export))).status_code == 303
        without_token = await browser.api.post(ADDRESS, data={"format": "wxr"}, headers=OWN)
        assert without_token.status_code == 403
        token = token_in((await browser.get("/admin/more")).text)
        foreign = {"sec-fetch-site": "cross-site"}
        for path in (ADDRESS, f"{ADDRESS}/{export['id']}/remove"):
            form = {"format": "wxr", "form_token": token}
            answer = await browser.api.post(path, data=form, headers=foreign)
            assert answer.status_code == 403
        assert (await browser.get(f"{ADDRESS}/{export['id']}/remove")).status_code == 405
        assert [each["id"] for each in await exports(tenant)] == [export["id"]]

    @pytest.mark.parametrize("name", ["nosuchexport000", "x", "%00"])
    async def test_an_unknown_export_is_not_found(self, browser: Visitor, name: str) -> None:
        assert (await browser.get(f"{ADDRESS}/{name}/download")).status_code == 404
        assert (await browser.post(f"{ADDRESS}/{name}/remove")).status_code == 404

    async def test_by_the_record_store_it_is_read_and_removed_and_never_made(
        self, tenant: TenantWorld
    ) -> None:
        browser, owner = await staff(tenant, "owner")
        export = await made(tenant, browser)
        own = records_of("site_exports", export["id"])
        refused = await owner.api.post(records_of("site_exports"), json={"format": "csv"})
        assert refused.status_code == 403
        assert (await owner.api.patch(own, json={"state": "queued"})).status_code in (200, 400)
        assert (await owner.api.get(own)).json()["state"] == READY
        member = await tenant.member()
        assert (await member.api.get(own)).status_code in (403, 404)
        assert (await owner.api.delete(own)).status_code == 204
        await work(tenant.world)
        assert await stored_keys(tenant) == []

    async def test_the_log_says_who_asked_downloaded_and_removed(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        export = await made(tenant, browser, "ghost")
        await browser.get(download_of(export))
        await browser.post(f"{ADDRESS}/{export['id']}/remove")
        page = (await browser.get("/admin/activity")).text
        for sentence in (
            "Requested an export of the site",
            "Downloaded an export of the site",
            "Deleted the export",
        ):
            assert sentence in page


class TestEnd:
    async def test_after_a_week_the_file_is_gone(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        export = await made(tenant, browser)
        tenant.world.clock.advance(days=7)
        browser, _ = await staff(tenant, "owner")
        # Also before anything has swept.
        assert (await browser.get(download_of(export))).status_code == 404
        assert "Expired" in (await browser.get(ADDRESS)).text
        await tenant.world.parts.site_exports.sweep()
        await work(tenant.world)
        [export] = await exports(tenant)
        assert (export["state"], await stored_keys(tenant)) == (EXPIRED, [])
        page = (await browser.get(ADDRESS)).text
        assert actions(page) == [f"{ADDRESS}/{export['id']}/remove"]
        # Asked for again, it takes the place of the expired one.
        again = await made(tenant, browser)
        assert [each["id"] for each in await exports(tenant)] == [again["id"]]

    async def test_an_erased_site_leaves_no_file(self, tenant: TenantWorld) -> None:
        browser, owner = await staff(tenant, "owner")
        await made(tenant, browser, "html")
        await owner.api.post(DELETE, json=deletion(tenant))
        await browser.post(ADDRESS, {"format": "ghost"})
        assert len(await exports(tenant)) == 2
        tenant.world.clock.advance(days=31)
        await work(tenant.world)
        assert (await exports(tenant), await stored_keys(tenant)) == ([], [])

    async def test_one_that_no_worker_has_any_more_is_ended(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        await browser.post(ADDRESS, {"format": "csv"})
        await tenant.world.parts.site_exports.sweep()
        assert (await exports(tenant))[0]["state"] == QUEUED
        tenant.world.clock.advance(seconds=ABANDONED_AFTER.total_seconds() + 1)
        await tenant.world.parts.site_exports.sweep()
        [export] = await exports(tenant)
        assert (export["state"], export["error"]) == (FAILED, BROKEN)


class TestKilledWorker:
    """Which died after it had stored the file, before the record was ready."""

    @pytest.fixture
    async def export(self, tenant: TenantWorld, browser: Visitor) -> Record:
        # What other tests have left to do.
        await work(tenant.world)
        await browser.post(ADDRESS, {"format": "csv"})
        [export] = await exports(tenant)
        async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
            await unit.update(site_exports, export["id"], {}, stamped={"state": "running"})
        await self.store_file(tenant, export)
        return export

    async def store_file(self, tenant: TenantWorld, export: Record) -> None:
        await tenant.world.parts.objects.put(export_key(export), b"all members")
        assert await stored_keys(tenant) == [export_key(export)]

    async def run_attempt(self, tenant: TenantWorld, export: Record, number: int = 1) -> None:
        parts = tenant.world.parts
        job = await claimed(tenant, MAKE_JOB, {"id": export["id"]}, number)
        await parts.site_exports.handlers()[MAKE_JOB](job)

    async def run_other_jobs(self, tenant: TenantWorld) -> None:
        """As if the lease of the dead worker had not ended."""
        parts = tenant.world.parts
        handlers = media_handlers(parts.records, parts.objects)
        runner = JobRunner(parts.database, handlers, parts.records.clock)
        while await runner.run_due():
            pass

    async def test_its_file_is_deleted_when_the_owner_cancels(
        self, tenant: TenantWorld, browser: Visitor, export: Record
    ) -> None:
        await browser.post(f"{ADDRESS}/{export['id']}/remove")
        await self.run_other_jobs(tenant)
        assert await stored_keys(tenant) == []

    async def test_its_file_is_deleted_when_all_attempts_have_failed(
        self, tenant: TenantWorld, export: Record
    ) -> None:
        await self.run_attempt(tenant, export, MAX_ATTEMPTS + 1)
        await self.run_other_jobs(tenant)
        assert (await exports(tenant))[0]["state"] == FAILED
        assert await stored_keys(tenant) == []

    async def test_its_failure_is_told_in_the_language_of_the_account(
        self, tenant: TenantWorld, export: Record
    ) -> None:
        await self.run_attempt(tenant, export, MAX_ATTEMPTS + 1)
        reader = (await staff(tenant, "owner", language="de"))[0]
        assert "Mehrere Versuche sind gescheitert." in (await reader.get(ADDRESS)).text

    async def test_its_file_is_deleted_when_the_export_is_abandoned(
        self, tenant: TenantWorld, export: Record
    ) -> None:
        tenant.world.clock.advance(seconds=ABANDONED_AFTER.total_seconds() + 1)
        await tenant.world.parts.site_exports.sweep()
        await self.run_other_jobs(tenant)
        assert (await exports(tenant))[0]["state"] == FAILED
        assert await stored_keys(tenant) == []

    @pytest.mark.parametrize("end", ["cancelled", "failed"])
    async def test_a_file_that_it_stored_after_the_end_is_deleted_by_the_next_attempt(
        self, tenant: TenantWorld, browser: Visitor, export: Record, end: str
    ) -> None:
        if end == "cancelled":
            await browser.post(f"{ADDRESS}/{export['id']}/remove")
        else:
            await self.run_attempt(tenant, export, MAX_ATTEMPTS + 1)
        await self.run_other_jobs(tenant)
        await self.store_file(tenant, export)
        await self.run_attempt(tenant, export, 2)
        assert await stored_keys(tenant) == []


class TestFailure:
    @pytest.fixture
    async def broken(self, office: Office) -> AsyncIterator[Path]:
        """An object store that can't write: the folder of its unfinished files is a file."""
        store = office.world.parts.objects
        assert isinstance(store, LocalObjectStore)
        folder = office.world.parts.settings.data_dir / "media" / ".unfinished"
        moved = folder.rename(folder.with_name(".moved"))
        folder.write_bytes(b"")
        yield folder
        if folder.is_file():
            folder.unlink()
            moved.rename(folder)

    async def test_it_says_what_to_do_and_can_be_asked_for_again(
        self, office: Office, broken: Path
    ) -> None:
        tenant = await office.world.new_tenant("Tideline", slug="tideline")
        browser, owner = await staff(tenant, "owner", email="nell@example.com")
        export = await made(tenant, browser)
        for wait in RETRY_SECONDS[: MAX_ATTEMPTS - 1]:
            [export] = await exports(tenant)
            assert export["state"] == "running"
            office.world.clock.advance(seconds=wait)
            await work(office.world)
        [export] = await exports(tenant)
        assert (export["state"], export["error"]) == (FAILED, NO_ANSWER)
        page = await browser.get(ADDRESS)
        assert NO_ANSWER in page.text
        mail = await office.mail_to(owner.email)
        assert mail["subject"] == "The export of Tideline has failed"
        assert NO_ANSWER in text_of(mail, "html")
        broken.unlink()
        broken.with_name(".moved").rename(broken)
        again = await made(tenant, browser)
        assert again["state"] == READY
        assert [each["id"] for each in await exports(tenant)] == [again["id"]]

    async def test_a_worker_that_ends_puts_it_back_for_the_next(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        await fill(tenant)
        # What other tests have left to do.
        await work(tenant.world)
        await browser.post(ADDRESS, {"format": "html"})
        ending = job_runner(tenant.world.parts)
        ending.stop()
        await ending.run_due()
        [export] = await exports(tenant)
        assert export["state"] == "running"
        assert await stored_keys(tenant) == []
        await work(tenant.world)
        [export] = await exports(tenant)
        assert export["state"] == READY
        assert (await browser.get(download_of(export))).status_code == 200

    async def test_one_that_is_removed_while_it_is_made_leaves_no_file(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        records = tenant.world.parts.records
        async with records.unit(system(tenant.id)) as unit:
            for number in range(60):
                await unit.create(tenant.world.collection("posts"), {"title": f"Post {number}"})
        # What other tests have left to do.
        await work(tenant.world)
        await browser.post(ADDRESS, {"format": "csv"})
        [export] = await exports(tenant)
        task = asyncio.create_task(job_runner(tenant.world.parts).run_due())
        while (found := await exports(tenant)) and found[0]["state"] == QUEUED:
            await asyncio.sleep(0)
        await browser.post(f"{ADDRESS}/{export['id']}/remove")
        await task
        await work(tenant.world)
        assert (await exports(tenant), await stored_keys(tenant)) == ([], [])


@pytest.fixture(params=["sqlite", "postgresql"])
async def real_time(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    """The workers are processes with clocks of their own."""
    world = await open_world(fresh_url(request.param, tmp_path), tmp_path, RunningClock())
    yield world
    await world.parts.close()


@pytest.mark.sweep
async def test_an_export_is_whole_though_its_worker_was_killed(
    real_time: World, tmp_path: Path
) -> None:
    tenant = await real_time.new_tenant("large")
    browser, owner = await staff(tenant, "owner")
    for number in range(4):
        file = (f"film-{number}.mp4", os.urandom(2**20), "video/mp4")
        assert (await owner.api.post(records_of("media"), files={"file": file})).status_code == 200
    async with real_time.parts.records.unit(system(tenant.id)) as unit:
        for number in range(200):
            values = {"title": f"Post {number}", "content_html": "<p>Words.</p>" * 500}
            await unit.create(real_time.collection("posts"), values)
    await browser.post(ADDRESS, {"format": "html"})
    [export] = await exports(tenant)
    ahead = timedelta()
    with forked_workers(real_time) as workers:
        for _ in range(2):
            worker = await workers.start(ahead)
            async with asyncio.timeout(120):
                while (await exports(tenant))[0]["updated"] == export["updated"]:
                    await asyncio.sleep(0.002)
            [export] = await exports(tenant)
            os.kill(worker, signal.SIGKILL)
            # The next worker finds the lease of the dead one expired.
            ahead += LEASE
        last = psutil.Process(await workers.start(ahead))
        async with asyncio.timeout(120):
            while (await exports(tenant))[0]["state"] != READY:
                await asyncio.sleep(0.002)
        last.terminate()
        await asyncio.to_thread(last.wait, 20)
    [export] = await exports(tenant)
    with zipfile.ZipFile(tmp_path / "media" / export_key(export)) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
    assert sum(name.startswith("posts/") for name in names) == 200
    assert sum(name.endswith(".mp4") for name in names) == 4


class TestArchive:
    """The whole site, for another installation: only for operators."""

    async def test_an_operator_moves_a_site(self, tenant: TenantWorld, browser: Visitor) -> None:
        await fill(tenant)
        world = tenant.world
        operator = visitor(world, await world.operator(name="Olga"), tenant.host)
        assert "another installation of Masthead" in (await operator.get(ADDRESS)).text
        export = await made(tenant, operator, "masthead")
        assert (export["state"], export["error"]) == (READY, "")
        answer = await operator.get(download_of(export))
        assert answer.status_code == 200
        with tempfile.NamedTemporaryFile() as file:
            file.write(answer.content)
            file.flush()
            done = await import_site(world.parts, Path(file.name), slug="moved")
        assert (done.records, done.missing) == (export["report"]["records"], 0)
        # The staff of the site neither see it nor get it.
        shown = (await browser.get(ADDRESS)).text
        assert "another installation of Masthead" not in shown
        assert export["id"] not in shown
        assert (await browser.get(download_of(export))).status_code == 404
        refused = await browser.post(ADDRESS, {"format": "masthead"})
        assert (refused.status_code, "Choose one of the formats" in refused.text) == (422, True)
