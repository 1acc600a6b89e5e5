"""Where the processes of one service have their metrics: a socket and a folder that they share."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from masthead.base.config.settings import Settings
from masthead.service.serve.listener import listen


class MetricsPlace(msgspec.Struct, frozen=True):
    listener: socket.socket | None = None
    """The socket of a separate port; None if the metrics are on the service's port, with a
    token."""
    folder: Path | None = None
    """None for a single process."""


@contextmanager
def metrics_place(settings: Settings, *, processes: int) -> Iterator[MetricsPlace]:
    listener = metrics_listener(settings)
    folder = None
    if settings.metrics and processes > 1:
        folder = Path(tempfile.mkdtemp(prefix="masthead-metrics-"))
    try:
        yield MetricsPlace(listener, folder)
    finally:
        if listener:
            listener.close()
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


def metrics_listener(settings: Settings) -> socket.socket | None:
    """Raises `CannotListen`, which names host and port."""
    wanted = settings.metrics
    if wanted is None or wanted.token is not None:
        return None
    return listen(wanted.host, port=wanted.port)[0]
