"""Stores uploaded files and exports in a local folder or an S3 bucket.

`local_objects.py` writes into a folder; reads, listings and everything on S3 use obstore.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore, S3Store

from masthead.base.errors import BadRequest, DiskFull, NotFound, Unavailable
from masthead.storage.disk import is_disk_full

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult, ObjectMeta

Data = bytes | AsyncIterable[bytes]

PART_BYTES = 5 * 1024 * 1024
"""S3's smallest part. A smaller object takes a single request."""
CHUNK_BYTES = 256 * 1024
PING_SECONDS = 2


class InvalidKey(BadRequest):
    message = "This is not a usable file name."


class RangeOutside(BadRequest):
    """The range starts after the object's end; `size` is the object's."""

    message = "The requested range is outside the file."

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size


class ObjectInfo(msgspec.Struct, frozen=True):
    key: str
    size: int
    last_modified: datetime
    etag: str | None
    content_type: str | None
    """None for local files, which have none."""


class StoredObject(ObjectInfo, frozen=True):
    """An open object: `chunks` yields the bytes from `start` up to `stop`, of `size` in all."""

    start: int
    stop: int
    chunks: AsyncIterator[bytes]


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
        first, rest = await first_part(data, PART_BYTES)
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

    async def list_objects(self, prefix: str) -> AsyncIterator[ObjectInfo]:
        """As `list_keys`, with sizes and times."""
        check_key(prefix)
        with _store_errors():
            async for batch in obstore.list(self._store, prefix):
                for meta in batch:
                    yield ObjectInfo(*_info(meta, None))

    async def folders(self) -> list[str]:
        """The first parts of all keys."""
        with _store_errors():
            found = await obstore.list_with_delimiter_async(self._store)
        names = (each.rstrip("/") for each in found["common_prefixes"])
        return sorted(each for each in names if not each.startswith("."))

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


async def first_part(data: Data, length: int) -> tuple[bytes, AsyncIterator[bytes] | None]:
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
