"""Which files a reader may open, as tables."""

from __future__ import annotations

import pytest

from masthead.base.caller import STAFF_READER, Audience, Reader
from masthead.engine.links.file_readers import Part, is_open, lists_for, lists_of

EARLY, LATE = "2026-06-01", "2026-06-02"
EVERYONE = ("files for everyone", "files for everyone later")


@pytest.mark.parametrize(
    ("part", "lists"),
    [
        (Part((), Audience.GUEST, EARLY), ["files for everyone"]),
        (Part((), Audience.GUEST, LATE), ["files for everyone"]),
        (Part((), Audience.GUEST, LATE + "T"), ["files for everyone later"]),
        (Part((), Audience.FREE, EARLY), ["files for members"]),
        (Part((), Audience.PAID, EARLY), ["files for paid members"]),
        (Part((), Audience.PAID, EARLY, ("a", "b")), ["files for level a", "files for level b"]),
    ],
)
def test_the_lists_of_a_part(part: Part, lists: list[str]) -> None:
    assert list(lists_of(part, LATE)) == lists


@pytest.mark.parametrize(
    ("reader", "lists"),
    [
        (Reader(), ()),
        (Reader(Audience.FREE), ("files for members",)),
        (Reader(Audience.FREE, "a"), ("files for members",)),
        (Reader(Audience.PAID), ("files for members", "files for paid members")),
        (
            Reader(Audience.PAID, "a"),
            ("files for members", "files for paid members", "files for level a"),
        ),
        (STAFF_READER, ("files for members", "files for paid members")),
    ],
)
def test_the_lists_for_a_reader(reader: Reader, lists: tuple[str, ...]) -> None:
    assert lists_for(reader) == (*EVERYONE, *lists)


@pytest.mark.parametrize(
    ("private", "open_uses", "expected"),
    [
        (False, None, True),
        (False, 0, False),
        (False, 1, True),
        (False, 2, True),
        (True, None, False),
        (True, 1, False),
    ],
)
def test_what_everyone_may_open(private: bool, open_uses: int | None, expected: bool) -> None:
    assert is_open({"private": private, "open_uses": open_uses}) is expected
