"""Accounts: the caller of a token, sign-ins and passwords."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from tests.tiers import representatives
from tests.work import thread_seconds
from tests.world import PASSWORD, Account, TenantWorld, World

from masthead.base.caller import Kind
from masthead.base.errors import BadRequest, Invalid
from masthead.features.members.collection import blog_members
from masthead.identity.given_passwords import new_credentials
from masthead.identity.passwords import verify_password
from masthead.identity.sessions import TokenType
from masthead.identity.tenants import superusers


async def test_a_caller_by_token(
    app: World, tenant: TenantWorld, owner: Account, operator: Account, member: Account
) -> None:
    accounts = app.parts.accounts
    for account, kind, tenant_id in (
        (owner, Kind.OWNER, tenant.id),
        (operator, Kind.OPERATOR, None),
        (member, Kind.MEMBER, tenant.id),
    ):
        caller = await accounts.sessions.caller_of(account.token)
        assert caller is not None
        assert (caller.kind, caller.tenant_id) == (kind, tenant_id)
        assert (caller.id, caller.email) == (account.id, account.email)
        assert await accounts.sessions.caller_of(account.token, TokenType.FILE) is None


async def test_a_deleted_account_has_no_sessions(
    app: World, tenant: TenantWorld, owner: Account, member: Account
) -> None:
    await owner.api.delete(f"/api/collections/blog_members/records/{member.id}")
    assert await app.parts.accounts.sessions.caller_of(member.token) is None


async def test_an_address_in_two_tenants_on_the_bare_host(
    app: World, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    """The older account is meant, and no newer one gets in its way; an operator's comes first."""
    email = f"{tenant.slug}@example.com"
    mine = await tenant.owner(email=email)
    app.clock.advance(seconds=1)
    theirs = await other_tenant.owner(email=email)
    sign_in = app.parts.accounts.sign_in
    assert (
        await sign_in(superusers, None, email, PASSWORD, address="192.0.2.1")
    ).caller.id == mine.id
    for home, account in ((tenant, mine), (other_tenant, theirs)):
        at_home = await sign_in(superusers, home.id, email, PASSWORD, address="192.0.2.1")
        assert at_home.caller.id == account.id
    operator = await app.operator(email=email)
    found = await sign_in(superusers, None, email, PASSWORD, address="192.0.2.1")
    assert (found.caller.id, found.caller.kind) == (operator.id, Kind.OPERATOR)
    still = await sign_in(superusers, tenant.id, email, PASSWORD, address="192.0.2.1")
    assert still.caller.id == mine.id


@pytest.mark.parametrize("password", representatives(["a wrong password", PASSWORD]))
async def test_a_sign_in_checks_one_hash_whatever_accounts_there_are(
    app: World, tenant: TenantWorld, other_tenant: TenantWorld, password: str
) -> None:
    name = tenant.slug
    await tenant.owner(email=f"once-{name}@example.com")
    for each in (tenant, other_tenant):
        await each.owner(email=f"twice-{name}@example.com")
        await each.create("_superusers", {"email": f"no-password-{name}@example.com"})
    for account in ("once", "twice", "no-password", "unknown"):
        for tenant_id in (None, tenant.id):
            email = f"{account}-{name}@example.com"
            sign_in = partial(app.parts.accounts.sign_in, superusers, tenant_id, email, password)
            assert await checks_one_hash(sign_in), (account, tenant_id)


async def checks_one_hash(sign_in: Callable[..., Awaitable[Any]]) -> bool:
    """In one of a few tries: on a busy machine a hash may take longer than another."""
    for number in range(1, 11):
        if 0.6 < await hashes_checked_by(sign_in, f"192.0.2.{number}") < 1.6:
            return True
    return False


async def hashes_checked_by(sign_in: Callable[..., Awaitable[Any]], address: str) -> float:
    """Divides the processor time of the threads that compute hashes by that of one hash."""
    began = thread_seconds("password")
    await verify_password("", "a wrong password")
    one_hash = thread_seconds("password") - began
    with suppress(BadRequest):
        await sign_in(address=address)
    return (thread_seconds("password") - began - one_hash) / one_hash


async def test_an_account_without_a_password_cant_sign_in(app: World, tenant: TenantWorld) -> None:
    email = f"{tenant.slug}@example.com"
    stamped = await new_credentials({}, required=False)
    assert set(stamped) == {"token_key"}
    await tenant.create("blog_members", {"email": email})
    for password in ("", " ", PASSWORD):
        with pytest.raises(BadRequest):
            await app.parts.accounts.sign_in(
                blog_members, tenant.id, email, password, address="192.0.2.2"
            )


async def test_new_credentials_require_a_password() -> None:
    with pytest.raises(Invalid) as refused:
        await new_credentials({}, required=True)
    assert refused.value.problems["password"].code == "validation_required"
