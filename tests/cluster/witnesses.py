"""Those whom the cluster writes to: a receiver of webhooks and readers of a newsletter; and a key
with a limit."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import httpx
from tests.cluster.cluster import SERVICES, Cluster
from tests.cluster.load import Load
from tests.outside.mail.postbox import Postbox
from tests.tls import Receiver

PER_MINUTE = 30
"""The limit of the plan `pro`."""


@dataclass
class Deliveries:
    """The deliveries of `post.published` that a receiver got."""

    ids: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The ids of the deliveries about each post."""
    repeated: int = 0
    """The same delivery again, which webhooks may do (at least once)."""


def deliveries_of(receiver: Receiver) -> Deliveries:
    found = Deliveries()
    seen: set[str] = set()
    for request in receiver.requests:
        delivery_id = request.headers["x-service-delivery"]
        if delivery_id in seen:
            found.repeated += 1
            continue
        seen.add(delivery_id)
        payload = json.loads(request.body)["payload"]
        found.ids[payload["post_id"]].add(delivery_id)
    return found


async def wait_for_events(receiver: Receiver, load: Load, seconds: float) -> Deliveries:
    """Until there is an event of every confirmed post."""
    deadline = time.monotonic() + seconds
    while True:
        found = deliveries_of(receiver)
        if load.posts.keys() <= found.ids.keys() or time.monotonic() > deadline:
            return found
        await asyncio.sleep(0.5)


def wrong_events(found: Deliveries, load: Load) -> list[str]:
    """Events that are missing or came twice."""
    wrong = [f"no event of {load.posts[each]}" for each in load.posts.keys() - found.ids.keys()]
    wrong += [f"{len(each)} events of {post}" for post, each in found.ids.items() if len(each) > 1]
    return wrong


@dataclass
class Newsletter:
    """One mailing to all members of a site."""

    cluster: Cluster
    client: httpx.AsyncClient
    """Sends requests with a key that may write posts and mailings."""
    readers: int
    mailing_id: str = ""

    async def add_readers(self, email: str, password: str, host: str) -> None:
        base = f"{self.cluster.address}/api"
        login = await self.client.post(
            f"{base}/collections/_superusers/auth-with-password",
            json={"identity": email, "password": password},
            headers={"Host": host},
        )
        login.raise_for_status()
        headers = {"Host": host, "Authorization": login.json()["token"]}
        for start in range(0, self.readers, 50):
            requests = [
                {
                    "method": "POST",
                    "url": "/api/collections/blog_members/records",
                    "body": {"email": f"reader{number}@host.example", "newsletter": True},
                }
                for number in range(start, min(start + 50, self.readers))
            ]
            made = await self.client.post(
                f"{base}/batch", json={"requests": requests}, headers=headers
            )
            assert made.status_code == 200, made.text

    async def send(self) -> None:
        base = f"{self.cluster.address}/api/v1"
        body = {"title": "The news", "content_html": "<p>News.</p>", "status": "published"}
        post = await self.client.post(f"{base}/posts", json=body)
        post.raise_for_status()
        made = await self.client.post(
            f"{base}/mailings", json={"post_id": post.json()["data"]["id"]}
        )
        assert made.status_code == 202, made.text
        self.mailing_id = made.json()["data"]["id"]

    async def wait_until_sent(self, seconds: float) -> dict[str, Any]:
        url = f"{self.cluster.address}/api/v1/mailings/{self.mailing_id}"
        async with asyncio.timeout(seconds):
            while True:
                answer = await self.client.get(url)
                if answer.status_code == 200 and answer.json()["status"] == "sent":
                    state: dict[str, Any] = answer.json()
                    return state
                await asyncio.sleep(0.5)


def wrong_mails(postbox: Postbox, state: dict[str, Any], readers: int) -> list[str]:
    """Readers who got the email twice, or none although it is not marked as uncertain."""
    got = Counter(each.rcpt_tos[0] for each in postbox.envelopes)
    wrong = [f"{times} emails to {reader}" for reader, times in got.items() if times > 1]
    without = readers - len(got)
    if without > state["uncertain"]:
        wrong.append(f"{without} readers got nothing, {state['uncertain']} are uncertain")
    return wrong


async def calls_within_limit(cluster: Cluster, key: str) -> int:
    """How many of twice as many calls as allowed, at once on both services, are let through."""
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        urls = [f"{cluster.address_of(each)}/api/v1/posts" for each in SERVICES] * PER_MINUTE
        answers = await asyncio.gather(*map(client.get, urls))
    counted = Counter(each.status_code for each in answers)
    assert counted.keys() <= {200, 429}, counted
    return counted[200]
