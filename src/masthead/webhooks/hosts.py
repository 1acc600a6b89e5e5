"""What each receiving host is given: a few calls at once, fewer where nobody answers.

All subscriptions of one host share its places, as a big automation platform's do; different hosts
never wait for each other.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from urllib.parse import urlsplit

from masthead.webhooks.queue import Delivery, Lane

FIRST_CALLS = 2
"""A host that has not answered yet gets so many at once, and one more with each answer."""
AHEAD_SECONDS = 0.5
"""Claimed ahead is what a host takes in this time: so nobody waits long behind a storm at the same
host, and leases hold."""
MOST_AHEAD = 32
"""Claimed ahead for each call that may be under way."""
MAX_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Target:
    url: str
    host: str
    secret: str


@dataclass(frozen=True, slots=True)
class Ready:
    """A claimed delivery and where it goes."""

    delivery: Delivery
    target: Target
    host: Host


class Host:
    __slots__ = (
        "_typical_seconds",
        "allowance",
        "calling",
        "claimed",
        "is_silent",
        "most_calls",
        "parked",
        "waiting",
    )

    def __init__(self, most_calls: int) -> None:
        self.most_calls = most_calls
        self.allowance = min(FIRST_CALLS, most_calls)
        """How many calls it gets at once."""
        self.is_silent = False
        """The last call had no answer at all."""
        self.calling = 0
        self.claimed = 0
        """Waiting, being sent, or sent and not yet recorded."""
        self.waiting: deque[Ready] = deque()
        self.parked: dict[Lane, None] = {}
        """Lanes that were due while there was no room for them."""
        self._typical_seconds = AHEAD_SECONDS

    @property
    def window(self) -> int:
        ahead = int(AHEAD_SECONDS / max(self._typical_seconds, 0.001))
        return self.allowance * min(max(ahead, 1), MOST_AHEAD)

    @property
    def room(self) -> int:
        """How many more deliveries to claim for it."""
        return max(self.window - self.claimed, 0)

    @property
    def has_room_for_parked(self) -> bool:
        # Not at every single place that comes free: a claim is better made for many.
        return bool(self.parked) and self.room * 2 >= self.window

    @property
    def is_idle(self) -> bool:
        return not self.claimed and not self.parked

    def answered(self, seconds: float) -> None:
        self.is_silent = False
        self.allowance = min(self.allowance + 1, self.most_calls)
        self._typical_seconds += (seconds - self._typical_seconds) / 8

    def kept_silent(self) -> list[Ready]:
        """From now on one call at a time; returns what was to follow, to be given back."""
        self.is_silent = True
        self.allowance = 1
        self._typical_seconds = AHEAD_SECONDS
        given_back = list(self.waiting)
        self.waiting.clear()
        return given_back

    def take_parked(self) -> list[Lane]:
        lanes = list(self.parked)[: self.room]
        for lane in lanes:
            del self.parked[lane]
        return lanes


class Hosts:
    def __init__(self, most_calls: int) -> None:
        self._most_calls = most_calls
        self._hosts: dict[str, Host] = {}

    def of(self, target: Target) -> Host:
        host = self._hosts.get(target.host)
        if host is None:
            host = self._hosts[target.host] = Host(self._most_calls)
        return host

    def forget_idle(self) -> None:
        """Silent ones are remembered, as long as they are not too many. Only to be called while
        nobody is between taking a host and using it."""
        is_crowded = len(self._hosts) > MAX_REMEMBERED
        self._hosts = {
            name: host
            for name, host in self._hosts.items()
            if not host.is_idle or (host.is_silent and not is_crowded)
        }

    def take_parked(self) -> list[Lane]:
        """Lanes of hosts that have room again."""
        return [
            lane
            for host in self._hosts.values()
            if host.has_room_for_parked
            for lane in host.take_parked()
        ]

    def parked(self) -> list[str]:
        return [lane.webhook_id for host in self._hosts.values() for lane in host.parked]

    def take_waiting(self) -> list[Ready]:
        taken = [ready for host in self._hosts.values() for ready in host.waiting]
        for host in self._hosts.values():
            host.waiting.clear()
        return taken

    def take_waiting_of(self, lanes: set[Lane]) -> list[Ready]:
        """What was claimed of these lanes and is not under way."""
        taken = []
        for host in self._hosts.values():
            taken += [each for each in host.waiting if each.delivery.lane in lanes]
            host.waiting = deque(each for each in host.waiting if each.delivery.lane not in lanes)
        return taken


def host_of(url: str) -> str:
    return (urlsplit(url).hostname or "").removesuffix(".")
