"""Thumbs of one picture in every form, asked of PocketBase itself and of the record store."""

from __future__ import annotations

import io
from collections.abc import Iterator

import httpx
import pytest
from PIL import Image
from tests.faces.record_api.peer import Peer, running_peer
from tests.world import TenantWorld, records_of

from masthead.features.media.collection import THUMBS

MEDIA = records_of("media")
OTHERS = ("0x100", "50x50", "100x100x", "300x300z", "x", "0x0", "600x0t", "")


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    with running_peer(tmp_path_factory.mktemp("pocketbase")) as peer:
        file = {"name": "file", "type": "file", "thumbs": list(THUMBS), "maxSize": 10_000_000}
        shape = {"name": "media", "type": "base", "fields": [file], "viewRule": ""}
        peer.post("/api/collections", shape)
        yield peer


def picture() -> bytes:
    """Red above, green in the middle and blue below, so that a crop shows where it was made."""
    image = Image.new("RGB", (400, 900), "green")
    image.paste("red", (0, 0, 400, 300))
    image.paste("blue", (0, 600, 400, 900))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


async def thumb(api: httpx.AsyncClient, item: dict[str, str], size: str) -> tuple[object, ...]:
    answer = await api.get(f"/api/files/media/{item['id']}/{item['file']}", params={"thumb": size})
    assert answer.status_code == 200, (size, answer.text)
    image = Image.open(io.BytesIO(answer.content)).convert("RGB")
    places = ((0.5, 0.05), (0.5, 0.5), (0.5, 0.95))
    seen = [image.getpixel((int(image.width * x), int(image.height * y))) for x, y in places]
    return (image.size, *(_name(each) for each in seen))


def _name(pixel: object) -> str:
    assert isinstance(pixel, tuple)
    return ("red", "green", "blue")[max(range(3), key=lambda at: pixel[at])]


async def test_thumbs_are_those_of_pocketbase(peer: Peer, tenant: TenantWorld) -> None:
    owner = await tenant.owner()
    async with httpx.AsyncClient(base_url=peer.url, headers=peer.signed) as theirs:
        items = [
            (await api.post(MEDIA, files={"file": ("tall.png", picture())})).json()
            for api in (owner.api, theirs)
        ]
        for size in (*THUMBS, *OTHERS):
            ours = await thumb(tenant.guest, items[0], size)
            assert ours == await thumb(theirs, items[1], size), size
