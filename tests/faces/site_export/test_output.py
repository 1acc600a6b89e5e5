"""Exports with missing files, and with changes while they run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faces.site_export.filled import Filled, entries
from tests.world import TenantWorld

from masthead.engine.records.collection import file_key
from masthead.faces.site_export.content import TEXTS_PER_PAGE, Content, blog_of
from masthead.identity.tenants import tenants


@pytest.mark.parametrize("form", ["ghost", "html"])
async def test_a_missing_media_file_is_counted_and_left_out(
    filled: Filled, tmp_path: Path, form: str
) -> None:
    media = filled.tenant.world.collection("media")
    notes = filled.notes
    key = file_key(filled.tenant.id, media, notes["id"], notes["file"])
    await filled.tenant.world.parts.objects.delete(key)
    exported = await filled.export(form, tmp_path / "site.zip")
    assert exported.missing_files == 1
    names = entries(tmp_path / "site.zip")
    assert any(filled.picture["file"] in name for name in names)
    assert not any(notes["file"] in name for name in names)


async def test_each_record_is_handed_out_once_though_others_write_meanwhile(
    tenant: TenantWorld,
) -> None:
    made = [await tenant.post(title=f"Post {number}") for number in range(2 * TEXTS_PER_PAGE + 5)]
    (record,) = await tenant.world.parts.records.find(tenants, {"id": tenant.id})
    blog = await blog_of(tenant.world.parts, record, made[-1]["created"])
    told: list[tuple[str, int]] = []

    async def count(kind: str, number: int) -> None:
        told.append((kind, number))

    content = Content(tenant.world.parts, tenant.id, blog, count)
    seen: list[str] = []
    async for page in content.posts():
        seen += [each["id"] for each in page]
        await tenant.post(title="Written meanwhile")
        for each in (page[0], made[0]):
            await tenant.update("posts", each["id"], {"title": "Changed meanwhile"})
    assert sorted(seen) == sorted(each["id"] for each in made)
    assert told == [("posts", TEXTS_PER_PAGE), ("posts", TEXTS_PER_PAGE), ("posts", 5)]
    assert content.counts["posts"] == len(made)
