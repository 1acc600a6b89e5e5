"""`masthead deliveries`: the log of webhook deliveries and the dead-letter queue from a shell."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click
import msgspec

from masthead.base import clock
from masthead.base.ids import TenantId
from masthead.features.webhooks.collection import DEAD, DELIVERED, DROPPED, PENDING
from masthead.features.webhooks.delivery_log import DeliveryFilter, DeliveryLog, LoggedDelivery
from masthead.features.webhooks.queue import DeliveryQueue
from masthead.service.cli.arguments import parse_time, tenant_option
from masthead.service.cli.invocation import Invocation, Output, command, new_group
from masthead.service.cli.opened_installation import OpenedSite, opened_site
from masthead.service.schema import tables

app = new_group("Lists webhook deliveries and retries dead ones.")

PAGE = 1_000

STATES = (DEAD, PENDING, DELIVERED, DROPPED)

webhook_option = click.option(
    "--webhook", metavar="ID", default="", help="Only deliveries of this subscription."
)


@command("list", app)
@tenant_option
@click.option("--state", type=click.Choice(STATES), help="Only deliveries in this state.")
@webhook_option
async def list_deliveries(
    invocation: Invocation, tenant: str, state: str | None, webhook: str
) -> Output:
    """Lists webhook deliveries, newest first."""
    async with opened_site(invocation, tenant) as site:
        which = DeliveryFilter(state=state or "", webhook_id=webhook)
        deliveries = await _all(_log(site), site.id, which)
    columns = ("id", "event", "state", "attempts", "last_status", "next_attempt_at", "webhook_id")
    return Output([_shown(each) for each in deliveries], "There are no deliveries.", columns)


@command("retry", app)
@tenant_option
@click.argument("delivery_id", metavar="[ID …]", nargs=-1)
@click.option("--all-dead", is_flag=True, help="All dead deliveries that the other options select.")
@webhook_option
@click.option("--since", metavar="ISO", default="", help="Only for events at or after this time.")
@click.option("--until", metavar="ISO", default="", help="Only for events before this time.")
async def retry(
    invocation: Invocation,
    tenant: str,
    delivery_id: Sequence[str],
    all_dead: bool,
    *,
    webhook: str,
    since: str,
    until: str,
) -> Output:
    """Sends dead deliveries again, with all attempts.

    Deliveries of a deleted or disabled subscription stay dead.
    """
    if bool(delivery_id) == all_dead:
        raise click.BadParameter("name the deliveries: either their ids or --all-dead")
    if delivery_id and (webhook or since or until):
        raise click.BadParameter("--webhook, --since and --until go with --all-dead")
    which = DeliveryFilter(
        ids=list(delivery_id) or None,
        webhook_id=webhook,
        since=_parse_time(since, "--since"),
        until=_parse_time(until, "--until"),
    )
    async with opened_site(invocation, tenant) as site:
        now = site.parts.records.clock()
        retried = await _log(site).retry(site.id, which, now)
    return Output({"retried": retried}, f"{retried} dead deliveries are being sent again.")


def _log(site: OpenedSite) -> DeliveryLog:
    return DeliveryQueue(site.parts.database, tables).log


async def _all(
    log: DeliveryLog, tenant_id: TenantId, which: DeliveryFilter
) -> list[LoggedDelivery]:
    found = list[LoggedDelivery]()
    after: tuple[str, str] | None = None
    while page := await log.list(tenant_id, which, limit=PAGE, after=after):
        found += page
        after = (page[-1].created, page[-1].id)
    return found


def _shown(delivery: LoggedDelivery) -> dict[str, Any]:
    return msgspec.structs.asdict(delivery) | {"next_attempt_at": delivery.next_attempt_at or None}


def _parse_time(value: str, option: str) -> datetime | None:
    parsed = parse_time(value, option)
    return clock.from_text(parsed) if parsed else None
