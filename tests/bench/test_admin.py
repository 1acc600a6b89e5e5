"""The site that `bench.admin` measures is what it says, and no page is left out."""

from __future__ import annotations

from bench.admin_data import COMMON_TAG, RARE_TAG, SLUG, Size, seed
from bench.admin_pages import pages
from tests.world import World

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.records.read.page import ListRequest
from masthead.identity.tenants import tenants


async def test_the_site_has_what_was_asked_for(app: World) -> None:
    size = Size(posts=120, members=60, comments=60, deliveries=300)
    names = await seed(app.parts, size)
    records = app.parts.records
    (tenant,) = await records.find(tenants, {"slug": SLUG})
    caller = system(TenantId(tenant["id"]))
    counted = {
        name: (await records.page(caller, app.collection(name), ListRequest(per_page=1))).total
        for name in ("posts", "blog_members", "comments", "webhook_deliveries")
    }
    assert list(counted.values()) == [120, 60, 60, 300]
    for tag, least, most in ((RARE_TAG, 3, 3), (COMMON_TAG, 1, 40)):
        wanted = ListRequest(filter=f"tags ?= '{tag}'")
        assert least <= (await records.page(caller, app.collection("posts"), wanted)).total <= most
    found = await records.page(caller, app.collection("posts"), ListRequest(search="quatrefoil"))
    assert found.total == 3
    measured = {each.path.partition("?")[0] for each in pages(names, app.clock())}
    assert {
        "/admin",
        f"/admin/members/{names['blog_members']}",
        f"/admin/comments/{names['comments']}",
        f"/admin/shop/orders/{names['orders']}",
        f"/admin/webhooks/deliveries/{names['webhook_deliveries']}",
        f"/admin/tenants/{names['tenants']}",
        "/admin/settings/keys",
        "/admin/operator/queue",
    } <= measured
    assert "/admin/sign-in" not in measured
