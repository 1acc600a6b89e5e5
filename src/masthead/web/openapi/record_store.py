"""Describes the record store: PocketBase's endpoints, for every collection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from masthead.web.openapi.builders import (
    COMMON_ERRORS,
    ID,
    MOMENT,
    STORED_FILE,
    Operation,
    Paths,
    Security,
    answer,
    body,
    content,
    error_responses,
    in_path,
    object_of,
    operation,
    query,
    schema_ref,
    text,
)

TAG = "Record store"
ACCOUNTS_TAG = "Accounts"
FILES_TAG = "Files"

_COLLECTIONS = "/api/collections/{collection}"
_OPTIONAL: Security = [{}, {"session": []}]
_SIGNED_IN: Security = [{"session": []}]

_READ = (400, 401, 403, 404, 503)
_WRITE = (*_READ, 408, 412, 413)
_SIGN_IN = (*_READ, 408, 413, 429)

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
_RECORD_ID = in_path("id", "The record's id.", {"type": "string", "minLength": 1}, ID)


def paths(collections: Sequence[str], accounts: Sequence[str]) -> Paths:
    named = _collection(collections, "posts")
    record = [named, _RECORD_ID]
    account = _collection(accounts, "blog_members")
    return {
        f"{_COLLECTIONS}/records": {
            "get": _operation(
                "listRecords",
                "Lists the records that the caller may see.",
                [named, *_LIST_PARAMETERS, _EXPAND, _FIELDS],
                {"200": answer("A page.", schema_ref("RecordPage"), _page_example())},
            ),
            "post": _writing(
                "createRecord",
                "Creates a record. A file comes in a multipart form.",
                [named, _EXPAND, _FIELDS],
            ),
        },
        f"{_COLLECTIONS}/records/{{id}}": {
            "get": _operation(
                "viewRecord",
                "Shows a record.",
                [*record, _EXPAND, _FIELDS],
                {"200": answer("The record.", schema_ref("Record"), _RECORD_EXAMPLE)},
            ),
            "patch": _writing(
                "updateRecord",
                "Changes the given fields. `name+` and `name-` add to a number or a list and "
                "remove from it.",
                [*record, _EXPAND, _FIELDS],
            ),
            "delete": _operation(
                "deleteRecord",
                "Deletes a record.",
                record,
                {"204": {"description": "Deleted."}},
                errors=_WRITE,
            ),
        },
        **_account_paths(account),
        **_file_paths(named),
    }


def _collection(names: Sequence[str], example: str) -> dict[str, Any]:
    return in_path("collection", "Its name.", {"type": "string", "enum": list(names)}, example)


def _account_paths(account: dict[str, Any]) -> Paths:
    return {
        f"{_COLLECTIONS}/auth-with-password": {
            "post": _sign_in("authWithPassword", "Signs in with address and password.", [account])
        },
        f"{_COLLECTIONS}/auth-refresh": {
            "post": _refresh("authRefresh", "A new token for a live session.", [account])
        },
        f"{_COLLECTIONS}/auth-methods": {
            "get": _operation(
                "authMethods",
                "The ways to sign in.",
                [account],
                {"200": answer("By password.", schema_ref("AuthMethods"), _METHODS_EXAMPLE)},
                tag=ACCOUNTS_TAG,
            )
        },
        f"{_COLLECTIONS}/request-password-reset": {
            "post": _reset(
                "requestPasswordReset",
                "Emails a link for a new password, if there is such an account.",
                account,
                object_of(["email"], email=text(minLength=1)),
                {"email": "ada@example.com"},
            )
        },
        f"{_COLLECTIONS}/confirm-password-reset": {
            "post": _reset(
                "confirmPasswordReset",
                "Sets a new password with the token from the email.",
                account,
                object_of(
                    ["token", "password", "passwordConfirm"],
                    token=text(minLength=1),
                    password=text(minLength=1),
                    passwordConfirm=text("The same again.", minLength=1),
                ),
                {
                    "token": "eyJhbGci.…",
                    "password": "correct horse battery",
                    "passwordConfirm": "correct horse battery",
                },
            )
        },
        "/api/admins/auth-with-password": {
            "post": _sign_in("adminAuthWithPassword", "The endpoint of older clients.", [])
        },
        "/api/admins/auth-refresh": {
            "post": _refresh("adminAuthRefresh", "The endpoint of older clients.", [])
        },
    }


def _file_paths(named: dict[str, Any]) -> Paths:
    download = query("download", "`1` asks for a download.", {"type": "string"}, "1")
    thumb = query("thumb", "A size that the field offers.", {"type": "string"}, "300x0")
    name = in_path("name", "The stored name.", {"type": "string", "minLength": 1}, "harbour.jpg")
    return {
        "/api/files/token": {
            "post": _operation(
                "fileToken",
                "A short-lived token for file URLs.",
                [],
                {"200": answer("The token.", schema_ref("FileToken"), {"token": "eyJhbGci.…"})},
                tag=FILES_TAG,
                security=_SIGNED_IN,
            )
        },
        "/api/files/{collection}/{id}/{name}": {
            "get": _operation(
                "serveFile",
                "A record's file, or a thumbnail of it.",
                [named, _RECORD_ID, name, thumb, download],
                STORED_FILE,
                tag=FILES_TAG,
            )
        },
    }


def _writing(name: str, summary: str, parameters: list[Any]) -> Operation:
    example = {"title": "The lighthouse", "status": "draft"}
    given = {"type": "object", "description": "Values by field; unknown fields are ignored."}
    operation = _operation(
        name,
        summary,
        parameters,
        {"200": answer("The record.", schema_ref("Record"), _RECORD_EXAMPLE)},
        errors=_WRITE,
    )
    form = {"multipart/form-data": {"schema": {"type": "object"}}}
    return {
        **operation,
        "requestBody": {"required": True, "content": content(given, example) | form},
    }


def _sign_in(name: str, summary: str, parameters: list[Any]) -> Operation:
    given = object_of(
        ["identity", "password"],
        identity=text("The email address.", minLength=1),
        password=text(minLength=1),
    )
    example = {"identity": "ada@example.com", "password": "correct horse battery"}
    operation = _operation(
        name,
        summary,
        [*parameters, _EXPAND, _FIELDS],
        {"200": answer("The session.", schema_ref("Session"), _SESSION_EXAMPLE)},
        tag=ACCOUNTS_TAG,
        errors=_SIGN_IN,
    )
    return {**operation, "requestBody": body(given, example)}


def _reset(
    name: str, summary: str, account: dict[str, Any], given: dict[str, Any], example: Any
) -> Operation:
    operation = _operation(
        name,
        summary,
        [account],
        {"204": {"description": "Done."}},
        tag=ACCOUNTS_TAG,
        errors=_SIGN_IN,
    )
    return {**operation, "requestBody": body(given, example)}


def _refresh(name: str, summary: str, parameters: list[Any]) -> Operation:
    return _operation(
        name,
        summary,
        [*parameters, _EXPAND, _FIELDS],
        {"200": answer("The session.", schema_ref("Session"), _SESSION_EXAMPLE)},
        tag=ACCOUNTS_TAG,
        security=_SIGNED_IN,
    )


def _operation(
    name: str,
    summary: str,
    parameters: list[Any],
    answers: dict[str, Any],
    *,
    tag: str = TAG,
    errors: Sequence[int] = _READ,
    security: Security = _OPTIONAL,
) -> Operation:
    return operation(
        name,
        tag,
        summary,
        answers,
        errors,
        error_prefix="RecordStore",
        security=security,
        parameters=parameters,
    )


def responses() -> dict[str, Any]:
    return error_responses("RecordStore", "RecordStoreError", _MEANINGS, _error_example)


def _error_example(status: int, message: str) -> dict[str, Any]:
    code = _CODES.get(status, "validation_invalid_data")
    blank = {"title": {"code": "validation_required", "message": "Cannot be blank."}}
    data = blank if status == 400 else {}
    return {"status": status, "code": code, "message": message, "data": data}


def _page_example() -> dict[str, Any]:
    counted = {"page": 1, "perPage": 30, "totalItems": 1, "totalPages": 1}
    return {**counted, "items": [_RECORD_EXAMPLE]}


_WHOLE = {"type": "integer"}
_SWITCH = object_of(["enabled"], enabled={"type": "boolean"})
_METHODS_EXAMPLE = {
    "password": {"identityFields": ["email"], "enabled": True},
    "oauth2": {"providers": [], "enabled": False},
    "mfa": {"enabled": False, "duration": 0},
    "otp": {"enabled": False, "duration": 0},
}


def schemas() -> dict[str, Any]:
    """No field of a record is required, because `fields` may omit any of them."""
    return {
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
        "RecordPage": object_of(
            ["page", "perPage", "totalItems", "totalPages", "items"],
            page=_WHOLE,
            perPage=_WHOLE,
            totalItems=_WHOLE,
            totalPages=_WHOLE,
            items={"type": "array", "items": schema_ref("Record")},
        ),
        "Session": {
            "type": "object",
            "properties": {
                "token": text("Send it as `Authorization: Bearer <token>`."),
                "record": schema_ref("Record"),
                "admin": schema_ref("Record"),
            },
        },
        "AuthMethods": object_of(
            ["password", "oauth2", "mfa", "otp"],
            password=_SWITCH,
            oauth2=_SWITCH,
            mfa=_SWITCH,
            otp=_SWITCH,
        ),
        "FileToken": object_of(["token"], token=text()),
        "RecordStoreError": object_of(
            ["status", "code", "message", "data"],
            status=_WHOLE,
            code=text(),
            message=text("A sentence for people."),
            data={
                "description": "What is wrong, by field.",
                "type": "object",
                "additionalProperties": object_of(["code", "message"], code=text(), message=text()),
            },
        ),
    }
