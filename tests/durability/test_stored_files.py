"""Stored files and their records end together, whatever is cut off in between."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from tests.features.media.pictures import picture
from tests.world import Account, World, records_of

from masthead.base.errors import NotFound
from masthead.engine.jobs.runner import JobRunner
from masthead.features.media.images import ImagePool
from masthead.features.media.thumbs import thumb_key
from masthead.features.media.upload import SWEEP_AFTER
from masthead.features.trash.emptying import delete_expired
from masthead.service.app import http_app
from masthead.service.background import job_handlers
from masthead.storage.local_objects import LocalObjectStore

MEDIA = records_of("media")


@pytest.fixture
async def owner(world: World) -> Account:
    return await (await world.new_tenant()).owner()


async def upload(owner: Account, **form: str) -> httpx.Response:
    file = ("a.png", picture("PNG", (200, 100)), "image/png")
    return await owner.api.post(MEDIA, files={"file": file}, data=form)


async def stored(world: World) -> list[str]:
    """Originals and thumbs; the worker adds copies of pictures in the sizes of screens."""
    keys = await all_stored(world)
    return [key for key in keys if not key.endswith((".avif", ".webp"))]


async def all_stored(world: World) -> list[str]:
    return sorted([key async for key in world.parts.objects.list_keys()])


async def run_jobs(world: World) -> None:
    runner = JobRunner(world.parts.database, job_handlers(world.parts), world.clock)
    while await runner.run_due():
        pass


def key_of(record: dict[str, Any]) -> str:
    return f"{record['tenant_id']}/media/{record['id']}/{record['file']}"


class PowerCut(BaseException):
    """Nothing after it happens."""


class CutOff(LocalObjectStore):
    """The power goes as soon as the bytes are stored."""

    async def put(self, key: str, data: Any, *, content_type: str | None = None) -> None:
        await super().put(key, data, content_type=content_type)
        raise PowerCut


async def test_a_stored_file_without_a_record_is_swept(
    world: World, owner: Account, tmp_path: Path
) -> None:
    kept = (await upload(owner)).json()
    doomed = http_app(msgspec.structs.replace(world.parts, objects=CutOff(tmp_path / "media")))
    host = owner.api.base_url.host
    with pytest.raises(PowerCut):
        await upload(replace(owner, api=world.client(host, token=owner.token, app=doomed)))
    assert len(await stored(world)) == 2
    world.clock.advance(seconds=SWEEP_AFTER.total_seconds() - 1)
    await run_jobs(world)
    assert len(await stored(world)) == 2
    world.clock.advance(seconds=1)
    await run_jobs(world)
    assert await stored(world) == [key_of(kept)]


async def test_deleting_a_record_deletes_its_file_and_thumbs(world: World, owner: Account) -> None:
    record, other = (await upload(owner)).json(), (await upload(owner)).json()
    for each in (record, other):
        address = f"/api/files/media/{each['id']}/{each['file']}"
        assert (await owner.api.get(address, params={"thumb": "100x100"})).status_code == 200
    await run_jobs(world)
    assert len(await stored(world)) == 4
    assert any(f"/{record['id']}/" in key for key in await all_stored(world) if "avif" in key)
    assert (await owner.api.delete(f"{MEDIA}/{record['id']}")).status_code == 204
    world.clock.advance(days=30)
    await delete_expired(world.parts.records)
    await run_jobs(world)
    left = await stored(world)
    assert len(left) == 2
    assert all(f"/{other['id']}/" in key for key in await all_stored(world))


async def test_an_invalid_id_is_refused_before_a_file_is_stored(
    world: World, owner: Account
) -> None:
    for chosen in ("a/b", "../../elsewhere", "SHOUTING1234567"):
        answer = await upload(owner, id=chosen)
        assert answer.status_code == 400
        assert answer.json()["data"]["id"]["code"] == "validation_invalid_format"
    assert await stored(world) == []


async def test_a_thumb_made_after_the_removal_is_deleted(tmp_path: Path) -> None:
    class RemovedMeanwhile(LocalObjectStore):
        """The original and its thumbs go while a thumb of it is being made."""

        async def put(self, key: str, data: Any, *, content_type: str | None = None) -> None:
            await self.delete("t/media/r/a.png")
            await self.delete_prefix("t/media/r/thumbs_a.png")
            await super().put(key, data, content_type=content_type)

    await LocalObjectStore(tmp_path).put("t/media/r/a.png", picture("PNG"))
    store, pool = RemovedMeanwhile(tmp_path), ImagePool()
    with pytest.raises(NotFound):
        await thumb_key(store, pool, "t/media/r/a.png", "100x100")
    pool.close()
    assert [key async for key in store.list_keys()] == []
