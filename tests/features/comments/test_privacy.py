"""A person's comments are part of their export, and lose the person with an erasure."""

from __future__ import annotations

from datetime import timedelta

from tests.features.comments.readers import Browser, shown
from tests.features.privacy.requests import DELETE, member_deletion
from tests.outside.mail.offices import Office, everything

from masthead.features.privacy.personal import ANONYMOUS, Person, member_filters


async def test_comments_of_a_member_are_found_by_account_and_by_address(office: Office) -> None:
    site = await office.world.new_tenant()
    await site.settings(comments_by="everyone", comments_moderation="none")
    await site.published(title="Fog")
    mia = await site.member(email="mia@example.com", name="Mia Member")
    by_account = await Browser(site, "fog", mia).comment("As a member")
    by_address = await Browser(site, "fog").comment("As a guest", email=mia.email)
    other = await Browser(site, "fog").comment("Somebody else's", parent_id=by_account)
    # The account's address has changed since.
    await site.update("blog_members", mia.id, {"email": "new@example.com"})
    records, comments = site.world.parts.records, site.world.collection("comments")
    found = set()
    for equals in member_filters(comments, Person(mia.id, mia.email, "")):
        found |= {
            each["id"] for each in await records.find(comments, equals, tenant_id=site.id, limit=9)
        }
    assert found == {by_account, by_address}
    assert other not in found


async def test_an_erased_member_leaves_words_and_no_name(office: Office) -> None:
    site = await office.world.new_tenant()
    await site.settings(comments_by="members", comments_moderation="none")
    author = await site.owner(name="Nell", email="nell@example.com")
    await site.published(title="Fog", authors=[author.id])
    mia = await site.member(email="mia@example.com", name="Mia Member")
    mine = await Browser(site, "fog", mia).comment("My words")
    await Browser(site, "fog", author).comment("An answer", parent_id=mine)
    await office.send()
    await mia.api.post(DELETE, json=member_deletion(mia.id))
    office.world.clock.advance(days=timedelta(days=31).days)
    await office.send()
    page = await Browser(site, "fog").page()
    assert shown(page) == ["My words", "An answer"]
    assert ANONYMOUS in page.text_content()
    rows = await everything(office.world)
    assert "Mia Member" not in str(rows["comments"])
    assert mia.id not in str(rows["comments"])
    assert mia.email not in str(rows["comments"])
