"""LIKE over long texts on SQLite: the same answers, without its cost."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.storage.notebook import ANN, new_url

from masthead.base.errors import StatementTimeout
from masthead.storage.database import Statement
from masthead.storage.dialects import like_pattern
from masthead.storage.open import open_database
from masthead.storage.sqlite.patterns import LIKE_FUNCTION, add_like


@given(st.text(alphabet="ab_%Ä\\", max_size=12), st.text(alphabet="ab_%äÄ\\", max_size=8))
def test_the_pattern_of_long_texts_is_like(text: str, pattern: str) -> None:
    pattern = like_pattern(pattern)
    with closing(sqlite3.connect(":memory:")) as connection:
        add_like(connection)
        query = f"SELECT ? LIKE ? ESCAPE '\\', {LIKE_FUNCTION}(?, ?)"
        ((like, ours),) = connection.execute(query, (text, pattern, text, pattern)).fetchall()
    assert bool(ours) == bool(like)


async def test_a_pattern_that_takes_too_long_is_a_timeout(tmp_path: Path) -> None:
    db = await open_database(new_url("sqlite", tmp_path))
    statement = Statement(f"SELECT {LIKE_FUNCTION}(?, ?)", (), {})
    with pytest.raises(StatementTimeout):
        await db.fetch(ANN, statement, ("a" * 500_000, "%a_a_b%"), slow=True)
    await db.close()
