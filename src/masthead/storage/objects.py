"""Stores uploaded files and exports in a local folder or an S3 bucket.

Reads, listings and everything on S3 use obstore. Local writes do not: obstore's local store never
calls fsync, and an acknowledged upload has to survive a power cut.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore, S3Store

from masthead.config import private_files
from masthead.errors import BadRequest, DiskFull, NotFound, Unavailable
from masthead.storage.disk import is_disk_full
from masthead.whole_file import sync_folder

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult, ObjectMeta
    from obstore.store import S3Config

Data = bytes | AsyncIterable[bytes]

PART_BYTES = 5 * 1024 * 1024
"""S3's smallest part. A smaller object takes a single request."""
CHUNK_BYTES = 256 * 1024
WRITE_BYTES = 4 * CHUNK_BYTES
"""Local writes gather so much before they switch to a thread."""
PING_SECONDS = 2
MAX_UPLOAD_AGE = timedelta(days=1)
"""Older unfinished uploads are removed."""


class InvalidKey(BadRequest):
    message = "This is not a usable file name."


class RangeOutside(BadRequest):
    """The range starts after the object's end; `size` is the object's."""

    message = "The requested range lies outside the file."

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    key: str
    size: int
    last_modified: datetime
    etag: str | None
    content_type: str | None
    """None for local files, which have none."""


@dataclass(frozen=True, slots=True)
class StoredObject(ObjectInfo):
    """An open object: `chunks` yields the bytes from `start` up to `stop`, of `size` in all."""

    start: int
    stop: int
    chunks: AsyncIterator[bytes]


def open_object_store(storage_url: str, environ: Mapping[str, str] = os.environ) -> ObjectStore:
    """`file:///path`, or `s3://bucket/prefix` with the usual `AWS_*` variables."""
    parts = urlsplit(storage_url)
    if parts.scheme == "file":
        return LocalObjectStore(Path(unquote(parts.path)))
    if parts.scheme == "s3":
        return ObjectStore(_s3_store(parts.netloc, parts.path.strip("/"), environ))
    raise ValueError("a storage URL starts with file:/// or s3://")


_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\\#]")
MAX_KEY_BYTES = 1024
MAX_SEGMENT_BYTES = 255


def check_key(key: str) -> str:
    """Returns the key. Raises `InvalidKey` if it is not safe for both kinds of store.

    No segment may be empty or start with a dot, which excludes `..`, absolute paths and the folder
    of unfinished uploads.
    """
    segments = key.split("/")
    is_valid = (
        len(key.encode()) <= MAX_KEY_BYTES
        and not _FORBIDDEN.search(key)
        and all(segment and not segment.startswith(".") for segment in segments)
        and all(len(segment.encode()) <= MAX_SEGMENT_BYTES for segment in segments)
    )
    if not is_valid:
        raise InvalidKey
    return key


