"""Every Ghost file of the corpus is read with the counts that its own table tells, or refused."""

from __future__ import annotations

from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import pytest

from masthead.importers.ghost.reader import open_ghost
from masthead.importers.source import BadFile, Options, Skipped

FOLDER = Path(__file__).parents[4] / "shared/corpus/ghost"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="without the corpus")

ONE = {"post/published": 1}
REFUSED: dict[str, int] | None = None
# Posts by kind and status, members by tier; what is left out by its reason.
POSTS = {
    "hostile/array.json": REFUSED,
    "hostile/bad-inner-lexical.json": {"post/published": 2},
    "hostile/big-number-id.json": ONE,
    "hostile/bom.json": ONE,
    "hostile/db-empty.json": REFUSED,
    "hostile/db-object.json": REFUSED,
    "hostile/deep-nesting.json": REFUSED,
    "hostile/duplicate-keys.json": ONE,
    "hostile/empty.json": REFUSED,
    "hostile/javascript-urls.json": ONE,
    "hostile/latin1.json": ONE,
    "hostile/lone-surrogate.json": ONE,
    "hostile/nan-infinity.json": {},
    "hostile/no-posts.json": {},
    "hostile/null.json": REFUSED,
    "hostile/posts-is-object.json": REFUSED,
    "hostile/proto-pollution.json": {},
    "hostile/truncated.json": REFUSED,
    "hostile/utf16.json": ONE,
    "hostile/wrong-types.json": {"unknown status": 1, "not a post": 3},
    "real/broken.json": REFUSED,
    "real/mg-ghost.json": {"post/published": 3},
    "real/products_export.json": ONE,
    "real/v0-import-data-lts.json": ONE,
    "real/v2_export.json": {"post/published": 7},
    "real/v4_export.json": {"post/published": 7, "page/published": 4},
    "real/v5_export.json": {"post/published": 1, "page/published": 1},
    "synthetic/dates.json": {"post/published": 10},
    "synthetic/ghost-0.x-markdown-epoch-dates.json": {"post/published": 2},
    "synthetic/ghost-2.x-page-flag.json": {
        "post/published": 1,
        "post/draft": 1,
        "page/published": 1,
    },
    "synthetic/ghost-3.x-members-subscribed.json": {"post/published": 2},
    "synthetic/ghost-4.x-mobiledoc.json": {
        "post/published": 2,
        "page/published": 1,
        "sent by e-mail only": 1,
    },
    "synthetic/ghost-5.x-bare-no-db-wrapper.json": {"post/published": 1, "post/draft": 1},
    "synthetic/ghost-5.x-data-only.json": ONE,
    "synthetic/ghost-5.x-with-content-images.zip": ONE,
    "synthetic/ghost-6.x-lexical-members.json": {
        "post/published": 15,
        "post/draft": 1,
        "page/published": 2,
        "page/draft": 1,
        "scheduled": 1,
        "sent by e-mail only": 1,
    },
    "synthetic/ghost-migrate-layout.zip": ONE,
    "synthetic/two-dbs.json": ONE,
}
INVALID, REPEATED = "invalid e-mail", "same e-mail as an earlier row"
MEMBERS = {
    "members-csv/comped-member-import-tier.csv": {"paid": 1},
    "members-csv/free-member-import-tier.csv": {"free": 1},
    "members-csv/member-csv-export.csv": {"paid": 2},
    "members-csv/members-duplicate-emails.csv": {"free": 1, REPEATED: 1},
    "members-csv/members-formula-like-values.csv": {"free": 2},
    "members-csv/members-future-created-at.csv": {"free": 1},
    "members-csv/members-headers-only.csv": {},
    "members-csv/members-invalid-values.csv": {"free": 1, INVALID: 2},
    "members-csv/members-ragged-row.csv": {"free": 2},
    "members-csv/members-with-stripe-ids.csv": {"paid": 2},
    "members-csv/paid-member-import-tier.csv": {"paid": 1},
    "members-csv/single-column-with-header-bom.csv": {"free": 2},
    "members-csv/valid-members-import-large-501.csv": {"free": 501},
    "members-csv/valid-members-import.csv": {"free": 2},
    "synthetic/ghost-3.x-members-subscribed.json": {"paid": 1},
    "synthetic/ghost-4.x-mobiledoc.json": {"paid": 1},
    "synthetic/ghost-6.x-lexical-members.json": {"free": 5, "paid": 4, INVALID: 2, REPEATED: 1},
}


def test_every_file_has_its_line_here() -> None:
    files = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    assert files == POSTS.keys() | MEMBERS.keys()


@pytest.mark.parametrize("name", sorted(POSTS.keys() | MEMBERS.keys()))
def test_counts(name: str) -> None:
    posts: Counter[str] | None = None
    members: Counter[str] = Counter()
    with (
        suppress(BadFile),
        closing(open_ghost(FOLDER / name, Options(include_pages=True))) as source,
    ):
        posts = Counter(
            each.reason if isinstance(each, Skipped) else f"{each.kind}/{each.status}"
            for each in source.posts()
        )
        members = Counter(
            each.reason if isinstance(each, Skipped) else each.tier for each in source.members()
        )
    assert posts == POSTS.get(name, {})
    assert members == MEMBERS.get(name, {})
