"""Where an import writes, and what it remembers it by: the same for posts and members."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from masthead.caller import Caller, system
from masthead.ids import TenantId
from masthead.importers.run.memory import Memory
from masthead.records.engine import Records
from masthead.records.write.unit import Unit


@dataclass(frozen=True, slots=True)
class Destination:
    records: Records
    memory: Memory
    tenant_id: TenantId
    family: str
    emit_events: bool = False

    @property
    def caller(self) -> Caller:
        return system(self.tenant_id)

    def unit(self) -> AbstractAsyncContextManager[Unit]:
        return self.records.unit(self.caller, emit_events=self.emit_events)
