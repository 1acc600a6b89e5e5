"""What every change needs of its engine."""

from __future__ import annotations

from masthead import clock
from masthead.config.keyring import KeyRing
from masthead.records.collection import Registry
from masthead.records.derived.rows import Kept
from masthead.records.read.query import Queries
from masthead.records.write.known_tenants import KnownTenants
from masthead.records.write.statements import Writes


class Parts:
    __slots__ = ("clock", "kept", "keyring", "queries", "registry", "tenants", "writes")

    def __init__(
        self,
        registry: Registry,
        queries: Queries,
        writes: Writes,
        kept: Kept,
        keyring: KeyRing,
        clock: clock.Clock,
    ) -> None:
        self.registry = registry
        self.queries = queries
        self.writes = writes
        self.kept = kept
        self.keyring = keyring
        self.clock = clock
        self.tenants = KnownTenants()
