"""Rate limits of data-protection requests, because each of them sends an email.

Requests are counted per account (per network for anonymous callers) and per site: one member can't
fill a mailbox, and many together can't misuse the service to send emails. Members, owners and
anonymous callers are counted separately, so that none of them uses up another one's limit.
"""

from __future__ import annotations

import msgspec

from masthead.base.caller import Caller, Kind
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.identity.limits.networks import network_of
from masthead.identity.limits.sliding_window import Limits
from masthead.identity.limits.windows import Allowance, Windows


class Group(msgspec.Struct, frozen=True):
    """Exports and deletions together, per hour."""

    name: str
    per_caller: int
    per_site: int


ANONYMOUS = Group("network", 5, 100)
MEMBERS = Group("member", 20, 200)
OWNERS = Group("owner", 60, 200)


async def admit(
    windows: Windows, tenant_id: TenantId, session: Caller | None, address: str
) -> None:
    """Counts a request, or raises RateLimited."""
    group, caller = ANONYMOUS, network_of(address)
    if session is not None:
        group, caller = MEMBERS if session.kind is Kind.MEMBER else OWNERS, session.id
    refusal = words(
        "%(number)s requests an hour are allowed per person or network, and %(per_site)s per site. "
        "Try again later.",
        number=group.per_caller,
        per_site=group.per_site,
    )
    name = f"data requests/{group.name}"
    of_caller = Allowance(name, Limits(per_hour=group.per_caller), refusal).of(caller)
    of_site = Allowance(name, Limits(per_hour=group.per_site), refusal)
    await windows.take(tenant_id, of_caller, of_site)
