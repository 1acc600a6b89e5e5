"""How a unit begins and ends: its transaction around it, its events last, and who is told then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Protocol

from masthead.caller import Caller
from masthead.ids import TenantId
from masthead.records.unit import Parts, Unit, WrittenEvent
from masthead.storage.database import Overtaken, Transaction

FanOut = Callable[[Unit, Sequence[WrittenEvent]], Awaitable[bool]]
"""Whether there was something to queue."""


class Engine(Protocol):
    parts: Parts
    fan_out: FanOut | None
    after_queueing: Callable[[], None] | None


class OpenUnit:
    """`async with` one: a unit in a transaction, and after it those told who wait for events."""

    __slots__ = ("_caller", "_emit_events", "_engine", "_tenant_id", "_transaction", "_unit")

    def __init__(
        self,
        engine: Engine,
        caller: Caller,
        transaction: AbstractAsyncContextManager[Transaction],
        *,
        emit_events: bool = True,
    ) -> None:
        self._engine = engine
        self._caller = caller
        self._emit_events = emit_events
        self._tenant_id = caller.tenant_id or TenantId("")
        self._transaction = transaction

    async def __aenter__(self) -> Unit:
        parts = self._engine.parts
        inside = await self._transaction.__aenter__()
        self._unit = Unit(inside, self._caller, self._tenant_id, parts, self._emit_events)
        try:
            await self._unit.begin()
        except BaseException as error:
            await self._end(error)
            raise
        return self._unit

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        queued = False
        if error is None:
            try:
                queued = await self._write_events()
            except BaseException as failure:
                await self._end(failure)
                raise
        await self._end(error)
        if queued and self._engine.after_queueing is not None:
            self._engine.after_queueing()

    async def _write_events(self) -> bool:
        unit, fan_out = self._unit, self._engine.fan_out
        await unit.store_events()
        return bool(unit.written and fan_out is not None and await fan_out(unit, unit.written))

    async def _end(self, error: BaseException | None) -> None:
        try:
            kind, traceback = (type(error), error.__traceback__) if error else (None, None)
            await self._transaction.__aexit__(kind, error, traceback)
        except Overtaken:
            # Without a look at the database nothing new was learnt of the tenant.
            raise
        except BaseException:
            self._forget_tenant()
            raise
        if error is not None:
            self._forget_tenant()

    def _forget_tenant(self) -> None:
        """What the unit knew may stand under a version that was not committed, and will be given
        out again for something else."""
        self._engine.parts.tenants.forget(self._tenant_id)
