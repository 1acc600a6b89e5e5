"""Realtime clients on real connections: guests, members and owners of some sites. While public
posts, drafts and the members' own records are changed, each counts the messages that it gets."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from masthead.base import ids
from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.records.accounts import credentials
from masthead.features.members.collection import blog_members
from masthead.features.site.collection import site_settings
from masthead.identity.sign_ins import Client
from masthead.identity.tenants import superusers, tenants
from masthead.service.services import Services

MEMBERS_PER_SITE: Final = 4
SETTLE_SECONDS: Final = 15.0
_WRITERS: Final = 10
_TOPICS: Final = ["posts", "blog_members"]
_LENGTH: Final = b"content-length:"


@dataclass
class Account:
    id: str
    token: str


@dataclass
class Site:
    host: str
    owner: Account
    members: list[Account]
    posts: list[str] = field(default_factory=list)
    """The titles of public posts, in the order of their commits."""
    drafts_too: list[str] = field(default_factory=list)
    """Titles that an owner hears of."""
    own: dict[str, list[str]] = field(default_factory=dict)
    """The posts and the changes of the own record, by member."""


async def new_site(parts: Services, slug: str) -> Site:
    tenant_id = TenantId(ids.new_id())
    async with parts.records.unit(system(tenant_id)) as unit:
        await unit.create(tenants, {"id": tenant_id, "slug": slug, "name": slug, "plan": "pro"})
        await unit.create(site_settings, {"slug": slug, "site_name": slug})
        stamped = credentials("no password")
        owner = await unit.create(superusers, {"email": f"o@{slug}.example"}, stamped=stamped)
        members = [
            await unit.create(
                blog_members, {"email": f"m{n}@{slug}.example"}, stamped=credentials("none")
            )
            for n in range(MEMBERS_PER_SITE)
        ]
    accounts = [(superusers, owner), *((blog_members, each) for each in members)]
    signed_in = []
    for collection, record in accounts:
        session = await parts.accounts.begin(collection, record, Client())
        signed_in.append(Account(record["id"], session.token))
    return Site(f"{slug}.localhost", signed_in[0], signed_in[1:])


class Listener:
    """One client, which knows whose it is."""

    def __init__(self, port: int, site: Site, account: Account | None) -> None:
        self._port = port
        self.site = site
        self.account = account
        self.heard: list[str] = []
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def expected(self) -> list[str]:
        site, account = self.site, self.account
        if account is None:
            return site.posts
        return site.drafts_too if account is site.owner else site.own[account.id]

    async def connect(self) -> None:
        reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writer.write(f"GET /api/realtime HTTP/1.1\r\nHost: {self.site.host}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head, head
        hello = await _event(reader)
        self.client_id = json.loads(hello)["clientId"]
        self._reading = asyncio.create_task(self._read(reader))

    async def subscribe(self, calls: Calls) -> None:
        body = {"clientId": self.client_id, "subscriptions": _TOPICS}
        token = self.account.token if self.account else ""
        await calls.send("POST", "/api/realtime", self.site.host, token, body)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while True:
            data = await _event(reader)
            record = json.loads(data)["record"]
            self.heard.append(record.get("title") or record["name"])

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        if self._writer is not None:
            self._writer.close()
            await self._writer.wait_closed()


async def _event(reader: asyncio.StreamReader) -> bytes:
    """The data of the next event. Chunk sizes stand between events, never within one."""
    while True:
        line = await reader.readline()
        if not line:
            raise EOFError("the server has closed the connection")
        if line.startswith(b"data:"):
            return line[5:]


class Calls:
    """One connection that is kept open."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(
        self, method: str, path: str, host: str, token: str, body: dict[str, Any]
    ) -> dict[str, Any]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        content = json.dumps(body).encode()
        signed = f"Authorization: {token}\r\n" if token else ""
        writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{signed}"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n".encode()
            + content
        )
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        length = next(
            (int(each[15:]) for each in head.lower().split(b"\r\n") if each[:15] == _LENGTH), 0
        )
        answer = await reader.readexactly(length)
        if status not in (200, 204):
            raise RuntimeError(f"{method} {path}: {status} {answer[:200]!r}")
        return json.loads(answer) if answer else {}

    async def close(self) -> None:
        if self._streams is not None:
            writer = self._streams[1]
            writer.close()
            await writer.wait_closed()


class Work:
    def __init__(self, port: int, sites: list[Site], *, clients: int, per_second: float) -> None:
        self._port = port
        self._sites = sites
        self._clients = clients
        self._per_second = per_second
        self._changes = 0

    async def run(self, seconds: float) -> list[Listener]:
        """The listeners, with what they have heard."""
        await self._write_for(1.0)
        for site in self._sites:
            site.posts, site.drafts_too = [], []
            site.own = {each.id: [] for each in site.members}
        listeners = [self._listener(number) for number in range(self._clients)]
        await self._open(listeners)
        await self._write_for(seconds)
        await self._settle(listeners)
        for each in listeners:
            await each.close()
        return listeners

    def _listener(self, number: int) -> Listener:
        """The first of each site is its owner, then come its members and guests."""
        site = self._sites[number % len(self._sites)]
        place = number // len(self._sites)
        accounts = [site.owner, *site.members]
        return Listener(self._port, site, accounts[place] if place < len(accounts) else None)

    async def _open(self, listeners: Sequence[Listener]) -> None:
        for start in range(0, len(listeners), 50):
            await asyncio.gather(*(each.connect() for each in listeners[start : start + 50]))
        calls = Calls(self._port)
        for each in listeners:
            await each.subscribe(calls)
        await calls.close()

    async def _write_for(self, seconds: float) -> None:
        """Each writer changes its own sites one after another, so the order is known."""
        pause = _WRITERS / self._per_second
        await asyncio.gather(
            *(
                self._write(self._sites[number::_WRITERS], seconds, pause)
                for number in range(_WRITERS)
                if self._sites[number::_WRITERS]
            )
        )

    async def _write(self, sites: Sequence[Site], seconds: float, pause: float) -> None:
        calls, ends, number = Calls(self._port), time.monotonic() + seconds, 0
        due = time.monotonic()
        while time.monotonic() < ends:
            await self._change(calls, sites[number % len(sites)], number)
            number += 1
            due += pause
            await asyncio.sleep(max(0.0, due - time.monotonic()))
        await calls.close()

    async def _change(self, calls: Calls, site: Site, number: int) -> None:
        title = f"{site.host} {number} {self._changes}"
        self._changes += 1
        token, kind = site.owner.token, number // 5 % 4
        site.drafts_too.append(title)
        if kind == 3:
            member = site.members[number % len(site.members)]
            path = f"/api/collections/blog_members/records/{member.id}"
            site.own.setdefault(member.id, []).append(title)
            await calls.send("PATCH", path, site.host, token, {"name": title})
            return
        status = "draft" if kind == 2 else "published"
        if status == "published":
            site.posts.append(title)
            for each in site.members:
                site.own.setdefault(each.id, []).append(title)
        body = {"title": title, "status": status, "content_html": "<p>Words</p>" * 40}
        await calls.send("POST", "/api/collections/posts/records", site.host, token, body)

    async def _settle(self, listeners: Sequence[Listener]) -> None:
        ends = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < ends:
            if all(len(each.heard) >= len(each.expected) for each in listeners):
                break
            await asyncio.sleep(0.05)
        # For what should not come.
        await asyncio.sleep(0.5)
