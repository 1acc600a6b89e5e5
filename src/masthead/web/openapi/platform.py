"""Describes health, AI, data protection and payment receivers.

Their handlers build the answers by hand, so they are described by hand; tests call the running
service by this description.
"""

from __future__ import annotations

from functools import partial
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

HEALTH, AI, PRIVACY, PAYMENTS = "Health", "AI", "Data protection", "Payments"

_SESSION_OR_TENANT: Security = [{"session": []}, {"tenant": []}]

_operation = partial(operation, error_prefix="Refused", security=[])

_MEANINGS = {
    400: "The request can't be parsed, or a value is missing.",
    401: "The call needs a session, or the tenant header where the operator allows it.",
    403: "The caller may not do this.",
    404: "There is nothing at this address, or the link is not valid any more.",
    422: "A value is well-formed and wrong.",
    429: "Too many calls; `Retry-After` says how many seconds to wait.",
    **COMMON_ERRORS,
}
_CODES = {
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    422: "VALIDATION_ERROR",
    429: "RATE_LIMITED",
    503: "INTERNAL_ERROR",
}

_TENANT_HEADER: dict[str, Any] = {
    "name": "x-tenant-id",
    "in": "header",
    "description": "The tenant, on the service's own host.",
    "schema": {"type": "string"},
}
_TOKEN = query("token", "From the email.", {"type": "string"}, "4f8c1e6a9b2d7053")
_REQUEST = in_path("id", "The request's id.", {"type": "string", "minLength": 1}, ID)
_STATE_EXAMPLE = {"request_id": ID, "status": "queued"}


def paths() -> Paths:
    return {**_health(), **_ai(), **_data_protection(), **_payments()}


def _health() -> Paths:
    healthy = {"status": "ok", "ts": MOMENT, "pb": "ok", "build": "0.1.0"}
    degraded = {
        **healthy,
        "status": "degraded",
        "pb": "down",
        "error": "The record store does not answer.",
    }
    answers = {
        "200": answer("The service and its database answer.", schema_ref("Health"), healthy),
        "503": answer("The database does not answer.", schema_ref("Health"), degraded),
    }
    operation = _operation("health", HEALTH, "Shows the state of the service.", answers, ())
    return {"/api/health": {"get": operation}}


def _ai() -> Paths:
    actions = {
        "oneOf": [
            _action("generate", prompt=8_000),
            _action("rewrite", selection=32_000),
            _action("translate", selection=32_000, language=100),
            _action("summarize", selection=32_000),
        ]
    }
    example = {"action": "summarize", "selection": "Tides are made by the moon and the sun."}
    stream = {
        "description": "Events, each a line `data: <JSON>` and a blank line; the last one is "
        "`data: [DONE]`. Failures after the start are events, too.",
        "content": {
            "text/event-stream": {
                "example": 'data: {"text":"The moon "}\n\ndata: [DONE]\n\n',
            }
        },
    }
    operation = _operation(
        "generate",
        AI,
        "Writes, rewrites, translates or summarizes a text, as a stream.",
        {"200": stream},
        (400, 404, 408, 429, 503),
    )
    operation["requestBody"] = body(actions, example)
    return {"/api/ai/generate": {"post": operation}}


def _action(name: str, **lengths: int) -> dict[str, Any]:
    texts = {
        each: text(minLength=1, maxLength=most, pattern=r"[^\s\u001c-\u001f\u0085]")
        for each, most in lengths.items()
    }
    return object_of(["action", *texts], action={"const": name}, **texts)


def _data_protection() -> Paths:
    errors = (400, 401, 404, 408, 413, 422, 429, 503)
    export = _operation(
        "exportData",
        PRIVACY,
        "Requests a copy of all data of a tenant or a member.",
        {
            "200": answer("The export is ready.", schema_ref("Export"), _export_example()),
            "202": answer(
                "The export is being made; an email will bring the link.",
                schema_ref("PrivacyRequest"),
                _STATE_EXAMPLE,
            ),
        },
        errors,
        security=_SESSION_OR_TENANT,
    )
    export["requestBody"] = body(_request_schema(["type"]), {"type": "member", "member_id": ID})
    delete = _operation(
        "deleteData",
        PRIVACY,
        "Requests the deletion of a tenant or a member, which happens after 30 days.",
        {
            "202": answer(
                "The deletion is scheduled, or waits to be confirmed.",
                schema_ref("Deletion"),
                _deletion_example(),
            )
        },
        errors,
        security=_SESSION_OR_TENANT,
    )
    phrase = {
        "confirmation_phrase": {"const": "DELETE MY DATA"},
        "tenant_slug": text("The slug of the tenant; needed with type `tenant`."),
    }
    delete["requestBody"] = body(
        _request_schema(["type", "confirmation_phrase"], **phrase),
        {"type": "member", "member_id": ID, "confirmation_phrase": "DELETE MY DATA"},
    )
    return {
        "/api/gdpr/export": {"post": export},
        "/api/gdpr/export/{id}": {
            "get": _link_operation("downloadExport", "Downloads the exported data.", STORED_FILE)
        },
        "/api/gdpr/delete": {"post": delete},
        "/api/gdpr/delete/{id}/cancel": {
            "get": _link_operation(
                "cancelDeletion",
                "Cancels a deletion; a browser gets a page with a button instead.",
                _state("cancelled"),
            ),
            "post": _link_operation(
                "cancelDeletionByForm", "Cancels a deletion.", _state("cancelled")
            ),
        },
        "/api/gdpr/delete/{id}/confirm": {
            "get": _link_operation(
                "showDeletion",
                "Shows a deletion that waits to be confirmed, and changes nothing.",
                _state("awaiting_confirmation"),
            ),
            "post": _link_operation("confirmDeletion", "Confirms a deletion.", _state("queued")),
        },
    }


