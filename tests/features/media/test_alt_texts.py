"""Descriptions of pictures: in the text that shows them, and in the library."""

from __future__ import annotations

from typing import Any

from tests.features.media.pictures import picture
from tests.features.privacy.requests import run_jobs
from tests.world import Account, TenantWorld, records_of


async def uploaded(owner: Account, **fields: str) -> dict[str, Any]:
    files = {"file": ("fog.png", picture("PNG"))}
    answer = await owner.api.post(records_of("media"), files=files, data=fields)
    assert answer.status_code == 200, answer.text
    item: dict[str, Any] = answer.json()
    return item


async def known(tenant: TenantWorld, owner: Account, item: dict[str, Any]) -> str:
    await run_jobs(tenant.world)
    found = (await owner.api.get(records_of("media", item["id"]))).json()
    return str(found["alt"])


def image(item: dict[str, Any], alt: str = "") -> str:
    said = f' alt="{alt}"' if alt else ""
    return f'<figure><img src="{item["url"]}"{said} width="64"></figure>'


async def test_the_library_learns_what_a_text_says_of_a_picture(tenant: TenantWorld) -> None:
    owner = await tenant.owner()
    item = await uploaded(owner)
    post = await tenant.post(title="Fog", content_html=image(item, "A &amp; B"))
    assert await known(tenant, owner, item) == "A & B"
    # As it is written: the next save has the rest of the sentence.
    await tenant.update("posts", post["id"], {"content_html": image(item, "A boat in the fog")})
    assert await known(tenant, owner, item) == "A boat in the fog"
    # For another text it may say something else.
    page = await tenant.create("pages", {"title": "Fog", "content_html": image(item, "Fog")})
    await tenant.update("pages", page["id"], {"content_html": image(item, "Just fog")})
    assert await known(tenant, owner, item) == "A boat in the fog"


async def test_what_is_written_in_the_library_stays(tenant: TenantWorld) -> None:
    owner = await tenant.owner()
    item = await uploaded(owner, alt="Written with care")
    post = await tenant.published(title="Fog", content_html=image(item, "Quickly"))
    assert await known(tenant, owner, item) == "Written with care"
    assert 'alt="Quickly"' in (await tenant.guest.get("/posts/fog")).text
    # The other way round: where a text says nothing, readers get the library's.
    await tenant.update("posts", post["id"], {"content_html": image(item)})
    assert 'alt="Written with care"' in (await tenant.guest.get("/posts/fog")).text
    assert await known(tenant, owner, item) == "Written with care"
