"""The job that sends a queued email."""

from __future__ import annotations

from collections.abc import Mapping
from email.headerregistry import Address

import structlog

from masthead.jobs.runner import Handler, Job
from masthead.mail.message import compose
from masthead.mail.outbox import SEND, Outbox
from masthead.mail.smtp import Undeliverable
from masthead.mail.transport import Transport

CONCURRENCY = {SEND: 4}
"""Most of sending is waiting for the server."""

log = structlog.get_logger()


def handlers(outbox: Outbox, transport: Transport, sender: Address) -> Mapping[str, Handler]:
    async def send(job: Job) -> None:
        """`mail.send`: after a crash the same email may be sent twice, with the same Message-ID."""
        queued = await outbox.get(job.tenant_id, job.payload["mail_id"])
        if queued is None:
            return
        mail = compose(queued.rendered, mail_id=queued.id, written=queued.written, sender=sender)
        try:
            await transport.send(queued.id, mail)
        except Undeliverable as error:
            log.warning("mail.undeliverable", mail_id=queued.id, reason=str(error))
        await outbox.remove(job.tenant_id, queued.id)

    return {SEND: send}
