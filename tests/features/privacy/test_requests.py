"""Requests over HTTP: who may send them, what is refused, what changes and when."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.features.privacy.requests import (
    DELETE,
    EXPORT,
    PHRASE,
    deletion,
    mails_of,
    member_deletion,
    only_mail,
    outsider,
    request_of,
    run_jobs,
    with_header_auth,
)
from tests.world import Account, TenantWorld, World, records_of

from masthead.base import clock
from masthead.base.caller import Caller, Kind
from masthead.base.config.values import GdprHeaderAuth
from masthead.base.errors import RateLimited
from masthead.features.privacy.limits import MEMBERS, OWNERS, admit
from masthead.identity.sessions import ADMIN_COOKIE

BROWSER = {"accept": "text/html,application/xhtml+xml"}


async def settings_of(tenant: TenantWorld) -> Any:
    records = tenant.world.parts.records
    (settings,) = await records.find(
        tenant.world.collection("site_settings"), {}, tenant_id=tenant.id
    )
    return settings


async def is_read_only(tenant: TenantWorld) -> bool:
    settings = await settings_of(tenant)
    assert bool(settings["read_only_mode"]) is bool(settings["deleted_at"])
    return bool(settings["read_only_mode"])


def error_code(answer: Any) -> str:
    body = answer.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "details"}
    return str(body["error"]["code"])


# Who may ask


@pytest.mark.parametrize("path", [EXPORT, DELETE])
async def test_neither_header_nor_session_is_401(path: str, tenant: TenantWorld) -> None:
    for client in (tenant.guest, tenant.world.client("localhost")):
        answer = await client.post(path, json=deletion(tenant, tenant_id=tenant.id))
        assert (answer.status_code, error_code(answer)) == (401, "UNAUTHORIZED")


async def test_an_api_key_is_no_session(tenant: TenantWorld, app: World) -> None:
    client = app.client(tenant.host, token="mh_live_" + "x" * 40)
    assert (await client.post(EXPORT, json={"type": "tenant"})).status_code == 401


@pytest.mark.parametrize("path", [EXPORT, DELETE])
async def test_a_header_that_names_no_tenant_is_400(path: str, app: World) -> None:
    client = app.client("localhost")
    client.headers["x-tenant-id"] = "doesnotexist000"
    answer = await client.post(path, json={"type": "tenant"})
    assert (answer.status_code, error_code(answer)) == (400, "BAD_REQUEST")


async def test_the_header_is_refused_when_switched_off(tenant: TenantWorld, owner: Account) -> None:
    off = with_header_auth(tenant.world, GdprHeaderAuth.OFF)
    assert (
        await outsider(tenant, app=off).post(EXPORT, json={"type": "tenant"})
    ).status_code == 401
    signed_in = tenant.world.client(tenant.host, token=owner.token, app=off)
    assert (await signed_in.post(EXPORT, json={"type": "tenant"})).status_code == 200


async def test_the_admin_cookie_is_a_session_on_its_own_site_only(
    tenant: TenantWorld, owner: Account
) -> None:
    client = tenant.world.client(tenant.host)
    client.headers["cookie"] = f"{ADMIN_COOKIE}={owner.token}"
    assert (await client.post(EXPORT, json={"type": "tenant"})).status_code == 200
    from_elsewhere = {"origin": "http://evil.localhost"}
    answer = await client.post(EXPORT, json={"type": "tenant"}, headers=from_elsewhere)
    assert answer.status_code == 401


async def test_a_session_that_names_another_tenant_is_401(
    owner: Account, other_tenant: TenantWorld, app: World
) -> None:
    other = other_tenant
    in_body = await owner.api.post(EXPORT, json={"type": "tenant", "tenant_id": other.id})
    by_header = app.client("localhost", token=owner.token)
    by_header.headers["x-tenant-id"] = other.id
    named = await by_header.post(EXPORT, json={"type": "tenant"})
    at_host = await app.client(other.host, token=owner.token).post(EXPORT, json={"type": "tenant"})
    assert [each.status_code for each in (in_body, named, at_host)] == [401, 401, 401]
    assert await mails_of(app, other.id) == []


async def test_the_bodys_tenant_wins_over_the_header(
    tenant: TenantWorld, other_tenant: TenantWorld, owner: Account, app: World
) -> None:
    answer = await outsider(other_tenant).post(
        EXPORT, json={"type": "tenant", "tenant_id": tenant.id}
    )
    assert answer.status_code == 200
    assert (await only_mail(app, tenant.id)).to == owner.email
    assert await mails_of(app, other_tenant.id) == []


async def test_an_operator_says_which_tenant(tenant: TenantWorld, operator: Account) -> None:
    assert (await operator.api.post(EXPORT, json={"type": "tenant"})).status_code == 400
    named = {"type": "tenant", "tenant_id": tenant.id}
    assert (await operator.api.post(EXPORT, json=named)).status_code == 200


async def test_members_ask_for_themselves_only(tenant: TenantWorld, member: Account) -> None:
    other = await tenant.member()
    for body in ({"type": "tenant"}, {"type": "member", "member_id": other.id}):
        assert (await member.api.post(EXPORT, json=body)).status_code == 401
    own = await member.api.post(EXPORT, json={"type": "member", "member_id": member.id})
    assert own.status_code == 200
    assert own.json()["inline_data"]["member"]["email"] == member.email


# What is refused


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"type": "everything"},
        {"type": 3},
        {"type": "member"},
        {"type": "member", "member_id": 5},
        {"type": "tenant", "notify_email": ["a"]},
        {"type": "tenant", "blog_name": 1},
        {"type": "tenant", "tenant_id": "doesnotexist000"},
        {"type": "tenant", "tenant_id": 7},
    ],
)
async def test_400_for_a_missing_value_or_one_of_the_wrong_type(
    body: dict[str, Any], owner: Account, tenant: TenantWorld, operator: Account
) -> None:
    client = operator if "tenant_id" in body else owner
    answer = await client.api.post(EXPORT, json=body)
    assert (answer.status_code, error_code(answer)) == (400, "BAD_REQUEST")
    answer = await client.api.post(
        DELETE, json={"confirmation_phrase": PHRASE, "tenant_slug": tenant.slug} | body
    )
    assert (answer.status_code, error_code(answer)) == (400, "BAD_REQUEST")


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'{"type": "tenant"'])
async def test_400_for_no_json_object(raw: bytes, owner: Account) -> None:
    for path in (EXPORT, DELETE):
        assert (await owner.api.post(path, content=raw)).status_code == 400


@pytest.mark.parametrize(
    "changed",
    [
        {"confirmation_phrase": None},
        {"confirmation_phrase": "delete my data"},
        {"confirmation_phrase": True},
        {"tenant_slug": None},
        {"tenant_slug": 3},
    ],
)
async def test_400_for_a_deletion_without_phrase_or_slug(
    changed: dict[str, Any], owner: Account, tenant: TenantWorld
) -> None:
    answer = await owner.api.post(DELETE, json=deletion(tenant) | changed)
    assert (answer.status_code, error_code(answer)) == (400, "BAD_REQUEST")
    assert not await is_read_only(tenant)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"tenant_slug": "another"}, "tenant_slug"),
        ({"notify_email": "nobody"}, "notify_email"),
        ({"type": "member", "member_id": "doesnotexist000"}, "member_id"),
        ({"type": "member", "member_id": "not an id"}, "member_id"),
    ],
)
async def test_422_for_a_well_formed_value_that_is_wrong(
    changed: dict[str, Any], field: str, owner: Account, tenant: TenantWorld
) -> None:
    answer = await owner.api.post(DELETE, json=deletion(tenant) | changed)
    assert (answer.status_code, error_code(answer)) == (422, "VALIDATION_ERROR")
    assert list(answer.json()["error"]["details"]) == [field]
    assert not await is_read_only(tenant)


async def test_another_tenants_member_is_unknown(owner: Account, other_tenant: TenantWorld) -> None:
    stranger = await other_tenant.member()
    answer = await owner.api.post(EXPORT, json={"type": "member", "member_id": stranger.id})
    assert answer.status_code == 422


async def test_other_methods_and_addresses(owner: Account) -> None:
    answer = await owner.api.get(EXPORT)
    assert (answer.status_code, error_code(answer)) == (405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == "POST"
    answer = await owner.api.get("/api/gdpr/nothing")
    assert (answer.status_code, error_code(answer)) == (404, "NOT_FOUND")


# How often


async def test_the_sixth_request_of_an_hour_is_429(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    client = outsider(tenant, address="203.0.113.9")
    for body in (deletion(tenant, tenant_slug="wrong"),) * 7:
        assert (await client.post(DELETE, json=body)).status_code == 422
    for path in (EXPORT, DELETE, EXPORT, DELETE, EXPORT):
        assert (await client.post(path, json=deletion(tenant))).status_code in (200, 202)
        app.clock.advance(minutes=1)
    answer = await client.post(DELETE, json=deletion(tenant))
    assert (answer.status_code, error_code(answer)) == (429, "RATE_LIMITED")
    assert answer.headers["retry-after"] == str(55 * 60)
    assert len(await mails_of(app, tenant.id)) == 5

    elsewhere = outsider(tenant, address="203.0.113.10")
    assert (await elsewhere.post(EXPORT, json={"type": "tenant"})).status_code == 200
    assert (await owner.api.post(EXPORT, json={"type": "tenant"})).status_code == 200
    app.clock.advance(minutes=56)
    assert (await client.post(EXPORT, json={"type": "tenant"})).status_code == 200


async def test_addresses_of_one_ipv6_network_are_counted_together(tenant: TenantWorld) -> None:
    for number in range(6):
        client = outsider(tenant, address=f"2001:db8:7:1::{number + 1:x}")
        answer = await client.post(EXPORT, json={"type": "tenant"})
        assert answer.status_code == (429 if number == 5 else 200)
    neighbour = outsider(tenant, address="2001:db8:7:2::1")
    assert (await neighbour.post(EXPORT, json={"type": "tenant"})).status_code == 200


@pytest.mark.parametrize("path", [EXPORT, DELETE])
async def test_a_members_session_mails_the_member_alone_in_the_sites_own_name(
    path: str, tenant: TenantWorld, member: Account, app: World
) -> None:
    words = "=?utf-8?q?x=0d=0aBcc:=20eve=40example.com?= Buy now"
    asked = member_deletion(member.id) | {"notify_email": "eve@example.com", "blog_name": words}
    assert (await member.api.post(path, json=asked)).status_code in (200, 202)
    mail = await only_mail(app, tenant.id)
    assert mail.to == member.email
    site = await app.parts.sites.of(tenant.id)
    assert site.name in mail.rendered.subject
    assert "Buy now" not in mail.rendered.subject + mail.rendered.text + mail.rendered.html


async def test_a_member_over_the_limit_is_429_and_other_callers_are_not(
    tenant: TenantWorld, owner: Account, member: Account, app: World
) -> None:
    asked = {"type": "member", "member_id": member.id}
    for _ in range(MEMBERS.per_caller):
        assert (await member.api.post(EXPORT, json=asked)).status_code == 200
    for path in (EXPORT, DELETE):
        answer = await member.api.post(path, json=member_deletion(member.id))
        assert (answer.status_code, error_code(answer)) == (429, "RATE_LIMITED")
        assert int(answer.headers["retry-after"]) <= 3600
    assert len(await mails_of(app, tenant.id)) == MEMBERS.per_caller
    another = await tenant.member()
    own = {"type": "member", "member_id": another.id}
    assert (await another.api.post(EXPORT, json=own)).status_code == 200
    assert (await owner.api.post(EXPORT, json=asked)).status_code == 200
    app.clock.advance(hours=1)
    assert (await member.api.post(EXPORT, json=asked)).status_code == 200


async def test_an_owner_over_the_limit_is_429(
    tenant: TenantWorld, owner: Account, member: Account
) -> None:
    asked = {"type": "member", "member_id": member.id, "notify_email": "eve@example.com"}
    for _ in range(OWNERS.per_caller):
        assert (await owner.api.post(EXPORT, json=asked)).status_code == 200
    answer = await owner.api.post(EXPORT, json=asked)
    assert (answer.status_code, error_code(answer)) == (429, "RATE_LIMITED")
    own = {"type": "member", "member_id": member.id}
    assert (await member.api.post(EXPORT, json=own)).status_code == 200


async def test_all_members_of_a_site_are_limited_together(tenant: TenantWorld, app: World) -> None:
    windows = app.parts.windows
    for number in range(MEMBERS.per_site):
        await admit(windows, tenant.id, caller(Kind.MEMBER, tenant, number), "")
    with pytest.raises(RateLimited):
        await admit(windows, tenant.id, caller(Kind.MEMBER, tenant, MEMBERS.per_site), "")
    await admit(windows, tenant.id, caller(Kind.OWNER, tenant, 0), "")
    await admit(windows, tenant.id, None, "203.0.113.11")


def caller(kind: Kind, tenant: TenantWorld, number: int) -> Caller:
    return Caller(kind, tenant.id, f"account{number}", "", "blog_members")


# A deletion by a signed-in caller


async def test_an_owners_deletion_takes_effect_at_once_and_can_be_cancelled(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    answer = await owner.api.post(DELETE, json=deletion(tenant, notify_email="Me@Example.com"))
    assert answer.status_code == 202
    body = answer.json()
    assert set(body) == {"request_id", "status", "type", "grace_until", "cancellation_url"}
    assert (body["status"], body["type"]) == ("queued", "tenant")
    assert body["grace_until"] == clock.to_text(app.clock() + timedelta(days=30))
    assert tenant.id not in answer.text
    assert await is_read_only(tenant)

    first, second = await mails_of(app, tenant.id)
    assert {first.to, second.to} == {owner.email, "me@example.com"}
    assert "/confirm" not in first.rendered.text
    link = first.link("/cancel")
    assert body["cancellation_url"] == f"http://localhost{link}"
    stored = await request_of(app, body["request_id"])
    assert link.rpartition("=")[2] not in str(stored)

    cancelled = await app.client("localhost").get(link)
    assert cancelled.status_code == 200
    assert cancelled.json() == {"request_id": body["request_id"], "status": "cancelled"}
    assert not await is_read_only(tenant)
    again = await app.client("localhost").get(link)
    assert (again.status_code, error_code(again)) == (404, "NOT_FOUND")


async def test_read_only_holds_on_every_face_while_the_deletion_waits(
    tenant: TenantWorld, owner: Account, member: Account, published_post: Any
) -> None:
    answer = await owner.api.post(DELETE, json=deletion(tenant))
    change = await owner.api.patch(
        records_of("posts", published_post["id"]), json={"title": "Changed"}
    )
    assert change.status_code == 403
    renamed = await member.api.patch(records_of("blog_members", member.id), json={"name": "Ada"})
    assert renamed.status_code == 403
    assert (await tenant.guest.get(records_of("posts"))).json()["totalItems"] == 1
    await tenant.guest.get(answer.json()["cancellation_url"])
    change = await owner.api.patch(
        records_of("posts", published_post["id"]), json={"title": "Changed"}
    )
    assert change.status_code == 200


@pytest.mark.parametrize("deletions", [1, 2])
async def test_cancelling_leaves_the_read_only_mode_of_the_operator(
    deletions: int, tenant: TenantWorld, owner: Account, app: World
) -> None:
    await tenant.settings(read_only_mode=True)
    for _ in range(deletions):
        answer = (await owner.api.post(DELETE, json=deletion(tenant))).json()
    await app.client().get(answer["cancellation_url"])
    settings = await settings_of(tenant)
    assert (settings["read_only_mode"], settings["deleted_at"]) == (True, "")
    change = await owner.api.patch(records_of("site_settings", settings["id"]), json={"name": "X"})
    assert change.status_code == 403
    await tenant.settings(read_only_mode=False)
    answer = (await owner.api.post(DELETE, json=deletion(tenant))).json()
    await app.client().get(answer["cancellation_url"])
    assert not await is_read_only(tenant)


async def test_a_cancel_link_dies_with_the_grace_period(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    link = (await owner.api.post(DELETE, json=deletion(tenant))).json()["cancellation_url"]
    app.clock.advance(days=30)
    assert (await app.client().get(link)).status_code == 404
    assert await is_read_only(tenant)


async def test_cancelling_one_of_two_deletions_ends_both(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    first, second = [(await owner.api.post(DELETE, json=deletion(tenant))).json() for _ in range(2)]
    await app.client().get(second["cancellation_url"])
    assert not await is_read_only(tenant)
    assert (await request_of(app, first["request_id"]))["status"] == "cancelled"
    app.clock.advance(days=31)
    await run_jobs(app)
    assert (await tenant.guest.get(records_of("posts"))).status_code == 200


@pytest.mark.parametrize("token", ["", "?token=", "?token=wrong", "?token=a&token=b"])
async def test_a_link_without_its_token_is_404(
    token: str, tenant: TenantWorld, owner: Account, app: World
) -> None:
    body = (await owner.api.post(DELETE, json=deletion(tenant))).json()
    for path in (
        f"/api/gdpr/delete/{body['request_id']}/cancel",
        f"/api/gdpr/delete/{body['request_id']}/confirm",
        f"/api/gdpr/export/{body['request_id']}",
        "/api/gdpr/delete/nosuchrequest00/cancel",
        "/api/gdpr/delete/%00/cancel",
    ):
        answer = await app.client().get(path + token)
        assert (answer.status_code, error_code(answer)) == (404, "NOT_FOUND")
    assert (await request_of(app, body["request_id"]))["status"] == "queued"


# A deletion by a caller who only knows the tenant's id


async def test_by_header_alone_nothing_changes_until_the_owner_confirms(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    asked = deletion(tenant, notify_email="eve@example.com", blog_name="Click here")
    answer = await outsider(tenant).post(DELETE, json=asked)
    assert answer.status_code == 202
    body = answer.json()
    cancel = f"http://localhost/api/gdpr/delete/{body['request_id']}/cancel"
    assert body["cancellation_url"] == cancel
    assert not await is_read_only(tenant)
    mail = await only_mail(app, tenant.id)
    assert mail.to == owner.email
    assert "Click here" not in mail.rendered.text + mail.rendered.html + mail.rendered.subject

    app.clock.advance(days=10)
    confirmed = await app.client().post(mail.link("/confirm"))
    assert confirmed.status_code == 200
    assert confirmed.json() == {"request_id": body["request_id"], "status": "queued"}
    assert await is_read_only(tenant)
    stored = await request_of(app, body["request_id"])
    assert stored["grace_until"] == clock.to_text(app.clock() + timedelta(days=30))
    assert (await app.client().post(mail.link("/confirm"))).status_code == 200

    assert (await app.client().get(mail.link("/cancel"))).json()["status"] == "cancelled"
    assert not await is_read_only(tenant)
    for method in ("GET", "POST"):
        assert (await app.client().request(method, mail.link("/confirm"))).status_code == 404


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html", ""])
async def test_a_confirm_link_that_is_only_opened_changes_nothing(
    accept: str, tenant: TenantWorld, owner: Account, app: World
) -> None:
    body = (await outsider(tenant).post(DELETE, json=deletion(tenant))).json()
    link = (await only_mail(app, tenant.id)).link("/confirm")
    seen = await app.client().get(link, headers={"accept": accept})
    assert seen.status_code == 200
    assert not (await request_of(app, body["request_id"]))["confirmed_at"]
    assert not await is_read_only(tenant)
    if accept != "text/html":
        awaiting = {"request_id": body["request_id"], "status": "awaiting_confirmation"}
        assert seen.json() == awaiting
    await app.client().post(link)
    again = await app.client().get(link, headers={"accept": accept})
    assert "<form" not in again.text
    if accept != "text/html":
        assert again.json() == {"request_id": body["request_id"], "status": "queued"}


async def test_an_unconfirmed_deletion_is_cancelled(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    body = (await outsider(tenant).post(DELETE, json=deletion(tenant))).json()
    mail = await only_mail(app, tenant.id)
    app.clock.advance(days=30, seconds=1)
    await app.parts.privacy.work.sweep()
    await run_jobs(app)
    assert (await app.client().get(mail.link("/confirm"))).status_code == 404
    assert (await request_of(app, body["request_id"]))["status"] == "cancelled"
    assert (await tenant.guest.get(records_of("posts"))).status_code == 200


async def test_a_deletion_that_is_confirmed_while_old_ones_are_cancelled_is_done(
    tenant: TenantWorld, owner: Account, app: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock is an hour ahead, so that the request looks old, and then right again."""
    body = (await outsider(tenant).post(DELETE, json=deletion(tenant))).json()
    mail = await only_mail(app, tenant.id)
    app.clock.advance(days=30, minutes=-30)
    app.clock.advance(hours=1)
    first, confirmed = app.parts.records.first, []

    async def find_and_confirm(*args: Any, **options: Any) -> Any:
        found = await first(*args, **options)
        if not confirmed and body["request_id"] in (each["id"] for each in found):
            app.clock.advance(hours=-1)
            confirmed.append(await app.client().post(mail.link("/confirm")))
        return found

    with monkeypatch.context() as patched:
        patched.setattr(app.parts.records, "first", find_and_confirm)
        await app.parts.privacy.work.sweep()
    assert [each.status_code for each in confirmed] == [200]
    found = await request_of(app, body["request_id"])
    assert found["status"] == "queued"
    assert found["confirmed_at"]


