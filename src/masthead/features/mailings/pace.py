"""How fast emails go out: to the mail server, and to the domain of each recipient."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

BACK_OFF_SECONDS: Final = (60.0, 300.0, 900.0, 1800.0)
"""How long a domain gets nothing after temporary refusals, one after the other."""
REFUSALS: Final = 3
"""So many in a row close a domain for a while."""
MAX_DOMAINS: Final = 10_000
SOON_SECONDS: Final = 2.0
"""A recipient whose turn is later than this goes back into the queue."""


class Turns:
    """Evenly spaced turns, `per_second` of them; None is no limit."""

    def __init__(self, per_second: float | None) -> None:
        self._step = 1 / per_second if per_second else 0.0
        self._next = 0.0

    def take(self, now: float) -> float:
        """When the next turn is."""
        turn = max(now, self._next)
        self._next = turn + self._step
        return turn


class Domains:
    """The turns of recipients' domains, and which domains refuse emails temporarily."""

    def __init__(self, per_second: float | None) -> None:
        self._per_second = per_second
        self._domains: OrderedDict[str, _Domain] = OrderedDict()

    def take(self, email: str, now: float) -> float:
        """When an email to this address may go."""
        domain = self._of(email)
        return max(domain.closed_until, domain.turns.take(max(now, domain.closed_until)))

    def refused(self, email: str, now: float) -> None:
        domain = self._of(email)
        if now < domain.closed_until:
            return  # one of several that were on their way
        domain.refusals += 1
        # Fewer may be full mailboxes.
        step = domain.refusals - REFUSALS
        if step >= 0:
            domain.closed_until = now + BACK_OFF_SECONDS[min(step, len(BACK_OFF_SECONDS) - 1)]

    def taken(self, email: str) -> None:
        self._of(email).refusals = 0

    def _of(self, email: str) -> _Domain:
        name = email.rpartition("@")[2].lower()
        domain = self._domains.get(name)
        if domain is None:
            domain = self._domains[name] = _Domain(Turns(self._per_second))
            if len(self._domains) > MAX_DOMAINS:
                self._domains.popitem(last=False)
        return domain


class _Domain:
    __slots__ = ("closed_until", "refusals", "turns")

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.closed_until = 0.0
        self.refusals = 0
