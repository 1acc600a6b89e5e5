"""Comments of an export of Ghost's whole database."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

from masthead.faces.importers.platforms.ghost.reader import open_ghost
from masthead.faces.importers.source import Options, Skipped, SourceComment

AT = "2024-05-04T03:02:01.000Z"


def written(path: Path, *comments: dict[str, Any]) -> Path:
    rows = [{"post_id": "p1", "status": "published", "created_at": AT, **each} for each in comments]
    members = [
        {"id": "m1", "name": "Ana", "email": "ana@example.com"},
        {"id": "m2", "name": "", "email": "bo@example.com"},
        {"id": "m3", "name": "Silent", "email": "cy@example.com"},
    ]
    data = {"comments": rows, "posts": [{"id": "p1", "title": "x"}], "members": members}
    path.write_text(json.dumps({"data": data}))
    return path


def read(path: Path, **options: bool) -> list[SourceComment | Skipped]:
    with closing(open_ghost(path, Options(**options))) as source:
        return list(source.comments())


def test_they_have_their_writers_their_states_and_their_threads(tmp_path: Path) -> None:
    path = written(
        tmp_path / "ghost.json",
        {"id": "c3", "member_id": "m1", "parent_id": "c1", "in_reply_to_id": "c2", "html": "3"},
        {"id": "c2", "member_id": "m2", "parent_id": "c1", "html": "<p>2</p>", "status": "hidden"},
        {"id": "c1", "member_id": "m1", "html": "<p>One &amp; <b>two</b></p><p>Three</p>"},
        {"id": "c4", "member_id": "m1", "html": "<p>Gone</p>", "status": "deleted"},
        {"id": "c5", "member_id": "m1", "html": ""},
    )
    found = read(path, include_comments=True)
    comments = [each for each in found if isinstance(each, SourceComment)]
    assert [each.source_id for each in comments] == ["c1", "c2", "c3"]
    first, second, third = comments
    assert (first.author_name, first.author_email) == ("Ana", "ana@example.com")
    assert (first.body, first.status, first.created) == ("One & two\n\nThree", "approved", AT)
    assert (second.author_name, second.status, second.parent_id) == ("Anonymous", "pending", "c1")
    assert third.parent_id == "c2"
    assert {each.reason for each in found if isinstance(each, Skipped)} == {"trashed", "empty"}


def test_a_circle_of_answers_is_broken(tmp_path: Path) -> None:
    path = written(
        tmp_path / "ghost.json",
        {"id": "c1", "parent_id": "c2", "html": "1"},
        {"id": "c2", "parent_id": "c1", "html": "2"},
    )
    assert len(read(path, include_comments=True)) == 2


def test_they_are_counted_where_they_are_not_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path / "ghost.json", {"id": "c1", "html": "1"})
    assert read(path) == []
    with closing(open_ghost(path, Options())) as source:
        assert source.overview.left_out["comments"] == 1
