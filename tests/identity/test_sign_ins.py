"""Sign-ins can be listed and ended one by one, by every process at once."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.world import PASSWORD, Account, TenantWorld, World

from masthead.base.ids import TenantId
from masthead.engine.records.collection import Collection, Record
from masthead.features.members.collection import blog_members
from masthead.identity import sessions
from masthead.identity.accounts import MEMBER_SESSION
from masthead.identity.sessions import TokenType
from masthead.identity.sign_ins import MAX_USER_AGENT, SignIn
from masthead.identity.tenants import superusers
from masthead.service.services import build


async def account_of(app: World, collection: Collection, account: Account) -> Record:
    (found,) = await app.parts.records.find(collection, {"id": account.id})
    return found


async def sign_ins_of(app: World, collection: Collection, account: Account) -> list[SignIn]:
    record = await account_of(app, collection, account)
    return await app.parts.accounts.sign_ins.of(collection, record)


async def log_in(
    guest: httpx.AsyncClient, collection: Collection, email: str, **headers: str
) -> dict[str, Any]:
    answer = await guest.post(
        f"/api/collections/{collection.name}/auth-with-password",
        json={"identity": email, "password": PASSWORD},
        headers=headers,
    )
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


async def refreshed(client: httpx.AsyncClient, collection: Collection) -> httpx.Response:
    return await client.post(f"/api/collections/{collection.name}/auth-refresh")


def claims_of(token: str) -> sessions.Claims:
    claims = sessions.peek(token)
    assert claims is not None
    return claims


@pytest.mark.parametrize("collection", [blog_members, superusers], ids=lambda each: each.name)
async def test_an_ended_sign_in_is_refused_at_once_by_every_process(
    app: World, tenant: TenantWorld, collection: Collection
) -> None:
    account = await app.new_account(collection, tenant, {})
    token = (await log_in(tenant.guest, collection, account.email))["token"]
    other = await build(app.parts.settings, app.clock)
    try:
        for accounts in (app.parts.accounts, other.accounts):
            assert await accounts.sessions.caller_of(token) is not None
        record = await account_of(app, collection, account)
        ended = claims_of(token).sign_in
        assert await app.parts.accounts.sign_ins.end(collection, record, ended)
        for accounts in (app.parts.accounts, other.accounts):
            assert await accounts.sessions.caller_of(token) is None
            # The account's other sign-in stays.
            assert await accounts.sessions.caller_of(account.token) is not None
        assert not await app.parts.accounts.sign_ins.end(collection, record, ended)
    finally:
        await other.close()


async def test_an_operators_sign_in_can_be_ended_too(app: World, operator: Account) -> None:
    token = (await log_in(app.client(), superusers, operator.email))["token"]
    record = await account_of(app, superusers, operator)
    assert len(await app.parts.accounts.sign_ins.of(superusers, record)) == 2
    await app.parts.accounts.sign_ins.end(superusers, record, claims_of(token).sign_in)
    assert await app.parts.accounts.sessions.caller_of(token) is None
    assert await app.parts.accounts.sessions.caller_of(operator.token) is not None


async def test_a_sign_in_shows_when_and_from_where(
    app: World, tenant: TenantWorld, member: Account
) -> None:
    app.clock.advance(minutes=5)
    browser = app.client(tenant.host, address="192.0.2.77")
    await log_in(
        browser, blog_members, member.email, **{"user-agent": "Firefox/140\x01" + "x" * 999}
    )
    newest, _ = await sign_ins_of(app, blog_members, member)
    assert newest.address == "192.0.2.77"
    assert newest.user_agent.startswith("Firefox/140x")
    assert len(newest.user_agent) == MAX_USER_AGENT
    assert newest.created == newest.last_seen
    assert newest.expires > newest.created


async def test_a_refreshed_token_is_of_the_same_sign_in(
    app: World, tenant: TenantWorld, member: Account
) -> None:
    app.clock.advance(days=13)
    token = (await refreshed(member.api, blog_members)).json()["token"]
    assert claims_of(token).sign_in == claims_of(member.token).sign_in
    app.clock.advance(days=13)
    assert await app.parts.accounts.sessions.caller_of(token) is not None
    assert len(await sign_ins_of(app, blog_members, member)) == 1


async def test_an_ended_sign_in_gets_no_new_token_and_no_file(
    app: World, tenant: TenantWorld, member: Account
) -> None:
    files = (await member.api.post("/api/files/token")).json()["token"]
    assert await app.parts.accounts.sessions.caller_of(files, TokenType.FILE) is not None
    record = await account_of(app, blog_members, member)
    ended = claims_of(member.token).sign_in
    await app.parts.accounts.sign_ins.end(blog_members, record, ended)
    assert (await refreshed(member.api, blog_members)).status_code == 401
    assert await app.parts.accounts.sessions.caller_of(files, TokenType.FILE) is None


async def test_a_token_from_before_the_table_works_until_it_expires(
    app: World, tenant: TenantWorld, member: Account
) -> None:
    record = await account_of(app, blog_members, member)
    old = sessions.issue(
        app.parts.keyring,
        account_id=member.id,
        collection_id=blog_members.id,
        token_key=record["token_key"],
        lifetime=MEMBER_SESSION,
        now=app.clock,
    )
    assert claims_of(old).sign_in == ""
    assert await app.parts.accounts.sessions.caller_of(old) is not None
    answer = await refreshed(app.client(tenant.host, token=old), blog_members)
    new = claims_of(answer.json()["token"]).sign_in
    listed = [each.id for each in await sign_ins_of(app, blog_members, member)]
    assert sorted(listed) == sorted([new, claims_of(member.token).sign_in])
    app.clock.advance(days=15)
    assert await app.parts.accounts.sessions.caller_of(old) is None


async def test_a_new_password_ends_every_sign_in(
    app: World, tenant: TenantWorld, member: Account, owner: Account
) -> None:
    await owner.api.patch(
        f"/api/collections/blog_members/records/{member.id}",
        json={"password": "another good password"},
    )
    assert await sign_ins_of(app, blog_members, member) == []


async def test_signing_out_everywhere_ends_old_tokens_too(
    app: World, tenant: TenantWorld, member: Account
) -> None:
    token = (await log_in(tenant.guest, blog_members, member.email))["token"]
    record = await account_of(app, blog_members, member)
    await app.parts.accounts.sign_ins.end_all(blog_members, record)
    for each in (token, member.token):
        assert await app.parts.accounts.sessions.caller_of(each) is None
    assert await sign_ins_of(app, blog_members, member) == []
    await log_in(tenant.guest, blog_members, member.email)


async def test_nobody_ends_the_sign_in_of_another(
    app: World, tenant: TenantWorld, other_tenant: TenantWorld, member: Account
) -> None:
    ended = claims_of(member.token).sign_in
    neighbour, stranger = await tenant.member(), await other_tenant.member()
    staff = await tenant.owner()
    for collection, account in (
        (blog_members, neighbour),
        (blog_members, stranger),
        (superusers, staff),
    ):
        record = await account_of(app, collection, account)
        assert not await app.parts.accounts.sign_ins.end(collection, record, ended)
    assert await app.parts.accounts.sessions.caller_of(member.token) is not None


async def test_being_seen_is_written_now_and_then(
    app: World, tenant: TenantWorld, member: Account
) -> None:
    async def last_seen() -> str:
        await member.api.get(f"/api/collections/blog_members/records/{member.id}")
        await app.parts.accounts.sign_ins.flush()
        return (await sign_ins_of(app, blog_members, member))[0].last_seen

    first = await last_seen()
    app.clock.advance(minutes=9)
    assert await last_seen() == first
    app.clock.advance(minutes=2)
    assert await last_seen() > first


async def test_being_seen_changes_no_version(
    app: World, member: Account, tenant: TenantWorld
) -> None:
    before = await app.parts.versions.of(tenant.id)
    app.clock.advance(hours=1)
    await app.parts.accounts.sessions.caller_of(member.token)
    await app.parts.accounts.sign_ins.flush()
    assert await app.parts.versions.of(tenant.id) == before


async def test_signing_in_leaves_the_sites_caches_as_they_are(
    app: World, tenant: TenantWorld, member: Account
) -> None:
    before = await app.parts.versions.of(tenant.id)
    await log_in(tenant.guest, blog_members, member.email)
    assert await app.parts.versions.of(tenant.id) == before


async def test_expired_sign_ins_are_swept(app: World, tenant: TenantWorld, member: Account) -> None:
    record = await account_of(app, blog_members, member)
    sign_in = claims_of(member.token).sign_in
    sign_ins = app.parts.accounts.sign_ins
    app.clock.advance(days=13)
    await sign_ins.sweep()
    assert await sign_ins.is_open(tenant.id, sign_in, member.id)
    app.clock.advance(days=2)
    assert await sign_ins.of(blog_members, record) == []
    await sign_ins.sweep()
    assert not await sign_ins.is_open(tenant.id, sign_in, member.id)


async def test_a_deleted_account_leaves_no_sign_in(
    app: World, tenant: TenantWorld, owner: Account, member: Account
) -> None:
    sign_in = claims_of(member.token).sign_in
    assert await app.parts.accounts.sign_ins.is_open(tenant.id, sign_in, member.id)
    await owner.api.delete(f"/api/collections/blog_members/records/{member.id}")
    assert not await app.parts.accounts.sign_ins.is_open(tenant.id, sign_in, member.id)


async def test_a_members_export_has_their_sign_ins(
    app: World, tenant: TenantWorld, member: Account
) -> None:
    browser = app.client(tenant.host, address="192.0.2.99")
    await log_in(browser, blog_members, member.email, **{"user-agent": "Lynx"})
    record = await account_of(app, blog_members, member)
    document = await app.parts.privacy.exports.member_document(TenantId(tenant.id), record)
    assert b"192.0.2.99" in document
    assert b"Lynx" in document
