"""Subscriptions for a connection of another process: a row asks that process, and has its answer.

A client opens its connection with one request and subscribes with another, which a load balancer
may send elsewhere.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta

import msgspec
import sqlalchemy as sa

from masthead.base import clock, ids
from masthead.base.config.keyring import DecryptionError, KeyRing
from masthead.base.ids import TenantId
from masthead.faces.record_api.realtime.tables import realtime_requests
from masthead.storage.database import EVERY_TENANT, Bound, Database
from masthead.storage.table_rows import TableRows

ANSWER_SECONDS = 4.0
"""After that the process is taken for dead, and its connections for closed."""
ASK_SECONDS = 0.03
KEPT = timedelta(minutes=1)
_PURPOSE = "realtime requests"


class Request(msgspec.Struct, frozen=True):
    client_id: str
    topics: list[str]
    tenant_id: TenantId | None
    token: str
    """The token of an account; '' for a guest."""


class Relay:
    def __init__(self, database: Database, keyring: KeyRing, process: str, now: clock.Clock):
        self._database = database
        self._keyring = keyring
        self._process = process
        self._now = now
        t = realtime_requests.c
        self._pending = database.compile(
            sa.select(t.id, t.sealed).where(t.process == sa.bindparam("process"), t.outcome == "")
        )
        self._rows = TableRows(database, realtime_requests)

    async def ask(self, process: str, request: Request) -> str:
        """The outcome of the process that has the connection; '' if it gives none."""
        request_id = ids.new_id()
        sealed = self._keyring.encrypt(_PURPOSE, msgspec.json.encode(request).decode(), request_id)
        row = {
            "tenant_id": request.tenant_id or "",
            "id": request_id,
            "process": process,
            "sealed": sealed,
            "outcome": "",
            "created": clock.to_text(self._now()),
        }
        key = _key(request, request_id)
        await self._execute(self._rows.insert(row), notified=process)
        try:
            return await self._wait_for(key)
        finally:
            await self._execute(self._rows.delete(key))

    async def _wait_for(self, key: Mapping[str, str]) -> str:
        deadline = time.monotonic() + ANSWER_SECONDS
        outcome = self._rows.select(("outcome",), key)
        while time.monotonic() < deadline:
            await asyncio.sleep(ASK_SECONDS)
            rows = await self._database.fetch(EVERY_TENANT, *outcome)
            if rows and rows[0][0]:
                return str(rows[0][0])
        return ""

    async def pending(self) -> Sequence[tuple[str, Request]]:
        """Requests of other processes to this one."""
        rows = await self._database.fetch(EVERY_TENANT, *self._pending({"process": self._process}))
        opened = ((request_id, self._open(sealed, request_id)) for request_id, sealed in rows)
        return [(request_id, request) for request_id, request in opened if request is not None]

    def _open(self, sealed: str, request_id: str) -> Request | None:
        """None for one of a process with a newer root secret, which gets no answer."""
        try:
            text = self._keyring.decrypt(_PURPOSE, sealed, request_id)
        except DecryptionError:
            return None
        return msgspec.json.decode(text, type=Request)

    async def answer(self, request_id: str, request: Request, outcome: str) -> None:
        key = _key(request, request_id)
        await self._execute(self._rows.update({"outcome": outcome}, key))

    async def sweep(self) -> None:
        await self._rows.sweep("created", self._now() - KEPT)

    async def _execute(self, bound: Bound, *, notified: str = "") -> None:
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(*bound)
            if notified:
                tx.notify(notified)


def _key(request: Request, request_id: str) -> dict[str, str]:
    return {"tenant_id": request.tenant_id or "", "id": request_id}
