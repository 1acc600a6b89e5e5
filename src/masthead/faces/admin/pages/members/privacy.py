"""Data protection of one member: the export of what is stored, the erasure, and their state."""

from __future__ import annotations

from masthead.base import ids
from masthead.base.errors import NotFound
from masthead.base.languages.words import words
from masthead.engine.audit.collection import DOWNLOADED_EXPORT
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.conditions import all_of, equals
from masthead.faces.admin.data_requests import admit_request, is_ready, shown
from masthead.faces.admin.endpoint import Answer, Download, Page, Redirect
from masthead.faces.admin.environment import day
from masthead.faces.admin.pages.members.listing import ADDRESS
from masthead.faces.admin.request import AdminRequest
from masthead.features.members.collection import blog_members
from masthead.features.privacy.collection import gdpr_requests
from masthead.features.privacy.export import archive_key
from masthead.features.privacy.validation import MEMBER, DataRequest

MOST = 20


async def export_member(request: AdminRequest, member_id: str) -> Answer:
    """The link also goes to the member by mail, as for every export."""
    await request.records.get(request.caller, blog_members, member_id)
    requester, body = await admit_request(request), DataRequest(MEMBER, member_id)
    _, ready = await request.services.privacy.exports.begin(requester, body)
    said = words("The export is ready.") if ready else words("The export is being made.")
    return Redirect(f"{ADDRESS}/{member_id}#requests", said)


async def erase_member(request: AdminRequest, member_id: str) -> Answer:
    member = await request.records.get(request.caller, blog_members, member_id)
    if request.form.get("email", "").strip().lower() != member["email"].lower():
        problem = words("Type the member's address exactly as it is shown.")
        return await erase_form(request, member_id, problem)
    requester, body = await admit_request(request), DataRequest(MEMBER, member_id)
    opened = await request.services.privacy.requests.open_deletion(requester, body)
    until = day(request.local(opened.request["grace_until"]))
    return Redirect(
        f"{ADDRESS}/{member_id}#requests",
        words(
            "The erasure is scheduled for %(until)s. Until then it can be cancelled.", until=until
        ),
    )


async def cancel_erasure(request: AdminRequest, member_id: str, request_id: str) -> Answer:
    asked = await _find_request(request, member_id, request_id)
    requests = request.services.privacy.requests
    await requests.withdraw(request.tenant_id, asked["id"], request.caller)
    return Redirect(f"{ADDRESS}/{member_id}#requests", words("The erasure is cancelled."))


async def download_export(request: AdminRequest, member_id: str, request_id: str) -> Answer:
    asked = await _find_request(request, member_id, request_id)
    if not is_ready(request, asked):
        raise NotFound
    stored = await request.services.objects.get(archive_key(asked))
    await request.note(DOWNLOADED_EXPORT)
    return Download(stored.chunks, f"member-{member_id}.json", "application/json")


async def requests_of(request: AdminRequest, member_id: str) -> list[Record]:
    wanted = all_of([equals("subject", MEMBER), equals("member_id", member_id)]) or ""
    found = await request.first(gdpr_requests, MOST, filter=wanted, sort="-created")
    return [shown(request, each) for each in found]


async def erase_form(request: AdminRequest, member_id: str, problem: str = "") -> Answer:
    member = await request.records.get(request.caller, blog_members, member_id)
    values = {
        "member": member,
        "problem": problem,
        "typed": request.form.get("email", ""),
        "back": f"{ADDRESS}/{member_id}",
    }
    status = 422 if problem else 200
    return Page("members/erase.html", words("Erase this member?"), values, status)


async def _find_request(request: AdminRequest, member_id: str, request_id: str) -> Record:
    """With the caller's rights: only an owner's own site."""
    found = await request.records.get(request.caller, gdpr_requests, request_id)
    if not ids.is_id(member_id) or found["member_id"] != member_id:
        raise NotFound
    return found | {"tenant_id": request.tenant_id}
