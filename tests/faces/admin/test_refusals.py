"""A page that is refused says what the role can't do, and whom to ask."""

from __future__ import annotations

import re
from html import unescape

import pytest
from tests.faces.admin.visitor import staff
from tests.world import TenantWorld

AN_EDITOR = "Ask an editor or an owner of the site."
AN_OWNER = "Ask an owner of the site."


def words_of(page: str) -> str:
    """The heading and the sentence below it."""
    found = re.search(r"<h1>(.*?)</h1>.*?<p>(.*?)</p>", page, re.DOTALL)
    assert found
    return unescape(f"{found[1]}. {found[2]}")


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("/admin/comments", f"Authors can't see comments. {AN_EDITOR}"),
        ("/admin/members", f"Authors can't see members. {AN_EDITOR}"),
        ("/admin/pages", f"Authors can't see pages. {AN_EDITOR}"),
        ("/admin/pages/new", f"Authors can't add pages. {AN_EDITOR}"),
        ("/admin/members/members.csv", f"Authors can't see members. {AN_EDITOR}"),
        ("/admin/tags", f"Authors can't see changes of tags. {AN_EDITOR}"),
    ],
)
async def test_an_author_learns_what_is_not_allowed_and_who_can(
    tenant: TenantWorld, address: str, sentence: str
) -> None:
    author, _ = await staff(tenant, "author")
    answer = await author.get(address)
    assert answer.status_code == 403
    assert words_of(answer.text) == f"This is not allowed. {sentence}"


async def test_an_editor_is_sent_to_an_owner(tenant: TenantWorld) -> None:
    editor, _ = await staff(tenant, "editor")
    ana = await tenant.create("blog_members", {"email": "ana@example.com"})
    answer = await editor.post(f"/admin/members/{ana['id']}", {"name": "Eve"})
    assert answer.status_code == 403
    assert words_of(answer.text).endswith(f"Editors can't change members. {AN_OWNER}")


async def test_a_form_is_refused_in_the_same_words(tenant: TenantWorld) -> None:
    author, _ = await staff(tenant, "author")
    answer = await author.post("/admin/comments/change", {"one": "approve.aaaaaaaaaaaaaaa"})
    assert words_of(answer.text).endswith(f"Authors can't change comments. {AN_EDITOR}")


async def test_the_record_store_says_it_as_well(tenant: TenantWorld) -> None:
    author = await tenant.owner(role="author")
    answer = await author.api.get("/api/collections/comments/records")
    assert answer.status_code == 403
    assert answer.json()["message"] == f"Authors can't see comments. {AN_EDITOR}"
    member = await tenant.member()
    answer = await member.api.post("/api/collections/pages/records", json={"title": "Mine"})
    assert answer.status_code == 403
    assert answer.json()["message"] == "Only the staff of the site can add pages."


async def test_a_field_that_is_not_theirs_names_who_may_set_it(tenant: TenantWorld) -> None:
    author = await tenant.owner(role="author")
    url = f"/api/collections/_superusers/records/{author.id}"
    answer = await author.api.patch(url, json={"role": "owner"})
    assert answer.status_code == 403
    assert answer.json()["message"] == "You can't set role. An owner of the site can."


async def test_a_form_of_another_page_is_not_called_a_matter_of_time(tenant: TenantWorld) -> None:
    elsewhere = {"sec-fetch-site": "cross-site", "accept": "text/html"}
    answer = await tenant.guest.post("/admin/sign-in", data={}, headers=elsewhere)
    assert answer.status_code == 403
    assert "right now" not in answer.text
