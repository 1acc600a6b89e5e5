"""`masthead deliveries`: the log of webhook deliveries and the dead-letter queue from a shell."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import typer

from masthead import clock
from masthead.cli.invocation import Invocation, Shown, command, new_app
from masthead.cli.moments import moment
from masthead.cli.opened import opened
from masthead.cli.tenant_option import Tenant
from masthead.identity.named import tenant_named
from masthead.ids import TenantId
from masthead.installation import Installation
from masthead.schema import tables
from masthead.webhooks.collection import DEAD, DELIVERED, DROPPED, PENDING
from masthead.webhooks.delivery_log import DeliveryLog, LoggedDelivery, Which
from masthead.webhooks.queue import DeliveryQueue

app = new_app("Lists webhook deliveries and retries dead ones.")

PAGE = 1_000

Webhook = Annotated[str, typer.Option(metavar="ID", help="Only those of this subscription.")]


class State(StrEnum):
    DEAD = DEAD
    PENDING = PENDING
    DELIVERED = DELIVERED
    DROPPED = DROPPED


@command(app, "list")
async def list_deliveries(
    invocation: Invocation,
    tenant: Tenant,
    state: Annotated[State | None, typer.Option(help="Only those in this state.")] = None,
    webhook: Webhook = "",
) -> Shown:
    """Lists webhook deliveries, newest first."""
    async with opened(invocation) as installation:
        found = await tenant_named(installation.records, tenant)
        which = Which(state=state or "", webhook_id=webhook)
        deliveries = await _all(_log(installation), TenantId(found["id"]), which)
    columns = ("id", "event", "state", "attempts", "last_status", "next_attempt_at", "webhook_id")
    return Shown([_shown(each) for each in deliveries], "There are none.", columns)


@command(app, "retry")
async def retry(
    invocation: Invocation,
    tenant: Tenant,
    delivery_id: Annotated[list[str] | None, typer.Argument(metavar="ID …")] = None,
    all_dead: Annotated[bool, typer.Option("--all-dead", help="All that the rest says.")] = False,
    webhook: Webhook = "",
    since: Annotated[str, typer.Option(metavar="ISO", help="Of events from then on.")] = "",
    until: Annotated[str, typer.Option(metavar="ISO", help="Of events before.")] = "",
) -> Shown:
    """Sends dead deliveries again, with a fresh set of attempts.

    Those of a deleted or disabled subscription stay dead.
    """
    if bool(delivery_id) == all_dead:
        raise typer.BadParameter("say which deliveries: either their ids or --all-dead")
    if delivery_id and (webhook or since or until):
        raise typer.BadParameter("--webhook, --since and --until go with --all-dead")
    which = Which(
        ids=delivery_id or None,
        webhook_id=webhook,
        since=_moment(since, "--since"),
        until=_moment(until, "--until"),
    )
    async with opened(invocation) as installation:
        found = await tenant_named(installation.records, tenant)
        now = installation.records.clock()
        retried = await _log(installation).retry(TenantId(found["id"]), which, now)
    return Shown({"retried": retried}, f"{retried} dead deliveries are sent again.")


def _log(installation: Installation) -> DeliveryLog:
    return DeliveryQueue(installation.database, tables).log


async def _all(log: DeliveryLog, tenant_id: TenantId, which: Which) -> list[LoggedDelivery]:
    found = list[LoggedDelivery]()
    after: tuple[str, str] | None = None
    while page := await log.list(tenant_id, which, limit=PAGE, after=after):
        found += page
        after = (page[-1].created, page[-1].id)
    return found


def _shown(delivery: LoggedDelivery) -> dict[str, Any]:
    return dataclasses.asdict(delivery) | {"next_attempt_at": delivery.next_attempt_at or None}


def _moment(written: str, option: str) -> datetime | None:
    read = moment(written, option)
    return clock.from_text(read) if read else None
