"""`Idempotency-Key`: a repeated POST gets the first one's answer instead of a second record.

The answer is remembered in the very transaction that makes the record. So there is no moment in
which the one is there without the other, and two at once run once: writes of a tenant take turns,
and the second one finds what the first has left.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa
from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table

from masthead import clock
from masthead.config.keyring import KeyRing
from masthead.errors import Invalid, Problem
from masthead.records.write.unit import Unit
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database
from masthead.storage.metadata import metadata

ENCRYPTION_PURPOSE = "remembered-answer"
KEPT_FOR = timedelta(hours=24)
MAX_LENGTH = 255

remembered_answers = Table(
    "remembered_answers",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    # A digest of the API key's id, the route and the header: one client's keys are not another's.
    Column("subject", dialects.Text(), nullable=False),
    Column("fingerprint", dialects.Text(), nullable=False),
    Column("status", dialects.Integer(), nullable=False),
    Column("body", dialects.Text(), nullable=False),
    Column("created", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "subject"),
    Index("ix_remembered_answers__created", "created"),
)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes


class Idempotency:
    def __init__(self, database: Database, keyring: KeyRing, now: clock.Clock = clock.now) -> None:
        self._database = database
        self._keyring = keyring
        self._clock = now
        t = remembered_answers.c
        self._find = database.compile(
            sa.select(t.fingerprint, t.status, t.body, t.created).where(
                t.tenant_id == sa.bindparam("tenant_id"), t.subject == sa.bindparam("subject")
            )
        )
        self._store = database.compile(
            dialects.upsert_set(
                remembered_answers,
                ("tenant_id", "subject"),
                ("fingerprint", "status", "body", "created"),
            )
        )
        self._sweep = database.compile(
            sa.delete(remembered_answers).where(t.created < sa.bindparam("before"))
        )

    async def recall(self, unit: Unit, subject: str, fingerprint: str) -> Answer | None:
        """The answer of an earlier call with the same key, unless it is older than a day."""
        rows = await unit.fetch(self._find, {"tenant_id": unit.tenant_id, "subject": subject})
        if not rows:
            return None
        known, status, body, created = rows[0]
        if clock.from_text(created) < self._clock() - KEPT_FOR:
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
            body = self._keyring.decrypt(ENCRYPTION_PURPOSE, body, _place(unit, subject))
        return Answer(status, body.encode())

    async def remember(
        self, unit: Unit, subject: str, fingerprint: str, answer: Answer, *, is_secret: bool
    ) -> None:
        """A secret answer is encrypted: no table holds what only the caller may know."""
        body = answer.body.decode()
        if is_secret:
            body = self._keyring.encrypt(ENCRYPTION_PURPOSE, body, _place(unit, subject))
        values = {
            "tenant_id": unit.tenant_id,
            "subject": subject,
            "fingerprint": fingerprint,
            "status": answer.status,
            "body": body,
            "created": clock.to_text(self._clock()),
        }
        await unit.execute(self._store, values)

    async def sweep(self) -> None:
        """Forgets answers older than a day; the worker calls it now and then."""
        before = clock.to_text(self._clock() - KEPT_FOR)
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(self._sweep, self._sweep.bind({"before": before}), slow=True)


def subject_of(key_id: str, method: str, path: str, header: str) -> str:
    return _digest(key_id, method, path, header)


def _place(unit: Unit, subject: str) -> str:
    return f"{unit.tenant_id}/{subject}"


def fingerprint_of(content: str) -> str:
    return _digest(content)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()
