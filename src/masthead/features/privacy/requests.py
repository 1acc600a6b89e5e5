"""The states of a data-protection request: opened, confirmed, cancelled, ready, expired.

Every transition is one transaction: the record, the tenant's read-only mode, the next job and the
emails are committed together.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from masthead.base import clock, ids
from masthead.base.caller import Caller, system
from masthead.base.config.tokens import hash_token, is_token_of, new_token
from masthead.base.email_address import is_email, normal_email
from masthead.base.errors import NotFound
from masthead.base.ids import TenantId
from masthead.base.languages.moments import Moment
from masthead.base.languages.words import words
from masthead.base.logs import log
from masthead.engine.audit.collection import (
    CANCELLED_DELETION,
    CANCELLED_ERASURE,
    EXPORTED,
    EXPORTED_SITE,
    PLANNED_DELETION,
    PLANNED_ERASURE,
)
from masthead.engine.audit.entries import log_action
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.features.members.collection import blog_members
from masthead.features.privacy.collection import gdpr_requests
from masthead.features.privacy.emails import Addressee, about, deletion_requested
from masthead.features.privacy.links import EXPORT_LIFETIME, GRACE_PERIOD, Links
from masthead.features.privacy.validation import (
    BY_SITE,
    MEMBER,
    TENANT,
    DataRequest,
    Requester,
    unknown_member,
)
from masthead.features.site.address import Site, Sites
from masthead.features.site.collection import site_settings
from masthead.identity.owners import owner_of
from masthead.outside.mail.outbox import Outbox

EXPORT_JOB = "privacy.export"
ERASE_JOB = "privacy.erase"

DEAD_LINK = words("This link is not valid, has been used, or has expired.")

_EXPORTED = {MEMBER: EXPORTED, TENANT: EXPORTED_SITE}
_PLANNED = {MEMBER: PLANNED_ERASURE, TENANT: PLANNED_DELETION}
_CANCELLED = {MEMBER: CANCELLED_ERASURE, TENANT: CANCELLED_DELETION}
"""Actions of the audit log, by subject."""


class OpenedDeletion(msgspec.Struct, frozen=True):
    request: Record
    cancel_token: str


class Requests:
    def __init__(self, records: Records, mail: Outbox, sites: Sites, links: Links) -> None:
        self._records = records
        self._mail = mail
        self._sites = sites
        self._links = links

    async def member(self, tenant_id: TenantId, member_id: str) -> Record:
        found = None
        if ids.is_id(member_id):
            key = {"id": member_id}
            found = await self._records.find_one(blog_members, key, tenant_id=tenant_id)
        if not found:
            raise unknown_member()
        return found

    async def addressees(self, request: Record) -> list[Addressee]:
        """The site's owner or the member concerned, and the address that a signed-in owner gave."""
        tenant_id = TenantId(request["tenant_id"])
        if request["subject"] == MEMBER:
            people = await self._records.find(
                blog_members, {"id": request["member_id"]}, tenant_id=tenant_id
            )
        else:
            owner = await owner_of(self._records, tenant_id)
            people = [owner] if owner else []
        found = [
            Addressee(each["email"], each.get("name", ""), each.get("language", ""))
            for each in people
        ]
        extra = request["notify_email"]
        if extra and extra not in (each.email for each in found):
            found.append(Addressee(extra))
        # An invalid address from an older version or an import must not prevent the erasure.
        return [each for each in found if is_email(normal_email(each.email))]

    async def site(self, tenant_id: TenantId, blog_name: str = "") -> Site:
        site = await self._sites.of(tenant_id)
        return replace(site, name=blog_name) if blog_name else site

    async def open_export(self, requester: Requester, body: DataRequest, run_at: str) -> Record:
        """The request, and the job that builds the export if this process does not."""
        async with self._records.unit(system(requester.tenant.id)) as unit:
            request = await unit.create(
                gdpr_requests, {}, stamped=_common("export", requester, body)
            )
            payload = {"request_id": request["id"], "blog_name": site_name(requester, body)}
            await unit.enqueue(EXPORT_JOB, payload, run_at)
            log_action(unit, _EXPORTED[body.subject], by=requester.session)
        _audit("privacy.export_requested", request)
        return request

    async def open_deletion(self, requester: Requester, body: DataRequest) -> OpenedDeletion:
        """Takes effect at once for a trusted caller, else by the confirm link in the email."""
        tenant_id = requester.tenant.id
        cancel_token, confirm_token = new_token(), new_token()
        now = self._records.clock()
        stamped = _common("delete", requester, body) | {
            "grace_until": clock.to_text(now + GRACE_PERIOD),
            "token_hash": hash_token(cancel_token),
        }
        if not requester.is_trusted:
            stamped["confirm_hash"] = hash_token(confirm_token)
        site = await self.site(tenant_id, site_name(requester, body))
        async with self._records.unit(system(tenant_id)) as unit:
            request = await unit.create(gdpr_requests, {}, stamped=stamped)
            if requester.is_trusted:
                request = await self._take_effect(unit, request)
                confirm_link = ""
            else:
                confirm_link = self._links.confirm(request["id"], confirm_token)
            cancel_link = self._links.cancel(request["id"], cancel_token)
            links = {"confirm_link": confirm_link, "cancel_link": cancel_link}
            until = clock.from_text(request["grace_until"])
            for each in await self.addressees(request):
                mail = deletion_requested(request, site, each, until=until, links=links)
                await self._mail.queue(unit, mail)
            log_action(unit, _PLANNED[body.subject], by=requester.session)
        _audit("privacy.deletion_requested", request)
        return OpenedDeletion(request, cancel_token)

    async def deletion_by_cancel_link(self, request_id: str, token: str) -> Record:
        return self._in_grace(await self._by_link(request_id, token, "token_hash"))

    async def deletion_by_confirm_link(self, request_id: str, token: str) -> Record:
        return self._in_grace(await self._by_link(request_id, token, "confirm_hash"))

    async def export_by_link(self, request_id: str, token: str) -> Record:
        request = await self._by_link(request_id, token, "token_hash")
        is_alive = request["expires_at"] > clock.to_text(self._records.clock())
        if request["type"] != "export" or request["status"] != "ready" or not is_alive:
            raise NotFound(DEAD_LINK)
        return request

    async def confirm(self, request_id: str, token: str) -> Record:
        """The grace period begins now; opening the link again changes nothing more."""
        request = await self.deletion_by_confirm_link(request_id, token)
        async with self._records.unit(system(TenantId(request["tenant_id"]))) as unit:
            # Checked again inside the transaction: it may have been cancelled a moment ago.
            request = self._in_grace(await _one(unit, request_id))
            if not request["confirmed_at"]:
                request = await self._take_effect(unit, request)
        _audit("privacy.deletion_confirmed", request)
        return request

    async def cancel(self, request_id: str, token: str) -> Record:
        return await self._cancel(await self.deletion_by_cancel_link(request_id, token))

    async def _cancel(self, request: Record, by: Caller | None = None) -> Record:
        """`by` is the person who acts for the site; None for one with the link."""
        async with self._records.unit(system(TenantId(request["tenant_id"]))) as unit:
            request = self._in_grace(await _one(unit, request["id"]))
            if request["confirmed_at"]:
                await self._undo_deletion(unit, request, by_site=by is not None)
            request = await self._close(unit, request, "cancelled")
            log_action(unit, _CANCELLED[request["subject"]], by=by)
        _audit("privacy.deletion_cancelled", request)
        return request

    async def withdraw(self, tenant_id: TenantId, request_id: str, by: Caller) -> Record:
        """Cancels a deletion in the name of the site."""
        request = await self.find(request_id) if ids.is_id(request_id) else None
        if request is None or request["tenant_id"] != tenant_id or not is_the_sites(request):
            raise NotFound
        return await self._cancel(request, by)

    async def planned_deletion(self, tenant_id: TenantId) -> Record | None:
        """The next planned deletion of the whole site that can still be cancelled."""
        wanted = {"subject": TENANT, "type": "delete", "status": "queued"}
        found = await self._records.find(gdpr_requests, wanted, tenant_id=tenant_id, limit=100)
        now = clock.to_text(self._records.clock())
        planned = [each for each in found if each["confirmed_at"] and each["grace_until"] > now]
        return min(planned, key=lambda each: str(each["grace_until"]), default=None)

    async def make_ready(self, request: Record, blog_name: str = "") -> tuple[Record, str] | None:
        """Queues the emails with the link to a stored archive. None if the request is closed."""
        tenant_id, token = TenantId(request["tenant_id"]), new_token()
        expires = self._records.clock() + EXPORT_LIFETIME
        site = await self.site(tenant_id, blog_name)
        async with self._records.unit(system(tenant_id)) as unit:
            request = await _one(unit, request["id"])
            if request["status"] != "queued":
                return None
            request = await _stamp(
                unit,
                request,
                status="ready",
                expires_at=clock.to_text(expires),
                token_hash=hash_token(token),
            )
            for each in await self.addressees(request):
                values = {
                    "link": self._links.download(request["id"], token),
                    "until": Moment(expires),
                }
                mail = about(request, site, each, "privacy_export_ready", **values)
                await self._mail.queue(unit, mail)
        _audit("privacy.export_ready", request)
        return request, token

    async def close(self, request: Record, status: str) -> None:
        """Ends a request; its links stop working."""
        async with self._records.unit(system(TenantId(request["tenant_id"]))) as unit:
            await self._close(unit, request, status)
        _audit(f"privacy.{request['type']}_{status}", request)

    async def cancel_unconfirmed(self, request: Record) -> None:
        """Closes a deletion whose link nobody has opened in time."""
        async with self._records.unit(system(TenantId(request["tenant_id"]))) as unit:
            request = await _one(unit, request["id"])
            is_open = request["status"] == "queued" and not request["confirmed_at"]
            if not is_open or request["grace_until"] > unit.now:
                return
            await self._close(unit, request, "cancelled")
        _audit("privacy.delete_cancelled", request)

    async def find(self, request_id: str) -> Record | None:
        return await self._records.find_one(gdpr_requests, {"id": request_id})

    async def _by_link(self, request_id: str, token: str, hash_name: str) -> Record:
        request = await self.find(request_id) if ids.is_id(request_id) else None
        # Compared for an unknown request too, so that the time does not reveal it.
        if not is_token_of(token, request[hash_name] if request else "") or request is None:
            raise NotFound(DEAD_LINK)
        return request

    def _in_grace(self, request: Record) -> Record:
        is_open = request["grace_until"] > clock.to_text(self._records.clock())
        if request["type"] != "delete" or request["status"] != "queued" or not is_open:
            raise NotFound(DEAD_LINK)
        return request

    async def _take_effect(self, unit: Unit, request: Record) -> Record:
        now = self._records.clock()
        grace_until = clock.to_text(now + GRACE_PERIOD)
        stamped: dict[str, Any] = {"confirmed_at": clock.to_text(now), "grace_until": grace_until}
        if request["subject"] == TENANT:
            stamped["was_read_only"] = await _was_read_only(unit)
            await _set(unit, read_only_mode=True, deleted_at=stamped["confirmed_at"])
        payload = {"request_id": request["id"]}
        if request["subject"] == MEMBER:
            # Finds the member's other records if the member is deleted before the job runs.
            for member in await unit.find(blog_members, {"id": request["member_id"]}, 1):
                payload["email"] = member["email"]
        await unit.enqueue(ERASE_JOB, payload, grace_until)
        return await _stamp(unit, request, **stamped)

    async def _undo_deletion(self, unit: Unit, request: Record, *, by_site: bool) -> None:
        """Cancels all other deletions of the same subject too; the site those that are its to
        cancel."""
        same = {"subject": request["subject"], "member_id": request["member_id"]}
        others = await unit.find(gdpr_requests, {**same, "type": "delete", "status": "queued"}, 500)
        for other in others:
            is_another = other["confirmed_at"] and other["id"] != request["id"]
            if is_another and (is_the_sites(other) or not by_site):
                await self._close(unit, other, "cancelled")
        if request["subject"] == TENANT:
            # The operator's own read-only mode is not the owner's to end.
            await _set(unit, read_only_mode=request["was_read_only"], deleted_at="")

    async def _close(self, unit: Unit, request: Record, status: str) -> Record:
        ended = {"status": status, "token_hash": "", "confirm_hash": "", "notify_email": ""}
        if status == "completed":
            ended["completed_at"] = clock.to_text(self._records.clock())
        return await _stamp(unit, request, **ended)


