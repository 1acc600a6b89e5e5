"""Login throttling: how many tries an account and a network have, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from tests.world import PASSWORD, TenantWorld, World

from masthead.base import ids
from masthead.base.errors import RateLimited
from masthead.identity.limits.sign_in_throttle import (
    ATTEMPTS_PER_ACCOUNT,
    ATTEMPTS_PER_NETWORK,
    ATTEMPTS_PER_PAIR,
    KNOWN_NETWORK_AGE,
    LONG_WINDOW,
    WINDOW,
    Attempt,
    LoginThrottle,
)

SIGN_IN = "/api/collections/blog_members/auth-with-password"


def attempt(identity: str = "", address: str = "") -> Attempt:
    """An attempt of a new account from a new address, by default."""
    account = ("tenant", identity) if identity else ("", "")
    return Attempt("blog_members", identity or ids.new_id(), address or ids.new_id(), account)


async def admitted(throttle: LoginThrottle, *attempts: Attempt) -> int:
    """How many of the attempts were let in, all made at once."""
    answers = await asyncio.gather(
        *(throttle.admit(each) for each in attempts), return_exceptions=True
    )
    assert all(each is None or isinstance(each, RateLimited) for each in answers)
    return sum(each is None for each in answers)


async def from_many_networks(throttle: LoginThrottle, name: str) -> int:
    """Strangers try an account from everywhere; how many of the attempts were let in."""
    return await admitted(throttle, *[attempt(name) for _ in range(ATTEMPTS_PER_ACCOUNT + 20)])


async def test_an_account_has_ten_tries_from_one_network(app: World) -> None:
    who = attempt()
    assert await admitted(app.parts.throttle, *[who] * 30) == ATTEMPTS_PER_PAIR
    elsewhere = attempt(who.identity)
    assert await admitted(app.parts.throttle, elsewhere) == 1


async def test_one_network_alone_never_slows_an_account_down_for_others(app: World) -> None:
    throttle, name = app.parts.throttle, ids.new_id()
    await admitted(throttle, *[attempt(name, "198.51.100.1")] * (ATTEMPTS_PER_ACCOUNT * 2))
    assert await admitted(throttle, attempt(name)) == 1


async def test_many_networks_together_have_a_hundred_tries_an_hour(app: World) -> None:
    throttle, name = app.parts.throttle, ids.new_id()
    assert await from_many_networks(throttle, name) == ATTEMPTS_PER_ACCOUNT
    with pytest.raises(RateLimited) as refused:
        await throttle.admit(attempt(name))
    assert refused.value.retry_after_seconds == LONG_WINDOW.total_seconds()
    app.clock.advance(seconds=refused.value.retry_after_seconds)
    assert await admitted(throttle, attempt(name)) == 1


async def test_failures_elsewhere_never_lock_out_a_known_network(
    app: World,
) -> None:
    throttle, owner = app.parts.throttle, attempt(ids.new_id())
    await throttle.admit(owner)
    await throttle.note_success(owner)
    for _ in range(3):
        await from_many_networks(throttle, owner.identity)
        assert await admitted(throttle, owner) == 1
        await throttle.note_success(owner)
    app.clock.advance(days=KNOWN_NETWORK_AGE.days, seconds=1)
    await from_many_networks(throttle, owner.identity)
    assert await admitted(throttle, owner) == 0


async def test_a_password_reset_by_email_makes_its_network_known(app: World) -> None:
    throttle, owner = app.parts.throttle, attempt(ids.new_id())
    await admitted(throttle, *[owner] * (ATTEMPTS_PER_PAIR + 1))
    await from_many_networks(throttle, owner.identity)
    await throttle.forgive(owner)
    await from_many_networks(throttle, owner.identity)
    assert await admitted(throttle, owner) == 1


async def test_a_sign_in_from_a_known_network_refunds_no_attempts_of_others(app: World) -> None:
    throttle, owner = app.parts.throttle, attempt(ids.new_id())
    for _ in range(2):
        await throttle.admit(owner)
        await throttle.note_success(owner)
    await from_many_networks(throttle, owner.identity)
    await throttle.admit(owner)
    await throttle.note_success(owner)
    assert await admitted(throttle, attempt(owner.identity)) == 0


async def test_an_account_of_the_same_address_at_another_site_makes_no_network_known(
    app: World, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    throttle = app.parts.throttle
    victim = await tenant.member()
    await other_tenant.member(email=victim.email)
    attacker = {"identity": victim.email, "password": PASSWORD}
    own = app.client(other_tenant.host, address="198.51.100.77")
    assert (await own.post(SIGN_IN, json=attacker)).status_code == 200
    await from_many_networks(throttle, victim.email)
    guessing = app.client(tenant.host, address="198.51.100.77")
    guess = {"identity": victim.email, "password": "guessed password"}
    assert (await guessing.post(SIGN_IN, json=guess)).status_code == 429
    # The namesake's own network stays open, at its own site.
    assert (await own.post(SIGN_IN, json=attacker)).status_code == 200


async def test_a_link_by_mail_at_another_site_forgives_no_failures_from_elsewhere(
    app: World,
) -> None:
    throttle, name = app.parts.throttle, ids.new_id()
    await from_many_networks(throttle, name)
    await throttle.forgive(Attempt("blog_members", name, ids.new_id(), ("another", name)))
    assert await admitted(throttle, attempt(name)) == 0


async def test_an_address_has_a_hundred_tries_at_any_account(app: World) -> None:
    place = ids.new_id()
    tries = [attempt(address=place) for _ in range(ATTEMPTS_PER_NETWORK + 20)]
    assert await admitted(app.parts.throttle, *tries) == ATTEMPTS_PER_NETWORK


async def test_addresses_of_one_ipv6_network_share_their_attempts(app: World) -> None:
    site = f"2001:db8:{int(ids.new_id(), 36) % 0xFFFF:x}"
    tries = [attempt(address=f"{site}:1::{n + 1:x}") for n in range(ATTEMPTS_PER_NETWORK + 20)]
    assert await admitted(app.parts.throttle, *tries) == ATTEMPTS_PER_NETWORK
    assert await admitted(app.parts.throttle, attempt(address=f"{site}:2::1")) == 1


async def test_the_wait_ends_and_is_not_prolonged_by_trying(app: World) -> None:
    throttle, who = app.parts.throttle, attempt()
    await admitted(throttle, *[who] * ATTEMPTS_PER_PAIR)
    app.clock.advance(seconds=60)
    with pytest.raises(RateLimited) as refused:
        await throttle.admit(who)
    assert refused.value.retry_after_seconds == WINDOW.total_seconds() - 60
    app.clock.advance(seconds=refused.value.retry_after_seconds)
    assert await admitted(throttle, who) == 1


async def test_a_clock_that_was_ahead_locks_no_account_out(app: World) -> None:
    throttle, who = app.parts.throttle, attempt()
    app.clock.advance(days=400)
    await admitted(throttle, *[who] * ATTEMPTS_PER_PAIR)
    app.clock.advance(days=-400)
    assert await admitted(throttle, *[who] * (ATTEMPTS_PER_PAIR + 1)) == ATTEMPTS_PER_PAIR


async def test_a_right_password_is_refunded_and_resets_no_failures(app: World) -> None:
    throttle, who = app.parts.throttle, attempt()
    await admitted(throttle, *[who] * (ATTEMPTS_PER_PAIR - 1))
    await throttle.note_success(who)
    assert await admitted(throttle, *[who] * ATTEMPTS_PER_PAIR) == 2


@pytest.mark.parametrize("spelling", [str.upper, " {} ".format, "\t{}".format])
async def test_another_spelling_of_an_address_is_the_same_account(
    app: World, spelling: Callable[[str], str]
) -> None:
    name = ids.new_id()
    place = ids.new_id()
    tries = [
        attempt(spelling(name) if n % 2 else name, place) for n in range(ATTEMPTS_PER_PAIR * 2)
    ]
    assert await admitted(app.parts.throttle, *tries) == ATTEMPTS_PER_PAIR


async def test_ended_windows_are_swept_and_others_stay(app: World) -> None:
    throttle, who = app.parts.throttle, attempt()
    await admitted(throttle, *[who] * ATTEMPTS_PER_PAIR)
    await throttle.sweep()
    assert await admitted(throttle, who) == 0
    app.clock.advance(minutes=16)
    await throttle.sweep()
    app.clock.advance(minutes=-16)
    assert await admitted(throttle, who) == 1
