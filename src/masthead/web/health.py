"""`GET /api/health`: the state of the service and of its database; and which names it serves."""

from __future__ import annotations

from typing import Any, Protocol

from masthead.base import clock
from masthead.base.config.settings import Settings
from masthead.base.errors import BadRequest, DiskFull, NotFound, Unavailable
from masthead.base.logs import log
from masthead.base.version import running_version
from masthead.engine.records.engine import Records
from masthead.identity.directory import TenantDirectory
from masthead.storage.database import Database
from masthead.web.addressed_site import DOMAIN_CHECK, HEALTH, AddressedSite
from masthead.web.answers import Answer, json_answer
from masthead.web.errors import retry_after
from masthead.web.openapi.builders import MOMENT, answer, object_of, query, schema_ref, text
from masthead.web.openapi.description import Description
from masthead.web.policy import Policy, WhileSuspended, Who
from masthead.web.query_string import parse_query_string
from masthead.web.request import Request
from masthead.web.rows import READ, Row

NO_STORE = ((b"cache-control", b"no-store"),)


class HealthServices(Protocol):
    @property
    def database(self) -> Database: ...
    @property
    def records(self) -> Records: ...
    @property
    def directory(self) -> TenantDirectory: ...
    @property
    def settings(self) -> Settings: ...


async def show_health(services: HealthServices, _: Request) -> Answer:
    status, body = await _state(services)
    return json_answer(status, body, (*NO_STORE, *retry_after(status)))


async def show_domain(services: HealthServices, request: Request) -> Answer:
    """Before a proxy has a certificate made for a name: otherwise anybody who points a name here
    could have as many made as they like."""
    asked = parse_query_string(request.query_string, "utf-8").get("domain", "")
    if not asked:
        raise BadRequest("Name the domain: `?domain=blog.example.com`.")
    site = AddressedSite(services.directory, services.settings)
    if not await site.is_served(asked):
        raise NotFound("No site is served at this domain.")
    return json_answer(200, {"domain": asked.lower().removesuffix("."), "served": True}, NO_STORE)


async def _state(services: HealthServices) -> tuple[int, dict[str, Any]]:
    body: dict[str, Any] = {
        "status": "ok",
        "ts": clock.to_text(services.records.clock()),
        "pb": "ok",
        "build": running_version().build,
    }
    try:
        await services.database.ping()
    except DiskFull:
        # Pages and lists are answered, so a load balancer must not take the service out.
        body.update(status="degraded", pb="degraded", error="disk_full")
    except Unavailable as error:
        log.error("health.record_store_down", cause=str(error.__cause__ or error))
        # Never the cause itself: it may name a host, a path or a user.
        body.update(status="degraded", pb="down", error="The record store does not answer.")
        return 503, body
    return 200, body


_HEALTHY = {"status": "ok", "ts": MOMENT, "pb": "ok", "build": "1a2b3c4d5e6f"}
_DEGRADED = {
    **_HEALTHY,
    "status": "degraded",
    "pb": "down",
    "error": "The record store does not answer.",
}
_SCHEMA = object_of(
    ["status", "ts", "pb", "build"],
    status={"enum": ["ok", "degraded"]},
    ts=text("UTC.", format="date-time"),
    pb={
        "description": "The record store: `degraded` if it can only be read.",
        "enum": ["ok", "degraded", "down"],
    },
    build=text("The running commit, or the version if the commit is not known."),
    error=text(),
)
_SERVED = {"domain": "blog.example.com", "served": True}
TAG = "Health"
ROWS = (
    Row(
        READ,
        HEALTH,
        show_health,
        Policy(who=Who.ANYONE, while_suspended=WhileSuspended.OPEN),
        Description(
            name="health",
            tag=TAG,
            summary="Shows the state of the service.",
            answers={
                "200": answer(
                    "The service and its database answer.", schema_ref("Health"), _HEALTHY
                ),
                "503": answer("The database does not answer.", schema_ref("Health"), _DEGRADED),
            },
            schemas={"Health": _SCHEMA},
        ),
    ),
    Row(
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
                "200": answer("It is served.", schema_ref("ServedDomain"), _SERVED),
            },
            errors=(400, 404),
            schemas={
                "ServedDomain": object_of(
                    ["domain", "served"], domain=text(), served={"const": True}
                )
            },
        ),
    ),
)
