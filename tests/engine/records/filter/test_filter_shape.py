"""Shapes: equal exactly when only the values differ, with those values in reading order."""

from __future__ import annotations

import pytest

from masthead.engine.records.filter.parser import FilterError, parse, parse_cached
from masthead.engine.records.filter.shape import shape


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a = 'x'", "a='y'"),
        ("a = 1 && b = 2.5", "(a = -3) && b=0.1"),
        ("(a = 'x' || b ~ '1') && c = null", "(a = 'z' || b ~ '2\\\\%') && c = NULL"),
        ("f(1, 'x') < 5", "f(2, 'y') < 6"),
        ("'x' = a // note", "'y' = a"),
    ],
)
def test_filters_that_differ_in_values_have_one_shape(one: str, other: str) -> None:
    (first, first_values), (second, second_values) = shape(parse(one)), shape(parse(other))
    assert first == second
    assert hash(first) == hash(second)
    assert first_values != second_values


def test_filters_that_differ_otherwise_have_their_own_shapes() -> None:
    texts = [
        "a = 'x'",
        "a = '%'",
        "a = ''",
        "a = 1",
        "a = 1.5",
        "a = true",
        "a = false",
        "a = null",
        "a = @now",
        "a = @year",
        "a = b",
        "a = text",
        "a = b.c",
        "a:lower = 'x'",
        "a != 'x'",
        "a ?= 'x'",
        "'x' = a",
        "a = f('x')",
        "a = f('x', 'y')",
        "a = 'x' && b = 'x'",
        "a = 'x' || b = 'x'",
        "a = 'x' || b = 'x' && c = 'x'",
        "(a = 'x' || b = 'x') && c = 'x'",
    ]
    assert len({shape(parse(text))[0] for text in texts}) == len(texts)


def test_values_are_in_reading_order_without_constants_of_the_shape() -> None:
    text = "a = 'x' && (1 < b || c = true) && d ~ '' && f(2.5, @now, 'y') != null"
    assert shape(parse(text))[1] == ("x", 1, "", 2.5, "y")


def test_a_cached_filter_is_parsed_once() -> None:
    text = "remembered = 'once' && number = 7"
    parsed = parse_cached(text)
    assert parse_cached(text) is parsed
    assert parsed.expression == parse(text)
    assert (parsed.shape, parsed.values) == shape(parse(text))


def test_a_long_filter_is_not_cached() -> None:
    text = "a = '" + "x" * 500 + "'"
    assert parse_cached(text) == parse_cached(text)
    assert parse_cached(text) is not parse_cached(text)


def test_a_broken_filter_is_refused_every_time() -> None:
    for _ in range(2):
        with pytest.raises(FilterError):
            parse_cached("a = ")
