"""Each signed call of a mail provider counts once within the lifetime of its signature, in all
processes."""

from __future__ import annotations

import hashlib

from masthead.base import clock
from masthead.base.config.tokens import hash_token
from masthead.base.errors import Unauthenticated
from masthead.features.mailings.report_sources import MAX_AGE, NOT_GENUINE
from masthead.features.mailings.tables import mail_report_tokens
from masthead.storage.database import EVERY_TENANT, Database
from masthead.storage.table_rows import TableRows

LIFETIME = 2 * MAX_AGE
"""A provider's clock may be ahead by as much as a signature may be old."""


class ReportTokens:
    def __init__(self, database: Database, now: clock.Clock) -> None:
        self._database = database
        self._clock = now
        self._rows = TableRows(database, mail_report_tokens)

    async def begin(self, token: str, body: bytes) -> bool:
        """False if the call was taken already. One that a crash has interrupted may come again,
        with the same body; with another one it raises Unauthenticated."""
        body_hash = hashlib.sha256(body).hexdigest()
        values = {
            **_key(token),
            "body_hash": body_hash,
            "is_done": 0,
            "expires": clock.to_text(self._clock() + LIFETIME),
        }
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(*self._rows.insert_missing(values))
            found = self._rows.select(("body_hash", "is_done"), _key(token))
            ((first, is_done),) = await tx.fetch(*found)
        if first != body_hash:
            raise Unauthenticated(NOT_GENUINE)
        return not is_done

    async def end(self, token: str) -> None:
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(*self._rows.update({"is_done": 1}, _key(token)))

    async def sweep(self) -> None:
        await self._rows.sweep("expires", self._clock())


def _key(token: str) -> dict[str, str]:
    return {"tenant_id": "", "token_hash": hash_token(token)}
