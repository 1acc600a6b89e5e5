"""Errors of outgoing calls; their messages may be shown to the user who chose the URL."""

from __future__ import annotations

from enum import StrEnum

from masthead.base.languages.words import staff_marked


class Kind(StrEnum):
    REFUSED_ADDRESS = "refused_address"
    """The service does not call such an address; nothing was sent."""
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    TOO_LARGE = "too_large"
    STATUS = "status"
    """A download got another status than 200."""
    PROTOCOL = "protocol"


class OutboundError(Exception):
    """A call without an answer. The message never holds an address or a path."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class BadStatus(OutboundError):
    """A download got another status than 200."""

    def __init__(self, status: int, retry_after: int | None = None) -> None:
        super().__init__(
            Kind.STATUS, staff_marked("The server answered %(status)s.") % {"status": status}
        )
        self.status = status
        self.retry_after = retry_after
        """Seconds."""


def refused(message: str) -> OutboundError:
    return OutboundError(Kind.REFUSED_ADDRESS, message)
