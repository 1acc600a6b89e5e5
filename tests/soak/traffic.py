"""Visitors of many sites: they read, write, import, export, listen, and send what is wrong."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape

import httpx
from tests.faces.admin.visitor import hidden_in
from tests.faces.record_api.listener import listening
from tests.faults.ledger import Post, Unacknowledged
from tests.faults.load import Load
from tests.faults.paths import (
    Path,
    delete_and_restore,
    delete_and_undo,
    export_members,
    export_site,
    import_members,
    import_posts,
    pay,
    read,
    send_bad_input,
    send_newsletters,
    upload,
    write_posts,
)
from tests.soak.sites import Site

from masthead.base import ids

SIGNED_IN_AGAIN = 403
"""A form gets it in whose browser another visit has signed in meanwhile."""
_OWNER = re.compile(r'data-(?:page-)?owner="([^"]*)"')


async def read_more(client: httpx.AsyncClient, load: Load) -> None:
    """Front page, feed, sitemap, the newest post, a search."""
    guest = {"Authorization": "", "Accept": "text/html"}
    word = next((each.title for each in reversed(load.ledger.posts) if each.acknowledged), "fog")
    for path in ("/", "/feed.xml", "/sitemap.xml", f"/posts/{word}", f"/search?q={word}"):
        # 301 and 404: its title was changed, or it is in the trash.
        expected = (200, 301, 404) if path.startswith("/posts/") else (200,)
        await load.call(client, "GET", path, expected, headers=guest)


async def call_with_key(client: httpx.AsyncClient, load: Load) -> None:
    for path in (
        "posts",
        "posts?q=fog",
        "media",
        "members?per_page=50",
        "webhooks/events",
        "site-settings",
    ):
        await load.call(client, "GET", f"/api/v1/{path}", (200,))


async def edit(_: httpx.AsyncClient, load: Load) -> None:
    """Writes a new post in the editor, which saves it again and again."""
    client = await load.signed_in()
    page = await load.call(client, "GET", "/admin/posts/new", (200,))
    owner = _OWNER.search(page.text)
    assert owner, page.text[:500]
    headers = {
        "x-page-owner": unescape(owner[1]),
        "x-form-token": hidden_in(page.text)["form_token"],
        "accept": "application/json",
    }
    post, post_id = Post(load.word()), ids.new_id()
    post.attempted = post.title
    load.ledger.posts.append(post)
    path, version, text = f"/admin/posts/{post_id}/text", "new", ""
    for _ in range(load.rng.randint(3, 12)):
        text += " Fog over the harbour, and the horn every thirty seconds."
        words = {"type": "paragraph", "content": [{"type": "text", "text": text}]}
        document = {"type": "doc", "content": [words]}
        body = {"version": version, "title": post.title, "content_json": document}
        saved = await load.call(
            client, "POST", path, (200, SIGNED_IN_AGAIN), json=body, headers=headers
        )
        if saved.status_code == SIGNED_IN_AGAIN:
            return
        version = saved.json()["version"]
        post.id, post.acknowledged = post_id, post.title
        await asyncio.sleep(load.rng.uniform(0, 0.5))


VISITS: Mapping[Path, float] = {
    read: 24,
    read_more: 12,
    call_with_key: 6,
    write_posts: 4,
    delete_and_restore: 4,
    edit: 6,
    upload: 2,
    pay: 3,
    send_newsletters: 0.4,
    export_members: 0.5,
    delete_and_undo: 0.7,
    import_members: 0.7,
    import_posts: 0.3,
    export_site: 0.5,
    send_bad_input: 13,
}
"""How often each happens: of all requests, one in twenty is bad input."""


@dataclass
class Crowd:
    """Visitors of random sites, each of whom waits before the next visit."""

    sites: list[Site]
    visitors: int
    pause_seconds: float
    listeners: int
    rng: random.Random
    heard: int = 0
    """Messages of realtime connections."""
    cut_off: int = 0
    """Realtime connections that the service has ended."""
    problems: list[str] = field(default_factory=list)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def come(self) -> None:
        self._tasks = [
            *(asyncio.create_task(self._visit()) for _ in range(self.visitors)),
            *(asyncio.create_task(self._listen()) for _ in range(self.listeners)),
        ]

    async def leave(self) -> None:
        """At once: what is under way is cut off."""
        for each in self._tasks:
            each.cancel()
        ends = await asyncio.gather(*self._tasks, return_exceptions=True)
        self.problems += [repr(each) for each in ends if isinstance(each, Exception)]

    async def _visit(self) -> None:
        while True:
            await asyncio.sleep(self.rng.expovariate(1) * self.pause_seconds)
            site = self.rng.choice(self.sites)
            [visit] = self.rng.choices(list(VISITS), list(VISITS.values()))
            try:
                await visit(site.api, site)
            except Unacknowledged:
                continue

    async def _listen(self) -> None:
        """Connects, hears of posts for a while, and connects elsewhere."""
        while True:
            site = self.rng.choice(self.sites).site
            async with listening(site.url, site.host) as listener:
                await listener.subscribe("posts/*")
                await asyncio.wait([listener.task], timeout=self.rng.uniform(2, 20))
                self.heard += listener.waiting
                self.cut_off += listener.task.done()
