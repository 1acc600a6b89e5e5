"""The parts of the engine that every change uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from masthead.clock import Clock
from masthead.config.keyring import KeyRing
from masthead.records.collection import Registry
from masthead.records.derived.rows import DerivedRows
from masthead.records.read.query import Queries
from masthead.records.write.statements import WriteStatements
from masthead.records.write.tenant_cache import TenantCache


@dataclass(frozen=True, slots=True)
class WriteContext:
    registry: Registry
    queries: Queries
    statements: WriteStatements
    derived: DerivedRows
    keyring: KeyRing
    clock: Clock
    origin_of: Callable[[str], str]
    """The scheme and host of a tenant's own addresses, by its slug."""
    tenants: TenantCache = field(default_factory=TenantCache)
