"""`masthead import`: its flags, its output, the files it writes, and a run that is killed."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.faces.importers.write.exports import end_state, rows_of
from tests.service.cli.commands import Masthead, plain_environment

from masthead.service.services import Services

WXR = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:excerpt="http://wordpress.org/export/1.2/excerpt/"
 xmlns:content="http://purl.org/rss/1.0/modules/content/"
 xmlns:wp="http://wordpress.org/export/1.2/">
<channel><title>Old</title><link>http://old.example</link><wp:wxr_version>1.2</wp:wxr_version>
<wp:base_site_url>http://old.example</wp:base_site_url>
<wp:base_blog_url>http://old.example</wp:base_blog_url>{items}</channel></rss>
"""
ITEM = """<item><title>{title}</title><link>http://old.example/2020/01/{slug}/</link>
<content:encoded><![CDATA[{html}]]></content:encoded><excerpt:encoded></excerpt:encoded>
<wp:post_id>{number}</wp:post_id><wp:post_date_gmt>2020-01-02 03:04:05</wp:post_date_gmt>
<wp:post_name>{slug}</wp:post_name><wp:status>publish</wp:status>
<wp:post_type>{kind}</wp:post_type></item>
"""


def item(number: int, html: str = "Hello", kind: str = "post") -> str:
    title, slug = f"Post {number}", f"post-{number}"
    return ITEM.format(number=number, title=title, slug=slug, html=html, kind=kind)


def ghost_export(posts: int, members: int = 0) -> str:
    data = {
        "posts": [
            {
                "id": f"{number:024x}",
                "title": f"Post {number % 7}",
                "slug": f"post-{number}",
                "html": f"<h2>Part</h2><p>Text <b>{number}</b></p>" * 5,
                "type": "post",
                "status": "published",
                "published_at": "2020-01-02T03:04:05.000Z",
            }
            for number in range(posts)
        ],
        "members": [
            {"id": f"m{number}", "email": f"reader{number}@example.com", "status": "free"}
            for number in range(members)
        ],
    }
    return json.dumps({"db": [{"meta": {"version": "5.0.0"}, "data": data}]})


