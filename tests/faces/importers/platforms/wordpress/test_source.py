"""Opening exports of all shapes and packings, and refusing what is none."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest
from tests.faces.importers.platforms.wordpress.wxr import (
    TAIL,
    attachment,
    item,
    only_post,
    read,
    write,
    wxr,
)

from masthead.faces.importers.platforms.wordpress.source import open_wordpress
from masthead.faces.importers.source import BadFile, Options, SourcePost


def titles(path: Path) -> list[str]:
    return [each.title for each in read(path)]


class TestPackings:
    def test_gz(self, tmp_path: Path) -> None:
        (tmp_path / "a.xml.gz").write_bytes(gzip.compress(wxr(item()).encode()))
        assert titles(tmp_path / "a.xml.gz") == ["A title"]

    def test_a_zip_of_parts_shares_its_media(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("site/export.001.xml", wxr(item(title="Second")))
            first = wxr(item(title="First", meta={"_thumbnail_id": "9"}))
            archive.writestr("site/export.000.xml", first)
            media = wxr(attachment(9, "https://old.example.com/hero.jpg"))
            archive.writestr("site/media.xml", media)
            archive.writestr("site/readme.txt", "x")
        found = read(tmp_path / "a.zip")
        assert [each.title for each in found] == ["First", "Second"]
        assert isinstance(found[0], SourcePost)
        assert found[0].featured_image == "https://old.example.com/hero.jpg"

    def test_a_folder_with_uploads_beside(self, tmp_path: Path) -> None:
        uploads = tmp_path / "wp-content" / "uploads" / "2024"
        uploads.mkdir(parents=True)
        (uploads / "a.png").write_bytes(b"png")
        write(tmp_path / "export.xml", item())
        source = open_wordpress(tmp_path, Options())
        assert source.overview.files == {
            "/wp-content/uploads/2024/a.png": "wp-content/uploads/2024/a.png"
        }
        assert source.read_file("wp-content/uploads/2024/a.png") == b"png"
        source.close()

    def test_an_archive_without_an_export(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").touch()
        with pytest.raises(BadFile, match="no WordPress export"):
            open_wordpress(tmp_path, Options())

    def test_one_bad_part_refuses_all(self, tmp_path: Path) -> None:
        write(tmp_path / "a.xml", item())
        (tmp_path / "b.xml").write_text(wxr(item()).replace(TAIL, ""))
        with pytest.raises(BadFile, match="truncated"):
            open_wordpress(tmp_path, Options())


class TestOverview:
    def test_what_it_says(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.xml", item(), item(status="trash"), attachment(9, "https://a/b"))
        source = open_wordpress(path, Options())
        assert source.overview.platform == "wordpress"
        assert source.overview.site_url == "https://old.example.com"
        assert (source.overview.posts, source.overview.members) == (2, 0)
        assert source.overview.files == {}
        assert len(list(source.posts())) == len(list(source.posts())) == 2
        assert list(source.members()) == []
        source.close()

    def test_an_address_is_needed_only_where_the_export_tells_none(self, tmp_path: Path) -> None:
        options = Options(site_url="https://other.example")
        path = write(tmp_path / "a.xml")
        source = open_wordpress(path, options)
        assert source.overview.site_url == "https://old.example.com"
        source.close()
        path.write_text(wxr().replace("https://", "not-told://"))
        source = open_wordpress(path, options)
        assert source.overview.site_url == "https://other.example"
        source.close()

    def test_skip_posts(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.xml", item())
        source = open_wordpress(path, Options(skip_posts=True))
        assert (source.overview.posts, list(source.posts())) == (0, [])
        source.close()


def test_blocks_that_are_kept_once_stand_where_posts_name_them(tmp_path: Path) -> None:
    reference = '<!-- wp:block {"ref":4242} /-->'
    block = "<!-- wp:paragraph --><p>Kept once</p><!-- /wp:paragraph -->" + reference
    path = write(
        tmp_path / "a.xml",
        item(f'{reference}<!-- wp:block {{"ref":1}} /-->'),
        item(block, post_id=4242, post_type="wp_block"),
    )
    post = read(path)[0]
    assert isinstance(post, SourcePost)
    assert post.html == "<p>Kept once</p>"
    assert post.warnings == ("left out blocks without content: block",)


class TestXml:
    @pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
    def test_versions(self, tmp_path: Path, version: str) -> None:
        path = tmp_path / "a.xml"
        path.write_text(wxr(item(excerpt="Short"), version=version))
        (post,) = read(path)
        assert isinstance(post, SourcePost)
        assert (post.html, post.excerpt) == ("<p>Text</p>", "Short")

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("http://wordpress.org/export/1.2/", "https://wordpress.org/export/1.2/"),
            ("wp:", "wordpress:"),
            ('\txmlns:wp="http://wordpress.org/export/1.2/"', ""),
            ("<item>", "<item xmlns:wp='http://elsewhere.example/'>"),
            ("<item>", "<item><atom:link href='x'/><media:title xmlns:media='m'>No</media:title>"),
            ("<item>", "<item xmlns:alt='http://wordpress.org/export/1.2/'>"),
            ("</item>", "<wp:post_id>6</wp:post_id></item>"),
            (
                "</item>",
                "<wp:comment><wp:post_id>7</wp:post_id><title>No</title></wp:comment></item>",
            ),
        ],
    )
    def test_namespaces_are_read_by_their_meaning(
        self, tmp_path: Path, before: str, after: str
    ) -> None:
        path = tmp_path / "a.xml"
        path.write_text(wxr(item(excerpt="Short")).replace(before, after))
        (post,) = read(path)
        assert isinstance(post, SourcePost)
        assert (post.source_id, post.title, post.excerpt) == ("5", "A title", "Short")

    def test_texts_in_several_pieces_and_with_elements_inside(self, tmp_path: Path) -> None:
        raw = (
            "<content:encoded>&lt;p&gt;a <![CDATA[b]]]]><![CDATA[> c</p>]]>"
            "<xi:include xmlns:xi='x' href='file:///etc/passwd'>no</xi:include></content:encoded>"
        )
        text = item(raw=raw).replace(
            "<content:encoded><![CDATA[<p>Text</p>]]></content:encoded>", ""
        )
        assert only_post(tmp_path, text).html == "<p>a b]]> c</p>"

    def test_letters_of_a_second_encoding_are_said_once(self, tmp_path: Path) -> None:
        path = tmp_path / "a.xml"
        text = wxr(item(title="Déjà"), item(title="Été")).encode("latin-1")
        path.write_bytes(text)
        first, second = read(path)
        assert (first.title, second.title) == ("Déjà", "Été")
        assert isinstance(first, SourcePost)
        assert isinstance(second, SourcePost)
        assert len(first.warnings) == 1
        assert second.warnings == ()

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "iso-8859-1"])
    def test_encodings(self, tmp_path: Path, encoding: str) -> None:
        path = tmp_path / "a.xml"
        declared = encoding.removesuffix("-sig").upper()
        path.write_bytes(wxr(item(title="Déjà")).replace("UTF-8", declared).encode(encoding))
        assert titles(path) == ["Déjà"]


def without_version(text: str) -> str:
    return text.replace("<wp:wxr_version>1.2</wp:wxr_version>", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("<html></html>", "not a WordPress export"),
        (without_version(wxr(item())), "not a WordPress export"),
        (wxr(item(), version="abc"), "version"),
        (wxr(item(), version="2.0"), "version"),
        (wxr(item()).replace(TAIL, ""), "truncated"),
        (wxr(item())[:900], "truncated"),
        (wxr(item()).replace("</item>", "</itme>"), "not well-formed at line 28"),
        (wxr(item()).replace("<item>", "<item <b>>"), "not well-formed"),
        (wxr("<a>" * 100 + "</a>" * 100), "nested deeper"),
        (wxr("<a " + " ".join(f"a{n}=''" for n in range(100)) + "/>"), "more attributes"),
        (wxr("".join(f"<a{n}/>" for n in range(3000))), "more kinds of elements"),
        (wxr("".join(f"<a a{n}=''/>" for n in range(3000))), "more kinds of elements"),
        ("<!DOCTYPE rss [<!ENTITY a 'b'>]>" + wxr(item()), "DOCTYPE"),
        (wxr(item()).replace("<channel>", "<!DOCTYPE rss><channel>"), "not well-formed"),
    ],
)
def test_refused_before_anything_is_read(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(BadFile, match=message):
        open_wordpress(tmp_path / "a.xml", Options())
