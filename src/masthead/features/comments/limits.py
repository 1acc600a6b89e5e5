"""Rate limits of comments on a site: of one author, and of all authors together.

A guest is counted by network and a signed-in author by account. Guests have a separate limit for
the whole site, so that a flood of them does not keep members from commenting."""

from __future__ import annotations

from typing import Final

from masthead.base.errors import RateLimited
from masthead.base.ids import TenantId
from masthead.base.languages.words import counted
from masthead.identity.limits.networks import network_of
from masthead.identity.limits.sliding_window import Limits
from masthead.identity.limits.windows import Allowance, Windows

PER_AUTHOR: Final = Limits(per_minute=5, per_hour=30)
GUESTS: Final = Allowance("comments/guests", Limits(per_minute=30, per_hour=200))
MEMBERS: Final = Allowance("comments/members", Limits(per_minute=120, per_hour=2_000))


async def admit(windows: Windows, tenant_id: TenantId, account_id: str, address: str) -> None:
    """Counts a comment or a change of one, or raises RateLimited."""
    site = MEMBERS if account_id else GUESTS
    author = site.of(account_id or network_of(address))._replace(limits=PER_AUTHOR)
    _, decision = await windows.decide(tenant_id, author, site)
    if wait := decision.retry_after:
        raise RateLimited(wait, _too_many(wait))


def _too_many(seconds: int) -> str:
    if seconds < 90:
        return counted(
            "Too many comments at once. Try again in %(number)s second.",
            "Too many comments at once. Try again in %(number)s seconds.",
            seconds,
        )
    return counted(
        "Too many comments at once. Try again in %(number)s minute.",
        "Too many comments at once. Try again in %(number)s minutes.",
        -(-seconds // 60),
    )
