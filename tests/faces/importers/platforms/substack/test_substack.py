"""Substack exports, from the file to posts, pages and subscribers."""

from __future__ import annotations

import gzip
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from masthead.faces.importers.platforms.substack.posts import (
    HAS_PAYWALL,
    RECORDING,
    SCHEDULED,
    UNDATED,
)
from masthead.faces.importers.platforms.substack.reader import (
    MAX_HTML,
    NO_HTML,
    NO_ROW,
    open_substack,
)
from masthead.faces.importers.source import (
    PAYWALL,
    BadFile,
    Options,
    Skipped,
    SourceMember,
    SourcePost,
)

HEADER = "post_id,post_date,is_published,email_sent_at,type,audience,title,subtitle,podcast_url\n"
LISTED = "email,active_subscription,expiry,plan,email_disabled,created_at,first_payment_at\n"
DATE = "2023-01-05T14:00:12.345Z"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "posts").mkdir()
    (tmp_path / "posts.csv").write_text(HEADER)
    return tmp_path


def add(folder: Path, line: str, html: str | None = "<p>Text.</p>") -> None:
    with (folder / "posts.csv").open("a") as table:
        table.write(line + "\n")
    if html is not None:
        (folder / f"posts/{line.split(',')[0]}.html").write_text(html)


def posts(path: Path, **options: Any) -> list[Any]:
    with closing(open_substack(path, Options(**options))) as source:
        return list(source.posts())


def members(path: Path) -> list[Any]:
    with closing(open_substack(path, Options())) as source:
        return list(source.members())


def test_a_post(folder: Path) -> None:
    line = f'12.hello,{DATE},true,,newsletter,everyone,"Caf&#233; &amp;\ntea","Sub, title",'
    add(folder, line)
    assert posts(folder) == [
        SourcePost(
            source_id="12",
            kind="post",
            title="Café & tea",
            slug="hello",
            html="<p>Text.</p>",
            excerpt="Sub, title",
            status="published",
            visibility="public",
            published_at=DATE,
            old_path="/p/hello",
        )
    ]


@pytest.mark.parametrize(
    ("audience", "visibility"),
    [
        ("everyone", "public"),
        ("only_free", "members"),
        ("only_paid", "paid"),
        ("founding", "paid"),
        ("unheard_of", "paid"),
        ("", "public"),
    ],
)
def test_audiences(audience: str, visibility: str, folder: Path) -> None:
    add(folder, f"1.a,{DATE},TRUE,,newsletter,{audience},A,,")
    (post,) = posts(folder)
    assert post.visibility == visibility


@pytest.mark.parametrize("audience", ["everyone", "only_free", "only_paid"])
def test_a_paywall_in_a_text_is_told_and_makes_the_post_paid(audience: str, folder: Path) -> None:
    html = '<p>Teaser.</p><div class="paywall-jump"></div><p>Paid part.</p>'
    add(folder, f"1.a,{DATE},TRUE,,newsletter,{audience},A,,", html)
    (post,) = posts(folder)
    assert post.html == f"<p>Teaser.</p>{PAYWALL}<p>Paid part.</p>"
    assert (post.visibility, post.warnings) == ("paid", (HAS_PAYWALL,))


def test_drafts_have_no_date_and_maybe_no_address(folder: Path) -> None:
    add(folder, "1,,false,,newsletter,everyone,,,")
    add(folder, f"2.b,{DATE},false,,newsletter,everyone,B,,")
    add(folder, "3.c,2999-01-01T00:00:00.000Z,false,,newsletter,everyone,C,,")
    add(folder, "4.d,,true,,newsletter,everyone,D,,")
    bare, dated, scheduled, undated = posts(folder)
    assert (bare.title, bare.slug, bare.old_path) == ("Untitled", "", "")
    assert [each.status for each in (bare, dated, scheduled)] == ["draft"] * 3
    assert dated.published_at == ""
    assert scheduled.warnings == (SCHEDULED,)
    assert (undated.published_at, undated.warnings) == ("", (UNDATED,))


def test_an_episode_begins_with_its_recording_and_may_have_no_text(folder: Path) -> None:
    address = "https://x.example/1.mp3?a=1&b=2"
    add(folder, f"1.a,{DATE},true,,podcast,everyone,A,,{address}")
    add(folder, f"2.b,{DATE},true,,podcast,everyone,B,,{address}", None)
    add(folder, f"3.c,{DATE},true,,podcast,everyone,C,,javascript:alert(1)")
    player = '<figure><audio controls src="https://x.example/1.mp3?a=1&amp;b=2"></audio></figure>'
    with_text, without, odd = posts(folder)
    assert with_text.html == f"{player}<p>Text.</p>"
    assert with_text.warnings == (RECORDING,)
    assert without.html == player
    assert odd.html == "<p>Text.</p>"


