"""A tenant's hard budget of tokens a day, which concurrent calls can't exceed.

Each call reserves its maximal cost before it starts, and releases what it did not use. Reservations
are stored with the rate limits, shared by every process; one of a dead process expires after the
maximal time of a call.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import msgspec

from masthead.base import clock
from masthead.base.ids import TenantId
from masthead.features.ai.ledger import Ledger
from masthead.features.ai.prompts import Prompt
from masthead.features.ai.providers import MAX_OUTPUT_TOKENS
from masthead.identity.limits.sliding_window import DAY, SECOND, Microseconds, moment_of
from masthead.identity.limits.stores import LimitStore
from masthead.web.v1.errors import QuotaExceeded

SUBJECT = "ai:budget"
IN_USE_RETRY_SECONDS = 10
TEMPLATE_TOKENS = 100
"""An upper bound of what a model's template adds to the two messages of a prompt."""

IS_SPENT = "The site's AI budget for today is spent. It starts again at midnight UTC."
IS_IN_USE = (
    "The rest of the site's AI budget for today is reserved by running calls. Try again soon."
)


class Hold(msgspec.Struct, array_like=True, frozen=True):
    id: str
    until: Microseconds
    tokens: int


class DayBudget(msgspec.Struct, array_like=True, frozen=True):
    """The tokens that a tenant has spent on one day, counted from 1970, and those that its running
    calls reserve."""

    day: int = 0
    spent: int = 0
    holds: tuple[Hold, ...] = ()

    @property
    def held(self) -> int:
        return sum(hold.tokens for hold in self.holds)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(DayBudget).decode


def max_prompt_tokens(prompt: Prompt) -> int:
    """An upper bound: no tokenizer makes more tokens than bytes. It is usually a quarter of that,
    but not in every script."""
    return prompt.size + TEMPLATE_TOKENS


class Reservation(msgspec.Struct, frozen=True):
    """The reserved cost of one call; must be settled once, however the call ends."""

    id: str
    max_tokens: int
    """The most tokens that the answer may have."""
    tenant_id: TenantId
    budgets: Budgets

    async def settle(self, tokens: int) -> None:
        await self.budgets.settle(self, tokens)


class Budgets:
    def __init__(
        self,
        store: LimitStore,
        ledger: Ledger,
        *,
        longest_call_seconds: float,
        now: clock.Clock = clock.now,
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._longest_call = round(longest_call_seconds * SECOND)
        self._clock = now

    async def reserve(self, tenant_id: TenantId, budget: int, tokens_in: int) -> Reservation:
        """Reserves the prompt and the longest possible answer; raises QuotaExceeded."""
        # The ledger also has what was spent before there was a budget.
        spent = await self._ledger.spent_today(tenant_id)
        now = moment_of(self._clock())
        hold_id = secrets.token_hex(8)
        reserve = _Reserve(now, now + self._longest_call, hold_id, budget, spent, tokens_in)
        remaining = await self._store.update(tenant_id, (SUBJECT,), reserve)
        if remaining.left >= 1:
            return Reservation(hold_id, remaining.answer, tenant_id, self)
        if remaining.left + remaining.held >= 1:
            raise QuotaExceeded(IN_USE_RETRY_SECONDS, IS_IN_USE)
        raise QuotaExceeded(-(-(DAY - now % DAY) // SECOND), IS_SPENT)

    async def settle(self, reservation: Reservation, tokens: int) -> None:
        settle = _Settle(moment_of(self._clock()), reservation.id, tokens)
        await self._store.update(reservation.tenant_id, (SUBJECT,), settle)


class _Remaining(msgspec.Struct, frozen=True):
    left: int
    """For an answer."""
    held: int
    """Tokens that other calls reserve."""

    @property
    def answer(self) -> int:
        return min(self.left, MAX_OUTPUT_TOKENS)


class _Reserve(msgspec.Struct, frozen=True):
    now: Microseconds
    until: Microseconds
    id: str
    budget: int
    spent: int
    tokens_in: int

    def __call__(self, states: Sequence[bytes]) -> tuple[Sequence[bytes], _Remaining]:
        state = _at(states[0], self.now)
        spent = max(state.spent, self.spent)
        remaining = _Remaining(self.budget - spent - state.held - self.tokens_in, state.held)
        if remaining.left < 1:
            return states, remaining
        hold = Hold(self.id, self.until, self.tokens_in + remaining.answer)
        return (_encode(DayBudget(state.day, spent, (*state.holds, hold))),), remaining


class _Settle(msgspec.Struct, frozen=True):
    now: Microseconds
    id: str
    tokens: int

    def __call__(self, states: Sequence[bytes]) -> tuple[Sequence[bytes], None]:
        state = _at(states[0], self.now)
        holds = tuple(hold for hold in state.holds if hold.id != self.id)
        return (_encode(DayBudget(state.day, state.spent + self.tokens, holds)),), None


def _at(content: bytes, now: Microseconds) -> DayBudget:
    """The state without another day's spending and without expired reservations."""
    state = _decode(content) if content else DayBudget()
    today = now // DAY
    holds = tuple(hold for hold in state.holds if hold.until > now)
    return DayBudget(today, state.spent if state.day == today else 0, holds)
