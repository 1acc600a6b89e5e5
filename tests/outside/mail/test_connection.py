"""A connection hands over many emails, and says of each how far it came."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from tests.outside.mail.postbox import Postbox

from masthead.base.config.values import SmtpSecurity, SmtpServer
from masthead.outside.mail.connection import Fate, SmtpConnection
from masthead.outside.mail.message import ComposedMail
from masthead.outside.mail.smtp import SmtpTransport


def email(
    content: bytes = b"Subject: Hello\r\n\r\nHello\r\n", to: str = "a@b.example"
) -> ComposedMail:
    written = datetime(2026, 11, 14, tzinfo=UTC)
    return ComposedMail("us@example.org", to, written, content, is_utf8=not to.isascii())


def connected(port: int) -> SmtpConnection:
    server = SmtpServer("127.0.0.1", port, SmtpSecurity("plain"), None, None)
    return SmtpConnection(SmtpTransport(server, None, "localhost", timeout_seconds=5))


class Wire:
    """A server that ends the connection instead of answering some commands, and keeps all bytes of
    texts as they came."""

    def __init__(self, *ends_at: bytes) -> None:
        self.ends_at = list(ends_at)
        """Commands, or `TEXT`; each ends one connection."""
        self.texts: list[bytes] = []
        self.connections = 0
        self.refusal = b""
        """The reply to every recipient, if there is one."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        writer.write(b"220 wire\r\n")
        try:
            while (line := await reader.readline()) and self._goes_on(line[:4].upper()):
                if line.upper() == b"DATA\r\n":
                    writer.write(b"354 go on\r\n")
                    self.texts.append(await reader.readuntil(b"\r\n.\r\n"))
                    if not self._goes_on(b"TEXT"):
                        break
                is_refused = self.refusal and line[:4].upper() == b"RCPT"
                writer.write(self.refusal if is_refused else b"250 fine\r\n")
        finally:
            writer.close()

    def _goes_on(self, at: bytes) -> bool:
        if self.ends_at and self.ends_at[0] == at:
            self.ends_at.pop(0)
            return False
        return True


@asynccontextmanager
async def listening(wire: Wire) -> AsyncIterator[SmtpConnection]:
    server = await asyncio.start_server(wire.serve, "127.0.0.1", 0)
    connection = connected(server.sockets[0].getsockname()[1])
    try:
        yield connection
    finally:
        await connection.close()
        server.close()


async def test_a_connection_that_ends_before_the_text_is_tried_anew() -> None:
    """Nothing of the email has left, so that it is not uncertain."""
    wire = Wire()
    async with listening(wire) as connection:
        assert (await connection.hand_over("1", email())).fate is Fate.TAKEN
        wire.ends_at = [b"DATA"]
        assert (await connection.hand_over("2", email())).fate is Fate.TAKEN
    assert (wire.connections, len(wire.texts)) == (2, 2)


async def test_a_server_that_wants_no_more_on_a_connection_gets_another() -> None:
    async with Postbox() as postbox:
        connection = connected(postbox.port)
        assert await connection.open() == ""
        assert (await connection.hand_over("1", email())).fate is Fate.TAKEN
        postbox.refusals.append("421 4.7.0 enough")
        assert (await connection.hand_over("2", email())).fate is Fate.TAKEN
        await connection.close()
    assert len(postbox.letters) == 2


async def test_a_connection_that_is_turned_away_says_so() -> None:
    async with Postbox(most_connections=0) as postbox:
        connection = connected(postbox.port)
        assert await connection.open() == "the mail server refused the email (421)"
        assert not connection.is_open
        assert (await connection.hand_over("1", email())).fate is Fate.NO_SERVER


async def test_a_new_connection_that_ends_before_the_text_says_nothing_of_the_recipient() -> None:
    async with listening(Wire(b"DATA")) as connection:
        assert (await connection.hand_over("1", email())).fate is Fate.NO_SERVER
        assert (await connection.hand_over("1", email())).fate is Fate.TAKEN


async def test_a_reply_in_any_bytes_can_be_stored() -> None:
    wire = Wire()
    wire.refusal = b"550-5.2.1 Bo\xeete\0 pleine\r\n550 5.2.1 \x1b[1mtrop\r\n"
    async with listening(wire) as connection:
        answer = await connection.hand_over("1", email())
    assert answer.fate is Fate.REFUSED
    # Compared in ASCII: a failure with half a surrogate pair could not be printed.
    assert ascii(answer.reply) == ascii("550 5.2.1 Bo\ufffdte\ufffd pleine 5.2.1 \ufffd[1mtrop")


async def test_an_answer_that_is_lost_after_the_text_is_unknown() -> None:
    wire = Wire(b"TEXT")
    async with listening(wire) as connection:
        assert (await connection.hand_over("1", email())).fate is Fate.UNKNOWN
    assert (wire.connections, len(wire.texts)) == (1, 1)


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        (b"A: b\r\n\r\n.dot\r\n..\r\nend", b"A: b\r\n\r\n..dot\r\n...\r\nend\r\n.\r\n"),
        # A server that takes a bare line feed for a line's end must not see the end of the text.
        (b"A: b\r\n\r\none\n.\nMAIL\rx", b"A: b\r\n\r\none\r\n..\r\nMAIL\r\nx\r\n.\r\n"),
    ],
)
async def test_nothing_within_a_text_ends_it(content: bytes, sent: bytes) -> None:
    wire = Wire()
    async with listening(wire) as connection:
        assert (await connection.hand_over("1", email(content))).fate is Fate.TAKEN
    assert wire.texts == [sent]


@pytest.mark.parametrize("takes_utf8", [True, False])
async def test_an_address_in_another_script_is_the_first_of_a_connection(takes_utf8: bool) -> None:
    async with Postbox(takes_utf8=takes_utf8) as postbox:
        connection = connected(postbox.port)
        answer = await connection.hand_over("1", email(to="читатель@example.com"))
        await connection.close()
    assert answer.fate is (Fate.TAKEN if takes_utf8 else Fate.REFUSED)
    assert [each.rcpt_tos for each in postbox.envelopes] == [["читатель@example.com"]] * takes_utf8