def test_what_is_left_out_is_counted_with_the_reason(folder: Path) -> None:
    add(folder, f"1.a,{DATE},true,,page,everyone,Page,,")
    add(folder, f"2.b,{DATE},true,,restack,everyone,Restack,,")
    add(folder, f"3.c,{DATE},true,,newsletter,everyone,Lost,,", None)
    add(folder, f"4.d,{DATE},true,,thread,everyone,Thread,,")
    add(folder, f"4.d,{DATE},true,,thread,everyone,Again,,")
    add(folder, ",,,,,,,,", None)
    (folder / "posts/99.orphan.html").write_text("<p>x</p>")
    page, restack, lost, thread, again, orphan = posts(folder)
    assert page == Skipped("page", "1", "page", "Page")
    assert restack == Skipped("post", "2", "unknown type", "Restack")
    assert lost == Skipped("post", "3", NO_HTML, "Lost")
    assert thread.kind == "post"
    assert again == Skipped("post", "4", "same id as an earlier row", "Again")
    assert orphan == Skipped("post", "99.orphan", NO_ROW)
    (page, *_) = posts(folder, include_pages=True)
    assert (page.kind, page.old_path) == ("page", "/p/a")


def test_a_text_beyond_all_measure_is_left_out(folder: Path) -> None:
    add(folder, f"1.a,{DATE},true,,newsletter,everyone,A,,", "x" * (MAX_HTML + 1))
    assert posts(folder) == [Skipped("post", "1", "HTML file too large", "A")]


def test_an_archive_in_other_case_and_encoding(folder: Path, tmp_path: Path) -> None:
    add(folder, f"1.hello,{DATE},true,,newsletter,everyone,René,,")
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("top/Posts.CSV", (folder / "posts.csv").read_text().encode("latin-1"))
        archive.writestr("top/POSTS/1.HELLO.HTML", "<p>Z\xeb</p>".encode("latin-1"))
        archive.writestr("__MACOSX/top/._Posts.CSV", b"junk")
    (post,) = posts(path)
    assert (post.title, post.html) == ("René", "<p>Zë</p>")


def test_the_list_of_posts_takes_the_folder_beside_it(folder: Path) -> None:
    add(folder, f"1.a,{DATE},true,,newsletter,everyone,A,,")
    (folder / "email_list.csv").write_text(LISTED + "a@example.com,,,other,,,\n")
    packed = folder / "posts.csv.gz"
    packed.write_bytes(gzip.compress((folder / "posts.csv").read_bytes()))
    for path in (folder / "posts.csv", packed):
        with closing(open_substack(path, Options())) as source:
            assert [each.source_id for each in source.posts()] == ["1"]
            assert list(source.members()) == []


def test_the_list_of_posts_alone_has_no_texts(tmp_path: Path) -> None:
    (tmp_path / "posts.csv").write_text(HEADER + f"1.a,{DATE},true,,newsletter,everyone,A,,\n")
    assert posts(tmp_path / "posts.csv") == [Skipped("post", "1", NO_HTML, "A")]


