"""Every expression has the same meaning on both databases."""

from __future__ import annotations

import json
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement
from tests.storage.notebook import ANN, Notebook, notes, replies

from masthead.storage.dialects import (
    SQLITE,
    any_of,
    compile_statement,
    contained_text,
    contains_text,
    insert_missing,
    like_pattern,
    long_text_contains,
    long_text_like,
    random_order,
    upsert_add,
    upsert_set,
)
from masthead.storage.json_values import json_any, json_number, json_path, json_string, json_text

VALUE: sa.BindParameter[Any] = sa.bindparam("value")
TAGS = {
    "array": ["red", "Blue", "50%"],
    "empty": [],
    "mixed": [7, True, None, "x"],
    "number": 7,
    "object": {"a": {"b c": [10, "deep"]}, "on": True, "off": False, "half": 0.5, "none": None},
    "text": "red",
}


async def fill(notebook: Notebook) -> None:
    adding = notebook.db.compile(
        notes.insert().values({k: sa.bindparam(k) for k in ("tenant_id", "id", "slug", "tags")})
    )
    rows = [(ANN, name, name.upper(), json.dumps(tags)) for name, tags in TAGS.items()]
    async with notebook.db.transaction(ANN) as tx:
        await tx.execute_many(adding, rows)


async def matching(notebook: Notebook, test: ColumnElement[Any], value: object = None) -> list[str]:
    statement = notebook.db.compile(sa.select(notes.c.id).where(test).order_by(notes.c.id))
    rows = await notebook.db.fetch(ANN, statement, statement.bind({"value": value}))
    return [row[0] for row in rows]


@pytest.mark.parametrize(
    ("value", "expected"),
    [("red", ["array", "text"]), ("7", ["mixed", "number"]), ("true", ["mixed"]), ("1", [])],
)
async def test_any_element_equals(notebook: Notebook, value: str, expected: list[str]) -> None:
    await fill(notebook)
    only_plain = notes.c.id != "object"
    test = sa.and_(only_plain, json_any(notes.c.tags, lambda element: element == VALUE))
    assert await matching(notebook, test, value) == expected


async def test_any_element_compared_by_other_operators(notebook: Notebook) -> None:
    await fill(notebook)
    is_array = notes.c.id == "array"
    below = sa.and_(is_array, json_any(notes.c.tags, lambda element: element < VALUE))
    like = sa.and_(is_array, json_any(notes.c.tags, lambda element: contains_text(element, VALUE)))
    assert await matching(notebook, below, "6") == ["array"]
    assert await matching(notebook, below, "5") == []
    assert await matching(notebook, like, like_pattern("BLU")) == ["array"]
    assert await matching(notebook, sa.not_(like), like_pattern("BLU")) == [
        name for name in TAGS if name != "array"
    ]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (json_path("a", "b c", 0), (10.0, None, "10")),
        (json_path("a", "b c", 1), (None, "deep", "deep")),
        (json_path("on"), (1.0, None, "1")),
        (json_path("off"), (0.0, None, "0")),
        (json_path("half"), (0.5, None, "0.5")),
        (json_path("none"), (None, None, None)),
        (json_path("missing", "too"), (None, None, None)),
        (json_path("a", "b c", 9), (None, None, None)),
    ],
)
async def test_the_value_at_a_path(
    notebook: Notebook, path: str, expected: tuple[float | None, str | None, str | None]
) -> None:
    await fill(notebook)
    value = [each(notes.c.tags, VALUE) for each in (json_number, json_string, json_text)]
    statement = notebook.db.compile(sa.select(*value).where(notes.c.id == "object"))
    rows = await notebook.db.fetch(ANN, statement, statement.bind({"value": path}))
    assert tuple(rows[0]) == expected


@pytest.mark.parametrize("name", ['a"b', "a\\b"])
def test_a_path_that_cannot_be_quoted_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="quote"):
        json_path(name)


@pytest.mark.parametrize("wanted", [[], ["text"], ["array", "text", "unknown", 'it\'s "quoted"']])
async def test_a_column_in_one_bound_list(notebook: Notebook, wanted: list[str]) -> None:
    await fill(notebook)
    test = any_of(notes.c.id, VALUE)
    found = await matching(notebook, test, notebook.db.list_value(wanted))
    assert found == sorted(set(wanted) & set(TAGS))


async def test_a_literal_list(notebook: Notebook) -> None:
    await fill(notebook)
    assert await matching(notebook, notes.c.id.in_(["text", "array"])) == ["array", "text"]


@pytest.mark.parametrize(
    ("typed", "pattern"),
    [
        ("abc", "%abc%"),
        ("a_c", r"%a\_c%"),
        ("a%", "a%"),
        (r"a\%c", r"%a\%c%"),
        (r"a\c", r"%a\\c%"),
        ("%a\\", "%a\\\\"),
        ("", "%%"),
    ],
)
def test_like_patterns(typed: str, pattern: str) -> None:
    assert like_pattern(typed) == pattern


async def test_like_folds_ascii_letters_only(notebook: Notebook) -> None:
    async with notebook.db.transaction(ANN) as tx:
        for number, slug in enumerate(["ÄPFEL 50%", "a_c", "abc", "back\\slash"]):
            await tx.execute(notebook.add, (ANN, str(number), slug))
    test = contains_text(notes.c.slug, VALUE)
    expectations = {"pfel": ["0"], "äpfel": [], "50\\%": ["0"], "A_C": ["1"], "A%C": ["1", "2"]}
    for typed, expected in expectations.items():
        assert await matching(notebook, test, like_pattern(typed)) == expected
    assert await matching(notebook, test, like_pattern("k\\s")) == ["3"]
    assert await matching(notebook, test, like_pattern("%slash\\")) == []


