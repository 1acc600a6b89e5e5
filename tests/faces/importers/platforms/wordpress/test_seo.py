"""Titles and descriptions for search engines, in the notations of three plugins."""

from __future__ import annotations

import pytest

from masthead.faces.importers.platforms.wordpress.seo import TITLES, first_of

VALUES = {
    "title": "A Post",
    "site": "The Blog",
    "tagline": "About it",
    "separator": "-",
    "excerpt": "In short",
    "category": "News",
}


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({}, ""),
        ({"_yoast_wpseo_title": "Plain &amp; <b>simple</b>"}, "Plain & simple"),
        ({"_yoast_wpseo_title": "%%title%% %%page%% %%sep%% %%sitename%%"}, "A Post - The Blog"),
        ({"_yoast_wpseo_title": "%%title%% %%sep%% %%cf_x%% %%sep%% %%sitedesc%%"},
         "A Post - About it"),
        ({"_yoast_wpseo_title": "%%title%% %%sep%% %%unknown%%"}, "A Post"),
        ({"_yoast_wpseo_title": "%%unknown%%"}, ""),
        ({"_yoast_wpseo_title": "%%unknown%%", "rank_math_title": "Second"}, "Second"),
        ({"rank_math_title": "%title% %sep% %sitename%"}, "A Post - The Blog"),
        ({"rank_math_title": "%title% %customfield(price)% %category%"}, "A Post News"),
        ({"rank_math_title": "100% of 50% here"}, "100% of 50% here"),
        ({"_aioseo_title": "#post_title #separator_sa #site_title"}, "A Post - The Blog"),
        ({"_aioseo_title": "#post_title in #python #current_year"}, "A Post in #python"),
        ({"_yoast_wpseo_title": 'a:1:{s:1:"x";s:1:"y";}', "_aioseo_title": "Third"}, "Third"),
        ({"_yoast_wpseo_title": "First", "rank_math_title": "Second"}, "First"),
        ({"_yoast_wpseo_title": "A - dash - stays -"}, "A - dash - stays -"),
    ],
)  # fmt: skip
def test_first_of(meta: dict[str, str], expected: str) -> None:
    assert first_of(meta, TITLES, VALUES) == expected
