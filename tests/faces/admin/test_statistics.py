"""The pages of numbers: whom they are for, and what they show."""

from __future__ import annotations

import pytest
from tests.faces.admin.visitor import staff
from tests.features.statistics.site import reader, seed_views
from tests.world import TenantWorld

ADDRESS = "/admin/statistics"


async def test_an_editor_sees_the_numbers_of_the_site(tenant: TenantWorld) -> None:
    post = await tenant.published(title="Fog & horns")
    for path in ("/", f"/posts/{post['slug']}?ref=friend"):
        await reader(tenant).get(path, headers={"user-agent": "Firefox"})
    await tenant.world.parts.views.flush()
    editor, _ = await staff(tenant, "editor")
    for address in ("/admin", ADDRESS):
        page = (await editor.get(address)).text
        assert 'aria-label="' in page
        assert "2 views in 30 days" in page or "Views: 2 in 30 days" in page
    assert "Fog &amp; horns" in page
    assert "friend" in page
    assert f"/admin/posts/{post['id']}/statistics" in page


@pytest.mark.parametrize(("days", "columns"), [("7", 7), ("90", 90), ("365", 53), ("x", 30)])
async def test_the_days_are_chosen(tenant: TenantWorld, days: str, columns: int) -> None:
    editor, _ = await staff(tenant, "editor")
    page = (await editor.get(f"{ADDRESS}?days={days}")).text
    assert page.count("<rect") == 4 * columns


async def test_authors_see_the_numbers_of_their_own_posts_only(tenant: TenantWorld) -> None:
    author, account = await staff(tenant, "author")
    own = await tenant.published(title="Own", authors=[account.id])
    other = await tenant.published(title="Other")
    await seed_views(tenant, [own["id"]], days=2)
    assert (await author.get(ADDRESS)).status_code == 403
    assert "Views" not in (await author.get("/admin")).text
    page = await author.get(f"/admin/posts/{own['id']}/statistics")
    assert page.status_code == 200
    assert "Most on" in page.text
    assert (await author.get(f"/admin/posts/{other['id']}/statistics")).status_code == 404


async def test_the_posts_of_another_site_have_no_page_here(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    theirs = await other_tenant.published(title="Theirs")
    owner, _ = await staff(tenant, "owner")
    assert (await owner.get(f"/admin/posts/{theirs['id']}/statistics")).status_code == 404


async def test_a_site_that_counts_nothing_says_so(tenant: TenantWorld) -> None:
    await tenant.settings(count_views=False)
    await tenant.published(title="Fog")
    owner, _ = await staff(tenant, "owner")
    assert "Views are not counted" in (await owner.get(ADDRESS)).text
    assert "<h3>Views</h3>" not in (await owner.get("/admin")).text
