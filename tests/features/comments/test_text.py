"""The text of a comment, cleaned."""

from __future__ import annotations

import pytest
from tests.work import at_most

from masthead.features.comments.text import clean_text


@pytest.mark.parametrize(
    ("given", "cleaned"),
    [
        ("a\nb", "a\nb"),
        ("a \t\n \t\n\n b ", "a\n\n b"),
        ("a\n\n\n\nb", "a\n\nb"),
        ("  a  ", "a"),
        ("a\u202eb\x00", "ab"),
    ],
)
def test_paragraphs_have_one_blank_line_between_them(given: str, cleaned: str) -> None:
    assert clean_text(given) == cleaned


def test_a_long_run_of_blanks_costs_no_more_than_its_length() -> None:
    text = "a" + " " * 60_000 + "b"
    with at_most(0.5):
        assert clean_text(text) == text
