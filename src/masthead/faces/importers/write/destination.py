"""Where an import writes: the tenant's records, and the list of what was imported."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import msgspec

from masthead.base.caller import Caller, system
from masthead.base.ids import TenantId
from masthead.engine.events.names import EVENT_NAMES
from masthead.engine.records.changes import PreparedTexts
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.faces.importers.write.previous_imports import PreviousImports


class Destination(msgspec.Struct, frozen=True):
    records: Records
    previous: PreviousImports
    tenant_id: TenantId
    namespace: str
    """`opening.id_namespace` of the export."""
    emit_events: bool = False
    consent: str = ""
    """How the members agreed to get newsletters."""

    @property
    def caller(self) -> Caller:
        return system(self.tenant_id)

    def unit(self, prepared: PreparedTexts | None = None) -> AbstractAsyncContextManager[Unit]:
        # By their names, as those of the past: nobody is welcomed who joined somewhere else.
        emitted = EVENT_NAMES if self.emit_events else False
        return self.records.unit(self.caller, emit_events=emitted, prepared=prepared)
