"""Snippets in the admin: who may see and change them, and what the editor's script asks."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from tests.content.cards.every_card import card, every_card
from tests.faces.admin.editor.test_calls import Script, document, script_of
from tests.faces.admin.filled_form import filled
from tests.faces.admin.visitor import Visitor
from tests.world import TenantWorld

ADDRESS = "/admin/snippets"


@pytest.fixture
async def script(tenant: TenantWorld) -> Script:
    return await script_of(tenant, "editor")


async def stored(tenant: TenantWorld) -> list[dict[str, Any]]:
    records = tenant.world.parts.records
    found = await records.find(tenant.world.collection("snippets"), {}, tenant_id=tenant.id)
    return sorted(found, key=lambda each: str(each["name"]))


async def read(browser: Visitor, script: Script, path: str) -> tuple[int, Any]:
    answer = await browser.api.get(f"{ADDRESS}/{path}", headers=script.page())
    return answer.status_code, answer.json()


async def test_a_selection_becomes_a_snippet_that_every_writer_inserts(
    script: Script, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    given = {"name": "Signature", "content_json": document("Yours, the editors")}
    assert (await script.call(f"{ADDRESS}/save", given)).status_code == 200
    theirs = await other_tenant.create("snippets", {**given, "name": "Signed by others"})
    for role in ("author", "contributor"):
        writer = await script_of(tenant, role)
        status, found = await read(writer.browser, writer, "found?q=SIGN")
        assert status == 200
        assert [(each["label"], each["note"]) for each in found["found"]] == [
            ("Signature", "Yours, the editors")
        ]
        status, body = await read(writer.browser, writer, f"document?id={found['found'][0]['id']}")
        assert (status, body["content_json"]) == (200, document("Yours, the editors"))
        # They read, and nothing else.
        assert (await writer.call(f"{ADDRESS}/save", {**given, "name": "Mine"})).status_code == 403
        assert "Signature" in (await writer.browser.get(ADDRESS)).text
        own = f"{ADDRESS}/{found['found'][0]['id']}"
        assert (await writer.browser.get(own)).status_code == 403
        assert (await writer.browser.get(f"{ADDRESS}/new")).status_code == 403
        assert (await writer.browser.post(own, {"name": "Mine"})).status_code == 403
        assert (await writer.browser.post(f"{own}/delete")).status_code == 403
        page = (await writer.browser.get("/admin/posts/new")).text
        assert "data-snippets-url" in page
        assert "data-saves-snippets" not in page
    assert (await read(script.browser, script, f"document?id={theirs['id']}"))[0] == 404
    assert (await script.browser.get(f"{ADDRESS}/{theirs['id']}")).status_code == 404
    assert (await script.browser.post(f"{ADDRESS}/{theirs['id']}/delete")).status_code == 404
    assert len(await stored(other_tenant)) == 1
    answer = await script.call(f"{ADDRESS}/save", given)
    assert answer.status_code == 422
    assert "name" in answer.json()["problems"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "empty"),
        ("words", "a document of the editor"),
        ({"type": "doc", "content": []}, "at least one part"),
        ({"type": "doc", "content": 5}, "at least one part"),
        ({"type": "doc", "content": "words"}, "at least one part"),
        ({"type": "doc", "content": [{"type": "carousel"}]}, "carousel"),
        ({"type": "doc", "content": [card("button", label="x")]}, "button"),
        (document("x" * 200_001), "200000 bytes"),
    ],
)
async def test_what_no_editor_could_insert_is_refused(
    script: Script, tenant: TenantWorld, content: Any, reason: str
) -> None:
    answer = await script.call(f"{ADDRESS}/save", {"name": "a", "content_json": content})
    assert answer.status_code == 422
    assert reason in answer.json()["problems"]["content_json"]
    assert await stored(tenant) == []


async def test_a_snippet_is_made_changed_and_deleted_on_its_page(
    script: Script, tenant: TenantWorld
) -> None:
    browser = script.browser
    form = filled((await browser.get(f"{ADDRESS}/new")).text)
    # Without script the form has HTML.
    answer = await browser.post(f"{ADDRESS}/new", {**form, "name": "A", "content_html": "<p>b</p>"})
    page = await browser.follow(answer)
    assert "“A” is saved." in page
    [made] = await stored(tenant)
    assert made["content_json"] == document("b")
    url = f"{ADDRESS}/{made['id']}"
    assert '<td class="soft wrap">b</td>' in page
    page = (await browser.get(url)).text
    assert '"text":"b"' in unescape(page)
    form = filled(page)
    assert form["content_html"] == "<p>b</p>"
    await browser.follow(await browser.post(url, {**form, "name": "B"}))
    [changed] = await stored(tenant)
    assert (changed["name"], changed["content_json"]) == ("B", document("b"))
    refused = await browser.post(url, {**form, "name": "", "content_html": "<p>c</p>"})
    assert refused.status_code == 422
    assert "can&#39;t be empty" in refused.text
    assert "&lt;p&gt;c" in refused.text
    refused = await browser.post(f"{ADDRESS}/new", {**form, "name": "C", "content_html": " "})
    assert (refused.status_code, len(await stored(tenant))) == (422, 1)
    await browser.follow(await browser.post(f"{url}/delete"))
    assert await stored(tenant) == []


async def test_parts_of_a_document_that_are_no_lists_are_not_read(
    script: Script, tenant: TenantWorld
) -> None:
    text = {"type": "text", "text": "Yours", "marks": 5}
    parts = [{"type": "paragraph", "content": [text]}, {"type": "paragraph", "content": 7}]
    given = {"name": "Odd", "content_json": {"type": "doc", "content": parts}}
    assert (await script.call(f"{ADDRESS}/save", given)).status_code == 200
    assert "Yours" in (await script.browser.get(ADDRESS)).text
    _, found = await read(script.browser, script, "found?q=odd")
    _, opened = await read(script.browser, script, f"document?id={found['found'][0]['id']}")
    assert opened["content_json"]["content"] == [
        *document("Yours")["content"],
        {"type": "paragraph"},
    ]
    # A post of a program has such a document, too.
    post = await tenant.post(content_json=given["content_json"])
    assert (await script.browser.get(f"/admin/posts/{post['id']}")).status_code == 200


async def test_every_card_fits_into_a_snippet_and_its_files_are_used(
    script: Script, tenant: TenantWorld
) -> None:
    cards = {"type": "doc", "content": [*every_card("/media/abcdefghijklmno/a.png").values()]}
    answer = await script.call(f"{ADDRESS}/save", {"name": "All", "content_json": cards})
    assert answer.status_code == 200
    status, body = await read(script.browser, script, f"document?id={answer.json()['id']}")
    assert (status, body["content_json"]) == (200, cards)


async def test_links_are_found_by_words_with_their_address_on_the_site(
    script: Script, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    await tenant.published(title="Fog signals", slug="fog-signals", tags=["fog horns"])
    await tenant.post(title="Fog to come", slug="fog-to-come")
    await tenant.create("pages", {"title": "About fog", "slug": "about", "status": "published"})
    await other_tenant.published(title="Fog elsewhere")
    headers = script.page()
    answer = await script.browser.api.get("/admin/links?q=fo", headers=headers)
    found = {(each["label"], each["url"], each["note"]) for each in answer.json()["found"]}
    assert found == {
        ("Fog signals", "/posts/fog-signals", "Post, Published"),
        ("Fog to come", "/posts/fog-to-come", "Post, Draft"),
        ("About fog", "/about", "Page, Published"),
        ("fog horns", "/tags/fog-horns", "Tag"),
    }
    for words in ("", "%00", "(", '"', "x" * 900):
        answer = await script.browser.api.get(f"/admin/links?q={words}", headers=headers)
        assert (answer.status_code, answer.json()) == (200, {"found": []}), words
    # A contributor finds own drafts, and no one else's.
    writer = await script_of(tenant, "contributor")
    answer = await writer.browser.api.get("/admin/links?q=fog", headers=writer.page())
    assert "Fog to come" not in {each["label"] for each in answer.json()["found"]}
