"""Filters that the service builds itself; limits and cache of those that it is given; refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from masthead.engine.records.filter.ast import (
    And,
    Comparison,
    Expression,
    Identifier,
    Literal,
    Or,
    comparisons,
)
from masthead.engine.records.filter.conditions import (
    all_of,
    any_of,
    begins_with,
    equals,
    has_item,
    newer,
)
from masthead.engine.records.filter.lexer import unquote
from masthead.engine.records.filter.parser import (
    MAX_COMPARISONS,
    MAX_READERS_COMPARISONS,
    FilterError,
    parse,
    parse_cached,
    parse_given,
)
from masthead.engine.records.filter.shape import shape

A, C = (Comparison(Identifier((a,)), "=", Literal(b)) for a, b in ("ab", "cd"))


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: equals("status", "draft"), "status = 'draft'"),
        (lambda: equals("is_open", True), "is_open = true"),
        (lambda: newer("created", "2026"), "created > '2026'"),
        (lambda: has_item("tags", "news"), "tags ?= 'news'"),
        (lambda: begins_with("slug", "ab"), "slug >= 'ab' && slug < 'ab\U0010ffff'"),
        (lambda: all_of([A]), "a = 'b'"),
        (lambda: all_of([A, C]), "a = 'b' && c = 'd'"),
        (lambda: any_of([A]), "a = 'b'"),
        (lambda: any_of([A, C]), "a = 'b' || c = 'd'"),
    ],
)
def test_a_built_filter_is_what_its_text_says(build: Callable[[], Expression], text: str) -> None:
    assert build() == parse(text)


def test_without_conditions_there_is_no_filter() -> None:
    assert all_of([]) is None
    assert any_of([]) is None


def many(number: int) -> str:
    return "||".join(["a=1"] * number)


def test_readers_may_compare_less_than_administrators() -> None:
    for number, for_admin in [(MAX_COMPARISONS, True), (MAX_READERS_COMPARISONS, False)]:
        found = parse_given(many(number), for_admin=for_admin)
        assert found is not None
        assert comparisons(found.expression) == number
        with pytest.raises(FilterError, match=f"it has more than {number} comparisons"):
            parse_given(many(number + 1), for_admin=for_admin)


def test_a_filter_is_given_as_text_as_a_tree_or_not_at_all() -> None:
    tree = parse("a = 'b'")
    by_text = parse_given("a = 'b'", for_admin=False)
    assert by_text is not None
    assert (by_text.expression, by_text.shape, by_text.values) == (tree, *shape(tree))
    assert parse_given(tree, for_admin=False) == by_text
    assert parse_given("", for_admin=True) is None


def test_only_short_filters_are_remembered_each_with_its_limit() -> None:
    short, long = "a = '" + "x" * 494 + "'", "a = '" + "x" * 495 + "'"
    assert parse_cached(short) is parse_cached(short)
    assert parse_cached(long) is not parse_cached(long)
    assert parse_cached(long) == parse_cached(long)
    assert comparisons(parse_cached(many(31)).expression) == 31
    with pytest.raises(FilterError):
        parse_cached(many(31), 30)
    with pytest.raises(FilterError):
        parse_cached(many(131), 130)
    with pytest.raises(FilterError):
        parse_cached(many(201))


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("a = 1 || " + "(" * 101 + "b = 1", 109),
        ("||".join(["a=1"] * 201), 1_000),
        ("||".join(["a=1"] * 200 + ["(b=1)"]), 1_001),
        ("a" * 3_501, 3_500),
    ],
)
def test_a_filter_over_a_limit_is_refused_where_it_goes_over(text: str, position: int) -> None:
    with pytest.raises(FilterError) as refused:
        parse(text)
    assert refused.value.position == position


def test_literals_are_equal_by_kind_and_value() -> None:
    assert Literal(1) == Literal(1)
    assert Literal(1) != Literal(2)
    assert Literal(1) != Literal(1.0)
    assert hash(Literal("a")) == hash(Literal("a"))


@pytest.mark.parametrize(
    ("tree", "number"),
    [
        (Comparison(Identifier(("a",)), "=", Literal(1)), 1),
        (And((A, Or((A, C)))), 3),
    ],
)
def test_the_comparisons_of_a_tree_are_counted(tree: Expression, number: int) -> None:
    assert comparisons(tree) == number


@pytest.mark.parametrize(
    ("quoted", "text"),
    [
        ("''", ""),
        ("'a'", "a"),
        ('"a"', "a"),
        (r"'it\'s'", "it's"),
        (r"'a \"b\"'", r"a \"b\""),
        (r'"a \"b\""', 'a "b"'),
        (r"'50\\'", "50\\"),
        (r"'50\_off'", r"50\_off"),
    ],
)
def test_a_backslash_escapes_the_quote_and_itself(quoted: str, text: str) -> None:
    assert unquote(quoted) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "",
            "expected a field, a quoted text, a number, true, false or null, but the filter ends.",
        ),
        ("a", "expected an operator such as =, != or ~, but the filter ends."),
        ("a = 'x", 'the text that starts with "\'x" is never closed.'),
        ("a = 1 b", "expected && or ||, found 'b'."),
        ("(a = 1 b", "expected &&, || or ), found 'b'."),
        ("f(1 2)", "expected a comma or ), found '2'."),
        ("a:up = 1", "unknown modifier in 'a:up'."),
        ("a..b = 1", "'a..b' is not a name."),
        ("a = " + "9" * 400, f"the number '{'9' * 39}…' is too large."),
        ("a" * 40 + ":b = 1", f"unknown modifier in '{'a' * 39}…'."),
        ("a" * 38 + ":b = 1", f"unknown modifier in '{'a' * 38}:b'."),
        ("." * 3_501, "it is longer than 3500 characters."),
        ("(" * 101, "parentheses are nested more than 100 deep."),
        ("f(f(f(f(", "functions are nested more than 3 deep."),
        (".".join("a" * 136) + " = 1", f"the path '{'a.' * 19}a…' has more than 135 steps."),
    ],
)
def test_a_refusal_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(FilterError) as refused:
        parse(text)
    assert str(refused.value) == f"Invalid filter at position {refused.value.position}: {message}"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9223372036854775807", 9223372036854775807),
        ("9223372036854775808", 9223372036854775808.0),
        ("-9223372036854775808", -9223372036854775808),
        ("-9223372036854775809", -9223372036854775809.0),
        ("1.5", 1.5),
        ("-.5", -0.5),
        ("2.0", 2.0),
    ],
)
def test_a_number_is_whole_as_far_as_databases_count(text: str, value: float) -> None:
    assert parse(f"a = {text}") == Comparison(Identifier(("a",)), "=", Literal(value))


@pytest.mark.parametrize("prefix", ["", "@request.", "@collection."])
def test_a_path_has_at_most_135_steps(prefix: str) -> None:
    parse(f"{prefix}{'.'.join('a' * 135)} = 1")
    parse(f"{prefix}{'.'.join('a' * 135)}() = 1")
    for call in ("", "()"):
        with pytest.raises(FilterError) as refused:
            parse(f"b = 1 && {prefix}{'.'.join('a' * 136)}{call} = 1")
        assert refused.value.position == 9
