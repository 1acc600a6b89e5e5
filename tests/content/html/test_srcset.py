"""Reading `srcset` as browsers do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.content.html.srcset import parse_srcset, widest, write_srcset

CDN = "https://substackcdn.com/image/fetch/w_424,c_limit,f_auto/https%3A%2F%2Fa.example%2Fb.png"


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        ("", []),
        (" , ", []),
        ("a.png", [("a.png", "")]),
        ("a.png 1x, b.png 2x", [("a.png", "1x"), ("b.png", "2x")]),
        ("a.png,\n b.png", [("a.png", ""), ("b.png", "")]),
        ("a.png 300w,b.png 600w", [("a.png", "300w"), ("b.png", "600w")]),
        (f"{CDN} 424w, {CDN} 848w", [(CDN, "424w"), (CDN, "848w")]),
        (
            "data:image/png;base64,AA== 1x, b.png 2x",
            [("data:image/png;base64,AA==", "1x"), ("b.png", "2x")],
        ),
        ("a.png 1w (x, y), b.png 2w", [("a.png", "1w (x, y)"), ("b.png", "2w")]),
        ("a.png 1w (never closed, b.png 2w", []),
    ],
)
def test_candidates(text: str, candidates: list[tuple[str, str]]) -> None:
    assert parse_srcset(text) == candidates


def test_of_one_address_the_widest_stays() -> None:
    given_ = [("a", "300w"), ("b", "2x"), ("a", "1024w"), ("a", "150w"), ("b", "")]
    assert widest(given_) == [("a", "1024w"), ("b", "2x")]


_URLS = st.text(st.characters(exclude_categories=("Z", "C")), min_size=1).filter(
    lambda text: text[0] != "," and text[-1] != "," and not any(each.isspace() for each in text)
)
_CANDIDATES = st.lists(st.tuples(_URLS, st.sampled_from(["", "300w", "1.5x"])))


@given(_CANDIDATES)
def test_what_is_written_is_read_again(candidates: list[tuple[str, str]]) -> None:
    assert parse_srcset(write_srcset(candidates)) == candidates
