"""The outbox: an email is a row and a job, written in the transaction of the change it is about.

The content is encrypted, because emails hold links that are as good as a password.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Protocol

import msgspec
import sqlalchemy as sa

from masthead.base import clock, ids
from masthead.base.config.keyring import KeyRing
from masthead.base.config.settings import Settings
from masthead.base.email_address import normal_email
from masthead.base.ids import TenantId
from masthead.base.languages.words import as_text
from masthead.engine.jobs.tables import jobs, new_job
from masthead.engine.records.write.unit import Unit
from masthead.outside.mail.message import Mail, RenderedMail, compose
from masthead.outside.mail.rendering import render
from masthead.outside.mail.tables import HAS_FAILED, mails
from masthead.storage.database import EVERY_TENANT, Database, Row, Transaction, scope_of
from masthead.storage.table_rows import TableRows

SEND = "mail.send"
RETENTION = timedelta(days=14)
"""How long an email that could not be sent is stored; its job gives up after little more than a
day."""
_PURPOSE = "mail"
_FAILED = ("id", "recipient", "failed_at", "failure", "gave_up")
_PLATFORM = TenantId("")


class QueuedMail(msgspec.Struct, frozen=True):
    id: str
    rendered: RenderedMail
    written: datetime


class FailedMail(msgspec.Struct, frozen=True):
    id: str
    recipient: str
    at: str
    """The time of the last attempt."""
    why: str
    gave_up: bool


class MailLog(Protocol):
    """Is told which emails were queued, and their outcome."""

    async def queued(self, unit: Unit, mail_id: str, recipient: str, template: str) -> None: ...

    async def ended(
        self, tx: Transaction, tenant_id: TenantId, mail_id: str, *, is_sent: bool
    ) -> None: ...


class Outbox:
    log: MailLog | None = None

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
        self._rows = TableRows(database, mails)
        self._jobs = TableRows(database, jobs)
        self._failures = database.compile(
            sa.select(*(mails.c[name] for name in _FAILED))
            .where(mails.c.tenant_id == sa.bindparam("tenant"), HAS_FAILED)
            .order_by(mails.c.failed_at.desc())
            .limit(sa.bindparam("most"))
        )

    async def queue(self, unit: Unit, mail: Mail) -> str:
        """The email is sent after the unit has committed. Returns its id.

        Raises ValueError for an invalid address, so that it does not fail at every attempt.
        """
        return await self.queue_rendered(unit, render(mail), mail.template)

    async def queue_rendered(self, unit: Unit, rendered: RenderedMail, called: str) -> str:
        """The same for an email without a template; `called` is its name in the log."""
        mail_id, values = self._row(unit.tenant_id, rendered)
        await unit.execute(*self._rows.insert(values))
        await unit.enqueue(SEND, {"mail_id": mail_id})
        if self.log:
            await self.log.queued(unit, mail_id, values["recipient"], called)
        return mail_id

    async def queue_for_platform(self, tx: Transaction, mail: Mail) -> None:
        """Like `queue`, for the receipt in the transaction that deletes the tenant: the email
        belongs to the platform, and no unit spans both."""
        mail_id, values = self._row(_PLATFORM, render(mail))
        await tx.execute(*self._rows.insert(values))
        job = new_job(_PLATFORM, SEND, {"mail_id": mail_id}, values["created"])
        await tx.execute(*self._jobs.insert(job))

    def _row(self, tenant_id: TenantId, rendered: RenderedMail) -> tuple[str, dict[str, Any]]:
        mail_id, now = ids.new_id(), self._clock()
        compose(rendered, mail_id=mail_id, written=now, sender=self._sender)
        content = msgspec.json.encode(rendered, enc_hook=as_text).decode()
        return mail_id, {
            "tenant_id": tenant_id,
            "id": mail_id,
            "recipient": normal_email(rendered.to),
            "content": self._keyring.encrypt(
                _PURPOSE, content, _encryption_context(tenant_id, mail_id)
            ),
            "created": clock.to_text(now),
            "failed_at": "",
            "failure": "",
            "gave_up": False,
        }

    async def get(self, tenant_id: TenantId, mail_id: str) -> QueuedMail | None:
        found = self._rows.select(("content", "created"), _key(tenant_id, mail_id))
        rows = await self._database.fetch(scope_of(tenant_id), *found)
        if not rows:
            return None
        content, created = rows[0]
        if not content:
            return None
        plain = self._keyring.decrypt(_PURPOSE, content, _encryption_context(tenant_id, mail_id))
        rendered = msgspec.json.decode(plain, type=RenderedMail)
        return QueuedMail(mail_id, rendered, clock.from_text(created))

    async def fail(self, tenant_id: TenantId, mail_id: str, why: str, *, gave_up: bool) -> None:
        """Stores why an attempt has failed, for the site's owner."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            await self._note_failure(tx, tenant_id, mail_id, why, gave_up=gave_up)

    async def discard(self, tenant_id: TenantId, mail_id: str, why: str) -> None:
        """Removes the content of an email that can never be sent. The reason stays until the
        sweep."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            await self._note_failure(tx, tenant_id, mail_id, why, gave_up=True)
            await tx.execute(*self._rows.update({"content": ""}, _key(tenant_id, mail_id)))

    async def _note_failure(
        self, tx: Transaction, tenant_id: TenantId, mail_id: str, why: str, *, gave_up: bool
    ) -> None:
        moment = clock.to_text(self._clock())
        values = {"failed_at": moment, "failure": why, "gave_up": gave_up}
        await tx.execute(*self._rows.update(values, _key(tenant_id, mail_id)))
        if gave_up and self.log:
            await self.log.ended(tx, tenant_id, mail_id, is_sent=False)

    async def state(self, tenant_id: TenantId, mail_id: str) -> FailedMail | None:
        """The state of a waiting email, with no `at` before an attempt has failed. None once it is
        sent: then the row is deleted."""
        found = self._rows.select(_FAILED, _key(tenant_id, mail_id))
        rows = await self._database.fetch(scope_of(tenant_id), *found)
        return _failed_mail(rows[0]) if rows else None

    async def failures(self, tenant_id: TenantId, most: int) -> list[FailedMail]:
        """The newest first; those that were sent later are not among them."""
        bound = self._failures({"tenant": tenant_id, "most": most})
        rows = await self._database.fetch(scope_of(tenant_id), *bound)
        return [_failed_mail(row) for row in rows]

    async def remove(self, tenant_id: TenantId, mail_id: str) -> None:
        """Deletes the row of an email that was sent. Waits for no change of the site: as long as
        the row is there, the email would be sent again."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            if self.log:
                await self.log.ended(tx, tenant_id, mail_id, is_sent=True)
            await tx.execute(*self._rows.delete(_key(tenant_id, mail_id)))

    async def sweep(self) -> None:
        await self._rows.sweep("created", self._clock() - RETENTION)


def _key(tenant_id: str, mail_id: str) -> dict[str, str]:
    return {"tenant_id": tenant_id, "id": mail_id}


def _failed_mail(row: Row) -> FailedMail:
    mail_id, recipient, at, why, gave_up = row
    return FailedMail(mail_id, recipient, at, why, bool(gave_up))


def _encryption_context(tenant_id: str, mail_id: str) -> str:
    return f"{tenant_id}/{mail_id}"
