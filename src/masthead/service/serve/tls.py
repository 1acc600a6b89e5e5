"""The TLS certificate of the server, checked at start."""

from __future__ import annotations

import ssl
from pathlib import Path

import msgspec

from masthead.base.config.settings import Settings, SettingsError


class Certificate(msgspec.Struct, frozen=True):
    chain: Path
    key: Path


def certificate_of(settings: Settings) -> Certificate | None:
    """None without TLS. Files that don't match are refused here with a message; the HTTP server
    would end without one."""
    chain, key = settings.tls_cert, settings.tls_key
    if chain is None and key is None:
        return None
    if chain is None or key is None:
        missing = "MASTHEAD_TLS_CERT" if chain is None else "MASTHEAD_TLS_KEY"
        raise SettingsError(f"{missing} is missing: TLS needs both a certificate and its key.")
    try:
        # The empty password keeps an encrypted key from prompting on the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(chain, key, password=str)
    except (ssl.SSLError, OSError) as error:
        raise SettingsError(
            "MASTHEAD_TLS_CERT and MASTHEAD_TLS_KEY must be a PEM certificate (with its chain) and "
            f"its key without a password ({error.strerror or error})."
        ) from error
    return Certificate(chain, key)
