"""Imports in the admin: upload, preview, run, report, undo; who may, and what is refused."""

from __future__ import annotations

import asyncio
import io
import json
import re
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from tests.faces.admin.visitor import OWN, Visitor, staff, visitor
from tests.faces.importers.platforms.wordpress.wxr import item, wxr
from tests.faces.importers.write.exports import new_run, rows
from tests.faces.importers.write.images.conftest import HASTY, names, old_site
from tests.features.media.pictures import picture
from tests.outside.outbound.conftest import LOOPBACK
from tests.outside.outbound.names import NameServer
from tests.tls import Receiver, answer
from tests.world import MovableClock, TenantWorld, open_world

from masthead.base.caller import system
from masthead.base.languages.retelling import _retold
from masthead.engine.jobs.runner import Job, JobRunner
from masthead.engine.records.collection import Record
from masthead.faces.admin.pages.imports.results import SHOWN_NOTES
from masthead.faces.importers import jobs as import_jobs
from masthead.faces.importers.collection import DONE, IMPORT, import_runs
from masthead.faces.importers.report import MAX_STORED_NOTES, Note, Report
from masthead.faces.importers.tasks.queue import FILE_STAYS, PREVIEW_JOB, RUN_JOB, enqueue_task
from masthead.faces.importers.tasks.work import ImportJob
from masthead.faces.importers.write.batch_sizes import DEFAULT_BATCH
from masthead.outside.outbound.client import OutboundClient
from masthead.service.background import job_handlers
from masthead.service.services import Services

__all__ = ["names", "old_site"]

ADDRESS = "/admin/tools/import"
NEW = f"{ADDRESS}/new"


@pytest.fixture
async def browser(tenant: TenantWorld) -> Visitor:
    return (await staff(tenant, "owner", name="Nell Ashby"))[0]


def ghost(number: int = 3, **values: Any) -> bytes:
    posts = [
        {
            "id": f"{each:024x}",
            "title": f"Fog signal {each}",
            "slug": f"fog-{each}",
            "html": f"<p>Every {each} minutes.</p>",
            "type": "post",
            "status": "published",
            "visibility": "public",
            "published_at": "2020-01-02T03:04:05.000Z",
            **values,
        }
        for each in range(number)
    ]
    members = [{"id": "m1", "email": "ada@example.com", "status": "paid"}]
    data = {"posts": posts, "members": members}
    return json.dumps({"db": [{"meta": {"version": "5.0.0"}, "data": data}]}).encode()


async def sent(
    browser: Visitor, content: bytes, name: str = "export.json", **form: str
) -> httpx.Response:
    """The form, as a browser without script sends it."""
    filled = {"form_token": await browser.token(), "platform": "", "site_url": "", **form}
    files = {"file": (name, content)}
    return await browser.api.post(NEW, data=filled, files=files, headers=OWN)


async def uploaded(browser: Visitor, content: bytes, name: str = "export.json", **form: str) -> str:
    """The address of the import."""
    answer = await sent(browser, content, name, **form)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


async def work(tenant: TenantWorld) -> None:
    """All jobs that are due, as a worker does them."""
    await work_with(tenant.world.parts)


async def stopped_work(tenant: TenantWorld) -> None:
    """As far as a worker comes that ends."""
    parts = tenant.world.parts
    runner = JobRunner(parts.database, import_jobs.handlers(parts), parts.records.clock)
    runner.stop()
    await runner.run_due()


async def work_with(parts: Services) -> None:
    async def run(job: Job) -> None:
        """Does not wait between two attempts at a picture."""
        await ImportJob(parts, job, retry_delays=HASTY).run()

    handlers = {**job_handlers(parts), RUN_JOB: run, PREVIEW_JOB: run}
    runner = JobRunner(parts.database, handlers, parts.records.clock)
    while await runner.run_due():
        pass


async def previewed(tenant: TenantWorld, browser: Visitor, *given: Any, **form: str) -> str:
    url = await uploaded(browser, *given, **form)
    await work(tenant)
    return url


