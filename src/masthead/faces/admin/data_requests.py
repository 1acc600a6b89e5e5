"""Data-protection requests as the admin shows them: of the site and all its members among the
settings, of one member on the member's page."""

from __future__ import annotations

from typing import Any

import msgspec

from masthead.base import clock
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.faces.admin.environment import day
from masthead.faces.admin.request import AdminRequest
from masthead.features.privacy.limits import admit
from masthead.features.privacy.receipts import Receipt
from masthead.features.privacy.requests import is_the_sites
from masthead.features.privacy.validation import (
    BY_HEADER,
    BY_MEMBER,
    BY_SITE,
    MEMBER,
    TENANT,
    Requester,
)

_KINDS = {
    ("export", MEMBER): words("Export of the data"),
    ("export", TENANT): words("Copy of the site"),
    ("delete", MEMBER): words("Erasure"),
    ("delete", TENANT): words("Deletion of the site"),
}
_BY = {
    BY_SITE: words("by the site"),
    BY_MEMBER: words("by the member"),
    BY_HEADER: words("by a program"),
}
_ADDRESSES = {
    MEMBER: "/admin/members/{member_id}/requests/{id}",
    TENANT: "/admin/settings/privacy/{id}",
}
"""Where a request is downloaded or cancelled, by its subject."""


async def admit_request(request: AdminRequest) -> Requester:
    """Counted with the requests by the API, because each of them sends emails."""
    windows = request.services.windows
    await admit(windows, request.tenant_id, request.caller, request.client.address)
    return Requester(request.tenant, request.caller, is_trusted=True)


def shown(request: AdminRequest, asked: Record) -> Record:
    """With what has become of it."""
    address = _ADDRESSES[asked["subject"]].format_map(asked)
    receipt = Receipt.of(_receipt(asked))
    return asked | {
        "kind": _KINDS[asked["type"], asked["subject"]],
        "badge": _state(request, asked),
        "by": _by(asked),
        "download": f"{address}/download" if is_ready(request, asked) else "",
        "cancel": f"{address}/cancel" if is_cancellable(request, asked) else "",
        "erased": tuple(receipt.erased_lines()),
        "kept": tuple(receipt.kept_lines()),
    }


def is_ready(request: AdminRequest, asked: Record) -> bool:
    is_export = asked["type"] == "export" and asked["status"] == "ready"
    return bool(is_export and _is_later(request, asked["expires_at"]))


def is_cancellable(request: AdminRequest, asked: Record) -> bool:
    is_open = asked["type"] == "delete" and asked["status"] == "queued"
    return is_open and is_the_sites(asked) and _is_later(request, asked["grace_until"])


def _by(asked: Record) -> str:
    if asked["subject"] == TENANT:
        # Older requests don't say it of a site either; a member can't ask for one.
        return _BY[BY_HEADER] if asked["asked_by"] == BY_HEADER else _BY[BY_SITE]
    return _BY.get(asked["asked_by"], words("by the site or the member"))


def _receipt(asked: Record) -> Any:
    stored = asked["receipt"]
    return msgspec.json.decode(stored) if isinstance(stored, msgspec.Raw) else stored


def _state(request: AdminRequest, asked: Record) -> tuple[str, str]:
    status = asked["status"]
    if asked["type"] == "export":
        if is_ready(request, asked):
            return "good", words("Ready until %(day)s", day=day(request.local(asked["expires_at"])))
        said = {"queued": words("Being made"), "failed": words("Failed")}
        badges = {"queued": "info", "failed": "bad"}
        return badges.get(status, "draft"), said.get(status, words("Ended"))
    if status == "queued" and not asked["confirmed_at"]:
        return "info", words("Waiting for confirmation by email")
    if status == "queued":
        return "warn", words("Planned for %(day)s", day=day(request.local(asked["grace_until"])))
    said = {
        "completed": words("Erased"),
        "cancelled": words("Cancelled"),
        "failed": words("Failed"),
    }
    badges = {"completed": "good", "failed": "bad"}
    return badges.get(status, "draft"), said.get(status, status.capitalize())


def _is_later(request: AdminRequest, moment: str) -> bool:
    return moment > clock.to_text(request.records.clock())
