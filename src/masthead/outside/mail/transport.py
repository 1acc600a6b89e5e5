"""The two transports of emails: the operator's SMTP server, or a folder."""

from __future__ import annotations

from typing import Protocol

from masthead.base.config.settings import Settings
from masthead.outside.mail.files import MailFolder
from masthead.outside.mail.message import ComposedMail
from masthead.outside.mail.signing import Signer
from masthead.outside.mail.smtp import SmtpTransport


class Transport(Protocol):
    async def send(self, mail_id: str, mail: ComposedMail) -> None:
        """Returns when the email is delivered to the server or the disk; raises otherwise, and is
        retried.

        Raises `Undeliverable` if a retry can't succeed.
        """
        ...


class SigningTransport:
    """Signs each email whose domain has a key before it is sent."""

    def __init__(self, inner: SmtpTransport | MailFolder, signer: Signer) -> None:
        self.inner = inner
        self.signer = signer

    async def send(self, mail_id: str, mail: ComposedMail) -> None:
        await self.inner.send(mail_id, await self.signer.sign(mail))


def transport_of(settings: Settings, signer: Signer) -> SigningTransport:
    if settings.smtp_url is None:
        return SigningTransport(MailFolder(settings.data_dir / "mail"), signer)
    server = SmtpTransport(settings.smtp_url, settings.outbound_ca_file, settings.base_domain)
    return SigningTransport(server, signer)
