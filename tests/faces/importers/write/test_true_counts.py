"""A preview says what the run does, and nothing of an export goes without a word."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faces.importers.platforms.wordpress.wxr import item, write
from tests.faces.importers.write.exports import WrittenExport, imported, new_run, post, rows
from tests.faces.importers.write.platforms import SUBSTACK_COLUMNS
from tests.features.media.pictures import picture
from tests.world import TenantWorld

from masthead.faces.importers.platforms.ghost.reader import open_ghost
from masthead.faces.importers.platforms.substack.reader import open_substack
from masthead.faces.importers.platforms.wordpress.source import open_wordpress
from masthead.faces.importers.report import Report
from masthead.faces.importers.source import (
    Options,
    Skipped,
    Source,
    SourceAuthor,
    SourceComment,
    SourceMember,
    SourcePost,
)
from masthead.faces.importers.write.batches import UNCHANGED
from masthead.faces.importers.write.comment_batches import NO_POST

LATER = "2099-01-01T10:00:00.000Z"
UNPUBLISHED = Options(include_unpublished=True)
SIZES = "".join(f'<img src="https://old.example/wp-content/a{n}.png">' for n in ("", "-300x200"))


async def dry_and_real(tenant: TenantWorld, source: WrittenExport) -> tuple[Report, Report]:
    return await imported(tenant, source, dry_run=True), await imported(tenant, source)


async def test_a_dry_run_and_the_run_count_the_same(tenant: TenantWorld) -> None:
    source = WrittenExport(
        [
            post(1, html=f"<p>{SIZES}</p>"),
            post(2, html='<p><img src="https://old.example/wp-content/a-150x150.png"></p>'),
            post(3, html="<p>" + "word " * 1_000_001),
            post(4, html='<p><img src="https://old.example/in-file.png"></p>'),
        ],
        words=[
            SourceComment("c1", "post:id-1", author_name="Cy", body="Hm"),
            SourceComment("c2", "post:id-3", author_name="Cy", body="Under one that fails"),
            SourceComment("c3", "post:nowhere", author_name="Cy", body="Under none"),
        ],
        writers=[
            SourceAuthor("w1", "wren@example.com", "Wren"),
            SourceAuthor("w2", "wren@example.com", "Wren again"),
            Skipped("author", "w3", "without a usable email address"),
        ],
        files={"https://old.example/in-file.png": picture("PNG")},
    )

    dry, real = await dry_and_real(tenant, source)

    for name in ("posts", "members", "comments", "authors"):
        assert getattr(dry, name) == getattr(real, name), name
    assert real.authors.imported == 1
    assert real.comments.skipped == {NO_POST: 2}
    assert (dry.images.copied, dry.images.failed, dry.images.to_fetch) == (1, 0, 1)
    assert (real.images.copied, real.images.failed, real.images.to_fetch) == (1, 1, 0)


async def test_pictures_that_have_no_address_are_not_new(tenant: TenantWorld) -> None:
    source = WrittenExport([post(1, html='<p><img src="/a.png"></p>')], site_url="")
    dry, real = await dry_and_real(tenant, source)
    for report in (dry, real):
        assert (report.images.copied, report.images.failed, report.images.to_fetch) == (0, 1, 0)
        assert len(report.errors) == 1


async def test_a_second_run_tells_of_pictures_again_that_could_not_be_copied(
    tenant: TenantWorld,
) -> None:
    address = "https://old.example/lost.png"
    entries = [
        post(1, html=f'<p><img src="{address}"></p>'),
        post(2),
        post(3, featured_image=address),
    ]
    source = WrittenExport(entries)
    first = await imported(tenant, source, log=await new_run(tenant))
    second = await imported(tenant, source, log=await new_run(tenant))
    dry = await imported(tenant, source, dry_run=True)
    third = await imported(tenant, source, log=await new_run(tenant))
    assert {note.source_id for note in first.errors} == {"id-1", "id-3"}
    assert first.errors == second.errors == dry.errors == third.errors
    assert first.images.failed == second.images.failed == third.images.failed == 1

    stored = {row["slug"]: row for row in await rows(tenant, "posts")}
    without = {"content_html": "<p>Without</p>", "content_json": None}
    await tenant.update("posts", stored["post-1"]["id"], without)
    fourth = await imported(tenant, source, log=await new_run(tenant))

    assert [note.source_id for note in fourth.errors] == ["id-3"]


async def test_a_second_run_that_asks_for_less_updates_nothing(tenant: TenantWorld) -> None:
    writers = [SourceAuthor("w1", "wren@example.com", "Wren")]
    await imported(tenant, WrittenExport([post(1, authors=("w1",))], writers=writers))
    (before,) = await rows(tenant, "posts")

    less = await imported(tenant, WrittenExport([post(1)]))
    changed = await imported(tenant, WrittenExport([post(1, title="New")]))
    again = await imported(
        tenant, WrittenExport([post(1, title="New", authors=("w1",))], writers=writers)
    )

    assert less.posts.skipped == again.posts.skipped == {UNCHANGED: 1}
    assert changed.posts.updated == 1
    (after,) = await rows(tenant, "posts")
    assert after["authors"] == before["authors"] != "[]"


async def test_a_second_run_that_asks_for_authors_adds_them(tenant: TenantWorld) -> None:
    await imported(tenant, WrittenExport([post(1)]))
    writers = [SourceAuthor("w1", "wren@example.com", "Wren")]
    report = await imported(tenant, WrittenExport([post(1, authors=("w1",))], writers=writers))
    assert report.posts.updated == 1
    assert (await rows(tenant, "posts"))[0]["authors"] != "[]"


async def test_labels_and_notes_of_members_come_over(tenant: TenantWorld) -> None:
    many = tuple(f"label {number}" for number in range(30))
    ana = SourceMember("ana@example.com", labels=("VIP", "Berlin"), note="Met in May")
    bo = SourceMember("bo@example.com", labels=many)
    await tenant.create("blog_members", {"email": "cy@example.com", "labels": ["Own"]})
    cy = SourceMember("cy@example.com", labels=("Theirs",), note="New")

    report = await imported(tenant, WrittenExport(readers=[ana, bo, cy]))

    found = {row["email"]: row for row in await rows(tenant, "blog_members")}
    assert json.loads(found["ana@example.com"]["labels"]) == ["VIP", "Berlin"]
    assert found["ana@example.com"]["note"] == "Met in May"
    assert len(json.loads(found["bo@example.com"]["labels"])) == 20
    assert json.loads(found["cy@example.com"]["labels"]) == ["Own"]
    assert found["cy@example.com"]["note"] == "New"
    assert [note.reason for note in report.warnings] == [
        "The note or the labels of a member were cut: too long or too many."
    ]
    again = await imported(tenant, WrittenExport(readers=[ana]))
    assert again.members.skipped == {UNCHANGED: 1}


def test_ghosts_labels_and_notes_are_read_from_both_forms(tmp_path: Path) -> None:
    data = {
        "members": [{"id": "m1", "email": "ana@example.com", "note": "Met in May"}],
        "labels": [{"id": "l1", "name": "VIP"}, {"id": "l2", "name": "Berlin"}],
        "members_labels": [
            {"member_id": "m1", "label_id": "l2"},
            {"member_id": "m1", "label_id": "l1"},
        ],
    }
    (tmp_path / "ghost.json").write_text(json.dumps({"data": data}))
    (tmp_path / "members.csv").write_text(
        'email,note,labels\nbo@example.com,Loud,"VIP, Berlin"\n', encoding="utf-8"
    )
    for name, found in (
        ("ghost.json", ("ana@example.com", ("Berlin", "VIP"), "Met in May")),
        ("members.csv", ("bo@example.com", ("VIP", "Berlin"), "Loud")),
    ):
        source = open_ghost(tmp_path / name, Options())
        (member,) = source.members()
        source.close()
        assert isinstance(member, SourceMember)
        assert (member.email, member.labels, member.note) == found


def wordpress(folder: Path) -> Path:
    return write(
        folder / "export.xml",
        item(post_id=1, status="private"),
        item(post_id=2, status="pending"),
        item(post_id=3, status="future", post_date_gmt=LATER[:19].replace("T", " ")),
        item(post_id=4, status="future"),
        item(post_id=5, status="trash"),
    )


def ghost(folder: Path) -> Path:
    path = folder / "ghost.json"
    row = {"type": "post", "title": "x", "status": "scheduled"}
    times = (LATER, "2020-01-01T10:00:00.000Z")
    posts = [{**row, "id": str(n), "published_at": time} for n, time in enumerate(times)]
    path.write_text(json.dumps({"data": {"posts": posts}}))
    return path


def substack(folder: Path) -> Path:
    (folder / "posts").mkdir()
    line = f"1.fog,{LATER},false,newsletter,everyone,Fog,\n"
    (folder / "posts.csv").write_text(SUBSTACK_COLUMNS + line)
    (folder / "posts/1.fog.html").write_text("<p>Text</p>")
    return folder


@pytest.mark.parametrize(
    ("write_export", "read", "found"),
    [
        (wordpress, open_wordpress, ["", "", LATER, "", "trashed"]),
        (ghost, open_ghost, [LATER, ""]),
        (substack, open_substack, [LATER]),
    ],
)
def test_unpublished_posts_come_on_request(
    tmp_path: Path,
    write_export: Callable[[Path], Path],
    read: Callable[[Path, Options], Source],
    found: list[str],
) -> None:
    path = write_export(tmp_path)
    source = read(path, UNPUBLISHED)
    entries = list(source.posts())
    source.close()
    for entry, expected in zip(entries, found, strict=True):
        if isinstance(entry, SourcePost):
            assert (entry.status, entry.scheduled_for, entry.published_at) == (
                "draft",
                expected,
                "",
            )
        else:
            assert entry.reason == expected
    passed = [each for each in entries if isinstance(each, SourcePost) and each.warnings]
    assert len(passed) == len(found) - found.count(LATER) - found.count("trashed") - (
        2 if read is open_wordpress else 0
    )


async def test_a_scheduled_post_is_published_at_its_time(tenant: TenantWorld) -> None:
    draft = post(1, status="draft", published_at="", scheduled_for=LATER)
    await imported(tenant, WrittenExport([draft]))
    (found,) = await rows(tenant, "posts")
    assert (found["status"], found["scheduled_for"]) == ("draft", LATER)
    jobs = [row for row in await rows(tenant, "jobs") if row["kind"] == "posts.publish"]
    assert [row["run_at"] for row in jobs] == [LATER]
    again = await imported(tenant, WrittenExport([draft]))
    assert again.posts.skipped == {UNCHANGED: 1}
