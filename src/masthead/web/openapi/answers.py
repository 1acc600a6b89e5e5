"""The `responses` of the API's description: statuses, headers and errors of each endpoint."""

from __future__ import annotations

from typing import Any

from masthead.base import errors
from masthead.base.config.values import ErrorCodes
from masthead.web.openapi import texts
from masthead.web.openapi.builders import JSON, schema_ref, struct_content, struct_schemas
from masthead.web.openapi.schemas import view_example
from masthead.web.v1.errors import RENAMED_IN_B, TABLE
from masthead.web.v1.ignored_names import MAX_NAMES
from masthead.web.v1.routes import Route, Shape
from masthead.web.v1.schema import View

HEADERS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "X-Request-Id": (
        "Names this call in the service's log.",
        {"type": "string"},
        "9f86d081884c7d65",
    ),
    "X-RateLimit-Limit": ("Calls per minute.", {"type": "integer"}, 120),
    "X-RateLimit-Remaining": ("Calls left in this minute.", {"type": "integer"}, 118),
    "X-RateLimit-Reset": (
        "When the window ends, in Unix seconds.",
        {"type": "integer"},
        1_794_648_660,
    ),
    "Retry-After": ("Seconds to wait.", {"type": "integer", "minimum": 1}, 17),
    "ETag": ("The version of the returned data.", {"type": "string"}, '"7"'),
    "Link": (
        "Neighbouring pages: `first`, `prev`, `next`, `last`, and `next-cursor`, which "
        "continues after this page's last item by cursor. To read a whole list, follow "
        "`next-cursor` until an answer has none. After a cursor, `next` is the same link, and "
        "there is no `prev`.",
        {"type": "string"},
        '</api/v1/posts?per_page=20&page=2>; rel="next", '
        f'</api/v1/posts?per_page=20&cursor={texts.CURSOR}>; rel="next-cursor"',
    ),
    "X-Ignored": (
        "The body fields and query parameters that have no effect here, at most "
        f"{MAX_NAMES}. Missing if there are none.",
        {"type": "string"},
        "published_at, sort",
    ),
    "Idempotent-Replayed": (
        "The answer of an earlier call with the same `Idempotency-Key`, given again. Its `ETag` is "
        "that of the record as it was then. Missing from the first answer.",
        {"type": "string", "enum": ["true"]},
        "true",
    ),
    "WWW-Authenticate": ("How to sign in.", {"type": "string"}, "Bearer"),
}

_ALWAYS = ("X-Request-Id",)
_ADMITTED = (*_ALWAYS, "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
_ALSO_ON = {401: ("WWW-Authenticate",), 429: ("Retry-After",), 503: ("Retry-After",)}

_MEANINGS = {
    400: ("BadRequest", "The request can't be read: broken JSON, a wrong content type, no form."),
    401: ("Unauthorized", "The key is missing, wrong, expired, revoked, or another site's."),
    403: ("Forbidden", "The key, the plan or the site does not allow it."),
    404: ("NotFound", "There is no such record in this site."),
    409: ("Conflict", "The state of the record does not allow it; the message says why."),
    412: ("PreconditionFailed", "The record has changed since the version in `If-Match`."),
    413: ("TooLarge", "The body is larger than the service accepts."),
    422: ("Invalid", "A field or a parameter breaks a rule; `details` says which and how."),
    429: ("TooManyRequests", "The minute's, the hour's or the day's calls are used up."),
    500: ("InternalError", "Something broke on our side."),
    503: ("Unavailable", "The service can't reach its database right now."),
}


def error_components(codes: ErrorCodes) -> dict[str, Any]:
    """`components.responses`: one per status, with an example for each of its codes."""
    return {
        name: {
            "description": meaning,
            "headers": _headers(*_ADMITTED, *_ALSO_ON.get(status, ())),
            "content": {
                JSON: {"schema": schema_ref("Error"), "examples": _error_examples(status, codes)}
            },
        }
        for status, (name, meaning) in _MEANINGS.items()
    }


def header_components() -> dict[str, Any]:
    return {
        name: {"description": text, "schema": schema, "example": example}
        for name, (text, schema, example) in HEADERS.items()
    }


def error_schema() -> dict[str, Any]:
    return {
        "description": "Every refusal has this format.",
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message", "details"],
                "properties": {
                    "code": schema_ref("ErrorCode"),
                    "message": {"description": "A sentence for people.", "type": "string"},
                    "details": {
                        "description": "For a validation error: what is wrong, by field or "
                        "parameter. Otherwise empty.",
                        "type": "object",
                        "additionalProperties": {"type": "array", "items": {"type": "string"}},
                    },
                },
            }
        },
    }


def error_code_schema(codes: ErrorCodes) -> dict[str, Any]:
    return {
        "description": "For programs; more codes may be added.",
        "type": "string",
        "enum": list(dict.fromkeys(_code(code, codes) for _, _, code in TABLE)),
    }


