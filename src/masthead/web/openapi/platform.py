"""Health, AI, data protection and payment receivers, as the service's description has them.

Their answers are written in their handlers by hand, so here they are described by hand; tests call
the running service by this description.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from masthead.web.openapi.parts import (
    ID,
    MOMENT,
    STORED_FILE,
    Operation,
    Paths,
    answer,
    body,
    content,
    in_path,
    object_of,
    query,
    ref,
    text,
)

HEALTH, AI, PRIVACY, PAYMENTS = "Health", "AI", "Data protection", "Payments"

_NOBODY: list[dict[str, list[str]]] = []
_ASKED_BY: list[dict[str, list[str]]] = [{"session": []}, {"tenant": []}]

_MEANINGS = {
    400: "The request can't be read, or lacks something.",
    401: "The call needs a session, or the tenant header where the operator allows it.",
    403: "The caller may not do this.",
    404: "There is nothing at this address, or the link is not valid any more.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    422: "A value is well-formed and wrong.",
    429: "Too many calls; `Retry-After` says how many seconds to wait.",
    503: "The database or the object store does not answer.",
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
_TOKEN = query("token", "From the mail.", {"type": "string"}, "4f8c1e6a9b2d7053")
_REQUEST = in_path("id", "The request's id.", {"type": "string", "minLength": 1}, ID)
_STATE_EXAMPLE = {"request_id": ID, "status": "queued"}


def paths() -> Paths:
    return {**_health(), **_ai(), **_data_protection(), **_payments()}


def _health() -> Paths:
    well = {"status": "ok", "ts": MOMENT, "pb": "ok", "build": "0.1.0"}
    ill = {**well, "status": "degraded", "pb": "down", "error": "The record store does not answer."}
    answers = {
        "200": answer("The service and its database answer.", ref("schemas", "Health"), well),
        "503": answer("The database does not answer.", ref("schemas", "Health"), ill),
    }
    operation = _operation("health", HEALTH, "Says whether the service is well.", answers, ())
    return {"/api/health": {"get": operation}}


def _ai() -> Paths:
    asked = {
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
    operation["requestBody"] = body(asked, example)
    return {"/api/ai/generate": {"post": operation}}


def _action(name: str, **lengths: int) -> dict[str, Any]:
    texts = {
        each: text(minLength=1, maxLength=most, pattern=r"[^\s\u001c-\u001f\u0085]")
        for each, most in lengths.items()
    }
    return object_of(["action", *texts], action={"const": name}, **texts)


def _data_protection() -> Paths:
    refusals = (400, 401, 404, 408, 413, 422, 429, 503)
    export = _operation(
        "exportData",
        PRIVACY,
        "Requests a copy of all data of a tenant or a member.",
        {
            "200": answer("The export is ready.", ref("schemas", "Export"), _export_example()),
            "202": answer(
                "The export is being made; a mail will bring the link.",
                ref("schemas", "PrivacyRequest"),
                _STATE_EXAMPLE,
            ),
        },
        refusals,
        security=_ASKED_BY,
    )
    export["requestBody"] = body(_ask(["type"]), {"type": "member", "member_id": ID})
    delete = _operation(
        "deleteData",
        PRIVACY,
        "Requests the deletion of a tenant or a member, which happens after 30 days.",
        {
            "202": answer(
                "The deletion is scheduled, or waits to be confirmed.",
                ref("schemas", "Deletion"),
                _deletion_example(),
            )
        },
        refusals,
        security=_ASKED_BY,
    )
    phrase = {
        "confirmation_phrase": {"const": "DELETE MY DATA"},
        "tenant_slug": text("The slug of the tenant; needed with type `tenant`."),
    }
    delete["requestBody"] = body(
        _ask(["type", "confirmation_phrase"], **phrase),
        {"type": "member", "member_id": ID, "confirmation_phrase": "DELETE MY DATA"},
    )
    return {
        "/api/gdpr/export": {"post": export},
        "/api/gdpr/export/{id}": {
            "get": _linked("downloadExport", "Downloads the exported data.", STORED_FILE)
        },
        "/api/gdpr/delete": {"post": delete},
        "/api/gdpr/delete/{id}/cancel": {
            "get": _linked(
                "cancelDeletion",
                "Cancels a deletion; a browser gets a page with a button instead.",
                _state("cancelled"),
            ),
            "post": _linked("cancelDeletionByForm", "Cancels a deletion.", _state("cancelled")),
        },
        "/api/gdpr/delete/{id}/confirm": {
            "get": _linked(
                "showDeletion",
                "Shows a deletion that waits to be confirmed, and changes nothing.",
                _state("awaiting_confirmation"),
            ),
            "post": _linked("confirmDeletion", "Confirms a deletion.", _state("queued")),
        },
    }


def _ask(required: list[str], **more: Any) -> dict[str, Any]:
    return object_of(
        required,
        type={"enum": ["tenant", "member"]},
        member_id=text("The member; needed with type `member`."),
        tenant_id=text("The tenant, where neither the host nor the header names it."),
        notify_email=text("A second recipient of the mail. Owners only.", format="idn-email"),
        blog_name=text("The site's name in the mails. Owners only."),
        **more,
    )


def _linked(name: str, summary: str, answers: dict[str, Any]) -> Operation:
    operation = _operation(name, PRIVACY, summary, answers, (400, 404, 408, 413, 503))
    return {**operation, "parameters": [_REQUEST, _TOKEN]}


def _state(status: str) -> dict[str, Any]:
    """A browser gets a page."""
    example = {**_STATE_EXAMPLE, "status": status}
    shown = answer("The state of the request.", ref("schemas", "PrivacyRequest"), example)
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
    taken = answer(
        "The event was taken, now or before, or its type is not handled.",
        ref("schemas", "Received"),
        {"received": True},
    )
    event = {
        "id": "evt_1",
        "type": "customer.subscription.updated",
        "data": {"object": {"id": "sub_1", "customer": "cus_1", "status": "active"}},
    }
    operation = _operation(name, PAYMENTS, summary, {"200": taken}, (400, 404, 408, 413, 503))
    given = {"description": "The processor's event, as it was signed.", "type": "object"}
    return {**operation, "requestBody": {"required": True, "content": content(given, event)}}


def _operation(
    name: str,
    tag: str,
    summary: str,
    answers: dict[str, Any],
    refusals: Sequence[int],
    *,
    security: list[dict[str, list[str]]] = _NOBODY,
) -> Operation:
    refused = {str(status): ref("responses", f"Refused{status}") for status in refusals}
    return {
        "operationId": name,
        "tags": [tag],
        "summary": summary,
        "security": security,
        "responses": {**answers, **refused},
    }


def responses() -> dict[str, Any]:
    return {
        f"Refused{status}": answer(
            meaning,
            ref("schemas", "Error"),
            {
                "error": {
                    "code": _CODES.get(status, "BAD_REQUEST"),
                    "message": meaning,
                    "details": {"member_id": ["There is no such member."]} if status == 422 else {},
                }
            },
        )
        for status, meaning in _MEANINGS.items()
    }


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
            pb={"description": "The record store.", "enum": ["ok", "down"]},
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
