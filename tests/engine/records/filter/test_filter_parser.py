"""The filter language: what parses to which tree, what is refused, and how long that may take."""

from __future__ import annotations

import pytest
from tests.work import at_most

from masthead.base.errors import BadRequest
from masthead.engine.records.filter.ast import (
    And,
    Comparison,
    Function,
    Identifier,
    Literal,
    Macro,
    Operand,
    Or,
    conjuncts,
)
from masthead.engine.records.filter.parser import MACROS, SIGNS, FilterError, parse


def named(path: str, modifier: str = "") -> Identifier:
    return Identifier(tuple(path.split(".")), modifier)


def equals(name: str, value: int) -> Comparison:
    return Comparison(named(name), "=", Literal(value))


A, B, C, D = (equals(name, 1) for name in "abcd")


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("''", Literal("")),
        ("'public'", Literal("public")),
        ('"public"', Literal("public")),
        (r"'o\'hara'", Literal("o'hara")),
        (r'"o\'hara"', Literal(r"o\'hara")),
        (r'"say \"hi\""', Literal('say "hi"')),
        (r"'50\_off'", Literal(r"50\_off")),
        (r"'\\'", Literal("\\")),
        (r"'\\\''", Literal("\\'")),
        ("'a // b'", Literal("a // b")),
        ("'(&& ||)'", Literal("(&& ||)")),
        ("'שלום 😀\n'", Literal("שלום 😀\n")),
        ("'x\0y'", Literal("x\0y")),
        ("0", Literal(0)),
        ("007", Literal(7)),
        ("-14", Literal(-14)),
        ("10.50", Literal(10.5)),
        ("-.5", Literal(-0.5)),
        ("1.0", Literal(1.0)),
        ("9223372036854775807", Literal(2**63 - 1)),
        ("9223372036854775808", Literal(float(2**63))),
        ("true", Literal(True)),
        ("FALSE", Literal(False)),
        ("Null", Literal(None)),
        ("nullable", named("nullable")),
        ("tenant_id.owner_id", named("tenant_id.owner_id")),
        ("comments_via_post_id.body", named("comments_via_post_id.body")),
        ("@request.auth.id", named("@request.auth.id")),
        ("@request.query.a:isset", named("@request.query.a", "isset")),
        ("@collection.posts:other.title", named("@collection.posts:other.title")),
        ("email:lower", named("email", "lower")),
        ("tags:each", named("tags", "each")),
        ("tags:length", named("tags", "length")),
        ("_x", named("_x")),
        ("a.b.c.d.e.f", named("a.b.c.d.e.f")),
        ("@request.a.b.c.d.e.f", named("@request.a.b.c.d.e.f")),
        ("@now", Macro("@now")),
        ("@todayStart", Macro("@todayStart")),
        ("@nowhere", named("@nowhere")),
        ("now()", Function("now", ())),
        ("geo.f(1)", Function("geo.f", (Literal(1),))),
        (
            "f( a , 'x',\n-1 , // last\n g(h(@now)), )",
            Function(
                "f",
                (
                    named("a"),
                    Literal("x"),
                    Literal(-1),
                    Function("g", (Function("h", (Macro("@now"),)),)),
                ),
            ),
        ),
    ],
)
def test_an_operand_is_read_on_either_side(text: str, operand: Operand) -> None:
    assert parse(f"{text} = x") == Comparison(operand, "=", named("x"))
    assert parse(f"x={text}") == Comparison(named("x"), "=", operand)


@pytest.mark.parametrize("sign", sorted(SIGNS))
def test_every_operator_is_read_with_and_without_blanks(sign: str) -> None:
    expected = Comparison(named("a"), sign, Literal(-1))
    assert parse(f"a{sign}-1") == expected
    assert parse(f"\t a\n{sign} -1 ") == expected


