"""`python -m bench.abuse`: how attacks by guests, and by authors of a site, affect other tenants.

Each attack runs for ten seconds against a real `masthead serve`, from a separate process, while a
regular client requests the health check and a list of another tenant. Exits with 1 if one of these
takes more than ten times its p99 without the attack (five times in newer rows), or if memory does
not return to within 20 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import random
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import Final
from urllib.parse import quote

import sqlalchemy as sa

from bench import datasets, process
from bench.databases import POSTGRESQL, SQLITE, databases
from bench.http import send, upload_bytes
from masthead.base.caller import Caller, system
from masthead.base.config.settings import Settings
from masthead.base.ids import TenantId, new_id
from masthead.engine.records.engine import Records
from masthead.identity.api_keys import create_key
from masthead.identity.given_passwords import new_credentials
from masthead.service.schema import tables
from masthead.service.services import bring_up_to_date
from masthead.service.services import build as build_parts
from masthead.storage.database import scope_of

SECONDS: Final = 10.0
WARM_UP_SECONDS: Final = 2.0
MAX_RATIO: Final = 10.0
NEWER_RATIO: Final = 5.0
MAX_MEGABYTES: Final = 20.0
MEMORY_SECONDS: Final = 30.0
"""In which memory has to return after an attack."""
THREADS: Final = 4
PAUSE_SECONDS: Final = 0.01
POSTS: Final = "/api/collections/posts/records"
EMAIL, PASSWORD = "bench@example.com", "bench-password-1"
OWNER = "owner@example.com"
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
    """Of an owner of the attacked site."""
    key: str = ""
    """An API key of the attacked site."""

    def path(self, query: str) -> str:
        return f"{POSTS}?{query}"


Attack = Callable[[Target, random.Random], tuple[int, int]]
"""Sends one request; returns its status and the bytes of its answer."""


def filters(target: Target, choice: random.Random) -> tuple[int, int]:
    """A filter of 199 comparisons that no other request has had."""
    parts = [choice.choice(("tags?~'1'", "tags?!~'1'", "title~title")) for _ in range(199)]
    return _get(target, target.path("filter=" + quote("||".join(parts))))


def thumbs(target: Target, _: random.Random) -> tuple[int, int]:
    return _get(target, f"{target.picture}?thumb=100x100")


def containment(target: Target, choice: random.Random) -> tuple[int, int]:
    wanted = "a" * choice.randint(1_000, 1_500) + "b"
    return _get(target, target.path("filter=" + quote(f"content_html~'{wanted}'")))


def excerpts(target: Target, _: random.Random) -> tuple[int, int]:
    return _get(target, f"{target.long_text}?fields=content_html:excerpt(9999999)")


def pages(target: Target, choice: random.Random) -> tuple[int, int]:
    return _get(target, target.path(f"perPage={choice.choice((1, 6, 1000))}"))


def slow_readers(target: Target, _: random.Random) -> tuple[int, int]:
    """Reads a few kilobytes a second of an answer of 4.9 MB."""
    connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=60)
    try:
        connection.request("GET", target.path("perPage=1"), headers=_host(target, "attacked"))
        answer = connection.getresponse()
        size = 0
        for _ in range(20):
            size += len(answer.read(1_024))
            time.sleep(0.1)
        return answer.status, size
    finally:
        connection.close()


def cookies(target: Target, _: random.Random) -> tuple[int, int]:
    """Quotes that Python's own parser removes in quadratic time."""
    planted = 'a="' + '\\"' * 29_000 + '"'
    return _get(target, "/admin/sign-in", cookie=planted)


def forms(target: Target, _: random.Random) -> tuple[int, int]:
    path = "/api/collections/blog_members/records/abcdefghij01234"
    body = upload_bytes(path, _host(target, "attacked"), {}, _FILE).replace(b"POST", b"PATCH", 1)
    return _post(target, body)


def logins(target: Target, _: random.Random) -> tuple[int, int]:
    path = "/api/collections/_superusers/auth-with-password"
    head = f"POST {path} HTTP/1.1\r\nHost: attacked.localhost:{target.port}\r\n"
    body = b'{"identity": [' + b"[]," * 2_700_000 + b"1]}"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return _post(target, head.encode() + body)


