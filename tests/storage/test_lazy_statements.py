"""A statement is compiled when it is first used, and only then."""

from __future__ import annotations

from masthead.storage.database import LazyStatement, Statement


def test_a_statement_is_compiled_once_by_its_first_use() -> None:
    compiled: list[str] = []

    def compile_now() -> Statement:
        compiled.append("SELECT ?, ?")
        return Statement("SELECT ?, ?", ("a", "b"), {"b": 2}, "posts", frozenset({"posts"}), (1,))

    statement = LazyStatement(compile_now)
    assert not compiled
    assert statement.bind({"a": 1}) == (1, 2)
    assert statement.text == "SELECT ?, ?"
    assert (statement.target, statement.tables) == ("posts", frozenset({"posts"}))
    assert statement.counted == (1,)
    assert len(compiled) == 1
