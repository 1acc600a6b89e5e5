"""Filters of every kind parse, group and are refused as by PocketBase's parser."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests import corpus
from tests.engine.records.filter import expressions

from masthead.engine.records.filter.lexer import Token, tokenize, unquote
from masthead.engine.records.filter.parser import FilterError, parse


def parses(text: str) -> bool:
    try:
        parse(text)
    except FilterError:
        return False
    return True


class GoPrinter:
    """Prints tokens as Go prints the groups that fexpr makes of them.

    From the tokens and not the tree, for the tree forgets idle parentheses.
    """

    def __init__(self, text: str) -> None:
        self.tokens = tokenize(text)

    def take(self) -> Token:
        return self.tokens.pop(0)

    def group(self) -> str:
        items, join = [], "&&"
        while True:
            if self.tokens[0].kind == "open":
                self.take()
                item = self.group()
            else:
                left, sign, right = self.operand(), self.take().text, self.operand()
                item = "{" + f"{left} {sign} {right}" + "}"
            items.append("{" + f"{item} {join}" + "}")
            following = self.take()
            if following.kind != "join":
                return "[" + " ".join(items) + "]"
            join = following.text

    def operand(self) -> str:
        token = self.take()
        if token.kind == "call":
            return "{" + f"{self.arguments()} function {token.text}" + "}"
        kind = {"name": "identifier"}.get(token.kind, token.kind)
        value = unquote(token.text) if token.kind == "text" else token.text
        return "{" + f"<nil> {kind} {value}" + "}"

    def arguments(self) -> str:
        self.take()
        items = []
        while self.tokens[0].kind != "close":
            if self.tokens[0].kind == "comma":
                self.take()
            else:
                items.append(self.operand())
        self.take()
        return "[" + " ".join(items) + "]"


@pytest.mark.parametrize(("text", "groups"), [*expressions.grouped()])
def test_filters_parse_and_group_as_in_fexpr(text: str, groups: str | None) -> None:
    assert parses(text) is (groups is not None)
    if groups is not None:
        assert GoPrinter(text).group() == groups


def test_pocketbase_cases_parse_as_in_pocketbase() -> None:
    ours = [("tide > 1 && nowhere = 2", True), ("'dock' !~ port", True), ("tide + 1", False)]
    for text, valid in [*ours, *pocketbase_cases()]:
        assert parses(text) is valid, text


def pocketbase_cases() -> Iterator[tuple[str, bool]]:
    for path in corpus.found("filters/pocketbase-filter-cases.json"):
        for case in json.loads(path.read_text())["cases"]:
            # Whether a field exists is for the compiler to say.
            yield case["filter"], case["valid"] or case["name"] == "unknown field"


def test_valid_expressions_parse() -> None:
    judged = expressions.judged()
    for text in (*judged["posts"], *judged["members"]):
        parse(text)


def test_what_is_refused_is_no_filter_or_names_what_is_not_there() -> None:
    only_the_field_list_refuses = {
        *("nowhere = 1", "unknown_field = 1", "password = 'x'"),
        *("tokenKey ~ 'a'", "token_key ~ 'a'"),
    }
    for text in expressions.judged()["refused"]:
        assert parses(text) is (text in only_the_field_list_refuses), text


def test_hostile_expressions_are_filters_like_others() -> None:
    for text in expressions.hostile():
        # `OR` is no word of the language, so an attempt with it ends at the first comparison.
        assert parses(text) is (" OR '" not in text), text