class ObjectStore:
    """Every method raises `Unavailable` when the store does not answer."""

    delete_batch = 1000
    """Keys per request."""

    def __init__(self, store: S3Store | LocalStore) -> None:
        self._store = store

    async def put(self, key: str, data: Data, *, content_type: str | None = None) -> None:
        """Stores the whole object or nothing, in constant memory; replaces an object of the same
        key. An exception of the `data` iterator ends the upload and is raised unchanged."""
        check_key(key)
        first, rest = await _first_part(data, PART_BYTES)
        attributes = None if content_type is None else {"Content-Type": content_type}
        with _store_errors():
            if rest is None:
                await obstore.put_async(
                    self._store, key, first, attributes=attributes, use_multipart=False
                )
                return
        source = _Source(first, rest)
        try:
            with _store_errors():
                await obstore.put_async(
                    self._store,
                    key,
                    source,
                    attributes=attributes,
                    chunk_size=PART_BYTES,
                    max_concurrency=2,
                )
        except Unavailable:
            if source.failure is not None:
                raise source.failure from None
            raise
        finally:
            # Breaks the reference cycle through its traceback.
            source.failure = None

    async def get(
        self, key: str, *, byte_range: tuple[int, int | None] | None = None
    ) -> StoredObject:
        """`byte_range` is (first, one past the last); None or too much means up to the end."""
        check_key(key)
        options: GetOptions = {}
        if byte_range is not None:
            start, stop = byte_range
            options["range"] = {"offset": start} if stop is None else (start, stop)
        try:
            with _store_errors():
                result = await obstore.get_async(self._store, key, options=options)
        except Unavailable:
            if byte_range is not None:
                await self._refuse_outside(key, byte_range[0])
            raise
        start, stop = result.range
        info = _info(result.meta, result.attributes.get("Content-Type"))
        return StoredObject(*info, start=start, stop=stop, chunks=_chunks_of(result))

    async def _refuse_outside(self, key: str, start: int) -> None:
        # Stores answer a range after the end with various errors, so the size is checked.
        info = await self.head(key)
        if start >= info.size:
            raise RangeOutside(info.size)

    async def head(self, key: str) -> ObjectInfo:
        check_key(key)
        with _store_errors():
            # Not `head_async`, which leaves the content type out.
            result = await obstore.get_async(self._store, key, options={"head": True})
        return ObjectInfo(*_info(result.meta, result.attributes.get("Content-Type")))

    async def delete(self, key: str) -> None:
        """A missing object is no error."""
        await self._delete([check_key(key)])

    async def delete_prefix(self, prefix: str) -> int:
        """Removes everything in the folder `prefix` and returns how many objects that were."""
        return sum([removed async for removed in self.delete_in_batches(prefix)])

    async def delete_in_batches(
        self, prefix: str, at_once: int | None = None
    ) -> AsyncGenerator[int, None]:
        """As `delete_prefix`, a batch at a time; yields the size of each batch."""
        check_key(prefix)
        at_once = at_once or self.delete_batch
        batch: list[str] = []
        async for key in self.list_keys(prefix):
            batch.append(key)
            if len(batch) == at_once:
                await self._delete(batch)
                yield len(batch)
                batch = []
        if batch:
            await self._delete(batch)
            yield len(batch)

    async def _delete(self, keys: list[str]) -> None:
        try:
            with _store_errors():
                await obstore.delete_async(self._store, keys)
        except NotFound:
            # S3 deletes all other keys of the request.
            return

    async def list_keys(self, prefix: str = "") -> AsyncIterator[str]:
        """The keys in the folder `prefix` and below; `a/b` includes `a/b/c`, but not `a/bc`."""
        if prefix:
            check_key(prefix)
        with _store_errors():
            async for batch in obstore.list(self._store, prefix or None):
                for meta in batch:
                    if not meta["path"].startswith("."):
                        yield meta["path"]

    async def sweep(self) -> None:
        """Removes old unfinished uploads, which a crash has left."""

    async def ping(self) -> None:
        """Returns when the store answers; raises `Unavailable` within two seconds otherwise."""
        try:
            async with asyncio.timeout(PING_SECONDS):
                await self._ping()
        except TimeoutError as error:
            raise Unavailable from error

    async def _ping(self) -> None:
        # Listing an empty folder is cheap, and fails for a missing bucket, unlike a missing key.
        with _store_errors():
            await obstore.list_with_delimiter_async(self._store, prefix=".ping")