async def test_long_texts_match_as_short_ones(notebook: Notebook) -> None:
    texts = ["ÄPFEL 50%", "a_c", "abc", "back\\slash", "", "aXbXc ÄXÖ", "aaab"]
    async with notebook.db.transaction(ANN) as tx:
        for number, slug in enumerate(texts):
            await tx.execute(notebook.add, (ANN, str(number), slug))
    short, contains = contains_text(notes.c.slug, VALUE), long_text_contains(notes.c.slug, VALUE)
    for typed in ("pfel", "äpfel", "50\\%", "A_C", "k\\s", "", "c", "ä", "Ä", "AAB", "x"):
        found = await matching(notebook, short, like_pattern(typed))
        assert await matching(notebook, contains, contained_text(typed)) == found, typed
        assert await matching(notebook, sa.not_(contains), contained_text(typed)) == (
            await matching(notebook, sa.not_(short), like_pattern(typed))
        )
    like = long_text_like(notes.c.slug, VALUE)
    for pattern in (
        *("%", "A%C", "a%", "%c", "%a%b%", "a_c", "_%_", "%_x_%", "%Ä_ö", "%\\%", "%\\", "%b"),
        *("a%b%c %", "____%", "%__b", "", "_", "a\\_%", "%ab%bc%", "%a%a%a%b"),
    ):
        asked = like_pattern(pattern) if "%" in pattern else pattern
        found = await matching(notebook, short, asked)
        assert await matching(notebook, like, asked) == found, pattern


async def test_text_is_ordered_by_code_point(notebook: Notebook) -> None:
    ids = ["a", "B", "ä", "Z", "_", "1", "é", "z"]
    async with notebook.db.transaction(ANN) as tx:
        await tx.execute_many(notebook.add, [(ANN, each, each) for each in ids])
    assert await notebook.ids_of(ANN) == sorted(ids)


async def test_flags_and_big_numbers_are_returned_unchanged(notebook: Notebook) -> None:
    columns = ("tenant_id", "id", "slug", "likes", "pinned")
    adding = notebook.db.compile(notes.insert().values({k: sa.bindparam(k) for k in columns}))
    async with notebook.db.transaction(ANN) as tx:
        await tx.execute(adding, (ANN, "1", "one", 2**62, True))
        await tx.execute(adding, (ANN, "2", "two", -(2**62), False))
    statement = notebook.db.compile(sa.select(notes.c.likes).where(notes.c.pinned))
    assert [tuple(row) for row in await notebook.db.fetch(ANN, statement)] == [(2**62,)]
    unpinned = sa.and_(notes.c.pinned == sa.false(), notes.c.likes < -(2**61))
    assert await matching(notebook, unpinned) == ["2"]


async def test_upserts(notebook: Notebook) -> None:
    key = ("tenant_id", "id")
    count = notebook.db.compile(upsert_add(notes, (*key,), "likes").values(slug="s"))
    name = notebook.db.compile(upsert_set(notes, key, ["slug"]))
    missing = notebook.db.compile(insert_missing(notes, key, ["slug"]))
    async with notebook.db.transaction(ANN) as tx:
        for likes in (2, 3):
            await tx.execute(count, count.bind({"tenant_id": ANN, "id": "1", "likes": likes}))
        for slug in ("first", "second"):
            await tx.execute(name, (ANN, "1", slug))
        assert await tx.execute(missing, (ANN, "1", "third")) == 0
        assert await tx.execute(missing, (ANN, "2", "third")) == 1
    statement = notebook.db.compile(sa.select(notes.c.slug, notes.c.likes).order_by(notes.c.id))
    rows = await notebook.db.fetch(ANN, statement)
    assert [tuple(row) for row in rows] == [("second", 5), ("third", 0)]


async def test_limits_are_parameters_and_random_order_works(notebook: Notebook) -> None:
    await fill(notebook)
    statement = notebook.db.compile(
        sa.select(notes.c.id).order_by(random_order()).limit(sa.bindparam("most")).offset(1)
    )
    rows = await notebook.db.fetch(ANN, statement, statement.bind({"most": 3}))
    assert len({row[0] for row in rows}) == 3


TITLES = sa.select(notes.c.slug)
READS_BOTH = [
    sa.select(replies.c.id).join(notes, notes.c.id == replies.c.note_id),
    sa.select(replies.c.id).where(replies.c.note_id.in_(TITLES)),
    sa.select(replies.c.id).where(sa.exists().where(notes.c.id == replies.c.note_id)),
    sa.select(replies.c.id, TITLES.limit(1).scalar_subquery()),
    sa.select(replies.c.id, notes.alias("other").c.id),
    sa.select(replies.c.id, TITLES.cte("titles").c.slug),
    sa.union_all(sa.select(replies.c.id), TITLES),
    sa.delete(replies).where(replies.c.note_id.in_(TITLES)),
    sa.update(replies).values(note_id=TITLES.limit(1).scalar_subquery()),
    sa.insert(replies).from_select(["id"], TITLES),
]


@pytest.mark.parametrize("statement", READS_BOTH, ids=str)
def test_a_statement_knows_all_its_tables(statement: sa.ClauseElement) -> None:
    """Deferred rows are written before a statement that reads their table."""
    compiled = compile_statement(statement, SQLITE)
    assert compiled.tables == {"notes", "replies"}
    assert compiled.target == ("replies" if isinstance(statement, sa.UpdateBase) else "")


def test_the_tables_of_a_text_are_not_known() -> None:
    assert compile_statement(sa.text("SELECT 1 FROM notes"), SQLITE).tables is None
