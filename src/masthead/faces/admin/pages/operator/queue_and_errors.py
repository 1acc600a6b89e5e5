"""For operators: the state of the queue, and the last errors of the service."""

from __future__ import annotations

import msgspec

from masthead.base import clock
from masthead.base.caller import in_tenant
from masthead.base.errors import NotFound
from masthead.base.ids import TenantId
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.job_queue import COUNTED, FailedJob, KindState
from masthead.faces.admin.request import AdminRequest
from masthead.web.error_log import MAX_LISTED, RequestError

QUEUE = "/admin/operator/queue"
ERRORS = "/admin/operator/errors"
LATE_SECONDS = 300
"""A job that is due for so long makes one look whether a worker runs."""


class KindRow(msgspec.Struct, frozen=True):
    kind: str
    due: str
    waits: str
    is_late: bool
    running: int
    later: str
    failed: str


class JobRow(msgspec.Struct, frozen=True):
    id: str
    tenant_id: str
    kind: str
    site: str
    attempts: int
    error: str
    failed: str


class ErrorRow(msgspec.Struct, frozen=True):
    request_id: str
    what: str
    site: str
    error: str
    when: str


async def queue_page(request: AdminRequest) -> Answer:
    queue = request.tools.queue
    kinds = [_kind_row(request, each) for each in await queue.kinds()]
    failed = [await _job_row(request, each) for each in await queue.list_failed()]
    values = {
        "kinds": kinds,
        "failed": failed,
        "is_late": any(each.is_late for each in kinds),
        "is_moving": any(each.running for each in kinds),
    }
    return Page("operator/queue.html", "Queue", values, fragment="operator/_queue.html")


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


_GONE = "That job is no longer in the list of failed jobs."
_DISCARDED = "The job is discarded."
_RETRIED = "The job will run again as soon as a worker is free."


async def errors_page(request: AdminRequest) -> Answer:
    """With the request id that a person was shown it leads to its error at once."""
    wanted = request.query.get("id", "").strip()
    if wanted and await request.services.error_log.find(wanted):
        return Redirect(f"{ERRORS}/{wanted}")
    found = await request.services.error_log.newest()
    values = {
        "rows": [await _error_row(request, each) for each in found],
        "wanted": wanted,
        "most": MAX_LISTED,
    }
    return Page("operator/errors.html", "Errors", values)


async def error_page(request: AdminRequest, request_id: str) -> Answer:
    found = await request.services.error_log.find(request_id)
    if found is None:
        raise NotFound
    values = {
        "error": found,
        "site": await _site(request, found.tenant_id),
        "at": request.local(found.created),
        "back": ERRORS,
    }
    return Page("operator/error.html", found.error, values)


def _kind_row(request: AdminRequest, state: KindState) -> KindRow:
    waits, is_late = "", False
    if state.oldest_due:
        late = request.now - clock.from_text(state.oldest_due)
        is_late = late.total_seconds() > LATE_SECONDS
        waits = request.when(state.oldest_due)
    return KindRow(
        state.kind,
        _counted(state.due),
        waits,
        is_late,
        state.running,
        _counted(state.later),
        _counted(state.failed),
    )


async def _job_row(request: AdminRequest, job: FailedJob) -> JobRow:
    return JobRow(
        job.id,
        job.tenant_id,
        job.kind,
        await _site(request, job.tenant_id),
        job.attempts,
        job.error,
        request.when(job.failed_at),
    )


async def _error_row(request: AdminRequest, error: RequestError) -> ErrorRow:
    return ErrorRow(
        error.request_id,
        f"{error.method} {error.path}",
        await _site(request, error.tenant_id),
        error.error,
        request.when(error.created),
    )


async def _site(request: AdminRequest, tenant_id: str) -> str:
    tenant = await request.services.directory.by_id(tenant_id) if tenant_id else None
    return tenant.name if tenant else "The service"


def _counted(number: int) -> str:
    return f"{number:,} or more" if number >= COUNTED else f"{number:,}"
