"""An export that a test writes down itself, and imports of it as the command and the worker run
them; the old site's network is never there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import sqlalchemy as sa
from tests.world import TenantWorld

from masthead.faces.importers.report import Report
from masthead.faces.importers.source import (
    OldAddress,
    Overview,
    Skipped,
    Source,
    SourceAuthor,
    SourceComment,
    SourceMember,
    SourcePost,
)
from masthead.faces.importers.write.pipeline import Import, Request
from masthead.faces.importers.write.run_record import NewRun, RunLog, open_shell_run
from masthead.outside.outbound.addresses import Address
from masthead.outside.outbound.client import OutboundClient
from masthead.outside.outbound.downloads import RetryDelays
from masthead.service.services import Services
from masthead.storage.database import scope_of
from masthead.storage.metadata import all_tables

AT_ONCE = RetryDelays(delays=())


class NoNames:
    """A network in which nothing has a name."""

    async def __call__(self, host: str) -> Sequence[Address]:
        return ()


@dataclass
class WrittenExport:
    """A `Source` of what is listed."""

    entries: Sequence[SourcePost | Skipped] = ()
    readers: Sequence[SourceMember | Skipped] = ()
    words: Sequence[SourceComment | Skipped] = ()
    writers: Sequence[SourceAuthor | Skipped] = ()
    platform: Literal["wordpress", "substack", "ghost"] = "ghost"
    site_url: str = "https://old.example"
    files: Mapping[str, bytes] = field(default_factory=dict)
    old: Sequence[OldAddress] = ()
    breaks_after: int | None = None
    """Posts, after which reading is cut off."""

    @property
    def overview(self) -> Overview:
        return Overview(
            self.platform,
            self.site_url,
            len(self.entries),
            len(self.readers),
            len(self.words),
            files={name: name for name in self.files},
        )

    def posts(self) -> Iterator[SourcePost | Skipped]:
        for number, entry in enumerate(self.entries):
            if number == self.breaks_after:
                raise CutOff
            yield entry

    def authors(self) -> Iterator[SourceAuthor | Skipped]:
        return iter(self.writers)

    def members(self) -> Iterator[SourceMember | Skipped]:
        return iter(self.readers)

    def comments(self) -> Iterator[SourceComment | Skipped]:
        return iter(self.words)

    def addresses(self) -> Iterator[OldAddress]:
        return iter(self.old)

    def read_file(self, entry: str) -> bytes:
        return self.files[entry]

    def close(self) -> None:
        """Nothing is open."""


class CutOff(Exception):
    """Ends an import in the middle, as a kill would."""


def post(number: int, **values: Any) -> SourcePost:
    given: dict[str, Any] = {
        "source_id": f"id-{number}",
        "kind": "post",
        "title": f"Post {number}",
        "slug": f"post-{number}",
        "html": f"<p>Text <b>{number}</b></p>",
        "status": "published",
        "published_at": "2020-05-04T03:02:01.000Z",
        "old_path": f"/post-{number}/",
    }
    return SourcePost(**given | values)


def without_network(parts: Services) -> Services:
    return msgspec.structs.replace(parts, outbound=OutboundClient(lookup=NoNames()))


async def imported(
    tenant: TenantWorld, source: Source, *, log: RunLog | None = None, **request: Any
) -> Report:
    report, _ = await imported_with_redirects(tenant, source, log=log, **request)
    return report


async def imported_with_redirects(
    tenant: TenantWorld, source: Source, *, log: RunLog | None = None, **request: Any
) -> tuple[Report, str]:
    parts = without_network(tenant.world.parts)
    log = log or RunLog(parts.records, tenant.id)
    work = Import(parts, source, Request(tenant.id, **request), log, retry_delays=AT_ONCE)
    try:
        report = await work.run()
        await log.finish(report)
        return report, work.redirects.content().decode()
    finally:
        work.redirects.close()
        await parts.outbound.close()


async def new_run(tenant: TenantWorld, platform: str = "ghost") -> RunLog:
    return await open_shell_run(
        tenant.world.parts.records, tenant.id, NewRun(platform, "export.json")
    )


async def rows(tenant: TenantWorld, table: str) -> list[dict[str, Any]]:
    return await rows_of(tenant.world.parts, tenant.id, table)


async def rows_of(parts: Services, tenant_id: Any, table: str) -> list[dict[str, Any]]:
    found = all_tables().tables[table]
    statement = parts.database.compile(
        sa.select(found)
        .where(found.c.tenant_id == sa.bindparam("tenant"))
        .order_by(*found.primary_key.columns)
    )
    fetched = await parts.database.fetch(scope_of(tenant_id), statement, (tenant_id,))
    names = [column.name for column in found.columns]
    return [dict(zip(names, row, strict=True)) for row in fetched]


WRITTEN = (
    "comments",
    "posts",
    "pages",
    "products",
    "blog_members",
    "media",
    "redirects",
    "import_items",
)
KEPT = ("record_counts", "listed_values", "events", "jobs")


async def everything(tenant: TenantWorld) -> dict[str, list[dict[str, Any]]]:
    """Every row that an import may write, as it is."""
    return {name: await rows(tenant, name) for name in (*WRITTEN, *KEPT)}


_OWN = frozenset(
    {
        *("tenant_id", "created", "updated", "revised_at", "consent_at"),
        *("token_key", "id", "record_id", "run_id"),
    }
)


async def end_state(parts: Services, tenant_id: Any) -> dict[str, list[str]]:
    """Returns what two imports into two tenants have in common: all but ids and times."""
    state = {}
    for name in (*WRITTEN, "record_counts"):
        kept = [
            {key: value for key, value in row.items() if key not in _OWN}
            for row in await rows_of(parts, tenant_id, name)
            if row.get("collection") != "import_runs"
        ]
        state[name] = sorted(msgspec.json.encode(row).decode() for row in kept)
    return state
