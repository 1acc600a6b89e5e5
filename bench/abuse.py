"""`python -m bench.abuse`: how attacks by guests, and by authors of a site, affect other sites.
Each runs for ten seconds from a separate process, four at a time, while regular clients ask for the
health and a list of another site. Exits with 1 if one of these takes more than ten times its p99
without the attack (five times for newer attacks), or if memory does not return to within 20 MB."""

from __future__ import annotations

import argparse
import http.client
import json
import random
import socket
import struct
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final
from urllib.parse import quote

import sqlalchemy as sa

from bench import process
from bench.http import answer_to, call, request_bytes, send, upload_bytes
from bench.service import PASSWORD
from bench.special import (
    NEIGHBOUR,
    Figure,
    Neighbour,
    finish,
    growths,
    new_key,
    new_neighbour,
    new_site,
    options,
    place,
)
from masthead.base.caller import Caller, system
from masthead.engine.records.engine import Records
from masthead.service.schema import tables
from masthead.service.services import Services
from masthead.storage.database import scope_of

WARM_UP_SECONDS: Final = 2.0
MOST_TIMES: Final = 10
MOST_MEGABYTES: Final = 20
MEMORY_SECONDS: Final = 30.0
"""In which memory has to return after an attack."""
THREADS: Final = 4
SITE: Final = "attacked"
POSTS: Final = "/api/collections/posts/records"
SIGN_IN: Final = "/api/collections/_superusers/auth-with-password"
_LONG: Final = f"<p>{'words ' * 13}</p>" * 56_000


@dataclass(frozen=True)
class Target:
    """The server, and the paths of what is attacked."""

    port: int
    picture: str = ""
    long_text: str = ""
    """A post of 4.8 MB."""
    difference: str = ""
    """The page of an earlier state of 640 KB."""
    token: str = ""
    """Signs in an owner of the attacked site."""
    key: str = ""
    """An API key of the attacked site."""

    def path(self, query: str) -> str:
        return f"{POSTS}?{query}"


Attack = Callable[[Target, random.Random], int]
"""Sends one request; returns its status."""


def filters(target: Target, choice: random.Random) -> int:
    """A filter of 199 comparisons that no other request has had."""
    parts = [choice.choice(("tags?~'1'", "tags?!~'1'", "title~title")) for _ in range(199)]
    return _get(target, target.path("filter=" + quote("||".join(parts))))


def thumbs(target: Target, _: random.Random) -> int:
    return _get(target, f"{target.picture}?thumb=100x100")


def containment(target: Target, choice: random.Random) -> int:
    wanted = "a" * choice.randint(1_000, 1_500) + "b"
    return _get(target, target.path("filter=" + quote(f"content_html~'{wanted}'")))


def excerpts(target: Target, _: random.Random) -> int:
    return _get(target, f"{target.long_text}?fields=content_html:excerpt(9999999)")


def pages(target: Target, choice: random.Random) -> int:
    return _get(target, target.path(f"perPage={choice.choice((1, 6, 1000))}"))


def slow_readers(target: Target, _: random.Random) -> int:
    """Reads a few kilobytes a second of an answer of 4.9 MB."""
    connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=60)
    try:
        connection.request("GET", target.path("perPage=1"), headers=_host(target))
        answer = connection.getresponse()
        for _ in range(20):
            answer.read(1_024)
            time.sleep(0.1)
        return answer.status
    finally:
        connection.close()


def cookies(target: Target, _: random.Random) -> int:
    """Quotes that Python's own parser removes in quadratic time."""
    planted = 'a="' + '\\"' * 29_000 + '"'
    return _get(target, "/admin/sign-in", cookie=planted)


def forms(target: Target, _: random.Random) -> int:
    path = "/api/collections/blog_members/records/abcdefghij01234"
    body = upload_bytes(path, _host(target), {}, _FILE).replace(b"POST", b"PATCH", 1)
    return _post(target, body)


