"""Describes the record store: PocketBase's endpoints, for every collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from masthead.faces.record_api.account_bodies import FileToken
from masthead.web.openapi.builders import (
    COMMON_ERRORS,
    ID,
    MOMENT,
    STORED_FILE,
    answer,
    content,
    error_responses,
    in_path,
    object_of,
    query,
    schema_ref,
    text,
)
from masthead.web.openapi.description import Description, Envelope, StructAnswer, StructBody
from masthead.web.openapi.service import ACCOUNTS, ALL, COLLECTIONS

TAG = "Record store"
ACCOUNTS_TAG = "Accounts"
FILES_TAG = "Files"
TAGS = {
    TAG: "Records of any collection.",
    ACCOUNTS_TAG: "Signing in as staff or a member.",
    FILES_TAG: "Stored files.",
}

_ALWAYS = (400, 401, 403, 404)

_MEANINGS = {
    400: "Something in the request is wrong; `data` says what, by field.",
    401: "The call needs a session.",
    403: "The session may not do this.",
    404: "There is no such record, collection or address, or the caller may not see it.",
    412: "The record has changed meanwhile.",
    429: "Too many attempts; `Retry-After` says how many seconds to wait.",
    **COMMON_ERRORS,
}
_CODES = {
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    412: "conflict",
    429: "rate_limited",
    503: "unavailable",
}

_RECORD_EXAMPLE = {
    "id": ID,
    "collectionId": "pbc_1125843985",
    "collectionName": "posts",
    "created": MOMENT,
    "updated": MOMENT,
    "title": "The lighthouse",
    "slug": "the-lighthouse",
    "status": "published",
}
_SESSION_EXAMPLE = {"token": "eyJhbGciOiJIUzI1NiJ9.…", "record": _RECORD_EXAMPLE}

_FIELDS = query(
    "fields",
    "Fields to return, separated by commas.",
    {"type": "string"},
    "id,title",
)
_EXPAND = query(
    "expand", "Relations to return, separated by commas.", {"type": "string"}, "post_id"
)
# A number below 1 counts as not given, and so does an empty text.
_NUMBER = {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 0}]}
_LIST_PARAMETERS = [
    query("page", "From 1.", _NUMBER, 1),
    query("perPage", "At most 1,000; 30 if not given.", _NUMBER, 30),
    query("filter", "PocketBase's filter language.", {"type": "string"}, "status = 'published'"),
    query("sort", "Fields, `-` for descending.", {"type": "string"}, "-created,title"),
    query("skipTotal", "`1` leaves the totals at -1.", {"type": "string"}, "1"),
]
RECORD_ID = in_path("id", "The record's id.", {"type": "string", "minLength": 1}, ID)


_WHOLE = {"type": "integer"}
_SWITCH = object_of(["enabled"], enabled={"type": "boolean"})
_WAYS = dict.fromkeys(("password", "oauth2", "mfa", "otp"), _SWITCH)


def _page_of(item: str) -> dict[str, Any]:
    numbers = dict.fromkeys(("page", "perPage", "totalItems", "totalPages"), _WHOLE)
    items = {"type": "array", "items": schema_ref(item)}
    return object_of([*numbers, "items"], **numbers, items=items)


def _page_example(item: dict[str, Any]) -> dict[str, Any]:
    return {"page": 1, "perPage": 30, "totalItems": 1, "totalPages": 1, "items": [item]}


def error_schema(meaning: str, **more: Any) -> dict[str, Any]:
    """PocketBase's envelope, given the meaning of its `data`."""
    return object_of(
        ["status", "code", "message", "data"],
        status=_WHOLE,
        code=text(),
        message=text("A sentence for people."),
        data={"description": meaning, "type": "object", **more},
    )


