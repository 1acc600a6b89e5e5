"""Pictures of an import: one copy of each, at addresses that hold on whatever host serves them."""

from __future__ import annotations

import dataclasses
from typing import Final

import msgspec
from tests.faces.importers.write.exports import WrittenExport, imported, post, rows
from tests.features.media.pictures import picture
from tests.world import TenantWorld

from masthead.base.config.settings import Url

FOLDER: Final = "/wp-content/uploads"
ORIGINAL, SMALL = picture("PNG"), picture("PNG", (15, 15))
SIZES: Final = {f"{FOLDER}/a.png": ORIGINAL, f"{FOLDER}/a-150x150.png": SMALL}
LINKED: Final = (
    f'<p><a href="http://old.example{FOLDER}/a.png"><img src="{FOLDER}/a-150x150.png"></a></p>'
)


async def test_a_resized_picture_beside_its_original_is_one_copy(tenant: TenantWorld) -> None:
    source = WrittenExport([post(1, html=LINKED)], files=SIZES, platform="wordpress")
    report = await imported(tenant, source)
    (item,) = await rows(tenant, "media")
    served = await tenant.guest.get(f"/media/{item['id']}/{item['file']}")
    assert served.content == ORIGINAL
    assert (report.images.copied, report.images.failed) == (1, 0)
    (found,) = await rows(tenant, "posts")
    assert "wp-content" not in found["content_html"]


async def test_texts_do_not_tell_who_imported_them(tenant: TenantWorld) -> None:
    """A shell and the server may differ in the base URL that they are started with."""
    parts = tenant.world.parts
    elsewhere = dataclasses.replace(parts.settings, base_url=Url("http://localhost:9999"))
    tenant.world.parts = msgspec.structs.replace(parts, settings=elsewhere)
    source = post(1, html=LINKED, featured_image=f"{FOLDER}/a.png")
    await imported(tenant, WrittenExport([source], files=SIZES, platform="wordpress"))
    tenant.world.parts = parts

    (item,) = await rows(tenant, "media")
    (found,) = await rows(tenant, "posts")
    address = f"/media/{item['id']}/{item['file']}"
    assert found["featured_image"] == address
    assert found["content_html"].count(f'="{address}"') == 2
    assert "localhost" not in msgspec.json.encode(found["content_json"]).decode()
    assert (await tenant.guest.get(address)).content == ORIGINAL
