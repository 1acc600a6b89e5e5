"""Who gets how much of a post, which lists it is in, and what lists show of it, as tables."""

from __future__ import annotations

from typing import Any

import pytest

from masthead.base.caller import STAFF_READER, Audience, Reader, system
from masthead.base.errors import Invalid
from masthead.engine.links.file_readers import Part
from masthead.engine.records.changes import Listing, Save
from masthead.engine.records.changes import Site as SiteSettings
from masthead.features.posts.site import (
    SITE,
    before_paywall,
    check_tiers,
    is_open,
    listings,
    lists_show,
    of_edition,
    reader_of_all,
    reading_minutes,
    shown_parts,
    summarized,
    without_paywall,
)

OPENING, REST = "<p>For all</p>", "<p>Paid</p>"
WHOLE = f"{OPENING}<!--more-->{REST}"
AT = "2026-06-01T09:00:00.000Z"

GUEST, FREE = Reader(), Reader(Audience.FREE)
PAID, GOLD, SILVER = (Reader(Audience.PAID, level) for level in ("", "gold", "silver"))
READERS = {
    "guest": GUEST,
    "free": FREE,
    "paid": PAID,
    "gold": GOLD,
    "silver": SILVER,
    "staff": STAFF_READER,
}


def post(**values: Any) -> dict[str, Any]:
    return {
        "status": "published",
        "visibility": "public",
        "tiers": [],
        "content_html": WHOLE,
        "published_at": AT,
        "scheduled_for": "",
        "review": "",
        "review_at": "",
        "created": "2026-05-01T09:00:00.000Z",
        "tags": [],
        "authors": [],
        "featured_image": "",
        "email_only": False,
        "edition": "",
        **values,
    }


WHO_READS_ALL = [
    ("public", [], "guest free paid gold silver staff"),
    ("members", [], "free paid gold silver staff"),
    ("paid", [], "paid gold silver staff"),
    ("paid", ["gold"], "gold staff"),
    ("paid", ["gold", "silver"], "gold silver staff"),
    # What no version of ours writes is for the staff.
    ("secret", [], "staff"),
]


@pytest.mark.parametrize(("visibility", "tiers", "who"), WHO_READS_ALL)
def test_who_reads_all_of_a_post(visibility: str, tiers: list[str], who: str) -> None:
    found = post(visibility=visibility, tiers=tiers)
    assert [name for name, each in READERS.items() if is_open(found, each)] == who.split()
    for each in READERS.values():
        opened = is_open(found, each)
        shown = SITE.show(found, each)
        html = WHOLE if opened else OPENING
        assert shown == {**found, "is_open": opened, "content_html": html}


def test_a_list_that_reads_no_text_shows_whether_there_is_more() -> None:
    listed = {"visibility": "paid", "tiers": [], "title": "A"}
    assert SITE.show(listed, GUEST) == {**listed, "is_open": False}
    assert SITE.show(listed, PAID) == {**listed, "is_open": True}


@pytest.mark.parametrize(("visibility", "tiers", "who"), WHO_READS_ALL[2:5])
def test_a_paid_member_is_found_who_reads_all_of_it(
    visibility: str, tiers: list[str], who: str
) -> None:
    found = post(visibility=visibility, tiers=tiers)
    reader = reader_of_all(found)
    assert reader == Reader(Audience.PAID, tiers[0] if tiers else "")
    assert is_open(found, reader)


