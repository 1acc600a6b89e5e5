"""Data protection of one member: the export of what is stored, the erasure, and their state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from masthead import clock, ids
from masthead.admin.endpoint import Answer, Moved, Sent, Shown
from masthead.admin.environment import day
from masthead.admin.pages.members import ADDRESS
from masthead.admin.request import AdminRequest
from masthead.errors import NotFound
from masthead.members.collection import blog_members
from masthead.privacy.collection import gdpr_requests
from masthead.privacy.export import archive_key
from masthead.privacy.receipts import Receipt
from masthead.privacy.validation import (
    BY_HEADER,
    BY_MEMBER,
    BY_SITE,
    MEMBER,
    RequestBody,
    Requester,
)
from masthead.records.collection import Record
from masthead.records.engine import ListRequest
from masthead.records.filter.conditions import all_of, equals
from masthead.records.write.audit import (
    CANCELLED_ERASURE,
    DOWNLOADED_EXPORT,
    EXPORTED,
    PLANNED_ERASURE,
)

MOST = 20
REQUESTS = f"{ADDRESS}/requests"
_KINDS = {"export": "Export of the data", "delete": "Erasure"}
_BY = {BY_SITE: "by the site", BY_MEMBER: "by the member", BY_HEADER: "by a program"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request and what has become of it."""

    id: str
    kind: str
    badge: str
    state: str
    when: str
    at: str
    by: str
    download: str = ""
    cancel: str = ""
    erased: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


async def export_member(request: AdminRequest, member_id: str) -> Answer:
    """The link also goes to the member by mail, as for every export."""
    await request.records.get(request.caller, blog_members, member_id)
    requester, body = await _admitted(request, member_id)
    # First, because building it may take long: no data leaves without an entry.
    await request.note(EXPORTED)
    _, ready = await request.services.privacy.exports.begin(requester, body)
    said = "The export is ready." if ready else "The export is being made."
    return Moved(f"{ADDRESS}/{member_id}#requests", said)


async def erase_form(request: AdminRequest, member_id: str) -> Answer:
    return await _erase_page(request, member_id)


async def erase_member(request: AdminRequest, member_id: str) -> Answer:
    member = await request.records.get(request.caller, blog_members, member_id)
    if request.form.get("email", "").strip().lower() != member["email"].lower():
        problem = "Type the member's address exactly as it is shown."
        return await _erase_page(request, member_id, problem)
    requester, body = await _admitted(request, member_id)
    opened = await request.services.privacy.requests.open_deletion(requester, body)
    await request.note(PLANNED_ERASURE)
    until = day(request.local(opened.request["grace_until"]))
    return Moved(
        f"{ADDRESS}/{member_id}#requests",
        f"The erasure is planned for {until}. Until then it can be cancelled.",
    )


async def cancel_erasure(request: AdminRequest, member_id: str, request_id: str) -> Answer:
    asked = await _asked(request, member_id, request_id)
    await request.services.privacy.requests.withdraw(request.tenant_id, asked["id"])
    await request.note(CANCELLED_ERASURE)
    return Moved(f"{ADDRESS}/{member_id}#requests", "The erasure is cancelled.")


async def download_export(request: AdminRequest, member_id: str, request_id: str) -> Answer:
    asked = await _asked(request, member_id, request_id)
    if not _is_ready(request, asked):
        raise NotFound
    stored = await request.services.objects.get(archive_key(asked))
    await request.note(DOWNLOADED_EXPORT)
    return Sent(stored.chunks, f"member-{member_id}.json", "application/json")


async def requests_page(request: AdminRequest) -> Answer:
    """Of all members, those who are gone included."""
    wanted = all_of([equals("subject", MEMBER)]) or ""
    values = {"requests": await _read(request, wanted), "back": ADDRESS}
    return Shown("members/requests.html", "Data requests", values)


