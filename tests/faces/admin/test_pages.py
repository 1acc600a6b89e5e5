"""Pages in the admin: written, listed and published as posts are, by editors and owners."""

from __future__ import annotations

from typing import Any

import pytest
from tests.faces.admin.editor.test_calls import document, script_of
from tests.faces.admin.filled_form import filled
from tests.faces.admin.publishing import carry_out, choose
from tests.faces.admin.test_posts import HTMX, link_in, shown
from tests.faces.admin.visitor import Visitor, hidden_in, staff
from tests.world import TenantWorld, World

from masthead.base import ids
from masthead.engine.records.collection import Record
from masthead.faces.admin.lists import PER_PAGE
from masthead.service.background import job_runner


@pytest.fixture
async def browser(tenant: TenantWorld) -> Visitor:
    return (await staff(tenant, "owner"))[0]


async def new_page(tenant: TenantWorld, **values: Any) -> Record:
    return await tenant.create("pages", values)


async def stored(tenant: TenantWorld, page_id: str) -> list[Record]:
    collection = tenant.world.collection("pages")
    return await tenant.world.parts.records.find(
        collection, {"id": page_id}, tenant_id=tenant.id, limit=1
    )


class TestOnePage:
    async def test_a_page_is_a_draft_until_it_is_published(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        form = filled((await browser.get("/admin/pages/new")).text)
        assert form.keys() == {
            *("form_token", "version", "title", "slug", "content_html"),
            *("excerpt", "featured_image", "seo_title", "seo_description"),
        }
        form |= {"title": "About us", "content_html": "<p>Fog and tides.</p>"}
        answer = await browser.post("/admin/pages/new", form)
        path = answer.headers["location"]
        page = await browser.follow(answer)
        assert "Saved." in page
        assert (await tenant.guest.get("/about-us")).status_code == 404
        answer = await carry_out(browser, path, filled(page))
        assert "The page is published." in await browser.follow(answer)
        assert "<p>Fog and tides.</p>" in (await tenant.guest.get("/about-us")).text
        await choose(browser, path, what="unpublish")
        assert (await tenant.guest.get("/about-us")).status_code == 404

    async def test_a_published_page_changes_with_update_alone(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        page = await new_page(tenant, title="About", content_html="<p>old</p>", status="published")
        path = f"/admin/pages/{page['id']}"
        form = filled((await browser.get(path)).text) | {"content_html": "<p>new</p>"}
        answer = await browser.post(path, form)
        assert "Changed, not live." in await browser.follow(answer)
        assert "<p>old</p>" in (await tenant.guest.get("/about")).text
        await choose(browser, path)
        assert "<p>new</p>" in (await tenant.guest.get("/about")).text

    async def test_two_people_in_conflict_see_both_texts(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        page = await new_page(tenant, title="About", content_html="<p>old</p>")
        path = f"/admin/pages/{page['id']}"
        form = filled((await browser.get(path)).text) | {"content_html": "<p>mine</p>"}
        await tenant.update("pages", page["id"], {"content_html": "<p>theirs</p>"})
        answer = await browser.post(path, form)
        assert answer.status_code == 409
        assert "saved this page since" in answer.text
        assert "&lt;p&gt;theirs&lt;/p&gt;" in answer.text
        assert (await browser.post(path, hidden_in(answer.text))).status_code == 303
        assert (await stored(tenant, page["id"]))[0]["content_html"] == "<p>mine</p>"

    async def test_the_editors_script_saves_it(self, tenant: TenantWorld) -> None:
        script = await script_of(tenant, "editor")
        page_id = ids.new_id()
        body = {"version": "new", "title": "About", "content_json": document("One")}
        first = await script.call(f"/admin/pages/{page_id}/text", body)
        assert first.status_code == 200, first.text
        body = {**body, "version": first.json()["version"], "content_json": document("Two")}
        assert (await script.call(f"/admin/pages/{page_id}/text", body)).status_code == 200
        again = await script.call(f"/admin/pages/{page_id}/text", body)
        assert (again.status_code, again.json()["content_json"]) == (409, document("Two"))
        page = (await script.browser.get(f"/admin/pages/{page_id}")).text
        assert f'data-save-url="/admin/pages/{page_id}/text"' in page
        moved = await script.browser.get(f"/admin/pages/new?id={page_id}")
        assert moved.headers["location"] == f"/admin/pages/{page_id}"

    async def test_it_has_no_time_of_its_own(self, tenant: TenantWorld, browser: Visitor) -> None:
        page = await new_page(tenant, title="About")
        path = f"/admin/pages/{page['id']}"
        assert "publish_on" not in (await browser.get(f"{path}/publish")).text
        await choose(browser, path, what="schedule", publish_on="2040-01-01T09:00")
        assert (await stored(tenant, page["id"]))[0]["status"] == "published"

    async def test_another_address_leads_to_it_from_the_old_one(
        self, app: World, tenant: TenantWorld, browser: Visitor
    ) -> None:
        page = await new_page(tenant, title="About", status="published")
        path = f"/admin/pages/{page['id']}"
        form = filled((await browser.get(path)).text) | {"slug": "us"}
        await carry_out(browser, path, form)
        await job_runner(app.parts).run_due()
        answer = await tenant.guest.get("/about")
        assert (answer.status_code, answer.headers["location"]) == (301, "/us")
        assert (await tenant.guest.get("/us")).status_code == 200

    async def test_deleting_asks_first(self, tenant: TenantWorld, browser: Visitor) -> None:
        page = await new_page(tenant, title="Gone", status="published")
        path = f"/admin/pages/{page['id']}/delete"
        question = (await browser.get(path)).text.partition("<main")[2].partition("</main>")[0]
        assert "Keep it" in question
        assert "comments" not in question
        assert "is in the trash." in await browser.follow(await browser.post(path))
        assert (await browser.get(f"/admin/pages/{page['id']}")).status_code == 404


class TestList:
    async def test_a_first_visit_says_what_to_do(self, browser: Visitor) -> None:
        assert "Write the first page" in (await browser.get("/admin/pages")).text

    async def test_filters_orders_and_search(self, tenant: TenantWorld, browser: Visitor) -> None:
        await new_page(tenant, title="Imprint")
        await new_page(tenant, title="About", status="published")
        await new_page(tenant, title="Contact", content_html="<p>of the imprint</p>")
        for query, found in (
            ("", ["Contact", "About", "Imprint"]),
            ("status=draft", ["Contact", "Imprint"]),
            ("status=published", ["About"]),
            ("status=scheduled&tag=x&visibility=paid", ["Contact", "About", "Imprint"]),
            ("q=imprint", ["Contact", "Imprint"]),
            ("q=imprint&status=published", []),
            ("sort=title", ["About", "Contact", "Imprint"]),
            ("sort=changed", ["Imprint", "About", "Contact"]),
        ):
            assert (query, await shown(browser, f"/admin/pages?{query}")) == (query, found)
        page = (await browser.get("/admin/pages?status=draft")).text
        assert "/imprint</td>" in page
        assert "<small>3</small>" in page
        part = await browser.get("/admin/pages?q=imprint", **HTMX)
        assert part.text.strip().startswith('<div id="list">')

    async def test_it_has_pages_by_cursor(self, tenant: TenantWorld, browser: Visitor) -> None:
        for number in range(PER_PAGE + 2):
            await new_page(tenant, title=f"P{number:02}")
        page = (await browser.get("/admin/pages?sort=title")).text
        assert f"1–{PER_PAGE} of {PER_PAGE + 2}" in page
        assert await shown(browser, link_in(page, "Older")) == [f"P{PER_PAGE}", f"P{PER_PAGE + 1}"]

    async def test_many_are_published_and_deleted_at_once(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        for number in range(3):
            await new_page(tenant, title=f"P{number}")
        form = {"all": "1", "action": "publish", "confirmed": "1"}
        page = await browser.follow(await browser.post("/admin/pages/bulk", form))
        assert "3 pages are published." in page
        form = {"all": "1", "action": "delete"}
        question = (await browser.post("/admin/pages/bulk", form)).text
        assert "Delete 3 pages" in question
        await browser.follow(await browser.post("/admin/pages/bulk", hidden_in(question) | form))
        assert await shown(browser, "/admin/pages") == []
        refused = await browser.post("/admin/pages/bulk", {"all": "1", "action": "tag"})
        assert refused.status_code == 400


class TestRoles:
    async def test_an_author_neither_sees_nor_changes_pages(self, tenant: TenantWorld) -> None:
        browser, _ = await staff(tenant, "author")
        page = await new_page(tenant, title="About", status="published")
        assert "/admin/pages" not in (await browser.get("/admin")).text
        path = f"/admin/pages/{page['id']}"
        addresses = (
            "/admin/pages",
            "/admin/pages?q=a",
            "/admin/pages/new",
            path,
            f"{path}/publish",
        )
        for address in addresses:
            assert (await browser.get(address)).status_code == 403
        form = {"title": "x", "version": f"{page['version']}.0", "what": "unpublish"}
        for address in ("/admin/pages/new", path, f"{path}/publish", f"{path}/delete"):
            assert (await browser.post(address, form)).status_code == 403
        bulk = {f"select.{page['id']}": "on", "action": "delete", "confirmed": "1"}
        assert (await browser.post("/admin/pages/bulk", bulk)).status_code == 403
        script = await script_of(tenant, "author")
        for version in ("new", form["version"]):
            body = {"version": version, "title": "x", "content_json": document("x")}
            answer = await script.call(f"{path}/text", body)
            assert answer.status_code == 403
        assert (await stored(tenant, page["id"]))[0]["title"] == "About"
        assert (await stored(tenant, page["id"]))[0]["status"] == "published"

    async def test_an_editor_writes_pages(self, tenant: TenantWorld) -> None:
        browser, _ = await staff(tenant, "editor")
        assert "/admin/pages" in (await browser.get("/admin")).text
        answer = await carry_out(browser, "/admin/pages/new", {"title": "About"})
        assert answer.status_code == 303
        assert (await tenant.guest.get("/about")).status_code == 200

    async def test_another_sites_pages_are_not_there(
        self, other_tenant: TenantWorld, browser: Visitor
    ) -> None:
        foreign = await new_page(other_tenant, title="Foreign")
        path = f"/admin/pages/{foreign['id']}"
        assert (await browser.get(path)).status_code == 404
        form = {"title": "x", "version": "1.0"}
        for address in (path, f"{path}/delete"):
            assert (await browser.post(address, form)).status_code == 404
        assert (await stored(other_tenant, foreign["id"]))[0]["title"] == "Foreign"
