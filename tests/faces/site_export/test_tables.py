"""CSV: whole, and harmless in a spreadsheet."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from tests.faces.site_export.filled import Filled, entries

from masthead.faces.importers.files.csv_rows import CsvTable
from masthead.faces.site_export.tables import write_row


def rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


async def test_members_and_posts_with_all_their_fields(filled: Filled, tmp_path: Path) -> None:
    exported = await filled.export("csv", tmp_path / "site.zip")
    assert (exported.posts, exported.pages, exported.members, exported.media) == (6, 1, 5, 0)
    found = entries(tmp_path / "site.zip")
    assert set(found) == {"members.csv", "posts.csv"}
    members = {row["email"]: row for row in rows(found["members.csv"])}
    assert members["cy@example.com"]["tier"] == "paid"
    assert members["cy@example.com"]["status"] == "past_due"
    assert members["cy@example.com"]["newsletter"] == "true"
    assert members["di@example.com"]["payment_customer_id"] == "cus_2"
    posts = {row["slug"]: row for row in rows(found["posts.csv"])}
    tea, record = posts["tea-toast-for-two"], filled.posts["tea-toast-for-two"]
    assert next(csv.reader([tea.pop("tags")])) == record["tags"]
    assert tea.pop("type") == "post"
    assert (tea.pop("email_only"), tea.pop("tiers")) == ("false", "")
    assert tea == {name: record[name] for name in tea}
    assert posts["about-us"]["type"] == "page"


async def test_a_formula_is_shown_and_not_computed(filled: Filled, tmp_path: Path) -> None:
    await filled.export("csv", tmp_path / "site.zip")
    members = rows(entries(tmp_path / "site.zip")["members.csv"])
    assert "'=sum@example.com" in [row["email"] for row in members]
    assert "'=HYPERLINK(1)" in [row["name"] for row in members]


async def test_no_password_is_in_it(filled: Filled, tmp_path: Path) -> None:
    await filled.tenant.member(email="zed@example.com")
    await filled.export("csv", tmp_path / "site.zip")
    data = entries(tmp_path / "site.zip")["members.csv"]
    assert b"zed@example.com" in data
    assert b"argon2" not in data
    assert b"token" not in data


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=20))
@example("'=1")
@example("''+1")
@example("'a'=2")
def test_what_is_read_again_is_what_was_written(text: str) -> None:
    file = io.BytesIO()
    write_row(file, ["email", "name"])
    write_row(file, ["a@example.com", text])
    (row,) = CsvTable(lambda: io.BytesIO(file.getvalue())).rows()
    assert row["name"] == text
