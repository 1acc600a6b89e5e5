"""No importer keeps an address that could act, whatever stands in front of its scheme."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from tests.faces.importers.write.exports import imported, rows
from tests.faces.importers.write.platforms import PLATFORMS
from tests.world import TenantWorld

from masthead.faces.importers.platforms.exports import open_export
from masthead.faces.importers.source import Options

HOSTILE: Final = (
    '<p><a href=" data:text/html,1">blank</a> <a href="&#9;data:text/html,2">tab</a> '
    '<a href="&#x1f;da&Tab;ta:text/html,3">control</a> '
    '<a href="java&#10;script:alert(4)">line</a> '
    '<a href="https://a.example/" target="_blank" rel="opener">window</a></p>'
    '<blockquote cite=" data:text/html,5"><p>said</p></blockquote>'
    '<video src=" data:text/html,6" poster=" data:text/html,7"></video>'
)


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_no_importer_keeps_what_could_act(
    tenant: TenantWorld, tmp_path: Path, platform: str
) -> None:
    path = PLATFORMS[platform](tmp_path, HOSTILE)
    with closing(open_export(platform, path, Options())) as source:
        await imported(tenant, source)
    (found,) = await rows(tenant, "posts")
    stored: dict[str, Any] = {name: found[name] for name in ("content_html", "content_json")}
    text = msgspec.json.encode(stored).decode()
    assert "data:" not in text
    assert "script:" not in text
    assert "opener" not in text
    for word in ("blank", "tab", "control", "line", "window", "said"):
        assert word in found["content_html"]
    assert 'href=\\"https://a.example/\\"' in text
