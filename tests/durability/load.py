"""Changes by several connections at once, and a ledger of what the service has promised."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
from tests.durability.servers import Site

POSTS = "/api/collections/posts/records"
COMMENTS = "/api/collections/comments/records"


@dataclass(slots=True)
class Post:
    """A post as its one writer knows it; `None` as a title means deleted."""

    id: str
    acknowledged: str | None = None
    attempted: str | None = None
    is_settled: bool = False
    """The last attempt was acknowledged, so it is not open which of the two holds."""
    comments: list[str] = field(default_factory=list)

    def possible(self) -> set[str | None]:
        return {self.acknowledged} if self.is_settled else {self.acknowledged, self.attempted}


class Load:
    def __init__(self, sites: list[Site], rng: random.Random) -> None:
        self.sites = sites
        self.posts: dict[str, Post] = {}
        self.acknowledged = 0
        self._rng = rng
        self._grown = asyncio.Event()

    async def run(self, client: httpx.AsyncClient, writers: int, until: int) -> None:
        """Returns at the `until`th acknowledgement, with the others' requests under way.

        A response is an acknowledgement even when it is read only after that.
        """
        goal = self.acknowledged + until
        tasks = [
            asyncio.create_task(self._write(client, self.sites[number % len(self.sites)]))
            for number in range(writers)
        ]
        self._tasks = tasks
        while self.acknowledged < goal and not any(task.done() for task in tasks):
            self._grown.clear()
            await self._grown.wait()

    async def end(self) -> None:
        """Called after the server has ended: earlier responses still count."""
        results = await asyncio.gather(*self._tasks, return_exceptions=True)
        for result in results:
            if not isinstance(result, httpx.TransportError | Refused):
                raise AssertionError("a writer ended by itself") from result

    async def _write(self, client: httpx.AsyncClient, site: Site) -> None:
        mine: list[Post] = []
        try:
            for step in self._steps():
                if step == "create" or not mine:
                    mine.append(await self._create(client, site))
                elif step == "delete":
                    await self._delete(client, site, mine.pop())
                elif step == "comment":
                    await self._comment(client, site, self._rng.choice(mine))
                else:
                    await self._update(client, site, self._rng.choice(mine))
        finally:
            self._grown.set()

    def _steps(self) -> Iterator[str]:
        while True:
            yield self._rng.choice(["create", "create", "update", "update", "comment", "delete"])

    async def _create(self, client: httpx.AsyncClient, site: Site) -> Post:
        post = Post(_new_id(self._rng))
        self.posts[post.id] = post
        body = {"id": post.id, "title": _new_id(self._rng), "status": "published"}
        await self._attempt(
            post, body["title"], client.post(POSTS, json=body, headers=site.headers)
        )
        return post

    async def _update(self, client: httpx.AsyncClient, site: Site, post: Post) -> None:
        title = _new_id(self._rng)
        request = client.patch(f"{POSTS}/{post.id}", json={"title": title}, headers=site.headers)
        await self._attempt(post, title, request)

    async def _delete(self, client: httpx.AsyncClient, site: Site, post: Post) -> None:
        request = client.delete(f"{POSTS}/{post.id}", headers=site.headers)
        await self._attempt(post, None, request)

    async def _comment(self, client: httpx.AsyncClient, site: Site, post: Post) -> None:
        body = {"post_id": post.id, "author_name": "Ann", "body": "Yes."}
        answer = await self._acknowledged(client.post(COMMENTS, json=body, headers=site.headers))
        post.comments.append(answer.json()["id"])

    async def _attempt(self, post: Post, title: str | None, request: Request) -> None:
        post.attempted, post.is_settled = title, False
        await self._acknowledged(request)
        post.acknowledged, post.is_settled = title, True

    async def _acknowledged(self, request: Request) -> httpx.Response:
        answer = await request
        if answer.status_code not in (200, 204):
            raise Refused(f"{answer.status_code} {answer.text}")
        self.acknowledged += 1
        self._grown.set()
        return answer


class Refused(Exception):
    """The service is unavailable: its database is down."""


Request = Coroutine[Any, Any, httpx.Response]


def _new_id(rng: random.Random) -> str:
    return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=15))
