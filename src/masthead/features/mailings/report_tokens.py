"""Each signed call of a mail provider counts once within the lifetime of its signature, in all
processes."""

from __future__ import annotations

import hashlib

import sqlalchemy as sa

from masthead.base import clock
from masthead.base.config.tokens import hash_token
from masthead.base.errors import Unauthenticated
from masthead.features.mailings.report_sources import MAX_AGE, NOT_GENUINE
from masthead.features.mailings.tables import mail_report_tokens
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database, Statement

LIFETIME = 2 * MAX_AGE
"""A provider's clock may be ahead by as much as a signature may be old."""


class ReportTokens:
    def __init__(self, database: Database, now: clock.Clock) -> None:
        self._database = database
        self._clock = now
        t = mail_report_tokens.c
        names = ("body_hash", "is_done", "expires")
        key = ("tenant_id", "token_hash")
        here = (t.tenant_id == "", t.token_hash == sa.bindparam("key_hash", required=True))
        self._insert = database.compile(dialects.insert_missing(mail_report_tokens, key, names))
        self._find = database.compile(sa.select(t.body_hash, t.is_done).where(*here))
        self._end = database.compile(sa.update(mail_report_tokens).where(*here).values(is_done=1))
        self._sweep = database.compile(
            sa.delete(mail_report_tokens).where(t.expires <= sa.bindparam("now"))
        )

    async def begin(self, token: str, body: bytes) -> bool:
        """False if the call was taken already. One that a crash has interrupted may come again,
        with the same body; with another one it raises Unauthenticated."""
        body_hash = hashlib.sha256(body).hexdigest()
        values = {
            "tenant_id": "",
            "token_hash": hash_token(token),
            "body_hash": body_hash,
            "is_done": 0,
            "expires": clock.to_text(self._clock() + LIFETIME),
        }
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(self._insert, self._insert.bind(values))
            key = {"key_hash": values["token_hash"]}
            ((first, is_done),) = await tx.fetch(self._find, self._find.bind(key))
        if first != body_hash:
            raise Unauthenticated(NOT_GENUINE)
        return not is_done

    async def end(self, token: str) -> None:
        await self._execute(self._end, key_hash=hash_token(token))

    async def sweep(self) -> None:
        await self._execute(self._sweep, now=clock.to_text(self._clock()))

    async def _execute(self, statement: Statement, **values: str) -> None:
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(statement, statement.bind(values))
