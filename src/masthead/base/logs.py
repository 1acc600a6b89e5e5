"""Log lines on standard error, as text or JSON, with secrets removed.

`configure` is called once at start; other modules use `log`. Lines that libraries log through
`logging` have the same format. A line within a request has the request's id, which the front door
sets.
"""

from __future__ import annotations

import atexit
import logging
import re
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from typing import Any, TextIO

import msgspec

from masthead.base.access_log import AccessLog, Answered, Render
from masthead.base.config.values import LogFormat, Secret
from masthead.base.languages.words import as_text

request_id: ContextVar[str] = ContextVar("request_id", default="")

_logger = logging.getLogger("masthead")
_access_log: AccessLog | None = None


class Log:
    """Lines with a name and facts, such as `log.warning("mail.refused", attempts=2)`."""

    def debug(self, event: str, **facts: object) -> None:
        _write(logging.DEBUG, event, facts)

    def info(self, event: str, **facts: object) -> None:
        _write(logging.INFO, event, facts)

    def warning(self, event: str, *, exc_info: Any = None, **facts: object) -> None:
        _write(logging.WARNING, event, facts, exc_info)

    def error(self, event: str, *, exc_info: Any = None, **facts: object) -> None:
        _write(logging.ERROR, event, facts, exc_info)

    def exception(self, event: str, **facts: object) -> None:
        """With the traceback of the exception that is being handled."""
        _write(logging.ERROR, event, facts, exc_info=True)


log = Log()


def _write(level: int, event: str, facts: Mapping[str, object], exc_info: Any = None) -> None:
    _logger.log(level, event, exc_info=exc_info, extra={"facts": facts})


def configure(
    log_format: LogFormat, *, stream: TextIO | None = None, level: int = logging.INFO
) -> None:
    stream = stream or sys.stderr
    render = _renderer(log_format, is_terminal=stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Formatter(render))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    _open_access_log(stream, render)


class _Formatter(logging.Formatter):
    def __init__(self, render: Render) -> None:
        super().__init__()
        self._render = render

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat()
        event: dict[str, Any] = {
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "timestamp": moment.replace("+00:00", "Z"),
            **getattr(record, "facts", {}),
        }
        if within := request_id.get():
            event["request_id"] = within
        if record.exc_info:
            event["exception"] = self.formatException(record.exc_info)
        return self._render(hide_secrets(event))


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


def _open_access_log(stream: TextIO, render: Render) -> None:
    global _access_log
    close_access_log()
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


def hide_secrets(event: Mapping[str, Any]) -> dict[str, Any]:
    """Replaces secrets, found by a value's name or by a pattern within text."""
    return {name: _hidden(name, value) for name, value in event.items()}


def _hidden(name: str, value: Any) -> Any:
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


def _renderer(log_format: LogFormat, *, is_terminal: bool) -> Render:
    if log_format is LogFormat.JSON:
        return _to_json
    return partial(_to_text, paint=_in_colour if is_terminal else _plain)


def _to_json(event: dict[str, Any]) -> str:
    return msgspec.json.encode(event, enc_hook=as_text).decode()


def _to_text(event: dict[str, Any], paint: Callable[[str, int], str]) -> str:
    facts = {**event}
    level, exception = facts.pop("level"), facts.pop("exception", "")
    line = [
        paint(facts.pop("timestamp"), _DIM),
        f"[{paint(f'{level:<8}', _LEVELS.get(level, _RED))}]",
        paint(f"{facts.pop('event'):<{_EVENT_WIDTH}}", _BOLD),
        *(f"{paint(name, _CYAN)}={paint(_fact(value), _MAGENTA)}" for name, value in facts.items()),
    ]
    return " ".join(line) + (f"\n{exception}" if exception else "")


def _fact(value: Any) -> str:
    is_word = isinstance(value, str) and value and not re.search(r"[\s=\"']", value)
    return value if is_word else repr(value)


_EVENT_WIDTH = 30
_BOLD, _DIM, _RED, _GREEN, _YELLOW, _MAGENTA, _CYAN = 1, 2, 31, 32, 33, 35, 36
_LEVELS = {"debug": _GREEN, "info": _GREEN, "warning": _YELLOW}


def _in_colour(text: str, code: int) -> str:
    return f"\x1b[{code}m{text}\x1b[0m"


def _plain(text: str, _: int) -> str:
    return text
