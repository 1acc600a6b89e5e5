"""Filters of a subscription: which of its events are sent, in the record store's filter language
over `event` and `data.…`, the payload."""

from __future__ import annotations

from typing import Any, Final, Protocol

import msgspec

from masthead.base import clock
from masthead.base.errors import BadRequest
from masthead.base.languages.words import staff_words
from masthead.base.logs import log
from masthead.engine.records.fields.base import refuse
from masthead.engine.records.fields.text import Text
from masthead.engine.records.filter.ast import Function, Identifier
from masthead.engine.records.filter.ast import Operand as Node
from masthead.engine.records.filter.parser import MAX_READERS_COMPARISONS, FilterError, parse_cached
from masthead.engine.records.read.in_memory import holds, operands

MAX_CHARACTERS: Final = 1_000
MAX_PAYLOAD: Final = 64 * 1024
"""Characters. The change that causes an event waits for the filters of all subscriptions, so an
event with more passes each of them; no payload of a usual event has a tenth of it."""
_MODIFIERS: Final = ("", "lower", "length")


class EventFilter(Text, frozen=True, kw_only=True):
    """Empty for every event."""

    max: int = MAX_CHARACTERS

    def parse(self, value: Any) -> str:
        text = super().parse(value).strip()
        if text:
            try:
                parsed = parse_cached(text, MAX_READERS_COMPARISONS)
            except FilterError as error:
                raise refuse("validation_invalid_filter", str(error)) from None
            for operand in operands(parsed.expression):
                _check(operand)
        return text


class FilteredEvent(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def created(self) -> str: ...
    @property
    def payload(self) -> str: ...


def passes(filter_: str, event: FilteredEvent) -> bool:
    """Whether the filter lets the event through; `@now` is the event's own time. A filter that
    can't be evaluated does: an event too many harms less than one that is lost, and a change never
    fails because of a filter."""
    if not filter_ or len(event.payload) > MAX_PAYLOAD:
        return True
    try:
        expression = parse_cached(filter_, MAX_READERS_COMPARISONS).expression
        data, now = msgspec.json.decode(event.payload), clock.from_text(event.created)
        return holds(expression, lambda name: _value(name, event.name, data), now)
    except (BadRequest, TimeoutError) as error:
        log.warning("webhooks.filter_failed", error=str(error))
        return True


def _check(node: Node) -> None:
    if isinstance(node, Function):
        raise refuse(
            "validation_invalid_filter",
            staff_words(
                "It has no functions. A filter of events compares event and data.…, such as "
                "data.tier = 'paid'."
            ),
        )
    if not isinstance(node, Identifier):
        return
    if node.path != ("event",) and (node.path[0] != "data" or len(node.path) == 1):
        name = ".".join(node.path)[:40]
        raise refuse(
            "validation_invalid_filter",
            staff_words(
                "Unknown field %(field_name)s. A filter of events compares event and data.…, such "
                "as data.tier = 'paid'.",
                field_name=name,
            ),
        )
    if node.modifier not in _MODIFIERS:
        raise refuse(
            "validation_invalid_filter",
            staff_words(
                "The modifier :%(name)s is not supported. Use :lower or :length.",
                name=node.modifier,
            ),
        )


def _value(name: Identifier, event: str, data: Any) -> Any:
    """None for a field that the payload does not have, which compares as empty."""
    found = event if name.path[0] == "event" else _inside(data, name.path[1:])
    if name.modifier == "length":
        return len(found) if isinstance(found, list) else None
    if name.modifier == "lower" and isinstance(found, str):
        return found.lower()
    return found


def _inside(data: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list) and step.isascii() and step.isdigit() and len(step) < 6:
            data = data[int(step)] if int(step) < len(data) else None
        else:
            return None
    return data
