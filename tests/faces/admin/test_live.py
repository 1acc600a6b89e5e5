"""Open pages of the admin hear of changes: by role, at which site, and for how long."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import httpx
import pytest
from tests.faces.admin.visitor import BARE, staff, visitor
from tests.faces.record_api.listener import Listener, listening
from tests.served import serving
from tests.world import Account, TenantWorld, World

from masthead.base.caller import system
from masthead.engine.records.accounts import credentials
from masthead.faces.admin.live import ADDRESS, MOST
from masthead.identity.tenants import superusers

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def url(app: World) -> AsyncIterator[str]:
    async with serving(app.http) as address:
        yield address
        app.parts.realtime.end_all()
        app.parts.realtime._is_closing = False


def open_page(
    url: str, host: str, account: Account, topics: str, *, also: str = ""
) -> AbstractAsyncContextManager[Listener]:
    cookie = f"pb_auth={account.token}{also}"
    return listening(url, host, path=f"{ADDRESS}?topics={topics}", cookie=cookie)


async def comment_on(tenant: TenantWorld, body: str = "Hm") -> str:
    post = await tenant.published(title="The last ferry")
    given = {"post_id": post["id"], "author_name": "Ana", "body": body}
    return str((await tenant.create("comments", given))["id"])


async def test_a_page_is_told_what_has_changed_and_no_more(url: str, tenant: TenantWorld) -> None:
    editor = await tenant.owner(role="editor")
    async with open_page(url, tenant.host, editor, "comments,mailings") as page:
        comment = await comment_on(tenant, "A secret")
        message = await page.next()
        assert (message.name, message.action) == ("comments", "create")
        assert message.record == {"id": comment}
        await tenant.update("comments", comment, {"status": "spam"})
        assert (await page.next()).action == "update"
        await page.nothing_more()


async def test_one_record_is_followed_without_the_others(url: str, tenant: TenantWorld) -> None:
    owner = await tenant.owner()
    first, second = await comment_on(tenant), await comment_on(tenant)
    async with open_page(url, tenant.host, owner, f"comments/{second}") as page:
        await tenant.update("comments", first, {"status": "spam"})
        await tenant.update("comments", second, {"status": "spam"})
        assert (await page.next()).record == {"id": second}
        await page.nothing_more()


async def test_an_author_is_not_told_of_comments(url: str, tenant: TenantWorld) -> None:
    author = await tenant.owner(role="author")
    async with open_page(url, tenant.host, author, "comments") as page:
        await comment_on(tenant)
        await page.nothing_more()


async def test_another_site_is_not_heard(url: str, app: World, tenant: TenantWorld) -> None:
    other = await app.new_tenant("other")
    owner, operator = await tenant.owner(), await app.operator()
    chosen = f"; mh_site={other.id}"
    async with (
        open_page(url, tenant.host, owner, "comments") as at_site,
        open_page(url, BARE, owner, "comments") as at_service,
        open_page(url, BARE, operator, "comments", also=chosen) as of_operator,
    ):
        theirs = await comment_on(other)
        assert (await of_operator.next()).record == {"id": theirs}
        own = await comment_on(tenant)
        assert (await at_site.next()).record == {"id": own}
        assert (await at_service.next()).record == {"id": own}
        await of_operator.nothing_more()


async def test_the_stream_ends_with_the_session(url: str, tenant: TenantWorld) -> None:
    owner = await tenant.owner()
    async with open_page(url, tenant.host, owner, "comments") as page:
        parts = tenant.world.parts
        [record] = await parts.records.find(superusers, {"id": owner.id}, tenant_id=tenant.id)
        changed = credentials("a hash")
        await parts.accounts.sign_ins.set_password(system(tenant.id), superusers, record, changed)
        await page.end()


async def asked(url: str, tenant: TenantWorld, topics: str, cookie: str) -> httpx.Response:
    headers = {"host": tenant.host, "cookie": cookie, "accept": "text/event-stream"}
    async with httpx.AsyncClient(base_url=url, headers=headers) as api:
        return await api.get(ADDRESS, params={"topics": topics})


async def test_only_staff_listen(url: str, app: World, tenant: TenantWorld) -> None:
    member = await tenant.member()
    stranger = await (await app.new_tenant("other")).owner()
    for cookie in ("", f"pb_auth={member.token}", f"pb_auth={stranger.token}"):
        answer = await asked(url, tenant, "comments", cookie)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/admin/sign-in")


@pytest.mark.parametrize(
    "topics",
    [
        "",
        "posts",
        "superusers",
        "comments/*",
        "comments/../x",
        "comments\n",
        ",".join("abcdefghijkl"),
    ],
)
async def test_other_topics_are_refused(tenant: TenantWorld, topics: str) -> None:
    browser, _ = await staff(tenant, "owner")
    answer = await browser.api.get(ADDRESS, params={"topics": topics})
    assert answer.status_code == 400


async def test_a_page_has_few_topics(tenant: TenantWorld) -> None:
    owner = await tenant.owner()
    browser = visitor(tenant.world, owner, tenant.host)
    topics = ",".join(f"comments/{number:015}" for number in range(MOST + 1))
    answer = await browser.api.get(ADDRESS, params={"topics": topics})
    assert answer.status_code == 400
