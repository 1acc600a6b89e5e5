"""The file is there when it is whole, and never half."""

from __future__ import annotations

import stat
from contextlib import suppress
from pathlib import Path

import pytest
from tests.site_export.filled import Filled, entries
from tests.world import TenantWorld

from masthead.identity.tenants import tenants
from masthead.records.write.unit import file_key
from masthead.site_export.content import TEXTS_PER_PAGE, Content, blog_of
from masthead.site_export.output import CannotWrite, whole_file


def test_a_failure_leaves_what_was_there_before(tmp_path: Path) -> None:
    path = tmp_path / "site.zip"
    path.write_bytes(b"before")
    with suppress(RuntimeError), whole_file(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_until_it_is_whole_the_name_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "site.zip"
    with whole_file(path) as file:
        file.write(b"all of it")
        assert not path.exists()
    assert path.read_bytes() == b"all of it"
    assert list(tmp_path.iterdir()) == [path]


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    with whole_file(tmp_path / "site.zip"):
        pass
    assert stat.S_IMODE((tmp_path / "site.zip").stat().st_mode) == 0o600


@pytest.mark.parametrize("path", [".", "no-such-folder/site.zip"])
def test_a_place_that_takes_no_file_is_told(tmp_path: Path, path: str) -> None:
    with pytest.raises(CannotWrite), whole_file(tmp_path / path):
        pass
    assert list(tmp_path.iterdir()) == []


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