@pytest.mark.parametrize(
    ("reader", "condition"),
    [
        (GUEST, "visibility != 'members' && visibility != 'paid'"),
        (FREE, "visibility != 'paid'"),
        (PAID, "(tiers = '[]')"),
        (GOLD, "(tiers = '[]' || tiers ?= 'gold')"),
        (STAFF_READER, ""),
    ],
    ids=["guest", "free", "paid", "gold", "staff"],
)
def test_a_search_finds_what_its_reader_can_read(reader: Reader, condition: str) -> None:
    assert SITE.searched(reader) == condition


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ({}, [Part(("", WHOLE), Audience.GUEST, AT)]),
        ({"featured_image": "f1"}, [Part(("f1", WHOLE), Audience.GUEST, AT)]),
        (
            {"visibility": "members", "featured_image": "f1"},
            [Part(("f1", OPENING), Audience.GUEST, AT), Part((WHOLE,), Audience.FREE, AT)],
        ),
        (
            {"visibility": "paid"},
            [Part(("", OPENING), Audience.GUEST, AT), Part((WHOLE,), Audience.PAID, AT)],
        ),
        (
            {"visibility": "paid", "tiers": ["gold"]},
            [
                Part(("", OPENING), Audience.GUEST, AT),
                Part((WHOLE,), Audience.PAID, AT, ("gold",)),
            ],
        ),
        ({"status": "draft"}, []),
        ({"email_only": True}, []),
        ({"status": "draft", "email_only": True}, []),
    ],
)
def test_the_files_of_a_post_are_for_those_who_read_that_part(
    values: dict[str, Any], parts: list[Part]
) -> None:
    assert list(shown_parts(post(**values))) == parts


@pytest.mark.parametrize(
    ("values", "lists"),
    [
        ({}, [("published", "", AT), ("published authors", "", AT)]),
        (
            {"tags": ["Big News", "b"], "authors": ["a1", "a2"]},
            [
                ("published", "", AT),
                ("published tags", "big-news", AT),
                ("published tags", "b", AT),
                ("published authors", "a1", AT),
                ("published authors", "a2", AT),
            ],
        ),
        (
            {"edition": "de", "tags": ["b"], "authors": ["a1"]},
            [
                ("published", "de", AT),
                ("published tags", "de/b", AT),
                ("published authors", "de/a1", AT),
            ],
        ),
        ({"edition": "de"}, [("published", "de", AT), ("published authors", "de/", AT)]),
        ({"email_only": True, "tags": ["b"], "authors": ["a1"]}, []),
        ({"status": "draft"}, []),
        ({"status": "draft", "scheduled_for": "s", "review": "ready"}, [("scheduled", "", "s")]),
        (
            {"status": "draft", "review": "ready", "review_at": "r"},
            [("ready for review", "", "r")],
        ),
        (
            {"status": "draft", "created": "c", "tags": ["Big News"], "authors": ["a1"]},
            [("draft tags", "Big News", "c"), ("draft authors", "a1", "c")],
        ),
        (
            {"status": "draft", "email_only": True, "created": "c", "authors": ["a1"]},
            [("draft authors", "a1", "c")],
        ),
    ],
)
def test_the_lists_that_a_post_is_in(
    values: dict[str, Any], lists: list[tuple[str, str, str]]
) -> None:
    assert list(listings(post(**values))) == [Listing(*each) for each in lists]


@pytest.mark.parametrize(
    ("listing", "edition", "expected"),
    [
        (("published", ""), "", ("published", "")),
        (("published", ""), "de", ("published", "de")),
        (("published tags", "b"), "", ("published tags", "b")),
        (("published tags", "b"), "de", ("published tags", "de/b")),
        (("published authors", "a1"), "de", ("published authors", "de/a1")),
    ],
)
def test_the_part_of_a_list_in_one_language(
    listing: tuple[str, str], edition: str, expected: tuple[str, str]
) -> None:
    assert of_edition(listing, edition) == expected


def saved(old: dict[str, Any] | None, new: dict[str, Any]) -> Save:
    return Save(old, new, frozenset(), AT, SiteSettings(), system())


@pytest.mark.parametrize("visibility", ["public", "members", "secret"])
def test_only_a_post_for_paid_members_has_tiers(visibility: str) -> None:
    check_tiers(saved(None, post(visibility=visibility)))
    check_tiers(saved(None, post(visibility="paid")))
    check_tiers(saved(None, post(visibility="paid", tiers=["gold"])))
    with pytest.raises(Invalid) as refused:
        check_tiers(saved(None, post(visibility=visibility, tiers=["gold"])))
    assert {name: each.code for name, each in refused.value.problems.items()} == {
        "tiers": "validation_not_settable"
    }


