"""The parameters of a read that come from the call: the caller and the time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from masthead.base import clock
from masthead.base.caller import Caller, Kind
from masthead.engine.records.collection import collection_id


class Context:
    """The parameters of a read besides the filter's: the caller, the time, the search terms."""

    __slots__ = ("_caller", "_now", "_search", "is_costly")

    def __init__(
        self, caller: Caller, now: datetime, search: Mapping[str, Any] | None = None
    ) -> None:
        self._caller = caller
        self._now = now
        self._search = search
        self.is_costly = False
        """Whether a statement was compiled or long texts were scanned."""

    def fill(self, names: tuple[str, ...], values: dict[str, Any]) -> None:
        if self._search:
            values.update(self._search)
        for name in names:
            if name.startswith("macro_"):
                values[name] = macro_value(name[6:], self._now)
            elif name.startswith("auth_"):
                values[name] = self._auth(name[5:])

    def auth_values(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The caller's values that a statement with these parameters gets."""
        return tuple(self._auth(name[5:]) for name in names if name.startswith("auth_"))

    def _auth(self, name: str) -> str:
        caller = self._caller
        if caller.kind is Kind.GUEST:
            # A guest has no tenant of its own, and may not learn the id of the host's.
            return ""
        match name:
            case "id":
                return caller.id
            case "email":
                return caller.email
            case "tenant_id":
                return caller.tenant_id or ""
            case "collectionName":
                return caller.collection
            case _:
                return collection_id(caller.collection, True) if caller.collection else ""


def macro_value(name: str, now: datetime) -> Any:
    """The value of a macro such as `@now` or `@month`, in UTC."""
    if name == "now":
        return clock.to_text(now)
    if name in _PARTS:
        return float(_PARTS[name](now))
    return clock.to_text(_MOMENTS[name](now))


def _day_start(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _day_end(now: datetime) -> datetime:
    return now.replace(hour=23, minute=59, second=59, microsecond=999_000)


def _month_end(now: datetime) -> datetime:
    return _day_end((now.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1))


_PARTS: dict[str, Callable[[datetime], int]] = {
    "second": lambda now: now.second,
    "minute": lambda now: now.minute,
    "hour": lambda now: now.hour,
    "weekday": lambda now: now.isoweekday() % 7,
    "day": lambda now: now.day,
    "month": lambda now: now.month,
    "year": lambda now: now.year,
}


_MOMENTS: dict[str, Callable[[datetime], datetime]] = {
    "yesterday": lambda now: now - timedelta(days=1),
    "tomorrow": lambda now: now + timedelta(days=1),
    "todayStart": _day_start,
    "todayEnd": _day_end,
    "monthStart": lambda now: _day_start(now.replace(day=1)),
    "monthEnd": _month_end,
    "yearStart": lambda now: _day_start(now.replace(month=1, day=1)),
    "yearEnd": lambda now: _day_end(now.replace(month=12, day=31)),
}
