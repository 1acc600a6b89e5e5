"""The job that sends a queued email."""

from __future__ import annotations

from collections.abc import Mapping
from email.headerregistry import Address

from aiosmtplib import SMTPException

from masthead.base import counters
from masthead.base.logs import log
from masthead.engine.jobs.runner import MAX_ATTEMPTS, Handler, Job
from masthead.outside.mail.message import compose
from masthead.outside.mail.outbox import SEND, Outbox
from masthead.outside.mail.signing_keys import SigningKeys
from masthead.outside.mail.smtp import Undeliverable, reason_of
from masthead.outside.mail.transport import Transport

CONCURRENCY = {SEND: 4}
"""Most of sending is waiting for the server."""


def handlers(
    outbox: Outbox, transport: Transport, sender: Address, keys: SigningKeys
) -> Mapping[str, Handler]:
    async def send(job: Job) -> None:
        """`mail.send`: after a crash the same email may be sent twice, with the same Message-ID."""
        queued = await outbox.get(job.tenant_id, job.payload["mail_id"])
        if queued is None:
            return
        domain = queued.rendered.from_domain
        mail = compose(
            queued.rendered,
            mail_id=queued.id,
            written=queued.written,
            sender=sender,
            key=await (keys.of(job.tenant_id, domain) if domain else keys.of_installation()),
        )
        try:
            await transport.send(queued.id, mail)
        except Undeliverable as error:
            log.warning("mail.undeliverable", mail_id=queued.id, reason=str(error))
            await outbox.discard(job.tenant_id, queued.id, str(error))
            counters.MAILS.add(counters.ACCOUNT, counters.FAILED)
            return
        except (SMTPException, OSError) as error:
            gave_up = job.attempts >= MAX_ATTEMPTS
            await outbox.fail(job.tenant_id, queued.id, reason_of(error), gave_up=gave_up)
            counters.MAILS.add(counters.ACCOUNT, counters.FAILED)
            raise
        counters.MAILS.add(counters.ACCOUNT, counters.SENT)
        await outbox.remove(job.tenant_id, queued.id)

    return {SEND: send}
