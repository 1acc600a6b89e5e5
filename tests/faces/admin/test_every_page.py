"""Every page of the admin in Chromium: accessible, whole at every width, and by keys alone.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from lxml import html
from tests.browser import Browser, needs_chromium
from tests.clients.node import HERE as CLIENTS
from tests.clients.node import NODE
from tests.faces.admin.every_page import SAMPLES, EveryPage, Sample, Windows, every_page
from tests.looks import accessibility, looks_of, reached_by_tab, sideways, skip_link
from tests.world import RunningClock

pytestmark = [pytest.mark.sweep, pytest.mark.xdist_group("every_page")]

PAGES = [each for each in SAMPLES if each.is_page]


@pytest.fixture(scope="module")
async def pages(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EveryPage]:
    async with every_page(tmp_path_factory.mktemp("every_page")) as found:
        yield found


@pytest.fixture(scope="module")
def windows(pages: EveryPage, browser: Browser) -> Windows:
    return Windows(pages, browser)


def client(pages: EveryPage, sample: Sample) -> httpx.AsyncClient:
    """In this process, signed in as the one who looks at the sample."""
    host = pages.origins[sample.site].removeprefix("http://")
    opened = pages.world.client(host)
    opened.headers["accept-language"] = sample.language
    if account := pages.account(sample):
        opened.cookies.set("pb_auth", account.token)
    return opened


def path_of(pages: EveryPage, sample: Sample) -> str:
    return pages.url(sample).removeprefix(pages.origins[sample.site])


@needs_chromium
@pytest.mark.parametrize("sample", PAGES, ids=lambda each: each.name)
async def test_a_page_is_for_everyone_at_every_size_and_by_keys_alone(
    windows: Windows, sample: Sample
) -> None:
    page = await windows.at(sample)
    problems = await reached_by_tab(page)
    problems |= await skip_link(page)
    problems |= await sideways(page)
    known = await windows.known_parts(page, sample)
    problems |= await accessibility(page, looks_of(sample.name), known)
    assert problems == {}, "\n".join(f"{name}: {found}" for name, found in problems.items())


async def test_a_part_is_the_same_as_in_its_page(pages: EveryPage) -> None:
    """The part is what htmx asks for; the page is what a browser without script shows."""
    clock = pages.world.clock
    assert isinstance(clock, RunningClock)
    parts = []
    # An empty site has no list to choose from, so nothing there asks for a part.
    for sample in [each for each in PAGES if each.site != "empty"]:
        async with client(pages, sample) as browser:
            path = path_of(pages, sample)
            with clock.stopped():
                part = await browser.get(path, headers={"hx-request": "true"})
                whole = await browser.get(path)
            if part.status_code != sample.status or "hx-redirect" in part.headers:
                # It has no part.
                continue
            assert "HX-Request" in part.headers["vary"], sample
            assert lines(part.text) <= lines(whole.text), sample
            parts.append(sample.name)
    assert "posts" in parts


def lines(page: str) -> set[str]:
    """Each text and link of a page, without what is new in every answer."""
    tree = html.document_fromstring(page)
    texts = (each.strip() for each in tree.itertext())
    return {each for each in texts if each} | set(tree.xpath("//@href"))


async def test_html_validate_finds_nothing(pages: EveryPage, tmp_path: Path) -> None:
    for sample in PAGES:
        async with client(pages, sample) as browser:
            answer = await browser.get(path_of(pages, sample))
        (tmp_path / f"{sample.name}.html").write_text(answer.text)
    assert await validated(tmp_path) == (0, "")


async def validated(folder: Path) -> tuple[int | None, str]:
    rules = {"root": True, "extends": ["html-validate:standard"]}
    (folder / ".htmlvalidate.json").write_text(json.dumps(rules))
    process = await asyncio.create_subprocess_exec(
        str(NODE),
        str(CLIENTS / "node_modules" / "html-validate" / "bin" / "html-validate.mjs"),
        "--formatter=text",
        str(folder),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    return process.returncode, (output + errors).decode()
