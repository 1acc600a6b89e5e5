"""Thumbs of pictures that can't be decoded, and of many at once."""

from __future__ import annotations

import asyncio
import io
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.features.media.pictures import picture, saved
from tests.garbage import no_cycles_of
from tests.world import Account, TenantWorld, World, records_of

from masthead.base.errors import Unavailable
from masthead.features.media.images import BadImage, ImagePool
from masthead.features.media.thumbs import FAILURE_LIFETIME, thumb_key
from masthead.storage.local_objects import LocalObjectStore

MEDIA = records_of("media")
KEY = "t/media/r/a.png"


def cut_off(size: tuple[int, int] = (300, 300)) -> bytes:
    """A picture whose second half is missing: its size can be read, its pixels can't."""
    noise = Image.frombytes("RGB", size, random.Random(7).randbytes(size[0] * size[1] * 3))
    whole = saved(noise, "PNG")
    return whole[: len(whole) // 2]


async def uploaded(owner: Account, content: bytes) -> dict[str, Any]:
    answer = await owner.api.post(MEDIA, files={"file": ("a.png", content)})
    assert answer.status_code == 200
    item: dict[str, Any] = answer.json()
    assert item["width"]
    return item


async def thumb_of(tenant: TenantWorld, item: dict[str, Any]) -> bytes:
    answer = await tenant.guest.get(f"/media/{item['id']}/{item['file']}?thumb=100x100")
    assert answer.status_code == 200
    return answer.content


async def test_a_failed_decode_leaves_nothing_in_memory(
    tenant: TenantWorld, owner: Account
) -> None:
    item = await uploaded(owner, cut_off())
    async with no_cycles_of(BadImage, Image.Image, OSError):
        assert await thumb_of(tenant, item) == cut_off()


async def test_a_failed_decode_is_not_tried_again_for_a_day(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    item = await uploaded(owner, cut_off())
    assert await thumb_of(tenant, item) == cut_off()
    store = app.parts.objects
    (original,) = [
        key
        async for key in store.list_keys(tenant.id)
        if key.endswith(item["file"]) and "thumbs_" not in key
    ]
    # It could be decoded now.
    await store.put(original, picture("PNG"))
    assert await thumb_of(tenant, item) == picture("PNG")


async def test_a_failed_decode_is_tried_again_after_a_day_and_for_another_file(
    tmp_path: Path,
) -> None:
    store, pool = LocalObjectStore(tmp_path), ImagePool()
    await store.put(KEY, cut_off())
    assert await thumb_key(store, pool, KEY, "100x100") == KEY
    other = KEY.replace("a.png", "b.png")
    await store.put(other, picture("PNG"))
    assert await thumb_key(store, pool, other, "100x100") != other
    await store.put(KEY, picture("PNG"))
    assert await thumb_key(store, pool, KEY, "100x100") == KEY
    (mark,) = (tmp_path / "t/media/r/thumbs_a.png").iterdir()
    assert mark.stat().st_size == 0
    yesterday = time.time() - FAILURE_LIFETIME.total_seconds() - 1
    os.utime(mark, (yesterday, yesterday))
    made = await thumb_key(store, pool, KEY, "100x100")
    stored = await store.get(made)
    content = b"".join([chunk async for chunk in stored.chunks])
    assert Image.open(io.BytesIO(content)).size == (100, 100)
    pool.close()


async def test_concurrent_requests_make_a_thumbnail_once(tmp_path: Path) -> None:
    class Counting(LocalObjectStore):
        made = 0

        async def put(self, key: str, data: Any, *, content_type: str | None = None) -> None:
            self.made += "thumbs_" in key
            await super().put(key, data, content_type=content_type)

    for content in (picture("PNG"), cut_off()):
        store, pool = Counting(tmp_path), ImagePool()
        await store.put(KEY, content)
        calls = [thumb_key(store, pool, KEY, "100x100") for _ in range(20)]
        assert len(set(await asyncio.gather(*calls))) == 1
        assert store.made == 1
        await store.delete_prefix("t")
        pool.close()


async def test_one_tenant_decodes_one_picture_at_a_time_and_others_are_not_delayed() -> None:
    pool = ImagePool(max_waiting=1)
    entered: list[str] = []
    gate = asyncio.Event()

    async def decode(name: str, tenant_id: str) -> None:
        async with pool.tenant_slot(tenant_id):
            entered.append(name)
            await gate.wait()

    async with asyncio.TaskGroup() as group:
        group.create_task(decode("a1", "a"))
        group.create_task(decode("a2", "a"))
        group.create_task(decode("b1", "b"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert entered == ["a1", "b1"]
        with pytest.raises(Unavailable):
            async with pool.tenant_slot("a"):
                pass
        gate.set()
    assert entered == ["a1", "b1", "a2"]
    pool.close()
