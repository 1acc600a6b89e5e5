"""Values derived from a text when it is saved take time in proportion to its length."""

from __future__ import annotations

import pytest
from tests.work import at_most

from masthead.features.posts.site import before_paywall, reading_minutes


@pytest.mark.parametrize("piece", ["<", "<a ", "<hr class=paywall ", "<!--more "])
def test_a_long_run_of_opened_tags_is_read_once(piece: str) -> None:
    html = piece * (4_000_000 // len(piece))
    with at_most(5):
        assert reading_minutes(html) > 1_000
        assert before_paywall(html) == ""


@pytest.mark.parametrize(
    "marker",
    [
        "<hr class='paywall'>",
        '<hr id="x" class="paywall wide"/>',
        "<!--more-->",
        "<!-- members-only now -->",
    ],
)
def test_the_paywall_is_found_in_each_of_its_forms(marker: str) -> None:
    assert before_paywall(f"<p>For all</p>{marker}<p>Paid</p>") == "<p>For all</p>"


def test_tags_are_not_counted_as_text() -> None:
    words = "x" * 130_000
    assert reading_minutes(words) == 100
    assert reading_minutes(f'<p class="{"y" * 50}">{words}</p>') == 100
