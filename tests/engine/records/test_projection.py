"""The `fields` parameter and its `:excerpt`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.growth import MOST, growth
from tests.tiers import representatives
from tests.work import at_most

from masthead.base.errors import BadRequest
from masthead.engine.records.read.plain_text import plain_text
from masthead.engine.records.read.projection import Excerpt, Projection

RECORD = {
    "id": "r1",
    "title": "Hello",
    "body": "<p>Hé<b>llo</b>   wörld</p><p>two<br>three</p>",
    "data": {"a": 1, "b": {"c": [1, 2]}, "l": [{"x": 1, "y": 2}, {"x": 3}]},
    "expand": {"post": {"id": "p1", "title": "Post"}, "tags": [{"id": "t1", "name": "news"}]},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id,title", {"id": "r1", "title": "Hello"}),
        (" title ,\n id,,", {"id": "r1", "title": "Hello"}),
        ("nope", {}),
        ("id title", {}),
        ("a..b", {}),
        ("title.foo", {"title": "Hello"}),
        ("data.a", {"data": {"a": 1}}),
        ("data..a", {"data": {}}),
        ("data.b.c", {"data": {"b": {"c": [1, 2]}}}),
        ("data.l.x", {"data": {"l": [{"x": 1}, {"x": 3}]}}),
        ("data.*", {"data": RECORD["data"]}),
        ("data.*,data.l.y", {"data": {**RECORD["data"], "l": [{"y": 2}, {}]}}),
        ("data,data.a", {"data": RECORD["data"]}),
        ("data.a,data", {"data": RECORD["data"]}),
        ("expand.post.title", {"expand": {"post": {"title": "Post"}}}),
        ("expand.tags.name", {"expand": {"tags": [{"name": "news"}]}}),
        ("expand.post.*", {"expand": {"post": {"id": "p1", "title": "Post"}}}),
        ("expand.*.id", {"expand": {"post": {"id": "p1"}, "tags": [{"id": "t1"}]}}),
        ("*", RECORD),
        ("*,body:excerpt(8,true)", {**RECORD, "body": "Héllo wö..."}),
        ("*,expand.post.id", {**RECORD, "expand": {"post": {"id": "p1"}}}),
        ("id:excerpt(1),expand.post.title:excerpt(2)", {
            "id": "r", "expand": {"post": {"title": "Po"}},
        }),
        ("data:excerpt(3)", {"data": RECORD["data"]}),
        ("body:excerpt( 5 , true ) ,id", {"id": "r1", "body": "Héllo..."}),
        ("body,body:excerpt(3)", {"body": "Hél"}),
        ("body:excerpt(3),body", {"body": RECORD["body"]}),
    ],
)  # fmt: skip
def test_only_what_is_named_remains(text: str, expected: dict[str, object]) -> None:
    projection = Projection.parse(text)
    assert projection is not None
    assert projection.apply_all([RECORD]) == [expected]


def test_the_order_is_that_of_the_record() -> None:
    projection = Projection.parse("title,id")
    assert projection is not None
    (picked,) = projection.apply_all([RECORD])
    assert list(picked) == ["id", "title"]


@pytest.mark.parametrize("text", ["", " ", ",", " ,\n, "])
def test_nothing_named_is_no_projection(text: str) -> None:
    assert Projection.parse(text) is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("id,expand.post.title,body:excerpt(9)", {"id", "expand", "body"}),
        ("data.*", {"data"}),
        ("id,*", None),
    ],
)
def test_top_level_names_are_the_columns_to_read(text: str, names: set[str] | None) -> None:
    projection = Projection.parse(text)
    assert projection is not None
    assert projection.top_level_names() == names


@pytest.mark.parametrize(
    "text",
    [
        "id(",
        "id)",
        "id()",
        "title:",
        ":excerpt(",
        "body:excerpt",
        "body:excerpt()",
        "body:excerpt(0)",
        "body:excerpt(-3)",
        "body:excerpt(abc)",
        "body:excerpt('8')",
        "body:excerpt(8",
        "body:excerpt(8,1,2)",
        "body:excerpt(8)x",
        "body:excerpt((8))",
        "body:excerpt(99999999999999999999)",
        "body:upper(3)",
        "body:excerpt(3):excerpt(3)",
        "x" * 3_501,
        ",".join(["id"] * 201),
        ".".join("a" * 17),
        "(" * 100_000,
    ],
)
def test_malformed_or_oversized_is_refused(text: str) -> None:
    with pytest.raises(BadRequest) as refused:
        Projection.parse(text)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("html", "length", "text"),
    [
        ("", 5, ""),
        ("plain", 5, "plain"),
        ("plain text", 5, "plain..."),
        ("plain text", 6, "plain..."),
        ("<p>one</p><p>two</p>", 99, "one two"),
        ("one<br>two<b>three</b>", 99, "onetwothree"),
        (" a \n\t b<div> c</div>d ", 99, "a b c d"),
        ("a &amp; b &lt;i&gt; &#233;&eacute; &nope;", 99, "a & b <i> éé &nope;"),
        ("&#" + "9" * 5_000 + ";x", 3, "\N{REPLACEMENT CHARACTER}99..."),
        ("a < b > c <3", 99, "a < b > c <3"),
        ("a<!-- <p>no</p> -->b<!doctype x>c</>d<?x?>e", 99, "abcde"),
        ("a<script>if (a < 'b') {\"</p>\"}</script>b", 99, "ab"),
        ("a<STYLE>x</Style >b", 99, "ab"),
        ("a<form>b<form>c</form>d</form>e<img alt='f > g'>h<input>i", 99, "aehi"),
        ('<a title="x > y" href=z>link</a>', 99, "link"),
        ("a<script>never closed", 99, "a"),
        ("a<!-- never closed", 99, "a"),
        ("a<p title='never closed", 99, "a"),
        ("日本語テキスト", 3, "日本語..."),
    ],
)
def test_an_excerpt_is_the_beginning_of_the_text(html: str, length: int, text: str) -> None:
    assert Excerpt(length, with_ellipsis=True).of(html) == text


@pytest.mark.parametrize(
    "piece", ["<", "<a ", '<a b="', "<a \"'", "<!--", "<![", "</", "<?", "&", "&#9", "<script></"]
)
def test_hostile_html_is_read_in_linear_time(piece: str) -> None:
    assert growth(Excerpt(1_000_000).of, lambda size: piece * (size // len(piece))) < MOST


@pytest.mark.parametrize(
    "piece", representatives(["<b>", "&lt;", "<", "a<b>", " \t", "<!---->"], 2)
)
def test_the_excerpts_of_an_answer_share_one_budget(piece: str) -> None:
    projection = Projection.parse("body:excerpt(9999999)")
    assert projection is not None
    with pytest.raises(BadRequest, match="too long to make"), at_most(20):
        projection.apply_all([{"body": piece * (5_000_000 // len(piece))}])
    short = [{"body": piece * 50}] * 1_000
    assert len(projection.apply_all(short)) == 1_000


def test_a_long_text_costs_what_its_excerpt_needs() -> None:
    projection = Projection.parse("body:excerpt(200)")
    assert projection is not None
    records = [{"body": f"<p>{'some words ' * 10_000}</p>"}] * 1_000
    assert projection.apply_all(records)[0] == {"body": ("some words " * 20)[:200].strip()}


@given(st.text(alphabet="ab &amp;#38x \n"), st.integers(1, 40))
def test_a_text_has_the_same_excerpt_read_in_pieces_or_whole(text: str, length: int) -> None:
    html = "a" * 500 + text + "b" * 600
    whole = plain_text(html, 10_000)
    assert plain_text(html, 480 + length).startswith(whole[: 480 + length].rstrip(" "))


@given(st.text() | st.text(alphabet="<>/!-ab \"'&#;p"), st.integers(1, 50))
def test_an_excerpt_never_fails_and_keeps_its_length(html: str, length: int) -> None:
    excerpt = Excerpt(length).of(html)
    assert isinstance(excerpt, str)
    assert len(excerpt) <= length


@given(st.text() | st.text(alphabet="ab*.,:()1 excrpt", max_size=30))
def test_any_text_is_a_projection_or_refused(text: str) -> None:
    try:
        projection = Projection.parse(text)
    except BadRequest:
        return
    if projection:
        projection.apply_all([RECORD])
