"""The object store, on local files and on a real S3 server."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
import textwrap
import time
import tracemalloc
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from masthead.base.errors import NotFound, TooLarge, Unavailable
from masthead.storage.local_objects import LocalObjectStore
from masthead.storage.objects import PART_BYTES, InvalidKey, ObjectStore, RangeOutside, check_key
from masthead.storage.open_objects import open_object_store

if TYPE_CHECKING:
    from tests.object_stores import S3Server


@pytest.fixture(params=["local", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    if request.param == "local":
        return open_object_store(f"file://{tmp_path}/my%20media")
    server: S3Server = request.getfixturevalue("s3_environ")
    return open_object_store(f"{server.new_url()}/some/prefix")


async def content(store: ObjectStore, key: str) -> bytes:
    stored = await store.get(key)
    return b"".join([chunk async for chunk in stored.chunks])


async def keys(store: ObjectStore, prefix: str = "") -> list[str]:
    return sorted([key async for key in store.list_keys(prefix)])


async def repeated(chunk: bytes, times: int) -> AsyncIterator[bytes]:
    for _ in range(times):
        yield chunk


class TestPutAndGet:
    @pytest.mark.parametrize("size", [0, 1, 100_000, PART_BYTES, PART_BYTES + 1, 12_000_000])
    async def test_bytes_are_returned_unchanged(self, store: ObjectStore, size: int) -> None:
        data = os.urandom(size)
        await store.put("a/b.bin", data)
        assert await content(store, "a/b.bin") == data

    @pytest.mark.parametrize("times", [0, 1, 7, 200])
    async def test_a_stream_is_returned_unchanged(self, store: ObjectStore, times: int) -> None:
        chunk = os.urandom(65_536)
        await store.put("a/b.bin", repeated(chunk, times))
        assert await content(store, "a/b.bin") == chunk * times

    async def test_the_metadata_of_an_object(self, store: ObjectStore) -> None:
        await store.put("a/b.png", b"12345", content_type="image/png")
        info = await store.head("a/b.png")
        assert (info.key, info.size) == ("a/b.png", 5)
        assert abs(datetime.now(UTC) - info.last_modified) < timedelta(minutes=1)
        assert info.etag
        expected = None if isinstance(store, LocalObjectStore) else "image/png"
        assert info.content_type == expected

        stored = await store.get("a/b.png")
        assert (stored.size, stored.start, stored.stop) == (5, 0, 5)
        assert (stored.etag, stored.content_type) == (info.etag, info.content_type)
        assert [chunk async for chunk in stored.chunks] == [b"12345"]

    async def test_a_multipart_upload_keeps_its_content_type(self, store: ObjectStore) -> None:
        await store.put("a/b.png", repeated(bytes(PART_BYTES), 2), content_type="image/png")
        expected = None if isinstance(store, LocalObjectStore) else "image/png"
        assert (await store.head("a/b.png")).content_type == expected

    async def test_a_second_put_replaces_the_first(self, store: ObjectStore) -> None:
        await store.put("a", b"first")
        await store.put("a", b"second")
        assert await content(store, "a") == b"second"

    @pytest.mark.parametrize("key", ["ünï/ç☂.png", "a b/c d.txt", "100%/%2e%2e", "q?x=1&y*.txt"])
    async def test_unusual_names_are_stored_unchanged(self, store: ObjectStore, key: str) -> None:
        await store.put(key, b"x")
        assert await content(store, key) == b"x"
        assert await keys(store) == [key]

    async def test_a_missing_object_is_not_found(self, store: ObjectStore) -> None:
        with pytest.raises(NotFound):
            await store.get("missing")
        with pytest.raises(NotFound):
            await store.head("missing")
        with pytest.raises(NotFound):
            await store.get("missing", byte_range=(0, 1))

    @pytest.mark.parametrize("times", [1, 20])
    async def test_a_failing_iterator_stores_nothing_and_raises_its_own_error(
        self, store: ObjectStore, times: int
    ) -> None:
        async def too_much() -> AsyncIterator[bytes]:
            for _ in range(times):
                yield bytes(1_000_000)
            raise TooLarge

        with pytest.raises(TooLarge):
            await store.put("a", too_much())
        assert await keys(store) == []
        with pytest.raises(NotFound):
            await store.head("a")

    async def test_a_large_stream_takes_constant_memory(self, store: ObjectStore) -> None:
        # tracemalloc sees what Python holds: were the stream gathered, that would be all of it.
        tracemalloc.start()
        try:
            chunk = os.urandom(65_536)
            await store.put("big", repeated(chunk, 1_000))
            digest = hashlib.sha256()
            async for part in (await store.get("big")).chunks:
                digest.update(part)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert digest.digest() == hashlib.sha256(chunk * 1_000).digest()
        assert peak < 4 * PART_BYTES + 10_000_000 < len(chunk) * 1_000


class TestRanges:
    @pytest.mark.parametrize(
        ("byte_range", "expected"),
        [((0, 3), b"012"), ((4, None), b"456789"), ((8, 100), b"89"), ((9, 10), b"9")],
    )
    async def test_a_range_of_bytes(
        self, store: ObjectStore, byte_range: tuple[int, int | None], expected: bytes
    ) -> None:
        await store.put("a", b"0123456789")
        stored = await store.get("a", byte_range=byte_range)
        assert b"".join([chunk async for chunk in stored.chunks]) == expected
        assert (stored.start, stored.stop) == (byte_range[0], byte_range[0] + len(expected))
        assert stored.size == 10

    @pytest.mark.parametrize("byte_range", [(10, 12), (10, None), (500, 501)])
    async def test_a_range_after_the_end_reports_the_size(
        self, store: ObjectStore, byte_range: tuple[int, int | None]
    ) -> None:
        await store.put("a", b"0123456789")
        with pytest.raises(RangeOutside) as caught:
            await store.get("a", byte_range=byte_range)
        assert caught.value.size == 10


class TestDeleteAndList:
    async def test_a_deleted_object_is_not_found(self, store: ObjectStore) -> None:
        await store.put("a/b", b"x")
        await store.delete("a/b")
        with pytest.raises(NotFound):
            await store.head("a/b")

    async def test_deleting_a_missing_object_is_no_error(self, store: ObjectStore) -> None:
        await store.delete("a/b")

    async def test_a_prefix_is_a_folder(self, store: ObjectStore) -> None:
        for key in ("t1/a", "t1/b/c", "t10/a", "t2"):
            await store.put(key, b"x")
        assert await keys(store) == ["t1/a", "t1/b/c", "t10/a", "t2"]
        assert await keys(store, "t1") == ["t1/a", "t1/b/c"]
        assert await keys(store, "none") == []

    async def test_delete_prefix_removes_that_folder_only(self, store: ObjectStore) -> None:
        for key in ("t1/a", "t1/b/c", "t10/a", "t2"):
            await store.put(key, b"x")
        assert await store.delete_prefix("t1") == 2
        assert await keys(store) == ["t10/a", "t2"]
        assert await store.delete_prefix("t1") == 0

    async def test_a_folder_can_be_deleted_in_batches(self, store: ObjectStore) -> None:
        for number in range(5):
            await store.put(f"t1/{number}", b"x")
        left = []
        async for removed in store.delete_in_batches("t1", at_once=2):
            left.append((removed, len(await keys(store))))
        assert left == [(2, 3), (2, 1), (1, 0)]

    async def test_everything_at_once_can_not_be_deleted(self, store: ObjectStore) -> None:
        with pytest.raises(InvalidKey):
            await store.delete_prefix("")


@pytest.mark.parametrize(
    "key",
    [
        "",
        "/",
        "/etc/passwd",
        "a//b",
        "a/",
        "..",
        "../x",
        "a/../x",
        "a/./x",
        ".hidden",
        "a/.unfinished/x",
        "a\\..\\b",
        "a\nb",
        "a\x00b",
        "a\x9fb",
        "a#1",
        "x" * 256,
        "é" * 128,
        "/".join(["abcdefg"] * 129),
    ],
)
def test_an_unsafe_key_is_refused(key: str) -> None:
    with pytest.raises(InvalidKey):
        check_key(key)


async def test_a_listing_has_sizes_and_times_and_the_first_folders(store: ObjectStore) -> None:
    await store.put("one/media/a", b"abc")
    await store.put("two/b", b"")
    (found,) = [each async for each in store.list_objects("one")]
    assert (found.key, found.size) == ("one/media/a", 3)
    assert abs(found.last_modified.timestamp() - time.time()) < 600
    assert await store.folders() == ["one", "two"]


async def test_every_method_checks_its_key(store: ObjectStore) -> None:
    for call in (
        store.put("../x", b""),
        store.get("../x"),
        store.head("../x"),
        store.delete("../x"),
        store.delete_prefix("../x"),
        anext(aiter(store.list_keys("../x"))),
    ):
        with pytest.raises(InvalidKey):
            await call


class TestUnavailable:
    async def test_a_working_store_answers(self, store: ObjectStore) -> None:
        await store.ping()
        assert await keys(store) == []

    async def test_a_server_that_refuses_connections(self, s3_server: S3Server) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            environ = {**s3_server.environ, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
            store = open_object_store("s3://bucket", environ)
            with pytest.raises(Unavailable):
                await store.ping()
            with pytest.raises(Unavailable):
                await store.get("a")

    async def test_a_server_that_does_not_answer(self, s3_server: S3Server) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            environ = {**s3_server.environ, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
            with pytest.raises(Unavailable):
                await open_object_store("s3://bucket", environ).ping()

    async def test_wrong_keys_and_a_missing_bucket(
        self, s3_environ: S3Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(Unavailable):
            await open_object_store("s3://no-such-bucket").ping()
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
        with pytest.raises(Unavailable):
            await open_object_store(s3_environ.new_url()).ping()

    async def test_a_folder_that_is_gone(self, tmp_path: Path) -> None:
        store = open_object_store(f"file://{tmp_path}/media")
        (tmp_path / "media" / ".unfinished").rmdir()
        (tmp_path / "media").rmdir()
        with pytest.raises(Unavailable):
            await store.ping()
        with pytest.raises(Unavailable):
            await store.put("a", b"x")


class TestLocalFiles:
    async def test_an_interrupted_upload_is_invisible_and_removed_later(
        self, tmp_path: Path
    ) -> None:
        program = """
            import asyncio, os, sys
            from masthead.storage.open_objects import open_object_store
            async def cut_off():
                yield bytes(3_000_000)
                os.kill(os.getpid(), 9)
                yield b""
            store = open_object_store("file://" + sys.argv[1])
            asyncio.run(store.put("a", cut_off()))
        """
        subprocess.run([sys.executable, "-c", textwrap.dedent(program), str(tmp_path)], check=False)
        (left_over,) = (tmp_path / ".unfinished").iterdir()
        assert await keys(open_object_store(f"file://{tmp_path}")) == []
        assert left_over.exists()

        two_days_ago = left_over.stat().st_mtime - 2 * 86_400
        os.utime(left_over, (two_days_ago, two_days_ago))
        open_object_store(f"file://{tmp_path}")
        assert not left_over.exists()

    async def test_file_and_folders_are_synced_before_the_put_returns(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        synced = []
        real_fsync = os.fsync

        def recording_fsync(descriptor: int) -> None:
            synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
            real_fsync(descriptor)

        monkeypatch.setattr(os, "fsync", recording_fsync)
        store = open_object_store(f"file://{tmp_path}")
        await store.put("a/b/c", b"x")
        assert synced[0].parent == tmp_path / ".unfinished"
        assert set(synced[1:]) == {tmp_path / "a" / "b", tmp_path / "a", tmp_path}
        assert list((tmp_path / ".unfinished").iterdir()) == []
