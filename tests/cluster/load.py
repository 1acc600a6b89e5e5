"""Clients of the cluster, and what they hold it to.

Each writer creates posts through HAProxy, reads each on both services as soon as it is confirmed,
changes it and reads it again. Whatever is confirmed must be there from then on, on every service.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
from tests.cluster.cluster import SERVICES, Cluster

RETRY_SECONDS = 0.2
"""Shorter than `Retry-After` says, so that interruptions are measured and not waited for."""


@dataclass
class Tally:
    """Counts since some moment."""

    requests: int = 0
    unavailable: int = 0
    """503 with `Retry-After`."""
    confirmed: int = 0
    stale: list[str] = field(default_factory=list)
    undocumented: list[str] = field(default_factory=list)
    longest_seconds: float = 0.0
    """Between two confirmed writes."""


class Load:
    def __init__(self, cluster: Cluster, key: str, writers: int) -> None:
        self._cluster = cluster
        headers = {"Authorization": f"Bearer {key}"}
        limits = httpx.Limits(max_connections=writers * 4)
        # A service that is about to stop leaves new connections unanswered.
        timeout = httpx.Timeout(60, connect=1)
        self.client = httpx.AsyncClient(headers=headers, timeout=timeout, limits=limits)
        self.posts: dict[str, str] = {}
        """The confirmed ones, by id, with the last confirmed title."""
        self.in_doubt: set[str] = set()
        """Posts with a change that was not confirmed: they may have the old or the new title."""
        self.repeated: set[str] = set()
        """Titles that were sent again with the same `Idempotency-Key`."""
        self.tally = Tally()
        self._last_confirmed = time.monotonic()
        self._running: list[asyncio.Task[None]] = []
        self._is_over = False
        self._writers = writers

    def start(self) -> None:
        self._last_confirmed = time.monotonic()
        self._running = [
            asyncio.create_task(self._write(number)) for number in range(self._writers)
        ]

    async def finish(self) -> None:
        self._is_over = True
        await asyncio.gather(*self._running)

    async def close(self) -> None:
        await self.client.aclose()

    def take_tally(self) -> Tally:
        """Returns the counts since the last call."""
        self._note_interruption()
        taken, self.tally = self.tally, Tally()
        return taken

    async def _write(self, writer: int) -> None:
        number = 0
        while not self._is_over:
            number += 1
            title = f"Post {writer}-{number}"
            post_id = await self._create(title, repeats=number % 2 == 0)
            if post_id is None:
                continue
            await self._read_everywhere(post_id, title)
            if await self._rename(post_id, f"{title}, changed"):
                await self._read_everywhere(post_id, f"{title}, changed")

    async def _create(self, title: str, *, repeats: bool) -> str | None:
        body = {"title": title, "content_html": "<p>Tides.</p>", "status": "published"}
        headers = {"Idempotency-Key": title} if repeats else {}
        while True:
            answer = await self._send("POST", "/posts", body, headers)
            if answer is not None and answer.status_code == 201:
                post_id: str = answer.json()["data"]["id"]
                self.posts[post_id] = title
                self._note_confirmed()
                if repeats:
                    self.repeated.add(title)
                return post_id
            if not repeats:
                return None
            # Until the end, however long it takes: the key makes it safe.

    async def _rename(self, post_id: str, title: str) -> bool:
        answer = await self._send("PATCH", f"/posts/{post_id}", {"title": title}, {})
        if answer is None or answer.status_code != 200:
            self.in_doubt.add(post_id)
            return False
        self.posts[post_id] = title
        self._note_confirmed()
        return True

    async def _read_everywhere(self, post_id: str, title: str) -> None:
        for service in SERVICES:
            url = f"{self._cluster.address_of(service)}/api/v1/posts/{post_id}"
            # A service that restarts takes no connection; HAProxy would have gone to the other.
            with suppress(httpx.TransportError):
                self.tally.requests += 1
                answer = await self.client.get(url)
                if answer.status_code == 200 and answer.json()["title"] == title:
                    continue
                if not self._is_documented(answer):
                    found = f"{service}: {answer.status_code} {answer.text[:120]}"
                    self.tally.stale.append(f"{title}: {found}")

    async def _send(
        self, method: str, path: str, body: Any, headers: Mapping[str, str]
    ) -> httpx.Response | None:
        """None where there is no answer that counts; the answer is in the tally."""
        self.tally.requests += 1
        url = f"{self._cluster.address}/api/v1{path}"
        try:
            answer = await self.client.request(method, url, json=body, headers=dict(headers))
        except httpx.TransportError as error:
            self.tally.undocumented.append(f"{method} {path}: {error!r}")
            return None
        if answer.status_code in {200, 201}:
            return answer
        if not self._is_documented(answer):
            self.tally.undocumented.append(f"{method} {path}: {answer.status_code} {answer.text}")
        await asyncio.sleep(RETRY_SECONDS)
        return None

    def _is_documented(self, answer: httpx.Response) -> bool:
        if answer.status_code != 503 or "retry-after" not in answer.headers:
            return False
        self.tally.unavailable += 1
        return True

    def _note_confirmed(self) -> None:
        self._note_interruption()
        self.tally.confirmed += 1
        self._last_confirmed = time.monotonic()

    def _note_interruption(self) -> None:
        since = time.monotonic() - self._last_confirmed
        self.tally.longest_seconds = max(self.tally.longest_seconds, since)


async def lost_writes(load: Load, cluster: Cluster) -> list[str]:
    """Confirmed writes that the database does not have, and creates that it has twice."""
    found: dict[str, str] = {}
    page, pages = 1, 1
    while page <= pages:
        url = f"{cluster.address}/api/v1/posts?per_page=100&page={page}"
        answer = await load.client.get(url)
        answer.raise_for_status()
        listed = answer.json()
        found |= {each["id"]: each["title"] for each in listed["items"]}
        page, pages = page + 1, listed["total_pages"]
    lost = []
    for post_id, title in load.posts.items():
        stored = found.get(post_id)
        allowed = {title, f"{title}, changed"} if post_id in load.in_doubt else {title}
        if stored not in allowed:
            lost.append(f"{title}: {stored}")
    titles = Counter(title.removesuffix(", changed") for title in found.values())
    lost += [f"{each} is there {titles[each]} times" for each in load.repeated if titles[each] != 1]
    return lost