async def test_a_members_deletion_by_header_is_the_members_to_confirm(
    tenant: TenantWorld, member: Account, owner: Account, app: World
) -> None:
    await outsider(tenant).post(DELETE, json=member_deletion(member.id))
    mail = await only_mail(app, tenant.id)
    assert mail.to == member.email
    assert (await app.client().post(mail.link("/confirm"))).status_code == 200
    assert not await is_read_only(tenant)


async def test_full_header_auth_deletes_without_confirmation(
    tenant: TenantWorld, member: Account, owner: Account
) -> None:
    full = with_header_auth(tenant.world, GdprHeaderAuth.FULL)
    gateway = outsider(tenant, app=full, address="203.0.113.77")
    body = {"type": "member", "member_id": member.id, "notify_email": "eve@example.com"}
    for _ in range(6):
        exported = (await gateway.post(EXPORT, json=body)).json()
    assert exported["inline_data"]["member"]["id"] == member.id
    assert (await tenant.guest.get(exported["download_url"])).json() == exported["inline_data"]
    deleted = (await gateway.post(DELETE, json=deletion(tenant))).json()
    assert await is_read_only(tenant)
    assert (await tenant.guest.get(deleted["cancellation_url"])).status_code == 200
    recipients = {mail.to for mail in await mails_of(tenant.world, tenant.id)}
    assert recipients == {owner.email, member.email}


