"""Filters of the list of collections. Collections are declared in the program, so no database can
compare them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from masthead.base.errors import BadRequest
from masthead.engine.records.filter.ast import Function, Identifier
from masthead.engine.records.filter.ast import Operand as Node
from masthead.engine.records.filter.parser import parse
from masthead.engine.records.read.in_memory import holds, operands
from masthead.faces.record_api.schema import Shape

NAMES: Final = ("id", "name", "type", "system", "created", "updated")


def matching(shapes: Sequence[Shape], text: str, now: datetime) -> list[Shape]:
    """Raises `BadRequest` for a filter that can't be read, or of anything but `NAMES`."""
    expression = parse(text)
    for operand in operands(expression):
        _check(operand)

    def value_in(shape: Shape) -> Any:
        return lambda name: shape[name.path[0]]

    return [shape for shape in shapes if holds(expression, value_in(shape), now)]


def _check(node: Node) -> None:
    is_wrong = isinstance(node, Identifier) and (
        node.modifier != "" or ".".join(node.path) not in NAMES
    )
    if isinstance(node, Function) or is_wrong:
        raise BadRequest(f"Filter collections by one of: {', '.join(NAMES)}.")
