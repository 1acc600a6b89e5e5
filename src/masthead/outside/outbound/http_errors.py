"""Translates errors of the HTTP client into ours."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp

from masthead.outside.outbound.errors import Kind, OutboundError

NO_TLS = "The TLS connection to the host failed."


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translates errors of aiohttp and the system into OutboundError."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise OutboundError(
            Kind.TIMEOUT, "The host did not accept the connection in time."
        ) from error
    except TimeoutError as error:
        raise OutboundError(Kind.TIMEOUT, "The host did not answer in full in time.") from error
    except aiohttp.ClientConnectorCertificateError as error:
        raise OutboundError(Kind.TLS, certificate_fault(error.certificate_error)) from error
    except (aiohttp.ClientSSLError, ssl.SSLError) as error:
        raise OutboundError(Kind.TLS, NO_TLS) from error
    except aiohttp.ClientConnectorError as error:
        if isinstance(error.os_error, ConnectionResetError):
            # The host accepted the connection and closed it during the handshake.
            raise OutboundError(Kind.TLS, NO_TLS) from error
        raise OutboundError(Kind.CONNECT, "The host does not accept connections.") from error
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, OSError) as error:
        message = "The host closed the connection before its answer was complete."
        raise OutboundError(Kind.PROTOCOL, message) from error
    except (aiohttp.ClientError, ValueError) as error:
        raise OutboundError(Kind.PROTOCOL, "The host's answer is not valid HTTP.") from error


def certificate_fault(cause: Exception) -> str:
    reason = cause.verify_message if isinstance(cause, ssl.SSLCertVerificationError) else ""
    return f"The host's certificate is not trusted: {reason.rstrip('.') or 'it is not valid'}."