def answers(route: Route) -> dict[str, Any]:
    """`responses` of one endpoint, by status."""
    found = {str(route.status): _success(route)}
    if route.is_cacheable:
        found["304"] = {
            "description": "Nothing has changed since the version in `If-None-Match`.",
            "headers": _headers(*_ADMITTED, "ETag"),
        }
    for status in _error_statuses(route):
        found[str(status)] = {"$ref": f"#/components/responses/{_MEANINGS[status][0]}"}
    return found


def answer_schemas(route: Route) -> dict[str, Any]:
    """The named schemas of the endpoint's answers."""
    if route.example is not None:
        return struct_schemas([type(route.example)])
    if route.view is None:
        return {}
    if route.shape is Shape.LIST:
        return {f"{route.view.name}List": _list_schema(route.view)}
    if route.shape is Shape.PAGE:
        return {f"{route.view.name}Page": _page_schema(route.view)}
    if route.shape is Shape.DATA:
        return {f"{route.view.name}Data": _data_schema(route.view)}
    return {}


def _success(route: Route) -> dict[str, Any]:
    headers = [*_ADMITTED, "X-Ignored"]
    if route.policy.is_repeatable:
        headers.append("Idempotent-Replayed")
    if route.is_cacheable or route.shape is Shape.DATA:
        headers.append("ETag")
    if route.shape is Shape.PAGE:
        headers.append("Link")
    answer = {"description": _MEANING_OF_SUCCESS[route.status], "headers": _headers(*headers)}
    if route.shape is not Shape.EMPTY:
        example = route.example
        answer["content"] = struct_content(example) if example else {JSON: _content(route)}
    return answer


_MEANING_OF_SUCCESS = {200: "Done.", 201: "Created.", 202: "Accepted.", 204: "Deleted."}


def _content(route: Route) -> dict[str, Any]:
    view = route.view
    assert view is not None, route.path
    example = view_example(view)
    if route.shape is Shape.PAGE:
        return {"schema": schema_ref(f"{view.name}Page"), "example": _page_example(example)}
    if route.shape is Shape.LIST:
        return {
            "schema": schema_ref(f"{view.name}List"),
            "example": {"items": [example], "total": 1},
        }
    if route.shape is Shape.DATA:
        return {"schema": schema_ref(f"{view.name}Data"), "example": {"data": example}}
    return {"schema": schema_ref(view.name), "example": example}


def _page_schema(view: View) -> dict[str, Any]:
    number = {"type": "integer", "minimum": 0}
    return {
        "type": "object",
        "required": ["items", "page", "per_page", "total", "total_pages"],
        "properties": {
            "items": {"type": "array", "items": schema_ref(view.name)},
            "page": {"description": "Which page this is.", **number},
            "per_page": {"description": "How many items a page holds.", **number},
            "total": {"description": "How many items there are in all.", **number},
            "total_pages": {"description": "How many pages there are.", **number},
        },
    }


def _list_schema(view: View) -> dict[str, Any]:
    page = _page_schema(view)["properties"]
    properties = {"items": page["items"], "total": {"type": "integer", "minimum": 0}}
    return {"type": "object", "required": [*properties], "properties": properties}


def _page_example(item: dict[str, Any]) -> dict[str, Any]:
    return {"items": [item], "page": 1, "per_page": 20, "total": 1, "total_pages": 1}


def _data_schema(view: View) -> dict[str, Any]:
    return {"type": "object", "required": ["data"], "properties": {"data": schema_ref(view.name)}}


def _error_statuses(route: Route) -> list[int]:
    takes_body = route.body is not None or route.is_upload
    is_the_only_one = route.shape in (Shape.RECORD, Shape.DATA) and route.method != "POST"
    applies = {
        404: route.has_id or is_the_only_one,
        409: route.may_conflict,
        412: route.method in ("PATCH", "PUT", "DELETE"),
        413: takes_body,
        422: takes_body or bool(route.parameters) or route.method == "POST",
    }
    return [status for status in _MEANINGS if applies.get(status, True)]


def _error_examples(status: int, codes: ErrorCodes) -> dict[str, Any]:
    """The message of a code is that of its first row in the table."""
    found: dict[str, Any] = {}
    for kind, row_status, code in TABLE:
        if row_status == status:
            message = texts.error_messages.get((status, code), str(kind.message))
            details = {"title": ["Cannot be blank."]} if kind is errors.Invalid else {}
            name = _code(code, codes)
            error = {"code": name, "message": message, "details": details}
            found.setdefault(name, {"value": {"error": error}})
    return found


def _code(code: str, codes: ErrorCodes) -> str:
    return RENAMED_IN_B.get(code, code) if codes is ErrorCodes.B else code


def _headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
