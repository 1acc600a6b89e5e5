"""A full disk: reads go on, writes are refused with the reason, and the operator is told."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from tests.databases import empty_postgres_url
from tests.log_lines import capture_logs
from tests.v1.keys import key_client
from tests.world import TenantWorld, World, open_world, records_of

from masthead.base.errors import Unavailable
from masthead.identity.limits.store_sqlite import SqliteLimitStore
from masthead.service.cli.installation_checks import data_dir, storage
from masthead.storage import disk
from masthead.storage.local_objects import WRITE_BYTES, LocalObjectStore
from masthead.storage.migrate import migrate

POSTS = "/api/v1/posts"
LARGE = "<p>" + "long words " * 40_000 + "</p>"
_FULL = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON posts FOR EACH ROW EXECUTE FUNCTION refuse();
"""


@asynccontextmanager
async def no_room(world: World) -> AsyncIterator[None]:
    """The database itself refuses to grow, with the error that it has for a full disk."""
    url = world.parts.settings.database_url
    if url.startswith("postgresql"):
        server = await asyncpg.connect(url)
        await server.execute(_FULL)
        try:
            yield
        finally:
            await server.execute("DROP TRIGGER full_disk ON posts; DROP FUNCTION refuse")
            await server.close()
        return
    database: Any = world.parts.database
    connection = database._writer.connection
    # What tests before have deleted would be room.
    ((free,), (size,)) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("freelist_count", "page_size")
    )
    connection.execute(f"CREATE TABLE filler AS SELECT zeroblob({free * size})")
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    try:
        yield
    finally:
        connection.execute("PRAGMA max_page_count = 1073741823")
        connection.execute("DROP TABLE filler")


async def health(world: World) -> tuple[int, dict[str, Any]]:
    answer = await world.client().get("/api/health")
    body = answer.json()
    return answer.status_code, {name: body.get(name) for name in ("status", "pb", "error")}


OK = (200, {"status": "ok", "pb": "ok", "error": None})
FULL = (200, {"status": "degraded", "pb": "degraded", "error": "disk_full"})


async def recovered(world: World) -> None:
    async with asyncio.timeout(120):
        while await health(world) != OK:
            await asyncio.sleep(0.1)


def assert_full(answer: httpx.Response) -> None:
    assert answer.status_code == 503, answer.text
    assert int(answer.headers["retry-after"]) > 0


@pytest.fixture(autouse=True)
def nothing_is_logged_yet() -> None:
    disk.logged.clear()


def test_two_files_on_one_disk_have_one_line_a_minute(tmp_path: Path) -> None:
    database, limits, elsewhere = (
        disk.DiskState(each) for each in (tmp_path, tmp_path, tmp_path / "elsewhere")
    )
    with capture_logs() as logs:
        for each in (database, limits, elsewhere):
            each.note_full(OSError("full"))
    assert [each["folder"] for each in logs] == [str(tmp_path), str(tmp_path / "elsewhere")]


async def test_writes_are_refused_with_the_reason_and_reads_go_on(
    app: World, tenant: TenantWorld
) -> None:
    api = await key_client(tenant)
    owner = (await tenant.owner()).api
    await tenant.published(title="Still there")
    with capture_logs() as logs:
        async with no_room(app):
            for _ in range(2):
                refused = await api.post(POSTS, json={"title": "x", "content_html": LARGE})
                assert_full(refused)
                assert refused.json()["error"]["code"] == "DISK_FULL"
            stored = await owner.post(
                records_of("posts"), json={"title": "x", "content_html": LARGE}
            )
            assert_full(stored)
            assert stored.json()["code"] == "disk_full"
            assert await health(app) == FULL
            assert (await api.get(POSTS)).json()["total"] == 1
            assert (await tenant.guest.get("/posts/still-there")).status_code == 200
    named = [each for each in logs if each["event"] == "storage.disk_full"]
    assert [each["log_level"] for each in named] == ["error"]
    assert named[0]["cause"]
    failed = [each for each in logs if each["event"] == "request.failed"]
    assert [(each["status"], each["error"]) for each in failed] == 3 * [(503, "DiskFull")]
    made = await api.post(POSTS, json={"title": "x", "content_html": LARGE})
    assert made.status_code == 201
    await recovered(app)


