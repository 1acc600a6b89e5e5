"""No cell of a CSV file of ours is run as a formula, and an import gives back what was exported."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from masthead.base.spreadsheet_cells import guard_cell, guard_start, unguard_cell
from masthead.faces.admin.pages.members.download import csv_lines
from masthead.faces.importers.write.redirects import Redirect, RedirectRows
from masthead.faces.site_export.tables import _value, write_row

STARTS = [*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20"]


@pytest.mark.parametrize("start", STARTS)
def test_every_start_of_a_formula_gets_a_quote(start: str) -> None:
    assert guard_cell(f"{start}1+1") == f"'{start}1+1"
    assert guard_cell(f"'{start}1+1") == f"''{start}1+1"


@pytest.mark.parametrize(
    ("text", "guarded"),
    [
        ("Ann;=1+1;x", "Ann;'=1+1;x"),
        ("Ann\t@SUM(A1)", "Ann\t'@SUM(A1)"),
        ("=1;-1", "'=1;'-1"),
        ("Ann;'+1", "Ann;''+1"),
        ("Ann; =1,=1", "Ann; =1,=1"),
    ],
)
def test_a_formula_after_a_separator_of_other_countries_gets_a_quote(
    text: str, guarded: str
) -> None:
    assert guard_cell(text) == guarded
    assert unguard_cell(guarded) == text


def test_a_semicolon_of_html_is_no_separator() -> None:
    assert guard_start("&nbsp;- a") == "&nbsp;- a"
    assert guard_start("=1;=1") == "'=1;=1"


@pytest.mark.parametrize("text", ["", "'tis", "/2020/01/a-b=c/?p=@1", "a=1", "1-2"])
def test_other_text_stays(text: str) -> None:
    assert guard_cell(text) == text
    assert unguard_cell(text) == text


@given(st.text(max_size=20) | st.text("';\t=-\ra", max_size=12))
@example("'=1")
@example("''+1")
@example("'a'=2")
def test_removing_one_quote_restores_every_text(text: str) -> None:
    assert unguard_cell(guard_cell(text)) == text


def redirects(cell: str) -> bytes:
    rows = RedirectRows()
    rows.add([Redirect("posts", cell, "/posts/a")])
    content = rows.content()
    rows.close()
    return content


def site_export(cell: str) -> bytes:
    file = io.BytesIO()
    write_row(file, ["column"])
    write_row(file, [cell])
    return file.getvalue()


def list_of_members(cell: str) -> bytes:
    return csv_lines([("column",), (cell,)])


def test_texts_are_exported_as_html() -> None:
    post = {"content_html": "&nbsp;- a", "title": "b;- a"}
    file = io.BytesIO()
    write_row(file, [_value(post, "content_html"), _value(post, "title")])
    assert file.getvalue() == b"&nbsp;- a,b;'- a\r\n"


@pytest.mark.parametrize("write", [redirects, site_export, list_of_members])
@pytest.mark.parametrize("cell", [f"{start}cmd" for start in STARTS] + ["'=cmd"])
def test_every_writer_of_csv_uses_the_guard(write: object, cell: str) -> None:
    assert callable(write)
    text = write(cell).decode()
    assert list(csv.reader(io.StringIO(text, newline="")))[1][0] == f"'{cell}"