def markup(target: Target, choice: random.Random) -> tuple[int, int]:
    """An author saves HTML that takes minutes to parse, if it is parsed to the end."""
    html = choice.choice(_COSTLY)
    body = json.dumps({"title": "x", "status": "published", "content_html": html}).encode()
    return _send_json(target, POSTS, body)


def long_pages(target: Target, choice: random.Random) -> tuple[int, int]:
    """A post of 4.8 MB, which no cache keeps."""
    return _get(target, f"/posts/1?{choice.random()}")


def bodies(target: Target, choice: random.Random) -> tuple[int, int]:
    """An author's forms and documents as large as they may be, and larger."""
    size = choice.choice((4_000_000, 7_900_000, 20_000_000))
    if choice.random() < 0.5:
        nodes = b'{"type":"paragraph"},' * (size // 21)
        body = b'{"title":"x","content_json":{"type":"doc","content":[' + nodes + b"1]}}"
        return _send_json(target, POSTS, body)
    form = b"title=x&content_html=" + b"%3C" * (size // 3)
    return _send_form(target, "/admin/posts/new", form)


def unfinished_bodies(target: Target, choice: random.Random) -> tuple[int, int]:
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
            return int(connections[0].recv(100)[9:12] or 0), 0
        return 0, 0
    finally:
        for each in connections:
            each.close()


def markdown(target: Target, choice: random.Random) -> tuple[int, int]:
    """An author saves Markdown that takes the parser long, short and long texts of it."""
    text = choice.choice(_COSTLY_MARKDOWN)
    body = json.dumps({"title": "x", "content_markdown": text}).encode()
    return _send_json(target, POSTS, body)


def differences(target: Target, _: random.Random) -> tuple[int, int]:
    """An author compares two states of 640 KB."""
    return _get(target, target.difference, Cookie=f"pb_auth={target.token}")


def raising_mailings(target: Target, _: random.Random) -> tuple[int, int]:
    """A mailing whose emails can't be made, again as soon as it has failed. Slower than the plan's
    limit of calls, which would refuse the rest."""
    time.sleep(1.0)
    body = json.dumps({"post_id": target.long_text.rpartition("/")[2]}).encode()
    key = f"Authorization: Bearer {target.key}"
    return _send(target, "/api/v1/mailings", body, "application/json", key)


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
RATIOS: Final = dict.fromkeys(("unfinished bodies", "Markdown", "raising mailings"), NEWER_RATIO)
_FILE: Final = b"x" * (20 * 1024 * 1024)


def _host(target: Target, tenant: str) -> dict[str, str]:
    return {"Host": f"{tenant}.localhost:{target.port}"}


def _send_json(target: Target, path: str, body: bytes) -> tuple[int, int]:
    return _send(target, path, body, "application/json", f"Authorization: {target.token}")


def _send_form(target: Target, path: str, body: bytes) -> tuple[int, int]:
    origin = f"http://attacked.localhost:{target.port}"
    kind = "application/x-www-form-urlencoded"
    return _send(target, path, body, kind, f"Cookie: pb_auth={target.token}\r\nOrigin: {origin}")


def _send(target: Target, path: str, body: bytes, kind: str, headers: str) -> tuple[int, int]:
    head = f"POST {path} HTTP/1.1\r\nHost: attacked.localhost:{target.port}\r\n{headers}\r\n"
    head += f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return _post(target, head.encode() + body)


def _get(target: Target, path: str, **headers: str) -> tuple[int, int]:
    connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=60)
    try:
        connection.request("GET", path, headers=_host(target, "attacked") | headers)
        answer = connection.getresponse()
        return answer.status, len(answer.read())
    finally:
        connection.close()


def _post(target: Target, request: bytes) -> tuple[int, int]:
    connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=60)
    try:
        connection.connect()
        # The server may answer and close before it has read the whole request.
        with suppress(OSError):
            connection.sock.sendall(request)
        answer = http.client.HTTPResponse(connection.sock)
        answer.begin()
        return answer.status, len(answer.read())
    finally:
        connection.close()


def run_attack(name: str, target: Target, seconds: float) -> dict[str, int]:
    """In this process, from several connections; returns the count of each status."""
    attack, deadline = ATTACKS[name], time.monotonic() + seconds
    statuses: Counter[str] = Counter()

    def run(number: int) -> None:
        choice = random.Random(f"{name} {number} {time.monotonic_ns()}")
        while time.monotonic() < deadline:
            try:
                statuses[str(attack(target, choice)[0])] += 1
            except (OSError, http.client.HTTPException) as error:
                statuses[type(error).__name__] += 1

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return dict(statuses)