# No field of a record is required, because `fields` may omit any of them.
_SCHEMAS: dict[str, Any] = {
    "Record": {
        "description": "A record as the caller may see it: these, and the collection's fields.",
        "type": "object",
        "properties": {
            "id": text(),
            "collectionId": text(),
            "collectionName": text(),
            "created": text("UTC."),
            "updated": text("UTC."),
            "expand": {"description": "The requested relations.", "type": "object"},
        },
        "examples": [_RECORD_EXAMPLE],
    },
    "RecordPage": _page_of("Record"),
    "Session": {
        "type": "object",
        "properties": {
            "token": text("Send it as `Authorization: Bearer <token>`."),
            "record": schema_ref("Record"),
            "admin": schema_ref("Record"),
        },
    },
    "AuthMethods": object_of([*_WAYS], **_WAYS),
    "Collection": {
        "description": "What PocketBase's superusers see of a collection.",
        "type": "object",
        "properties": {
            "id": text(),
            "name": text(),
            "type": text("`base`, or `auth` if its records can sign in."),
            "fields": {"type": "array", "items": {"type": "object"}},
        },
    },
    "CollectionPage": _page_of("Collection"),
    "BatchAnswers": {
        "type": "array",
        "items": object_of(
            ["status", "body"],
            status=_WHOLE,
            body={"anyOf": [schema_ref("Record"), {"type": "null"}]},
        ),
    },
    "BatchError": error_schema(
        "`requests` says what is wrong, by the number of the request from 0. "
        "`response` is what the request would have been refused with by itself.",
    ),
    "RecordStoreError": error_schema(
        "What is wrong, by field.",
        additionalProperties=object_of(["code", "message"], code=text(), message=text()),
    ),
}


def responses() -> dict[str, Any]:
    return error_responses(Envelope.RECORD_STORE, "RecordStoreError", _MEANINGS, _error_example)


def _error_example(status: int, message: str) -> dict[str, Any]:
    code = _CODES.get(status, "validation_invalid_data")
    blank = {"title": {"code": "validation_required", "message": "Cannot be blank."}}
    data = blank if status == 400 else {}
    return {"status": status, "code": code, "message": message, "data": data}


_NAMED, ACCOUNT = (
    {**in_path("collection", "Its name.", {"type": "string"}, example), COLLECTIONS: which}
    for which, example in ((ALL, "posts"), (ACCOUNTS, "blog_members"))
)
_RECORD = (_NAMED, RECORD_ID)
VIEW_PARAMETERS = (_EXPAND, _FIELDS)


def described(
    name: str,
    summary: str,
    parameters: Sequence[Any],
    answers: Mapping[str, Any],
    *,
    tag: str = TAG,
    body: Mapping[str, Any] | StructBody | None = None,
    errors: Sequence[int] = _ALWAYS,
    needs_session: bool = False,
) -> Description:
    return Description(
        name=name,
        tag=tag,
        summary=summary,
        answers=answers,
        parameters=parameters,
        body=body,
        errors=errors,
        needs_session=needs_session,
        envelope=Envelope.RECORD_STORE,
        schemas=_SCHEMAS,
    )


_SHOWN = {"200": answer("The record.", schema_ref("Record"), _RECORD_EXAMPLE)}
SIGNED_IN = {"200": answer("The session.", schema_ref("Session"), _SESSION_EXAMPLE)}
DONE = {"204": {"description": "Done."}}
_VALUES = {"type": "object", "description": "Values by field; unknown fields are ignored."}
_WRITTEN = {
    # Without one nothing is given.
    "required": False,
    "content": content(_VALUES, {"title": "The lighthouse", "status": "draft"})
    | {"multipart/form-data": {"schema": {"type": "object"}}},
}

