"""Every real and hostile export of the shared corpus, twice in a row, where it is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.importers.run.exports import everything, imported, rows
from tests.world import TenantWorld

from masthead.importers.opening import open_export
from masthead.importers.source import BadFile, Options

CORPUS = Path(__file__).parents[4] / "shared" / "corpus"
PLATFORMS = ("wordpress", "substack", "ghost")
"""Two on a machine of its own; tests share theirs."""


def exports() -> list[Any]:
    found = []
    for platform in PLATFORMS:
        top = CORPUS / platform
        for path in sorted(top.rglob("*")):
            if path.is_file() and _is_export(path, top):
                found.append(pytest.param(platform, path, id=str(path.relative_to(CORPUS))))
        found += [
            pytest.param(platform, path, id=str(path.relative_to(CORPUS)))
            for path in sorted(top.rglob("*"))
            if path.is_dir() and (path / "posts.csv").exists()
        ]
    return found


def _is_export(path: Path, top: Path) -> bool:
    """Not what only counts together with the folder it lies in."""
    parents = [each for each in path.parents if each != top and top in each.parents]
    if any((each / "posts.csv").exists() for each in parents):
        return False
    return not path.name.endswith((".expected.json", ".md", ".py"))


@pytest.mark.skipif(not CORPUS.is_dir(), reason="needs the corpus of exports beside the project")
@pytest.mark.parametrize(("platform", "path"), exports())
async def test_an_export_comes_over_once(
    app: Any, tenant: TenantWorld, platform: str, path: Path
) -> None:
    options = Options(include_pages=True, include_products=True)
    refusal = ""
    try:
        source = open_export(platform, path, options)
    except BadFile as error:
        refusal = str(error)
    if refusal:
        assert refusal.endswith(".")
        return
    try:
        dry = await imported(tenant, source, dry_run=True)
        assert await rows(tenant, "import_items") == []
        first = await imported(tenant, source)
        written = await everything(tenant)
        app.clock.advance(hours=1)
        second = await imported(tenant, source)
    finally:
        source.close()
    assert (dry.posts, dry.members) == (first.posts, first.members)
    assert await everything(tenant) == written
    for tally in (second.posts, second.members):
        assert (tally.imported, tally.updated) == (0, 0)
    failed = first.posts.failed + first.members.failed
    assert second.posts.failed + second.members.failed == failed
