"""Thumbs of stored pictures: made at the first request, kept beside the original."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from typing import BinaryIO, cast

from masthead import clock
from masthead.errors import NotFound
from masthead.media.images import BadImage, ImagePool, ThumbSpec, make_thumb, parse_thumb
from masthead.media.jobs import THUMBS
from masthead.storage.objects import ObjectStore

IN_MEMORY = 1024 * 1024
NO_THUMB = b""
"""Kept in a thumb's place where the picture could not be decoded: it is not tried for every caller.
It goes with the file, and another file has another name."""
FAILED_FOR = timedelta(days=1)


async def thumb_key(store: ObjectStore, pool: ImagePool, key: str, size: str) -> str:
    """Where the thumb is stored; the original's key when there is no thumb to be had of it."""
    spec = parse_thumb(size)
    assert spec is not None
    folder, _, name = key.rpartition("/")
    kept = f"{folder}/{THUMBS}{name}/{spec}_{name}"
    if (known := await _known(store, key, kept)) is not None:
        return known
    async with pool.turn(key.partition("/")[0]):
        # Again: the caller before may have asked for the same.
        if (known := await _known(store, key, kept)) is not None:
            return known
        try:
            thumb = await _make(store, pool, key, spec)
        except BadImage:
            thumb = NO_THUMB
        await store.put(kept, thumb)
        await _check_original(store, key, kept)
    return kept if thumb else key


async def _known(store: ObjectStore, key: str, kept: str) -> str | None:
    """The answer as far as it was found before; None if nobody has tried, or long ago."""
    try:
        found = await store.head(kept)
    except NotFound:
        return None
    if found.size:
        return kept
    # A later version of the decoder may read what this one can't.
    return key if clock.now() - found.last_modified < FAILED_FOR else None


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
