"""The same post as each platform exports it, as files on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.faces.importers.platforms.wordpress.wxr import HEAD, TAIL, item

SUBSTACK_COLUMNS: Final = "post_id,post_date,is_published,type,audience,title,subtitle\n"


def wordpress(folder: Path, html: str) -> Path:
    path = folder / "export.xml"
    path.write_text(HEAD.format(version="1.2") + item(html) + TAIL)
    return path


def substack(folder: Path, html: str) -> Path:
    path = folder / "substack"
    (path / "posts").mkdir(parents=True)
    row = "1.a-title,2024-05-01T10:00:00Z,true,newsletter,everyone,A title,\n"
    (path / "posts.csv").write_text(SUBSTACK_COLUMNS + row)
    (path / "posts/1.a-title.html").write_text(html)
    return path


def ghost(folder: Path, html: str) -> Path:
    path = folder / "export.json"
    post = {"id": "p1", "title": "A title", "slug": "a-title", "html": html, "type": "post"}
    post |= {"status": "published", "published_at": "2024-05-01T10:00:00.000Z"}
    data = {"meta": {"version": "5.130.2"}, "data": {"posts": [post]}}
    path.write_text(json.dumps({"db": [data]}))
    return path


PLATFORMS: Final[Mapping[str, Callable[[Path, str], Path]]] = {
    "wordpress": wordpress,
    "substack": substack,
    "ghost": ghost,
}
