"""For operators: the state of the queue, and the last errors of the service."""

from __future__ import annotations

from collections.abc import Sequence

from masthead.base import clock
from masthead.base.caller import in_tenant
from masthead.base.errors import NotFound
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.environment import number
from masthead.faces.admin.job_queue import COUNTED, FailedJob, KindState
from masthead.faces.admin.request import AdminRequest
from masthead.web.error_log import MAX_LISTED, RequestError

QUEUE = "/admin/operator/queue"
ERRORS = "/admin/operator/errors"
LATE_SECONDS = 300
"""A job that is due for so long makes one look whether a worker runs."""


async def queue_page(request: AdminRequest) -> Answer:
    queue = request.tools.queue
    kinds, failed = await queue.kinds(), await queue.list_failed()
    late = {each.kind for each in kinds if _is_late(request, each)}
    values = {
        "kinds": kinds,
        "failed": failed,
        "counted": _counted,
        "sites": await _sites(request, failed),
        "late": late,
        "is_moving": any(each.running for each in kinds),
    }
    return Page("operator/queue.html", words("Queue"), values, fragment="operator/_queue.html")


async def change_job(request: AdminRequest) -> Answer:
    queue, form = request.tools.queue, request.form
    tenant_id, job_id = TenantId(form.get("tenant", "")), form.get("job", "")
    if tenant_id and await request.services.directory.by_id(tenant_id) is None:
        return Redirect(QUEUE, _GONE)
    is_discarded = form.get("action") == "discard"
    change = queue.discard if is_discarded else queue.retry
    async with request.records.unit(in_tenant(request.caller, tenant_id)) as unit:
        is_done = await change(unit, job_id)
    if not is_done:
        return Redirect(QUEUE, _GONE)
    return Redirect(QUEUE, _DISCARDED if is_discarded else _RETRIED)


_GONE = words("That job is no longer in the list of failed jobs.")
_DISCARDED = words("The job is discarded.")
_RETRIED = words("The job will run again as soon as a worker is free.")


async def errors_page(request: AdminRequest) -> Answer:
    """With the request id that a person was shown it leads to its error at once."""
    wanted = request.query.get("id", "").strip()
    if wanted and await request.services.error_log.find(wanted):
        return Redirect(f"{ERRORS}/{wanted}")
    found = await request.services.error_log.newest()
    values = {
        "rows": found,
        "sites": await _sites(request, found),
        "wanted": wanted,
        "most": MAX_LISTED,
    }
    return Page("operator/errors.html", words("Errors"), values)


async def error_page(request: AdminRequest, request_id: str) -> Answer:
    found = await request.services.error_log.find(request_id)
    if found is None:
        raise NotFound
    values = {
        "error": found,
        "site": (await _sites(request, [found]))[found.tenant_id],
        "back": ERRORS,
    }
    return Page("operator/error.html", found.error, values)


def _is_late(request: AdminRequest, state: KindState) -> bool:
    if not state.oldest_due:
        return False
    late = request.now - clock.from_text(state.oldest_due)
    return late.total_seconds() > LATE_SECONDS


async def _sites(
    request: AdminRequest, found: Sequence[FailedJob | RequestError]
) -> dict[str, str]:
    """The names of the sites that they are about."""
    names = {"": words("The service")}
    for tenant_id in {each.tenant_id for each in found} - {""}:
        tenant = await request.services.directory.by_id(tenant_id)
        names[tenant_id] = tenant.name if tenant else names[""]
    return names


def _counted(found: int) -> str:
    shown = number(found)
    return words("%(number)s or more", number=shown) if found >= COUNTED else shown
