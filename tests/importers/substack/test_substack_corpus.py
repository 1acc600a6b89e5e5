"""Every Substack file of the corpus is read with the counts that its own table tells, or refused.

Fewer members than there: the service can't write to an address outside ASCII. More of them pay:
the table knows only one spelling of yes, and no plans of the dashboard.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import pytest

from masthead.importers.source import BadFile, Options, Skipped
from masthead.importers.substack.reader import open_substack

FOLDER = Path(__file__).parents[4] / "shared/corpus/substack"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="without the corpus")

Counts = dict[str, int]
NONE: Counts = {}
REFUSED: tuple[Counts, Counts] | None = None
TWO: tuple[Counts, Counts] = (NONE, {"free": 1, "paid": 1})
INVALID, REPEATED = "invalid e-mail", "same e-mail as an earlier row"
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
# Posts by kind and status, members by tier; what is left out by its reason.
EXPECTED = {
    "csv-edge/all-quoted.csv": TWO,
    "csv-edge/bom-utf8.csv": TWO,
    "csv-edge/boolean-variants.csv": (NONE, {"free": 3, "paid": 6}),
    "csv-edge/columns-reordered-and-extra.csv": (NONE, {"free": 1}),
    "csv-edge/cr-only.csv": TWO,
    "csv-edge/crlf.csv": TWO,
    "csv-edge/date-variants.csv": (NONE, {"free": 12}),
    "csv-edge/duplicate-emails.csv": (NONE, {"paid": 1, "free": 1, REPEATED: 3}),
    "csv-edge/empty.csv": REFUSED,
    "csv-edge/formula-injection.csv": (NONE, {"free": 3, INVALID: 2}),
    "csv-edge/header-case-and-spaces.csv": TWO,
    "csv-edge/header-only.csv": (NONE, NONE),
    "csv-edge/huge-field.csv": (NONE, {"free": 1}),
    "csv-edge/invalid-emails.csv": (NONE, {"free": 7, INVALID: 17}),
    "csv-edge/latin1.csv": (NONE, {"free": 2}),
    "csv-edge/missing-email-column.csv": REFUSED,
    "csv-edge/no-final-newline.csv": TWO,
    "csv-edge/no-header.csv": REFUSED,
    "csv-edge/nul-bytes.csv": TWO,
    "csv-edge/quoted-newlines.csv": ({"no HTML file": 2}, NONE),
    "csv-edge/ragged-rows.csv": (NONE, {"free": 3, INVALID: 1}),
    "csv-edge/semicolons.csv": TWO,
    "csv-edge/sep-line-excel.csv": TWO,
    "csv-edge/tabs.csv": TWO,
    "csv-edge/unbalanced-quote.csv": REFUSED,
    "csv-edge/utf16le.csv": TWO,
    "real/members/fixtures_signup_emails.csv": (NONE, {"paid": 16, "free": 5}),
    "real/members/fixtures_subscriber_emails.csv": (NONE, {"paid": 17}),
    "real/members/invalid.csv": REFUSED,
    "real/mg-export": (MIGRATED, NONE),
    "real/mg-export/posts.csv": (MIGRATED, NONE),
    "synthetic/export-2020-old-columns": ({"post/published": 3}, {"free": 1, "paid": 1}),
    "synthetic/export-2020-old-columns/email_list.letters.csv": TWO,
    "synthetic/export-2020-old-columns/posts.csv": ({"post/published": 3}, NONE),
    "synthetic/export-2025": (LETTERS, READERS),
    "synthetic/export-2025-in-folder-macosx.zip": (LETTERS, READERS),
    "synthetic/export-2025.zip": (LETTERS, READERS),
    "synthetic/export-2025/email_list.letters.csv": (NONE, READERS),
    "synthetic/export-2025/posts.csv": (LETTERS, NONE),
    "synthetic/subscribers-dashboard-export.csv": (NONE, {"free": 1, "paid": 3}),
    "zip-edge/bomb-200MB.zip": REFUSED,
    "zip-edge/duplicate-names.zip": REFUSED,
    "zip-edge/empty.zip": REFUSED,
    "zip-edge/html-only-different-case.zip": (ONE, NONE),
    "zip-edge/many-entries-4000.zip": ({**ONE, "no row in posts.csv": 4000}, NONE),
    "zip-edge/no-posts-csv.zip": REFUSED,
    "zip-edge/non-utf8-csv.zip": (ONE, NONE),
    "zip-edge/not-a-zip.zip": REFUSED,
    "zip-edge/symlink.zip": REFUSED,
    "zip-edge/truncated.zip": REFUSED,
    "zip-edge/zip-slip.zip": REFUSED,
}


def test_every_file_has_its_line_here() -> None:
    files = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    of_an_export = {name for name in files if "/posts/" in name or "real/pages/" in name}
    assert files - of_an_export <= EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_counts(name: str) -> None:
    counts: tuple[Counts, Counts] | None = None
    opened = Options(include_pages=True)
    with suppress(BadFile), closing(open_substack(FOLDER / name, opened)) as source:
        posts = Counter(
            each.reason if isinstance(each, Skipped) else f"{each.kind}/{each.status}"
            for each in source.posts()
        )
        members = Counter(
            each.reason if isinstance(each, Skipped) else each.tier for each in source.members()
        )
        counts = (posts, members)
    assert counts == EXPECTED[name]
