"""Every export of ours and of the corpus, twice in a row: what came over once is left alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests import corpus
from tests.faces.importers.samples.every import SAMPLES
from tests.faces.importers.samples.sample import Sample, as_it_is, cases
from tests.faces.importers.write.exports import everything, imported, rows
from tests.world import TenantWorld

from masthead.faces.importers.platforms.exports import open_export
from masthead.faces.importers.source import BadFile, Options

PLATFORMS = ("wordpress", "substack", "ghost")


def of_the_corpus() -> Iterator[Sample]:
    for platform in PLATFORMS:
        for path in corpus.found(f"{platform}/**/*"):
            is_folder = path.is_dir() and (path / "posts.csv").exists()
            if is_folder or (path.is_file() and _is_export(path)):
                yield Sample(corpus.name_of(path), partial(as_it_is, path))


def _is_export(path: Path) -> bool:
    """Not what only counts together with the folder it lies in."""
    if any((each / "posts.csv").exists() for each in path.parents):
        return False
    return not path.name.endswith((".expected.json", ".md", ".py"))


def ours() -> Iterator[Sample]:
    """Not one post or reader spelled in many ways: they are written the same way."""
    for each in SAMPLES:
        number = sum(each.posts.values()) + sum(each.members.values())
        if number > 2 or each.name in ("wordpress/nested deeply", "wordpress/a long post"):
            yield each


@pytest.mark.parametrize("sample", cases([*ours(), *of_the_corpus()]))
async def test_an_export_comes_over_once(
    app: Any, tenant: TenantWorld, sample: Sample, tmp_path: Path
) -> None:
    options = Options(include_pages=True, include_products=True)
    refusal = ""
    try:
        source = open_export(sample.platform, sample.write(tmp_path), options)
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
    if sample in SAMPLES:
        assert failed == 0
