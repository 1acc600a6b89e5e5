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
from masthead.storage.database import EVERY_TENANT, Database, Statement

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
        self._insert = database.compile(sa.insert(realtime_requests))
        self._pending = database.compile(
            sa.select(t.id, t.sealed).where(t.process == sa.bindparam("process"), t.outcome == "")
        )
        this = sa.and_(t.tenant_id == sa.bindparam("tenant"), t.id == sa.bindparam("request"))
        self._outcome = database.compile(sa.select(t.outcome).where(this))
        self._set = database.compile(
            sa.update(realtime_requests).where(this).values(outcome=sa.bindparam("new_outcome"))
        )
        self._remove = database.compile(sa.delete(realtime_requests).where(this))
        self._sweep = database.compile(
            sa.delete(realtime_requests).where(t.created < sa.bindparam("before"))
        )

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
        key = {"tenant": row["tenant_id"], "request": request_id}
        await self._execute(self._insert, row, notified=process)
        try:
            return await self._wait_for(key)
        finally:
            await self._execute(self._remove, key)

    async def _wait_for(self, key: Mapping[str, str]) -> str:
        deadline = time.monotonic() + ANSWER_SECONDS
        bound = self._outcome.bind(key)
        while time.monotonic() < deadline:
            await asyncio.sleep(ASK_SECONDS)
            rows = await self._database.fetch(EVERY_TENANT, self._outcome, bound)
            if rows and rows[0][0]:
                return str(rows[0][0])
        return ""

    async def pending(self) -> Sequence[tuple[str, Request]]:
        """Requests of other processes to this one."""
        bound = self._pending.bind({"process": self._process})
        rows = await self._database.fetch(EVERY_TENANT, self._pending, bound)
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
        key = {"tenant": request.tenant_id or "", "request": request_id}
        await self._execute(self._set, {**key, "new_outcome": outcome})

    async def sweep(self) -> None:
        before = clock.to_text(self._now() - KEPT)
        await self._execute(self._sweep, {"before": before})

    async def _execute(
        self, statement: Statement, values: Mapping[str, object], *, notified: str = ""
    ) -> None:
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(statement, statement.bind(values))
            if notified:
                tx.notify(notified)
