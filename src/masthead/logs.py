"""Log lines on standard error, as text or JSON, with secrets removed.

`configure` is called once at start; other modules use `structlog.get_logger()`. Lines that
libraries log through `logging` have the same format. A line within a request has the request's id,
which the front door binds to the context.
"""

from __future__ import annotations

import atexit
import logging
import re
import sys
from typing import TYPE_CHECKING, Any, TextIO

import msgspec
import structlog

from masthead.access_log import AccessLog, Answered
from masthead.config.values import LogFormat, Secret

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger

_access_log: AccessLog | None = None


def configure(
    log_format: LogFormat, *, stream: TextIO | None = None, level: int = logging.INFO
) -> None:
    stream = stream or sys.stderr
    renderer = _renderer(log_format, is_terminal=stream.isatty())
    structlog.configure(
        processors=[*_ENRICH, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_ENRICH,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    _open_access_log(stream, renderer)


def log_answer(answered: Answered) -> None:
    """Does nothing before `configure`."""
    if _access_log is not None:
        _access_log.add(answered)


def close_access_log() -> None:
    """Writes the gathered lines."""
    global _access_log
    if _access_log is not None:
        _access_log.close()
        _access_log = None


atexit.register(close_access_log)


def _open_access_log(stream: TextIO, renderer: Processor) -> None:
    global _access_log
    close_access_log()

    def render(event: dict[str, Any]) -> str:
        return str(renderer(None, "info", event))

    _access_log = AccessLog(stream, render)


HIDDEN = "***"
_HIDDEN_NAMES = re.compile(
    r"(authorization|cookie|password|passwd|secret|token|api[_-]?key|signature|credential)",
    re.IGNORECASE,
)
_HIDDEN_TEXT = (
    # A query parameter with a credential: ?token=…, &api_key=…
    (
        re.compile(
            r"([?&;][\w.-]*(?:token|key|secret|password|signature|code)[\w.-]*=)[^&;#\s\"']+",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"\b(Bearer|Basic)\s+[^\s\"',]+", re.IGNORECASE), rf"\1 {HIDDEN}"),
    # The credentials of a URL: postgresql://user:password@host
    (re.compile(r"(://)[^/\s@\"']+@"), rf"\1{HIDDEN}@"),
    # A session token anywhere.
    (re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+"), HIDDEN),
)


def hide_secrets(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replaces secrets, found by a value's name or by a pattern within text."""
    return {name: _hidden(name, value) for name, value in event.items()}


def _hidden(name: str, value: Any) -> Any:
    # The formatter's own entries (a LogRecord among them) are removed before rendering.
    if name.startswith("_"):
        return value
    if _HIDDEN_NAMES.search(name):
        return HIDDEN
    return _cleaned(value)


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _hidden(str(name), inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_cleaned(inner) for inner in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Secret):
        return HIDDEN
    text = str(value)
    for pattern, replacement in _HIDDEN_TEXT:
        text = pattern.sub(replacement, text)
    return text


_ENRICH: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    hide_secrets,
]


def _renderer(log_format: LogFormat, *, is_terminal: bool) -> Processor:
    if log_format is LogFormat.JSON:
        return structlog.processors.JSONRenderer(serializer=_to_json)
    # Exceptions are text by now, formatted before the secrets were hidden.
    return structlog.dev.ConsoleRenderer(
        colors=is_terminal, exception_formatter=structlog.dev.plain_traceback
    )


def _to_json(event: EventDict, **_options: object) -> str:
    return msgspec.json.encode(event).decode()
