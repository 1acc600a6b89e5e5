"""Exports of our own, and of the corpus: read with the counts that are in them, or refused.

Of the corpus there are fewer members than its own table tells: the service can't write to some of
their addresses. More of them pay: the table knows only one spelling of yes, and no plans of the
dashboard.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests import corpus
from tests.faces.importers.convert.plain_text import shown
from tests.faces.importers.samples import substack
from tests.faces.importers.samples.sample import (
    INVALID,
    REPEATED,
    Counts,
    Sample,
    a_folder,
    as_it_is,
    cases,
    check,
)

from masthead.faces.importers.platforms.substack.reader import open_substack
from masthead.faces.importers.source import PAYWALL, Options, Skipped

NONE: Counts = {}
REFUSED: tuple[Counts, Counts] | None = None
TWO: tuple[Counts, Counts] = (NONE, {"free": 1, "paid": 1})
LETTERS = {
    "post/published": 10,
    "post/draft": 3,
    "page/published": 1,
    "unknown type": 1,
    "no HTML file": 1,
    "no row in posts.csv": 1,
}
READERS = {"free": 4, "paid": 6, "erased at the source": 1}
MIGRATED = {"post/published": 3, "post/draft": 1, "page/published": 1}
ONE = {"post/published": 1}
# Of the corpus: posts by kind and status, members by tier; what is left out by its reason.
EXPECTED = {
    "substack/csv-edge/all-quoted.csv": TWO,
    "substack/csv-edge/bom-utf8.csv": TWO,
    "substack/csv-edge/boolean-variants.csv": (NONE, {"free": 3, "paid": 6}),
    "substack/csv-edge/columns-reordered-and-extra.csv": (NONE, {"free": 1}),
    "substack/csv-edge/cr-only.csv": TWO,
    "substack/csv-edge/crlf.csv": TWO,
    "substack/csv-edge/date-variants.csv": (NONE, {"free": 12}),
    "substack/csv-edge/duplicate-emails.csv": (NONE, {"paid": 1, "free": 1, REPEATED: 3}),
    "substack/csv-edge/empty.csv": REFUSED,
    "substack/csv-edge/formula-injection.csv": (NONE, {"free": 3, INVALID: 2}),
    "substack/csv-edge/header-case-and-spaces.csv": TWO,
    "substack/csv-edge/header-only.csv": (NONE, NONE),
    "substack/csv-edge/huge-field.csv": (NONE, {"free": 1}),
    "substack/csv-edge/invalid-emails.csv": (NONE, {"free": 7, INVALID: 17}),
    "substack/csv-edge/latin1.csv": (NONE, {"free": 2}),
    "substack/csv-edge/missing-email-column.csv": REFUSED,
    "substack/csv-edge/no-final-newline.csv": TWO,
    "substack/csv-edge/no-header.csv": REFUSED,
    "substack/csv-edge/nul-bytes.csv": TWO,
    "substack/csv-edge/quoted-newlines.csv": ({"no HTML file": 2}, NONE),
    "substack/csv-edge/ragged-rows.csv": (NONE, {"free": 3, INVALID: 1}),
    "substack/csv-edge/semicolons.csv": TWO,
    "substack/csv-edge/sep-line-excel.csv": TWO,
    "substack/csv-edge/tabs.csv": TWO,
    "substack/csv-edge/unbalanced-quote.csv": REFUSED,
    "substack/csv-edge/utf16le.csv": TWO,
    "substack/real/members/fixtures_signup_emails.csv": (NONE, {"paid": 16, "free": 5}),
    "substack/real/members/fixtures_subscriber_emails.csv": (NONE, {"paid": 17}),
    "substack/real/members/invalid.csv": REFUSED,
    "substack/real/mg-export": (MIGRATED, NONE),
    "substack/real/mg-export/posts.csv": (MIGRATED, NONE),
    "substack/synthetic/export-2020-old-columns": ({"post/published": 3}, {"free": 1, "paid": 1}),
    "substack/synthetic/export-2020-old-columns/email_list.letters.csv": TWO,
    "substack/synthetic/export-2020-old-columns/posts.csv": ({"post/published": 3}, NONE),
    "substack/synthetic/export-2025": (LETTERS, READERS),
    "substack/synthetic/export-2025-in-folder-macosx.zip": (LETTERS, READERS),
    "substack/synthetic/export-2025.zip": (LETTERS, READERS),
    "substack/synthetic/export-2025/email_list.letters.csv": (NONE, READERS),
    "substack/synthetic/export-2025/posts.csv": (LETTERS, NONE),
    "substack/synthetic/subscribers-dashboard-export.csv": (NONE, {"free": 1, "paid": 3}),
    "substack/zip-edge/bomb-200MB.zip": REFUSED,
    "substack/zip-edge/duplicate-names.zip": REFUSED,
    "substack/zip-edge/empty.zip": REFUSED,
    "substack/zip-edge/html-only-different-case.zip": (ONE, NONE),
    "substack/zip-edge/many-entries-4000.zip": ({**ONE, "no row in posts.csv": 4000}, NONE),
    "substack/zip-edge/no-posts-csv.zip": REFUSED,
    "substack/zip-edge/non-utf8-csv.zip": (ONE, NONE),
    "substack/zip-edge/not-a-zip.zip": REFUSED,
    "substack/zip-edge/symlink.zip": REFUSED,
    "substack/zip-edge/truncated.zip": REFUSED,
    "substack/zip-edge/zip-slip.zip": REFUSED,
}


def of_the_corpus() -> Iterator[Sample]:
    for path in corpus.found("substack/*/*", "substack/*/*/*.csv"):
        expected = EXPECTED.get(corpus.name_of(path))
        if corpus.name_of(path) in EXPECTED:
            posts, members = expected or ({}, {})
            refusal = "" if expected else r"\.$"
            yield Sample(corpus.name_of(path), partial(as_it_is, path), posts, members, refusal)


@pytest.mark.parametrize("sample", cases([*substack.SAMPLES, *of_the_corpus()]))
def test_every_sample(sample: Sample, tmp_path: Path) -> None:
    check(sample, tmp_path, Options(include_pages=True))


def test_every_file_of_the_corpus_has_its_line_here() -> None:
    found = corpus.found("substack/*/*", "substack/*/*/*.csv")
    parts = ("substack/real/members", "substack/real/pages")
    named = {corpus.name_of(path) for path in found if "/pages/" not in str(path)}
    assert named <= EXPECTED.keys() | {*parts}


def opened(folder: Path) -> dict[str, Any]:
    path = a_folder(substack.EXPORT)(folder)
    with closing(open_substack(path, Options(include_pages=True))) as source:
        return {each.slug: each for each in source.posts() if not isinstance(each, Skipped)}


def test_kinds_audiences_and_states(tmp_path: Path) -> None:
    found = opened(tmp_path)
    assert {
        slug: post.visibility for slug, post in found.items() if post.visibility != "public"
    } == {
        "for-readers": "members",
        "for-payers": "paid",
        "for-founders": "paid",
        "paywall": "paid",
    }
    assert (found["about"].kind, found["thread"].kind) == ("page", "post")
    assert found["episode"].html.startswith('<figure><audio controls src="https://cdn.example/ep.')
    assert [found[each].published_at for each in ("plain", "unfinished", "later")] == [
        *(substack.DATE, "", "")
    ]
    assert (found["letters"].title, found["letters"].old_path) == (
        'Salt & "light" 潮 🌊',
        "/p/letters",
    )


def test_bodies(tmp_path: Path) -> None:
    found = {slug: post.html for slug, post in opened(tmp_path).items()}
    assert found["paywall"] == f"<p>For all.</p>{PAYWALL}<p>For some.</p>"
    join = '<p data-card="join"><a href="/member/sign-up">Join</a></p>'
    assert found["asking"] == f"<p>Read on.</p>{join}<p>Done.</p>"
    assert "<figcaption>At <em>noon</em></figcaption></figure><p>after</p>" in found["pictures"]
    assert found["pictures"].count("<img") == 1
    assert "<source" not in found["pictures"]
    assert found["gallery"].count("<img") == 2
    for number in (1, 2):
        there, back = (f"footnote-{part}{number}-160000304" for part in ("", "anchor-"))
        assert f'<a id="{back}" href="#{there}">{number}</a>' in found["notes"]
        assert f'<p><a id="{there}" href="#{back}">{number}</a> Note {number}, ' in found["notes"]
    assert shown(found["embeds"]) == (
        "Seen: https://www.youtube.com/watch?v=aaaaaaaaaaa heard: Gulls "
        "open.spotify.example said: High water Anna counted: h < 2 End."
    )


def test_readers(tmp_path: Path) -> None:
    path = a_folder(substack.EXPORT)(tmp_path)
    with closing(open_substack(path, Options())) as source:
        first, second, _ = source.members()
    assert not isinstance(first, Skipped)
    assert not isinstance(second, Skipped)
    assert (first.email, first.created, first.newsletter) == ("a@example.com", substack.DATE, True)
    assert (second.email, second.tier) == ("b@example.com", "paid")
