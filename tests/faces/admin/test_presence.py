"""Who else has a text open: for whom, at which site, and until when."""

from __future__ import annotations

import httpx
import pytest
from tests.faces.admin.visitor import OWN, Visitor, staff, visitor
from tests.world import Account, TenantWorld, World

from masthead.content.texts.presence import GONE_AFTER, SAID_EVERY_SECONDS

pytestmark = pytest.mark.both_databases


async def here(
    tenant: TenantWorld, who: tuple[Visitor, Account], text_id: str, kind: str = "posts"
) -> httpx.Response:
    browser, account = who
    headers = {**OWN, "x-page-owner": f"{tenant.id}/{account.id}"}
    headers["x-form-token"] = await browser.token()
    return await browser.api.post(f"/admin/{kind}/{text_id}/here", json={}, headers=headers)


async def words(tenant: TenantWorld, who: tuple[Visitor, Account], text_id: str) -> str:
    answer = await here(tenant, who, text_id)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["words"])


async def test_editors_see_each_other_until_one_is_gone(app: World, tenant: TenantWorld) -> None:
    post = (await tenant.post())["id"]
    ana, bo = await staff(tenant, "owner", name="Ana"), await staff(tenant, "editor", name="Bo")
    assert await words(tenant, ana, post) == ""
    assert await words(tenant, bo, post) == "Also here: Ana"
    app.clock.advance(seconds=SAID_EVERY_SECONDS)
    assert await words(tenant, ana, post) == "Also here: Bo"
    app.clock.advance(seconds=GONE_AFTER.total_seconds())
    assert await words(tenant, ana, post) == ""


async def test_one_without_a_name_is_shown_by_address_and_role(
    app: World, tenant: TenantWorld
) -> None:
    post = (await tenant.post())["id"]
    nameless, editor = await staff(tenant, "owner"), await staff(tenant, "editor", name="Bo")
    author = await staff(tenant, "author", name="Cy")
    await tenant.update("posts", post, {"authors": [author[1].id]})
    await words(tenant, nameless, post)
    address = nameless[1].email
    assert await words(tenant, editor, post) == f"Also here: {address} (owner)"
    # Authors learn no addresses.
    assert await words(tenant, author, post) == "Also here: Bo and an owner"
    operator = await app.operator()
    await words(tenant, (visitor(app, operator, tenant.host), operator), post)
    said = await words(tenant, editor, post)
    assert said == f"Also here: Cy, an operator and {address} (owner)"


async def test_many_are_counted(tenant: TenantWorld) -> None:
    post = (await tenant.post())["id"]
    for name in ("Ana", "Bo", "Cy", "Di", "Ed"):
        await words(tenant, await staff(tenant, "editor", name=name), post)
    zoe = await staff(tenant, "owner", name="Zoe")
    assert await words(tenant, zoe, post) == "Also here: Ana, Bo, Cy and 2 more"


async def test_other_texts_and_sites_are_apart(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    post, second = (await tenant.post())["id"], (await tenant.post())["id"]
    ana, bo = await staff(tenant, "owner", name="Ana"), await staff(tenant, "owner", name="Bo")
    assert await words(tenant, ana, post) == ""
    assert await words(tenant, bo, second) == ""
    stranger = await staff(other_tenant, "owner")
    assert (await here(other_tenant, stranger, post)).status_code == 404
    assert (await here(tenant, ana, post, kind="pages")).status_code == 404
    assert await words(tenant, bo, post) == "Also here: Ana"


async def test_the_word_of_another_page_is_refused(tenant: TenantWorld) -> None:
    post = (await tenant.post())["id"]
    browser, account = await staff(tenant, "owner")
    headers = {**OWN, "x-page-owner": f"{tenant.id}/{account.id}"}
    answer = await browser.api.post(f"/admin/posts/{post}/here", json={}, headers=headers)
    assert answer.status_code == 403
