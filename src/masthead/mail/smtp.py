"""Hands a mail to the operator's SMTP server, over TLS as the server's address says."""

from __future__ import annotations

from pathlib import Path

import aiosmtplib

from masthead.config.values import SmtpSecurity, SmtpServer
from masthead.mail.message import ComposedMail
from masthead.outbound.connections import trust_of

TIMEOUT_SECONDS = 30.0
_PERMANENT = range(500, 600)
# Enhanced codes (RFC 3463, RFC 6531). A bare 550 may as well mean that we may not send.
_UNKNOWN = ("5.1.",)
_ASCII_ONLY = ("5.6.7", "5.6.9")
_UTF8_OPTIONS = ("SMTPUTF8", "BODY=8BITMIME")


class Undeliverable(Exception):
    """Trying again is no use; says why."""


class NoSuchMailbox(Undeliverable):
    """The server knows that there is no such recipient: asking again would only annoy it."""

    def __init__(self) -> None:
        super().__init__("there is no such mailbox")


class AsciiOnly(Undeliverable):
    """An address beyond ASCII has no other spelling that could be tried."""

    def __init__(self) -> None:
        super().__init__("the mail server takes no addresses beyond ASCII (SMTPUTF8, RFC 6531)")


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

    async def send(self, mail_id: str, mail: ComposedMail) -> None:
        async with self._client() as client:
            try:
                await client.sendmail(
                    mail.sender,
                    [mail.recipient],
                    mail.content,
                    mail_options=_UTF8_OPTIONS if mail.is_utf8 else (),
                )
            except aiosmtplib.SMTPException as error:
                final = _final(error)
                if final is None:
                    raise
                raise final() from error

    async def check(self) -> None:
        """Connects and signs in as for a mail, and sends none."""
        async with self._client() as client:
            await client.noop()

    def _client(self) -> aiosmtplib.SMTP:
        server = self._server
        return aiosmtplib.SMTP(
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


def _final(error: aiosmtplib.SMTPException) -> type[AsciiOnly | NoSuchMailbox] | None:
    """Why the mail can't ever be sent; None where it may work later."""
    # Of all that sending asks for, only this is an extension.
    if isinstance(error, aiosmtplib.SMTPNotSupported):
        return AsciiOnly
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused):
        if all(_says(each, _UNKNOWN) for each in error.recipients):
            return NoSuchMailbox
        return AsciiOnly if all(_says(each, _ASCII_ONLY) for each in error.recipients) else None
    if isinstance(error, aiosmtplib.SMTPResponseException) and _says(error, _ASCII_ONLY):
        return AsciiOnly
    return None


def _says(reply: aiosmtplib.SMTPResponseException, codes: tuple[str, ...]) -> bool:
    return reply.code in _PERMANENT and reply.message.lstrip().startswith(codes)