def _request_schema(required: list[str], **more: Any) -> dict[str, Any]:
    return object_of(
        required,
        type={"enum": ["tenant", "member"]},
        member_id=text("The member; needed with type `member`."),
        tenant_id=text("The tenant, where neither the host nor the header names it."),
        notify_email=text("A second recipient of the email. Owners only.", format="idn-email"),
        blog_name=text("The site's name in the emails. Owners only."),
        **more,
    )


def _link_operation(name: str, summary: str, answers: dict[str, Any]) -> Operation:
    operation = _operation(name, PRIVACY, summary, answers, (400, 404, 408, 413, 503))
    return {**operation, "parameters": [_REQUEST, _TOKEN]}


def _state(status: str) -> dict[str, Any]:
    """A browser gets a page."""
    example = {**_STATE_EXAMPLE, "status": status}
    shown = answer("The state of the request.", schema_ref("PrivacyRequest"), example)
    shown["content"]["text/html"] = {"schema": {"type": "string"}}
    return {"200": shown}


def _payments() -> Paths:
    slug = in_path("slug", "The tenant's slug.", {"type": "string", "minLength": 1}, "demo")
    own = _receiver("receiveTenantPayment", "For a tenant's own processor account.")
    return {
        "/api/member-webhook/{slug}": {"post": {**own, "parameters": [slug, *_SIGNATURES]}},
        "/api/payment/webhook": {
            "post": {
                **_receiver("receivePayment", "For the platform's processor account."),
                "parameters": _SIGNATURES,
            }
        },
    }


_SIGNATURES: list[dict[str, Any]] = [
    {
        "name": name,
        "in": "header",
        "description": "HMAC-SHA256 of the body with the shared secret. One good header is enough.",
        "schema": {"type": "string"},
        "example": example,
    }
    for name, example in (
        ("Stripe-Signature", "t=1794648600,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff"),
        ("payment-signature", "sha256=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff"),
        ("X-Service-Signature", "sha256=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff"),
    )
]


def _receiver(name: str, summary: str) -> Operation:
    received = answer(
        "The event was taken, now or before, or its type is not handled.",
        schema_ref("Received"),
        {"received": True},
    )
    event = {
        "id": "evt_1",
        "type": "customer.subscription.updated",
        "data": {"object": {"id": "sub_1", "customer": "cus_1", "status": "active"}},
    }
    operation = _operation(name, PAYMENTS, summary, {"200": received}, (400, 404, 408, 413, 503))
    given = {"description": "The processor's event, as it was signed.", "type": "object"}
    return {**operation, "requestBody": {"required": True, "content": content(given, event)}}


def responses() -> dict[str, Any]:
    return error_responses("Refused", "Error", _MEANINGS, _error_example)


def _error_example(status: int, message: str) -> dict[str, Any]:
    details = {"member_id": ["There is no such member."]} if status == 422 else {}
    code = _CODES.get(status, "BAD_REQUEST")
    return {"error": {"code": code, "message": message, "details": details}}


def _export_example() -> dict[str, Any]:
    link = f"https://example.com/api/gdpr/export/{ID}?token=4f8c1e6a9b2d7053"
    return {"request_id": ID, "status": "ready", "download_url": link, "expires_at": MOMENT}


def _deletion_example() -> dict[str, Any]:
    link = f"https://example.com/api/gdpr/delete/{ID}/cancel?token=4f8c1e6a9b2d7053"
    return {**_STATE_EXAMPLE, "type": "member", "grace_until": MOMENT, "cancellation_url": link}


def schemas() -> dict[str, Any]:
    state = {
        "request_id": text("The request's id."),
        "status": text("Such as `queued`, `ready` or `cancelled`."),
    }
    names = list(state)
    return {
        "Health": object_of(
            ["status", "ts", "pb", "build"],
            status={"enum": ["ok", "degraded"]},
            ts=text("UTC.", format="date-time"),
            pb={
                "description": "The record store: `degraded` where it can only be read.",
                "enum": ["ok", "degraded", "down"],
            },
            build=text("The revision that runs."),
            error=text(),
        ),
        "PrivacyRequest": object_of(names, **state),
        "Export": object_of(
            [*names, "download_url", "expires_at"],
            **state,
            download_url=text("Without its token unless the caller is trusted."),
            expires_at=text("UTC."),
            inline_data={"description": "A small export itself.", "type": "object"},
        ),
        "Deletion": object_of(
            [*names, "type", "grace_until", "cancellation_url"],
            **state,
            type={"enum": ["tenant", "member"]},
            grace_until=text("UTC; empty until the owner confirms."),
            cancellation_url=text("Without its token unless the caller is trusted."),
        ),
        "Received": object_of(["received"], received={"const": True}),
    }
