"""Hands a mail to the operator's SMTP server, over TLS as the server's address says."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import aiosmtplib

from masthead.outbound.connections import trust_of
from masthead.setting_values import SmtpSecurity, SmtpServer

TIMEOUT_SECONDS = 30.0
_PERMANENT = range(500, 600)


class NoSuchMailbox(Exception):
    """The server knows that there is no such recipient: asking again would only annoy it."""


class SmtpTransport:
    def __init__(
        self,
        server: SmtpServer,
        ca_file: Path | None,
        own_name: str,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._server = server
        self._trust = trust_of(ca_file)
        self._own_name = own_name
        self._timeout_seconds = timeout_seconds

    async def send(self, mail_id: str, message: EmailMessage) -> None:
        server = self._server
        try:
            await aiosmtplib.send(
                message.as_bytes(),
                sender=message["from"].addresses[0].addr_spec,
                recipients=[each.addr_spec for each in message["to"].addresses],
                hostname=server.host,
                port=server.port,
                username=server.username,
                password=str(server.password) if server.password is not None else None,
                use_tls=server.security is SmtpSecurity.TLS,
                start_tls=server.security is SmtpSecurity.STARTTLS,
                tls_context=self._trust,
                # Not asked of the resolver, which would hold up everything else.
                local_hostname=self._own_name,
                timeout=self._timeout_seconds,
            )
        except aiosmtplib.SMTPRecipientsRefused as error:
            if all(_is_unknown(refusal) for refusal in error.recipients):
                raise NoSuchMailbox from error
            raise


def _is_unknown(refusal: aiosmtplib.SMTPRecipientRefused) -> bool:
    """By the enhanced code 5.1.x (RFC 3463): a bare 550 may as well mean that we may not send."""
    return refusal.code in _PERMANENT and refusal.message.lstrip().startswith("5.1.")
