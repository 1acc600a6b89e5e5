"""Every page of the admin in a language that is made of the source: a word in Latin letters is
content, or one that can't be translated."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from zoneinfo import available_timezones

import pytest
from tests.catalogs.pseudo import LANGUAGE, latin_words, pseudo_language
from tests.faces.admin.every_page import SAMPLES, EveryPage, Sample, every_page

_CODE = re.compile(r"<(pre|textarea|code)\b.*?</\1>", re.DOTALL)
pytestmark = [pytest.mark.sweep, pytest.mark.xdist_group("every_page")]

_LATIN = re.compile(r"[\x20-\x7e–—“”‘’…äöüßéèàñãçå·×]*[A-Za-z]{2,}[\x20-\x7e–—“”‘’…äöüßéèàñãçå·×]*")
_EDGES = " \t\n.,:;?!()“”…·–×/"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("words")


@pytest.fixture(scope="module")
async def pages(folder: Path) -> AsyncIterator[EveryPage]:
    async with every_page(folder) as found:
        yield found


async def test_every_word_of_the_admin_is_translated(
    pages: EveryPage, folder: Path, tmp_path: Path
) -> None:
    found: dict[str, list[str]] = {}
    content = "\n".join([*_stored(folder), *map(_spaced, available_timezones())]).casefold()
    with pseudo_language(tmp_path):
        for sample in SAMPLES:
            if sample.is_page and sample.name not in LEFT_OUT:
                texts = latin_words(await _page(pages, sample), *KNOWN)
                if ours := [each for each in texts if not _is_content(each, content)]:
                    found[sample.name] = ours
    assert found == {}


async def _page(pages: EveryPage, sample: Sample) -> str:
    async with pages.world.client(pages.origins[sample.site].removeprefix("http://")) as browser:
        if account := pages.account(sample):
            browser.cookies.set("pb_auth", account.token)
        path = pages.url(sample).removeprefix(pages.origins[sample.site])
        page = await browser.get(path, headers={"accept-language": LANGUAGE})
    # One leads elsewhere, to a page that is another sample.
    assert page.status_code in (sample.status, 303), sample.name
    return _CODE.sub("", page.text) or "<p></p>"


def _spaced(zone: str) -> str:
    return zone.replace("_", " ")


def _stored(folder: Path) -> list[str]:
    """Every text in the database."""
    texts: list[str] = []
    for path in folder.rglob("*.db"):
        database = sqlite3.connect(path)
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in names:
            try:
                rows = database.execute(f'SELECT * FROM "{name}"').fetchall()
            except sqlite3.DatabaseError:
                continue
            texts += [value for row in rows for value in row if isinstance(value, str)]
        database.close()
    return texts


def _is_content(text: str, content: str) -> bool:
    pieces = (piece for part in text.split(" · ") for piece in _LATIN.findall(part))
    return all(piece.strip(_EDGES).casefold() in content for piece in pieces)


EXAMPLES = {"components"}
"""A page of the parts of pages, for the people who build them."""
MIXED = {
    "comments-all",
    "delivery",
    "digest",
    "error",
    "errors",
    "errors-nothing-found",
    "gift-cards",
    "import-preview",
    "import-preview-sample",
    "media-item-file",
    "members-import-columns",
    "members-import-columns-refused",
    "not-for-editors",
    "post-refused",
    "snippets",
    "snippets-author",
    "tags-nothing-found",
}
"""Pages that show content in another form than it is stored, or that of a file."""
LEFT_OUT = EXAMPLES | MIXED
KNOWN = (
    *("Masthead", "WordPress", "Ghost", "Substack", "OpenAI", "Anthropic", "English", "Deutsch"),
    *("DKIM", "DMARC", "SPF", "KB", "MB", "GB", "ms", "px", "DELETE MY DATA"),
)
"""Names and units."""
