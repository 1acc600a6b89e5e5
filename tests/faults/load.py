"""Every write path at once, over HTTP, and a ledger of what the service has acknowledged.

A request that got no answer may have happened or not; afterwards it must be whole or not there. An
answer that no page documents is a fault by itself.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx
from tests.faces.admin.visitor import token_in
from tests.faults.installation import Installation
from tests.features.media.pictures import picture
from tests.features.payments.processor import SECRET, joined, timed

from masthead.faces.admin.flash import COOKIE
from masthead.identity.sign_ins import PROOF_LASTS

UNAVAILABLE = frozenset({429, 503, 507})
"""Answers that may come instead of doing it: it is busy, a part is down, the disk is full."""
RESTING_SECONDS = 0.05
HALF_BYTES = 2 * 1024 * 1024
"""An upload is cut off after so many."""
_UNDO = re.compile(r'<form class="toast" method="post" action="([^"]+)"')


class Unacknowledged(Exception):
    """No answer, or one that says that it was not done."""


@dataclass
class Post:
    """A post as its one writer knows it. `None` as a title: not there, or in the trash."""

    title: str
    """The one it was created with, which no other post has."""
    id: str = ""
    acknowledged: str | None = None
    attempted: str | None = None
    is_settled: bool = False

    def possible(self) -> set[str | None]:
        return {self.acknowledged} if self.is_settled else {self.acknowledged, self.attempted}


@dataclass
class Ledger:
    posts: list[Post] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    deleted_files: set[str] = field(default_factory=set)
    doubtful_files: set[str] = field(default_factory=set)
    payers: set[str] = field(default_factory=set)
    joined: set[str] = field(default_factory=set)
    """Addresses of readers who were signed in by the provider."""
    imported: set[str] = field(default_factory=set)
    """Titles of posts of other platforms, without events."""
    doubtful_imports: set[str] = field(default_factory=set)
    mailings: dict[str, str] = field(default_factory=dict)
    """With the posts that they send."""
    doubtful_mailings: set[str] = field(default_factory=set)
    """Posts that were to be mailed, without an answer."""
    exports: int = 0
    hung_up: int = 0
    """Uploads whose client went away in the middle."""
    views: int = 0
    """Requests of pages that were answered."""
    asked: int = 0
    acknowledged: int = 0
    bad_input: int = 0
    unanswered: int = 0
    """Requests whose connection ended without an answer."""
    latencies: list[tuple[float, float]] = field(default_factory=list)
    """When each answered request began, and its seconds."""
    answers: Counter[str] = field(default_factory=Counter)
    undocumented: list[str] = field(default_factory=list)


Path = Callable[[httpx.AsyncClient, "Load"], Awaitable[None]]


class Load:
    def __init__(self, site: Installation, seed: int) -> None:
        self.site = site
        self.ledger = Ledger()
        self.began = site.clock()
        self.rng = random.Random(seed)
        self.grown = asyncio.Event()
        self.clock_jumps = False
        """Signatures and proofs may be too old, or from the future, when they come."""
        self.paths = PATHS
        self.uploads: dict[str, list[str]] = {}
        """The pages of exports that are not run yet, with the titles in them."""
        self._names = 0
        self._clients: list[httpx.AsyncClient] = []
        self._browser: httpx.AsyncClient | None = None
        self._seed = seed

    async def until(
        self, acknowledged: int, paths: tuple[Path, ...] = ()
    ) -> list[asyncio.Task[None]]:
        """Starts all paths; returns at the acknowledgement of so many calls, with the others' under
        way: the caller ends them with `finish`."""
        client = self.site.client()
        self._clients.append(client)
        tasks = [asyncio.create_task(self._repeat(path, client)) for path in paths or self.paths]
        goal = self.ledger.acknowledged + acknowledged
        while self.ledger.acknowledged < goal and not any(task.done() for task in tasks):
            self.grown.clear()
            await self.grown.wait()
        return tasks

    async def finish(self, tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        self._browser = None
        while self._clients:
            await self._clients.pop().aclose()
        for ended in ends:
            if not isinstance(ended, asyncio.CancelledError):
                raise AssertionError("a path ended by itself") from ended

    async def _repeat(self, path: Path, client: httpx.AsyncClient) -> None:
        try:
            while True:
                try:
                    await path(client, self)
                except Unacknowledged:
                    await asyncio.sleep(RESTING_SECONDS)
        finally:
            self.grown.set()

    async def signed_in(self) -> httpx.AsyncClient:
        """The browser of an owner."""
        if self._browser is None:
            self._browser = self.site.browser(self.site.owner)
            self._clients.append(self._browser)
        return self._browser

    def word(self) -> str:
        self._names += 1
        return f"w{self._seed % 10_000}n{self._names}"

    async def call(
        self,
        client: httpx.AsyncClient,
        method: str,
        path: str,
        expected: tuple[int, ...],
        **request: Any,
    ) -> httpx.Response:
        self.ledger.asked += 1
        began = time.perf_counter()
        try:
            answer = await client.request(method, path, **request)
        except httpx.TransportError as error:
            self.ledger.unanswered += 1
            raise Unacknowledged from error
        self.ledger.latencies.append((began, time.perf_counter() - began))
        self.ledger.answers[f"{path.split('/')[1]} {answer.status_code}"] += 1
        if answer.status_code in UNAVAILABLE:
            raise Unacknowledged
        if answer.status_code not in expected:
            self.ledger.undocumented.append(
                f"{method} {path} {answer.status_code} {answer.text[:300]}"
            )
            raise Unacknowledged
        self.ledger.acknowledged += 1
        self.grown.set()
        return answer


async def create_post(client: httpx.AsyncClient, load: Load) -> Post:
    post = Post(load.word())
    post.attempted = post.title
    load.ledger.posts.append(post)
    body = {"title": post.title, "status": "published", "content_html": "<p>Fog.</p>"}
    made = await load.call(client, "POST", "/api/v1/posts", (201,), json=body)
    post.id, post.acknowledged, post.is_settled = made.json()["data"]["id"], post.title, True
    return post


async def write_posts(client: httpx.AsyncClient, load: Load) -> None:
    """Creates one, changes it, deletes it, restores it."""
    post = await create_post(client, load)
    one = f"/api/v1/posts/{post.id}"
    for _ in range(load.rng.randrange(3)):
        title = load.word()
        post.attempted, post.is_settled = title, False
        await load.call(client, "PATCH", one, (200,), json={"title": title})
        post.acknowledged, post.is_settled = title, True
    if load.rng.random() < 0.5:
        await _delete_and_restore(client, load, post)


async def _delete_and_restore(client: httpx.AsyncClient, load: Load, post: Post) -> None:
    title = post.acknowledged
    post.attempted, post.is_settled = None, False
    await load.call(client, "DELETE", f"/api/v1/posts/{post.id}", (204,))
    post.acknowledged, post.is_settled = None, True
    trash = await load.call(client, "GET", "/api/v1/trash?per_page=100", (200,))
    for entry in trash.json()["items"]:
        if post.id in entry.values() and load.rng.random() < 0.7:
            post.attempted, post.is_settled = title, False
            restore = f"/api/v1/trash/{entry['id']}/restore"
            await load.call(client, "POST", restore, (200,))
            post.acknowledged, post.is_settled = title, True


async def delete_and_undo(client: httpx.AsyncClient, load: Load) -> None:
    """Deletes two posts in the admin, and takes it back."""
    posts = [await create_post(client, load) for _ in range(2)]
    browser = await load.signed_in()
    page = await load.call(browser, "GET", "/admin/posts", (200,))
    token = {"form_token": token_in(page.text)}
    # 403: in this browser the owner has signed in again meanwhile.
    expected = (303, 403) if load.clock_jumps else (303,)
    ticks = {f"select.{each.id}": "on" for each in posts}
    for post in posts:
        post.attempted, post.is_settled = None, False
    chosen = {**token, **ticks, "action": "delete", "confirmed": "1"}
    done = await load.call(browser, "POST", "/admin/posts/bulk", expected, data=chosen)
    if done.status_code == 403:
        return
    page = await load.call(browser, "GET", done.headers["location"], (200,))
    for post in posts:
        post.acknowledged, post.attempted = None, post.title
    if button := _UNDO.search(page.text):
        back = {**token, "next": "/admin/posts"}
        await load.call(browser, "POST", button[1], expected, data=back)
        for post in posts:
            # By a clock that jumped, it was too late.
            post.acknowledged, post.is_settled = post.title, not load.clock_jumps
            post.attempted = None


async def import_posts(_: httpx.AsyncClient, load: Load) -> None:
    """An export of another platform: it is uploaded, looked at by the worker, and run. An upload
    that was not run because of a fault may be run after it."""
    browser = await load.signed_in()
    expected = (303, 403) if load.clock_jumps else (303,)
    if not load.uploads or load.rng.random() < 0.5:
        await _upload_export(browser, load, expected)
    there = load.rng.choice([*load.uploads])
    page = await load.call(browser, "GET", there, (200,))
    while 'data-live="import_runs/' in page.text:
        await asyncio.sleep(0.2)
        page = await load.call(browser, "GET", there, (200,))
    titles = load.uploads.pop(there)
    if f'action="{there}/run"' not in page.text:
        # The preview has failed, and says so.
        raise Unacknowledged
    load.ledger.doubtful_imports.update(titles)
    form = {"form_token": token_in(page.text)}
    run = await load.call(browser, "POST", f"{there}/run", expected, data=form)
    if COOKIE in run.headers.get("set-cookie", ""):
        # A sentence for the page: another import is running. This one can be run later.
        load.uploads[there] = titles
        raise Unacknowledged
    if run.status_code == 303:
        load.ledger.imported.update(titles)


async def _upload_export(browser: httpx.AsyncClient, load: Load, expected: tuple[int, ...]) -> None:
    titles = [load.word() for _ in range(load.rng.randint(1, 5))]
    address = "/admin/tools/import/new"
    page = await load.call(browser, "GET", address, (200,))
    form = {"form_token": token_in(page.text), "platform": "ghost", "site_url": ""}
    files = {"file": ("export.json", _ghost(titles))}
    sent = await load.call(browser, "POST", address, expected, data=form, files=files)
    if sent.status_code != 303:
        raise Unacknowledged
    load.uploads[sent.headers["location"]] = titles


def _ghost(titles: list[str]) -> bytes:
    posts = [
        {"id": each, "title": each, "slug": each, "html": "<p>Fog.</p>", "status": "published"}
        for each in titles
    ]
    return json.dumps({"db": [{"meta": {"version": "5.0.0"}, "data": {"posts": posts}}]}).encode()


async def upload(client: httpx.AsyncClient, load: Load) -> None:
    name = load.word()
    load.ledger.doubtful_files.add(name)
    files = {"file": (f"{name}.png", picture("PNG", (60, 40)), "image/png")}
    made = await load.call(client, "POST", "/api/v1/media", (201,), files=files, data={"alt": name})
    load.ledger.files.add(name)
    if load.rng.random() < 0.3:
        load.ledger.files.discard(name)
        one = f"/api/v1/media/{made.json()['data']['id']}"
        await load.call(client, "DELETE", one, (204,))
        load.ledger.deleted_files.add(name)


async def hang_up(client: httpx.AsyncClient, load: Load) -> None:
    """Sends half of a picture that is too large to be kept in memory, and goes away."""
    boundary = load.word()
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="half.png"'
    start = head.encode() + b"\r\nContent-Type: image/png\r\n\r\n" + picture("PNG", (60, 40))
    lines = [
        "POST /api/v1/media HTTP/1.1",
        *(f"{name}: {client.headers[name]}" for name in ("Host", "Authorization")),
        f"Content-Type: multipart/form-data; boundary={boundary}",
        f"Content-Length: {2 * HALF_BYTES}",
    ]
    load.ledger.asked += 1
    try:
        _, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
        writer.write("\r\n".join([*lines, "\r\n"]).encode() + start.ljust(HALF_BYTES, b"x"))
        await writer.drain()
        if load.rng.random() < 0.5:
            writer.transport.abort()
        writer.close()
    except OSError as error:
        raise Unacknowledged from error
    load.ledger.hung_up += 1


async def pay(client: httpx.AsyncClient, load: Load) -> None:
    """An event of the processor, which sends it again until it is acknowledged."""
    name = load.word()
    email = f"{name}@pays.example"
    event = joined(
        int(load.site.clock().timestamp()),
        id=f"cs_{name}",
        customer=f"cus_{name}",
        subscription=f"sub_{name}",
        customer_details={"email": email, "name": "A Reader"},
    )
    event["id"] = f"evt_{name}"
    body = json.dumps(event).encode()
    path = f"/api/member-webhook/{load.site.tenant.slug}"
    for _ in range(1 + load.rng.randrange(2)):
        signed = timed(SECRET, body, int(load.site.clock().timestamp()))
        headers = {"stripe-signature": signed, "content-type": "application/json"}
        expected = (200, 400) if load.clock_jumps else (200,)
        answer = await load.call(client, "POST", path, expected, content=body, headers=headers)
        if answer.status_code == 200:
            load.ledger.payers.add(email)


async def send_newsletters(client: httpx.AsyncClient, load: Load) -> None:
    published = [each for each in load.ledger.posts if each.is_settled and each.acknowledged]
    if not published or len(load.ledger.mailings) > 40:
        await asyncio.sleep(RESTING_SECONDS)
        return
    post = load.rng.choice(published)
    load.ledger.doubtful_mailings.add(post.id)
    # 404 and 409: its writer has deleted it, or it was mailed before.
    made = await load.call(
        client, "POST", "/api/v1/mailings", (202, 404, 409, 422), json={"post_id": post.id}
    )
    if made.status_code == 202:
        load.ledger.doubtful_mailings.discard(post.id)
        load.ledger.mailings[made.json()["data"]["id"]] = post.id


async def export_members(client: httpx.AsyncClient, load: Load) -> None:
    await asyncio.sleep(0.1)
    body = {"type": "member", "member_id": load.rng.choice(load.site.members)}
    await load.signed_in()
    headers = {"Authorization": load.site.owner}
    # 403: by the clock, which settling moves too, the sign-in is too old.
    age = load.site.clock() - load.began
    is_old = load.clock_jumps or age > PROOF_LASTS - timedelta(minutes=1)
    expected = (200, 202, 403) if is_old else (200, 202)
    await load.call(client, "POST", "/api/gdpr/export", expected, json=body, headers=headers)
    load.ledger.exports += 1


async def read(client: httpx.AsyncClient, load: Load) -> None:
    """Opens a page as a reader does, whom the statistics count."""
    await asyncio.sleep(0.01)
    headers = {
        "User-Agent": f"Mozilla/5.0 (X11; Linux x86_64) Firefox/{load.rng.randrange(100, 140)}.0",
        "Accept": "text/html",
        "Authorization": "",
    }
    await load.call(client, "GET", "/", (200,), headers=headers)
    load.ledger.views += 1


async def send_bad_input(client: httpx.AsyncClient, load: Load) -> None:
    await asyncio.sleep(0.05)
    bad: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/api/v1/posts", {"json": {"title": 5}}),
        ("POST", "/api/v1/posts", {"content": b"{"}),
        ("GET", "/api/v1/posts?per_page=nine", {}),
        ("POST", "/api/v1/media", {"files": {"file": ("a.png", b"\x89PNG\r\n\x1a\nhalf")}}),
        ("POST", f"/api/member-webhook/{load.site.tenant.slug}", {"content": b"forged"}),
        ("GET", "/api/collections/posts/records?filter=(((", {}),
    ]
    method, path, request = load.rng.choice(bad)
    load.ledger.bad_input += 1
    await load.call(client, method, path, (201, 400, 401, 415, 422), **request)


PATHS: tuple[Path, ...] = (
    *(write_posts,) * 3,
    delete_and_undo,
    import_posts,
    upload,
    pay,
    send_newsletters,
    export_members,
    read,
    send_bad_input,
)
