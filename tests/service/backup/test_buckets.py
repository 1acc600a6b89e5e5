"""Archives in a bucket: `masthead backup s3://…`, `backup verify` and `restore`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.object_stores import BUCKET, S3Server
from tests.service.backup.sites import Installation
from tests.world import records_of

pytestmark = pytest.mark.sweep


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_an_archive_goes_into_a_bucket_and_comes_back(
    engine: str, tmp_path: Path, s3_environ: S3Server
) -> None:
    named = f"{s3_environ.new_url()}/daily/masthead.tar"
    original = Installation.empty(engine, tmp_path / "original")
    original.data_dir.parent.mkdir()
    async with original.serving() as world:
        owner = await (await world.new_tenant("demo")).owner()
        await owner.api.post(records_of("media"), files={"file": ("a.txt", b"text" * 500)})
        taken = await original.json("backup", named)
    assert (taken["file"], taken["media"]) == (named, 1)
    found = await original.json("backup", "verify", named)
    assert (found["file"], found["bytes"]) == (named, taken["bytes"])
    again = await original.command("backup", named)
    assert (again.code, again.err) == (1, f"masthead: {named} exists already. Name a new file.\n")
    restored = Installation.empty(engine, tmp_path / "restored")
    restored.data_dir.parent.mkdir()
    assert (await restored.json("restore", named))["records"] == taken["records"]
    assert await restored.rows() == await original.rows()


async def test_what_is_not_there_is_said_in_one_sentence(
    tmp_path: Path, s3_environ: S3Server
) -> None:
    target = Installation.empty("sqlite", tmp_path / "target")
    none = f"{s3_environ.new_url()}/none.tar"
    refused = await target.command("restore", none)
    assert (refused.code, refused.err) == (1, f"masthead: There is no archive {none}.\n")
    assert not target.data_dir.exists()
    for wrong in (f"s3://{BUCKET}", f"s3://{BUCKET}/", "s3://"):
        refused = await target.command("backup", "verify", wrong)
        assert (refused.code, "must be s3://bucket/key" in refused.err) == (1, True), wrong
    other = f"{s3_environ.new_url()}/a.tar".replace(BUCKET, "another-bucket")
    refused = await target.command("backup", "verify", other)
    assert (refused.code, "Traceback" in refused.err) == (1, False)
    assert refused.err.count("\n") == 1