async def test_calls_are_counted_in_memory_while_the_counters_have_no_room(tmp_path: Path) -> None:
    store: Any = SqliteLimitStore(tmp_path / "limits.db")
    try:
        (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        subject, counts = "x" * 200_000, []
        for _ in range(3):
            counts.append(
                await store.update("t", [subject], lambda old: ([old[0] + b"1"], len(old[0])))
            )
        assert counts == [0, 1, 2]
    finally:
        await store.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with small_file_system(tmp_path / "disk") as folder:
        yield folder


@contextmanager
def small_file_system(folder: Path) -> Iterator[Path]:
    """Only root can mount one."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("needs root, to mount a small file system")
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "masthead-test", str(folder)]
    made = subprocess.run(mount, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"needs the right to mount a file system ({made.stderr.strip()})")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
        folder.rmdir()


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    file = folder / "filler"
    with file.open("wb", buffering=0) as filler:
        try:
            while True:
                filler.write(b"x" * 4096)
        except OSError:
            pass
    yield
    file.unlink()


async def test_a_file_system_without_space(small_disk: Path) -> None:
    url = f"sqlite:///{small_disk}/own.db"
    await migrate(url)
    world = await open_world(url, small_disk)
    try:
        tenant = await world.new_tenant("demo", slug="demo")
        api = await key_client(tenant)
        await tenant.published(title="Still there")
        with filled(small_disk):
            assert_full(await api.post(POSTS, json={"title": "x", "content_html": LARGE}))
            upload = await api.post("/api/v1/media", files={"file": ("a.txt", b"text" * 50_000)})
            assert_full(upload)
            assert upload.json()["error"]["code"] == "DISK_FULL"
            for _ in range(3):
                listed = await api.get(POSTS)
                assert (listed.status_code, listed.json()["total"]) == (200, 1)
            assert (await tenant.guest.get("/posts/still-there")).status_code == 200
            assert await health(world) == FULL
            settings = world.parts.settings
            for check in (data_dir, storage):
                state, advice = await check(settings)
                assert (str(state), "is full; free space" in advice) == ("fail", True), advice
        assert (await api.post(POSTS, json={"title": "x"})).status_code == 201
        await recovered(world)
    finally:
        await world.parts.close()


async def test_a_file_system_that_became_read_only(small_disk: Path) -> None:
    """As one does that has found an error."""
    store, large = LocalObjectStore(small_disk), b"x" * 2 * WRITE_BYTES

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(large), 65_536):
            yield large[start : start + 65_536]

    await store.put("a/kept.txt", b"kept")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(Unavailable):
        await store.put("a/small.txt", b"small")
    with pytest.raises(Unavailable):
        await store.put("a/large.txt", pieces())
    with pytest.raises(Unavailable):
        await store.delete("a/kept.txt")
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    await store.put("a/large.txt", pieces())
    assert sorted([key async for key in store.list_keys("a")]) == ["a/kept.txt", "a/large.txt"]


@asynccontextmanager
async def posts_on_a_small_disk(url: str) -> AsyncIterator[Path]:
    """The table of posts in a tablespace of its own, on the disk of the PostgreSQL server."""
    server = await asyncpg.connect(url)
    data = Path(await server.fetchval("SHOW data_directory"))
    name = f"small_{os.getpid()}"
    with small_file_system(data.parent / name) as disk:
        folder = disk / "tables"
        folder.mkdir()
        owner = data.stat()
        os.chown(folder, owner.st_uid, owner.st_gid)
        await server.execute(f"CREATE TABLESPACE {name} LOCATION '{folder}'")
        try:
            await server.execute(f"ALTER TABLE posts SET TABLESPACE {name}")
            yield disk
        finally:
            await server.execute("ALTER TABLE posts SET TABLESPACE pg_default")
            await server.execute(f"DROP TABLESPACE {name}")
            await server.close()


@pytest.mark.sweep
async def test_the_disk_of_a_postgresql_server_without_space(tmp_path: Path) -> None:
    url = empty_postgres_url()
    await migrate(url)
    # Nothing that the server could compress.
    large = f"<p>{secrets.token_hex(200_000)}</p>"
    async with posts_on_a_small_disk(url) as disk:
        world = await open_world(url, tmp_path)
        try:
            tenant = await world.new_tenant("demo", slug="demo")
            api = await key_client(tenant)
            await tenant.published(title="Still there")
            with filled(disk):
                refused = await api.post(POSTS, json={"title": "x", "content_html": large})
                assert_full(refused)
                assert refused.json()["error"]["code"] == "DISK_FULL"
                listed = await api.get(POSTS)
                assert (listed.status_code, listed.json()["total"]) == (200, 1)
                assert (await tenant.guest.get("/posts/still-there")).status_code == 200
                # It says so for two seconds after a refusal, if smaller writes succeed.
                async with asyncio.timeout(120):
                    while await health(world) != FULL:
                        assert_full(
                            await api.post(POSTS, json={"title": "x", "content_html": large})
                        )
            made = await api.post(POSTS, json={"title": "x", "content_html": large})
            assert made.status_code == 201
            await recovered(world)
        finally:
            await world.parts.close()