@pytest.mark.parametrize("name", sorted(MACROS))
def test_every_macro_is_read(name: str) -> None:
    assert parse(f"created>{name}") == Comparison(named("created"), ">", Macro(name))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a=1", A),
        ("((a=1))", A),
        ("a=1&&b=1", And((A, B))),
        ("a=1 || b=1 && c=1", Or((A, And((B, C))))),
        ("a=1 && b=1 || c=1", Or((And((A, B)), C))),
        ("(a=1 || b=1) && c=1", And((Or((A, B)), C))),
        ("c=1 && (a=1 || b=1)", And((C, Or((A, B))))),
        ("(a=1 && b=1) && (c=1 && (d=1))", And((A, B, C, D))),
        ("a=1 || (b=1 || (c=1 || d=1))", Or((A, B, C, D))),
        ("(a=1 && (b=1 || (c=1 && d=1)))", And((A, Or((B, And((C, D))))))),
        ("a=1 // why\n && // and\n(b=1 // it's ) open\n)//", And((A, B))),
    ],
)
def test_and_binds_tighter_than_or_and_needless_parentheses_go(text: str, tree: object) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize(
    ("text", "position", "hint"),
    [
        ("", 0, "the filter ends"),
        (" \t\n", 3, "the filter ends"),
        ("// only a comment", 17, "the filter ends"),
        ("()", 1, "expected a field"),
        ("a", 1, "expected an operator"),
        ("a =", 3, "expected a field"),
        ("= 1", 0, "expected a field"),
        ("a == 1", 2, "'=='"),
        ("a =! 1", 2, "'=!'"),
        ("a ! 1", 2, "expected an operator"),
        ("a - 1", 2, "'-'"),
        ("a = +1", 4, "'+'"),
        ("a = 1.", 5, "'.'"),
        ("a = 1.2.3", 7, "'.'"),
        ("a = 1e5", 5, "'e5'"),
        ("a = - 1", 4, "'-'"),
        ("a = 1 & b = 1", 6, "'&'"),
        ("a = 1 &&& b = 1", 6, "'&&&'"),
        ("a = 1 and b = 1", 6, "expected && or ||"),
        ("a = 1 b = 1", 6, "expected && or ||"),
        ("a = 1 (b = 1)", 6, "expected && or ||"),
        ("a (b = 1)", 2, "expected an operator"),
        ("a = 1 &&", 8, "the filter ends"),
        ("a = 1 && || b = 1", 9, "expected a field"),
        ("|| a = 1", 0, "expected a field"),
        ("(a = 1", 6, "&&, || or )"),
        ("a = 1)", 5, "')'"),
        ("(a = 1))", 7, "')'"),
        ("a = 'x", 4, "never closed"),
        (r"a = 'x\'", 4, "never closed"),
        ("a = x'", 5, "never closed"),
        ("a = ''x''", 6, "'x'"),
        ("a = `x`", 4, "'`'"),
        ("a = [1]", 4, "'['"),
        ("{a = 1}", 0, "'{'"),
        ("a = 1; DROP TABLE posts", 5, "';'"),
        ("a = 1 -- x", 6, "'-'"),
        ("a = 1 /* x */", 6, "'/'"),
        ("a IN ('a','b')", 2, "expected an operator"),
        ("not a = 1", 4, "expected an operator"),
        ("a = 1\r\n", 5, "expected && or ||"),
        ("a = é", 4, "'é'"),
        ("a\0 = 1", 1, "expected an operator"),
        ("a..b = 1", 0, "not a name"),
        (".a = 1", 0, "'.'"),
        ("a. = 1", 0, "not a name"),
        ("@ = 1", 0, "not a name"),
        ("# = 1", 0, "not a name"),
        ("_ = 1", 0, "not a name"),
        ("a: = 1", 0, "unknown modifier"),
        ("a:upper = 1", 0, "unknown modifier"),
        ("a:lower:lower = 1", 0, "unknown modifier"),
        ("a.:lower = 1", 0, "not a name"),
        (".".join(["a"] * 136) + " = 1", 0, "more than 135 steps"),
        ("f(1 = 1", 4, "a comma or )"),
        ("f(1 2) = 1", 4, "a comma or )"),
        ("f(,) = 1", 2, "expected a field"),
        ("f(1,,2) = 1", 4, "expected a field"),
        ("f((1)) = 1", 2, "expected a field"),
        ("f(1", 3, "a comma or )"),
        ("a..f(1) = 1", 0, "not a name"),
        ("f(f(f(f(1)))) = 1", 6, "more than 3 deep"),
        ("a = " + "9" * 400, 4, "too large"),
    ],
)
def test_a_broken_filter_is_refused_where_it_breaks(text: str, position: int, hint: str) -> None:
    with pytest.raises(FilterError) as refused:
        parse(text)
    assert isinstance(refused.value, BadRequest)
    assert refused.value.position == position
    assert hint in str(refused.value)


def test_a_refusal_echoes_little_of_the_filter() -> None:
    for text in ("a=1 " + "x" * 3_000, "a='" + "x" * 3_000, "x" * 3_000 + ":no = 1"):
        with pytest.raises(FilterError) as refused:
            parse(text)
        assert str(refused.value).count("x") <= 41


@pytest.mark.parametrize(
    ("fits", "does_not_fit"),
    [
        ("a='" + "x" * 3_496 + "'", "a='" + "x" * 3_497 + "'"),
        ("||".join(["a=1"] * 200), "||".join(["a=1"] * 201)),
        ("(" * 100 + "a=1" + ")" * 100, "(" * 101 + "a=1" + ")" * 101),
        ("f(f(f(1)))=1", "f(f(f(f(1))))=1"),
    ],
    ids=["characters", "comparisons", "parentheses", "calls"],
)
def test_limits_are_exact(fits: str, does_not_fit: str) -> None:
    parse(fits)
    with pytest.raises(FilterError):
        parse(does_not_fit)


HOSTILE = [
    "(" * 10_000,
    "(" * 3_500,
    "(" * 10_000 + "a=1" + ")" * 10_000,
    " || ".join(f"slug='x{n}'" for n in range(100_000)),
    "'" + r"\'" * 1_749,
    r"\'" * 1_750,
    "'\"" * 1_750,
    "/" * 3_500,
    "//\n" * 1_166,
    "a." * 1_750,
    "a(" * 1_750,
    "a" * 3_499 + "(",
    " " * 3_500,
    "-" * 3_500,
    "1" * 3_500,
    "1." * 1_750,
    "=" * 3_500,
    "&" * 3_500,
    "a:" * 1_750,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_refused_quickly(text: str) -> None:
    # A linear pass takes about two milliseconds; a quadratic one seconds.
    with at_most(0.5), pytest.raises(FilterError):
        parse(text)


def test_literals_of_different_kinds_are_not_equal() -> None:
    one_of_each = [Literal(1), Literal(1.0), Literal(True), Literal("1"), Literal(None)]
    assert len(set(one_of_each)) == 5
    assert Literal(1) != 1


def test_conjuncts_are_the_conditions_that_must_all_hold() -> None:
    assert conjuncts(A) == (A,)
    assert conjuncts(Or((A, B))) == (Or((A, B)),)
    assert conjuncts(parse("a=1 && (b=1 || c=1) && d=1")) == (A, Or((B, C)), D)
    assert conjuncts(And((And((A, B)), And((C, And((D, A))))))) == (A, B, C, D, A)