SHOWN = {"summary": "For all Paid", "reading_minutes": 1}


@pytest.mark.parametrize(
    ("old", "new", "stamps"),
    [
        (None, post(), SHOWN),
        (post(), post(), {}),
        (post(), post(tags=["b"]), {}),
        (post(content_html=""), post(), SHOWN),
        (post(visibility="paid"), post(), SHOWN),
        (post(), post(visibility="paid"), {**SHOWN, "summary": "For all"}),
        (post(), post(content_html=""), {"summary": "", "reading_minutes": 0}),
    ],
)
def test_the_summary_is_made_when_the_text_or_its_readers_change(
    old: dict[str, Any] | None, new: dict[str, Any], stamps: dict[str, Any]
) -> None:
    assert summarized(saved(old, new)) == stamps


def text_of(words: int, word: str = "word") -> str:
    return " ".join([word] * words)


@pytest.mark.parametrize(
    ("html", "summary"),
    [
        ("", ""),
        ("<p>Short.</p>", "Short."),
        # 300 characters fit, and 301 are cut between words.
        (text_of(60, "four")[:299] + "!", text_of(60, "four")[:299] + "!"),
        (text_of(60, "four") + "!!", text_of(59, "four") + "…"),
        (text_of(61, "four"), text_of(60, "four") + "…"),
        # The cut leaves no mark of punctuation before the dots.
        (f"{'a ' * 140}end,; – - {'b' * 60}", f"{'a ' * 140}end…"),
        (f"{'a ' * 140}MAX. {'b' * 60}", f"{'a ' * 140}MAX…"),
        # A language without blanks between words.
        ("文" * 300, "文" * 300),
        ("文" * 301, "文" * 300 + "…"),
        (f"<p>{text_of(30)}</p><p>{text_of(60)}</p>", text_of(60) + "…"),
        # Only the beginning of a long text is looked through.
        (f"<p>Begin</p>{'<!-- note -->' * 2_000}<p>never</p>", "Begin"),
    ],
)
def test_the_summary_is_the_beginning_of_the_text(html: str, summary: str) -> None:
    assert lists_show(post(content_html=html))["summary"] == summary


@pytest.mark.parametrize("visibility", ["members", "paid"])
def test_the_summary_of_a_gated_post_is_of_its_opening(visibility: str) -> None:
    gated = post(visibility=visibility)
    assert lists_show(gated)["summary"] == "For all"
    assert lists_show({**gated, "content_html": REST})["summary"] == ""
    # Its whole text counts.
    long = {**gated, "content_html": OPENING + "<!--more-->" + "x" * 13_000}
    assert lists_show(long)["reading_minutes"] == 10


@pytest.mark.parametrize(
    ("characters", "minutes"),
    [(0, 0), (1, 1), (1_300, 1), (1_900, 1), (2_000, 2), (13_000, 10), (400_000, 308)],
)
def test_a_minute_is_1300_characters(characters: int, minutes: int) -> None:
    assert reading_minutes("x" * characters) == minutes


def test_a_text_longer_than_is_counted_is_measured_by_its_beginning() -> None:
    assert reading_minutes("<i>" * 50_000 + "x" * 50_000 + "x" * 200_000) == 77


@pytest.mark.parametrize(
    ("html", "opening", "without"),
    [
        (WHOLE, OPENING, OPENING + REST),
        (f"{OPENING}<hr class=paywall>{REST}", OPENING, OPENING + REST),
        (f"{WHOLE}<!--more-->{REST}", OPENING, OPENING + REST + REST),
        (REST, "", REST),
        ("<!--more-->", "", ""),
        (f"{OPENING}<hr>{REST}", "", f"{OPENING}<hr>{REST}"),
        ("", "", ""),
    ],
)
def test_a_paywall_ends_the_opening(html: str, opening: str, without: str) -> None:
    assert before_paywall(html) == opening
    assert without_paywall(html) == without
