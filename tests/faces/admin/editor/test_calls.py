"""The requests that the editor's script makes, and their answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from html import unescape
from typing import Any

import httpx
import pytest
from tests.faces.admin.filled_form import filled
from tests.faces.admin.visitor import BARE, OWN, Visitor, staff, token_in, visitor
from tests.world import TenantWorld, World

from masthead.base import clock, ids
from masthead.engine.records.collection import Record
from masthead.service.background import job_runner


def document(text: str) -> dict[str, Any]:
    return {
        "type": "doc",
        "content": [{"type": "paragraph", "content": [{"type": "text", "text": text}]}],
    }


@dataclass
class Script:
    """The editor of one person, without the browser."""

    browser: Visitor
    tenant: TenantWorld

    owner: str

    async def call(self, path: str, body: dict[str, Any], **headers: str) -> httpx.Response:
        sent = {**OWN, **self.page(), "x-form-token": await self.token(), **headers}
        return await self.browser.api.post(path, json=body, headers=sent)

    def page(self) -> dict[str, str]:
        return {"accept": "application/json", "x-page-owner": self.owner}

    async def token(self) -> str:
        answer = await self.browser.api.get("/admin/form-token", headers=self.page())
        return str(answer.json().get("form_token", ""))

    async def save(self, post_id: str, version: str, text: str, **more: Any) -> httpx.Response:
        body = {"version": version, "title": "Tides", "content_json": document(text), **more}
        return await self.call(f"/admin/posts/{post_id}/text", body)

    async def stored(self, post_id: str) -> Record:
        records = self.tenant.world.parts.records
        collection = self.tenant.world.collection("posts")
        [post] = await records.find(collection, {"id": post_id}, tenant_id=self.tenant.id)
        return post


async def script_of(tenant: TenantWorld, role: str, **values: Any) -> Script:
    browser, account = await staff(tenant, role, **values)
    return Script(browser, tenant, f"{tenant.id}/{account.id}")


def owner_in(page: str) -> str:
    return page.partition('data-owner="')[2].partition('"')[0]


@pytest.mark.both_databases
async def test_a_conflict_names_the_person_who_has_no_name(tenant: TenantWorld) -> None:
    owner = await script_of(tenant, "owner", email="ana@example.com")
    editor = await script_of(tenant, "editor")
    post_id = ids.new_id()
    saved = await owner.save(post_id, "new", "One")
    version = saved.json()["version"]
    assert (await owner.save(post_id, version, "Two")).status_code == 200
    told = (await editor.save(post_id, version, "Three")).json()
    assert told["by"] == "ana@example.com (owner)"


@pytest.fixture
async def script(tenant: TenantWorld) -> Script:
    return await script_of(tenant, "owner", name="Nell Ashby")


async def test_a_new_post_is_made_by_its_first_save_and_only_once(script: Script) -> None:
    post_id = ids.new_id()
    first = await script.save(post_id, "new", "One", slug="", tags="coast, fog")
    assert first.status_code == 200
    post = await script.stored(post_id)
    assert (post["title"], post["slug"], post["status"]) == ("Tides", "tides", "draft")
    assert post["content_html"] == "<p>One</p>"
    assert post["tags"] == ["coast", "fog"]
    # The answer was lost, and the editor sends it again.
    again = await script.save(post_id, "new", "One and two")
    assert again.status_code == 409
    told = again.json()
    assert (told["version"], told["title"], told["by"]) == (
        first.json()["version"],
        "Tides",
        "Nell Ashby",
    )
    assert told["content_json"] == document("One")
    second = await script.save(post_id, told["version"], "One and two", title="High tide", slug="")
    assert second.status_code == 200
    post = await script.stored(post_id)
    # The slug of a draft follows its title until one is chosen.
    assert (post["slug"], post["content_html"]) == ("high-tide", "<p>One and two</p>")


async def test_an_answer_names_the_address_that_was_made(script: Script) -> None:
    post_id = ids.new_id()
    first = (await script.save(post_id, "new", "One", slug="")).json()
    assert first["made_slug"] == "tides"
    second = (await script.save(post_id, first["version"], "One", slug="mist")).json()
    assert second["made_slug"] == ""


async def test_a_post_that_published_itself_meanwhile_says_so(
    app: World, tenant: TenantWorld, script: Script
) -> None:
    at = clock.to_text(app.clock() + timedelta(hours=1))
    post = await tenant.post(title="Tides", scheduled_for=at)
    app.clock.advance(hours=2)
    await job_runner(app.parts).run_due()
    told = await script.save(post["id"], f"{post['version']}.0", "Mine")
    assert (told.status_code, told.json()["is_published"]) == (409, True)
    app.clock.advance(seconds=1)
    await tenant.update("posts", post["id"], {"excerpt": "Another change"})
    told = await script.save(post["id"], f"{post['version']}.0", "Mine")
    assert (told.status_code, told.json()["is_published"]) == (409, False)


async def test_a_second_tab_is_not_called_a_publication(
    tenant: TenantWorld, script: Script
) -> None:
    """A post that was published and never changed since: both tabs save into its working copy."""
    post = await tenant.post(title="Tides", status="published")
    seen = f"{post['version']}.0"
    assert (await script.save(post["id"], seen, "One")).status_code == 200
    told = (await script.save(post["id"], seen, "Other")).json()
    assert (told["is_published"], told["is_own"]) == (False, True)


async def test_a_draft_without_a_title_is_saved(script: Script) -> None:
    post_id = ids.new_id()
    assert (await script.save(post_id, "new", "One", title=" ")).status_code == 200
    assert (await script.stored(post_id))["title"] == "Untitled"


async def test_a_save_on_an_older_version_changes_nothing(script: Script) -> None:
    post_id = ids.new_id()
    version = (await script.save(post_id, "new", "One")).json()["version"]
    assert (await script.save(post_id, version, "Two")).status_code == 200
    assert (await script.save(post_id, version, "Three")).status_code == 409
    assert (await script.stored(post_id))["content_html"] == "<p>Two</p>"


async def test_a_conflict_holds_the_stored_settings_and_echoes_those_that_mean_the_same(
    script: Script,
) -> None:
    post_id = ids.new_id()
    author = (await staff(script.tenant, "author", name="Tobias Wren"))[1].id
    sent = {
        "slug": "",
        "visibility": "public",
        "tags": "coast,fog ",
        "excerpt": "Low",
        "has_authors": "1",
        f"authors.{author}": "on",
    }
    version = (await script.save(post_id, "new", "One", **sent)).json()["version"]
    # The answer was lost: nothing differs from what was sent.
    again = await script.save(post_id, "new", "One", **sent)
    assert (again.status_code, again.json()["fields"]) == (409, sent)
    # The post is published by its schedule, and the author chooses other settings meanwhile.
    await script.tenant.update("posts", post_id, {"status": "published"})
    changed = {**sent, "visibility": "paid", "seo_title": "Tides of today"}
    del changed[f"authors.{author}"]
    told = (await script.save(post_id, version, "One", **changed)).json()
    assert told["content_json"] == document("One")
    assert told["fields"] == {**sent, "seo_title": ""}
    assert (await script.stored(post_id))["visibility"] == "public"


async def test_a_published_post_stays_as_it_is_on_the_site(
    script: Script, tenant: TenantWorld
) -> None:
    post = await tenant.published(title="Live", content_html="<p>Live</p>")
    page = (await script.browser.get(f"/admin/posts/{post['id']}?as=editor")).text
    version = page.partition('name="version" value="')[2].partition('"')[0]
    saved = await script.save(post["id"], version, "Typed")
    assert saved.status_code == 200
    assert (await script.stored(post["id"]))["content_html"] == "<p>Live</p>"
    assert "Typed" in (await script.browser.get(f"/admin/posts/{post['id']}")).text
    # An integration changes the live text meanwhile.
    await tenant.update("posts", post["id"], {"content_html": "<p>Newer</p>"})
    conflict = await script.save(post["id"], saved.json()["version"], "Typed on")
    assert conflict.status_code == 409
    told = conflict.json()
    assert (told["is_live"], told["content_html"]) == (True, "<p>Newer</p>")
    replaced = await script.save(post["id"], told["version"], "Typed on", replaces=True)
    assert replaced.status_code == 200
    path = f"/admin/posts/{post['id']}/text"
    body = {"version": replaced.json()["version"], "discards": True}
    assert (await script.call(path, body)).status_code == 200
    page = (await script.browser.get(f"/admin/posts/{post['id']}")).text
    assert "Newer" in page
    assert "Typed" not in page


async def test_what_is_refused_names_its_field(script: Script, tenant: TenantWorld) -> None:
    await tenant.post(title="Taken", slug="taken")
    post_id = ids.new_id()
    answer = await script.save(post_id, "new", "One", slug="taken", excerpt="x" * 501)
    assert answer.status_code == 422
    assert set(answer.json()["problems"]) >= {"excerpt"}
    answer = await script.save(post_id, "new", "One", slug="taken")
    assert answer.json()["problems"] == {"slug": "This value is taken. Choose another one."}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"version": 3, "content_json": document("x")},
        {"version": "new"},
        {"version": "new", "content_json": {"type": "page"}},
        {"version": "new", "content_json": "text"},
    ],
)
async def test_a_save_that_can_not_be_read(script: Script, body: dict[str, Any]) -> None:
    answer = await script.call(f"/admin/posts/{ids.new_id()}/text", body)
    assert answer.status_code == 400
    assert answer.json()["message"]


async def test_only_pages_of_ours_save_and_only_for_who_is_signed_in(
    script: Script, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    post = await tenant.post(title="Mine")
    path = f"/admin/posts/{post['id']}/text"
    body = {"version": "1.0", "title": "x", "content_json": document("x")}
    foreign = {"sec-fetch-site": "same-site"}
    # The cookie of another site's request counts for nothing.
    assert (await script.call(path, body, **foreign)).status_code == 401
    assert (await script.call(path, body, **{"x-form-token": "no"})).status_code == 403
    author = await script_of(tenant, "author")
    assert (await author.call(path, body)).status_code == 404
    stranger = await script_of(other_tenant, "owner")
    assert (await stranger.call(path, body)).status_code == 404
    guest = Script(Visitor(tenant.world.client(tenant.host)), tenant, script.owner)
    assert (await guest.call(path, body)).status_code == 401
    assert (await guest.browser.api.get("/admin/form-token")).status_code == 401
    assert (await script.stored(post["id"]))["title"] == "Mine"


async def test_a_text_is_stored_only_in_the_site_that_its_page_was_made_for(
    app: World, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    browser = visitor(app, await app.operator(), BARE)
    await browser.post(f"/admin/tenants/{tenant.id}")
    page = (await browser.get("/admin/posts/new")).text
    script = Script(browser, tenant, owner_in(page))
    token = token_in(page)
    # Another tab chooses another site.
    await browser.post(f"/admin/tenants/{other_tenant.id}")
    post_id = ids.new_id()
    path = f"/admin/posts/{post_id}/text"
    body = {"version": "new", "title": "Astray", "content_json": document("One")}
    for each in (token, await browser.token()):
        answer = await script.call(path, body, **{"x-form-token": each})
        assert answer.status_code == 409
        assert answer.json()["message"].startswith("Another site is chosen now.")
    renewed = await browser.api.get("/admin/form-token", headers=script.page())
    assert renewed.status_code == 409
    assert "form_token" not in renewed.json()
    await browser.post(f"/admin/tenants/{tenant.id}")
    assert (await script.call(path, body, **{"x-form-token": token})).status_code == 200
    assert (await script.stored(post_id))["title"] == "Astray"


async def test_a_text_is_stored_only_by_the_account_that_its_page_was_made_for(
    script: Script, tenant: TenantWorld
) -> None:
    owner = owner_in((await script.browser.get("/admin/posts/new")).text)
    assert owner == script.owner
    colleague = await script_of(tenant, "owner")
    body = {"version": "new", "title": "Astray", "content_json": document("One")}
    path = f"/admin/posts/{ids.new_id()}/text"
    token = await colleague.token()
    answer = await colleague.call(path, body, **{"x-page-owner": owner, "x-form-token": token})
    assert answer.status_code == 409
    assert answer.json()["message"].startswith("Another account is signed in now.")
    for nobody in ("", "/", f"{tenant.id}/", "x"):
        answer = await script.call(path, body, **{"x-page-owner": nobody})
        assert answer.status_code == 400


async def test_markdown_is_converted(script: Script) -> None:
    answer = await script.call("/admin/markdown", {"text": "# Low tide\n\n- *sand*"})
    assert answer.json() == {"html": "<h1>Low tide</h1>\n<ul>\n<li><em>sand</em></li>\n</ul>"}
    assert (await script.call("/admin/markdown", {"text": 3})).status_code == 400


async def test_markdown_of_a_program_is_read_exactly_and_keeps_its_lines(script: Script) -> None:
    given = {"text": "#no heading\nline **two**\n\n- [x] done", "exactly": True}
    html = (await script.call("/admin/markdown", given)).json()["html"]
    assert html.startswith("<p>#no heading<br>line <strong>two</strong></p>")
    assert 'data-type="taskItem" data-checked="true"' in html
    deep = {"text": "> " * 200 + "deep", "exactly": True}
    assert (await script.call("/admin/markdown", deep)).status_code == 422


async def test_a_post_opens_in_the_editor_if_the_editor_has_all_its_parts(
    script: Script, tenant: TenantWorld
) -> None:
    strange = {"type": "doc", "content": [{"type": "carousel", "content": []}]}
    whole = await tenant.post(title="Whole", content_json=document("a </textarea> b"))
    lacking = await tenant.post(title="Lacking", content_json=strange, content_html="<p>a</p>")
    html = await tenant.post(title="HTML", content_html="<p>a</p>")
    anchored = await tenant.post(title="Anchored", content_html="<h2 id=a>b</h2>")
    page = (await script.browser.get(f"/admin/posts/{whole['id']}")).text
    assert "<mh-editor" in page
    assert "a &lt;/textarea&gt; b" in page
    page = (await script.browser.get(f"/admin/posts/{whole['id']}?as=html")).text
    assert "<mh-editor" not in page
    page = (await script.browser.get(f"/admin/posts/{lacking['id']}")).text
    assert "<mh-editor" not in page
    assert "The editor can’t show: carousel." in page
    assert "The words stay the same." in page
    for address in ("", "?as=editor"):
        page = (await script.browser.get(f"/admin/posts/{anchored['id']}{address}")).text
        assert "<mh-editor" not in page
        assert "Without id on &lt;h2&gt;" in page
    page = (await script.browser.get(f"/admin/posts/{html['id']}")).text
    assert "<mh-editor" in page
    assert '"text":"a"' in unescape(page)


async def test_one_press_converts_html_and_the_history_keeps_it(
    script: Script, tenant: TenantWorld
) -> None:
    post = await tenant.post(title="Old", content_html="<h2 id=a>b</h2><dl><dt>c</dt></dl>")
    url = f"/admin/posts/{post['id']}"
    form = filled((await script.browser.get(url)).text)
    # Typed into the HTML: what converting changes is said again first.
    typed = {**form, "content_html": "<h2 id=a>b</h2><p lang=de>d</p>", "action": "convert"}
    answer = await script.browser.post(url, typed)
    assert answer.status_code == 303
    assert (await script.stored(post["id"]))["content_source"] == "html"
    page = (await script.browser.get(url)).text
    assert "Check what converting changes now" in page
    assert "Without lang on &lt;p&gt;" in page
    assert (await script.browser.post(url, filled(page) | {"action": "convert"})).status_code == 303
    stored = await script.stored(post["id"])
    assert (stored["content_source"], stored["content_html"]) == ("json", "<h2>b</h2><p>d</p>")
    assert "<mh-editor" in (await script.browser.get(url)).text
    records = tenant.world.parts.records
    kept = await records.find(
        tenant.world.collection("post_revisions"),
        {"post_id": post["id"]},
        tenant_id=tenant.id,
        limit=9,
    )
    assert typed["content_html"] in {each["content_html"] for each in kept}
    # A form of before is a conflict, and nothing is converted twice.
    assert (await script.browser.post(url, form | {"action": "convert"})).status_code == 409


async def test_what_can_not_be_converted_stays_html(script: Script, tenant: TenantWorld) -> None:
    html = "<p>a</p><blockquote><hr class=paywall><dl><dt>b</dt></dl></blockquote>"
    post = await tenant.post(title="Old", content_html=html)
    url = f"/admin/posts/{post['id']}"
    page = (await script.browser.get(url)).text
    assert "It can’t be converted: the start of the part for members" in page
    assert 'value="convert"' not in page
    answer = await script.browser.post(url, filled(page) | {"action": "convert"})
    assert answer.status_code == 400
    assert (await script.stored(post["id"]))["content_html"] == html


async def test_a_call_for_another_authors_draft_tells_nothing_of_it(tenant: TenantWorld) -> None:
    draft = await tenant.post(title="Secret merger announced")
    person, account = await staff(tenant, "author")
    headers = {
        **OWN,
        "x-form-token": await person.token(),
        "x-page-owner": f"{tenant.id}/{account.id}",
    }
    answer = await person.api.post(
        f"/admin/posts/{draft['id']}/text",
        json={"version": "1.0", "discards": True},
        headers=headers,
    )
    assert answer.status_code == 404
    assert "secret" not in answer.text


async def test_a_call_without_a_site_stores_nothing(app: World) -> None:
    operator = await app.operator()
    person = visitor(app, operator, BARE)
    headers = {**OWN, "x-form-token": await person.token(), "x-page-owner": f"/{operator.id}"}
    body = {"version": "new", "title": "x", "content_json": {"type": "doc"}}
    answer = await person.api.post(f"/admin/posts/{'a' * 15}/text", json=body, headers=headers)
    assert answer.status_code == 404
