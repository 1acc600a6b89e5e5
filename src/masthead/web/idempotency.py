"""`Idempotency-Key`: a repeated POST gets the first answer instead of creating a second record.

The answer is stored in the transaction that creates the record, so neither exists without the
other. Of two concurrent calls only one runs: a tenant's writes are serialized, and the second one
finds the stored answer.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta

import sqlalchemy as sa

from masthead.base import clock
from masthead.base.config.keyring import KeyRing
from masthead.base.errors import Invalid, Problem
from masthead.engine.records.write.unit import Unit
from masthead.storage import dialects
from masthead.storage.database import Database
from masthead.storage.table_rows import TableRows
from masthead.web.answers import JSON, Answer
from masthead.web.tables import remembered_answers

ENCRYPTION_PURPOSE = "remembered-answer"
RETENTION = timedelta(hours=24)
MAX_LENGTH = 255
REPLAYED = (b"idempotent-replayed", b"true")


class Idempotency:
    def __init__(self, database: Database, keyring: KeyRing, now: clock.Clock = clock.now) -> None:
        self._keyring = keyring
        self._clock = now
        t = remembered_answers.c
        self._find = database.compile(
            sa.select(t.fingerprint, t.status, t.body, t.etag, t.created).where(
                t.tenant_id == sa.bindparam("tenant_id"), t.subject == sa.bindparam("subject")
            )
        )
        self._store = database.compile(
            dialects.upsert_set(
                remembered_answers,
                ("tenant_id", "subject"),
                ("fingerprint", "status", "body", "etag", "created"),
            )
        )
        self._rows = TableRows(database, remembered_answers)

    async def find(self, unit: Unit, subject: str, fingerprint: str) -> Answer | None:
        """The answer of an earlier call with the same key, up to a day old, marked as such."""
        rows = await unit.fetch(self._find, {"tenant_id": unit.tenant_id, "subject": subject})
        if not rows:
            return None
        known, status, body, tag, created = rows[0]
        if clock.from_text(created) < self._clock() - RETENTION:
            return None
        if known != fingerprint:
            raise Invalid(
                {
                    "Idempotency-Key": Problem(
                        "validation_key_reused",
                        "Was used with another request. Choose a new key for a new request.",
                    )
                }
            )
        if not body.startswith("{"):
            body = self._keyring.decrypt(
                ENCRYPTION_PURPOSE, body, _encryption_context(unit, subject)
            )
        headers = [JSON, REPLAYED]
        # A record may have changed since: this is the version that the body shows.
        return Answer(
            status, body.encode(), [*headers, (b"etag", tag.encode())] if tag else headers
        )

    async def store(
        self, unit: Unit, subject: str, fingerprint: str, answer: Answer, *, is_secret: bool
    ) -> None:
        """A secret answer is stored encrypted."""
        body = answer.body.decode()
        if is_secret:
            body = self._keyring.encrypt(
                ENCRYPTION_PURPOSE, body, _encryption_context(unit, subject)
            )
        values = {
            "tenant_id": unit.tenant_id,
            "subject": subject,
            "fingerprint": fingerprint,
            "status": answer.status,
            "body": body,
            "etag": dict(answer.headers).get(b"etag", b"").decode(),
            "created": clock.to_text(self._clock()),
        }
        await unit.execute(self._store, values)

    async def sweep(self) -> None:
        """Deletes answers older than a day; called by the worker."""
        await self._rows.sweep("created", self._clock() - RETENTION)


def subject_of(key_id: str, method: str, path: str, header: str) -> str:
    return _digest(key_id, method, path, header)


def _encryption_context(unit: Unit, subject: str) -> str:
    return f"{unit.tenant_id}/{subject}"


def fingerprint_of(content: str) -> str:
    return _digest(content)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()