def logins(target: Target, _: random.Random) -> int:
    body = b'{"identity": [' + b"[]," * 2_700_000 + b"1]}"
    return _send(target, SIGN_IN, body, {"Content-Type": "application/json"})


def markup(target: Target, choice: random.Random) -> int:
    """An author saves HTML that takes minutes to parse, if it is parsed to the end."""
    html = choice.choice(_COSTLY)
    body = json.dumps({"title": "x", "status": "published", "content_html": html}).encode()
    return _send_json(target, POSTS, body)


def long_pages(target: Target, choice: random.Random) -> int:
    """A post of 4.8 MB, which no cache keeps."""
    return _get(target, f"/posts/1?{choice.random()}")


def bodies(target: Target, choice: random.Random) -> int:
    """An author's forms and documents as large as they may be, and larger."""
    size = choice.choice((4_000_000, 7_900_000, 20_000_000))
    if choice.random() < 0.5:
        nodes = b'{"type":"paragraph"},' * (size // 21)
        body = b'{"title":"x","content_json":{"type":"doc","content":[' + nodes + b"1]}}"
        return _send_json(target, POSTS, body)
    form = b"title=x&content_html=" + b"%3C" * (size // 3)
    return _send_form(target, "/admin/posts/new", form)


def unfinished_bodies(target: Target, choice: random.Random) -> int:
    """A guest begins 50 bodies of 3 MB at once, and sends a byte of each now and then."""
    path = choice.choice(("/api/realtime", "/api/mail/events/generic", "/api/ai/generate"))
    head = f"POST {path} HTTP/1.1\r\nHost: attacked.localhost:{target.port}\r\n"
    size = 500_000 if "ai" in path else 3_000_000
    head += f"Content-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    connections = [socket.create_connection(("127.0.0.1", target.port)) for _ in range(50)]
    try:
        for each in connections:
            each.settimeout(1.0)
            # A server that reads no more leaves the rest here, or has closed.
            with suppress(OSError):
                each.sendall(head.encode() + b'{"clientId":"' + b"x" * (size - 1_000))
        for each in connections * 2:
            with suppress(OSError):
                each.send(b"x")
        with suppress(OSError):
            return int(connections[0].recv(100)[9:12] or 0)
        return 0
    finally:
        for each in connections:
            each.close()


def markdown(target: Target, choice: random.Random) -> int:
    """An author saves Markdown that takes the parser long, short and long texts of it."""
    text = choice.choice(_COSTLY_MARKDOWN)
    body = json.dumps({"title": "x", "content_markdown": text}).encode()
    return _send_json(target, POSTS, body)


def differences(target: Target, _: random.Random) -> int:
    """An author compares two states of 640 KB."""
    return _get(target, target.difference, Cookie=f"pb_auth={target.token}")


def raising_mailings(target: Target, _: random.Random) -> int:
    """A mailing whose emails can't be made, again as soon as it has failed. Slower than the plan's
    limit of calls, which would refuse the rest."""
    time.sleep(1.0)
    body = json.dumps({"post_id": target.long_text.rpartition("/")[2]}).encode()
    return _send_json(target, "/api/v1/mailings", body, Authorization=f"Bearer {target.key}")


_COSTLY: Final = (
    "<p>" + "".join(f"<b id={number}>" for number in range(98)) + "<p>x" * 2_000,
    "<rt>" * 12_000,
    "<p " + " ".join(f"a{number}=1" for number in range(100_000)) + ">x",
    "<" * 4_900_000,
    "<span><div></span></div>" * 12_000,
)

_COSTLY_MARKDOWN: Final = (
    "[" * 1_000,
    "![" * 500,
    "[" * 150_000,
    "![" * 100_000,
    "*a _b " * 40_000,
    "words " * 45_000,
)

ATTACKS: Final[dict[str, Attack]] = {
    "filters": filters,
    "thumbs": thumbs,
    "containment": containment,
    "excerpts": excerpts,
    "pages": pages,
    "slow readers": slow_readers,
    "cookies": cookies,
    "forms": forms,
    "logins": logins,
    "markup": markup,
    "long pages": long_pages,
    "bodies": bodies,
    "differences": differences,
    "unfinished bodies": unfinished_bodies,
    "Markdown": markdown,
    "raising mailings": raising_mailings,
}
RATIOS: Final = dict.fromkeys(("unfinished bodies", "Markdown", "raising mailings"), 5)
_FILE: Final = b"x" * (20 * 1024 * 1024)
_CLOSE: Final = {"Connection": "close"}


def _host(target: Target) -> dict[str, str]:
    return {"Host": f"{SITE}.localhost:{target.port}"}


def _send_json(target: Target, path: str, body: bytes, **headers: str) -> int:
    signed = headers or {"Authorization": target.token}
    return _send(target, path, body, {"Content-Type": "application/json", **signed})


def _send_form(target: Target, path: str, body: bytes) -> int:
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Cookie": f"pb_auth={target.token}",
        "Origin": f"http://{SITE}.localhost:{target.port}",
    }
    return _send(target, path, body, headers)


def _send(target: Target, path: str, body: bytes, headers: dict[str, str]) -> int:
    about = _host(target) | headers | _CLOSE | {"Content-Length": str(len(body))}
    return _post(target, request_bytes("POST", path, about) + body)


def _get(target: Target, path: str, **headers: str) -> int:
    return _post(target, request_bytes("GET", path, _host(target) | headers | _CLOSE))


def _post(target: Target, request: bytes) -> int:
    return answer_to(target.port, request, 0).status


def _attack(target: Target, pipe: Connection) -> None:
    """In a process of its own; takes names and seconds, returns the count of each status."""
    with ThreadPoolExecutor(THREADS) as pool:
        while True:
            name, seconds = pipe.recv()
            deadlines = [time.monotonic() + seconds] * THREADS
            each = pool.map(lambda until, name=name: _repeat(name, target, until), deadlines)  # type: ignore[misc]
            pipe.send(sum(each, Counter[str]()))


def _repeat(name: str, target: Target, until: float) -> Counter[str]:
    choice, statuses = random.Random(f"{name} {time.monotonic_ns()}"), Counter[str]()
    while time.monotonic() < until:
        try:
            statuses[str(ATTACKS[name](target, choice))] += 1
        except (OSError, http.client.HTTPException) as error:
            statuses[type(error).__name__] += 1
    return statuses


def main() -> None:
    given = options("abuse", __doc__, only="", seconds=10.0)
    with place(given.engine) as installed:
        long_text, revision, key = installed.make(build)
        with installed.serving() as (port, pid):
            token = _token(port)
            target = Target(port, _upload_picture(port, token), long_text, revision, token, key)
            with process.child(_attack, target) as pipe:
                finish(measured(target, pid, pipe, given))


def measured(
    target: Target, pid: int, pipe: Connection, given: argparse.Namespace
) -> Iterator[Figure]:
    host = {"Host": f"{NEIGHBOUR}.localhost:{target.port}"}
    paths = {"health": "/api/health", "list": POSTS}
    other = Neighbour(
        target.port, {name: ("GET", path, host, None) for name, path in paths.items()}
    )
    for name in ATTACKS:
        if given.only in name:
            yield from _attacked(name, other, pid, pipe, given.seconds)


def _attacked(
    name: str, other: Neighbour, pid: int, pipe: Connection, seconds: float
) -> Iterator[Figure]:
    def attack() -> None:
        pipe.send((name, seconds))
        print(f"{name}: {dict(pipe.recv())}", file=sys.stderr)

    # A warm-up, which fills bounded caches.
    pipe.send((name, WARM_UP_SECONDS))
    pipe.recv()
    process.wait_until_calm(pid)
    quiet, before = other.quiet(seconds), process.anonymous_megabytes(pid)
    busy = other.during(attack)
    yield from growths(quiet, busy, RATIOS.get(name, MOST_TIMES), f"during {name}")
    grown = _settled_megabytes(pid, before + MOST_MEGABYTES) - before
    yield Figure(f"memory after {name}", grown, "MB more", most=MOST_MEGABYTES)


def _settled_megabytes(pid: int, limit: float) -> float:
    """Memory once it is below the limit, or the lowest value in half a minute."""
    deadline, lowest = time.monotonic() + MEMORY_SECONDS, process.anonymous_megabytes(pid)
    while lowest > limit and time.monotonic() < deadline:
        time.sleep(0.5)
        lowest = min(lowest, process.anonymous_megabytes(pid))
    return lowest


async def build(parts: Services) -> tuple[str, str, str]:
    """The paths of a post and of the page of an earlier state of the attacked site, and a key."""
    records, posts = parts.records, parts.records.registry["posts"]
    await new_neighbour(parts)
    tenant_id = await new_site(parts, SITE)
    caller = system(tenant_id)
    for number, text in enumerate(["a" * 350_000, *[_LONG] * 20, "&lt;" * 1_200_000]):
        values = {"title": f"{number}", "content_html": text, "status": "published"}
        made = await records.create(caller, posts, values)
        # One by one, because indexing long texts takes seconds.
        await records.search_index.run_batch()
    revision = await _earlier_state(records, caller)
    await _spoil_newsletter(records, caller)
    return f"{POSTS}/{made['id']}", revision, await new_key(parts, tenant_id)


async def _spoil_newsletter(records: Records, caller: Caller) -> None:
    """With a reader, and an accent that is no colour: its letters can't be drawn."""
    assert caller.tenant_id is not None
    reader = {"email": "reader@example.com", "newsletter": True}
    await records.create(caller, records.registry["blog_members"], reader)
    newsletters = tables["newsletters"]
    spoil = records.database.compile(
        sa.update(newsletters)
        .where(newsletters.c.tenant_id == sa.bindparam("tenant"))
        .values(accent_color="none")
    )
    async with records.database.transaction(scope_of(caller.tenant_id)) as tx:
        await tx.execute(spoil, spoil.bind({"tenant": caller.tenant_id}))


async def _earlier_state(records: Records, caller: Caller) -> str:
    """The path of an earlier state: a text of 640 KB in one block."""
    posts, words = records.registry["posts"], "word " * 128_000
    draft = await records.create(caller, posts, {"title": "d", "content_html": f"<p>{words}</p>"})
    # Another status ends the sitting, and with it a state.
    changes = {"status": "published", "content_html": f"<p>{words}end</p>"}
    await records.update(caller, posts, draft["id"], changes)
    wanted = {"post_id": draft["id"]}
    [state] = await records.find(
        records.registry["post_revisions"], wanted, tenant_id=caller.tenant_id
    )
    return f"/admin/posts/{draft['id']}/revisions/{state['id']}"


def truncated_picture(side: int = 6_300) -> bytes:
    """A PNG with large dimensions that ends in the middle of its pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(bytes(3 * side * 100)))
    return b"\x89PNG\r\n\x1a\n" + head + pixels[: len(pixels) // 2]


def _token(port: int) -> str:
    credentials = {"identity": f"owner@{SITE}.example", "password": PASSWORD}
    host = {"Host": f"{SITE}.localhost:{port}"}
    return str(call(port, "POST", SIGN_IN, credentials, host)["token"])


def _upload_picture(port: int, token: str) -> str:
    headers = {"Host": f"{SITE}.localhost:{port}", "Authorization": token, "Connection": "close"}
    media = "/api/collections/media/records"
    made = send(port, upload_bytes(media, headers, {}, truncated_picture()), 0)
    return f"/api/files/media/{made['id']}/{made['file']}"


if __name__ == "__main__":
    main()