LIST = described(
    "listRecords",
    "Lists the records that the caller may see.",
    [_NAMED, *_LIST_PARAMETERS, *VIEW_PARAMETERS],
    {"200": answer("A page.", schema_ref("RecordPage"), _page_example(_RECORD_EXAMPLE))},
)
_COLLECTION_EXAMPLE = {
    "id": "pbc_1125843985",
    "name": "posts",
    "type": "base",
    "system": False,
    "listRule": "status = 'published'",
    "viewRule": "status = 'published'",
    "createRule": None,
    "updateRule": None,
    "deleteRule": None,
    "fields": [{"id": "text724990059", "name": "title", "type": "text", "required": True}],
    "indexes": [],
    "created": "",
    "updated": "",
}
LIST_COLLECTIONS = described(
    "listCollections",
    "Lists the collections in PocketBase's shape. For owners and operators.",
    [each for each in _LIST_PARAMETERS if each["name"] != "filter"] + [_FIELDS],
    {"200": answer("A page.", schema_ref("CollectionPage"), _page_example(_COLLECTION_EXAMPLE))},
    errors=(400, 401, 403),
    needs_session=True,
)
VIEW_COLLECTION = described(
    "viewCollection",
    "Shows a collection, by its name or its id.",
    [_NAMED, _FIELDS],
    {"200": answer("The collection.", schema_ref("Collection"), _COLLECTION_EXAMPLE)},
    needs_session=True,
)
VIEW = described("viewRecord", "Shows a record.", [*_RECORD, *VIEW_PARAMETERS], _SHOWN)
CREATE = described(
    "createRecord",
    "Creates a record. A file comes in a multipart form.",
    [_NAMED, *VIEW_PARAMETERS],
    _SHOWN,
    body=_WRITTEN,
    errors=(*_ALWAYS, 412),
)
UPDATE = described(
    "updateRecord",
    "Changes the given fields. `name+` and `name-` add to a number or a list and remove from it.",
    [*_RECORD, *VIEW_PARAMETERS],
    _SHOWN,
    body=_WRITTEN,
    errors=(*_ALWAYS, 412),
)
DELETE = described(
    "deleteRecord",
    "Deletes a record.",
    _RECORD,
    {"204": {"description": "Deleted."}},
    errors=(*_ALWAYS, 408, 412, 413),
)
_BATCH_EXAMPLE = {
    "requests": [
        {
            "method": "POST",
            "url": "/api/collections/posts/records",
            "body": {"title": "The lighthouse"},
        },
        {"method": "DELETE", "url": f"/api/collections/posts/records/{ID}"},
    ]
}
_BATCH_FAILURE = {
    "status": 400,
    "code": "validation_invalid_data",
    "message": "Batch transaction failed.",
    "data": {
        "requests": {
            "1": {
                "code": "batch_request_failed",
                "message": "Batch request failed.",
                "response": {
                    "status": 404,
                    "code": "not_found",
                    "message": "The requested resource wasn't found.",
                    "data": {},
                },
            }
        }
    },
}
BATCH = described(
    "changeRecords",
    "Makes up to 50 changes in one transaction: all of them or none.",
    [],
    {
        "200": answer(
            "The answers, in the order of the requests.",
            schema_ref("BatchAnswers"),
            [{"status": 200, "body": _RECORD_EXAMPLE}, {"status": 204, "body": None}],
        ),
        "400": answer("Nothing was changed.", schema_ref("BatchError"), _BATCH_FAILURE),
    },
    body={
        "required": True,
        "content": content(
            object_of(
                ["requests"],
                requests={
                    "type": "array",
                    "items": object_of(
                        ["method", "url"],
                        method={"type": "string", "enum": ["POST", "PUT", "PATCH", "DELETE"]},
                        url=text("Of a collection's records, or of one record."),
                        body=_VALUES,
                    ),
                },
            ),
            _BATCH_EXAMPLE,
        )
        | {"multipart/form-data": {"schema": {"type": "object"}}},
    },
    errors=(),
)


FILE_TOKEN = described(
    "fileToken",
    "A short-lived token for file URLs.",
    [],
    {"200": StructAnswer("The token.", FileToken("eyJhbGci.…"))},
    tag=FILES_TAG,
    needs_session=True,
)
FILE = described(
    "serveFile",
    "A record's file, or a thumbnail of it.",
    [
        *_RECORD,
        in_path("name", "The stored name.", {"type": "string", "minLength": 1}, "harbour.jpg"),
        query("thumb", "A size that the field offers.", {"type": "string"}, "300x0"),
        query("download", "`1` asks for a download.", {"type": "string"}, "1"),
    ],
    STORED_FILE,
    tag=FILES_TAG,
)
