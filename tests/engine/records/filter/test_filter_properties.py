"""Properties of the filter parser over generated text and generated trees."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from masthead.engine.records.filter.ast import (
    And,
    Comparison,
    Expression,
    Function,
    Identifier,
    Literal,
    Macro,
    Operand,
    Or,
)
from masthead.engine.records.filter.parser import MACROS, MODIFIERS, SIGNS, FilterError, parse
from masthead.engine.records.filter.shape import shape

PIECES = ["a", "a.b", ":lower", "@now", "true", "'x'", '"', "'", "\\", "1", "-", ".", ",", "(", ")"]
PIECES += ["&&", "||", "&", "=", "!=", "?~", "!", "//", "\n", " ", "\0", "é", "f(", "%"]


@given(st.text() | st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_text_parses_or_is_refused_as_a_filter(text: str) -> None:
    with contextlib.suppress(FilterError):
        shape(parse(text))


names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: name not in ("true", "false", "null")
)
literals = st.builds(
    Literal,
    st.text()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(-1e6, 1e6).map(lambda number: round(number, 3))
    | st.booleans()
    | st.none(),
)
identifiers = st.builds(
    Identifier,
    st.lists(names, min_size=1, max_size=6).map(tuple),
    st.sampled_from(["", *sorted(MODIFIERS)]),
)
leaves = literals | identifiers | st.builds(Macro, st.sampled_from(sorted(MACROS)))
calls = st.builds(Function, names, st.lists(leaves, max_size=3).map(tuple))
operands = leaves | calls
comparisons = st.builds(Comparison, operands, st.sampled_from(sorted(SIGNS)), operands)


def groups(items: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    ands = st.lists(items.filter(lambda item: not isinstance(item, And)), min_size=2, max_size=3)
    ors = st.lists(items.filter(lambda item: not isinstance(item, Or)), min_size=2, max_size=3)
    return ands.map(lambda some: And(tuple(some))) | ors.map(lambda some: Or(tuple(some)))


expressions: st.SearchStrategy[Expression] = st.recursive(comparisons, groups, max_leaves=8)


def printed(node: Expression) -> str:
    if isinstance(node, Comparison):
        return f"{printed_operand(node.left)} {node.op} {printed_operand(node.right)}"
    if isinstance(node, Or):
        return " || ".join(printed(item) for item in node.items)
    return " && ".join(
        f"({printed(item)})" if isinstance(item, Or) else printed(item) for item in node.items
    )


def printed_operand(node: Operand) -> str:
    if isinstance(node, Literal):
        return printed_literal(node)
    if isinstance(node, Identifier):
        return ".".join(node.path) + (f":{node.modifier}" if node.modifier else "")
    if isinstance(node, Macro):
        return node.name
    return f"{node.name}({', '.join(printed_operand(part) for part in node.arguments)})"


def printed_literal(node: Literal) -> str:
    if node.value is None or isinstance(node.value, bool):
        return {None: "null", True: "true", False: "false"}[node.value]
    if isinstance(node.value, str):
        return "'" + node.value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return f"{node.value:.3f}" if isinstance(node.value, float) else str(node.value)


@given(expressions.filter(lambda tree: len(printed(tree)) <= 3_500))
def test_a_printed_tree_parses_to_itself(tree: Expression) -> None:
    assert parse(printed(tree)) == tree
