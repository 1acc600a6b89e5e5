"""The log line of a request that the service could not answer as it should."""

from __future__ import annotations

from http import HTTPStatus

import structlog

from masthead.access_log import shown_path
from masthead.errors import DiskFull, MastheadError

log = structlog.get_logger()


def log_failure(error: MastheadError, status: int, path: str) -> None:
    """Of a status of 500 and above, with what an operator needs to know and a client must not. An
    unexpected error has its line with a traceback; a full disk has one a minute."""
    if status < HTTPStatus.INTERNAL_SERVER_ERROR or isinstance(error, DiskFull):
        return
    cause = error.__cause__ or error.__context__ or error
    log.error(
        "request.failed",
        path=shown_path(path),
        status=status,
        error=type(error).__name__,
        cause=f"{type(cause).__name__}: {cause}",
    )
