"""The connections that a process has, and how many it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from masthead.base.errors import RateLimited
from masthead.base.ids import TenantId
from masthead.faces.record_api.realtime.connection import Connection
from masthead.faces.record_api.realtime.topics import Options
from masthead.identity.limits.networks import is_loopback, network_of

TOO_MANY_OPTIONS = "Too many different subscriptions from here. Close some, or try again later."


class RealtimeLimits(msgspec.Struct, frozen=True):
    """The limits of one process. A loopback address is that of a proxy, or of this machine: it has
    no limit."""

    per_site: int = 5_000
    per_address: int = 500
    options_per_address: int = 200
    """Different filters, expansions and fields of readers."""
    idle_seconds: float = 5 * 60.0
    """Without a message: then the connection is ended, as PocketBase does."""
    comment_seconds: float = 30.0
    """Without a message, a comment goes out so often: a proxy ends a connection that is silent."""
    whole_seconds: float = 30 * 60.0


class Connections:
    def __init__(self, limits: RealtimeLimits) -> None:
        self.limits = limits
        self._by_id: dict[str, Connection] = {}
        self._per_site: Counter[str] = Counter()
        self._per_address: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Connection]:
        return iter(tuple(self._by_id.values()))

    def find(self, client_id: str) -> Connection | None:
        """None also for one that is closed."""
        found = self._by_id.get(client_id)
        return None if found is None or found.is_closed else found

    def open(self, client_id: str, tenant_id: TenantId | None, address: str) -> Connection:
        """Raises `RateLimited` above the limits of a site and an address."""
        site = tenant_id or ""
        address = network_of(address)
        is_counted = not is_loopback(address)
        if self._per_site[site] >= self.limits.per_site or (
            is_counted and self._per_address[address] >= self.limits.per_address
        ):
            raise RateLimited(60, "Too many open connections. Close some, or try again later.")
        connection = Connection(client_id, tenant_id, address)
        self._by_id[client_id] = connection
        self._per_site[site] += 1
        self._per_address[address] += 1
        return connection

    def close(self, connection: Connection) -> bool:
        """Returns whether it was among them."""
        connection.close()
        if self._by_id.pop(connection.id, None) is None:
            return False
        # Under the site that it was opened at, as counted.
        for counts, key in (
            (self._per_site, connection.site),
            (self._per_address, connection.address),
        ):
            counts[key] -= 1
            if not counts[key]:
                del counts[key]
        return True

    def check_options(self, connection: Connection, wanted: frozenset[Options]) -> None:
        """Raises `RateLimited` if all of an address together have too many different ones."""
        if not wanted or is_loopback(connection.address):
            return
        for each in self:
            if each is not connection and each.address == connection.address:
                wanted |= each.options
        if len(wanted) > self.limits.options_per_address:
            raise RateLimited(60, TOO_MANY_OPTIONS)
