"""For operators: a site is suspended, opened again, and deleted."""

from __future__ import annotations

from collections.abc import Mapping

from masthead.base.caller import Caller, in_tenant
from masthead.base.errors import Invalid, NotFound, Problem
from masthead.base.ids import TenantId
from masthead.engine.audit.collection import PLANNED_DELETION
from masthead.engine.audit.entries import log_action
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.base import REQUIRED
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.forms import Ask, sentence_of, widgets
from masthead.faces.admin.pages.operator.tenants import ADDRESS, find_tenant
from masthead.faces.admin.pages.settings.privacy import not_typed
from masthead.faces.admin.request import AdminRequest
from masthead.features.privacy.limits import admit
from masthead.features.privacy.validation import PHRASE, TENANT, RequestBody, Requester
from masthead.features.site import suspension
from masthead.identity.directory import Tenant
from masthead.identity.tenants import tenants

_REASON = Ask(
    "suspension_reason",
    "Reason",
    "The site’s owner and staff see it, with what they can do about it.",
    rows=5,
)


async def suspend_form(request: AdminRequest, tenant_id: str) -> Answer:
    return _suspend_page(request, await find_tenant(request, tenant_id))


async def suspend(request: AdminRequest, tenant_id: str) -> Answer:
    tenant = await find_tenant(request, tenant_id)
    reason = request.form.get("suspension_reason", "").strip()
    if not reason:
        return _suspend_page(request, tenant, {"suspension_reason": REQUIRED})
    caller, services = _inside(request, tenant_id), request.services
    try:
        await suspension.suspend(
            request.records, services.mail, services.settings, caller, reason=reason
        )
    except Invalid as error:
        return _suspend_page(request, tenant, error.problems)
    return Redirect(f"{ADDRESS}/{tenant_id}", f"{tenant['name']} is suspended.")


async def lift(request: AdminRequest, tenant_id: str) -> Answer:
    tenant = await find_tenant(request, tenant_id)
    await suspension.lift(request.records, _inside(request, tenant_id))
    return Redirect(f"{ADDRESS}/{tenant_id}", f"{tenant['name']} is open again.")


async def delete_form(request: AdminRequest, tenant_id: str) -> Answer:
    return _delete_page(request, await _tenant(request, tenant_id))


async def delete(request: AdminRequest, tenant_id: str) -> Answer:
    """As the owner's own deletion: 30 days in which it can be cancelled."""
    tenant = await _tenant(request, tenant_id)
    if problems := not_typed(request.form, tenant):
        return _delete_page(request, tenant, problems)
    caller = _inside(request, tenant_id)
    await admit(request.services.windows, tenant.id, caller, request.client.address)
    requester = Requester(tenant, caller, is_trusted=True)
    body = RequestBody(TENANT, "", tenant.id, tenant.slug, "", "")
    await request.services.privacy.requests.open_deletion(requester, body)
    # The site's own log goes with the site.
    async with request.records.unit(request.everywhere) as unit:
        log_action(unit, PLANNED_DELETION, label=tenant.name)
    sentence = f"{tenant.name} is read-only now and will be deleted in 30 days."
    return Redirect(f"{ADDRESS}/{tenant_id}", sentence)


async def cancel_deletion(request: AdminRequest, tenant_id: str) -> Answer:
    requests, tenant = request.services.privacy.requests, await _tenant(request, tenant_id)
    planned = await requests.planned_deletion(tenant.id)
    if planned is None:
        return Redirect(f"{ADDRESS}/{tenant_id}", "There is no deletion to cancel.")
    await requests.withdraw(tenant.id, planned["id"], request.caller)
    return Redirect(f"{ADDRESS}/{tenant_id}", f"{tenant.name} stays. Nothing is deleted.")


def _inside(request: AdminRequest, tenant_id: str) -> Caller:
    """The operator in that site, so that the site's audit log has it."""
    return in_tenant(request.caller, TenantId(tenant_id))


async def _tenant(request: AdminRequest, tenant_id: str) -> Tenant:
    found = await request.services.directory.by_id(tenant_id)
    if found is None:
        raise NotFound
    return found


def _suspend_page(
    request: AdminRequest, tenant: Record, problems: Mapping[str, Problem] | None = None
) -> Page:
    caller = _inside(request, tenant["id"])
    typed = request.form if problems else None
    fields = widgets(caller, tenants, (_REASON,), tenant, typed=typed, problems=problems)
    values = {
        "fields": fields,
        "site": tenant["name"],
        "back": f"{ADDRESS}/{tenant['id']}",
        "is_suspended": bool(tenant["suspended_at"]),
    }
    title = f"Suspend {tenant['name']}?"
    return Page("operator/suspend.html", title, values, status=422 if problems else 200)


def _delete_page(
    request: AdminRequest, tenant: Tenant, problems: Mapping[str, Problem] | None = None
) -> Page:
    names = ("tenant_slug", "confirmation_phrase")
    values = {
        "slug": tenant.slug,
        "site": tenant.name,
        "phrase": PHRASE,
        "typed": {name: request.form.get(name, "") for name in names},
        "errors": {name: sentence_of(each) for name, each in (problems or {}).items()},
        "back": f"{ADDRESS}/{tenant.id}",
    }
    title = f"Delete {tenant.name}?"
    return Page("operator/delete-tenant.html", title, values, status=422 if problems else 200)
