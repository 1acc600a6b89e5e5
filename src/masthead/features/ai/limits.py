"""Rate limits of AI calls: per address with the platform's key, and per tenant with either key."""

from __future__ import annotations

from masthead.base.errors import RateLimited
from masthead.base.ids import TenantId
from masthead.features.ai.accounts import SiteAi
from masthead.identity.limits.networks import network_of
from masthead.identity.limits.sliding_window import Limits, Reason
from masthead.identity.limits.windows import Allowance, Windows
from masthead.web.v1.errors import QuotaExceeded

PER_ADDRESS = Allowance("ai", Limits(per_minute=10))
PER_MINUTE = 60
PER_DAY = 1_000

NO_TENANT = TenantId("-")
"""Counts calls without a tenant; real ids are longer."""

DAY_IS_FULL = "The site's AI quota for today is used up. It starts again at midnight UTC."


async def admit(windows: Windows, address: str, tenant_id: TenantId | None, site: SiteAi) -> None:
    """Counts one call; raises RateLimited or QuotaExceeded."""
    if not site.has_key:
        await windows.take(NO_TENANT, PER_ADDRESS.of(network_of(address)))
    # Calls without a tenant share the limits of one, so that their cost is limited too.
    of_site = Allowance("ai", _limits_of(site))
    _, decision = await windows.decide(tenant_id or NO_TENANT, of_site)
    if decision.reason is Reason.DAY:
        raise QuotaExceeded(decision.retry_after, DAY_IS_FULL)
    if not decision.allowed:
        raise RateLimited(decision.retry_after)


def _limits_of(site: SiteAi) -> Limits:
    per_minute = PER_MINUTE if site.per_minute is None else site.per_minute
    per_day = PER_DAY if site.per_day is None else site.per_day
    if not site.has_key:
        # With the platform's key a tenant's settings can only lower the limits.
        per_minute, per_day = min(per_minute, PER_MINUTE), min(per_day, PER_DAY)
    return Limits(per_minute=per_minute, per_day=per_day)