class LocalObjectStore(ObjectStore):
    """A folder. A write is a temporary file, fsync, rename, fsync of the folder."""

    delete_batch = 8
    """Files per batch. Deleting a large file takes milliseconds, in which commits wait for the same
    disk."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        super().__init__(LocalStore(folder))
        self._folder = folder
        self._unfinished = folder / ".unfinished"
        self._unfinished.mkdir(exist_ok=True)
        _remove_older_than(self._unfinished, MAX_UPLOAD_AGE)

    async def put(self, key: str, data: Data, *, content_type: str | None = None) -> None:
        path = self._folder / check_key(key)
        temporary = self._unfinished / secrets.token_hex(16)
        first, rest = (
            (data, None) if isinstance(data, bytes) else await _first_part(data, WRITE_BYTES)
        )
        if rest is None:
            with _file_errors():
                await asyncio.to_thread(_store, first, temporary, path, self._folder)
            return
        try:
            with _file_errors():
                # Not in a thread: it takes microseconds, and a cancellation meanwhile would leak
                # the open file.
                file = open(temporary, "xb", opener=private_files.opener)  # noqa: ASYNC230, SIM115
            with file:
                await _write_all(file, first, rest)
                with _file_errors():
                    await asyncio.to_thread(_sync_file, file)
            with _file_errors():
                await asyncio.to_thread(_rename_durably, temporary, path, self._folder)
        finally:
            with suppress(FileNotFoundError):
                temporary.unlink()

    async def _delete(self, keys: list[str]) -> None:
        with _file_errors():
            await asyncio.to_thread(_unlink_durably, [self._folder / key for key in keys])

    async def sweep(self) -> None:
        with _file_errors():
            await asyncio.to_thread(_remove_older_than, self._unfinished, MAX_UPLOAD_AGE)

    async def _ping(self) -> None:
        with _file_errors():
            await asyncio.to_thread(_touch, self._unfinished / "ping")


def _s3_store(bucket: str, prefix: str, environ: Mapping[str, str]) -> S3Store:
    config: S3Config = {
        "region": environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    }
    if endpoint := environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL"):
        config["endpoint"] = endpoint
    # Without keys obstore uses the role of the container or the machine.
    if access_key := environ.get("AWS_ACCESS_KEY_ID"):
        config["access_key_id"] = access_key
        config["secret_access_key"] = environ.get("AWS_SECRET_ACCESS_KEY", "")
    if session_token := environ.get("AWS_SESSION_TOKEN"):
        config["session_token"] = session_token
    return S3Store(
        bucket,
        prefix=prefix or None,
        config=config,
        client_options={
            "allow_http": bool(endpoint and endpoint.startswith("http://")),
            "connect_timeout": timedelta(seconds=5),
            # For a whole response: a slow client may take long for a large file.
            "timeout": timedelta(hours=1),
        },
        retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=15)},
    )


async def _first_part(data: Data, length: int) -> tuple[bytes, AsyncIterator[bytes] | None]:
    """The beginning of the data, and the rest, if there is any."""
    if isinstance(data, bytes):
        if len(data) <= length:
            return data, None
        return b"", _once(data)
    rest = aiter(data)
    first = bytearray()
    async for chunk in rest:
        first += chunk
        if len(first) > length:
            return bytes(first), rest
    return bytes(first), None


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


class _Source:
    """The upload's bytes for obstore. Stores the iterator's exception, which obstore replaces."""

    def __init__(self, first: bytes, rest: AsyncIterator[bytes]) -> None:
        self._first = first
        self._rest = rest
        self.failure: Exception | None = None

    def __aiter__(self) -> _Source:
        return self

    async def __anext__(self) -> bytes:
        if self._first:
            first, self._first = self._first, b""
            return first
        try:
            return await anext(self._rest)
        except StopAsyncIteration:
            raise
        except Exception as failure:
            self.failure = failure
            raise


async def _chunks_of(result: GetResult) -> AsyncIterator[bytes]:
    with _store_errors():
        async for chunk in result.stream(min_chunk_size=CHUNK_BYTES):
            yield bytes(chunk)


def _info(
    meta: ObjectMeta, content_type: str | None
) -> tuple[str, int, datetime, str | None, str | None]:
    return meta["path"], meta["size"], meta["last_modified"], meta["e_tag"], content_type


@contextmanager
def _store_errors() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound from error
    except (BaseError, OSError) as error:
        raise (DiskFull if is_disk_full(error) else Unavailable) from error


@contextmanager
def _file_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise (DiskFull if is_disk_full(error) else Unavailable) from error


def _store(content: bytes, temporary: Path, path: Path, folder: Path) -> None:
    """A small object in one call: each switch to a thread costs as much as writing it."""
    try:
        with open(temporary, "xb", opener=private_files.opener) as file:
            file.write(content)
            _sync_file(file)
        _rename_durably(temporary, path, folder)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


async def _write_all(file: BinaryIO, first: bytes, rest: AsyncIterator[bytes]) -> None:
    buffer = bytearray(first)
    async for chunk in rest:
        buffer += chunk
        if len(buffer) >= WRITE_BYTES:
            with _file_errors():
                await asyncio.to_thread(file.write, bytes(buffer))
            buffer.clear()
    with _file_errors():
        await asyncio.to_thread(file.write, bytes(buffer))


def _sync_file(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _rename_durably(temporary: Path, path: Path, folder: Path) -> None:
    created = []
    parent = path.parent
    while parent != folder and not parent.exists():
        created.append(parent)
        parent = parent.parent
    path.parent.mkdir(parents=True, exist_ok=True)
    os.replace(temporary, path)
    # A new folder's entry is in its parent, which has to be synced as well.
    for changed in {path.parent, *(each.parent for each in created)}:
        sync_folder(changed)


def _unlink_durably(paths: list[Path]) -> None:
    changed = set()
    for path in paths:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()
            changed.add(path.parent)
    for folder in changed:
        sync_folder(folder)


def _touch(path: Path) -> None:
    """Fails if the folder is missing or can't be written to."""
    path.write_bytes(b"")


def _remove_older_than(folder: Path, age: timedelta) -> None:
    oldest = time.time() - age.total_seconds()
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < oldest:
                path.unlink()
