"""The difference of two states of a text, as a page shows it."""

from __future__ import annotations

import random

import pytest
from tests.growth import MOST, growth

from masthead.content.texts.blocks import blocks_of
from masthead.content.texts.difference import (
    MAX_BLOCKS,
    MAX_CHARACTERS,
    Difference,
    DifferenceRow,
    compare,
    compare_words,
    difference,
)

WORDS = ("the", "sea", "a", "fog", "lamp", "lit", "und", "海", "霧")
SIGNS = {"same": "", "added": "+", "removed": "-"}


def shown(row: DifferenceRow) -> str:
    pieces = "".join(
        f"[{SIGNS[piece.kind]}{piece.text}]" if SIGNS[piece.kind] else piece.text
        for piece in row.pieces
    )
    return f"{row.kind} {row.name}: {pieces}" if row.kind != "skipped" else f"skipped {row.count}"


def rows(old: str, new: str) -> list[str]:
    return [shown(each) for each in difference(old, new).rows]


def test_words_are_compared_inside_blocks_that_are_alike() -> None:
    old = "<h2>Fog</h2><p>Every evening at six the lamp is lit.</p><p>Gone.</p>"
    new = "<h2>Fog</h2><p>Every morning at six the old lamp is lit.</p><p>Brand new.</p>"
    assert rows(old, new) == [
        "same Heading: Fog",
        "changed : Every[- evening][+ morning] at six the[+ old] lamp is lit.",
        "removed : [-Gone.]",
        "added : [+Brand new.]",
    ]


def test_long_stretches_without_a_change_are_counted() -> None:
    same = "".join(f"<p>Paragraph {number}</p>" for number in range(10))
    assert rows(same, f"{same}<p>End</p>") == [
        "skipped 9",
        "same : Paragraph 9",
        "added : [+End]",
    ]
    found = difference(same, same)
    assert found.is_same
    assert [shown(each) for each in found.rows] == ["skipped 10"]


def test_blocks_have_the_names_of_what_they_are() -> None:
    html = (
        "<h2>Low <em>tide</em></h2><ul><li><p>Nets</p><ul><li><p>Old</p></li></ul></li></ul>"
        '<ul><li data-type="taskItem" data-checked="true"><p>Paid</p></li></ul>'
        '<p>See <a href="https://example.org/t">the tables</a>.<br>Now.</p>'
        '<figure><img src="/media/a/boat.png" alt="A boat"><figcaption>Mud</figcaption></figure>'
        "<table><tbody><tr><td><p>Port</p></td><td><p>04:12</p></td></tr></tbody></table>"
        '<pre><code>a = 1\n  b</code></pre><blockquote><p>Said</p></blockquote><hr class="paywall">'
    )
    assert [tuple(each) for each in blocks_of(html)] == [
        ("Heading", "Low tide"),
        ("List item", "Nets"),
        ("List item", "Old"),
        ("Task, done", "Paid"),
        ("", "See the tables (https://example.org/t). Now."),
        ("Picture", "A boat (boat.png)"),
        ("Caption", "Mud"),
        ("Table row", "Port | 04:12"),
        ("Code", "a = 1\n  b"),
        ("Quote", "Said"),
        ("Start of the part for members", ""),
    ]


def test_another_kind_of_block_and_another_address_are_changes() -> None:
    assert rows("<p>Fog at sea</p>", "<h2>Fog at sea</h2>") == [
        "changed Paragraph → Heading: Fog at sea"
    ]
    assert rows('<p><a href="/a">Here</a></p>', '<p><a href="/b">Here</a></p>') == [
        "changed : Here (/[-a][+b])"
    ]


def test_every_character_of_both_states_is_in_the_difference() -> None:
    chance = random.Random(7)
    for _ in range(60):
        old, new = (" ".join(chance.choices(WORDS, k=chance.randrange(30))) for _ in range(2))
        pieces = compare_words(old, new)
        assert "".join(text for kind, text in pieces if kind != "added") == old
        assert "".join(text for kind, text in pieces if kind != "removed") == new


def test_texts_without_anything_in_common_are_shown_whole() -> None:
    """Whatever the texts, the work is bounded."""
    chance = random.Random(7)

    def text(letters: str) -> str:
        return "".join(f"<p>{chance.choice(letters)} {chance.random()}</p>" for _ in range(4_000))

    found = difference(text("abc"), text("xyz"))
    assert found.is_rough
    assert {row.kind for row in found.rows} == {"added", "removed"}
    # One long paragraph of few words: the hardest to align.
    words = [" ".join(chance.choices("abcd", k=20_000)) for _ in range(2)]
    found = difference(*(f"<p>{each}</p>" for each in words))
    assert found.is_rough
    [row] = found.rows
    assert [piece.kind for piece in row.pieces if len(piece.text) > 99] == ["removed", "added"]


async def test_a_text_that_is_too_long_is_not_compared() -> None:
    assert await compare("x" * (MAX_CHARACTERS + 1), "") == Difference(is_too_long=True)
    assert not (await compare("<p>a</p>", "<p>a</p>")).is_too_long


def test_many_blocks_against_few_long_ones_are_compared_roughly() -> None:
    old = "<p>zz1</p>" * MAX_BLOCKS
    new = "".join(
        "<p>" + " ".join(f"w{at}x{word}" for word in range(5_000)) + "</p>" for at in range(8)
    )
    found = difference(old, new)
    assert found.is_rough


@pytest.mark.parametrize("piece", ["word ", "a, ", "漢", "x\n"])
def test_a_long_block_is_compared_in_time_that_grows_with_its_length(piece: str) -> None:
    def compare(text: str) -> None:
        assert not difference(f"<pre>{text}</pre>", f"<pre>{text}end</pre>").is_same

    times = growth(compare, lambda size: piece * (size // len(piece)))
    assert times < MOST


def test_more_blocks_than_a_page_can_show_are_not_compared() -> None:
    found = difference("<p>a</p>" * (MAX_BLOCKS + 1), "<p>a</p>")
    assert found == Difference(is_too_long=True)
    assert difference("<p>a</p>" * MAX_BLOCKS, "<p>a</p>").rows


async def test_long_texts_are_compared_in_a_process_with_the_same_result() -> None:
    old = "".join(f"<p>Word {number} of many in a long text.</p>" for number in range(2_000))
    new = old.replace("Word 7 ", "Another word ").replace("<p>Word 1500 of many in", "<p>New in")
    assert await compare(old, new) == difference(old, new)
    assert not (await compare(old, new)).is_same
