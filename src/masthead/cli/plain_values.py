"""Commands that read plain values, a text, a path or a number, without a library for it.

Typer leaves every value to pydantic, which takes longer to load than most commands work. What is
plainly right is taken here; everything else, and with it every refusal, stays Typer's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from typer.core import TyperCommand, TyperGroup


class PlainCommand(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _read_plainly(super().get_params(ctx))


class PlainGroup(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _read_plainly(super().get_params(ctx))


def _read_plainly(parameters: list[Any]) -> list[Any]:
    for each in parameters:
        # Where Typer keeps its own reader, once it has made one.
        if each._runtime_param is None and _is_plain(each.type_descriptor):
            each._runtime_param = _Reader()
    return parameters


def _is_plain(described: Any) -> bool:
    asked = described.parameter_info
    if not (asked.file_okay and asked.dir_okay) or any(getattr(asked, name) for name in _SPECIAL):
        return False
    return described.annotation in _READ


_SPECIAL: Final = ("parser", "path_type", "exists", "resolve_path", "writable")
"""What else an option may ask of its value."""


class _Reader:
    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return None
        described = param.type_descriptor
        read = _READ[described.annotation](value, described.parameter_info)
        if read is not None:
            return read
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _text(value: Any, _asked: Any) -> str | None:
    return value if isinstance(value, str) else None


def _path(value: Any, _asked: Any) -> Path | None:
    """One that nothing stands at, or something that can be read."""
    if not isinstance(value, str) or "\0" in value:
        return None
    is_usable = os.access(value, os.R_OK) or not os.path.lexists(value)
    return Path(value) if is_usable else None


def _number(value: Any, asked: Any) -> int | None:
    written = str(value)
    if not (written.isascii() and written.isdecimal() and len(written) <= _LONGEST):
        return None
    number = int(written)
    is_low = asked.min is not None and number < asked.min
    is_high = asked.max is not None and number > asked.max
    return None if is_low or is_high else number


def _flag(value: Any, _asked: Any) -> bool | None:
    return value if isinstance(value, bool) else None


_LONGEST: Final = 18
"""Digits, of which every number fits wherever one may go."""
_READ: Final[Mapping[Any, Callable[[Any, Any], Any]]] = {
    str: _text,
    Path: _path,
    int: _number,
    bool: _flag,
}