@pytest.fixture(autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the command."""
    folder = tmp_path_factory.mktemp("called-in")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def wxr(folder: Path, tmp_path: Path) -> Path:
    path = tmp_path / "export.xml"
    path.write_text(WXR.format(items=item(1) + item(2) + item(3, kind="page")))
    return path


def count(masthead: Masthead, tenant_id: str, table: str) -> int:
    async def look(parts: Services) -> int:
        return len(await rows_of(parts, tenant_id, table))

    return int(masthead.inside(look))


def test_a_dry_run_writes_the_report_that_was_asked_for(
    masthead: Masthead, wxr: Path, folder: Path
) -> None:
    tenant = masthead.tenant()
    given = ("import", "wordpress", "--file", str(wxr), "--tenant-id", tenant["tenant_id"])
    dry = masthead.json(*given, "--dry-run", "--report", "preview.json")
    preview = json.loads(Path("preview.json").read_text())
    assert [path.name for path in folder.iterdir()] == ["preview.json"]
    assert count(masthead, tenant["tenant_id"], "posts") == 0
    assert {name: preview[name] for name in dry} == dry
    assert preview["skipped"]["posts"] == {"page": 1}
    masthead.json(*given, "--report", "done.json")
    done = json.loads(Path("done.json").read_text())
    assert done["posts"] == preview["posts"]


def test_the_report_names_each_item_that_was_skipped(
    masthead: Masthead, tmp_path: Path, folder: Path
) -> None:
    tenant = masthead.tenant()
    data = json.loads(ghost_export(1, 1))
    tables = data["db"][0]["data"]
    tables["posts"].append({**tables["posts"][0], "id": "p2", "title": "About", "type": "page"})
    tables["members"] += [{"id": "m2", "email": "no address"}]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(data))
    given = ("import", "ghost", "--file", str(path), "--tenant", "acme", "--report", "report.json")
    masthead.json(*given)

    report = json.loads(Path("report.json").read_text())

    assert report["skipped_list"] == [
        {"kind": "page", "source_id": "p2", "title": "About", "reason": "page"},
        {
            "kind": "member",
            "source_id": "row 2",
            "title": "no address",
            "reason": "invalid email address",
        },
    ]
    # It names people.
    assert Path("report.json").stat().st_mode & 0o077 == 0

    masthead.json(*given)
    again = json.loads(Path("report.json").read_text())["skipped_list"]
    assert {(each["source_id"], each["reason"]) for each in again} >= {
        ("reader0@example.com", "unchanged since the last import"),
    }

    async def stored(parts: Services) -> str:
        return json.dumps(
            [row["report"] for row in await rows_of(parts, tenant["tenant_id"], "import_runs")]
        )

    assert "reader0@" not in masthead.inside(stored)


COMMENT = """<wp:comment><wp:comment_id>{number}</wp:comment_id>
<wp:comment_author>Ada</wp:comment_author><wp:comment_content>Words</wp:comment_content>
<wp:comment_approved>1</wp:comment_approved><wp:comment_parent>{parent}</wp:comment_parent>
</wp:comment></item>"""


def test_comments_are_counted_and_come_over_when_asked_for(
    masthead: Masthead, tmp_path: Path
) -> None:
    tenant = masthead.tenant()
    commented = (
        item(number).replace("</item>", COMMENT.format(number=number, parent=0))
        for number in (1, 2)
    )
    path = tmp_path / "comments.xml"
    path.write_text(WXR.format(items="".join(commented)))
    given = ("import", "wordpress", "--file", str(path), "--tenant-id", tenant["tenant_id"])
    first = masthead.json(*given, "--report", "report.json")
    assert first["comments"] == {"imported": 0, "skipped": 2, "failed": 0, "updated": 0}
    report = json.loads(Path("report.json").read_text())
    assert report["skipped"]["comments"] == {"not asked for (--include-comments)": 2}
    assert count(masthead, tenant["tenant_id"], "comments") == 0
    second = masthead.json(*given, "--include-comments")
    assert second["comments"]["imported"] == 2
    assert count(masthead, tenant["tenant_id"], "comments") == 2


AUTHOR = """<wp:author><wp:author_login>ada</wp:author_login>
<wp:author_email>ada@example.com</wp:author_email>
<wp:author_display_name>Ada</wp:author_display_name></wp:author>"""


def test_authors_are_counted_and_come_over_when_asked_for(
    masthead: Masthead, tmp_path: Path
) -> None:
    tenant = masthead.tenant()
    path = tmp_path / "authors.xml"
    path.write_text(WXR.format(items=AUTHOR + item(1)))
    given = ("import", "wordpress", "--file", str(path), "--tenant-id", tenant["tenant_id"])
    first = masthead.json(*given, "--report", "report.json")
    assert first["authors"] == {"imported": 0, "skipped": 1, "failed": 0, "updated": 0}
    report = json.loads(Path("report.json").read_text())
    assert report["skipped"]["authors"] == {"not asked for (--include-authors)": 1}
    assert count(masthead, tenant["tenant_id"], "_superusers") == 1
    second = masthead.json(*given, "--include-authors")
    assert second["authors"] == {"imported": 1, "skipped": 0, "failed": 0, "updated": 0}
    assert count(masthead, tenant["tenant_id"], "_superusers") == 2


def test_the_summary_has_the_documented_shape(masthead: Masthead, wxr: Path, folder: Path) -> None:
    tenant = masthead.tenant()
    given = ("import", "wordpress", "--file", str(wxr), "--tenant-id", tenant["tenant_id"])
    dry = masthead.json(*given, "--dry-run")
    assert list(folder.iterdir()) == []
    assert count(masthead, tenant["tenant_id"], "import_runs") == 0
    first = masthead.json(*given)
    listed = first.pop("redirects")
    assert first == {
        "posts": {"imported": 2, "skipped": 1, "failed": 0, "updated": 0},
        "members": {"imported": 0, "skipped": 0, "failed": 0, "updated": 0},
        "images": {"copied": 0, "failed": 0},
        "errors": None,
        "dry_run": False,
    }
    assert dry == first | {"redirects": None, "dry_run": True}
    assert [path.name for path in folder.iterdir()] == [listed]
    assert listed.startswith("redirects-")
    header, *lines = csv.reader(io.StringIO(Path(listed).read_text()))
    assert header == ["source", "destination", "status_code"]
    assert [line for line in lines if "/posts/" in line[1]] == [
        ["/2020/01/post-1/", "/posts/post-1", "301"],
        ["/?p=1", "/posts/post-1", "301"],
        ["/2020/01/post-2/", "/posts/post-2", "301"],
        ["/?p=2", "/posts/post-2", "301"],
    ]
    assert ["/feed/", "/feed.xml", "301"] in lines
    second = masthead.json(*given, "--output-redirects", "here.csv", "--report", "report.json")
    assert second["posts"] == {"imported": 0, "skipped": 3, "failed": 0, "updated": 0}
    assert Path("here.csv").read_text() == Path(listed).read_text()
    report = json.loads(Path("report.json").read_text())
    assert report["skipped"]["posts"] == {"page": 1, "unchanged since the last import": 2}
    assert len(report["redirect_list"]) == sum(report["redirect_kinds"].values()) == len(lines)
    assert report["redirect_list"][0]["source"] == "/2020/01/post-1/"


def test_without_json_the_summary_is_a_table(masthead: Masthead, wxr: Path) -> None:
    masthead.tenant("acme")
    outcome = masthead(
        "import", "wordpress", "--file", str(wxr), "--tenant-id", "acme", "--include-pages"
    )
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[1].split() == ["posts", "3", "0", "0", "0"]
    assert lines[-1].startswith("redirects: redirects-")


@pytest.mark.parametrize(
    ("platform", "content"),
    [
        ("wordpress", "<rss/>"),
        ("wordpress", WXR.format(items=item(1) * 3)[:-40]),
        ("wordpress", '<!DOCTYPE x [<!ENTITY a "b">]>' + WXR.format(items=item(1))),
        ("ghost", "[]"),
        ("ghost", ghost_export(3)[:-20]),
        ("substack", "no list"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence_and_writes_nothing(
    masthead: Masthead, tmp_path: Path, folder: Path, platform: str, content: str
) -> None:
    tenant = masthead.tenant()
    path = tmp_path / "export"
    path.write_text(content)
    outcome = masthead("import", platform, "--file", str(path), "--tenant-id", "acme")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("masthead: ")
    assert outcome.err.count("\n") == 1
    assert list(folder.iterdir()) == []
    for table in ("posts", "import_runs", "import_items"):
        assert count(masthead, tenant["tenant_id"], table) == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("ghost", "--file", "there-is-none", "--tenant-id", "acme"), 1),
        (("ghost", "--file", "EXPORT", "--tenant-id", "nobody"), 1),
        (("ghost", "--file", "EXPORT", "--tenant-id", "acme", "--report", "no/such/x"), 1),
        (("ghost", "--file", "EXPORT", "--tenant-id", "acme", "--batch-size", "0"), 2),
        (("ghost", "--file", "EXPORT", "--tenant-id", "acme", "--images-only"), 2),
        (("ghost", "--file", "EXPORT", "--tenant-id", "acme", "--site-url", "old.example"), 2),
        (("ghost", "--file", "EXPORT"), 2),
        (
            ("ghost", "--file", "EXPORT", "--tenant-id", "acme", "--skip-posts", "--skip-members"),
            2,
        ),
        (("wordpress", "--file", "EXPORT", "--tenant-id", "acme", "--skip-members"), 2),
        (("medium", "--file", "EXPORT", "--tenant-id", "acme"), 2),
    ],
)
def test_wrong_calls(
    masthead: Masthead, tmp_path: Path, arguments: tuple[str, ...], code: int
) -> None:
    masthead.tenant("acme")
    (tmp_path / "export.json").write_text(ghost_export(1))
    given = [str(tmp_path / "export.json") if each == "EXPORT" else each for each in arguments]
    outcome = masthead("import", *given)
    assert outcome.code == code
    assert "Traceback" not in outcome.err


def test_only_members_or_only_posts(masthead: Masthead, tmp_path: Path) -> None:
    tenant = masthead.tenant("acme")
    path = tmp_path / "export.json"
    path.write_text(ghost_export(2, 3))
    given = ("import", "ghost", "--file", str(path), "--tenant-id", "acme")
    members = masthead.json(*given, "--skip-posts")
    assert (members["posts"]["imported"], members["members"]["imported"]) == (0, 3)
    assert members["redirects"] is None
    posts = masthead.json(*given, "--skip-members", "--batch-size", "1")
    assert (posts["posts"]["imported"], posts["members"]["skipped"]) == (2, 0)
    assert count(masthead, tenant["tenant_id"], "posts") == 2


def test_how_members_agreed_is_kept(masthead: Masthead, tmp_path: Path) -> None:
    tenant = masthead.tenant("acme")
    path = tmp_path / "export.json"
    path.write_text(ghost_export(0, 2))
    given = ("import", "ghost", "--file", str(path), "--tenant-id", "acme")
    masthead.json(*given, "--consent", "the old site's form")

    async def sources(parts: Services) -> set[str]:
        found = await rows_of(parts, tenant["tenant_id"], "blog_members")
        return {row["consent_source"] for row in found if row["newsletter"]}

    assert masthead.inside(sources) == {"import: the old site's form"}


class OldSite:
    """The old site's web server, which may answer 404."""

    def __init__(self) -> None:
        buffer = io.BytesIO()
        Image.new("RGB", (2, 2), "red").save(buffer, "PNG")
        self.picture = buffer.getvalue()
        self.is_away = True
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(404 if site.is_away else 200)
                body = b"" if site.is_away else site.picture
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Not into the test's output."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def old_site() -> Iterator[OldSite]:
    site = OldSite()
    thread = threading.Thread(target=site.server.serve_forever)
    thread.start()
    try:
        yield site
    finally:
        site.server.shutdown()
        thread.join()
        site.server.server_close()


def test_pictures_that_failed_are_repaired_later(
    masthead: Masthead, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MASTHEAD_OUTBOUND_ALLOW", "127.0.0.0/8")
    tenant = masthead.tenant("acme")

    async def texts(parts: Services) -> list[str]:
        found = await rows_of(parts, tenant["tenant_id"], "posts")
        return sorted(row["content_html"] for row in found)

    with old_site() as site:
        path = tmp_path / "export.xml"
        picture = f'<p><img src="{site.url}/wp-content/uploads/a.png" alt=""></p>'
        path.write_text(WXR.format(items=item(1, picture) + item(2, "<p>No picture</p>")))
        given = ("import", "wordpress", "--file", str(path), "--tenant-id", "acme")
        first = masthead.json(*given)
        assert first["images"] == {"copied": 0, "failed": 1}
        assert first["errors"] == "import-errors.json"
        (error,) = json.loads(Path("import-errors.json").read_text())
        assert (error["kind"], error["source_id"]) == ("image", "1")
        assert error["url"] == f"{site.url}/wp-content/uploads/a.png"
        assert any(site.url in text for text in masthead.inside(texts))

        repair = (*given, "--images-only", "--retry-errors", "import-errors.json")
        assert masthead.json(*repair)["images"] == {"copied": 0, "failed": 1}
        site.is_away = False
        dry = masthead.json(*repair, "--dry-run")
        assert dry["images"] == {"copied": 0, "failed": 0, "to_fetch": 1}
        second = masthead.json(*repair)
        assert second["images"] == {"copied": 1, "failed": 0}
        assert second["posts"]["updated"] == 1
        assert not any(site.url in text for text in masthead.inside(texts))
        assert any('="/media/' in text for text in masthead.inside(texts))
        again = masthead.json(*given, "--images-only")
        assert again["images"] == {"copied": 0, "failed": 0}
        # The repair does not count as an edit: the next import still updates the post.
        path.write_text(WXR.format(items=item(1, picture + "<p>More</p>") + item(2, "<p>No</p>")))
        assert masthead.json(*given)["posts"]["updated"] == 2
        assert any("More" in text for text in masthead.inside(texts))


def test_a_file_that_is_no_list_of_errors(masthead: Masthead, wxr: Path) -> None:
    masthead.tenant("acme")
    outcome = masthead(
        "import", "wordpress", "--file", str(wxr), "--tenant-id", "acme", "--retry-errors", str(wxr)
    )
    assert outcome.code == 1
    assert "is not an import-errors.json" in outcome.err


POSTS, MEMBERS = 1_200, 300


def children_of(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


def is_alive(pid: int) -> bool:
    """Neither ended nor a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.sweep
def test_a_killed_import_started_again_ends_as_a_clean_one(
    masthead: Masthead, tmp_path: Path
) -> None:
    killed, clean = masthead.tenant("killed"), masthead.tenant("clean")
    path = tmp_path / "export.json"
    path.write_text(ghost_export(POSTS, MEMBERS))
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "masthead", "import", "ghost", "--file", str(path)),
            *("--tenant-id", "killed", "--batch-size", "5", *masthead.options),
        ],
        env=plain_environment(),
        stdout=subprocess.DEVNULL,
    )
    while count(masthead, killed["tenant_id"], "import_items") == 0:
        assert process.poll() is None, "it was done before it could be killed"
    children = children_of(process.pid)
    process.kill()
    process.wait()
    while any(is_alive(child) for child in children):
        pass
    assert 0 < count(masthead, killed["tenant_id"], "import_items") < POSTS

    given = ("import", "ghost", "--file", str(path), "--tenant-id")
    resumed = masthead.json(*given, "killed")
    whole = masthead.json(*given, "clean")

    assert resumed["posts"]["imported"] + resumed["posts"]["skipped"] == POSTS
    assert resumed["posts"]["imported"] > 0
    assert whole["posts"]["imported"] == POSTS
    assert Path(resumed["redirects"]).read_text() == Path(whole["redirects"]).read_text()

    async def states(parts: Services) -> list[Any]:
        tenants = (killed["tenant_id"], clean["tenant_id"])
        return [await end_state(parts, each) for each in tenants]

    after_kill, without = masthead.inside(states)
    assert after_kill == without

    async def runs(parts: Services) -> list[str]:
        found = await rows_of(parts, killed["tenant_id"], "import_runs")
        return sorted(row["state"] for row in found)

    assert masthead.inside(runs) == ["done", "failed"]
