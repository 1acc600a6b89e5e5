"""The outbox: a mail is a row and a job, written in the transaction of the change it tells about.

What the row holds is encrypted, because mails carry links that are as good as a password.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
import sqlalchemy as sa
from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table

from masthead import clock, ids
from masthead.config.keyring import KeyRing
from masthead.config.settings import Settings
from masthead.email_address import normal_email
from masthead.ids import TenantId
from masthead.jobs.tables import jobs
from masthead.mail.message import Letter, Mail, compose
from masthead.mail.rendering import render
from masthead.records.write.unit import Unit
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database, Statement, Transaction, scope_of
from masthead.storage.metadata import metadata

SEND = "mail.send"
KEPT = timedelta(days=14)
"""How long a mail that could not be sent stays; its job gives up after little more than a day."""
_PURPOSE = "mail"
_PLATFORM = TenantId("")

mails = Table(
    "mails",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("id", dialects.Text(), nullable=False),
    # In the clear, so that a person's mails can be found and dropped.
    Column("recipient", dialects.Text(), nullable=False),
    Column("content", dialects.Text(), nullable=False),
    Column("created", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "id"),
    Index("ix_mails__tenant_id_recipient", "tenant_id", "recipient"),
    Index("ix_mails__created", "created"),
)


@dataclass(frozen=True, slots=True)
class QueuedMail:
    id: str
    letter: Letter
    written: datetime


class Outbox:
    def __init__(
        self,
        database: Database,
        keyring: KeyRing,
        settings: Settings,
        now: clock.Clock = clock.now,
    ) -> None:
        self._database = database
        self._keyring = keyring
        self._sender = settings.mail_from
        self._clock = now
        t = mails.c
        this = (t.tenant_id == sa.bindparam("key_tenant"), t.id == sa.bindparam("key_id"))
        self._insert = database.compile(sa.insert(mails))
        self._enqueue = database.compile(sa.insert(jobs))
        self._find = database.compile(sa.select(t.content, t.created).where(*this))
        self._remove = database.compile(sa.delete(mails).where(*this))
        self._forget = database.compile(
            sa.delete(mails).where(
                t.tenant_id == sa.bindparam("key_tenant"), t.recipient == sa.bindparam("key_to")
            )
        )
        self._sweep = database.compile(sa.delete(mails).where(t.created < sa.bindparam("before")))

    async def queue(self, unit: Unit, mail: Mail) -> str:
        """Sent once the unit has committed, and only if it does. Returns the mail's id.

        Raises ValueError for an address that is none: better now than on every attempt.
        """
        mail_id, values = self._row(unit.tenant_id, mail)
        await unit.execute(self._insert, values)
        await unit.enqueue(SEND, {"mail_id": mail_id})
        return mail_id

    async def queue_for_platform(self, tx: Transaction, mail: Mail) -> None:
        """As `queue`, for the mail that tells of a tenant's end in the transaction which brings it
        about: it belongs to the platform, and no unit spans the two."""
        mail_id, values = self._row(_PLATFORM, mail)
        await tx.execute(self._insert, self._insert.bind(values))
        job = {
            "tenant_id": _PLATFORM,
            "id": ids.new_id(),
            "kind": SEND,
            "payload": msgspec.json.encode({"mail_id": mail_id}).decode(),
            "run_at": values["created"],
            "attempts": 0,
            "leased_until": "",
            "failed_at": "",
            "error": "",
            "created": values["created"],
        }
        await tx.execute(self._enqueue, self._enqueue.bind(job))

    def _row(self, tenant_id: TenantId, mail: Mail) -> tuple[str, dict[str, str]]:
        letter, mail_id, now = render(mail), ids.new_id(), self._clock()
        compose(letter, mail_id=mail_id, written=now, sender=self._sender)
        content = msgspec.json.encode(letter).decode()
        return mail_id, {
            "tenant_id": tenant_id,
            "id": mail_id,
            "recipient": normal_email(mail.to),
            "content": self._keyring.encrypt(_PURPOSE, content, _place(tenant_id, mail_id)),
            "created": clock.to_text(now),
        }

    async def forget(self, unit: Unit, email: str) -> int:
        """Drops whatever is still to be sent to an address; returns how many mails that were."""
        values = {"key_tenant": unit.tenant_id, "key_to": normal_email(email)}
        return await unit.execute(self._forget, values)

    async def get(self, tenant_id: TenantId, mail_id: str) -> QueuedMail | None:
        bound = self._find.bind({"key_tenant": tenant_id, "key_id": mail_id})
        rows = await self._database.fetch(scope_of(tenant_id), self._find, bound)
        if not rows:
            return None
        content, created = rows[0]
        plain = self._keyring.decrypt(_PURPOSE, content, _place(tenant_id, mail_id))
        letter = msgspec.json.decode(plain, type=Letter)
        return QueuedMail(mail_id, letter, clock.from_text(created))

    async def remove(self, tenant_id: TenantId, mail_id: str) -> None:
        await self._execute(self._remove, {"key_tenant": tenant_id, "key_id": mail_id})

    async def sweep(self) -> None:
        await self._execute(self._sweep, {"before": clock.to_text(self._clock() - KEPT)})

    async def _execute(self, statement: Statement, values: Mapping[str, str]) -> None:
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(statement, statement.bind(values))


def _place(tenant_id: str, mail_id: str) -> str:
    return f"{tenant_id}/{mail_id}"
