"""Thumbnails and copies of stored pictures, stored next to the original.

A thumbnail is made at its first request. The worker makes the copies ahead (`media.copies`); a
missing copy, as after a restore, is also made at its first request."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import BinaryIO, TypeVar, cast

from masthead.base import clock
from masthead.base.errors import NotFound
from masthead.features.media.images import (
    BadImage,
    Copy,
    ImagePool,
    make_copies,
    make_thumb,
    parse_thumb,
)
from masthead.features.media.jobs import THUMBS
from masthead.storage.objects import ObjectStore

MAX_MEMORY_BYTES = 1024 * 1024
NO_THUMB = b""
"""Stored instead of a thumbnail if the picture can't be decoded, so that it is not tried for every
request."""
FAILURE_LIFETIME = timedelta(days=1)


Made = TypeVar("Made")


async def thumb_key(store: ObjectStore, pool: ImagePool, key: str, size: str) -> str:
    """The key of the thumbnail; the original's key if no thumbnail can be made."""
    spec = parse_thumb(size)
    assert spec is not None
    name = key.rpartition("/")[2]
    stored_key = key_beside(key, f"{spec}_{name}")
    return await _store_thumb(
        store, pool, key, stored_key, make=lambda file: make_thumb(file, spec)
    )


async def copy_key(store: ObjectStore, pool: ImagePool, key: str, copy: Copy) -> str:
    """The key of the copy; the original's key if it can't be made."""
    stored_key = key_beside(key, str(copy))
    return await _store_thumb(
        store, pool, key, stored_key, make=lambda file: make_copies(file, (copy,))[copy]
    )


async def store_copies(
    store: ObjectStore, pool: ImagePool, key: str, copies: Collection[Copy]
) -> dict[Copy, int]:
    """Makes the copies and returns their sizes in bytes. Raises BadImage."""
    async with pool.tenant_slot(key.partition("/")[0]):
        made = await _make(store, pool, key, lambda file: make_copies(file, copies))
        for copy, content in made.items():
            stored_key = key_beside(key, str(copy))
            await store.put(stored_key, content)
            await _check_original(store, key, stored_key)
    return {copy: len(content) for copy, content in made.items()}


async def remove_copies(store: ObjectStore, key: str, copies: Collection[Copy]) -> None:
    for copy in copies:
        await store.delete(key_beside(key, str(copy)))


def key_beside(key: str, name: str) -> str:
    """The key of what is made from a stored file, and removed with it."""
    folder, _, original = key.rpartition("/")
    return f"{folder}/{THUMBS}{original}/{name}"


async def _store_thumb(
    store: ObjectStore,
    pool: ImagePool,
    key: str,
    stored_key: str,
    *,
    make: Callable[[BinaryIO], bytes],
) -> str:
    """The key of what `make` has made of the original; the original's key if it can't be made."""
    if (existing := await _find_existing(store, key, stored_key)) is not None:
        return existing
    async with pool.tenant_slot(key.partition("/")[0]):
        # Checked again: the task before may have made the same one.
        if (existing := await _find_existing(store, key, stored_key)) is not None:
            return existing
        try:
            thumb = await _make(store, pool, key, make)
        except BadImage:
            thumb = NO_THUMB
        await store.put(stored_key, thumb)
        await _check_original(store, key, stored_key)
    return stored_key if thumb else key


async def _find_existing(store: ObjectStore, key: str, stored_key: str) -> str | None:
    """The key if a thumbnail was made or has failed before; None if it must be made."""
    try:
        found = await store.head(stored_key)
    except NotFound:
        return None
    if found.size:
        return stored_key
    # A later version of the decoder may be able to read it.
    return key if clock.now() - found.last_modified < FAILURE_LIFETIME else None


async def _check_original(store: ObjectStore, key: str, stored_key: str) -> None:
    """Deletes a thumbnail whose original was deleted meanwhile: it would stay forever."""
    try:
        await store.head(key)
    except NotFound:
        await store.delete(stored_key)
        raise


async def _make(
    store: ObjectStore, pool: ImagePool, key: str, make: Callable[[BinaryIO], Made]
) -> Made:
    original = await store.get(key)
    with tempfile.SpooledTemporaryFile(MAX_MEMORY_BYTES) as file:
        async for chunk in original.chunks:
            file.write(chunk)
        file.seek(0)
        return await pool.run(make, cast(BinaryIO, file))