@contextmanager
def attack_process(name: str, target: Target, seconds: float) -> Iterator[subprocess.Popen[bytes]]:
    """A separate process, so that the regular client has its own interpreter."""
    encoded = json.dumps(asdict(target))
    arguments = ["--attack", name, "--seconds", str(seconds), "--target", encoded]
    command = [sys.executable, "-m", "bench.abuse", *arguments]
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


@dataclass(frozen=True)
class Latencies:
    """p99 of the regular client in milliseconds, and the number of answers other than 200."""

    health: float
    list: float
    failed: int = 0


def measure_client(port: int, is_over: Callable[[], bool]) -> Latencies:
    """A regular client: the health check and a list in turns, some fifty times a second."""
    by_path: dict[str, list[float]] = {"/api/health": [], POSTS: []}
    failed = 0
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        while not is_over():
            for path, latencies in by_path.items():
                began = time.perf_counter()
                connection.request("GET", path, headers={"Host": f"regular.localhost:{port}"})
                answer = connection.getresponse()
                answer.read()
                latencies.append(time.perf_counter() - began)
                failed += answer.status != 200
                time.sleep(PAUSE_SECONDS)
    finally:
        connection.close()
    return Latencies(*(_p99(latencies) for latencies in by_path.values()), failed)


def _p99(latencies: list[float]) -> float:
    ordered = sorted(latencies)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1_000


@dataclass(frozen=True)
class Row:
    name: str
    quiet: Latencies
    attacked: Latencies
    before: float
    after: float
    statuses: dict[str, int]

    @property
    def is_met(self) -> bool:
        ratio = RATIOS.get(self.name, MAX_RATIO)
        return (
            self.attacked.health <= ratio * self.quiet.health
            and self.attacked.list <= ratio * self.quiet.list
            and self.after <= self.before + MAX_MEGABYTES
            and not self.attacked.failed
        )

    def cells(self) -> list[str]:
        return [
            self.name,
            *_compared(self.quiet.health, self.attacked.health),
            *_compared(self.quiet.list, self.attacked.list),
            f"{self.attacked.failed}",
            f"{self.before:.0f} -> {self.after:.0f}",
            "met" if self.is_met else "NOT MET",
            ", ".join(f"{count} x {status}" for status, count in sorted(self.statuses.items())),
        ]


def _compared(quiet: float, attacked: float) -> tuple[str, str]:
    return f"{quiet:.1f} -> {attacked:.1f}", f"{attacked / quiet:.1f} x"


HEADER: Final = [
    "attack",
    "health p99 ms",
    "ratio",
    "list p99 ms",
    "ratio",
    "failed",
    "memory MB",
    "verdict",
    "answers",
]


