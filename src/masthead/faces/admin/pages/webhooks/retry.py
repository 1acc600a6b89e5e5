"""Retries dead deliveries: one, some, or in the background all that match."""

from __future__ import annotations

from typing import Any

from masthead.base import ids
from masthead.base.errors import BadRequest, NotFound
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.pages.webhooks.deliveries import DELIVERIES, DeliveryFilters
from masthead.faces.admin.pages.webhooks.subscriptions import ADDRESS
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.selected import ticked
from masthead.features.webhooks.collection import DEAD
from masthead.features.webhooks.delivery_log import DeliveryFilter
from masthead.features.webhooks.retries import RetryRun

RETRIES = f"{ADDRESS}/retries"
MAX_SELECTED = 200
_STAYS = "was not retried: it is already being sent, or its webhook is off or deleted."
_STAY = "were not retried: they are already being sent, or their webhook is off or deleted."


async def retry_one(request: AdminRequest, delivery_id: str) -> Answer:
    if not ids.is_id(delivery_id):
        raise NotFound
    retried = await _retry(request, [delivery_id])
    sentence = "It is being sent again." if retried else f"It {_STAYS}"
    return Redirect(f"{DELIVERIES}/{delivery_id}", sentence)


async def retry_some(request: AdminRequest) -> Answer:
    """Retries the ticked ones at once, or all that match after a question."""
    form = request.form
    filters = DeliveryFilters.of(form)
    if form.get("all") == "1":
        return await _retry_all(request, filters)
    chosen = [each for each in ticked(form) if ids.is_id(each)]
    if not chosen:
        return Redirect(filters.url(), "No delivery was selected.")
    if len(chosen) > MAX_SELECTED:
        raise BadRequest(f"Select up to {MAX_SELECTED} deliveries, or retry all that match.")
    retried = await _retry(request, chosen)
    return Redirect(filters.url(), _sentence(retried, len(chosen)))


async def retry_page(request: AdminRequest, run_id: str) -> Answer:
    run = None
    if ids.is_id(run_id):
        run = await request.services.webhooks.retries.get(request.tenant_id, run_id)
    if run is None:
        raise NotFound
    values = {"run": run, "run_says": sentence_of(run), "back": ADDRESS}
    return Page("webhooks/retry.html", "Retry", values, fragment="webhooks/_retry.html")


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
    return Page("webhooks/retry-all.html", "Retry dead deliveries?", values)


async def _retry(request: AdminRequest, chosen: list[str]) -> int:
    which = DeliveryFilter(ids=chosen, state=DEAD)
    now = request.records.clock()
    return await request.services.webhooks.deliveries.log.retry(request.tenant_id, which, now)


def _sentence(retried: int, asked: int) -> str:
    rest = asked - retried
    left = f"One {_STAYS}" if rest == 1 else f"{rest:,} {_STAY}"
    if not retried:
        return left
    done = (
        "1 delivery is being sent again." if retried == 1 else f"{retried:,} are being sent again."
    )
    return f"{done} {left}" if rest else done


def sentence_of(run: RetryRun) -> str:
    if run.finished:
        return _finished(run)
    if run.total < 0:
        return "Counting the dead deliveries."
    return "Putting the dead deliveries back into their queues."


def _finished(run: RetryRun) -> str:
    if not run.retried:
        return "There was nothing to send again."
    if run.retried == 1:
        return "1 delivery is being sent again."
    return f"{run.retried:,} deliveries are being sent again."
