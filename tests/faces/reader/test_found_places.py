"""The search shows the place that it has found, with the words marked and everything escaped."""

from __future__ import annotations

import re

import pytest
from tests.world import TenantWorld

from masthead.engine.records.search.terms import read_query
from masthead.faces.reader.found_places import _Marks

HTML = {"accept": "text/html"}
LONG = "Waves came in all night. " * 30


def place(text: str, query: str) -> str | None:
    return _Marks(read_query(query)).place(text)


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        ("The Fog lifts.", "fog", "The <mark>Fog</mark> lifts."),
        ("Crème brûlée", "creme", "<mark>Crème</mark> brûlée"),
        ("foggy fog", "fog*", "<mark>foggy</mark> <mark>fog</mark>"),
        ("old sea fog", '"sea fog"', "old <mark>sea</mark> <mark>fog</mark>"),
        ("東京大学の歴史", "歴史", "東京大学の<mark>歴</mark><mark>史</mark>"),
        ("<b>&\"'</b> fog", "fog", "&lt;b&gt;&amp;&#34;&#39;&lt;/b&gt; <mark>fog</mark>"),
        ("fog <mark>x</mark>", "mark", "fog &lt;<mark>mark</mark>&gt;x&lt;/<mark>mark</mark>&gt;"),
        ("Nothing of it", "fog", None),
    ],
)
def test_the_words_are_marked(text: str, query: str, shown: str | None) -> None:
    assert place(text, query) == shown


def test_a_place_in_the_middle_of_a_text_is_cut_between_words() -> None:
    shown = place(f"{LONG}Then the foghorn sounded. {LONG}", "foghorn")
    assert shown is not None
    assert re.fullmatch(r"… \w+ .*Then the <mark>foghorn</mark> sounded\..* \w+\.? …", shown)
    assert len(shown) < 400


async def test_a_search_shows_the_place_and_not_the_excerpt(tenant: TenantWorld) -> None:
    text = f"<p>{LONG}</p><p>A &lt;script&gt; of <b>herring</b> gulls.</p><p>{LONG}</p>"
    await tenant.published(title="Herring & co", excerpt="About birds.", content_html=text)
    answer = await tenant.guest.get("/search?q=herring", headers=HTML)
    assert "A &lt;script&gt; of <mark>herring</mark> gulls." in answer.text
    assert "<mark>Herring</mark> &amp; co" in answer.text
    assert "About birds." not in answer.text


async def test_a_word_that_is_only_in_the_title_leaves_the_excerpt(tenant: TenantWorld) -> None:
    await tenant.published(title="Herring", excerpt="About <birds>.", content_html="<p>Gulls</p>")
    answer = await tenant.guest.get("/search?q=herring", headers=HTML)
    assert "About &lt;birds&gt;." in answer.text


async def test_a_tag_that_is_found_is_named(tenant: TenantWorld) -> None:
    await tenant.published(title="Gulls", excerpt="About birds.", tags=["Sea", "Herring"])
    answer = await tenant.guest.get("/search?q=herring", headers=HTML)
    assert "About birds. Tagged <mark>Herring</mark>." in answer.text


async def test_a_place_behind_the_paywall_is_shown_to_nobody_else(tenant: TenantWorld) -> None:
    html = '<p>Open gulls</p><hr class="paywall"><p>Secret herring</p>'
    await tenant.published(title="Birds", content_html=html, visibility="members")
    for word in ("herring", "gulls", "birds"):
        answer = await tenant.guest.get(f"/search?q={word}", headers=HTML)
        assert "Secret" not in answer.text
