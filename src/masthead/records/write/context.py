"""The parts of the engine that every change uses."""

from __future__ import annotations

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
    tenants: TenantCache = field(default_factory=TenantCache)
