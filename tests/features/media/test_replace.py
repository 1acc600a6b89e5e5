"""A file takes the place of another: every use shows it, at a new address, and nothing is lost by a
crash between the steps."""

from __future__ import annotations

import io
from typing import Any

import pytest
from PIL import Image
from tests.features.media.test_copies import item_of, keys, photo, uploaded
from tests.features.privacy.requests import run_jobs
from tests.world import Account, TenantWorld, World

from masthead.base.caller import Caller, Kind, system
from masthead.base.errors import Invalid, NotFound, Unavailable
from masthead.features.media.upload import replace_file
from masthead.web.multipart import Upload


async def replaced(
    tenant: TenantWorld, item: dict[str, Any], content: bytes, name: str = "b.jpg", **who: Any
) -> dict[str, Any]:
    caller = Caller(**who, tenant_id=tenant.id) if who else system(tenant.id)
    upload = Upload("file", name, "")

    async def chunks() -> Any:
        yield content

    await upload.fill(chunks())
    try:
        return await replace_file(tenant.world.parts, caller, await item_of(tenant, item), upload)
    finally:
        upload.close()


async def test_every_address_shows_the_new_picture(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    item = await uploaded(owner, photo((1000, 500)))
    await run_jobs(app)
    new = await replaced(tenant, item, photo((600, 300), "PNG"), "new.png")
    await run_jobs(app)
    old_path = f"/media/{item['id']}/{item['file']}"
    new_path = f"/media/{item['id']}/{new['file']}"
    assert new["file"] != item["file"]
    for address, leads_to in (
        (old_path, new_path),
        (f"{old_path}?thumb=100x100", f"{new_path}?thumb=100x100"),
        (f"{old_path}/480.avif", f"{new_path}/480.avif"),
        # The new picture has no copy of this size.
        (f"{old_path}/1000.webp", new_path),
        (f"/api/files{old_path}", f"/api/files{new_path}"),
    ):
        answer = await tenant.guest.get(address)
        assert (answer.status_code, answer.headers["location"]) == (302, leads_to)
        assert answer.headers["cache-control"] == "no-cache"
        shown = await tenant.guest.get(leads_to)
        assert shown.status_code == 200
        width, height = Image.open(io.BytesIO(shown.content)).size
        assert "100x100" in address or width == 2 * height <= 600
    found = await item_of(tenant, item)
    assert (found["filename"], found["mime_type"], found["width"]) == ("new.png", "image/png", 600)
    assert found["picture_sizes"] == "480 600"
    assert all(item["file"] not in key for key in await keys(tenant))


async def test_a_page_of_the_site_shows_the_new_picture_at_once(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    item = await uploaded(owner, photo((1000, 500)))
    html = f'<p><img src="{item["url"]}"></p>'
    post = await tenant.published(title="Fog", content_html=html, featured_image=item["url"])
    address = f"/posts/{post['slug']}"
    assert item["file"] in (await tenant.guest.get(address)).text
    new = await replaced(tenant, item, photo((600, 300)))
    page = (await tenant.guest.get(address)).text
    assert item["file"] not in page
    assert page.count(new["file"]) >= 2


async def test_a_file_is_replaced_again_and_again(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    item = await uploaded(owner, photo((64, 48)))
    first = await replaced(tenant, item, photo((32, 32)))
    second = await replaced(tenant, item, photo((16, 16)))
    for name in (item["file"], first["file"]):
        answer = await tenant.guest.get(f"/media/{item['id']}/{name}")
        assert answer.headers["location"] == f"/media/{item['id']}/{second['file']}"
    other = f"/media/{item['id']}/guessed_name.jpg"
    assert (await tenant.guest.get(other)).status_code == 404


async def test_a_crash_after_the_bytes_are_stored_leaves_the_old_file(
    app: World, tenant: TenantWorld, owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = await uploaded(owner, photo((64, 48)))
    await run_jobs(app)

    class Crash(BaseException): ...

    def crash(*_: object, **__: object) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(app.parts.records, "unit", _units_until_crash(app, 1, crash))
        with pytest.raises(Crash):
            await replaced(tenant, item, photo((32, 32)))
    assert (await tenant.guest.get(f"/media/{item['id']}/{item['file']}")).status_code == 200
    assert sum(key.endswith(".jpg") and "thumbs" not in key for key in await keys(tenant)) == 2
    app.clock.advance(hours=2)
    await run_jobs(app)
    assert [key for key in await keys(tenant) if key.endswith(".jpg")] == [item["file"]]


async def test_a_file_that_the_sweep_has_removed_takes_no_place(
    app: World, tenant: TenantWorld, owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = await uploaded(owner, photo((64, 48)))
    await run_jobs(app)
    put = app.parts.objects.put

    async def put_and_sweep(*args: Any, **options: Any) -> None:
        await put(*args, **options)
        app.clock.advance(hours=2)
        await run_jobs(app)

    with monkeypatch.context() as patched:
        patched.setattr(app.parts.objects, "put", put_and_sweep)
        with pytest.raises(Unavailable):
            await replaced(tenant, item, photo((32, 32)))
    assert (await item_of(tenant, item))["file"] == item["file"]
    assert (await tenant.guest.get(f"/media/{item['id']}/{item['file']}")).status_code == 200


def _units_until_crash(app: World, count: int, crash: Any) -> Any:
    """The first units work: one queues the sweep."""
    real, left = app.parts.records.unit, [count]

    def unit(*args: Any, **options: Any) -> Any:
        left[0] -= 1
        return real(*args, **options) if left[0] >= 0 else crash()

    return unit


async def test_what_is_no_picture_takes_no_pictures_place(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    item = await uploaded(owner, photo((64, 48)))
    for content, code in (
        (b"%PDF-1.4 words", "validation_another_kind"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><broken", "validation_unsafe_svg"),
    ):
        with pytest.raises(Invalid) as refused:
            await replaced(tenant, item, content, "b.pdf")
        assert refused.value.problems["file"].code == code
    assert (await item_of(tenant, item))["file"] == item["file"]
    await run_jobs(app)
    assert [key for key in await keys(tenant) if key.endswith((".jpg", ".pdf", ".svg"))] == [
        item["file"]
    ]


async def test_an_author_replaces_own_files_alone(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    author = await tenant.owner(role="author")
    who = {"kind": Kind.AUTHOR, "id": author.id, "collection": "_superusers"}
    item, own = await uploaded(owner, photo((64, 48))), await uploaded(author, photo((64, 48)))
    with pytest.raises(NotFound):
        await replaced(tenant, item, photo((32, 32)), **who)
    assert (await replaced(tenant, own, photo((32, 32)), **who))["width"] == 32
