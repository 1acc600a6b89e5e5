"""For operators: a site is suspended, opened again, and deleted."""

from __future__ import annotations

from masthead.base.caller import Caller, in_tenant
from masthead.base.errors import Invalid, NotFound
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.engine.audit.collection import PLANNED_DELETION
from masthead.engine.audit.entries import log_action
from masthead.engine.records.fields.base import REQUIRED
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.forms import Ask, Form
from masthead.faces.admin.pages.operator.tenants import ADDRESS, find_tenant
from masthead.faces.admin.pages.settings.privacy import check_typed, deletion_values
from masthead.faces.admin.request import AdminRequest
from masthead.features.privacy.limits import admit
from masthead.features.privacy.validation import TENANT, DataRequest, Requester
from masthead.features.site import suspension
from masthead.identity.directory import Tenant
from masthead.identity.tenants import tenants

_HELP = words("The site’s owner and staff see it, with what they can do about it.")
_FORM = Form(tenants, (Ask("suspension_reason", words("Reason"), _HELP, rows=5),))


async def suspend(request: AdminRequest, tenant_id: str) -> Answer:
    tenant = await find_tenant(request, tenant_id)
    reason = request.form.get("suspension_reason", "").strip()
    if not reason:
        raise Invalid({"suspension_reason": REQUIRED})
    caller, services = _inside(request, tenant_id), request.services
    await suspension.suspend(
        request.records, services.mail, services.settings, caller, reason=reason
    )
    return Redirect(f"{ADDRESS}/{tenant_id}", words("%(name)s is suspended.", name=tenant["name"]))


async def lift(request: AdminRequest, tenant_id: str) -> Answer:
    tenant = await find_tenant(request, tenant_id)
    await suspension.lift(request.records, _inside(request, tenant_id))
    return Redirect(f"{ADDRESS}/{tenant_id}", words("%(name)s is open again.", name=tenant["name"]))


async def delete(request: AdminRequest, tenant_id: str) -> Answer:
    """As the owner's own deletion: 30 days in which it can be cancelled."""
    tenant = await _tenant(request, tenant_id)
    check_typed(request.form, tenant)
    caller = _inside(request, tenant_id)
    await admit(request.services.windows, tenant.id, caller, request.client.address)
    requester = Requester(tenant, caller, is_trusted=True)
    body = DataRequest(TENANT)
    await request.services.privacy.requests.open_deletion(requester, body)
    # The site's own log goes with the site.
    async with request.records.unit(request.everywhere) as unit:
        log_action(unit, PLANNED_DELETION, label=tenant.name)
    sentence = words("%(name)s is read-only now and will be deleted in 30 days.", name=tenant.name)
    return Redirect(f"{ADDRESS}/{tenant_id}", sentence)


async def cancel_deletion(request: AdminRequest, tenant_id: str) -> Answer:
    requests, tenant = request.services.privacy.requests, await _tenant(request, tenant_id)
    planned = await requests.planned_deletion(tenant.id)
    if planned is None:
        return Redirect(f"{ADDRESS}/{tenant_id}", words("There is no deletion to cancel."))
    await requests.withdraw(tenant.id, planned["id"], request.caller)
    return Redirect(
        f"{ADDRESS}/{tenant_id}", words("%(name)s stays. Nothing is deleted.", name=tenant.name)
    )


def _inside(request: AdminRequest, tenant_id: str) -> Caller:
    """The operator in that site, so that the site's audit log has it."""
    return in_tenant(request.caller, TenantId(tenant_id))


async def _tenant(request: AdminRequest, tenant_id: str) -> Tenant:
    found = await request.services.directory.by_id(tenant_id)
    if found is None:
        raise NotFound
    return found


async def suspend_form(request: AdminRequest, tenant_id: str) -> Answer:
    tenant = await find_tenant(request, tenant_id)
    values = {
        **_FORM.values(request, tenant, _inside(request, tenant_id)),
        "site": tenant["name"],
        "back": f"{ADDRESS}/{tenant_id}",
        "is_suspended": bool(tenant["suspended_at"]),
    }
    return Page("operator/suspend.html", words("Suspend %(name)s?", name=tenant["name"]), values)


async def delete_form(request: AdminRequest, tenant_id: str) -> Answer:
    tenant = await _tenant(request, tenant_id)
    values = {
        **deletion_values(request, tenant),
        "site": tenant.name,
        "back": f"{ADDRESS}/{tenant.id}",
    }
    return Page("operator/delete-tenant.html", words("Delete %(name)s?", name=tenant.name), values)
