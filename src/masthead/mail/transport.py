"""The two transports of emails: the operator's SMTP server, or a folder."""

from __future__ import annotations

from typing import Protocol

from masthead.config.settings import Settings
from masthead.mail.files import MailFolder
from masthead.mail.message import ComposedMail
from masthead.mail.smtp import SmtpTransport


class Transport(Protocol):
    async def send(self, mail_id: str, mail: ComposedMail) -> None:
        """Returns when the email is delivered to the server or the disk; raises otherwise, and is
        retried.

        Raises `Undeliverable` if a retry can't succeed.
        """
        ...


def transport_of(settings: Settings) -> Transport:
    if settings.smtp_url is None:
        return MailFolder(settings.data_dir / "mail")
    return SmtpTransport(settings.smtp_url, settings.outbound_ca_file, settings.base_domain)
