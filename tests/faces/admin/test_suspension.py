"""An operator suspends a site: all its faces close, nothing is lost, and it goes on after it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.faces.admin.test_activity import text_in
from tests.faces.admin.visitor import BARE, OWN, Visitor, staff, visitor
from tests.faces.reader.test_member_pages import link_in_mail
from tests.features.payments.processor import Processor, joined
from tests.features.privacy.requests import DELETE, EXPORT, deletion, member_deletion, run_jobs
from tests.features.privacy.test_export import PICTURE
from tests.outside.mail.offices import Office, text_of
from tests.v1.keys import key_client
from tests.world import PASSWORD, Account, TenantWorld, World, records_of

from masthead.base import clock
from masthead.base.ids import TenantId
from masthead.engine.audit.collection import audit_log
from masthead.features.members.unsubscribe import Unsubscribe
from masthead.identity.tenants import tenants
from masthead.service.app import http_app
from masthead.service.services import build
from masthead.web.dispatch import Route
from masthead.web.policy import WhileSuspended, Who

REASON = "The bill of October is open."
HTML = {"accept": "text/html"}
CLOSED = "This site is not available"
OPEN = {
    "/.well-known/security.txt",
    "/api/admins/auth-refresh",
    "/api/admins/auth-with-password",
    "/api/collections/{collection}/auth-methods",
    "/api/collections/{collection}/auth-refresh",
    "/api/collections/{collection}/auth-with-oauth2",
    "/api/collections/{collection}/auth-with-otp",
    "/api/collections/{collection}/auth-with-password",
    "/api/collections/{collection}/confirm-email-change",
    "/api/collections/{collection}/confirm-password-reset",
    "/api/collections/{collection}/confirm-verification",
    "/api/collections/{collection}/request-email-change",
    "/api/collections/{collection}/request-otp",
    "/api/collections/{collection}/request-password-reset",
    "/api/collections/{collection}/request-verification",
    "/api/gdpr/delete",
    "/api/gdpr/delete/{id}/cancel",
    "/api/gdpr/delete/{id}/confirm",
    "/api/gdpr/export",
    "/api/gdpr/export/{id}",
    "/api/health",
    "/api/health/domain",
    "/api/mail/events/{source}",
    "/api/member-webhook/{slug}",
    "/api/openapi.json",
    "/api/payment/webhook",
    "/api/v1/asyncapi.json",
    "/api/v1/docs",
    "/api/v1/docs/reference.css",
    "/api/v1/docs/reference.js",
    "/api/v1/openapi.json",
    "/api/v1/{rest:path}",
    "/assets/site/{name}",
    "/assets/{path:path}",
    "/member/account",
    "/member/account/comment-mails",
    "/member/account/connections",
    "/member/account/email",
    "/member/account/export",
    "/member/account/language",
    "/member/account/name",
    "/member/account/newsletter",
    "/member/account/newsletters",
    "/member/account/password",
    "/member/account/sign-ins",
    "/member/billing",
    "/member/code",
    "/member/comment-mails",
    "/member/confirm-email",
    "/member/delete",
    "/member/forgot",
    "/member/link",
    "/member/reset-password",
    "/member/sign-in",
    "/member/sign-in/with/{slug}",
    "/member/sign-in/with/{slug}/callback",
    "/member/sign-out",
    "/member/sign-out-everywhere",
    "/member/unsubscribe",
}


async def operator_of(world: World) -> Visitor:
    return visitor(world, await world.operator(name="Olga"), BARE)


async def suspend(tenant: TenantWorld, operator: Visitor | None = None) -> Visitor:
    operator = operator or await operator_of(tenant.world)
    answer = await operator.post(
        f"/admin/tenants/{tenant.id}/suspend", {"suspension_reason": REASON}
    )
    assert answer.status_code == 303, answer.text
    return operator


async def lift(tenant: TenantWorld, operator: Visitor) -> None:
    assert (await operator.post(f"/admin/tenants/{tenant.id}/lift")).status_code == 303


def routes_of(world: World) -> list[Route]:
    app: Any = world.http
    return [each for each in app.routes.routes if isinstance(each, Route)]


async def test_readers_see_a_notice_and_no_page_that_was_stored_before(
    app: World, tenant: TenantWorld
) -> None:
    post = await tenant.published()
    paths = ["/", f"/posts/{post['slug']}", "/feed.xml", "/sitemap.xml", "/search?q=big"]
    second = await build(app.parts.settings, app.clock)
    other_process = app.client(tenant.host, app=http_app(second))
    for path in paths:
        assert (await tenant.guest.get(path)).status_code == 200
        assert (await other_process.get(path)).status_code == 200
    operator = await suspend(tenant)
    for reader in (tenant.guest, other_process):
        for path in paths:
            answer = await reader.get(path, headers=HTML)
            assert answer.status_code == 403, path
            assert CLOSED in answer.text
            assert answer.headers["cache-control"] == "no-store"
            assert (await reader.get(path)).status_code == 403
        assert REASON not in answer.text
    await lift(tenant, operator)
    for reader in (tenant.guest, other_process):
        assert [(await reader.get(path)).status_code for path in paths] == [200] * len(paths)
    await second.close()


async def test_every_address_of_the_site_is_closed_unless_it_is_named(
    app: World, tenant: TenantWorld
) -> None:
    await suspend(tenant)
    guest = tenant.guest
    closed = {
        re.sub(r"\{\w+(:\w+)?\}", "x" * 15, route.path)
        for route in routes_of(app)
        for action in route.actions.values()
        if action.policy.while_suspended is not WhileSuspended.OPEN
        and action.policy.who is not Who.KEY
    }
    assert len(closed) > 30
    for path in [*closed, "/about", "/administration"]:
        assert (await guest.get(path, headers=HTML)).status_code == 403, path
        assert (await guest.post(path, headers=OWN)).status_code == 403, path


def test_what_a_suspended_site_answers_is_named_here(app: World) -> None:
    """One more needs a reason: each of these holds nothing of the site, or is what a person may ask
    of their data, of emails and of payments that go on."""
    is_open = {
        route.path
        for route in routes_of(app)
        for method, action in route.actions.items()
        if action.policy.while_suspended is WhileSuspended.OPEN and method != "OPTIONS"
    }
    assert is_open == OPEN


async def test_a_page_whose_name_begins_as_an_open_address_is_closed(tenant: TenantWorld) -> None:
    page = {"title": "Assets", "slug": "assets-we-sell", "status": "published"}
    await tenant.create("pages", page)
    assert (await tenant.guest.get("/assets-we-sell")).status_code == 200
    await suspend(tenant)
    assert (await tenant.guest.get("/assets-we-sell")).status_code == 403


async def test_another_site_is_as_before(tenant: TenantWorld, other_tenant: TenantWorld) -> None:
    await other_tenant.published()
    await suspend(tenant)
    assert (await other_tenant.guest.get("/")).status_code == 200
    owner, _ = await staff(other_tenant, "owner")
    assert (await owner.get("/admin")).status_code == 200


async def test_keys_do_not_work(app: World, tenant: TenantWorld) -> None:
    here = await key_client(tenant)
    on_the_bare_host = await key_client(tenant, host="localhost")
    for api in (here, on_the_bare_host):
        assert (await api.get("/api/v1/posts")).status_code == 200
    operator = await suspend(tenant)
    for api in (here, on_the_bare_host):
        for answer in (
            await api.get("/api/v1/posts"),
            await api.post("/api/v1/posts", json={"title": "No"}),
        ):
            assert answer.status_code == 403
            assert answer.json()["error"]["code"] == "FORBIDDEN"
            assert "suspended" in answer.json()["error"]["message"]
    assert (await tenant.guest.get("/api/v1/posts")).status_code == 401
    await lift(tenant, operator)
    assert (await here.get("/api/v1/posts")).status_code == 200


async def test_the_record_store_is_closed_on_both_hosts(app: World, tenant: TenantWorld) -> None:
    post = await tenant.published(title="Hidden away")
    owner, member = await tenant.owner(), await tenant.member()
    media = await owner.api.post(records_of("media"), files={"file": ("dot.png", PICTURE)})
    file = media.json()
    path = f"/api/files/media/{file['id']}/{file['file']}"
    bare = app.client()
    found = (await bare.get(f"{records_of('posts')}?filter=(title='Hidden away')")).json()
    before = (await bare.get(records_of("posts"))).json()["totalItems"]
    assert found["totalItems"] == 1
    operator = await suspend(tenant)
    for account in (owner, member):
        for client in (account.api, app.client(token=account.token)):
            answer = await client.get(records_of("posts"))
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
            changed = await client.patch(records_of("posts", post["id"]), json={"title": "x"})
            assert changed.status_code == 403
    assert (await tenant.guest.get(records_of("posts"))).status_code == 403
    found = (await bare.get(f"{records_of('posts')}?filter=(title='Hidden away')")).json()
    assert (found["totalItems"], found["items"]) == (0, [])
    assert (await bare.get(records_of("posts"))).json()["totalItems"] == before - 1
    assert (await bare.get(records_of("posts", post["id"]))).status_code == 404
    for client in (tenant.guest, bare):
        assert (await client.get(path)).status_code == 403
        assert (await client.get(path.replace("/api/files", ""))).status_code == 403
    # An operator still sees it.
    everything = app.client(token=(await app.operator()).token)
    assert (await everything.get(records_of("posts", post["id"]))).status_code == 200
    await lift(tenant, operator)
    assert (await owner.api.get(records_of("posts"))).status_code == 200
    assert (await bare.get(path)).status_code == 200


@pytest.mark.parametrize("role", ["owner", "editor", "author"])
async def test_the_staff_reads_why_and_can_do_nothing_else(tenant: TenantWorld, role: str) -> None:
    person, account = await staff(tenant, role)
    post = await tenant.post(authors=[account.id])
    token = await person.token()
    await suspend(tenant)
    on_the_bare_host = visitor(tenant.world, account, BARE)
    for each in (person, on_the_bare_host):
        for path in ("/admin", "/admin/posts", "/admin/settings", f"/admin/posts/{post['id']}"):
            answer = await each.get(path)
            assert answer.status_code == 403, path
            assert REASON in answer.text
            assert "This site is suspended" in answer.text
            assert 'href="/admin/posts"' not in answer.text
        forged = await each.post("/admin/posts/new", {"title": "In spite of it"})
        assert forged.status_code == 403
        assert (await each.get("/admin/account")).status_code == 200
        assert (await each.get("/admin/palette?q=Hello")).status_code == 200
    headers = {**OWN, "x-form-token": token, "x-page-owner": f"{tenant.id}/{account.id}"}
    saved = await person.api.post(
        f"/admin/posts/{post['id']}/text", json={"title": "No"}, headers=headers
    )
    assert saved.status_code == 403
    found = await tenant.world.parts.records.find(
        tenant.world.collection("posts"), {}, tenant_id=tenant.id, limit=10
    )
    assert [each["title"] for each in found] == ["Hello big world"]


async def test_an_owner_can_sign_in_and_take_the_data_along(tenant: TenantWorld) -> None:
    _, account = await staff(tenant, "owner")
    await suspend(tenant)
    owner = Visitor(tenant.guest)
    form = {"email": account.email, "password": PASSWORD}
    assert (await owner.api.post("/admin/sign-in", data=form, headers=OWN)).status_code == 303
    page = (await owner.get("/admin")).text
    assert 'href="/admin/settings/privacy"' in page
    assert (await owner.get("/admin/settings/privacy")).status_code == 200
    copy = await owner.post("/admin/settings/privacy/export")
    assert "Copy of the site" in await owner.follow(copy)
    editor, _ = await staff(tenant, "editor")
    assert (await editor.get("/admin/settings/privacy")).status_code == 403


async def test_the_owner_is_mailed_the_reason_once(office: Office) -> None:
    tenant = await office.world.new_tenant("demo")
    owner = await tenant.owner()
    operator = await suspend(tenant)
    await suspend(tenant, operator)
    [mail] = [each for each in await office.mails() if owner.email in each["to"]]
    assert "was suspended" in mail["subject"]
    assert REASON in text_of(mail)


async def test_an_operator_works_there_as_before(app: World, tenant: TenantWorld) -> None:
    operator = await suspend(tenant)
    await operator.follow(await operator.post(f"/admin/tenants/{tenant.id}"))
    answer = await operator.get("/admin/posts")
    assert answer.status_code == 200
    assert "This site is suspended" in answer.text
    there = visitor(app, await app.operator(), tenant.host)
    assert (await there.get("/admin/posts")).status_code == 200
    # By the record store, too, at every host.
    api = app.client(tenant.host, token=(await app.operator()).token)
    assert (await api.get(records_of("posts"))).status_code == 200
    # Signs in there, too.
    account = await app.operator()
    form = {"email": account.email, "password": PASSWORD}
    answer = await Visitor(tenant.guest).api.post("/admin/sign-in", data=form, headers=OWN)
    assert answer.status_code == 303


async def test_payments_are_taken_while_it_is_suspended(app: World, tenant: TenantWorld) -> None:
    await tenant.settings(member_payment_webhook_secret="whsec_test_secret")
    processor = Processor(tenant)
    await suspend(tenant)
    await processor.send(joined())
    assert (await processor.one("blog_members", email="reader@example.com"))["tier"] == "paid"


async def test_people_can_still_ask_for_their_data(app: World, tenant: TenantWorld) -> None:
    member, owner = await tenant.member(), await tenant.owner()
    await suspend(tenant)
    signed_in = await tenant.guest.post(
        "/api/collections/blog_members/auth-with-password",
        json={"identity": member.email, "password": PASSWORD},
    )
    assert signed_in.status_code == 200
    api = app.client(tenant.host, token=signed_in.json()["token"])
    asked = {"type": "member", "member_id": member.id}
    assert (await api.post(EXPORT, json=asked)).status_code in (200, 202)
    assert (await api.post(DELETE, json=member_deletion(member.id))).status_code == 202
    assert (await owner.api.post(EXPORT, json={"type": "tenant"})).status_code in (200, 202)
    reader = visitor_of(app, tenant, member)
    account = await reader.get("/member/account", headers=HTML)
    assert account.status_code == 200
    link = Unsubscribe(app.parts.records, app.parts.keyring).url(
        f"http://{tenant.host}", tenant.id, member.email
    )
    assert (await tenant.guest.post(link)).status_code == 200
    assert (await tenant.guest.get("/member/sign-in", headers=HTML)).status_code == 200
    assert (await tenant.guest.get("/member/sign-up", headers=HTML)).status_code == 403


async def test_nobody_joins_by_a_link_that_was_mailed_before(office: Office) -> None:
    tenant = await office.world.new_tenant()
    form = {"email": "ada@example.com"}
    await tenant.guest.post("/member/sign-up", data=form, headers=OWN)
    link = await link_in_mail(office, "ada@example.com")
    await suspend(tenant)
    token = {"token": link.partition("token=")[2]}
    assert (await tenant.guest.post("/member/link", data=token, headers=OWN)).status_code == 403
    found = await office.world.parts.records.find(
        office.world.collection("blog_members"), form, tenant_id=tenant.id
    )
    assert found == []


async def test_an_owner_can_still_cancel_an_erasure(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    member = await tenant.member()
    address = f"/admin/members/{member.id}"
    page = await owner.follow(await owner.post(f"{address}/erase", {"email": member.email}))
    [cancel] = re.findall(r'action="([^"]*/cancel)"', page)
    await suspend(tenant)
    assert (await owner.post(cancel)).status_code == 303
    [request] = await tenant.world.parts.records.find(
        tenant.world.collection("gdpr_requests"), {}, tenant_id=tenant.id
    )
    assert request["status"] == "cancelled"
    assert (await owner.get(address)).status_code == 403


def visitor_of(app: World, tenant: TenantWorld, member: Account) -> Any:
    client = app.client(tenant.host)
    client.cookies.set("pb_member_auth", member.token, domain=tenant.host)
    return client


async def test_a_members_page_shows_nothing_of_the_site_but_its_name(
    app: World, tenant: TenantWorld
) -> None:
    await tenant.settings(
        site_description="Buy here", navigation=[{"label": "Offers", "url": "https://bad.example"}]
    )
    assert "Offers" in (await tenant.guest.get("/member/sign-in")).text
    await suspend(tenant)
    page = (await tenant.guest.get("/member/sign-in")).text
    assert "Offers" not in page
    assert "Buy here" not in page


async def test_a_post_is_not_published_until_it_is_lifted(app: World, tenant: TenantWorld) -> None:
    at = clock.to_text(app.clock().replace(hour=12))
    post = await tenant.post(scheduled_for=at)
    operator = await suspend(tenant)
    app.clock.advance(hours=4)
    for _ in range(3):
        await run_jobs(app)
        app.clock.advance(minutes=10)
    assert (await stored(tenant, "posts", post["id"]))["status"] == "draft"
    await lift(tenant, operator)
    app.clock.advance(minutes=10)
    await run_jobs(app)
    await run_jobs(app)
    assert (await stored(tenant, "posts", post["id"]))["status"] == "published"
    assert (await tenant.event_names()).count("post.published") == 1


async def stored(tenant: TenantWorld, collection: str, record_id: str) -> dict[str, Any]:
    [found] = await tenant.world.parts.records.find(
        tenant.world.collection(collection), {"id": record_id}, tenant_id=tenant.id
    )
    return found


async def test_owner_and_operators_see_it_in_the_log(app: World, tenant: TenantWorld) -> None:
    account = await app.operator(name="Olga")
    operator = await suspend(tenant, visitor(app, account, BARE))
    await lift(tenant, operator)
    owner, _ = await staff(tenant, "owner")
    page = text_in((await owner.get("/admin/activity")).text)
    assert "Suspended the site demo" in page
    assert "Reopened the site demo" in page
    path = f"/admin/operator/activity?subject=tenants&account={account.id}"
    everywhere = text_in((await operator.get(path)).text)
    assert "Suspended the site demo" in everywhere
    entries = await app.parts.records.find(audit_log, {}, tenant_id=tenant.id, limit=50)
    assert not any(REASON in str(each) for each in entries)


async def test_the_list_and_the_page_of_a_site_say_its_state(
    app: World, tenant: TenantWorld
) -> None:
    await tenant.published()
    await tenant.member()
    operator = await suspend(tenant)
    page = (await operator.get(f"/admin/tenants/{tenant.id}")).text
    assert "Suspended" in page
    assert REASON in page
    listed = (await operator.get(f"/admin/tenants?status=suspended&q={tenant.slug}")).text
    [row] = [each for each in listed.split("<tr>") if f"/admin/tenants/{tenant.id}" in each]
    assert "Suspended" in row
    assert "business".capitalize() in row
    assert re.findall(r'num drop-s">(\d+)<', row) == ["1", "1"]
    active = (await operator.get(f"/admin/tenants?status=active&q={tenant.slug}")).text
    assert f"/admin/tenants/{tenant.id}" not in active
    await lift(tenant, operator)
    page = (await operator.get(f"/admin/tenants/{tenant.id}")).text
    assert REASON not in page
    assert "Suspend…" in page


async def test_its_address_stays_reserved(app: World, tenant: TenantWorld) -> None:
    operator = await suspend(tenant)
    new = {"name": "Another", "slug": tenant.slug, "plan": "pro", "email": "a@example.com"}
    answer = await operator.post("/admin/tenants/new", new)
    assert answer.status_code == 422
    assert 'id="slug-error"' in answer.text


@pytest.mark.parametrize("reason", ["", "   ", "x" * 1001])
async def test_a_suspension_needs_a_reason_of_some_length(
    app: World, tenant: TenantWorld, reason: str
) -> None:
    operator = await operator_of(app)
    form = {"suspension_reason": reason}
    answer = await operator.post(f"/admin/tenants/{tenant.id}/suspend", form)
    assert answer.status_code == 422
    assert 'id="suspension_reason-error"' in answer.text
    assert (await tenant.guest.get("/")).status_code == 200


async def test_the_reason_can_be_changed_and_the_date_stays(
    app: World, tenant: TenantWorld
) -> None:
    operator = await suspend(tenant)
    before = await stored(tenant, "tenants", tenant.id)
    app.clock.advance(hours=1)
    path = f"/admin/tenants/{tenant.id}/suspend"
    await operator.post(path, {"suspension_reason": "Another one."})
    after = await stored(tenant, "tenants", tenant.id)
    assert after["suspension_reason"] == "Another one."
    assert after["suspended_at"] == before["suspended_at"] != ""


@pytest.mark.parametrize("action", ["suspend", "lift", "delete", "stay"])
async def test_only_operators_change_the_state(
    app: World, tenant: TenantWorld, action: str
) -> None:
    owner, account = await staff(tenant, "owner")
    form = {"suspension_reason": "x", "tenant_slug": tenant.slug}
    form["confirmation_phrase"] = "DELETE MY DATA"
    before = await stored(tenant, "tenants", tenant.id)
    path = f"/admin/tenants/{tenant.id}/{action}"
    assert (await owner.get(path)).status_code in (403, 405)
    assert (await owner.post(path, form)).status_code == 403
    for values in ({"status": "suspended"}, {"suspension_reason": "x"}):
        await account.api.patch(records_of("tenants", tenant.id), json=values)
    assert await stored(tenant, "tenants", tenant.id) == before
    operator = await operator_of(app)
    unknown = path.replace(tenant.id, "a" * 15)
    assert (await operator.post(unknown, form)).status_code == 404


async def test_an_operator_deletes_a_site_as_its_owner_would(
    app: World, tenant: TenantWorld
) -> None:
    owner, _ = await staff(tenant, "owner")
    operator = await operator_of(app)
    path = f"/admin/tenants/{tenant.id}/delete"
    typed = deletion(tenant)
    for wrong in ({"tenant_slug": "other"}, {"tenant_slug": ""}, {"confirmation_phrase": "yes"}):
        answer = await operator.post(path, typed | wrong)
        assert answer.status_code == 422
        assert 'aria-invalid="true"' in answer.text
    page = await operator.follow(await operator.post(path, typed))
    assert "This site will be deleted on 14 Dec 2026" in page
    # By its name: the service has sites of other tests, too.
    assert "Being deleted" in (await operator.get(f"/admin/tenants?q={tenant.slug}")).text
    assert "This site will be deleted" in (await owner.get("/admin/settings/privacy")).text
    log = text_in((await owner.get("/admin/activity")).text)
    assert "Scheduled the deletion of the site" in log
    # The site's own log goes with the site.
    assert await app.parts.records.find(
        audit_log, {"action": "planned a deletion", "label": "demo"}, tenant_id=TenantId("")
    )
    stays = await operator.follow(await operator.post(f"/admin/tenants/{tenant.id}/stay"))
    assert "stays" in stays
    assert "Delete the site…" in stays
    assert "Cancelled the deletion" in text_in((await owner.get("/admin/activity")).text)
    again = await operator.follow(await operator.post(f"/admin/tenants/{tenant.id}/stay"))
    assert "no deletion" in again
    app.clock.advance(days=31)
    await run_jobs(app)
    assert await app.parts.records.find(tenants, {"id": tenant.id})


async def test_a_suspended_site_is_deleted_after_30_days(app: World, tenant: TenantWorld) -> None:
    await tenant.owner()
    operator = await suspend(tenant)
    await operator.post(f"/admin/tenants/{tenant.id}/delete", deletion(tenant))
    app.clock.advance(days=31)
    for _ in range(3):
        await run_jobs(app)
    assert not await app.parts.records.find(tenants, {"id": tenant.id})
    assert (await tenant.guest.get("/")).status_code == 404