async def erase_now(unit: Unit, member_id: str, *, expected_version: int | None = None) -> None:
    """Erases a member for the site, without the days to change one's mind: the member is deleted
    with the transaction, and a job erases the rest."""
    member = await unit.delete(blog_members, member_id, expected_version=expected_version)
    stamped = {
        "type": "delete",
        "subject": MEMBER,
        "member_id": member_id,
        "asked_by": BY_SITE,
        "confirmed_at": unit.now,
        "grace_until": unit.now,
    }
    request = await unit.by_service().create(gdpr_requests, {}, stamped=stamped)
    payload = {"request_id": request["id"], "email": member["email"]}
    await unit.enqueue(ERASE_JOB, payload)
    _audit("privacy.deletion_requested", request)


def is_the_sites(request: Record) -> bool:
    """Whether a deletion is the site's to cancel: its own, and that of a member for which the site
    has asked. One that a member has asked for is the member's."""
    return request["subject"] == TENANT or bool(request["asked_by"] == BY_SITE)


def site_name(requester: Requester, body: DataRequest) -> str:
    """The name that the emails use for the site; '' is the site's own name."""
    return body.blog_name if requester.acts_for_site else ""


def _common(kind: str, requester: Requester, body: DataRequest) -> dict[str, Any]:
    return {
        "type": kind,
        "subject": body.subject,
        "member_id": body.member_id,
        "asked_by": requester.asked_by,
        "notify_email": body.notify_email if requester.session and requester.acts_for_site else "",
    }


async def _one(unit: Unit, request_id: str) -> Record:
    return await unit.require(gdpr_requests, {"id": request_id}, missing=DEAD_LINK)


async def _stamp(unit: Unit, request: Record, **values: Any) -> Record:
    return await unit.update(gdpr_requests, request["id"], {}, stamped=values)


async def _was_read_only(unit: Unit) -> bool:
    """Before the first of the site's deletions: each has the same answer, as cancelling one of
    them cancels all."""
    waiting = {"subject": TENANT, "member_id": "", "type": "delete", "status": "queued"}
    for earlier in await unit.find(gdpr_requests, waiting, 500):
        if earlier["confirmed_at"]:
            return bool(earlier["was_read_only"])
    return any(each["read_only_mode"] for each in await unit.find(site_settings, {}, 1))


async def _set(unit: Unit, **values: Any) -> None:
    for settings in await unit.find(site_settings, {}, 1):
        await unit.update(site_settings, settings["id"], values)


def _audit(event: str, request: Record) -> None:
    log.info(
        event,
        privacy_request_id=request["id"],
        tenant_id=request["tenant_id"],
        subject=request["subject"],
        asked_by=request["asked_by"],
    )
