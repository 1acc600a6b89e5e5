"""The `sort` parameter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.base.errors import BadRequest
from masthead.engine.records.filter.parser import MAX_PATH_STEPS
from masthead.engine.records.read.sorting import SortKey, parse_sort


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("", ()),
        ("title", (SortKey(("title",)),)),
        ("+id", (SortKey(("id",)),)),
        ("-created", (SortKey(("created",), descending=True),)),
        ("@random", (SortKey((), random=True),)),
        ("-@random", (SortKey((), random=True),)),
        ("-@rowid", (SortKey(("@rowid",), descending=True),)),
        ("-tenant_id.name", (SortKey(("tenant_id", "name"), descending=True),)),
        (
            " -created , title,@random,+id\n",
            (
                SortKey(("created",), descending=True),
                SortKey(("title",)),
                SortKey((), random=True),
                SortKey(("id",)),
            ),
        ),
        ("a,b,c,d,e,f,g,h", tuple(SortKey((name,)) for name in "abcdefgh")),
        ("a.b.c.d.e.f", (SortKey(tuple("abcdef")),)),
    ],
)
def test_keys_are_read_in_order(text: str, keys: tuple[SortKey, ...]) -> None:
    assert parse_sort(text) == keys


@pytest.mark.parametrize(
    "text",
    [
        " ",
        ",",
        "a,",
        "a,,b",
        "-",
        "- a",
        "--a",
        "++a",
        "a b",
        "a desc",
        "a.",
        ".a",
        "a..b",
        "1",
        "a:nope",
        "@request.auth.id",
        "@rowid.a",
        "é",
        "a;drop table posts",
        "a\n-- x",
        "title\0",
        "(select 1)",
        ".".join("a" * (MAX_PATH_STEPS + 1)),
        "a,b,c,d,e,f,g,h,i",
        "," * 100_000,
        "a" * 100_000,
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(BadRequest) as refused:
        parse_sort(text)
    assert len(str(refused.value)) < 200


@given(st.text() | st.text(alphabet="ab.,-+@ \n", max_size=20))
def test_any_text_gives_plain_names_or_is_refused(text: str) -> None:
    try:
        keys = parse_sort(text)
    except BadRequest:
        return
    for key in keys:
        assert key.random or key.path == ("@rowid",) or all(map(str.isidentifier, key.path))
