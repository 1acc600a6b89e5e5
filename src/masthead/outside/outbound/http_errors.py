"""Translates errors of the HTTP client into ours."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp

from masthead.base.languages.words import staff_marked
from masthead.outside.outbound.errors import Kind, OutboundError

NO_TLS = staff_marked("The TLS connection to the host failed.")


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translates errors of aiohttp and the system into OutboundError."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise OutboundError(
            Kind.TIMEOUT, staff_marked("The host did not accept the connection in time.")
        ) from error
    except TimeoutError as error:
        message = staff_marked("The host did not answer in full in time.")
        raise OutboundError(Kind.TIMEOUT, message) from error
    except aiohttp.ClientConnectorCertificateError as error:
        raise OutboundError(Kind.TLS, certificate_fault(error.certificate_error)) from error
    except (aiohttp.ClientSSLError, ssl.SSLError) as error:
        raise OutboundError(Kind.TLS, NO_TLS) from error
    except aiohttp.ClientConnectorError as error:
        if isinstance(error.os_error, ConnectionResetError):
            # The host accepted the connection and closed it during the handshake.
            raise OutboundError(Kind.TLS, NO_TLS) from error
        message = staff_marked("The host does not accept connections.")
        raise OutboundError(Kind.CONNECT, message) from error
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, OSError) as error:
        message = staff_marked("The host closed the connection before its answer was complete.")
        raise OutboundError(Kind.PROTOCOL, message) from error
    except (aiohttp.ClientError, ValueError) as error:
        message = staff_marked("The host's answer is not valid HTTP.")
        raise OutboundError(Kind.PROTOCOL, message) from error


def certificate_fault(cause: Exception) -> str:
    reason = cause.verify_message if isinstance(cause, ssl.SSLCertVerificationError) else ""
    if not reason:
        return staff_marked("The host's certificate is not valid.")
    message = staff_marked("The host's certificate is not trusted: %(reason)s.")
    return message % {"reason": reason.rstrip(".")}
