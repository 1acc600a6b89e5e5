"""The authorities that outgoing connections trust."""

from __future__ import annotations

import ssl
from functools import cache
from pathlib import Path


@cache
def tls_context(ca_file: Path | None) -> ssl.SSLContext:
    """Trusts the system's authorities and the operator's own. Reading them takes long."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context
