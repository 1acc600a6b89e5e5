"""Data protection in the description of the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from masthead.features.privacy.validation import (
    MEMBER,
    PHRASE,
    TENANT,
    DataRequest,
    DeletionRequest,
)
from masthead.web.openapi.builders import ID, MOMENT, STORED_FILE, in_path, query
from masthead.web.openapi.description import Description, StructAnswer, StructBody

TAG = "Data protection"

_SITE = "https://example.com/api/gdpr"
_SAMPLE = "4f8c1e6a9b2d7053"
_TOKEN = query("token", "From the email.", {"type": "string"}, _SAMPLE)
_REQUEST = in_path("id", "The request's id.", {"type": "string", "minLength": 1}, ID)
_SUBJECT: dict[str, Any] = {"enum": [TENANT, MEMBER]}
_Link = Annotated[str, Meta(description="Without its token unless the caller is trusted.")]

_Object = Annotated[
    msgspec.Raw, Meta(description="A small export itself.", extra_json_schema={"type": "object"})
]


class PrivacyRequest(msgspec.Struct, frozen=True):
    request_id: Annotated[str, Meta(description="The request's id.")]
    status: Annotated[str, Meta(description="Such as `queued`, `ready` or `cancelled`.")]


class Export(PrivacyRequest, frozen=True):
    download_url: _Link
    expires_at: Annotated[str, Meta(description="UTC.")]
    inline_data: _Object | UnsetType = UNSET


class Deletion(PrivacyRequest, frozen=True):
    type: Annotated[str, Meta(extra_json_schema=_SUBJECT)]
    grace_until: Annotated[str, Meta(description="UTC; empty until the owner confirms.")]
    cancellation_url: _Link


_QUEUED = PrivacyRequest(ID, "queued")


def _shown(status: str) -> dict[str, StructAnswer]:
    example = PrivacyRequest(ID, status)
    return {"200": StructAnswer("The state of the request.", example, as_page=True)}


def _by_link(name: str, summary: str, answers: Mapping[str, Any]) -> Description:
    return Description(
        name=name,
        tag=TAG,
        summary=summary,
        answers=answers,
        parameters=(_REQUEST, _TOKEN),
        errors=(404,),
    )


EXPORT = Description(
    name="exportData",
    tag=TAG,
    summary="Requests a copy of all data of a tenant or a member.",
    answers={
        "200": StructAnswer(
            "The export is ready.",
            Export(ID, "ready", f"{_SITE}/export/{ID}?token={_SAMPLE}", MOMENT),
        ),
        "202": StructAnswer("The export is being made; an email will bring the link.", _QUEUED),
    },
    body=StructBody(DataRequest(MEMBER, ID)),
    errors=(401, 404, 422),
    takes_tenant_header=True,
)
DELETE = Description(
    name="deleteData",
    tag=TAG,
    summary="Requests the deletion of a tenant or a member, which happens after 30 days.",
    answers={
        "202": StructAnswer(
            "The deletion is scheduled, or waits to be confirmed.",
            Deletion(ID, "queued", "member", MOMENT, f"{_SITE}/delete/{ID}/cancel?token={_SAMPLE}"),
        )
    },
    body=StructBody(DeletionRequest(MEMBER, ID, confirmation_phrase=PHRASE)),
    errors=(401, 404, 422),
    takes_tenant_header=True,
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
