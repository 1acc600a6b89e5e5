"""The plans a tenant can be on, cheapest first."""

from __future__ import annotations

from enum import StrEnum


class Plan(StrEnum):
    FREE = "free"
    PRO = "pro"
    BUSINESS = "business"
    AGENCY = "agency"
    ENTERPRISE = "enterprise"

    @property
    def has_api(self) -> bool:
        """The Free plan has no API access and no webhook subscriptions."""
        return self is not Plan.FREE
