"""A connection to the mail server that sends many emails, and says of each how far it came."""

from __future__ import annotations

import asyncio
import contextlib
import re
from enum import StrEnum
from typing import Final, Protocol

import aiosmtplib
import msgspec

from masthead.base.languages.words import staff_marked
from masthead.outside.mail.files import MailFolder
from masthead.outside.mail.foreign_words import readable
from masthead.outside.mail.message import ComposedMail
from masthead.outside.mail.signing import Signer
from masthead.outside.mail.smtp import UTF8_OPTIONS, SmtpTransport, reason_of
from masthead.outside.mail.transport import SigningTransport

HAND_OVER_SECONDS: Final = 60.0
"""The most that one email may take, from the connection to the server's answer."""
MAILS_PER_CONNECTION: Final = 500
"""Servers end connections that are used for very long."""
MAX_REPLY: Final = 300
NO_ANSWER: Final = staff_marked("the mail server did not answer in time")
_DONE: Final = (250, 251)
_SEND_THE_TEXT: Final = 354
_CLOSING: Final = 421
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_PERMANENT: Final = range(500, 600)
_NO_MAILBOX: Final = re.compile(r"\s*5\.1\.\d")


class Fate(StrEnum):
    TAKEN = "taken"
    LATER = "later"
    """Refused for now. The email did not leave."""
    REFUSED = "refused"
    """For good."""
    UNKNOWN = "unknown"
    """The text was sent, and the answer is lost."""
    NO_SERVER = "no server"
    """There is no connection, which has nothing to do with the recipient."""


class Answer(msgspec.Struct, frozen=True):
    fate: Fate
    reply: str = ""
    is_no_mailbox: bool = False


TAKEN: Final = Answer(Fate.TAKEN)


class Connection(Protocol):
    @property
    def is_open(self) -> bool: ...

    async def open(self) -> str:
        """Empty, or why the server can't be reached."""
        ...

    async def hand_over(self, mail_id: str, mail: ComposedMail) -> Answer: ...

    async def close(self) -> None: ...


def connection_to(transport: SigningTransport) -> Connection:
    inner = transport.inner
    connection = (
        SmtpConnection(inner) if isinstance(inner, SmtpTransport) else FolderConnection(inner)
    )
    return SigningConnection(connection, transport.signer)


class SigningConnection:
    """Signs each email whose domain has a key before it is handed over."""

    def __init__(self, inner: SmtpConnection | FolderConnection, signer: Signer) -> None:
        self._inner = inner
        self._signer = signer

    @property
    def is_open(self) -> bool:
        return self._inner.is_open

    async def open(self) -> str:
        return await self._inner.open()

    async def hand_over(self, mail_id: str, mail: ComposedMail) -> Answer:
        return await self._inner.hand_over(mail_id, await self._signer.sign(mail))

    async def close(self) -> None:
        await self._inner.close()


class FolderConnection:
    """Without a mail server an email is a file."""

    def __init__(self, folder: MailFolder) -> None:
        self._folder = folder
        self.is_open = True

    async def open(self) -> str:
        """The next email shows whether it can be written."""
        self.is_open = True
        return ""

    async def hand_over(self, mail_id: str, mail: ComposedMail) -> Answer:
        try:
            await self._folder.send(mail_id, mail)
        except OSError as error:
            self.is_open = False
            return Answer(
                Fate.NO_SERVER, error.strerror or staff_marked("the file could not be written")
            )
        return TAKEN

    async def close(self) -> None:
        return


class _NoConnection(Exception):
    """The message says why."""


