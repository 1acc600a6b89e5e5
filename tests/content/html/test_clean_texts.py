"""The clean rendering of a text, and the limits of what making it may cost."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import representatives
from tests.work import at_most

from masthead.content.html import clean_texts
from masthead.content.html.clean_texts import cleaned_or_plain_text, cleaned_text
from masthead.content.html.effort import effort_of
from masthead.content.html.markup import cleaned, tokens_of, written
from masthead.content.html.sanitizer import TooCostly

ARTICLE = (
    '<h2 id="one">A title</h2><p>Words with <a href="https://a.example/">a link</a>, '
    "<strong>strong <em>and</em></strong> ones.</p>"
    "<ul><li>one</li><li>two</li></ul><blockquote><p>Said.</p></blockquote>"
)
SLOPPY = "<p>Not closed <b>bold<p>next <i>one</b> and</i> another<li>item<li>item"

BOMBS = {
    "formatting that each paragraph repeats": "<p>"
    + "".join(f"<b id={number}>" for number in range(98))
    + "<p>x" * 2_000,
    "the same, with an end that is a comment": "<p>"
    + "".join(f"<b id={number}><!-- </b> -->" for number in range(98))
    + "<p>x" * 2_000,
    "the same, with an end that is an attribute": "<p>"
    + "".join(f"<b id={number}><i title='</b>'></i>" for number in range(98))
    + "<p>x" * 2_000,
    "attributes": "<p " + " ".join(f"a{number}=1" for number in range(100_000)) + ">x",
    "nesting": "<div>" * 251 + "x",
    "ruby": "<rt>" * 12_000,
    "elements that are closed in the wrong order": "<span><div></span></div>" * 12_000,
    "signs": "<" * 4_900_000,
    "tags": "<i>x</i>" * 100_000,
    "blanks that have to be escaped": "\xa0" * 2_000_000,
}


class TestLimits:
    @pytest.mark.parametrize("name", representatives(BOMBS, 3))
    def test_what_costs_too_much_is_refused(self, name: str) -> None:
        with at_most(2), pytest.raises(TooCostly) as refused:
            cleaned_text(BOMBS[name])
        assert str(refused.value).endswith(".")

    @pytest.mark.parametrize("name", representatives(BOMBS, 3))
    def test_of_what_was_stored_before_the_words_are_shown(self, name: str) -> None:
        with at_most(5):
            shown = cleaned_or_plain_text(BOMBS[name])
        assert "<b" not in shown
        assert len(shown) <= 6 * len(BOMBS[name])

    @pytest.mark.parametrize(
        "html",
        [
            ARTICLE * 500,
            "<p>No end" * 5_000,
            "<ul>" + "<li>a<ul><li>b<li>c</ul>" * 2_000 + "</ul>",
            "<table>" + "<tr><td>a<td>b" * 8_000 + "</table>",
            "<!-- wp:paragraph --><p>x</p><!-- /wp:paragraph -->" * 2_000,
            "<div>" * 100 + "x" + "</div>" * 100,
            '<a href="/"><p>x</p></a>' * 5_000,
        ],
    )
    def test_long_texts_of_people_need_no_other_process(self, html: str) -> None:
        assert effort_of(html).is_light
        assert cleaned_text(html)

    @pytest.mark.parametrize(
        "html",
        [SLOPPY * 300, "<script>x</script>" + ARTICLE * 100, "<p><b>x</p>" * 1_000],
    )
    def test_what_a_parser_has_to_repair_is_taken_as_well(self, html: str) -> None:
        assert cleaned_text(html)

    def test_an_open_element_is_never_forgotten(self) -> None:
        """Where the ends of other elements would hide it, the text is not light."""
        hidden = (
            "<b><rt></b>",
            "<td><rt></td>",
            "<p><span></p>",
            "<trac\u212a>",
            "<b><!-- </b>-->",
        )
        for piece in hidden:
            assert not effort_of("<table><b></table>" + piece * 20_000).is_light


class TestCleaning:
    @given(st.text("<>/pbistrongm h1&\xa0\r\n\"'=ü", max_size=60))
    @settings(max_examples=300)
    def test_the_short_way_is_the_sanitizers(self, html: str) -> None:
        if clean_texts.is_plain(html):
            assert cleaned(html)[0] == html

    @pytest.mark.parametrize("inside", ["a", "<em>b</em>", 'c "d" <strong>e</strong> f'])
    def test_plain_texts_take_it(self, inside: str) -> None:
        html = f"<h2>{inside}</h2>\n<p>{inside}</p>"
        assert clean_texts.is_plain(html)
        assert cleaned(html)[0] == html == cleaned_text(html)

    @pytest.mark.parametrize(
        "html", ["<p>a</h2>", "<p>a<b>c</i></p>", "<p><script></p>", "<p a=b></p>", "a\rb", "\xa0"]
    )
    def test_others_do_not(self, html: str) -> None:
        assert not clean_texts.is_plain(html)

    @pytest.mark.parametrize("html", [ARTICLE, SLOPPY, "<img src=a.png alt='\"'>", "a & b < c"])
    def test_clean_texts_stay_as_they_are(self, html: str) -> None:
        clean = cleaned_text(html)
        assert cleaned_text(clean) == clean

    def test_the_paywall_that_is_a_comment_stays_in_its_place(self) -> None:
        sent = "<p>One <!-- more --> two</p><img src='a.png' alt='<!--more-->'>"
        assert cleaned_text(sent) == '<p>One <!--more--> two</p><img src="a.png" alt="">'
        assert cleaned_text("\U000f4d57<p>x</p>") == "<p>x</p>"


class TestTokens:
    @pytest.mark.parametrize("html", [ARTICLE, SLOPPY, "a &lt;b&gt; &amp;amp; c"])
    def test_are_those_of_the_sanitizer(self, html: str) -> None:
        clean, tokens = cleaned(html)
        assert tokens_of(clean) == tokens

    def test_what_is_open_at_the_end_of_a_part_is_closed(self) -> None:
        pieces = [
            token.name
            if token.kind == "text"
            else written(token.name, token.attributes)
            if token.kind == "start"
            else f"</{token.name}>"
            for token in tokens_of('<div><p>a<br><b>b<img src="x">')
        ]
        assert "".join(pieces) == '<div><p>a<br><b>b<img src="x"></b></p></div>'


async def test_a_short_text_that_needs_the_process_does_not_hold_the_event_loop() -> None:
    """The process has to start, or works for another text."""
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            # Not longer: a process that has started may be done within a millisecond.
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    for clean in (clean_texts.clean, clean_texts.clean_or_plain):
        ticks = 0
        assert "x" in await clean("<b>x</b>" * 100 + "<svg></svg>")
        assert ticks > 0
    ticking.cancel()
