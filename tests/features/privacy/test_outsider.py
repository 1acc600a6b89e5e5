"""An outsider who knows a tenant's id and slug, in the default setting: reads nothing and changes
nothing, whatever endpoints are combined."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from tests.every_row import rows_of_tenant
from tests.features.privacy.people import member_with_records
from tests.features.privacy.requests import DELETE, EXPORT, PHRASE, run_jobs
from tests.tiers import representatives
from tests.world import Account, TenantWorld, World

SECRETS = ("Ada Lovelace", "ada.lovelace@example.net", "Unpublished thoughts")
OWN_BOOKKEEPING = {
    # Rows that the requests themselves add, and rows that change with every write.
    "gdpr_requests",
    "mails",
    "jobs",
    "tenant_states",
    "record_counts",
    "rate_limit_counters",
    # Whoever searches brings the index up to date.
    "search_queue",
    "search_documents",
}

_numbers = itertools.count(1)


async def state_of(tenant: TenantWorld) -> set[tuple[str, str]]:
    """Every row of the tenant, with its table."""
    found = await rows_of_tenant(tenant.world.parts.database, tenant.id)
    return {
        (table, repr(tuple(row)))
        for table, rows in found.items()
        if table not in OWN_BOOKKEEPING
        for row in rows
    }


class Outsider:
    """Sends requests and follows every link in the answers."""

    def __init__(self, tenant: TenantWorld, member_id: str) -> None:
        self.tenant = tenant
        self.member_id = member_id
        address = f"198.51.100.{next(_numbers) % 250}"
        self.at_site = tenant.world.client(tenant.host, address=address)
        self.at_base = tenant.world.client("localhost", address=address)
        self.seen: list[str] = []
        self.requests: list[str] = []

    async def ask(self, path: str, by_header: bool, at_site: bool, subject: str) -> None:
        body = {
            "type": subject,
            "member_id": self.member_id,
            "tenant_id": self.tenant.id,
            "tenant_slug": self.tenant.slug,
            "confirmation_phrase": PHRASE,
            "notify_email": "eve@example.com",
            "blog_name": "Eve",
        }
        client = self.at_site if at_site else self.at_base
        headers = {"x-tenant-id": self.tenant.id} if by_header else {}
        answer = await client.post(path, json=body, headers=headers)
        self._note(answer)
        if answer.status_code < 300:
            self.requests.append(answer.json()["request_id"])

    async def follow(self, token: str, accept: str, method: str) -> None:
        """Every address that an answer could have led to."""
        headers = {"accept": accept, "x-tenant-id": self.tenant.id}
        for request_id in self.requests:
            for path in (
                f"{EXPORT}/{request_id}",
                f"{DELETE}/{request_id}/cancel",
                f"{DELETE}/{request_id}/confirm",
            ):
                url = path + (f"?token={token or request_id}" if token else "")
                self._note(await self.at_site.request(method, url, headers=headers))
                self._note(await self.at_base.request(method, url, headers=headers))
            key = f"{self.tenant.id}/exports/{request_id}.zip"
            for path in (
                f"/media/{key}",
                f"/api/files/gdpr_requests/{request_id}/{request_id}.zip",
            ):
                self._note(await self.at_site.get(path))
            for collection in ("gdpr_requests", "blog_members"):
                path = f"/api/collections/{collection}/records"
                self._note(await self.at_site.get(path, headers=headers))
                self._note(await self.at_site.get(f"{path}/{request_id}", headers=headers))

    def _note(self, answer: httpx.Response) -> None:
        self.seen.append(answer.text)


def steps_of(seed: int) -> list[tuple[Any, ...]]:
    """Random requests of an outsider; the same for the same seed."""
    rng = random.Random(seed)
    tries: list[Callable[[], tuple[Any, ...]]] = [
        lambda: (
            "ask",
            rng.choice([EXPORT, DELETE]),
            rng.random() < 0.8,
            rng.random() < 0.5,
            rng.choice(["tenant", "member"]),
        ),
        lambda: (
            "follow",
            rng.choice(["", "id", "x" * 43]),
            rng.choice(["*/*", "text/html", "application/json"]),
            rng.choice(["GET", "POST", "HEAD"]),
        ),
        lambda: ("wait", rng.randint(1, 40)),
    ]
    return [rng.choice(tries)() for _ in range(10)]


@pytest.fixture
async def victim(app: World, tenant: TenantWorld, owner: Account) -> tuple[TenantWorld, str]:
    member, _ = await member_with_records(tenant, "ada.lovelace@example.net")
    await tenant.post(title="Unpublished thoughts")
    return tenant, member.id


@pytest.mark.parametrize("seed", representatives(range(6), 2))
async def test_an_outsider_reads_nothing_and_changes_nothing(
    victim: tuple[TenantWorld, str], app: World, seed: int
) -> None:
    tenant, member_id = victim
    before = await state_of(tenant)
    eve = Outsider(tenant, member_id)
    for kind, *step in steps_of(seed):
        if kind == "ask":
            await eve.ask(*step)
        elif kind == "follow":
            await eve.follow(*step)
        else:
            app.clock.advance(days=step[0])
            await app.parts.privacy.work.sweep()
            await run_jobs(app)
    assert eve.seen
    for text in eve.seen:
        assert not any(secret in text for secret in SECRETS)
        assert tenant.id not in text
    after = await state_of(tenant)
    assert before <= after
    # Which mails the member got by that.
    assert {table for table, _ in after - before} <= {"member_mails"}


METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
THE_SAME_FOR_ALL = (
    "/api/openapi.json",
    "/api/v1/openapi.json",
    "/api/v1/asyncapi.json",
    "/api/v1/docs",
)
"""Descriptions, with examples of their own."""
STREAMS = ("/api/realtime",)
"""Stay open. What guests hear there has tests of its own."""
OPEN_TO_GUESTS = {
    # Allowed to visitors: comment, sign up, fill a cart. Adds records and changes none.
    "comments",
    "blog_members",
    "carts",
    "events",
    "listed_values",
    "login_attempts",
}


def paths_of(world: World) -> list[str]:
    """Every address that the service has."""
    app: Any = world.http
    paths = [each.path for each in app.routes.routes]
    return [path for path in paths if not path.startswith((*THE_SAME_FOR_ALL, *STREAMS))]


@pytest.mark.sweep
async def test_every_address_and_method_gives_an_outsider_nothing(
    victim: tuple[TenantWorld, str], app: World
) -> None:
    tenant, member_id = victim
    (draft,) = await app.parts.records.find(
        app.collection("posts"), {"title": "Unpublished thoughts"}, tenant_id=tenant.id
    )
    before = await state_of(tenant)
    body = {
        "type": "tenant",
        "member_id": member_id,
        "post_id": draft["id"],
        "tenant_id": tenant.id,
        "tenant_slug": tenant.slug,
        "confirmation_phrase": PHRASE,
        "email": "eve@example.com",
        "title": "Eve was here",
        "status": "published",
        "read_only_mode": True,
    }
    clients = [app.client(host, address="198.51.100.251") for host in (tenant.host, "localhost")]
    for path, method, client in itertools.product(paths_of(app), METHODS, clients):
        for address in _filled(path, tenant, (member_id, draft["id"])):
            answer = await client.request(
                method,
                address,
                params={"token": "x" * 43, "tenant": tenant.slug, "tenant_id": tenant.id},
                headers={"x-tenant-id": tenant.id, "accept": "*/*"},
                json=body if method in ("POST", "PUT", "PATCH") else None,
            )
            assert answer.status_code != 500, address
            assert not any(secret in answer.text for secret in SECRETS), (method, address)
    await run_jobs(app)
    app.clock.advance(days=60)
    await app.parts.privacy.work.sweep()
    await run_jobs(app)
    after = await state_of(tenant)
    assert before <= after
    assert {table for table, _ in after - before} <= OPEN_TO_GUESTS


def _filled(path: str, tenant: TenantWorld, ids: tuple[str, ...]) -> Iterator[str]:
    has_id = "{id}" in path
    collections = tenant.world.parts.records.registry.collections
    names = [each.name for each in collections] if "{collection}" in path else [""]
    for collection, record_id in itertools.product(names, ids if has_id else [""]):
        filled = path.replace("{collection}", collection).replace("{id}", record_id)
        filled = filled.replace("{name}", f"{record_id}.zip").replace("{slug}", tenant.slug)
        yield filled.replace("{rest:path}", f"tenants/{tenant.id}")
