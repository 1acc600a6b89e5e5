"""Comments of an export: counted, and read with their threads and states where asked for."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.faces.importers.platforms.wordpress.wxr import cdata, item, write

from masthead.faces.importers.convert.plain_texts import MAX_BODY
from masthead.faces.importers.platforms.wordpress.comments import NO_POST
from masthead.faces.importers.platforms.wordpress.source import open_wordpress
from masthead.faces.importers.source import Options, Overview, Skipped, SourceComment

ASKED = Options(include_comments=True, include_pages=True)


def comment(number: int, **fields: str) -> str:
    given = {
        "comment_id": str(number),
        "comment_author": "Ada",
        "comment_author_email": "Ada@Example.com",
        "comment_author_url": "https://ada.example",
        "comment_author_IP": "192.0.2.1",
        "comment_date": "2024-05-02 12:00:00",
        "comment_date_gmt": "2024-05-02 10:00:00",
        "comment_content": f"Words {number}",
        "comment_approved": "1",
        "comment_type": "",
        "comment_parent": "0",
        **fields,
    }
    inside = "".join(f"<wp:{name}>{cdata(value)}</wp:{name}>" for name, value in given.items())
    meta = "<wp:commentmeta><wp:meta_key>x</wp:meta_key></wp:commentmeta>"
    return f"<wp:comment>{inside}{meta}</wp:comment>"


def read(path: Path, options: Options = ASKED) -> tuple[Overview, list[Any]]:
    with closing(open_wordpress(path, options)) as source:
        return source.overview, list(source.comments())


def only(tmp_path: Path, **fields: str) -> Any:
    path = write(tmp_path / "a.xml", item(raw=comment(1, **fields)))
    _, (found,) = read(path)
    return found


def test_a_comment_with_all_that_belongs_to_it(tmp_path: Path) -> None:
    assert only(tmp_path) == SourceComment(
        source_id="1",
        post_key="post:5",
        author_name="Ada",
        author_email="ada@example.com",
        body="Words 1",
        status="approved",
        created="2024-05-02T10:00:00.000Z",
    )


def test_comments_and_authors_are_counted_where_nobody_asked_for_them(tmp_path: Path) -> None:
    author = "<wp:author><wp:author_login>ada</wp:author_login></wp:author>"
    path = tmp_path / "a.xml"
    write(path, author + author, item(raw=comment(1) + comment(2)))
    overview, found = read(path, Options())
    assert (overview.comments, dict(overview.left_out)) == (0, {"authors": 2, "comments": 2})
    assert found == []
    overview, found = read(path)
    assert (overview.comments, dict(overview.left_out)) == (2, {"authors": 2})
    assert len(found) == 2


def test_answers_come_after_what_they_answer(tmp_path: Path) -> None:
    raw = "".join(
        (
            comment(9, comment_parent="4"),
            comment(3, comment_parent="9"),
            comment(4),
            comment(5, comment_parent="77"),
            comment(6, comment_parent="7"),
            comment(7, comment_parent="6"),
            comment(8, comment_parent="8"),
        )
    )
    _, found = read(write(tmp_path / "a.xml", item(raw=raw)))
    places = [each.source_id for each in found]
    assert sorted(places) == ["3", "4", "5", "6", "7", "8", "9"]
    assert places.index("4") < places.index("9") < places.index("3")
    parents = {each.source_id: each.parent_id for each in found}
    assert (parents["3"], parents["9"], parents["4"], parents["8"]) == ("9", "4", "", "")


@pytest.mark.parametrize(
    ("written", "status"),
    [("1", "approved"), ("0", "pending"), ("spam", "spam"), ("hold", "pending"), ("?", "pending")],
)
def test_states(written: str, status: str, tmp_path: Path) -> None:
    assert only(tmp_path, comment_approved=written).status == status


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"comment_approved": "trash"}, "trashed"),
        ({"comment_type": "pingback"}, "pingback, trackback or other automatic comment"),
        ({"comment_content": " <br> "}, "empty"),
        ({"comment_id": ""}, "without an id"),
    ],
)
def test_what_is_left_out_is_told(fields: dict[str, str], reason: str, tmp_path: Path) -> None:
    found = only(tmp_path, **fields)
    assert isinstance(found, Skipped)
    assert (found.what, found.reason) == ("comment", reason)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("one\ntwo &amp; <b>three</b>", "one\ntwo & three"),
        ("<p>one</p><p>two<br />three</p>", "one\n\ntwo\nthree"),
        ('see <a href="https://a.example" onclick="x">this</a> <world>', "see this <world>"),
        ("<script>alert(1)</script>hi", "hi"),
    ],
)
def test_bodies_are_text(html: str, text: str, tmp_path: Path) -> None:
    assert only(tmp_path, comment_content=html).body == text


def test_what_does_not_fit_is_cut_or_left_empty(tmp_path: Path) -> None:
    found = only(
        tmp_path,
        comment_author="",
        comment_author_email="no address",
        comment_content="x" * (MAX_BODY + 1),
        comment_date_gmt="0000-00-00 00:00:00",
    )
    assert (found.author_name, found.author_email) == ("Anonymous", "")
    assert len(found.body) == MAX_BODY
    assert found.warnings == (f"A comment was cut to {MAX_BODY:,} characters.",)
    assert found.created == "2024-05-02T12:00:00.000Z"


def test_comments_under_anything_but_an_imported_post_are_counted(tmp_path: Path) -> None:
    items = (
        item(post_id=1, post_type="page", raw=comment(1)),
        item(post_id=2, status="private", raw=comment(2)),
        item(post_id=3, post_type="attachment", raw=comment(3)),
        item(post_id=4, raw=comment(4)),
        item(post_id=4, link="https://old.example.com/b/", raw=comment(5)),
    )
    _, found = read(write(tmp_path / "a.xml", *items))
    assert [each.reason for each in found[:3]] == [NO_POST] * 3
    assert [each.post_key for each in found[3:]] == [
        "post:4",
        "post:4 https://old.example.com/b/",
    ]
