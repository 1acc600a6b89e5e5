"""How far a call may go, by who has chosen its address."""

from __future__ import annotations

from enum import Enum

from masthead.outbound.targets import Rules


class Reach(Enum):
    """Who has chosen the address of a call, and so where it may lead."""

    OPERATOR = "operator"
    """Anywhere, private addresses and plain HTTP too."""
    PUBLIC = "public"
    """Global addresses over HTTPS."""
    LISTED = "listed"
    """The networks that the operator has listed, and nothing else."""


RULES = {
    Reach.OPERATOR: Rules(frozenset({"http", "https"}), frozenset()),
    Reach.PUBLIC: Rules(frozenset({"https"}), frozenset({443})),
    # Without a port of its own, an address that isn't on a listed network is refused.
    Reach.LISTED: Rules(frozenset({"http", "https"}), frozenset()),
}
