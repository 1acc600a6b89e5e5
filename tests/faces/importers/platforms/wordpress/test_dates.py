"""Dates: the UTC field, else what says its zone, else the local one with the export's offset."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faces.importers.platforms.wordpress.wxr import item, only_post, read, write

ZERO = "0000-00-00 00:00:00"
NO_DATE = ("no usable date: the time of the import is used",)
NO_ZONE = ("the date's time zone is not known: UTC is assumed",)


@pytest.mark.parametrize(
    ("utc", "announced", "local", "expected", "warnings"),
    [
        ("2024-03-01 03:30:00", "", "2024-02-29 22:30:00", "2024-03-01T03:30:00.000Z", ()),
        ("1969-07-20 20:17:40", "", "", "1969-07-20T20:17:40.000Z", ()),
        ("2099-12-31 23:59:59", "", "", "2099-12-31T23:59:59.000Z", ()),
        (ZERO, "Wed, 01 Apr 2009 12:00:00 +0000", "2009-04-01 07:00:00",
         "2009-04-01T12:00:00.000Z", ()),
        ("", "Thu, 16 Jul 2020 00:00:00 +0530", "", "2020-07-15T18:30:00.000Z", ()),
        (ZERO, "Mon, 30 Nov -0001 00:00:00 +0000", "2009-04-01 07:00:00",
         "2009-04-01T07:00:00.000Z", NO_ZONE),
        (ZERO, "Thu, 01 Jan 1970 00:00:00 +0000", "2009-04-01 07:00:00",
         "2009-04-01T07:00:00.000Z", NO_ZONE),
        (ZERO, "yesterday-ish", ZERO, "", NO_DATE),
        ("", "", "", "", NO_DATE),
        ("2024-02-30 10:00:00", "", "2024-13-01 10:00:00", "", NO_DATE),
        ("not a date at all..", "Thu, 99 Foo 99999 00:00:00 +9999", "", "", NO_DATE),
    ],
)  # fmt: skip
def test_published_at(
    tmp_path: Path,
    utc: str,
    announced: str,
    local: str,
    expected: str,
    warnings: tuple[str, ...],
) -> None:
    text = item(post_date_gmt=utc, post_date=local, pub_date=announced)
    post = only_post(tmp_path, text)
    assert (post.published_at, post.warnings) == (expected, warnings)


def test_the_offset_is_what_most_other_posts_have(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.xml",
        item(post_date_gmt=ZERO, post_date="2009-04-01 07:00:00"),
        item(post_date_gmt="2024-01-01 05:00:00", post_date="2024-01-01 00:00:00"),
        item(post_date_gmt="2024-02-01 05:00:00", post_date="2024-02-01 00:00:00"),
        item(post_date_gmt="2024-07-01 04:00:00", post_date="2024-07-01 00:00:00"),
        # No offset is a day and a bit: a date that was edited by hand.
        *[item(post_date_gmt="2024-07-03 04:00:07", post_date="2024-07-01 00:00:00")] * 5,
    )
    first = read(path)[0]
    assert first.published_at == "2009-04-01T12:00:00.000Z"  # type: ignore[union-attr]


def test_an_offset_that_leads_out_of_the_calendar(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.xml",
        item(post_date_gmt=ZERO, post_date="9999-12-31 23:00:00"),
        item(post_date_gmt="2024-01-01 05:00:00", post_date="2024-01-01 00:00:00"),
    )
    first = read(path)[0]
    assert first.warnings == NO_DATE  # type: ignore[union-attr]