def member(email: str, **given: Any) -> SourceMember:
    return SourceMember(email, **given)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (
            "email,active_subscription,expiry,email_disabled,prefer_digests,created_at\n"
            f"a@example.com,,,false,false,{DATE}\n"
            "b@example.com,true,2021-01-01T00:00:00.000Z,true,false,\n",
            [
                member("a@example.com", created=DATE),
                member("b@example.com", tier="paid", newsletter=False),
            ],
        ),
        (
            LISTED + "a@example.com,false,,other,false,,\n"
            "b@example.com,TRUE,,comp,0,,\n"
            "c@example.com,false,2024-01-01T00:00:00.000Z,yearly,,,2023-01-01\n"
            "d@example.com,perhaps,,other,perhaps,,\n",
            [
                member("a@example.com"),
                member("b@example.com", tier="paid"),
                member("c@example.com"),
                member("d@example.com", newsletter=False),
            ],
        ),
        (
            "email,expiry,email_disabled,prefer_digests,stripe_connected_customer_id,type\n"
            "a@example.com,,false,false,cus_1,paid\n"
            "b@example.com,,,,,gift\n"
            "c@example.com,,,,,ios_app\n"
            "d@example.com,,,,,\n",
            [
                member("a@example.com", tier="paid", payment_customer_id="cus_1"),
                member("b@example.com", tier="paid"),
                member("c@example.com", tier="paid"),
                member("d@example.com"),
            ],
        ),
        (
            "Email,Name,Stripe plan,Start date,Type,Subscription type\n"
            f"a@example.com,Ann,,{DATE},Author,Free\n"
            'b@example.com,Bo,$5/month,"Jan 5, 2023",Subscriber,Monthly\n'
            "c@example.com,,,,Subscriber,Founding Member\n",
            [
                member("a@example.com", name="Ann", created=DATE),
                member("b@example.com", name="Bo", tier="paid", created="2023-01-05T00:00:00.000Z"),
                member("c@example.com", tier="paid"),
            ],
        ),
        (
            "email,name,tier,status,newsletter,payment_customer_id,created,id\n"
            f"'+a@example.com,'=A,paid,active,true,cus_1,{DATE},x\n"
            "b@example.com,B,free,active,false,,,y\n",
            [
                member(
                    "+a@example.com",
                    name="=A",
                    tier="paid",
                    payment_customer_id="cus_1",
                    created=DATE,
                ),
                member("b@example.com", name="B", newsletter=False),
            ],
        ),
        (
            LISTED + "nobody,,,,,,\n1.2@deletion-request.substack.com,false,,other,true,,\n",
            [
                Skipped("member", "row 1", "invalid email address", "nobody"),
                Skipped("member", "row 2", "erased at the source"),
            ],
        ),
    ],
)
def test_lists_of_subscribers(content: str, found: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text(content)
    assert members(path) == found
    packed = tmp_path / "list.csv.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    assert members(packed) == found


def test_two_lists_of_one_publication_are_joined(folder: Path) -> None:
    (folder / "email_list.csv").write_text(
        LISTED + f"a@example.com,true,,monthly,false,{DATE},\nb@example.com,,,other,false,,\n"
    )
    (folder / "paid.csv").write_text(
        "email,expiry,email_disabled,prefer_digests,stripe_connected_customer_id,type\n"
        "a@example.com,,false,false,cus_1,paid\n"
    )
    (folder / "posts/1.opens.csv").write_text("post_id,timestamp,email\n1,,c@example.com\n")
    (folder / "posts/1.delivers.csv").write_text("email\nd@example.com\n")
    assert members(folder) == [
        member("a@example.com", tier="paid", payment_customer_id="cus_1", created=DATE),
        member("b@example.com"),
        Skipped("member", "a@example.com", "same email address as an earlier row"),
    ]


def test_what_was_not_asked_for_is_not_given(folder: Path) -> None:
    add(folder, f"1.a,{DATE},true,,newsletter,everyone,A,,")
    (folder / "email_list.csv").write_text(LISTED + "a@example.com,,,other,,,\n")
    with closing(open_substack(folder, Options(skip_posts=True))) as source:
        assert (source.overview.posts, list(source.posts())) == (0, [])
        assert source.overview.members == 1
    with closing(open_substack(folder, Options(skip_members=True))) as source:
        assert (source.overview.members, list(source.members())) == (0, [])
        assert source.overview.posts == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("list.csv", ""),
        ("list.csv", "name,plan\nAnn,other\n"),
        ("list.csv", "a@example.com,false\n"),
        ("list.csv", 'email\n"a@example.com\n'),
        ("posts.csv", HEADER + '1.a,,true,,newsletter,everyone,"A,,\n'),
        ("export.zip", "text"),
    ],
)
def test_other_files_are_refused(name: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(BadFile):
        open_substack(path, Options())


def test_damage_in_a_text_is_known_before_anything_is_read(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("posts.csv", HEADER + f"1.a,{DATE},true,,newsletter,everyone,A,,\n")
        archive.writestr("posts/1.a.html", "<p>Text.</p>")
    path.write_bytes(path.read_bytes().replace(b"<p>Text", b"<p>text", 1))
    with pytest.raises(BadFile):
        open_substack(path, Options())


def test_two_exports_in_one_folder_are_refused(folder: Path) -> None:
    (folder / "older").mkdir()
    (folder / "older/posts.csv").write_text(HEADER)
    with pytest.raises(BadFile, match="2 exports"):
        open_substack(folder, Options())
