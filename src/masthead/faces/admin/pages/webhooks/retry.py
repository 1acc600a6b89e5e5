"""Retries dead deliveries: one, some, or in the background all that match."""

from __future__ import annotations

from typing import Any

from masthead.base import ids
from masthead.base.errors import BadRequest, NotFound
from masthead.base.languages.words import counted, words
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.environment import number
from masthead.faces.admin.pages.webhooks.deliveries import DELIVERIES, DeliveryFilters
from masthead.faces.admin.pages.webhooks.subscriptions import ADDRESS
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.selected import ticked
from masthead.features.webhooks.collection import DEAD
from masthead.features.webhooks.delivery_log import DeliveryFilter
from masthead.features.webhooks.retries import RetryRun

RETRIES = f"{ADDRESS}/retries"
MAX_SELECTED = 200


async def retry_one(request: AdminRequest, delivery_id: str) -> Answer:
    if not ids.is_id(delivery_id):
        raise NotFound
    retried = await _retry(request, [delivery_id])
    sentence = words("It is being sent again.") if retried else _stayed(1)
    return Redirect(f"{DELIVERIES}/{delivery_id}", sentence)


async def retry_some(request: AdminRequest) -> Answer:
    """Retries the ticked ones at once, or all that match after a question."""
    form = request.form
    filters = DeliveryFilters.of(form)
    if form.get("all") == "1":
        return await _retry_all(request, filters)
    chosen = [each for each in ticked(form) if ids.is_id(each)]
    if not chosen:
        return Redirect(filters.url(), words("No delivery was selected."))
    if len(chosen) > MAX_SELECTED:
        raise BadRequest(
            words(
                "Select up to %(max_selected)s deliveries, or retry all that match.",
                max_selected=MAX_SELECTED,
            )
        )
    retried = await _retry(request, chosen)
    return Redirect(filters.url(), _sentence(retried, len(chosen)))


async def retry_page(request: AdminRequest, run_id: str) -> Answer:
    run = None
    if ids.is_id(run_id):
        run = await request.services.webhooks.retries.get(request.tenant_id, run_id)
    if run is None:
        raise NotFound
    values = {"run": run, "run_says": sentence_of(run), "back": ADDRESS}
    return Page("webhooks/retry.html", words("Retry"), values, fragment="webhooks/_retry.html")


async def _retry_all(request: AdminRequest, filters: DeliveryFilters) -> Answer:
    """The question holds the id of the run, so that a form that is sent twice starts one."""
    run_id = request.form.get("run", "")
    if "confirmed" not in request.form or not ids.is_id(run_id):
        return await _question(request, filters)
    condition = filters.condition(request.records.clock())
    await request.services.webhooks.retries.start(request.tenant_id, run_id, condition)
    return Redirect(f"{RETRIES}/{run_id}")


async def _question(request: AdminRequest, filters: DeliveryFilters) -> Page:
    condition = filters.condition(request.records.clock())
    values: dict[str, Any] = {
        "filters": filters,
        "dead": await request.services.webhooks.deliveries.log.count_dead(
            request.tenant_id, condition
        ),
        "run": ids.new_id(),
        "back": filters.url(),
    }
    return Page("webhooks/retry-all.html", words("Retry dead deliveries?"), values)


async def _retry(request: AdminRequest, chosen: list[str]) -> int:
    which = DeliveryFilter(ids=chosen, state=DEAD)
    now = request.records.clock()
    return await request.services.webhooks.deliveries.log.retry(request.tenant_id, which, now)


def _sentence(retried: int, asked: int) -> str:
    rest = asked - retried
    if not retried:
        return _stayed(rest)
    done = _retried(retried)
    return f"{done} {_stayed(rest)}" if rest else done


def _stayed(count: int) -> str:
    return counted(
        "One was not retried: it is already being sent, or its webhook is off or deleted.",
        "%(count)s were not retried: they are already being sent, or "
        "their webhook is off or deleted.",
        count,
        count=number(count),
    )


def _retried(count: int) -> str:
    return counted(
        "%(count)s delivery is being sent again.",
        "%(count)s deliveries are being sent again.",
        count,
        count=number(count),
    )


def sentence_of(run: RetryRun) -> str:
    if run.finished:
        return _finished(run)
    if run.total < 0:
        return words("Counting the dead deliveries.")
    return words("Putting the dead deliveries back into their queues.")


def _finished(run: RetryRun) -> str:
    if not run.retried:
        return words("There was nothing to send again.")
    return _retried(run.retried)
