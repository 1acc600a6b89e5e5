"""`GET /api/health`: the state of the service and of its database; and which names it serves."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from masthead.base import clock
from masthead.base.errors import BadRequest, DiskFull, NotFound, Unavailable
from masthead.base.logs import log
from masthead.base.version import running_version
from masthead.web.addressed_site import DOMAIN_CHECK, HEALTH, AddressedSite
from masthead.web.answers import Answer, json_answer
from masthead.web.errors import retry_after
from masthead.web.openapi.builders import MOMENT, Moment, Yes, query, text
from masthead.web.openapi.description import Description, StructAnswer
from masthead.web.policy import Policy, WhileSuspended, Who
from masthead.web.query_string import parse_query_string
from masthead.web.request import Request
from masthead.web.rows import READ, RouteRow
from masthead.web.services import WebServices

NO_STORE = ((b"cache-control", b"no-store"),)
DOWN = "The record store does not answer."


class Health(Struct, frozen=True):
    status: Literal["ok", "degraded"]
    ts: Moment
    pb: Annotated[
        Literal["ok", "degraded", "down"],
        Meta(description="The record store: `degraded` if it can only be read."),
    ]
    build: Annotated[
        str, Meta(description="The running commit, or the version if the commit is not known.")
    ]
    error: str | UnsetType = UNSET


class ServedDomain(Struct, frozen=True):
    domain: str
    served: Yes


async def show_health(services: WebServices, _: Request) -> Answer:
    status, health = await _state(services)
    return json_answer(status, health, (*NO_STORE, *retry_after(status)))


async def show_domain(services: WebServices, request: Request) -> Answer:
    """Before a proxy has a certificate made for a name: otherwise anybody who points a name here
    could have as many made as they like."""
    asked = parse_query_string(request.query_string, "utf-8").get("domain", "")
    if not asked:
        raise BadRequest("Name the domain: `?domain=blog.example.com`.")
    site = AddressedSite(services.directory, services.settings)
    if not await site.is_served(asked):
        raise NotFound("No site is served at this domain.")
    found = ServedDomain(asked.lower().removesuffix("."), served=True)
    return json_answer(200, found, NO_STORE)


async def _state(services: WebServices) -> tuple[int, Health]:
    ts, build = clock.to_text(services.records.clock()), running_version().build
    try:
        await services.database.ping()
    except DiskFull:
        # Pages and lists are answered, so a load balancer must not take the service out.
        return 200, Health("degraded", ts, "degraded", build, "disk_full")
    except Unavailable as error:
        log.error("health.record_store_down", cause=str(error.__cause__ or error))
        # Never the cause itself: it may name a host, a path or a user.
        return 503, Health("degraded", ts, "down", build, DOWN)
    return 200, Health("ok", ts, "ok", build)


_BUILD = "1a2b3c4d5e6f"
TAG = "Health"
ROWS = (
    RouteRow(
        READ,
        HEALTH,
        show_health,
        Policy(who=Who.ANYONE, while_suspended=WhileSuspended.OPEN),
        Description(
            name="health",
            tag=TAG,
            summary="Shows the state of the service.",
            answers={
                "200": StructAnswer(
                    "The service and its database answer.", Health("ok", MOMENT, "ok", _BUILD)
                ),
                "503": StructAnswer(
                    "The database does not answer.",
                    Health("degraded", MOMENT, "down", _BUILD, DOWN),
                ),
            },
        ),
    ),
    RouteRow(
        READ,
        DOMAIN_CHECK,
        show_domain,
        Policy(who=Who.ANYONE, while_suspended=WhileSuspended.OPEN),
        Description(
            name="checkDomain",
            tag=TAG,
            summary="Whether a site or the service itself is served at a domain. A proxy asks "
            "before it has a certificate made.",
            parameters=[query("domain", "A host name.", text(), "blog.example.com")],
            answers={
                "200": StructAnswer("It is served.", ServedDomain("blog.example.com", served=True)),
            },
            errors=(400, 404),
        ),
    ),
)
