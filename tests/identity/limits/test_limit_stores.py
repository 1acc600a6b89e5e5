"""The counters' stores: exact over tasks, processes and restarts, whichever of the three it is."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import MetaData
from tests.databases import create_tables, empty_postgres_url
from tests.forking import forked_program
from tests.identity.limits.hammer import opened
from tests.redis_server import redis_url
from tests.service.cli.commands import COMMAND, plain_environment

from masthead.base.config.values import RateLimits
from masthead.base.errors import Unavailable
from masthead.base.ids import TenantId
from masthead.identity.directory import Tenant
from masthead.identity.limits.plans import Plan
from masthead.identity.limits.rate_limiter import RateLimiter
from masthead.identity.limits.sliding_window import Reason
from masthead.identity.limits.store_sqlite import MAX_BATCH, SqliteLimitStore
from masthead.identity.limits.stores import LimitStore
from masthead.identity.limits.tables import rate_limit_counters

START = datetime(2026, 11, 14, 9, 30, tzinfo=UTC)
KINDS = ["sqlite", "postgresql", "redis"]
_numbers = itertools.count(1)


class Clock:
    def __init__(self) -> None:
        self.moment = START

    def __call__(self) -> datetime:
        return self.moment

    def advance(self, **length: float) -> None:
        self.moment += timedelta(**length)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def new_place(kind: str, tmp_path: Path) -> str:
    if kind == "redis":
        return redis_url()
    if kind == "sqlite":
        return str(tmp_path)
    url = empty_postgres_url()
    only_the_counters = MetaData()
    rate_limit_counters.to_metadata(only_the_counters)
    create_tables(url, only_the_counters)
    return url


@pytest.fixture(params=KINDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return new_place(request.param, tmp_path)


@pytest.fixture
async def store(where: str, clock: Clock) -> AsyncIterator[LimitStore]:
    async with opened(where, clock) as store:
        yield store


def new_tenant(plan: Plan = Plan.PRO, *own: int | None) -> Tenant:
    """One tenant per test, because the tests share the Redis server."""
    tenant_id = TenantId(f"tenant{next(_numbers)}")
    per_minute, per_hour, per_day = own or (None, None, None)
    return Tenant(tenant_id, "t", "T", plan, per_minute, per_hour, per_day)


def limiter_of(store: LimitStore, clock: Clock, variant: RateLimits = RateLimits.A) -> RateLimiter:
    return RateLimiter(store, variant, clock)


async def admitted(limiter: RateLimiter, tenant: Tenant, calls: int, key: str = "k") -> int:
    made = await asyncio.gather(*(limiter.admit(key, tenant) for _ in range(calls)))
    return sum(each.allowed for each in made)


def count_up(states: Sequence[bytes]) -> tuple[Sequence[bytes], int]:
    number = int(states[0] or b"0") + 1
    return [str(number).encode(), *states[1:]], number


async def test_concurrent_updates_all_count(store: LimitStore) -> None:
    tenant = new_tenant().id
    numbers = await asyncio.gather(*(store.update(tenant, ["a"], count_up) for _ in range(100)))
    assert sorted(numbers) == list(range(1, 101))


async def test_subjects_and_tenants_are_counted_separately(store: LimitStore) -> None:
    one, other = new_tenant().id, new_tenant().id
    assert await store.update(one, ["a", "b"], count_up) == 1
    assert await store.update(one, ["a"], count_up) == 2
    assert await store.update(one, ["b"], count_up) == 1
    assert await store.update(other, ["a"], count_up) == 1


async def test_a_change_that_fails_changes_nothing(store: LimitStore) -> None:
    tenant = new_tenant().id

    def broken(_states: Sequence[bytes]) -> tuple[Sequence[bytes], int]:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await store.update(tenant, ["a"], broken)
    assert await store.update(tenant, ["a"], count_up) == 1


async def test_a_cancelled_caller_does_not_stop_the_others(store: LimitStore) -> None:
    tenant = new_tenant().id
    calls = [asyncio.create_task(store.update(tenant, ["a"], count_up)) for _ in range(10)]
    await asyncio.sleep(0)
    calls[0].cancel()
    results = await asyncio.gather(*calls, return_exceptions=True)
    numbers = [each for each in results if isinstance(each, int)]
    assert len(numbers) >= 9
    assert sorted(set(numbers)) == sorted(numbers)


async def test_a_minute_and_a_tenants_day_are_limited(store: LimitStore, clock: Clock) -> None:
    tenant = new_tenant(Plan.PRO, None, None, 50)
    limiter = limiter_of(store, clock)
    assert await admitted(limiter, tenant, 40, "one") == 30
    # The other key has a minute of its own; the day is the tenant's.
    assert await admitted(limiter, tenant, 40, "two") == 20
    refused = await limiter.admit("two", tenant)
    assert (refused.reason, refused.remaining) == (Reason.DAY, 10)
    assert refused.retry_after == (14 * 60 + 30) * 60


async def test_the_quota_survives_a_restart(where: str, clock: Clock) -> None:
    tenant = new_tenant(Plan.AGENCY, None, None, 25)
    async with opened(where, clock) as store:
        assert await admitted(limiter_of(store, clock), tenant, 20) == 20
    async with opened(where, clock) as store:
        assert await admitted(limiter_of(store, clock), tenant, 20) == 5
    clock.moment = datetime(2026, 11, 15, tzinfo=UTC)
    async with opened(where, clock) as store:
        assert await admitted(limiter_of(store, clock), tenant, 30) == 25


async def test_after_retry_after_a_call_passes(store: LimitStore, clock: Clock) -> None:
    tenant, limiter = new_tenant(), limiter_of(store, clock)
    assert await admitted(limiter, tenant, 31) == 30
    clock.advance(seconds=12.5)
    refused = await limiter.admit("k", tenant)
    assert (refused.allowed, refused.retry_after) == (False, 48)
    clock.advance(seconds=refused.retry_after - 1)
    assert not (await limiter.admit("k", tenant)).allowed
    clock.advance(seconds=1)
    assert (await limiter.admit("k", tenant)).allowed


async def test_a_refused_key_is_refused_without_the_store(where: str, clock: Clock) -> None:
    tenant = new_tenant()
    async with opened(where, clock) as store:
        limiter = limiter_of(store, clock)
        assert await admitted(limiter, tenant, 31) == 30
    # The store is closed now: a call to it would fail.
    clock.advance(seconds=20)
    refused = await limiter.admit("k", tenant)
    assert (refused.allowed, refused.retry_after, refused.limit) == (False, 40, 30)


async def test_a_better_plan_takes_effect_immediately(store: LimitStore, clock: Clock) -> None:
    tenant, limiter = new_tenant(), limiter_of(store, clock)
    assert await admitted(limiter, tenant, 40) == 30
    better = Tenant(tenant.id, "t", "T", Plan.BUSINESS, None, None, None)
    assert await admitted(limiter, better, 200) == 90


@pytest.mark.parametrize(
    ("variant", "plan"), [(RateLimits.OFF, Plan.PRO), (RateLimits.A, Plan.ENTERPRISE)]
)
async def test_without_limits_everything_passes(
    variant: RateLimits, plan: Plan, tmp_path: Path, clock: Clock
) -> None:
    async with opened(str(tmp_path), clock) as store:
        assert await admitted(limiter_of(store, clock, variant), new_tenant(plan), 500) == 500


# Redis forgets by itself.
@pytest.mark.parametrize("where", [kind for kind in KINDS if kind != "redis"], indirect=True)
async def test_expired_counters_are_swept(store: LimitStore, clock: Clock) -> None:
    tenant = new_tenant().id
    assert await store.update(tenant, ["old"], count_up) == 1
    clock.advance(days=1)
    assert await store.update(tenant, ["new"], count_up) == 1
    clock.advance(days=1, seconds=1)
    await store.sweep()
    assert await store.update(tenant, ["old"], count_up) == 1
    assert await store.update(tenant, ["new"], count_up) == 2


async def test_a_store_that_is_down_is_unavailable(tmp_path: Path, clock: Clock) -> None:
    async with opened(f"unix://{tmp_path}/nobody.sock", clock) as store:
        with pytest.raises(Unavailable):
            await store.update(TenantId("t"), ["a"], count_up)


async def test_a_damaged_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "limits.db"
    path.write_bytes(b"not a database, but long enough to be taken for one" * 100)
    store = SqliteLimitStore(path)
    assert await store.update(TenantId("t"), ["a"], count_up) == 1
    await store.close()


async def test_calls_wait_while_another_process_counts(tmp_path: Path) -> None:
    store = SqliteLimitStore(tmp_path / "limits.db")
    other = sqlite3.connect(tmp_path / "limits.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    many = 3 * MAX_BATCH
    calls = [asyncio.create_task(store.update(TenantId("t"), ["a"], count_up)) for _ in range(many)]
    done, _ = await asyncio.wait(calls, timeout=0.05)
    assert not done
    calls.pop().cancel()
    other.execute("ROLLBACK")
    other.close()
    assert sorted(await asyncio.gather(*calls)) == list(range(1, many))
    await store.close()


@pytest.mark.parametrize(
    ("kind", "processes"),
    [("redis", 2), pytest.param("sqlite", 4, marks=pytest.mark.sweep), ("postgresql", 2)],
)
async def test_several_processes_share_the_limit_of_a_key(
    kind: str, processes: int, tmp_path: Path
) -> None:
    where = new_place(kind, tmp_path)
    command = [forked_program("tests.identity.limits.hammer:run"), where, "320"]
    pipe = asyncio.subprocess.PIPE
    hammers = [
        await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
        for _ in range(processes)
    ]
    for each in hammers:
        assert each.stdout
        assert await each.stdout.readline() == b"ready\n"
    said = await asyncio.gather(*(each.communicate(b"go\n") for each in hammers))
    outcomes = [[int(word) for word in output.split()] for output, _ in said]
    assert sum(count for count, *_ in outcomes) == 30
    assert {wait for _, *waits in outcomes for wait in waits} == {60}


async def test_an_admitted_call_costs_little(
    store: LimitStore, clock: Clock, request: pytest.FixtureRequest
) -> None:
    """The price is reported; the bound is one that only a mistake of another order breaks."""
    tenant, limiter = new_tenant(Plan.AGENCY, None, None, 10**9), limiter_of(store, clock)
    prices = []
    for _ in range(300):
        clock.advance(milliseconds=500)
        started = time.perf_counter()
        assert (await limiter.admit("k", tenant)).allowed
        prices.append((time.perf_counter() - started) * 1e6)
    median = statistics.median(prices)
    sys.stderr.write(f"{request.node.name}: {median:.0f} µs per admitted call\n")
    assert median < 100_000


async def test_a_failed_write_is_not_counted(tmp_path: Path, clock: Clock) -> None:
    store = SqliteLimitStore(tmp_path / "limits.db", clock)
    tenant_id = new_tenant().id

    def append(states: Sequence[bytes]) -> tuple[Sequence[bytes], bytes]:
        return [states[0] + b"x"], states[0]

    def spoil(states: Sequence[bytes]) -> tuple[Sequence[bytes], bytes]:
        return [object()], states[0]  # type: ignore[list-item]

    assert await store.update(tenant_id, ["key"], append) == b""
    failed = await asyncio.gather(
        store.update(tenant_id, ["key"], append),
        store.update(tenant_id, ["other"], spoil),
        return_exceptions=True,
    )
    assert all(isinstance(each, sqlite3.Error) for each in failed)
    assert await store.update(tenant_id, ["key"], append) == b"x"
    await store.close()


async def test_two_stores_on_one_file_see_what_the_other_counted(
    tmp_path: Path, clock: Clock
) -> None:
    stores = [SqliteLimitStore(tmp_path / "limits.db", clock) for _ in range(2)]
    tenant_id = new_tenant().id

    def append(states: Sequence[bytes]) -> tuple[Sequence[bytes], bytes]:
        return [states[0] + b"x"], states[0]

    seen = [await store.update(tenant_id, ["key"], append) for store in [*stores, *stores[::-1]]]
    assert seen == [b"", b"x", b"xx", b"xxx"]
    for store in stores:
        await store.close()


def test_without_the_extra_the_start_says_what_to_install(tmp_path: Path) -> None:
    # Hides the installed one.
    (tmp_path / "hiding" / "redis").mkdir(parents=True)
    (tmp_path / "hiding" / "redis" / "__init__.py").touch()
    done = subprocess.run(
        [COMMAND, "serve", "--port", "0", "--data-dir", tmp_path / "data"],
        env=plain_environment(
            MASTHEAD_REDIS_URL="redis://127.0.0.1:6379", PYTHONPATH=str(tmp_path / "hiding")
        ),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "pip install 'masthead[redis]'" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
