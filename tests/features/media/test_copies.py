"""The copies of a picture for the reader's site: made by the worker, served, removed with it."""

from __future__ import annotations

import io
import random
from typing import Any

import pytest
from PIL import Image
from tests.features.media.pictures import exif, saved
from tests.features.privacy.requests import run_jobs
from tests.world import Account, TenantWorld, World, records_of

from masthead.features.media.images import copy_widths
from masthead.features.trash.emptying import delete_expired

MEDIA = records_of("media")


def photo(size: tuple[int, int], kind: str = "JPEG", **options: object) -> bytes:
    """Noise, enlarged: no format can write it in a few bytes, as with a photograph."""
    small = (max(1, size[0] // 8), max(1, size[1] // 8))
    noise = Image.frombytes("RGB", small, random.Random(5).randbytes(small[0] * small[1] * 3))
    return saved(noise.resize(size), kind, **options)


async def uploaded(owner: Account, content: bytes, name: str = "a.jpg") -> dict[str, Any]:
    answer = await owner.api.post(MEDIA, files={"file": (name, content)})
    assert answer.status_code == 200, answer.text
    item: dict[str, Any] = answer.json()
    return item


async def item_of(tenant: TenantWorld, item: dict[str, Any]) -> dict[str, Any]:
    records = tenant.world.parts.records
    [found] = await records.find(
        tenant.world.collection("media"), {"id": item["id"]}, tenant_id=tenant.id
    )
    return found


async def keys(tenant: TenantWorld) -> list[str]:
    store = tenant.world.parts.objects
    return sorted([key.rpartition("/")[2] async for key in store.list_keys(tenant.id)])


@pytest.mark.parametrize(
    ("width", "widths"),
    [
        (5000, (480, 800, 1200, 1600)),
        (1601, (480, 800, 1200, 1600)),
        (1600, (480, 800, 1200, 1600)),
        (1000, (480, 800, 1000)),
        (600, (480, 600)),
        (500, (500,)),
        (1, (1,)),
    ],
)
def test_no_copy_is_wider_than_the_picture(width: int, widths: tuple[int, ...]) -> None:
    assert copy_widths(width) == widths


async def test_the_worker_makes_each_size_in_both_formats(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    item = await uploaded(owner, photo((1000, 500)))
    assert (await item_of(tenant, item))["picture_sizes"] == ""
    await run_jobs(app)
    assert (await item_of(tenant, item))["picture_sizes"] == "480 800 1000"
    for kind in ("avif", "webp"):
        for width in (480, 800, 1000):
            path = f"/media/{item['id']}/{item['file']}/{width}.{kind}"
            answer = await tenant.guest.get(path)
            assert answer.status_code == 200
            assert answer.headers["content-type"] == f"image/{kind}"
            assert "immutable" in answer.headers["cache-control"]
            shown = Image.open(io.BytesIO(answer.content))
            assert shown.size == (width, width // 2)
            assert shown.format == kind.upper()


async def test_the_original_stays_byte_for_byte(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    content = photo((900, 600))
    item = await uploaded(owner, content)
    await run_jobs(app)
    answer = await tenant.guest.get(f"/media/{item['id']}/{item['file']}")
    assert answer.content == content


async def test_a_copy_is_upright_and_says_nothing_of_the_camera(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    turned = photo((600, 300), exif=exif(orientation=6))
    item = await uploaded(owner, turned)
    await run_jobs(app)
    assert (item["width"], item["height"]) == (300, 600)
    for kind in ("avif", "webp"):
        answer = await tenant.guest.get(f"/media/{item['id']}/{item['file']}/300.{kind}")
        shown = Image.open(io.BytesIO(answer.content))
        assert shown.size == (300, 600)
        assert b"Camera" not in answer.content


async def test_a_picture_that_moves_or_is_drawn_stays_as_it_is(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    frames = [Image.new("RGB", (600, 400), color) for color in ("red", "blue")]
    moving = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    moving_webp = saved(frames[0], "WEBP", save_all=True, append_images=frames[1:])
    drawing = b'<svg xmlns="http://www.w3.org/2000/svg" width="900" height="600"></svg>'
    items = [
        await uploaded(owner, moving, "a.gif"),
        await uploaded(owner, moving_webp, "a.webp"),
        await uploaded(owner, drawing, "a.svg"),
    ]
    await run_jobs(app)
    sizes = [(await item_of(tenant, item))["picture_sizes"] for item in items]
    assert sizes == ["none", "none", ""]
    assert await keys(tenant) == sorted(item["file"] for item in items)


async def test_where_the_original_is_smaller_than_its_copies_there_are_none(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    item = await uploaded(owner, saved(Image.new("1", (400, 300)), "PNG"), "a.png")
    await run_jobs(app)
    assert (await item_of(tenant, item))["picture_sizes"] == "none"
    assert await keys(tenant) == [item["file"]]


async def test_a_broken_picture_is_tried_once(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    whole = photo((900, 600), "PNG")
    item = await uploaded(owner, whole[: len(whole) // 2], "a.png")
    await run_jobs(app)
    assert (await item_of(tenant, item))["picture_sizes"] == "none"


async def test_only_the_sizes_that_were_made_have_an_address(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    item = await uploaded(owner, photo((900, 600)))
    base = f"/media/{item['id']}/{item['file']}"
    assert (await tenant.guest.get(f"{base}/480.webp")).status_code == 404
    await run_jobs(app)
    assert (await tenant.guest.get(f"{base}/480.webp")).status_code == 200
    for wrong in ("481.webp", "480.png", "1600.avif", "0480.webp", "480", "٤٨٠.webp"):
        assert (await tenant.guest.get(f"{base}/{wrong}")).status_code == 404
    assert (await tenant.guest.post(f"{base}/480.webp")).status_code == 405


async def test_a_copy_that_was_lost_is_made_again(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    """A backup holds the originals alone."""
    item = await uploaded(owner, photo((900, 600)))
    await run_jobs(app)
    store = app.parts.objects
    async for key in store.list_keys(tenant.id):
        if key.endswith("480.avif"):
            await store.delete(key)
    answer = await tenant.guest.get(f"/media/{item['id']}/{item['file']}/480.avif")
    assert Image.open(io.BytesIO(answer.content)).size == (480, 320)


async def empty_trash(app: World) -> None:
    await run_jobs(app)
    app.clock.advance(days=30)
    await delete_expired(app.parts.records)
    await run_jobs(app)


async def test_a_deleted_picture_takes_its_copies_along(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    item = await uploaded(owner, photo((900, 600)))
    await run_jobs(app)
    assert len(await keys(tenant)) > 1
    assert (await owner.api.delete(f"{MEDIA}/{item['id']}")).status_code == 204
    await empty_trash(app)
    assert await keys(tenant) == []


async def test_a_picture_deleted_before_its_turn_leaves_nothing(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    item = await uploaded(owner, photo((900, 600)))
    assert (await owner.api.delete(f"{MEDIA}/{item['id']}")).status_code == 204
    await empty_trash(app)
    assert await keys(tenant) == []


async def test_copies_of_a_read_only_site_are_made_and_tell_no_webhook(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    item = await uploaded(owner, photo((900, 600)))
    before = await tenant.event_names()
    await tenant.settings(read_only_mode=True)
    await run_jobs(app)
    assert (await item_of(tenant, item))["picture_sizes"] == "480 900"
    assert [each for each in await tenant.event_names() if each.startswith("media.")] == [
        each for each in before if each.startswith("media.")
    ]


@pytest.mark.parametrize("value", [-1, 101, "left"])
async def test_a_focus_is_a_percentage(owner: Account, value: object) -> None:
    item = await uploaded(owner, photo((64, 48)))
    answer = await owner.api.patch(f"{MEDIA}/{item['id']}", json={"focus_x": value})
    assert answer.status_code == 400
    assert "focus_x" in answer.json()["data"]
