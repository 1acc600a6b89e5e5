"""The filters that PocketBase and its parser are tested with, where that corpus is at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from masthead.records.filter.errors import FilterError
from masthead.records.filter.lexer import Token, tokenize, unquote
from masthead.records.filter.parser import parse

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "filters"


def read(name: str) -> dict[str, Any]:
    path = CORPUS / name
    if not path.exists():
        pytest.skip("the filter corpus is not here")
    return json.loads(path.read_text())


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


def test_fexpr_cases_parse_and_group_as_in_fexpr() -> None:
    cases = read("fexpr-parse-cases.json")["cases"]
    assert len(cases) > 50
    for case in cases:
        assert parses(case["expr"]) is case["valid"], case
        if case["valid"]:
            assert GoPrinter(case["expr"]).group() == case["tree"]


def test_pocketbase_cases_parse_as_in_pocketbase() -> None:
    for case in read("pocketbase-filter-cases.json")["cases"]:
        # Whether a field exists is for the compiler to say.
        valid = case["valid"] or case["name"] == "unknown field"
        assert parses(case["filter"]) is valid, case


def test_own_valid_expressions_parse() -> None:
    for text in read("own-expressions.json")["valid"]:
        parse(text)


def test_own_invalid_expressions_are_refused() -> None:
    only_the_field_list_refuses = {"unknown_field = 1", "password = 'x'", "tokenKey ~ 'a'"}
    for text in read("own-expressions.json")["invalid"]:
        assert parses(text) is (text in only_the_field_list_refuses), text


def test_own_security_relevant_expressions_parse() -> None:
    # `OR` is no word of the language, so this attempt ends at the first comparison.
    refused = {"title = '' OR '1'='1'"}
    for text in read("own-expressions.json")["valid_syntax_security_relevant"]:
        assert parses(text) is (text not in refused), text
