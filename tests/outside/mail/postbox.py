"""A real SMTP server on loopback that records emails and refuses on demand."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

USER, PASSWORD = "postmaster", "s3cret:/@"


@dataclass
class Postbox:
    """`security` is `plain`, `starttls` or `tls`; with `needs_login` only USER may send."""

    security: str = "plain"
    certificate: ssl.SSLContext | None = None
    needs_login: bool = False
    takes_utf8: bool = False
    """Offers SMTPUTF8 (RFC 6531)."""
    port: int = 0
    letters: list[EmailMessage] = field(default_factory=list)
    envelopes: list[Envelope] = field(default_factory=list)
    was_secure: list[bool] = field(default_factory=list)
    refusals: deque[str] = field(default_factory=deque)
    """The replies to the next recipients, one each."""
    second_thoughts: deque[str] = field(default_factory=deque)
    """The replies to the next emails."""

    unknown: set[str] = field(default_factory=set)
    """Addresses without a mailbox."""
    no_mailbox: str = "550 5.1.1 no such user here"
    silent: set[str] = field(default_factory=set)
    """After taking an email to one of these addresses, the connection ends without an answer."""
    most_connections: int = 1_000
    """More than so many at once are answered 421."""
    connections: int = 0
    turned_away: int = 0
    is_answering: asyncio.Event = field(default_factory=asyncio.Event)
    """While it is cleared, nobody gets an answer to an email."""

    def __post_init__(self) -> None:
        self.is_answering.set()

    async def __aenter__(self) -> Postbox:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Also restarts on the same port after `close`."""
        self._server = await asyncio.get_running_loop().create_server(
            self._protocol,
            "127.0.0.1",
            self.port,
            ssl=self.certificate if self.security == "tls" else None,
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        self._server.close()

    def _protocol(self) -> asyncio.Protocol:
        if self.connections >= self.most_connections:
            self.turned_away += 1
            return _TurnedAway()
        is_starttls = self.security == "starttls"
        return _Counted(
            self,
            hostname="postbox.test",
            tls_context=self.certificate if is_starttls else None,
            require_starttls=is_starttls,
            authenticator=_authenticate,
            auth_required=self.needs_login,
            enable_SMTPUTF8=self.takes_utf8,
            # Over TLS from the first byte the library does not know that it is.
            auth_require_tls=is_starttls,
            loop=asyncio.get_running_loop(),
        )

    async def handle_RCPT(
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: Any
    ) -> str:
        if self.refusals:
            return self.refusals.popleft()
        if address in self.unknown:
            return self.no_mailbox
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.second_thoughts:
            return self.second_thoughts.popleft()
        assert isinstance(envelope.content, bytes)
        rendered = message_from_bytes(envelope.content, policy=default)
        assert isinstance(rendered, EmailMessage)
        self.letters.append(rendered)
        self.envelopes.append(envelope)
        assert server.transport is not None
        self.was_secure.append(server.transport.get_extra_info("ssl_object") is not None)
        if self.silent.intersection(envelope.rcpt_tos):
            server.transport.abort()
        await self.is_answering.wait()
        return "250 OK"


class _Counted(SMTP):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.event_handler.connections += 1
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.event_handler.connections -= 1
        super().connection_lost(error)


class _TurnedAway(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(b"421 4.7.0 too many connections\r\n")
        transport.close()


def _authenticate(
    _server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, login: Any
) -> AuthResult:
    assert isinstance(login, LoginPassword)
    is_right = (login.login, login.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=is_right, handled=False)
