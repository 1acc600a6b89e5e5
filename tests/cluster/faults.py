"""Faults of the cluster while it is in use. Each ends in a whole cluster."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from tests.cluster.cluster import SERVICES, WORKERS, Cluster


def switch_over(cluster: Cluster) -> None:
    cluster.standby()
    cluster.switch_over()
    cluster.standby()


def crash_primary(cluster: Cluster) -> None:
    """PostgreSQL dies; Patroni on the same machine notices."""
    cluster.standby()
    before = cluster.primary()
    cluster.crash_postgres(before)
    _wait_for_another_primary(cluster, before)
    cluster.standby()


def lose_primary(cluster: Cluster) -> None:
    """The whole machine, which comes back later."""
    cluster.standby()
    before = cluster.primary()
    cluster.lose_node(before)
    _wait_for_another_primary(cluster, before)
    cluster.parts[before].start()
    cluster.standby()


def restart_services(cluster: Cluster) -> None:
    """One after the other, as for a new version."""
    for name in SERVICES:
        cluster.restart_service(name)


def lose_worker(cluster: Cluster) -> None:
    for name in WORKERS:
        cluster.parts[name].kill()
        cluster.parts[name].start()


def restart_pooler(cluster: Cluster) -> None:
    cluster.parts["pgbouncer"].kill()
    cluster.parts["pgbouncer"].start()


FAULTS: dict[str, Callable[[Cluster], None]] = {
    "services restarted one by one": restart_services,
    "both workers killed": lose_worker,
    "switchover of the primary": switch_over,
    "PostgreSQL of the primary killed": crash_primary,
    "primary's machine lost": lose_primary,
    "PgBouncer killed": restart_pooler,
}


async def apply(name: str, cluster: Cluster) -> None:
    await asyncio.to_thread(FAULTS[name], cluster)


def _wait_for_another_primary(cluster: Cluster, before: str) -> None:
    deadline = time.monotonic() + 120
    while cluster.primary() == before:
        if time.monotonic() > deadline:
            raise RuntimeError("no failover")
        time.sleep(0.2)
