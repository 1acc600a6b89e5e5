"""`python -m bench.mailings`: a newsletter to 50,000 members. The service, the worker and the mail
server are processes of their own; before and during the send, clients with a key list and create
posts of another site. Exits with 1 if a goal is missed."""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final

import uvloop
from aiosmtpd.smtp import SMTP, Envelope, Session

from bench import process
from bench.http import call
from bench.special import (
    TEXT,
    Figure,
    api_client,
    fill,
    finish,
    growths,
    new_key,
    new_neighbour,
    new_site,
    options,
    place,
)
from masthead.base.caller import system
from masthead.features.members.collection import blog_members
from masthead.features.posts.collection import posts
from masthead.service.services import Services

LEAST_RATE: Final = 300
MOST_MEGABYTES: Final = 200
MOST_GROWTH: Final = 10
"""Megabytes between the second and the last quarter of a send: flat."""
MOST_TIMES: Final = 2
SITE: Final = "big"
DOMAINS: Final = 500
_SAMPLE_SECONDS: Final = 0.25
_MOST_SECONDS: Final = 1_800.0
"""A send that hangs ends the measurement."""
_MESSAGE_ID: Final = re.compile(rb"^Message-ID: (\S+)\r?$", re.MULTILINE | re.IGNORECASE)


def main() -> None:
    given = options("mailings", __doc__, members=50_000, quiet=10.0)
    with mail_server() as server:
        smtp = f"smtp://127.0.0.1:{server.port}"
        with place(given.engine, MASTHEAD_SMTP_URL=smtp) as installed:
            post_id, key, neighbour = installed.make(lambda parts: seed(parts, given.members))
            with installed.serving("--no-worker") as (port, _):
                other = api_client(port, neighbour)
                other.quiet(2.0)
                quiet = other.quiet(given.quiet)
                with installed.command("worker") as worker:
                    send = Send(port, key, server, worker, given.members)
                    busy = other.during(lambda: send.run(post_id))
                finish([*send.figures(), *growths(quiet, busy, MOST_TIMES, "during the send")])


async def seed(parts: Services, members: int) -> tuple[str, str, str]:
    """The post, and the keys of both sites."""
    tenant_id = await new_site(parts, SITE)
    made = (
        {
            "email": f"member{number}@host{number % DOMAINS}.example",
            "name": f"Member {number}",
            "tier": "paid" if number % 5 == 0 else "free",
            "newsletter": True,
        }
        for number in range(members)
    )
    await fill(parts, tenant_id, blog_members, made)
    values = {"title": "Tides", "content_html": f"<h2>Monday</h2>{TEXT}" * 4, "status": "published"}
    post = await parts.records.create(
        system(tenant_id), posts, values | {"visibility": "paid", "slug": "tides"}
    )
    return post["id"], await new_key(parts, tenant_id), await new_neighbour(parts)


@dataclass
class Send:
    port: int
    key: str
    server: MailServer
    worker: int
    members: int

    def run(self, post_id: str) -> None:
        began = time.monotonic()
        mailing = self._call("POST", "", {"post_id": post_id})
        while mailing["status"] == "scheduled":
            time.sleep(_SAMPLE_SECONDS)
            mailing = self._call("GET", f"/{mailing['id']}")
        self.fixed_seconds = time.monotonic() - began
        self.memory, used = [], process.processor_seconds(self.worker)
        while mailing["status"] == "sending" and time.monotonic() < began + _MOST_SECONDS:
            time.sleep(_SAMPLE_SECONDS)
            self.memory.append(process.pss_megabytes(self.worker))
            mailing = self._call("GET", f"/{mailing['id']}")
        self.used = process.processor_seconds(self.worker) - used
        self.mailing = mailing

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        headers = {
            "Host": f"{SITE}.localhost:{self.port}",
            "Authorization": f"Bearer {self.key}",
        }
        answer = call(self.port, method, f"/api/v1/mailings{path}", body, headers)
        found: dict[str, Any] = answer.get("data", answer)
        return found

    def figures(self) -> Iterator[Figure]:
        arrived = self.server.arrivals()
        quarter = max(len(self.memory) // 4, 1)
        early, late = self.memory[quarter : 2 * quarter] or self.memory, self.memory[-quarter:]
        growth = statistics.median(late) - statistics.median(early)
        rate = arrived.number / max(arrived.seconds, 0.001)
        yield Figure("recipients fixed after", self.fixed_seconds, "s")
        yield Figure("emails", rate, "a second", least=LEAST_RATE)
        yield Figure("the worker's processor time", self.used / self.members * 1e3, "ms an email")
        yield Figure("the worker's memory, peak", max(self.memory), "MB", most=MOST_MEGABYTES)
        yield Figure("the worker's memory, growth", growth, "MB", most=MOST_GROWTH)
        yield Figure("sent, of all members", self.mailing["sent"] / self.members, least=1)
        missed = self.members - len(arrived.recipients)
        yield Figure("members without an email", missed, most=0)
        yield Figure("most emails to one member", arrived.most_to_one, most=1)


@dataclass(frozen=True)
class Arrivals:
    recipients: Counter[str]
    message_ids: Counter[str]
    seconds: float
    """From the first to the last."""

    @property
    def number(self) -> int:
        return self.recipients.total()

    @property
    def most_to_one(self) -> int:
        """How often the same recipient, or the same Message-ID, came."""
        return max([*self.recipients.values(), *self.message_ids.values()], default=0)


@dataclass(frozen=True)
class MailServer:
    port: int
    _pipe: Connection

    def arrivals(self) -> Arrivals:
        self._pipe.send(None)
        found: Arrivals = self._pipe.recv()
        return found


@contextmanager
def mail_server() -> Iterator[MailServer]:
    with process.child(_serve) as pipe:
        yield MailServer(pipe.recv(), pipe)


def _serve(to_parent: Connection) -> None:
    uvloop.run(_Office(to_parent).run())


class _Office:
    """Notes who got which email and when."""

    def __init__(self, to_parent: Connection) -> None:
        self._pipe = to_parent
        self._recipients: Counter[str] = Counter()
        self._message_ids: Counter[str] = Counter()
        self._first = self._last = 0.0

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: SMTP(self, loop=loop), "127.0.0.1", 0)
        loop.add_reader(self._pipe.fileno(), self._answer)
        # The loop made the pipe non-blocking, which refuses the long account of 50,000 emails.
        os.set_blocking(self._pipe.fileno(), True)
        self._pipe.send(server.sockets[0].getsockname()[1])
        await asyncio.Event().wait()

    def _answer(self) -> None:
        self._pipe.recv()
        took = self._last - self._first
        self._pipe.send(Arrivals(self._recipients, self._message_ids, took))

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:
        assert isinstance(envelope.content, bytes)
        found = _MESSAGE_ID.search(envelope.content)
        self._message_ids[found.group(1).decode() if found else ""] += 1
        self._recipients.update(envelope.rcpt_tos)
        self._last = time.monotonic()
        self._first = self._first or self._last
        return "250 OK"


if __name__ == "__main__":
    main()
