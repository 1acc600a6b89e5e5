"""Masthead, this version or an older one: made by its commands and its record store, which every
version has, and served by `masthead serve`."""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
import os
import sqlite3
import subprocess
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Final

import asyncpg

from bench import process
from bench.data import Post
from bench.http import request_bytes
from bench.service import EMAIL, KEYS, PASSWORD, PLENTY, CanNot, Service

_LIMITS: Final = tuple(f"--per-{each}={PLENTY}" for each in ("minute", "hour", "day"))
_SCOPES: Final = ("--scope", "posts:read", "--scope", "posts:write")
_MOST_WRITERS: Final = 8
_MOST_INDEX_SECONDS: Final = 120.0
_LOOK_SECONDS: Final = 0.2
_FIRST_QUEUED: Final = "SELECT 1 FROM search_queue LIMIT 1"


@dataclass
class MastheadService(Service):
    api: ClassVar = "/api/v1/posts"
    folder: Path = field(kw_only=True)
    database_url: str = field(kw_only=True)

    def wait_until_calm(self) -> None:
        """Also until its search index has all posts: the indexer pauses for requests, and a pause
        looks calm. What it had left to do would be a part of the next row."""
        deadline = time.monotonic() + _MOST_INDEX_SECONDS
        while self._is_behind() and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)
        super().wait_until_calm()

    def _is_behind(self) -> bool:
        if self.database_url:
            return asyncio.run(_postgres_is_behind(self.database_url))
        return _sqlite_is_behind(self.folder / "masthead.db")

    def host(self, site: str) -> dict[str, str]:
        return {"Host": f"{site}.localhost:{self.port}"}

    def key(self, site: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.keys[site]}"}

    def api_list(self, site: str, per_page: int) -> bytes:
        return request_bytes("GET", f"{self.api}?per_page={per_page}", self.keyed(site))

    def signed_in(self, site: str) -> dict[str, str]:
        """As a browser is."""
        return self.host(site) | {"Cookie": f"pb_auth={self.token}"}

    def page(self, site: str, path: str, *, is_signed_in: bool = False) -> bytes:
        headers = self.signed_in(site) if is_signed_in else self.host(site)
        return request_bytes("GET", path, headers)


@dataclass(frozen=True)
class Masthead:
    name: str = "Masthead"
    command: str = process.COMMAND
    workers: int = 1
    database_url: str = ""
    """A PostgreSQL database; without it, the folder has one of SQLite."""

    @property
    def version(self) -> str:
        """A digest of the current sources."""
        spec = find_spec("masthead")
        assert spec is not None
        assert spec.origin is not None
        package, digest = Path(spec.origin).parent, hashlib.sha256(Path(__file__).read_bytes())
        for pattern in ("**/storage/**/*.py", "**/collection.py"):
            for path in sorted(package.glob(pattern)):
                digest.update(path.read_bytes())
        return digest.hexdigest()[:12]

    def fill(self, folder: Path, posts: Iterable[Post]) -> None:
        made = list(posts)
        sites = list(dict.fromkeys(post.site for post in made))
        self.run(folder, "operator", "create", "--email", EMAIL, "--password", PASSWORD)
        keys = {site: self._new_site(folder, site) for site in sites}
        (folder / KEYS).write_text(json.dumps(keys))
        with self.serving(folder) as service:
            # A site's posts have an order only if each is later than the one before.
            writers = min(_MOST_WRITERS, max(1, len(sites) // 2))
            shares: list[list[Post]] = [[] for _ in range(writers)]
            for post in made:
                shares[sites.index(post.site) % writers].append(post)
            with ThreadPoolExecutor(writers) as pool:
                list(pool.map(lambda share: _create(service, share), shares))
            service.wait_until_calm()

    def _new_site(self, folder: Path, site: str) -> str:
        """Returns a key."""
        owner = ("--owner-email", f"owner@{site}.example", "--owner-password", PASSWORD)
        new = ("--slug", site, "--name", site.title(), "--plan", "enterprise")
        self.run(folder, "tenant", "create", *new, *owner)
        self.run(folder, "tenant", "set-plan", site, "enterprise", *_LIMITS)
        made = self.run(folder, "key", "create", "--tenant", site, "--name", "bench", *_SCOPES)
        return str(json.loads(made)["key"])

    def run(self, folder: Path, *arguments: str) -> str:
        environment = {"MASTHEAD_DATA_DIR": str(folder), "PYTHONDONTWRITEBYTECODE": ""}
        environment |= self._database
        done = subprocess.run(
            [self.command, *arguments, *(() if arguments[0] == "--version" else ("--json",))],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            said = done.stderr.strip() or done.stdout.strip()
            raise CanNot(f"masthead {' '.join(arguments[:2])}: {said}")
        return done.stdout

    @contextmanager
    def serving(self, folder: Path) -> Iterator[MastheadService]:
        workers = f"--workers={self.workers}"
        started = process.masthead(folder, self._database, workers, command=self.command)
        with started as (port, server):
            keys, url = json.loads((folder / KEYS).read_text()), self.database_url
            yield MastheadService(port, server.pid, keys, folder=folder, database_url=url)

    @property
    def _database(self) -> dict[str, str]:
        return {"MASTHEAD_DATABASE_URL": self.database_url} if self.database_url else {}


def _sqlite_is_behind(database: Path) -> bool:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        try:
            return connection.execute(_FIRST_QUEUED).fetchone() is not None
        except sqlite3.OperationalError:
            # A version without this queue, or one that writes its first tables.
            return False


async def _postgres_is_behind(url: str) -> bool:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(_FIRST_QUEUED) is not None
    except asyncpg.UndefinedTableError:
        return False
    finally:
        await connection.close()


def _create(service: MastheadService, posts: list[Post]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    for post in posts:
        headers = service.signed(post.site) | {"Content-Type": "application/json"}
        connection.request("POST", service.records, json.dumps(post.fields()), headers)
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise RuntimeError(f"a post could not be made: {response.status} {answer.decode()}")
    connection.close()
