"""The collections themselves, as PocketBase's superusers see them. They can only be read."""

from __future__ import annotations

from masthead.errors import BadRequest, Forbidden, NotFound
from masthead.record_api.call import Call
from masthead.record_api.parameters import parse_list_parameters, parse_view_parameters
from masthead.record_api.rendering import apply_projection
from masthead.record_api.schema import Shape, schema_of
from masthead.records.access import access_of, refuse_guest
from masthead.records.read.sorting import SortKey, parse_sort
from masthead.web.answers import Answer, json_answer

PART_OF_THE_PROGRAM = (
    "Collections are part of the program: they can be read, but not created, changed or deleted."
)
_SORTABLE = ("id", "name", "type", "system", "created", "updated")


async def list_collections(call: Call) -> Answer:
    _refuse_others(call)
    wanted = parse_list_parameters(call.request.query_string, call.caller)
    page = wanted.request
    if page.filter:
        raise BadRequest("Collections can't be filtered here. Read them all, and choose by `name`.")
    found = _sorted(_schemas(call), parse_sort(page.sort))
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
    for key in reversed(keys):
        (name,) = key.path if len(key.path) == 1 else ("",)
        if name not in _SORTABLE:
            raise BadRequest(f"Sort collections by one of: {', '.join(_SORTABLE)}.")
        shapes = sorted(shapes, key=lambda shape: shape[name], reverse=key.descending)
    return shapes
