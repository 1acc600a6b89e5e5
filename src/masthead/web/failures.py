"""The log line of a request that the service could not answer as it should."""

from __future__ import annotations

from http import HTTPStatus

from masthead.base.access_log import shown_path
from masthead.base.errors import MastheadError
from masthead.base.logs import log


def log_failure(error: MastheadError, status: int, path: str) -> None:
    """Logs a failure (500 or above) with details that only the operator may see. An unexpected
    error has a line with a traceback instead."""
    if status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return
    cause = error.__cause__ or error.__context__ or error
    log.error(
        "request.failed",
        path=shown_path(path),
        status=status,
        error=type(error).__name__,
        cause=f"{type(cause).__name__}: {cause}",
    )
