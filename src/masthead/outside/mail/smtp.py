"""Sends an email to the operator's SMTP server, with the TLS mode of the server's URL."""

from __future__ import annotations

from pathlib import Path

import aiosmtplib

from masthead.base.config.values import SmtpSecurity, SmtpServer
from masthead.base.languages.words import staff_marked, staff_words
from masthead.outside.mail.message import ComposedMail
from masthead.outside.outbound.tls import tls_context

TIMEOUT_SECONDS = 30.0
_PERMANENT = range(500, 600)
# Enhanced codes (RFC 3463, RFC 6531). A plain 550 may also mean that we may not send.
_UNKNOWN = ("5.1.",)
_ASCII_ONLY = ("5.6.7", "5.6.9")
UTF8_OPTIONS = ("SMTPUTF8", "BODY=8BITMIME")


class Undeliverable(Exception):
    """The email can never be sent; the message says why."""


class NoSuchMailbox(Undeliverable):
    def __init__(self) -> None:
        super().__init__(staff_marked("there is no such mailbox"))


class AsciiOnly(Undeliverable):
    def __init__(self) -> None:
        super().__init__(
            staff_marked("the mail server accepts only ASCII addresses (no SMTPUTF8, RFC 6531)")
        )


class SmtpTransport:
    def __init__(
        self,
        server: SmtpServer,
        ca_file: Path | None,
        local_hostname: str,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._server = server
        self._tls = tls_context(ca_file)
        self._local_hostname = local_hostname
        self._timeout_seconds = timeout_seconds

    async def send(self, mail_id: str, mail: ComposedMail) -> None:
        async with self.client() as client:
            try:
                await client.sendmail(
                    mail.sender,
                    [mail.recipient],
                    mail.content,
                    mail_options=UTF8_OPTIONS if mail.is_utf8 else (),
                )
            except aiosmtplib.SMTPException as error:
                permanent = _permanent_error(error)
                if permanent is None:
                    raise
                raise permanent() from error

    async def check(self) -> None:
        """Connects and signs in without sending an email."""
        async with self.client() as client:
            await client.noop()

    def client(self) -> aiosmtplib.SMTP:
        """Not connected yet."""
        server = self._server
        return aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            username=server.username,
            password=str(server.password) if server.password is not None else None,
            use_tls=server.security is SmtpSecurity.TLS,
            start_tls=server.security is SmtpSecurity.STARTTLS,
            tls_context=self._tls,
            # Given, because looking it up would block the event loop.
            local_hostname=self._local_hostname,
            timeout=self._timeout_seconds,
        )


def _permanent_error(error: aiosmtplib.SMTPException) -> type[AsciiOnly | NoSuchMailbox] | None:
    """The error if the email can never be sent; None if a retry may succeed."""
    # SMTPUTF8 is the only extension that sending requires.
    if isinstance(error, aiosmtplib.SMTPNotSupported):
        return AsciiOnly
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused):
        if all(_has_code(each, _UNKNOWN) for each in error.recipients):
            return NoSuchMailbox
        return AsciiOnly if all(_has_code(each, _ASCII_ONLY) for each in error.recipients) else None
    if isinstance(error, aiosmtplib.SMTPResponseException) and _has_code(error, _ASCII_ONLY):
        return AsciiOnly
    return None


def _has_code(reply: aiosmtplib.SMTPResponseException, codes: tuple[str, ...]) -> bool:
    return reply.code in _PERMANENT and reply.message.lstrip().startswith(codes)


def reason_of(error: Exception) -> str:
    """For the owner of a site: without the server's words, which may name its machines."""
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused):
        codes = sorted({each.code for each in error.recipients})
        shown = ", ".join(map(str, codes))
        return staff_words("the mail server refused the address (%(codes)s)", codes=shown)
    if isinstance(error, aiosmtplib.SMTPAuthenticationError):
        return staff_words("the mail server refused our sign-in")
    if isinstance(error, aiosmtplib.SMTPResponseException):
        return staff_words("the mail server refused the email (%(code)s)", code=error.code)
    return staff_words("the mail server could not be reached")