async def requests_of(request: AdminRequest, member_id: str) -> list[Asked]:
    wanted = all_of([equals("subject", MEMBER), equals("member_id", member_id)]) or ""
    return await _read(request, wanted)


async def _admitted(request: AdminRequest, member_id: str) -> tuple[Requester, RequestBody]:
    """Counted with the requests by the API, because each sends a mail to the member."""
    limit = request.services.privacy_limit
    await limit.admit(request.tenant_id, request.caller, request.client.address)
    body = RequestBody(MEMBER, member_id, request.tenant_id, "", "", "")
    return Requester(request.tenant, request.caller, is_trusted=True), body


async def _erase_page(request: AdminRequest, member_id: str, problem: str = "") -> Shown:
    member = await request.records.get(request.caller, blog_members, member_id)
    values = {
        "member": member,
        "problem": problem,
        "typed": request.form.get("email", ""),
        "back": f"{ADDRESS}/{member_id}",
    }
    status = 422 if problem else 200
    return Shown("members/erase.html", "Erase this member?", values, status)


async def _asked(request: AdminRequest, member_id: str, request_id: str) -> Record:
    """By the caller's rights: an owner's own site alone."""
    found = await request.records.get(request.caller, gdpr_requests, request_id)
    if not ids.is_id(member_id) or found["member_id"] != member_id:
        raise NotFound
    return found | {"tenant_id": request.tenant_id}


async def _read(request: AdminRequest, wanted: Any) -> list[Asked]:
    one = ListRequest(per_page=MOST, filter=wanted, sort="-created", skip_total=True)
    found = (await request.records.page(request.caller, gdpr_requests, one)).items
    return [_shown(request, each) for each in found]


def _shown(request: AdminRequest, asked: Record) -> Asked:
    badge, state = _state(request, asked)
    address = f"{ADDRESS}/{asked['member_id']}/requests/{asked['id']}"
    receipt = Receipt.of(_receipt(asked))
    return Asked(
        asked["id"],
        _KINDS[asked["type"]],
        badge,
        state,
        request.when(asked["created"]),
        asked["created"],
        _BY.get(asked["asked_by"], "by the site or the member"),
        f"{address}/download" if _is_ready(request, asked) else "",
        f"{address}/cancel" if _is_cancellable(request, asked) else "",
        tuple(receipt.erased_lines()),
        tuple(receipt.kept_lines()),
    )


def _receipt(asked: Record) -> Any:
    stored = asked["receipt"]
    return msgspec.json.decode(stored) if isinstance(stored, msgspec.Raw) else stored


def _state(request: AdminRequest, asked: Record) -> tuple[str, str]:
    status = asked["status"]
    if asked["type"] == "export":
        if _is_ready(request, asked):
            return "good", f"Ready until {day(request.local(asked['expires_at']))}"
        words = {"queued": "Being made", "failed": "Failed"}
        badges = {"queued": "info", "failed": "bad"}
        return badges.get(status, "draft"), words.get(status, "Ended")
    if status == "queued" and not asked["confirmed_at"]:
        return "info", "Waits for its confirmation by mail"
    if status == "queued":
        return "warn", f"Planned for {day(request.local(asked['grace_until']))}"
    words = {"completed": "Erased", "cancelled": "Cancelled", "failed": "Failed"}
    badges = {"completed": "good", "failed": "bad"}
    return badges.get(status, "draft"), words.get(status, status.capitalize())


def _is_ready(request: AdminRequest, asked: Record) -> bool:
    is_export = asked["type"] == "export" and asked["status"] == "ready"
    return bool(is_export and _is_later(request, asked["expires_at"]))


def _is_cancellable(request: AdminRequest, asked: Record) -> bool:
    is_open = asked["type"] == "delete" and asked["status"] == "queued"
    is_own = asked["asked_by"] == BY_SITE
    return is_open and is_own and _is_later(request, asked["grace_until"])


def _is_later(request: AdminRequest, moment: str) -> bool:
    return moment > clock.to_text(request.records.clock())
