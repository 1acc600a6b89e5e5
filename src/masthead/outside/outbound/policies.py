"""The addresses that a call may use, depending on who chose its URL."""

from __future__ import annotations

from enum import Enum

from masthead.outside.outbound.targets import Rules


class OutboundPolicy(Enum):
    OPERATOR = "operator"
    """Any address, private ones and plain HTTP too."""
    PUBLIC = "public"
    """Global addresses over HTTPS."""
    LISTED = "listed"
    """Only the networks that the operator has listed."""


POLICY_RULES = {
    OutboundPolicy.OPERATOR: Rules(frozenset({"http", "https"}), frozenset()),
    OutboundPolicy.PUBLIC: Rules(frozenset({"https"}), frozenset({443})),
    # Without any port, an address outside the listed networks is refused.
    OutboundPolicy.LISTED: Rules(frozenset({"http", "https"}), frozenset()),
}
