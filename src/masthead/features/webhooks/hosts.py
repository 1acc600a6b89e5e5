"""Limits the concurrent calls of each site to each receiving host; unresponsive hosts get fewer.

All subscriptions of a site at one host share its limit. Different hosts never wait for each other,
and neither do sites at one host, such as a large automation platform: what hangs is often one
receiver there, not the host.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import msgspec

from masthead.base.ids import TenantId
from masthead.features.webhooks.results import Delivery, QueueKey
from masthead.features.webhooks.schedule import Pace

INITIAL_CALLS = 2
"""The limit of a host that has not answered yet; each answer adds one."""
AHEAD_SECONDS = 0.5
"""As many deliveries are claimed as a host takes in this time. So a burst does not delay other
subscriptions of the same host for long, and leases do not end."""
MAX_AHEAD = 32
"""Deliveries claimed ahead per concurrent call."""
MAX_HOSTS = 10_000


class Target(msgspec.Struct, frozen=True):
    url: str
    host: str
    secrets: Sequence[str]
    """The newest first; during a rotation with overlap also the previous one."""
    headers: Mapping[str, str]
    site: TenantId
    pace: Pace | None = None


class ClaimedDelivery(msgspec.Struct, frozen=True):
    delivery: Delivery
    target: Target
    host: Host


class Host:
    """A receiving host, as one site sees it."""

    __slots__ = (
        "_average_seconds",
        "active_calls",
        "call_limit",
        "claimed",
        "deferred",
        "is_unresponsive",
        "max_calls",
        "site",
        "waiting",
    )

    def __init__(self, site: TenantId, max_calls: int) -> None:
        self.site = site
        self.max_calls = max_calls
        self.call_limit = min(INITIAL_CALLS, max_calls)
        """Concurrent calls at present."""
        self.is_unresponsive = False
        """The last call had no answer."""
        self.active_calls = 0
        self.claimed = 0
        """Waiting, running, or not yet recorded."""
        self.waiting: deque[ClaimedDelivery] = deque()
        self.deferred: dict[QueueKey, None] = {}
        """Due queues without capacity."""
        self._average_seconds = AHEAD_SECONDS

    @property
    def window(self) -> int:
        ahead = int(AHEAD_SECONDS / max(self._average_seconds, 0.001))
        return self.call_limit * min(max(ahead, 1), MAX_AHEAD)

    @property
    def capacity(self) -> int:
        """How many more deliveries to claim."""
        return max(self.window - self.claimed, 0)

    @property
    def can_resume_deferred(self) -> bool:
        # Not for every single free slot: one claim of many deliveries is cheaper.
        return bool(self.deferred) and self.capacity * 2 >= self.window

    @property
    def is_idle(self) -> bool:
        return not self.claimed and not self.deferred

    def mark_answered(self, seconds: float) -> None:
        self.is_unresponsive = False
        self.call_limit = min(self.call_limit + 1, self.max_calls)
        self._average_seconds += (seconds - self._average_seconds) / 8

    def mark_unresponsive(self) -> list[ClaimedDelivery]:
        """Limits the host to one call at a time; returns its waiting deliveries, to be released."""
        self.is_unresponsive = True
        self.call_limit = 1
        self._average_seconds = AHEAD_SECONDS
        released = list(self.waiting)
        self.waiting.clear()
        return released

    def take_deferred(self) -> list[QueueKey]:
        keys = list(self.deferred)[: self.capacity]
        for key in keys:
            del self.deferred[key]
        return keys


class Hosts:
    def __init__(self, max_calls: int) -> None:
        self._max_calls = max_calls
        self._hosts: dict[tuple[TenantId, str], Host] = {}

    def of(self, target: Target) -> Host:
        key = target.site, target.host
        host = self._hosts.get(key)
        if host is None:
            host = self._hosts[key] = Host(target.site, self._max_calls)
        return host

    def remove_idle(self) -> None:
        """Keeps unresponsive hosts, up to MAX_HOSTS. Must not be called between getting a host and
        using it."""
        is_over_limit = len(self._hosts) > MAX_HOSTS
        self._hosts = {
            key: host
            for key, host in self._hosts.items()
            if not host.is_idle or (host.is_unresponsive and not is_over_limit)
        }

    def take_deferred(self) -> list[QueueKey]:
        """Queues of hosts that have capacity again."""
        return [
            key
            for host in self._hosts.values()
            if host.can_resume_deferred
            for key in host.take_deferred()
        ]

    def deferred(self) -> list[str]:
        return [key.webhook_id for host in self._hosts.values() for key in host.deferred]

    def take_waiting(self) -> list[ClaimedDelivery]:
        taken = [claimed for host in self._hosts.values() for claimed in host.waiting]
        for host in self._hosts.values():
            host.waiting.clear()
        return taken

    def take_waiting_of(self, keys: set[QueueKey]) -> list[ClaimedDelivery]:
        """Claimed deliveries of these queues that are not being sent."""
        taken = []
        for host in self._hosts.values():
            taken += [each for each in host.waiting if each.delivery.queue_key in keys]
            host.waiting = deque(
                each for each in host.waiting if each.delivery.queue_key not in keys
            )
        return taken


def host_of(url: str) -> str:
    return (urlsplit(url).hostname or "").removesuffix(".")
