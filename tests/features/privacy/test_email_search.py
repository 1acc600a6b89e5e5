"""A member's address in texts of others, in all its variants."""

from __future__ import annotations

import html
import unicodedata
from urllib.parse import quote

import pytest
from tests.features.privacy.requests import DELETE, member_deletion, request_of, run_jobs
from tests.features.privacy.test_erasure import find, text_of
from tests.tiers import representatives
from tests.world import Account, TenantWorld, World, records_of

from masthead.base.caller import system
from masthead.base.email_address import normal_email
from masthead.features.privacy.email_search import PAGE
from masthead.features.privacy.email_variants import email_pattern
from masthead.features.privacy.personal import ANONYMOUS, FREE_TEXT_COLLECTIONS, REMOVED, WHY_KEPT

WRITTEN = "jörg@bücher.example"
STORED = normal_email(WRITTEN)
SPELLINGS = {
    "stored": STORED,
    "percent": quote(WRITTEN, safe=""),
    "upper": STORED.upper(),
    "unicode": WRITTEN,
    "unicode-upper": WRITTEN.upper(),
    "nfd": unicodedata.normalize("NFD", WRITTEN),
    "percent-at": STORED.replace("@", "%40"),
    "entity-at": WRITTEN.replace("@", "&#64;"),
    "hex-entity-at": WRITTEN.replace("@", "&#x40;"),
    "entities": "".join(f"&#{ord(each)};" for each in WRITTEN),
}


async def erased(world: World, member: Account) -> str:
    """The member requests it and 30 days pass; returns the request's id."""
    asked = await member.api.post(DELETE, json=member_deletion(member.id))
    assert asked.status_code == 202
    world.clock.advance(days=30)
    await run_jobs(world)
    return str(asked.json()["request_id"])


@pytest.mark.parametrize("spelled", representatives(SPELLINGS.values(), 2), ids=SPELLINGS.keys())
async def test_posts_and_comments_of_others_lose_the_address(
    app: World, tenant: TenantWorld, spelled: str
) -> None:
    member = await tenant.member(email=WRITTEN)
    post = await tenant.published(
        title=f"By {spelled}",
        content_html=f'<p>Ask <a href="mailto:{spelled}">{spelled}</a>, not me@x.example.</p>',
        tags=["letters", html.unescape(spelled)],
    )
    said = {"post_id": post["id"], "author_name": "Bob", "body": f"Her address is {spelled}"}
    comment = await tenant.create("comments", said | {"author_email": "bob@x.example"})
    request_id = await erased(app, member)

    found = await find(app, "posts", post)
    assert found is not None
    assert found["title"] == f"By {REMOVED}"
    assert found["content_html"].count(REMOVED) == 2
    assert "me@x.example" in found["content_html"]
    assert found["tags"] == ["letters", REMOVED]
    left = await find(app, "comments", comment)
    assert left is not None
    assert left["body"] == f"Her address is {REMOVED}"
    assert (left["author_name"], left["author_email"]) == ("Bob", "bob@x.example")
    assert not email_pattern(STORED).is_in(await text_of(app, tenant.id))
    receipt = (await request_of(app, request_id))["receipt"]
    assert (receipt["kept"]["posts"], receipt["kept"]["comments"]) == (1, 1)
    assert receipt["why_kept"]["posts"] == WHY_KEPT["posts"]


async def test_the_address_is_removed_from_the_editors_document_and_its_html(
    app: World, tenant: TenantWorld
) -> None:
    member = await tenant.member(email=WRITTEN)
    words = {"type": "text", "text": f"Ask {WRITTEN}."}
    document = {"type": "doc", "content": [{"type": "paragraph", "content": [words]}]}
    post = await tenant.published(content_json=document)
    assert WRITTEN in post["content_html"]
    await erased(app, member)
    found = await find(app, "posts", post)
    assert found is not None
    assert found["content_html"] == f"<p>Ask {REMOVED}.</p>"
    assert found["content_json"]["content"][0]["content"][0]["text"] == f"Ask {REMOVED}."


async def test_a_text_is_found_on_every_page_of_the_search(
    app: World, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    member = await tenant.member(email=WRITTEN)
    posts = app.collection("posts")
    async with app.parts.records.unit(system(tenant.id)) as unit:
        for number in range(2 * PAGE + 1):
            address = WRITTEN if number % 50 == 0 else "me@x.example"
            await unit.create(posts, {"title": str(number), "content_html": f"<p>{address}</p>"})
    theirs = await other_tenant.published(content_html=f"<p>{WRITTEN}</p>")
    request_id = await erased(app, member)
    left = await app.parts.records.find(posts, {}, tenant_id=tenant.id, limit=1_000)
    assert sum(REMOVED in each["content_html"] for each in left) == 9
    assert sum("me@x.example" in each["content_html"] for each in left) == 2 * PAGE - 8
    assert (await request_of(app, request_id))["receipt"]["kept"]["posts"] == 9
    kept = await find(app, "posts", theirs)
    assert kept is not None
    assert kept["content_html"] == theirs["content_html"]


def test_every_free_text_collection_has_a_reason_for_keeping_it(app: World) -> None:
    assert {each.name for each in app.parts.records.registry.collections} >= FREE_TEXT_COLLECTIONS
    assert set(WHY_KEPT) >= FREE_TEXT_COLLECTIONS


async def test_records_of_a_member_deleted_in_the_meantime_are_erased(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    member = await tenant.member(email=WRITTEN, name="Jörg")
    post = await tenant.published()
    said = {"post_id": post["id"], "author_name": "Jörg", "author_email": STORED, "body": "Hello"}
    comment = await tenant.create("comments", said)
    asked = await member.api.post(DELETE, json=member_deletion(member.id))
    gone = await owner.api.delete(records_of("blog_members", member.id))
    assert gone.status_code == 204
    app.clock.advance(days=30)
    await run_jobs(app)
    left = await find(app, "comments", comment)
    assert left is not None
    assert (left["author_name"], left["author_email"]) == (ANONYMOUS, "")
    assert not email_pattern(STORED).is_in(await text_of(app, tenant.id))
    request = await request_of(app, asked.json()["request_id"])
    assert request["status"] == "completed"


async def test_a_new_member_with_the_same_address_keeps_their_records(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    member = await tenant.member(email=WRITTEN)
    asked = await member.api.post(DELETE, json=member_deletion(member.id))
    assert (await owner.api.delete(records_of("blog_members", member.id))).status_code == 204
    again = await tenant.member(email=WRITTEN)
    app.clock.advance(days=30)
    await run_jobs(app)
    found = await find(app, "blog_members", {"id": again.id, "tenant_id": tenant.id})
    assert found is not None
    assert found["email"] == STORED
    assert (await request_of(app, asked.json()["request_id"]))["status"] == "completed"