def table(rows: list[Row]) -> str:
    lines = [HEADER, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def measure(name: str, target: Target, pid: int, seconds: float) -> Row:
    # A warm-up, which fills bounded caches.
    with attack_process(name, target, WARM_UP_SECONDS) as child:
        child.wait()
    _settled_megabytes(pid, 0.0)
    ends = time.monotonic() + seconds
    quiet = measure_client(target.port, lambda: time.monotonic() > ends)
    before = process.anonymous_megabytes(pid)
    with attack_process(name, target, seconds) as child:
        attacked = measure_client(target.port, lambda: child.poll() is not None)
        statuses = json.loads(child.stdout.read() if child.stdout else b"{}")
    after = _settled_megabytes(pid, before + MAX_MEGABYTES)
    return Row(name, quiet, attacked, before, after, statuses)


def _settled_megabytes(pid: int, limit: float) -> float:
    """Memory once it is below the limit, or the lowest value in half a minute."""
    deadline = time.monotonic() + (MEMORY_SECONDS if limit else 3.0)
    lowest = process.anonymous_megabytes(pid)
    while lowest > limit and time.monotonic() < deadline:
        time.sleep(0.5)
        lowest = min(lowest, process.anonymous_megabytes(pid))
    return lowest


async def build(settings: Settings) -> tuple[str, str, str]:
    """Two tenants, one with the data that the attacks need. Returns the paths of a post and of the
    page of an earlier state, and an API key."""
    await bring_up_to_date(settings)
    parts = await build_parts(settings)
    try:
        records = parts.records
        superusers = records.registry["_superusers"]
        credentials = await new_credentials({"password": PASSWORD}, required=True)
        await records.create(system(), superusers, {"email": EMAIL}, stamped=credentials)
        posts = records.registry["posts"]
        for slug, texts in (
            ("regular", ["<p>Some words of a post.</p>" * 40] * 100),
            ("attacked", ["a" * 350_000, *[_LONG] * 20, "&lt;" * 1_200_000]),
        ):
            tenant_id = TenantId(new_id())
            caller = system(tenant_id)
            async with records.unit(caller, emit_events=False) as unit:
                tenant = {"id": tenant_id, "slug": slug, "name": slug, "plan": "business"}
                await unit.create(records.registry["tenants"], tenant)
                site = {"slug": slug, "site_name": slug}
                await unit.create(records.registry["site_settings"], site)
            for number, text in enumerate(texts):
                values = {"title": f"{number}", "content_html": text, "status": "published"}
                made = await records.create(caller, posts, values)
        owner = {"email": OWNER, "role": "owner"}
        await records.create(caller, superusers, owner, stamped=credentials)
        revision = await _earlier_state(records, caller)
        # Before the measurement, because indexing long texts takes seconds.
        while (await records.search_index.run_batch()).indexed:
            pass
        key = await _spoilt_newsletter(records, caller)
        return f"{POSTS}/{made['id']}", revision, key
    finally:
        await parts.close()


async def _spoilt_newsletter(records: Records, caller: Caller) -> str:
    """With a reader, and an accent that is no colour: its letters can't be drawn. Returns a key."""
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
    _, key = await create_key(records, caller.tenant_id, "bench", ("mailings:write",))
    return key


async def _earlier_state(records: Records, caller: Caller) -> str:
    """Of a text of 640 KB in one block."""
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


def signed_in(port: int, host: str, email: str) -> str:
    path = "/api/collections/_superusers/auth-with-password"
    credentials = json.dumps({"identity": email, "password": PASSWORD}).encode()
    login = f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
    login += f"Content-Length: {len(credentials)}\r\nConnection: close\r\n\r\n"
    token: str = send(port, login.encode() + credentials, 0)["token"]
    return token


def upload_picture(port: int) -> str:
    token = signed_in(port, "localhost", EMAIL)
    headers = {"Host": f"attacked.localhost:{port}", "Authorization": token, "Connection": "close"}
    media = "/api/collections/media/records"
    made = send(port, upload_bytes(media, headers, {}, truncated_picture()), 0)
    return f"/api/files/media/{made['id']}/{made['file']}"


def run(engine: str, only: str, seconds: float) -> list[Row]:
    with datasets.run_folder() as folder, databases(engine, folder) as new_database:
        url = new_database()
        data_dir = folder / "data"
        data_dir.mkdir()
        settings = Settings.from_environ({}, data_dir=data_dir, database_url=url)
        long_text, revision, key = asyncio.run(build(settings))
        with process.masthead(data_dir, {"MASTHEAD_DATABASE_URL": url}) as (port, server):
            token = signed_in(port, "attacked.localhost", OWNER)
            target = Target(port, upload_picture(port), long_text, revision, token, key)
            rows = []
            for each in ATTACKS:
                if only in each:
                    rows.append(measure(each, target, server.pid, seconds))
                    print("  ".join(rows[-1].cells()), flush=True)
            return compared(rows)


def compared(rows: list[Row]) -> list[Row]:
    """With the median of all quiet phases, because the machine may have been busy in one."""
    if not rows:
        return []
    quiet = Latencies(
        statistics.median(row.quiet.health for row in rows),
        statistics.median(row.quiet.list for row in rows),
    )
    return [replace(row, quiet=quiet) for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.abuse", description=__doc__)
    parser.add_argument("--engine", choices=(SQLITE, POSTGRESQL), default=SQLITE)
    parser.add_argument("--only", default="", help="attacks with this in their name")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--attack", choices=ATTACKS, help=argparse.SUPPRESS)
    parser.add_argument("--target", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.attack:
        print(json.dumps(run_attack(options.attack, Target(**options.target), options.seconds)))
        return
    rows = run(options.engine, options.only, options.seconds)
    print(f"\n{table(rows)}")
    sys.exit(0 if rows and all(row.is_met for row in rows) else 1)


if __name__ == "__main__":
    main()
