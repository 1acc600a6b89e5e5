"""Why a call to the outside failed, in words that may be shown to whoever chose its address."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    REFUSED_ADDRESS = "refused_address"
    """The service does not call such an address; nothing was sent."""
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    TOO_LARGE = "too_large"
    STATUS = "status"
    """A download was answered with something else than the file."""
    PROTOCOL = "protocol"


class OutboundError(Exception):
    """A call that did not end in an answer. The message never holds an address or a path."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class BadStatus(OutboundError):
    """A download was answered, but not with the file."""

    def __init__(self, status: int, retry_after: int | None = None) -> None:
        super().__init__(Kind.STATUS, f"The server answered {status}.")
        self.status = status
        self.retry_after = retry_after
        """Seconds."""


def refused(message: str) -> OutboundError:
    return OutboundError(Kind.REFUSED_ADDRESS, message)
