"""Programs of others read our WXR: Pelican's importer and the best known one for Markdown."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.clients.node import HERE as CLIENTS
from tests.clients.node import run_node
from tests.conftest import Server
from tests.faces.site_export.filled import Filled, export, picture, upload

# Apart from the rest, because it needs older versions of packages than we do.
APART = Path(sys.prefix) / "client-generator"
TO_MARKDOWN = CLIENTS / "node_modules" / "wordpress-export-to-markdown" / "index.js"

# Pelican leaves turning HTML into Markdown to a program that few machines have: this one keeps the
# HTML that Pelican has read.
STAND_IN = """#!/bin/sh
if [ "$1" = --version ]; then echo "pandoc 3.1"; exit; fi
while [ "$1" != -o ]; do shift; done
cp "$3" "$2"
"""


@pytest.fixture(params=["stand-in", "pandoc"])
def pandoc(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "pandoc":
        found = shutil.which("pandoc")
        return (
            Path(found)
            if found
            else pytest.skip("Pandoc is missing: install pandoc, as .ci/run does")
        )
    stand_in = tmp_path / "bin" / "pandoc"
    stand_in.parent.mkdir()
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o755)
    return stand_in


async def pelican_import(wxr: Path, folder: Path, pandoc: Path) -> dict[str, str]:
    """The files that Pelican makes of it, by their path."""
    output = folder / "content"
    output.mkdir()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(APART / "bin" / "pelican-import"), "--wpfile"),
        *("--markup", "markdown", "--dir-page", "--output", str(output), str(wxr)),
        env={
            **os.environ,
            "PYTHONPATH": str(APART),
            "PATH": f"{pandoc.parent}{os.pathsep}{os.environ['PATH']}",
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    return {each.relative_to(output).as_posix(): each.read_text() for each in output.rglob("*.md")}


async def test_pelican_reads_posts_pages_and_drafts(
    filled: Filled, tmp_path: Path, pandoc: Path
) -> None:
    await filled.export("wxr", tmp_path / "site.xml")
    found = await pelican_import(tmp_path / "site.xml", tmp_path, pandoc)
    # What is published later is none of what it takes.
    assert set(found) == {
        "tea-toast-for-two.md",
        "-c3-bcber-uns.md",
        "for-members.md",
        "a-draft.md",
        "empty.md",
        "pages/about-us.md",
    }
    head, _, body = found["tea-toast-for-two.md"].partition("\n\n")
    assert head.splitlines() == [
        'Title: Tea & "toast" <for two>',
        "Date: 2025-03-04 05:06",
        f"Author: {filled.tenant.slug}",
        "Tags: Food & drink, C++, C, Reisen, Wandern",
        "Slug: tea-toast-for-two",
        "Status: published",
    ]
    is_markdown = pandoc.parent != tmp_path / "bin"
    assert ("    a[0]]> && [b]" if is_markdown else "<pre>a[0]]&gt; &amp;&amp; [b]</pre>") in body
    assert (f"[notes]({filled.notes['url']})" if is_markdown else filled.notes["url"]) in body
    assert "Status: draft" in found["a-draft.md"]
    assert "Slug: %c3%bcber-uns" in found["-c3-bcber-uns.md"]


async def test_wordpress_export_to_markdown_reads_texts_and_pictures(
    server: Server, tmp_path: Path
) -> None:
    shown = await upload(server.tenant, "harbour.png", picture())
    away = f"{server.url}/media/{shown['id']}/{shown['file']}"
    await server.tenant.published(
        title="Tea & toast",
        content_html="<h2>Toast</h2><p>One\ntwo <strong>three</strong></p>",
        published_at="2025-03-04T05:06:07.089Z",
        tags=["Food", "C++"],
        featured_image=away,
    )
    await server.tenant.create("pages", {"title": "About us", "status": "published"})
    await server.tenant.post(title="A draft")
    await export(server.tenant, "wxr", tmp_path / "site.xml")
    finished = await run_node(
        TO_MARKDOWN,
        *("--wizard=false", f"--input={tmp_path / 'site.xml'}", f"--output={tmp_path / 'out'}"),
        *("--post-folders=false", "--save-scraped-images=false", "--include-other-types=true"),
    )
    assert (finished.code, finished.errors) == (0, ""), finished.output
    written = {
        each.relative_to(tmp_path / "out").as_posix() for each in (tmp_path / "out").rglob("*.*")
    }
    # Drafts are none of what it takes.
    assert written == {
        "post/tea-toast.md",
        f"post/images/{shown['file']}",
        "page/about-us.md",
    }
    assert (tmp_path / "out/post/images" / shown["file"]).read_bytes() == picture()
    text = (tmp_path / "out/post/tea-toast.md").read_text()
    head, _, body = text.removeprefix("---\n").partition("---\n")
    assert head.splitlines() == [
        'title: "Tea & toast"',
        'date: "2025-03-04"',
        "tags: ",
        '  - "food"',
        '  - "c"',
        f'coverImage: "{shown["file"]}"',
    ]
    assert body.strip() == "## Toast\n\nOne two **three**"