class SmtpConnection:
    """Connects with the first email, and again whenever the server has closed the connection."""

    def __init__(
        self, transport: SmtpTransport, *, timeout_seconds: float = HAND_OVER_SECONDS
    ) -> None:
        self._transport = transport
        self._timeout_seconds = timeout_seconds
        self._client: aiosmtplib.SMTP | None = None
        self._sent = 0
        self._text_is_sent = False

    @property
    def is_open(self) -> bool:
        return self._client is not None

    async def open(self) -> str:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await self._connect()
        except TimeoutError:
            return NO_ANSWER
        except _NoConnection as error:
            return str(error)
        return ""

    async def hand_over(self, mail_id: str, mail: ComposedMail) -> Answer:
        self._text_is_sent = False
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._hand_over(mail)
        except TimeoutError:
            self._drop()
            fate = Fate.UNKNOWN if self._text_is_sent else Fate.NO_SERVER
            return Answer(fate, NO_ANSWER)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is None:
            return
        with contextlib.suppress(aiosmtplib.SMTPException, OSError, TimeoutError):
            async with asyncio.timeout(2):
                await client.quit()
        client.close()

    async def _hand_over(self, mail: ComposedMail) -> Answer:
        if self._sent >= MAILS_PER_CONNECTION:
            await self.close()
        is_fresh = self._client is None
        try:
            client = self._client or await self._connect()
            await self._envelope(client, mail)
            await _command(client, b"DATA", expected=(_SEND_THE_TEXT,))
        except aiosmtplib.SMTPNotSupported:
            return Answer(
                Fate.REFUSED, staff_marked("the mail server accepts only ASCII addresses")
            )
        except _NoConnection as error:
            return Answer(Fate.NO_SERVER, str(error))
        except aiosmtplib.SMTPResponseException as error:
            if error.code == _CLOSING and not is_fresh:
                # It wants no more on this connection.
                self._drop()
                return await self._hand_over(mail)
            return await self._refusal(error)
        except (aiosmtplib.SMTPException, OSError) as error:
            self._drop()
            if is_fresh:
                return Answer(Fate.NO_SERVER, reason_of(error))
            # The server has closed an idle connection. Nothing of the email has left: it begins
            # only after the answer to DATA.
            return await self._hand_over(mail)
        return await self._text(client, mail)

    async def _connect(self) -> aiosmtplib.SMTP:
        client = self._transport.client()
        try:
            await client.connect()
            await _greet(client)
        except (aiosmtplib.SMTPException, OSError) as error:
            # A refusal of the connection or of the sign-in is no refusal of a recipient.
            client.close()
            raise _NoConnection(reason_of(error)) from error
        except BaseException:
            client.close()
            raise
        self._client, self._sent = client, 0
        return client

    async def _envelope(self, client: aiosmtplib.SMTP, mail: ComposedMail) -> None:
        if mail.is_utf8 and not client.supports_extension("SMTPUTF8"):
            raise aiosmtplib.SMTPNotSupported("SMTPUTF8")
        options = [each.encode() for each in UTF8_OPTIONS] if mail.is_utf8 else []
        await _command(client, b"MAIL", b"FROM:<%b>" % mail.sender.encode(), *options)
        await _command(client, b"RCPT", b"TO:<%b>" % mail.recipient.encode())

    async def _text(self, client: aiosmtplib.SMTP, mail: ComposedMail) -> Answer:
        self._text_is_sent = True
        try:
            assert client.protocol is not None
            client.protocol.write(_on_the_wire(mail.content))
            reply = await client.protocol.read_response(timeout=client.timeout)
        except (aiosmtplib.SMTPException, OSError) as error:
            self._drop()
            return Answer(Fate.UNKNOWN, reason_of(error))
        if reply.code not in _DONE:
            return await self._refusal(aiosmtplib.SMTPDataError(reply.code, reply.message))
        self._sent += 1
        return TAKEN

    async def _refusal(self, error: aiosmtplib.SMTPResponseException) -> Answer:
        try:
            # Afterwards the server waits for the next email.
            if self._client is not None:
                await self._client.rset()
        except (aiosmtplib.SMTPException, OSError):
            self._drop()
        if error.code == _CLOSING:
            self._drop()
            return Answer(Fate.NO_SERVER, staff_marked("the mail server closed the connection"))
        is_final = error.code in _PERMANENT
        reply = f"{error.code} {readable(error.message)}"[:MAX_REPLY]
        is_no_mailbox = is_final and _NO_MAILBOX.match(str(error.message)) is not None
        return Answer(Fate.REFUSED if is_final else Fate.LATER, reply, is_no_mailbox)

    def _drop(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = None


async def _greet(client: aiosmtplib.SMTP) -> None:
    """The library does it with the first of its own commands, or to sign in."""
    if client.is_ehlo_or_helo_needed:
        try:
            await client.ehlo()
        except aiosmtplib.SMTPHeloError:
            await client.helo()


async def _command(
    client: aiosmtplib.SMTP, *words: bytes, expected: tuple[int, ...] = _DONE
) -> None:
    """The library's own methods parse every address anew, which costs more than all else."""
    reply = await client.execute_command(*words)
    if reply.code not in expected:
        raise aiosmtplib.SMTPResponseException(reply.code, reply.message)


def _on_the_wire(content: bytes) -> bytes:
    """With two dots for one at the start of a line, and with the line that ends a text."""
    lines = content.count(b"\r\n")
    if content.count(b"\r") != lines or content.count(b"\n") != lines:
        content = _LINE_END.sub(b"\r\n", content)
    end = b".\r\n" if content.endswith(b"\r\n") else b"\r\n.\r\n"
    return content.replace(b"\r\n.", b"\r\n..") + end
