"""All webhooks with their health, and the log of their deliveries."""

from __future__ import annotations

from typing import Any

from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.lists import Pick
from masthead.faces.admin.pages.webhooks.deliveries import (
    DeliveryFilters,
    answer_of,
    names_of,
    read_deliveries,
    state_of,
)
from masthead.faces.admin.pages.webhooks.retry import sentence_of
from masthead.faces.admin.pages.webhooks.subscriptions import (
    ADDRESS,
    PLAN_NEEDED,
    is_good,
    read_subscriptions,
    rows_of,
)
from masthead.faces.admin.request import AdminRequest
from masthead.features.webhooks.delivery_log import DeadCount


async def webhooks_page(request: AdminRequest) -> Answer:
    filters = DeliveryFilters.of(request.query)
    records = await read_subscriptions(request)
    names = names_of(records)
    deliveries = await read_deliveries(request, filters)
    if deliveries is None:
        return Redirect(filters.url())
    values: dict[str, Any] = {
        "filters": filters,
        "deliveries": deliveries,
        "names": names,
        "state_of": state_of,
        "answer_of": answer_of,
        "is_good": is_good,
        "dead": await _count_dead(request, filters),
        "has_deliveries": bool(deliveries.rows) or filters.is_narrow,
    }
    if not request.is_fragment:
        values |= await _around(request, records)
    return Page(
        "webhooks/list.html", words("Webhooks"), values, fragment="webhooks/_deliveries.html"
    )


async def _around(request: AdminRequest, records: list[Record]) -> dict[str, Any]:
    """The values of the page besides the list of deliveries."""
    run = await request.services.webhooks.retries.find_running(request.tenant_id)
    by_webhook = Pick("webhook", words("Webhook"), words("Any webhook"), names_of(records))
    return {
        "address": ADDRESS,
        "rows": await rows_of(request, records),
        "plan_needed": "" if request.tenant.plan.has_api else PLAN_NEEDED,
        "run": run,
        "run_says": sentence_of(run) if run else "",
        "picks": (*DeliveryFilters.picks, by_webhook),
    }


async def _count_dead(request: AdminRequest, filters: DeliveryFilters) -> DeadCount:
    """How many of those that match can be retried at once."""
    if not filters.may_be_dead:
        return DeadCount(0, is_exact=True)
    condition = filters.condition(request.records.clock())
    return await request.services.webhooks.deliveries.log.count_dead(request.tenant_id, condition)
