"""Thumbnails of stored pictures: made at the first request, then stored next to the original."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from typing import BinaryIO, cast

from masthead import clock
from masthead.errors import NotFound
from masthead.media.images import BadImage, ImagePool, ThumbSpec, make_thumb, parse_thumb
from masthead.media.jobs import THUMBS
from masthead.storage.objects import ObjectStore

MAX_MEMORY_BYTES = 1024 * 1024
NO_THUMB = b""
"""Stored instead of a thumbnail if the picture can't be decoded, so that it is not tried for every
request."""
FAILURE_LIFETIME = timedelta(days=1)


async def thumb_key(store: ObjectStore, pool: ImagePool, key: str, size: str) -> str:
    """The key of the thumbnail; the original's key if no thumbnail can be made."""
    spec = parse_thumb(size)
    assert spec is not None
    folder, _, name = key.rpartition("/")
    stored_key = f"{folder}/{THUMBS}{name}/{spec}_{name}"
    if (existing := await _existing(store, key, stored_key)) is not None:
        return existing
    async with pool.tenant_slot(key.partition("/")[0]):
        # Checked again: the task before may have made the same one.
        if (existing := await _existing(store, key, stored_key)) is not None:
            return existing
        try:
            thumb = await _make(store, pool, key, spec)
        except BadImage:
            thumb = NO_THUMB
        await store.put(stored_key, thumb)
        await _check_original(store, key, stored_key)
    return stored_key if thumb else key


async def _existing(store: ObjectStore, key: str, stored_key: str) -> str | None:
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


async def _make(store: ObjectStore, pool: ImagePool, key: str, spec: ThumbSpec) -> bytes:
    original = await store.get(key)
    with tempfile.SpooledTemporaryFile(MAX_MEMORY_BYTES) as file:
        async for chunk in original.chunks:
            file.write(chunk)
        file.seek(0)
        return await pool.run(make_thumb, cast(BinaryIO, file), spec)
