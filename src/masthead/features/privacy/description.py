"""Data protection in the description of the service."""

from __future__ import annotations

from typing import Any

from masthead.web.openapi.builders import (
    ID,
    MOMENT,
    STORED_FILE,
    answer,
    body,
    in_path,
    object_of,
    query,
    schema_ref,
    text,
)
from masthead.web.openapi.description import Description

TAG = "Data protection"

_TOKEN = query("token", "From the email.", {"type": "string"}, "4f8c1e6a9b2d7053")
_REQUEST = in_path("id", "The request's id.", {"type": "string", "minLength": 1}, ID)
_QUEUED = {"request_id": ID, "status": "queued"}
_STATE = {
    "request_id": text("The request's id."),
    "status": text("Such as `queued`, `ready` or `cancelled`."),
}
_SCHEMAS = {
    "PrivacyRequest": object_of([*_STATE], **_STATE),
    "Export": object_of(
        [*_STATE, "download_url", "expires_at"],
        **_STATE,
        download_url=text("Without its token unless the caller is trusted."),
        expires_at=text("UTC."),
        inline_data={"description": "A small export itself.", "type": "object"},
    ),
    "Deletion": object_of(
        [*_STATE, "type", "grace_until", "cancellation_url"],
        **_STATE,
        type={"enum": ["tenant", "member"]},
        grace_until=text("UTC; empty until the owner confirms."),
        cancellation_url=text("Without its token unless the caller is trusted."),
    ),
}


def _asked(required: list[str], example: dict[str, Any], **more: Any) -> dict[str, Any]:
    schema = object_of(
        required,
        type={"enum": ["tenant", "member"]},
        member_id=text("The member; required with type `member`."),
        tenant_id=text("The tenant, if neither the host nor the header names it."),
        notify_email=text("A second recipient of the email. Owners only.", format="idn-email"),
        blog_name=text("The site's name in the emails. Owners only."),
        **more,
    )
    return body(schema, {"type": "member", "member_id": ID, **example})


def _shown(status: str) -> dict[str, Any]:
    """A browser gets a page."""
    example = {**_QUEUED, "status": status}
    shown = answer("The state of the request.", schema_ref("PrivacyRequest"), example)
    shown["content"]["text/html"] = {"schema": {"type": "string"}}
    return {"200": shown}


def _by_link(name: str, summary: str, answers: dict[str, Any]) -> Description:
    return Description(
        name=name,
        tag=TAG,
        summary=summary,
        answers=answers,
        parameters=(_REQUEST, _TOKEN),
        errors=(404,),
        schemas=_SCHEMAS,
    )


EXPORT = Description(
    name="exportData",
    tag=TAG,
    summary="Requests a copy of all data of a tenant or a member.",
    answers={
        "200": answer(
            "The export is ready.",
            schema_ref("Export"),
            {
                "request_id": ID,
                "status": "ready",
                "download_url": f"https://example.com/api/gdpr/export/{ID}?token=4f8c1e6a9b2d7053",
                "expires_at": MOMENT,
            },
        ),
        "202": answer(
            "The export is being made; an email will bring the link.",
            schema_ref("PrivacyRequest"),
            _QUEUED,
        ),
    },
    body=_asked(["type"], {}),
    errors=(401, 404, 422),
    takes_tenant_header=True,
    schemas=_SCHEMAS,
)
DELETE = Description(
    name="deleteData",
    tag=TAG,
    summary="Requests the deletion of a tenant or a member, which happens after 30 days.",
    answers={
        "202": answer(
            "The deletion is scheduled, or waits to be confirmed.",
            schema_ref("Deletion"),
            {
                **_QUEUED,
                "type": "member",
                "grace_until": MOMENT,
                "cancellation_url": f"https://example.com/api/gdpr/delete/{ID}/cancel"
                "?token=4f8c1e6a9b2d7053",
            },
        )
    },
    body=_asked(
        ["type", "confirmation_phrase"],
        {"confirmation_phrase": "DELETE MY DATA"},
        confirmation_phrase={"const": "DELETE MY DATA"},
        tenant_slug=text("The slug of the tenant; required with type `tenant`."),
    ),
    errors=(401, 404, 422),
    takes_tenant_header=True,
    schemas=_SCHEMAS,
)
DOWNLOAD = _by_link("downloadExport", "Downloads the exported data.", STORED_FILE)
CANCEL = _by_link(
    "cancelDeletion",
    "Cancels a deletion; a browser gets a page with a button instead.",
    _shown("cancelled"),
)
CANCEL_BY_FORM = _by_link("cancelDeletionByForm", "Cancels a deletion.", _shown("cancelled"))
SHOW = _by_link(
    "showDeletion",
    "Shows a deletion that waits to be confirmed, and changes nothing.",
    _shown("awaiting_confirmation"),
)
CONFIRM = _by_link("confirmDeletion", "Confirms a deletion.", _shown("queued"))