async def done(tenant: TenantWorld, browser: Visitor, *given: Any, **form: str) -> str:
    """An import that has run."""
    url = await previewed(tenant, browser, *given, **form)
    assert (await browser.post(f"{url}/run")).status_code == 303
    await work(tenant)
    return url


async def run_of(tenant: TenantWorld, url: str) -> Record:
    records, run_id = tenant.world.parts.records, url.rpartition("/")[2]
    [found] = await records.find(import_runs, {"id": run_id}, tenant_id=tenant.id)
    return found


async def stored_files(tenant: TenantWorld) -> list[str]:
    """Returns the names of the files of imports, without their folders."""
    objects = tenant.world.parts.objects
    keys = [key async for key in objects.list_keys(f"{tenant.id}/import_runs")]
    return sorted(key.rpartition("/")[2] for key in keys)


def table_in(page: str) -> dict[str, tuple[str, ...]]:
    """The rows of the table: new, changed, left out, why."""
    found = re.findall(r'<tr><th scope="row">([^<]*)</th>(.*?)</tr>', page)
    return {label: tuple(re.findall(r"<td[^>]*>([^<]*)</td>", cells)) for label, cells in found}


class TestList:
    async def test_an_import_from_a_shell_is_listed_with_why_it_failed(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        log = await new_run(tenant)
        await log.fail("The file is <cut> off.")
        page = (await browser.get(ADDRESS)).text
        assert "export.json" in page
        assert "The file is &lt;cut&gt; off." in page
        assert "Failed" in page
        one = await browser.get(f"{ADDRESS}/{log.run_id}")
        assert "The file is &lt;cut&gt; off." in one.text

    async def test_a_failed_import_leads_there_from_home(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        log = await new_run(tenant)
        await log.fail("The file is cut off.")
        assert f'href="{ADDRESS}"' in (await browser.get("/admin")).text.split("<main")[1]


class TestRoles:
    async def test_only_owners_find_it(self, tenant: TenantWorld, browser: Visitor) -> None:
        assert ADDRESS in (await browser.get("/admin/more")).text
        for role in ("editor", "author"):
            other, _ = await staff(tenant, role)
            assert (await other.get(ADDRESS)).status_code == 403
            assert ADDRESS not in (await other.get("/admin/more")).text

    async def test_editors_authors_and_other_sites_can_do_nothing_with_it(
        self, tenant: TenantWorld, other_tenant: TenantWorld, browser: Visitor
    ) -> None:
        url = await previewed(tenant, browser, ghost())
        before = await run_of(tenant, url)
        strangers = [((await staff(tenant, role))[0], 403) for role in ("editor", "author")]
        strangers.append(((await staff(other_tenant, "owner"))[0], 404))
        for stranger, status in strangers:
            for page in ("", "/undo", "/samples/0", "/redirects.csv", "/import-errors.json"):
                assert (await stranger.get(url + page)).status_code == status, page
            for action in ("run", "preview", "discard", "pictures", "undo"):
                assert (await stranger.post(f"{url}/{action}")).status_code == status, action
        assert await run_of(tenant, url) == before

    async def test_a_file_of_staff_without_the_right_is_not_stored(
        self, tenant: TenantWorld
    ) -> None:
        for role in ("editor", "author"):
            other, account = await staff(tenant, role)
            assert (await sent(other, ghost())).status_code == 403
            headers = {
                **OWN,
                "x-form-token": await other.token(),
                "x-page-owner": f"{tenant.id}/{account.id}",
                "accept": "application/json",
            }
            call = await other.api.post(
                f"{ADDRESS}/upload", files={"file": ("export.json", ghost())}, headers=headers
            )
            assert call.status_code == 403
        assert await rows(tenant, "import_runs") == []
        assert await stored_files(tenant) == []

    async def test_a_form_of_another_site_is_refused(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        form = {"form_token": await browser.token()}
        forged = {"sec-fetch-site": "same-site"}
        file = {"file": ("export.json", ghost())}
        answer = await browser.api.post(NEW, data=form, files=file, headers=forged)
        assert answer.status_code == 403
        bad = await browser.api.post(NEW, data={"form_token": "x"}, files=file, headers=OWN)
        assert bad.status_code == 403
        assert await rows(tenant, "import_runs") == []


class TestUpload:
    async def test_a_script_is_told_where_the_import_is(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        owner = await tenant.owner()
        browser = visitor(tenant.world, owner, tenant.host)
        headers = {
            **OWN,
            "x-form-token": await browser.token(),
            "x-page-owner": f"{tenant.id}/{owner.id}",
        }
        upload = f"{ADDRESS}/upload"
        made = await browser.api.post(
            upload, files={"file": ("export.json", ghost())}, headers=headers
        )
        assert made.status_code == 200, made.text
        assert (await browser.get(made.json()["url"])).status_code == 200
        refused = await browser.api.post(
            upload, files={"file": ("cat.png", picture("PNG"))}, headers=headers
        )
        assert refused.status_code == 422
        assert "This is not an export" in refused.json()["problems"]["file"]

    @pytest.mark.parametrize(
        ("name", "content", "sentence"),
        [
            ("cat.png", picture("PNG"), "This is not an export of WordPress, Ghost or Substack."),
            ("page.html", b"<html><p>Hello</p>", "This is not an export"),
            ("people.csv", b"email,name\na@example.com,A\n", "Choose the platform."),
            ("export.json", b"", "The file is empty."),
            ("words.txt", b"Just words.\n", "This is not an export"),
        ],
    )
    async def test_a_file_that_is_no_export_is_refused_with_what_to_do(
        self, tenant: TenantWorld, browser: Visitor, name: str, content: bytes, sentence: str
    ) -> None:
        answer = await sent(browser, content, name, include_comments="on")
        assert answer.status_code == 422
        assert sentence in answer.text
        assert 'name="include_comments" checked' in answer.text
        assert await rows(tenant, "import_runs") == []
        assert await stored_files(tenant) == []

    @pytest.mark.parametrize(
        ("name", "content", "platform"),
        [
            ("a.xml", wxr(item()).encode(), "wordpress"),
            ("b.json", ghost(1), "ghost"),
            ("c.csv", b"email,active_subscription\na@example.com,true\n", "substack"),
            ("d.csv", b"email;subscribed_to_emails;labels\na@example.com;true;\n", "ghost"),
        ],
    )
    async def test_the_file_says_where_it_comes_from(
        self, tenant: TenantWorld, browser: Visitor, name: str, content: bytes, platform: str
    ) -> None:
        run = await run_of(tenant, await previewed(tenant, browser, content, name))
        assert (run["platform"], run["state"], run["task"]) == (platform, "done", "preview")

    async def test_an_archive_says_it_by_its_names(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        for names_, platform in (
            (("site/blog.xml",), "wordpress"),
            (("posts.csv", "posts/1.x.html"), "substack"),
            (("data/ghost.json", "data/content/images/a.png"), "ghost"),
        ):
            content = zipped(dict.fromkeys(names_, b""))
            url = await uploaded(browser, content, "export.zip")
            assert (await run_of(tenant, url))["platform"] == platform

    async def test_an_archive_that_attacks_is_refused_at_once(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        for content, sentence in (
            (zipped({"../../etc/passwd.json": b"{}"}), "leads out of it"),
            (zipped({"bomb.json": b" " * 40_000_000}), "unpacks to far more"),
            (zipped({"a.json": b"{}"})[:-8], "damaged or cut off"),
        ):
            answer = await sent(browser, content, "export.zip")
            assert answer.status_code == 422
            assert sentence in answer.text
        assert await stored_files(tenant) == []

    async def test_an_attack_inside_passes_the_same_guards(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        hostile = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
        hostile += wxr(item("&a;")).encode().partition(b"?>")[2]
        url = await previewed(tenant, browser, hostile, "export.xml")
        page = (await browser.get(url)).text
        assert "DOCTYPE" in page
        assert "Upload another file" in page
        assert "root:" not in page
        # It is no news for home: nothing of the site has failed.
        assert ADDRESS not in (await browser.get("/admin")).text.split("<main")[1]
        assert await stored_files(tenant) == []

    async def test_an_address_that_is_none_is_said_beside_its_field(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        answer = await sent(browser, ghost(), site_url="old.example")
        assert answer.status_code == 422
        assert "Begin with http://" in answer.text
        assert 'value="old.example"' in answer.text

    async def test_a_read_only_site_takes_none(self, tenant: TenantWorld, browser: Visitor) -> None:
        await tenant.settings(read_only_mode=True)
        answer = await sent(browser, ghost())
        assert answer.status_code == 403
        assert await stored_files(tenant) == []

    async def test_a_file_that_is_too_large_is_refused(
        self, database_url: str, tmp_path: Path
    ) -> None:
        world = await open_world(database_url, tmp_path, MovableClock(), MASTHEAD_MAX_IMPORT="2MiB")
        tenant = await world.new_tenant()
        browser, _ = await staff(tenant, "owner")
        assert "up to 2 MB" in (await browser.get(NEW)).text
        answer = await sent(browser, b" " * 4_000_000)
        assert answer.status_code == 413
        assert "larger than the 2 MB allowed here" in answer.text
        assert await stored_files(tenant) == []
        await world.parts.close()


class TestPreview:
    async def test_it_says_how_many_of_what_and_writes_nothing(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        url = await uploaded(browser, ghost(3))
        waiting = (await browser.get(url)).text
        assert "Waiting for its turn." in waiting
        assert f'hx-get="{url}"' in waiting
        await work(tenant)
        page = (await browser.get(url)).text
        assert "hx-get" not in page.split("<main")[1]
        table = table_in(page)
        assert table["Posts"][:3] == ("3", "0", "0")
        assert table["Members"][:3] == ("1", "0", "0")
        # Of the posts, and of the feed.
        assert table["Redirects"][0] == "5"
        assert "3 of posts, 1 of feeds" in page
        assert "Run import" in page
        assert "Discard" in page
        for table_name in ("posts", "blog_members", "redirects", "import_items"):
            assert await rows(tenant, table_name) == []

    async def test_it_does_not_wait_for_an_import_of_another_site(
        self, tenant: TenantWorld, other_tenant: TenantWorld, browser: Visitor
    ) -> None:
        is_running, is_previewed, is_over = asyncio.Event(), asyncio.Event(), asyncio.Event()
        parts = tenant.world.parts
        handlers = dict(import_jobs.handlers(parts))
        preview = handlers[PREVIEW_JOB]

        async def long_import(_job: Job) -> None:
            is_running.set()
            await is_over.wait()

        async def watched_preview(job: Job) -> None:
            await preview(job)
            # Tests before may have left others in the queue.
            if job.tenant_id == tenant.id:
                is_previewed.set()

        handlers |= {RUN_JOB: long_import, PREVIEW_JOB: watched_preview}
        async with parts.records.unit(system(other_tenant.id)) as unit:
            await enqueue_task(unit, "long", IMPORT)
        runner = JobRunner(
            parts.database, handlers, parts.records.clock, concurrency=import_jobs.CONCURRENCY
        )
        running = asyncio.create_task(runner.run_forever())
        async with asyncio.timeout(120):
            await is_running.wait()
            url = await uploaded(browser, ghost(3))
            await is_previewed.wait()
        assert (await run_of(tenant, url))["state"] == DONE
        is_over.set()
        runner.stop()
        await running

    async def test_what_is_left_out_is_named_with_its_reason_and_can_be_chosen(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        export = wxr(
            item(post_id=1),
            item(post_id=2, post_type="page", title="Imprint"),
            item(post_id=3, status="future"),
        )
        url = await previewed(tenant, browser, export.encode(), "export.xml", part="chosen")
        page = (await browser.get(url)).text
        assert table_in(page)["Pages"] == ("0", "0", "1", "1 not chosen")
        assert table_in(page)["Posts"] == ("1", "0", "1", "1 scheduled")
        assert "<b>Imprint</b>" in page
        assert "--include" not in page

        again = await browser.post(f"{url}/preview", {"include_pages": "on", "site_url": ""})
        assert again.status_code == 303
        await work(tenant)
        page = (await browser.get(url)).text
        assert table_in(page)["Pages"][:3] == ("1", "0", "0")
        bad = await browser.post(f"{url}/preview", {"site_url": "nowhere"})
        assert bad.status_code == 422
        assert "Begin with http://" in bad.text

    async def test_everything_is_everything(self, tenant: TenantWorld, browser: Visitor) -> None:
        shown = (await browser.get(NEW)).text
        assert 'value="all" checked>Everything' in shown
        comment = "<wp:comment><wp:comment_id>1</wp:comment_id>"
        comment += "<wp:comment_content>Hm</wp:comment_content></wp:comment>"
        author = (
            "<wp:author><wp:author_login>ann</wp:author_login>"
            "<wp:author_email>ann@old.example.com</wp:author_email></wp:author>"
        )
        whole = wxr(
            item(post_id=1, raw=comment),
            item(post_id=2, post_type="page"),
            item(post_id=3, post_type="product"),
            item(post_id=4, status="private"),
            item(post_id=5, status="future", post_date_gmt="2099-01-01 10:00:00"),
            item(post_id=6, status="trash"),
        ).replace("<item>", f"{author}<item>", 1)
        url = await done(tenant, browser, whole.encode(), "export.xml", part="all")
        table = table_in((await browser.get(url)).text)
        assert table["Posts"] == ("3", "0", "1", "1 trashed")
        assert [table[name][0] for name in ("Pages", "Products", "Comments", "Authors")] == [
            *("1", "1", "1", "1"),
        ]
        assert {
            (row["status"], row["scheduled_for"][:4]) for row in await rows(tenant, "posts")
        } == {
            *(("published", ""), ("draft", ""), ("draft", "2099")),
        }

    async def test_ten_posts_are_shown_as_the_site_will_show_them(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        html = "<p>Fog</p><script>alert(1)</script><img src=x onerror=alert(1)>"
        url = await previewed(tenant, browser, ghost(30, html=html))
        page = (await browser.get(url)).text
        assert len(re.findall(r"\?sample=\d+#samples", page)) == 10
        assert "10 of them, as they will look" in page
        frame = await browser.get(f"{url}/samples/3")
        assert frame.status_code == 200
        assert "<p>Fog</p>" in frame.text
        assert "alert(1)" not in frame.text
        assert "frame-ancestors 'self'" in frame.headers["content-security-policy"]
        for missing in ("10", "99", "x", "-1", "1000000"):
            assert (await browser.get(f"{url}/samples/{missing}")).status_code == 404

    async def test_discarding_it_deletes_the_file(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        url = await previewed(tenant, browser, ghost())
        assert await stored_files(tenant) == ["export.json", "samples.json"]
        page = await browser.follow(await browser.post(f"{url}/discard"))
        assert "Nothing was imported." in page
        await work(tenant)
        assert await stored_files(tenant) == []
        assert await rows(tenant, "import_runs") == []

    async def test_one_that_nobody_comes_back_to_is_deleted(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        await previewed(tenant, browser, ghost())
        tenant.world.clock.advance(days=6)
        await work(tenant)
        assert await stored_files(tenant) == ["export.json", "samples.json"]
        tenant.world.clock.advance(days=2)
        await work(tenant)
        assert await stored_files(tenant) == []
        assert await rows(tenant, "import_runs") == []


class TestRun:
    async def test_it_is_imported_reported_and_logged(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        url = await done(tenant, browser, ghost(3))
        page = (await browser.get(url)).text
        assert table_in(page)["Posts"][:3] == ("3", "0", "0")
        assert len(await rows(tenant, "posts")) == 3
        assert len(await rows(tenant, "blog_members")) == 1
        assert await stored_files(tenant) == ["redirects.csv"]
        redirects = await browser.get(f"{url}/redirects.csv")
        assert redirects.text.splitlines()[:2] == [
            "source,destination,status_code",
            "/fog-0/,/posts/fog-0,301",
        ]
        assert "attachment" in redirects.headers["content-disposition"]
        assert (await browser.get(f"{url}/import-errors.json")).status_code == 404
        activity = (await browser.get("/admin/activity")).text
        assert "Created the import" in activity
        assert "Started the import" in activity

    async def test_only_the_reasons_that_are_shown_are_looked_up(self, tenant: TenantWorld) -> None:
        browser, _ = await staff(tenant, "owner", language="de")
        url = await previewed(tenant, browser, ghost(1))
        run_id = url.rpartition("/")[2]
        notes = [
            Note(
                "post",
                "",
                f"Post {each}",
                "",
                f"The old address /{tenant.id}{each} can't be redirected.",
            )
            for each in range(MAX_STORED_NOTES)
        ]
        report = msgspec.to_builtins(Report("ghost", errors=notes))
        records = tenant.world.parts.records
        stamped = {"report": report}
        await records.update(system(tenant.id), import_runs, run_id, {}, stamped=stamped)
        before = _retold.cache_info().misses
        page = (await browser.get(url)).text
        assert page.count("lässt sich nicht weiterleiten.") == SHOWN_NOTES
        assert _retold.cache_info().misses - before == SHOWN_NOTES
        assert ">500und mehr<" in page

    async def test_a_form_that_is_sent_twice_starts_one_run(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        url = await previewed(tenant, browser, ghost(2))
        await browser.post(f"{url}/run")
        again = await browser.post(f"{url}/run")
        assert "already running" in await browser.follow(again)
        await work(tenant)
        assert len(await rows(tenant, "posts")) == 2
        late = await browser.post(f"{url}/run")
        assert "no longer possible" in await browser.follow(late)

    async def test_a_worker_that_stops_leaves_the_rest_to_the_next(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        number = DEFAULT_BATCH * 2 + 1
        url = await previewed(tenant, browser, ghost(number))
        await browser.post(f"{url}/run")
        await stopped_work(tenant)
        page = (await browser.get(url)).text
        assert f"{DEFAULT_BATCH} of {number + 1}" in page
        assert "You can close this page" in page
        await work(tenant)
        assert table_in((await browser.get(url)).text)["Posts"][0] == str(number)
        assert len(await rows(tenant, "posts")) == number

    async def test_the_second_of_two_waits_and_brings_nothing_twice(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        urls = [await uploaded(browser, ghost(3)) for _ in range(2)]
        await work(tenant)
        for url in urls:
            answer = await browser.post(f"{url}/run")
        assert "Another import of this site is running." in await browser.follow(answer)
        await work(tenant)
        assert (await browser.post(f"{urls[1]}/run")).status_code == 303
        await work(tenant)
        assert len(await rows(tenant, "posts")) == 3
        tables = [table_in((await browser.get(url)).text)["Posts"] for url in urls]
        assert sorted(each[0] for each in tables) == ["0", "3"]
        assert any("3 already here" in each for each in tables[0] + tables[1])

    async def test_comments_that_are_off_are_said_without_a_flag(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        await tenant.settings(comments_enabled=False)
        comment = "<wp:comment><wp:comment_id>1</wp:comment_id></wp:comment>"
        export = wxr(item(raw=comment)).encode()
        url = await previewed(tenant, browser, export, "export.xml")
        page = (await browser.get(url)).text
        assert table_in(page)["Comments"] == ("0", "0", "1", "1 comments are disabled on this site")
        assert "--include" not in page


class TestPictures:
    @pytest.fixture
    async def connected(self, tenant: TenantWorld, names: NameServer) -> AsyncIterator[Services]:
        """Services that may fetch from loopback."""
        client = OutboundClient(allow=LOOPBACK, lookup=names.lookup)
        yield msgspec.structs.replace(tenant.world.parts, outbound=client)
        await client.close()

    async def test_those_that_failed_are_tried_again(
        self, tenant: TenantWorld, browser: Visitor, connected: Services, old_site: Receiver
    ) -> None:
        address = old_site.url("/a.png")
        export = ghost(2, html=f'<p>Fog</p><img src="{address}">')
        url = await uploaded(browser, export)
        await work_with(connected)
        await browser.post(f"{url}/run")
        await work_with(connected)
        page = (await browser.get(url)).text
        assert table_in(page)["Pictures"][2] == "1"
        assert "Try the picture again" in page
        errors = (await browser.get(f"{url}/import-errors.json")).json()
        assert {each["url"] for each in errors} == {address}
        assert "export.json" in await stored_files(tenant)

        old_site.at("/a.png", answer(200, picture("PNG")))
        assert (await browser.post(f"{url}/pictures")).status_code == 303
        await work_with(connected)
        page = (await browser.get(url)).text
        assert table_in(page)["Pictures"][:3] == ("1", "0", "0")
        assert "Try the picture again" not in page
        assert all(address not in row["content_html"] for row in await rows(tenant, "posts"))
        assert await stored_files(tenant) == ["redirects.csv"]
        assert "Retried the pictures of the import" in (await browser.get("/admin/activity")).text

        await browser.post(f"{url}/undo")
        await work_with(connected)
        assert await rows(tenant, "media") == []

    async def test_the_file_waits_a_week_for_that(
        self, tenant: TenantWorld, browser: Visitor, connected: Services, old_site: Receiver
    ) -> None:
        export = ghost(1, html=f'<img src="{old_site.url("/a.png")}">')
        url = await uploaded(browser, export)
        await work_with(connected)
        await browser.post(f"{url}/run")
        await work_with(connected)
        tenant.world.clock.advance(days=FILE_STAYS.days + 1)
        await work_with(connected)
        assert "export.json" not in await stored_files(tenant)
        # A sign-in lasts a day.
        browser, _ = await staff(tenant, "owner")
        assert "again" not in (await browser.get(url)).text.split("<main")[1].split("</main")[0]
        late = await browser.post(f"{url}/pictures")
        assert "no longer possible" in await browser.follow(late)


class TestUndo:
    async def test_after_a_question_all_of_it_goes(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        await tenant.published(title="Written here")
        url = await done(tenant, browser, ghost(3))
        question = (await browser.get(f"{url}/undo")).text
        # Three posts, their redirects, those of the feed and of later pages, and a member.
        assert "This deletes the 9 records that the import created" in question
        assert (await browser.post(f"{url}/undo")).status_code == 303
        await work(tenant)
        page = (await browser.get(url)).text
        assert "The import is undone." in page
        assert "Removed: 3 posts, 1 member and 5 redirects." in page
        assert [row["title"] for row in await rows(tenant, "posts")] == ["Written here"]
        assert await rows(tenant, "blog_members") == []
        assert "Undone" in (await browser.get(ADDRESS)).text
        assert "Undid the import" in (await browser.get("/admin/activity")).text
        assert (await browser.get(f"{url}/undo")).status_code == 303
        assert "no longer possible" in await browser.follow(await browser.post(f"{url}/undo"))

    async def test_a_worker_that_stops_leaves_the_rest_to_the_next(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        url = await done(tenant, browser, ghost(70))
        await browser.post(f"{url}/undo")
        await stopped_work(tenant)
        assert len(await rows(tenant, "posts")) == 20
        page = (await browser.get(url)).text
        assert "50 of 143" in page
        await work(tenant)
        assert await rows(tenant, "posts") == []
        assert "The import is undone." in (await browser.get(url)).text

    async def test_what_was_edited_here_stays_and_is_counted(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        url = await done(tenant, browser, ghost(2))
        edited = (await rows(tenant, "posts"))[0]
        await tenant.update("posts", edited["id"], {"title": "Mine now"})
        await browser.post(f"{url}/undo")
        await work(tenant)
        assert [row["title"] for row in await rows(tenant, "posts")] == ["Mine now"]
        page = (await browser.get(url)).text
        assert "1 edited here since the import" in page

    async def test_an_import_of_a_version_before_offers_none(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        log = await new_run(tenant)
        await log.finish(Report("ghost"))
        page = (await browser.get(f"{ADDRESS}/{log.run_id}")).text
        assert "Undo" not in page.split("<main")[1]


def zipped(entries: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in entries.items():
            archive.writestr(name, body)
    return content.getvalue()