# In a browser


async def test_a_browser_gets_a_button_and_only_the_button_acts(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    await outsider(tenant).post(DELETE, json=deletion(tenant))
    mail = await only_mail(app, tenant.id)
    browser = app.client(tenant.host)
    browser.headers.update(BROWSER)
    for link, was_read_only in (("/confirm", False), ("/cancel", True)):
        page = await browser.get(mail.link(link))
        assert page.status_code == 200
        assert '<form method="post"' in page.text
        assert page.headers["cache-control"] == "no-store"
        assert await is_read_only(tenant) is was_read_only
        done = await browser.post(mail.link(link))
        assert (done.status_code, "<form" in done.text) == (200, False)
        assert await is_read_only(tenant) is not was_read_only
    dead = await browser.get(mail.link("/cancel"))
    assert dead.status_code == 404
    assert dead.headers["content-type"].startswith("text/html")
    assert (await browser.post(mail.link("/cancel"))).status_code == 404


async def test_a_head_request_changes_nothing(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    link = (await owner.api.post(DELETE, json=deletion(tenant))).json()["cancellation_url"]
    assert (await app.client().head(link)).status_code == 405
    assert await is_read_only(tenant)


async def test_a_session_with_an_old_proof_gets_no_data(tenant: TenantWorld) -> None:
    owner, member = await tenant.owner(), await tenant.member()
    calls = [
        ("/api/gdpr/export", {"type": "tenant"}),
        ("/api/gdpr/export", {"type": "member", "member_id": member.id}),
        (
            "/api/gdpr/delete",
            {"type": "tenant", "tenant_slug": tenant.slug, "confirm": "DELETE MY BLOG"},
        ),
    ]
    tenant.world.clock.advance(minutes=16)
    for path, body in calls:
        refused = await owner.api.post(path, json=body)
        assert refused.status_code == 403, refused.text
        assert "at most 15 minutes old" in refused.text
        assert "token" not in refused.text
    # A member's own data is not asked for.
    own = {"type": "member", "member_id": member.id}
    assert (await member.api.post("/api/gdpr/export", json=own)).status_code == 200
