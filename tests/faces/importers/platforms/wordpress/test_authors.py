"""The authors of a WordPress export, by the logins that its posts name."""

from __future__ import annotations

from pathlib import Path

from tests.faces.importers.platforms.wordpress.wxr import cdata, item, write

from masthead.faces.importers.platforms.wordpress.authors import NO_ADDRESS
from masthead.faces.importers.platforms.wordpress.source import open_wordpress
from masthead.faces.importers.source import Options, Skipped, SourceAuthor, SourcePost

ASKED = Options(include_authors=True)


def author(login: str, email: str, name: str = "") -> str:
    return (
        f"<wp:author><wp:author_id>7</wp:author_id><wp:author_login>{cdata(login)}</wp:author_login>"
        f"<wp:author_email>{cdata(email)}</wp:author_email>"
        f"<wp:author_display_name>{cdata(name)}</wp:author_display_name></wp:author>"
    )


def creator(login: str) -> str:
    return f"<dc:creator>{cdata(login)}</dc:creator>"


def test_posts_name_the_authors_that_the_export_lists(tmp_path: Path) -> None:
    path = tmp_path / "export.xml"
    people = author("ada", "Ada@Example.com", "Ada &amp; Co") + author("eve", "no address")
    write(path, people, item(raw=creator("ada")), item(post_id=6, raw=creator("stranger")))
    source = open_wordpress(path, ASKED)
    assert list(source.authors()) == [
        SourceAuthor("ada", "ada@example.com", "Ada & Co", slug="ada"),
        Skipped("author", "", NO_ADDRESS),
    ]
    found = [each.authors for each in source.posts() if isinstance(each, SourcePost)]
    assert found == [("ada",), ()]
    assert "authors" not in source.overview.left_out


def test_nobody_is_named_unless_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "export.xml"
    write(path, author("ada", "ada@example.com"), item(raw=creator("ada")))
    source = open_wordpress(path, Options())
    assert list(source.authors()) == []
    (found,) = source.posts()
    assert isinstance(found, SourcePost)
    assert found.authors == ()
    assert source.overview.left_out == {"authors": 1}
