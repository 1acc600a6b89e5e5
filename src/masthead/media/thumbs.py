"""Thumbs of stored pictures: made at the first request, kept beside the original."""

from __future__ import annotations

import tempfile
from typing import BinaryIO, cast

from masthead.errors import NotFound
from masthead.media.images import BadImage, ImagePool, ThumbSpec, make_thumb, parse_thumb
from masthead.media.jobs import THUMBS
from masthead.storage.objects import ObjectStore

IN_MEMORY = 1024 * 1024


async def thumb_key(store: ObjectStore, pool: ImagePool, key: str, size: str) -> str:
    """Where the thumb is stored; the original's key when there is no thumb to be had of it."""
    spec = parse_thumb(size)
    assert spec is not None
    folder, _, name = key.rpartition("/")
    kept = f"{folder}/{THUMBS}{name}/{spec}_{name}"
    try:
        await store.head(kept)
        return kept
    except NotFound:
        pass
    try:
        thumb = await _make(store, pool, key, spec)
    except BadImage:
        return key
    await store.put(kept, thumb)
    await _check_original(store, key, kept)
    return kept


async def _check_original(store: ObjectStore, key: str, kept: str) -> None:
    """Files are removed before their thumbs: one that was put after both would stay for ever."""
    try:
        await store.head(key)
    except NotFound:
        await store.delete(kept)
        raise


async def _make(store: ObjectStore, pool: ImagePool, key: str, spec: ThumbSpec) -> bytes:
    original = await store.get(key)
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
        async for chunk in original.chunks:
            file.write(chunk)
        file.seek(0)
        return await pool.run(make_thumb, cast(BinaryIO, file), spec)
