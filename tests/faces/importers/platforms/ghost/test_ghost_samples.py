"""Exports of our own, and of the corpus: read with the counts that are in them, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests import corpus
from tests.faces.importers.convert.plain_text import shown
from tests.faces.importers.samples import ghost
from tests.faces.importers.samples.ghost_bodies import LEXICAL_TEXT, MOBILEDOC_TEXT
from tests.faces.importers.samples.sample import INVALID, REPEATED, Sample, as_it_is, cases, check

from masthead.faces.importers.platforms.ghost.reader import open_ghost
from masthead.faces.importers.source import Options, Skipped

ONE = {"post/published": 1}
REFUSED: dict[str, int] | None = None
# Of the corpus: posts by kind and status, members by tier; what is left out by its reason.
POSTS = {
    "ghost/hostile/array.json": REFUSED,
    "ghost/hostile/bad-inner-lexical.json": {"post/published": 2},
    "ghost/hostile/big-number-id.json": ONE,
    "ghost/hostile/bom.json": ONE,
    "ghost/hostile/db-empty.json": REFUSED,
    "ghost/hostile/db-object.json": REFUSED,
    "ghost/hostile/deep-nesting.json": REFUSED,
    "ghost/hostile/duplicate-keys.json": ONE,
    "ghost/hostile/empty.json": REFUSED,
    "ghost/hostile/javascript-urls.json": ONE,
    "ghost/hostile/latin1.json": ONE,
    "ghost/hostile/lone-surrogate.json": ONE,
    "ghost/hostile/nan-infinity.json": {},
    "ghost/hostile/no-posts.json": {},
    "ghost/hostile/null.json": REFUSED,
    "ghost/hostile/posts-is-object.json": REFUSED,
    "ghost/hostile/proto-pollution.json": {},
    "ghost/hostile/truncated.json": REFUSED,
    "ghost/hostile/utf16.json": ONE,
    "ghost/hostile/wrong-types.json": {"unknown status": 1, "not a post": 3},
    "ghost/real/broken.json": REFUSED,
    "ghost/real/mg-ghost.json": {"post/published": 3},
    "ghost/real/products_export.json": ONE,
    "ghost/real/v0-import-data-lts.json": ONE,
    "ghost/real/v2_export.json": {"post/published": 7},
    "ghost/real/v4_export.json": {"post/published": 7, "page/published": 4},
    "ghost/real/v5_export.json": {"post/published": 1, "page/published": 1},
    "ghost/synthetic/dates.json": {"post/published": 10},
    "ghost/synthetic/ghost-0.x-markdown-epoch-dates.json": {"post/published": 2},
    "ghost/synthetic/ghost-2.x-page-flag.json": {
        "post/published": 1,
        "post/draft": 1,
        "page/published": 1,
    },
    "ghost/synthetic/ghost-3.x-members-subscribed.json": {"post/published": 2},
    "ghost/synthetic/ghost-4.x-mobiledoc.json": {
        "post/published": 3,
        "page/published": 1,
    },
    "ghost/synthetic/ghost-5.x-bare-no-db-wrapper.json": {"post/published": 1, "post/draft": 1},
    "ghost/synthetic/ghost-5.x-data-only.json": ONE,
    "ghost/synthetic/ghost-5.x-with-content-images.zip": ONE,
    "ghost/synthetic/ghost-6.x-lexical-members.json": {
        "post/published": 16,
        "post/draft": 1,
        "page/published": 2,
        "page/draft": 1,
        "scheduled": 1,
    },
    "ghost/synthetic/ghost-migrate-layout.zip": ONE,
    "ghost/synthetic/two-dbs.json": ONE,
}
MEMBERS = {
    "ghost/members-csv/comped-member-import-tier.csv": {"paid": 1},
    "ghost/members-csv/free-member-import-tier.csv": {"free": 1},
    "ghost/members-csv/member-csv-export.csv": {"paid": 2},
    "ghost/members-csv/members-duplicate-emails.csv": {"free": 1, REPEATED: 1},
    "ghost/members-csv/members-formula-like-values.csv": {"free": 2},
    "ghost/members-csv/members-future-created-at.csv": {"free": 1},
    "ghost/members-csv/members-headers-only.csv": {},
    "ghost/members-csv/members-invalid-values.csv": {"free": 1, INVALID: 2},
    "ghost/members-csv/members-ragged-row.csv": {"free": 2},
    "ghost/members-csv/members-with-stripe-ids.csv": {"paid": 2},
    "ghost/members-csv/paid-member-import-tier.csv": {"paid": 1},
    "ghost/members-csv/single-column-with-header-bom.csv": {"free": 2},
    "ghost/members-csv/valid-members-import-large-501.csv": {"free": 501},
    "ghost/members-csv/valid-members-import.csv": {"free": 2},
    "ghost/synthetic/ghost-3.x-members-subscribed.json": {"paid": 1},
    "ghost/synthetic/ghost-4.x-mobiledoc.json": {"paid": 1},
    "ghost/synthetic/ghost-6.x-lexical-members.json": {
        "free": 5,
        "paid": 4,
        INVALID: 2,
        REPEATED: 1,
    },
}


def of_the_corpus() -> Iterator[Sample]:
    for path in corpus.found("ghost/*/*"):
        name = corpus.name_of(path)
        posts = POSTS.get(name, {})
        refusal = r"\.$" if posts is REFUSED else ""
        yield Sample(name, partial(as_it_is, path), posts or {}, MEMBERS.get(name, {}), refusal)


@pytest.mark.parametrize("sample", cases([*ghost.SAMPLES, *of_the_corpus()]))
def test_every_sample(sample: Sample, tmp_path: Path) -> None:
    check(sample, tmp_path, Options(include_pages=True))


def test_every_file_of_the_corpus_has_its_line_here() -> None:
    found = {corpus.name_of(path) for path in corpus.found("ghost/*/*")}
    assert found <= POSTS.keys() | MEMBERS.keys()


def opened(path: Path, content: str | bytes) -> list[Any]:
    export = path / "site.json"
    export.write_bytes(content if isinstance(content, bytes) else content.encode())
    with closing(open_ghost(export, Options())) as source:
        return [each for each in source.posts() if not isinstance(each, Skipped)]


def test_dates(tmp_path: Path) -> None:
    found = [post.published_at for post in opened(tmp_path, ghost.DATED)]
    assert found == [date for _, date in ghost.DATES]


def test_every_form_of_a_text(tmp_path: Path) -> None:
    found = {post.title: post for post in opened(tmp_path, ghost.LATEST)}
    assert shown(found["Tide 1"].html) == LEXICAL_TEXT
    assert found["Tide 4"].html == "<p>Only words.</p><p>In two parts.</p>"
    assert found["(Untitled)"].html == ""
    (_, of_third) = opened(tmp_path, ghost.SUBSCRIBED)
    (of_fourth, *_) = opened(tmp_path, ghost.FOURTH)
    assert shown(of_third.html) == shown(of_fourth.html) == MOBILEDOC_TEXT
    (first, _) = opened(tmp_path, ghost.READ["0 with markdown"][0])
    assert first.html == (
        "<h2>Ebb</h2>\n<p>and <em>flow</em></p>\n"
        '<p><img src="/content/images/2014/01/pier.jpg" alt="pier" /></p>'
    )
    assert (first.featured_image, first.tags) == ("/content/images/2014/01/boats.jpg", ("Boats",))


def test_who_may_read(tmp_path: Path) -> None:
    found = {post.title: post.visibility for post in opened(tmp_path, ghost.LATEST)}
    assert [found[f"Tide {number}"] for number in (1, 6, 7, 8, 9)] == [
        *("public", "members", "paid", "paid", "paid")
    ]


def test_what_belongs_to_a_post(tmp_path: Path) -> None:
    first, *_ = opened(tmp_path, ghost.LATEST)
    assert (first.tags, first.seo_title) == (("Boats",), "Found")
    assert first.old_path == "/tide-1/"


@pytest.mark.parametrize("name", ["a mark before it", "utf-16", "latin-1", "half a letter"])
def test_encodings(name: str, tmp_path: Path) -> None:
    (post,) = opened(tmp_path, ghost.READ[name][0])
    titles = {"latin-1": "Hôtel", "half a letter": "Tide \ufffd"}
    assert (post.title, post.html) == (titles.get(name, "Tide 1"), "<p>Text of 1.</p>")


def test_a_packed_site_has_its_images(tmp_path: Path) -> None:
    for sample in ghost.SAMPLES:
        if "/packed" in sample.name:
            with closing(open_ghost(sample.write(tmp_path), Options())) as source:
                (entry,) = {*source.overview.files.values()}
                assert source.read_file(entry) == ghost.PICTURE
