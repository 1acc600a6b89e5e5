"""The collections themselves, as PocketBase's superusers see them. They can only be read."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from masthead.base.errors import BadRequest, Forbidden, NotFound
from masthead.engine.records.access import access_of, refuse_guest
from masthead.engine.records.filter.ast import Function, Identifier
from masthead.engine.records.filter.ast import Operand as Node
from masthead.engine.records.filter.parser import parse
from masthead.engine.records.read.in_memory import holds, operands
from masthead.engine.records.read.sorting import SortKey, parse_sort
from masthead.faces.record_api.call import Call
from masthead.faces.record_api.parameters import parse_list_parameters, parse_view_parameters
from masthead.faces.record_api.rendering import apply_projection
from masthead.faces.record_api.schema import Shape, schema_of
from masthead.web.answers import Answer, json_answer

NAMES: Final = ("id", "name", "type", "system", "created", "updated")
PART_OF_THE_PROGRAM = (
    "Collections are part of the program: they can be read, but not created, changed or deleted."
)


async def list_collections(call: Call) -> Answer:
    _refuse_others(call)
    wanted = parse_list_parameters(call.request.query_string, call.caller)
    page = wanted.request
    found = _sorted(_schemas(call), parse_sort(page.sort))
    if page.filter:
        assert isinstance(page.filter, str)
        found = _matching(found, page.filter, call.records.clock())
    items = found[page.offset : page.offset + page.per_page]
    if wanted.projection:
        items = await apply_projection(items, wanted.projection)
    total = -1 if page.skip_total else len(found)
    body = {
        "page": page.page,
        "perPage": page.per_page,
        "totalItems": total,
        "totalPages": -1 if page.skip_total else -(-total // page.per_page),
        "items": items,
    }
    return json_answer(200, body)


async def view_collection(call: Call) -> Answer:
    _refuse_others(call)
    wanted = parse_view_parameters(call.request.query_string)
    found = call.records.registry.find(call.request.path_parameters["collection"])
    if found is None:
        raise NotFound
    shape = schema_of(call.records.registry, found, access_of(call.caller))
    if wanted.projection:
        (shape,) = await apply_projection([shape], wanted.projection)
    return json_answer(200, shape)


async def refuse_change(call: Call) -> Answer:
    _refuse_others(call)
    raise BadRequest(PART_OF_THE_PROGRAM)


def _refuse_others(call: Call) -> None:
    refuse_guest(call.caller)
    if not call.caller.is_admin:
        raise Forbidden(
            "Only owners of the site and operators of the service can read collections."
        )


def _schemas(call: Call) -> list[Shape]:
    registry, access = call.records.registry, access_of(call.caller)
    return [schema_of(registry, each, access) for each in registry.collections]


def _sorted(shapes: list[Shape], keys: tuple[SortKey, ...]) -> list[Shape]:
    declared = {shape["name"]: number for number, shape in enumerate(shapes)}
    for key in reversed(keys):
        name = ".".join(key.path)
        if key.random:
            shapes = random.sample(shapes, len(shapes))
        elif name == "@rowid":
            shapes = sorted(
                shapes, key=lambda shape: declared[shape["name"]], reverse=key.descending
            )
        elif name in NAMES and not key.modifier:
            shapes = sorted(shapes, key=lambda shape: shape[name], reverse=key.descending)
        else:
            raise BadRequest(f"Sort collections by one of: {', '.join(NAMES)}.")
    return shapes


def _matching(shapes: Sequence[Shape], text: str, now: datetime) -> list[Shape]:
    """Collections are declared in the program, so no database can compare them. Raises BadRequest
    for a filter that can't be read, or of anything but `NAMES`."""
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
