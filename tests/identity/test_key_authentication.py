"""API keys: tenant and scopes of a valid key, and refusals of any other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest
from tests.engine.records.test_tenant_cache import TOGETHER, fail_at_commit
from tests.world import TenantWorld, World

from masthead.base import clock
from masthead.base.caller import Kind, system
from masthead.base.errors import Unavailable
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.derived.daily_counts import day_of
from masthead.engine.records.engine import Records
from masthead.engine.records.versions import TenantVersions
from masthead.features.site.collection import site_settings
from masthead.identity.api_keys import api_keys, create_key, generate_key, revoke_key
from masthead.identity.call_counts import API_CALLS, CallCounts
from masthead.identity.directory import TenantDirectory
from masthead.identity.key_authentication import ApiKey, ApiKeys
from masthead.identity.limits.plans import Plan
from masthead.service.schema import registry, tables


class CountingRecords(Records):
    """The engine, with a count of the queries by key."""

    look_ups = 0

    async def find(
        self, collection: Collection, equals: Mapping[str, Any], **more: Any
    ) -> list[Record]:
        self.look_ups += "key_hash" in equals
        return await super().find(collection, equals, **more)


def open_keys(records: Records, **options: float) -> ApiKeys:
    versions = TenantVersions(records.database)
    directory = TenantDirectory(records, site_settings, versions)
    return ApiKeys(records, directory, versions, **options)


@pytest.fixture
def records(app: World) -> CountingRecords:
    parts = app.parts
    return CountingRecords(
        parts.database,
        registry,
        tables,
        parts.keyring,
        now=app.clock,
        origin_of=lambda slug, _: slug,
    )


@pytest.fixture
async def keys(records: CountingRecords) -> AsyncIterator[ApiKeys]:
    opened = open_keys(records)
    yield opened
    await opened.flush()


async def new_key(
    tenant: TenantWorld, scopes: Sequence[str] = ("posts:read",), **lifetime: float
) -> tuple[Record, str]:
    app = tenant.world
    expires = clock.to_text(app.clock() + timedelta(**lifetime)) if lifetime else ""
    return await create_key(app.parts.records, tenant.id, "A key", scopes, expires_at=expires)


async def found(keys: ApiKeys, key: str) -> ApiKey:
    known = await keys.authenticate(key)
    assert known is not None
    return known


async def last_used(app: World, record: Record) -> str:
    rows = await app.parts.records.find(api_keys, {"id": record["id"]})
    return str(rows[0]["last_used_at"])


async def test_a_key_names_its_tenant_and_its_scopes(keys: ApiKeys, tenant: TenantWorld) -> None:
    record, key = await new_key(tenant, ["posts:write", "uploads:read", "settings:write"])
    known = await found(keys, key)
    assert (known.id, known.tenant.id, known.tenant.plan) == (
        record["id"],
        tenant.id,
        Plan.BUSINESS,
    )
    assert known.scopes == {"posts:write", "media:read", "settings:write"}
    caller = known.caller
    assert (caller.kind, caller.tenant_id, caller.id) == (Kind.KEY, tenant.id, record["id"])
    assert caller.scopes == known.scopes


async def test_each_key_belongs_to_its_own_tenant(
    keys: ApiKeys, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    _, one = await new_key(tenant)
    _, other = await new_key(other_tenant)
    assert (await found(keys, one)).tenant.id == tenant.id
    assert (await found(keys, other)).tenant.id == other_tenant.id


async def test_a_malformed_key_is_refused_without_a_query(
    keys: ApiKeys, records: CountingRecords, tenant: TenantWorld
) -> None:
    _, key = await new_key(tenant)
    swapped = key[:10] + ("a" if key[10] != "a" else "b") + key[11:]
    for wrong in ("", "x", swapped, key[:-1], key + "0", f" {key}", "mh_live_", "\ud800", "é" * 54):
        assert await keys.authenticate(wrong) is None
    assert records.look_ups == 0


async def test_an_unknown_well_formed_key_is_refused(
    keys: ApiKeys, records: CountingRecords
) -> None:
    assert await keys.authenticate(generate_key().key) is None
    assert records.look_ups == 1


async def test_a_key_ends_at_its_expiry(keys: ApiKeys, app: World, tenant: TenantWorld) -> None:
    _, key = await new_key(tenant, hours=1)
    app.clock.advance(minutes=59, seconds=59.999)
    assert await keys.authenticate(key) is not None
    app.clock.advance(milliseconds=1)
    assert await keys.authenticate(key) is None


async def test_a_revoked_key_is_refused_from_the_next_call_on(
    keys: ApiKeys, app: World, tenant: TenantWorld
) -> None:
    record, key = await new_key(tenant)
    assert await keys.authenticate(key) is not None
    await revoke_key(app.parts.records, record["id"])
    assert await keys.authenticate(key) is None


async def test_a_revocation_may_be_scheduled(
    keys: ApiKeys, app: World, tenant: TenantWorld
) -> None:
    record, key = await new_key(tenant)
    tomorrow = clock.to_text(app.clock() + timedelta(days=1))
    await tenant.update("api_keys", record["id"], {"revoked_at": tomorrow})
    assert await keys.authenticate(key) is not None
    app.clock.advance(days=1)
    assert await keys.authenticate(key) is None


async def test_a_revocation_ends_a_key_that_would_end_later(
    keys: ApiKeys, app: World, tenant: TenantWorld
) -> None:
    record, key = await new_key(tenant)
    tomorrow = clock.to_text(app.clock() + timedelta(days=1))
    await tenant.update("api_keys", record["id"], {"revoked_at": tomorrow})
    await revoke_key(app.parts.records, record["id"])
    assert await keys.authenticate(key) is None


async def test_of_two_revocations_at_once_the_first_date_stays(
    app: World, tenant: TenantWorld
) -> None:
    record, _ = await new_key(tenant)
    records = app.parts.records
    async with records.unit(system(tenant.id)) as unit:
        second = asyncio.create_task(revoke_key(records, record["id"]))
        for _ in range(50):  # It reads what is committed, and waits for the end of this unit.
            await asyncio.sleep(0)
        app.clock.advance(minutes=1)
        first = unit.now
        await unit.update(api_keys, record["id"], {"revoked_at": first})
    assert (await second)["revoked_at"] == first


async def test_a_deleted_key_is_refused(keys: ApiKeys, app: World, tenant: TenantWorld) -> None:
    record, key = await new_key(tenant)
    known = await found(keys, key)
    await app.parts.records.delete(known.caller, api_keys, record["id"])
    assert await keys.authenticate(key) is None


async def test_a_new_plan_is_seen_by_the_next_call(keys: ApiKeys, tenant: TenantWorld) -> None:
    _, key = await new_key(tenant)
    assert (await found(keys, key)).tenant.plan is Plan.BUSINESS
    await tenant.update("tenants", tenant.id, {"plan": "pro", "per_minute": 7})
    known = await found(keys, key)
    assert (known.tenant.plan, known.tenant.per_minute) == (Plan.PRO, 7)


async def test_a_key_is_queried_once_while_nothing_changes(
    keys: ApiKeys, app: World, records: CountingRecords, tenant: TenantWorld
) -> None:
    _, key = await new_key(tenant)
    assert await keys.authenticate(key) is not None
    at_first = records.look_ups
    await tenant.published()
    for _ in range(5):
        assert await keys.authenticate(key) is not None
    assert records.look_ups == at_first


async def test_the_last_use_is_recorded_once_a_minute(
    keys: ApiKeys, app: World, tenant: TenantWorld
) -> None:
    record, key = await new_key(tenant)
    first = clock.to_text(app.clock())
    assert await keys.authenticate(key) is not None
    assert await last_used(app, record) == ""
    await keys.flush()
    assert await last_used(app, record) == first

    app.clock.advance(seconds=59)
    assert await keys.authenticate(key) is not None
    await keys.flush()
    assert await last_used(app, record) == first

    app.clock.advance(seconds=1)
    assert await keys.authenticate(key) is not None
    await keys.flush()
    assert await last_used(app, record) == clock.to_text(app.clock())


async def test_two_processes_record_one_use_a_minute_between_them(
    keys: ApiKeys, app: World, records: CountingRecords, tenant: TenantWorld
) -> None:
    record, key = await new_key(tenant)
    first = clock.to_text(app.clock())
    await keys.authenticate(key)
    await keys.flush()
    app.clock.advance(seconds=30)
    other_process = open_keys(records)
    await other_process.authenticate(key)
    await other_process.flush()
    assert await last_used(app, record) == first


async def test_a_refused_key_is_not_used(keys: ApiKeys, app: World, tenant: TenantWorld) -> None:
    record, key = await new_key(tenant)
    await revoke_key(app.parts.records, record["id"])
    assert await keys.authenticate(key) is None
    await keys.flush()
    assert await last_used(app, record) == ""


async def test_recording_a_use_is_no_change_of_the_tenant(
    keys: ApiKeys, app: World, tenant: TenantWorld
) -> None:
    record, key = await new_key(tenant)
    told = await tenant.event_names()
    before = await app.parts.records.find(api_keys, {"id": record["id"]})
    await keys.authenticate(key)
    await keys.flush()
    after = await app.parts.records.find(api_keys, {"id": record["id"]})
    assert after[0] | {"last_used_at": ""} == before[0]
    assert await tenant.event_names() == told


async def test_uses_are_written_after_a_while(
    app: World, records: CountingRecords, tenant: TenantWorld
) -> None:
    keys = open_keys(records, flush_seconds=0.01)
    record, key = await new_key(tenant)
    await keys.authenticate(key)
    async with asyncio.timeout(120):
        while not await last_used(app, record):
            await asyncio.sleep(0.01)
    await keys.flush()


async def calls(app: World, record: Record, *days: timedelta) -> list[int]:
    """Returns the calls of the key, and of all keys, on the days that are so far back."""
    tenant_id = record["tenant_id"]
    subjects = (record["id"], "")
    found = await app.parts.records.counts.by_day(
        system(tenant_id), api_keys, [API_CALLS], "0000-00-00", subjects=subjects
    )
    wanted = [day_of(app.clock() - each) for each in days or (timedelta(),)]
    return [found[API_CALLS, subject].get(day, 0) for day in wanted for subject in subjects]


async def test_calls_are_counted_by_key_and_day(
    keys: ApiKeys, app: World, tenant: TenantWorld
) -> None:
    one, first = await new_key(tenant)
    other, second = await new_key(tenant)
    for key in (first, first, second):
        await keys.authenticate(key)
    assert await keys.authenticate("mh_live_wrong") is None
    await keys.flush()
    assert await calls(app, one) == [2, 3]
    assert await calls(app, other) == [1, 3]
    app.clock.advance(days=1)
    await keys.authenticate(first)
    await keys.flush()
    assert await calls(app, one, timedelta(days=1), timedelta()) == [2, 3, 1, 1]


async def test_the_calls_that_several_processes_counted_add_up(
    records: CountingRecords, app: World, tenant: TenantWorld
) -> None:
    record, key = await new_key(tenant)
    processes = [open_keys(records) for _ in range(3)]
    for each in processes:
        await each.authenticate(key)
        await each.authenticate(key)
    await asyncio.gather(*(each.flush() for each in processes))
    assert await calls(app, record) == [6, 6]


async def test_calls_are_written_without_a_request_that_waits(
    records: CountingRecords, app: World, tenant: TenantWorld
) -> None:
    record, key = await new_key(tenant)
    keys = open_keys(records, flush_seconds=0.01)
    await keys.authenticate(key)
    async with asyncio.timeout(120):
        while await calls(app, record) != [1, 1]:
            await asyncio.sleep(0.01)
    await keys.flush()


@TOGETHER
async def test_calls_whose_commit_failed_are_written_with_the_next_ones(
    records: CountingRecords, app: World, tenant: TenantWorld
) -> None:
    record, _ = await new_key(tenant)
    counts = CallCounts(records.daily)
    counts.record(tenant.id, record["id"], app.clock())

    async def fail() -> None:
        async with records.unit(system(tenant.id)) as unit:
            await fail_at_commit(unit)

    failed, flushed = await asyncio.gather(fail(), counts.flush(), return_exceptions=True)
    assert (type(failed), flushed) == (Unavailable, None)
    assert await calls(app, record) == [0, 0]
    counts.record(tenant.id, record["id"], app.clock())
    await counts.flush()
    assert await calls(app, record) == [2, 2]
