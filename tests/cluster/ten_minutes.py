"""The whole cluster under load while its parts fail.

`make cluster-test` is ten minutes of all faults; it writes their table to `build/cluster.md`. It is
in neither tier, so its name is not that of a test file.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from tests.cluster import faults
from tests.cluster.cluster import Cluster, new_folder, remove
from tests.cluster.load import Load, Tally, lost_writes
from tests.cluster.parts import free_ports
from tests.cluster.programs import missing, what_to_install
from tests.cluster.witnesses import (
    PER_MINUTE,
    Newsletter,
    calls_within_limit,
    wait_for_events,
    wrong_events,
    wrong_mails,
)
from tests.outside.mail.postbox import Postbox
from tests.tls import Authority, Receiver

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=what_to_install() if missing() else ""),
    pytest.mark.timeout(1800),
    pytest.mark.xdist_group("cluster"),
]

SECONDS = 600
WRITERS = 4
READERS = 1_000
SETTLE_SECONDS = 10
TABLE = Path(__file__).parents[2] / "build" / "cluster.md"
SCOPES = ("posts:read", "posts:write", "mailings:read", "mailings:write", "webhooks:write")
EMAIL, PASSWORD = "owner@coast.example", "correct horse battery"


@dataclass
class Report:
    rows: list[tuple[str, Tally]] = field(default_factory=list)

    def write(self, ending: list[str]) -> None:
        lines = [
            "| fault | requests | confirmed writes | 503 | stale reads | longest interruption |",
            "|---|---|---|---|---|---|",
        ]
        for name, tally in self.rows:
            lines.append(
                f"| {name} | {tally.requests} | {tally.confirmed} | {tally.unavailable} "
                f"| {len(tally.stale)} | {tally.longest_seconds:.1f} s |"
            )
        text = "\n".join([*lines, "", *(f"- {each}" for each in ending), ""])
        TABLE.parent.mkdir(exist_ok=True)
        TABLE.write_text(text)
        print(f"\n{text}")  # noqa: T201


@asynccontextmanager
async def witnessed(authority: Authority) -> AsyncIterator[tuple[Cluster, Receiver, Postbox]]:
    folder = new_folder()
    async with Receiver(authority.certificate()) as receiver, Postbox() as postbox:
        cluster = Cluster(
            folder,
            free_ports(1)[0],
            {
                "MASTHEAD_OUTBOUND_ALLOW": "127.0.0.0/8",
                "MASTHEAD_OUTBOUND_CA_FILE": str(authority.ca_file),
                "MASTHEAD_SMTP_URL": f"smtp://127.0.0.1:{postbox.port}",
            },
        )
        try:
            await asyncio.to_thread(cluster.start)
            yield cluster, receiver, postbox
        finally:
            await asyncio.to_thread(cluster.stop)
            remove(folder)


async def new_key(cluster: Cluster, slug: str, *scopes: str) -> str:
    flags = [part for scope in scopes for part in ("--scope", scope)]
    arguments = ("key", "create", "--tenant", slug, "--name", "k", *flags, "--json")
    key: str = json.loads(await asyncio.to_thread(cluster.command, *arguments))["key"]
    return key


async def new_site(cluster: Cluster, slug: str, plan: str) -> None:
    owner = ("--owner-email", f"owner@{slug}.example", "--owner-password", PASSWORD)
    create = ("tenant", "create", "--slug", slug, "--name", slug, "--plan", plan, *owner)
    await asyncio.to_thread(cluster.command, *create)


def schedule() -> Iterator[str]:
    """All faults again and again until the time is over."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        yield from faults.FAULTS


async def test_nothing_is_lost_stale_or_sent_twice(tmp_path: Path) -> None:
    report, authority = Report(), Authority(tmp_path)
    async with witnessed(authority) as (cluster, receiver, postbox):
        await new_site(cluster, "coast", "enterprise")
        await new_site(cluster, "limited", "pro")
        load = Load(cluster, await new_key(cluster, "coast", *SCOPES), WRITERS)
        newsletter = Newsletter(cluster, load.client, READERS)
        await newsletter.add_readers(EMAIL, PASSWORD, "coast.localhost")
        await subscribe(cluster, load.client, receiver)
        counted = [await calls_within_limit(cluster, await new_key(cluster, "limited", SCOPES[0]))]

        load.start()
        await asyncio.sleep(SETTLE_SECONDS)
        report.rows.append(("none", load.take_tally()))
        for name in schedule():
            if not newsletter.mailing_id and name == "both workers killed":
                await newsletter.send()
                await asyncio.sleep(0.5)
            await faults.apply(name, cluster)
            await asyncio.sleep(SETTLE_SECONDS)
            report.rows.append((name, load.take_tally()))
        await load.finish()
        counted.append(
            await calls_within_limit(cluster, await new_key(cluster, "limited", SCOPES[0]))
        )

        lost = await lost_writes(load, cluster)
        deliveries = await wait_for_events(receiver, load, 180)
        events = wrong_events(deliveries, load)
        # What a killed worker had claimed is free again after 90 seconds.
        state = await newsletter.wait_until_sent(300)
        mails = wrong_mails(postbox, state, READERS)
        await load.close()

    tallies = [tally for _, tally in report.rows]
    report.write(
        [
            f"confirmed writes that were lost: {len(lost)} of {sum(t.confirmed for t in tallies)}",
            f"events that were lost or happened twice: {len(events)}; "
            f"deliveries repeated with the same id: {deliveries.repeated}",
            f"emails to {READERS} readers that came twice or were lost: {len(mails)}",
            f"calls within a limit of {PER_MINUTE}: {', '.join(map(str, counted))}",
            f"undocumented answers: {sum(len(t.undocumented) for t in tallies)}",
        ]
    )
    assert lost == []
    assert [each for tally in tallies for each in tally.stale] == []
    assert [each for tally in tallies for each in tally.undocumented] == []
    assert events == []
    assert mails == []
    assert counted == [PER_MINUTE, PER_MINUTE]


async def subscribe(cluster: Cluster, client: httpx.AsyncClient, receiver: Receiver) -> None:
    body = {"name": "Board", "url": receiver.url(), "events": ["post.published"]}
    made = await client.post(f"{cluster.address}/api/v1/webhooks", json=body)
    assert made.status_code == 201, made.text
