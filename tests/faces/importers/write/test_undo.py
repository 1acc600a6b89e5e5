"""A whole import is undone: what it has created goes, what people here have done with it stays."""

from __future__ import annotations

from typing import Any

import pytest
from tests.content.texts.test_editing import desk_of
from tests.faces.importers.write.exports import (
    CutOff,
    WrittenExport,
    everything,
    imported,
    new_run,
    post,
    rows,
    without_network,
)
from tests.features.media.pictures import picture
from tests.features.privacy.requests import run_jobs
from tests.world import TenantWorld

from masthead.base.caller import system
from masthead.faces.importers.collection import UNDO
from masthead.faces.importers.report import EDITED, GONE, IN_USE, Note, Report
from masthead.faces.importers.source import SourceAuthor, SourceComment, SourceMember
from masthead.faces.importers.tasks.actions import find_run, possible_tasks
from masthead.faces.importers.write.run_record import CONTINUED, RunLog
from masthead.faces.importers.write.undo import Undo

PICTURE = "https://old.example/a.png"


def export(**more: Any) -> WrittenExport:
    given: dict[str, Any] = {
        "entries": [
            post(1, html=f'<p><img src="{PICTURE}"></p>', authors=("w1",)),
            post(2, kind="page"),
            post(3),
        ],
        "readers": [SourceMember("ana@example.com"), SourceMember("bo@example.com")],
        "words": [
            SourceComment("c1", "post:id-1", author_name="Cy", body="Hm"),
            SourceComment("c0", "post:id-1", "c1", author_name="Ed", body="Indeed"),
        ],
        "writers": [SourceAuthor("w1", "wren@example.com", "Wren")],
        "files": {PICTURE: picture("PNG")},
    }
    return WrittenExport(**given | more)


async def undone(tenant: TenantWorld, log: RunLog) -> Report:
    parts = without_network(tenant.world.parts)
    report = await Undo(parts, tenant.id, log).run()
    await log.finish(report)
    await parts.outbound.close()
    return report


COUNTED = ("events", "jobs", "record_counts")


async def without_traces(tenant: TenantWorld) -> dict[str, Any]:
    """Every row but those that tell of the past."""
    found = await everything(tenant)
    return {name: found[name] for name in found if name not in COUNTED}


async def test_what_was_imported_is_gone_and_what_was_there_stays(tenant: TenantWorld) -> None:
    await tenant.published(title="Written here", slug="written-here")
    await tenant.create("blog_members", {"email": "dee@example.com"})
    before = await without_traces(tenant)
    log = await new_run(tenant)
    await imported(tenant, export(), log=log)
    assert len(await rows(tenant, "media")) == 1

    report = await undone(tenant, log)

    assert await without_traces(tenant) == before
    assert report.undone.removed == {
        "comments": 2,
        "posts": 2,
        "pages": 1,
        "redirects": 4,
        "blog_members": 2,
        "_superusers": 1,
        "media": 1,
    }
    assert report.undone.stayed == {}
    assert report.undone.done == report.undone.total


async def test_the_same_file_can_be_imported_again_after_that(tenant: TenantWorld) -> None:
    log = await new_run(tenant)
    first = await imported(tenant, export(), log=log)
    await undone(tenant, log)
    second = await imported(tenant, export(), log=await new_run(tenant))
    assert second.summary() == first.summary()


async def test_what_people_here_have_done_with_it_stays(tenant: TenantWorld) -> None:
    log = await new_run(tenant)
    await imported(tenant, export(), log=log)
    found = {row["slug"]: row for row in await rows(tenant, "posts")}
    await tenant.update("posts", found["post-1"]["id"], {"title": "Edited"})
    comment = {"post_id": found["post-3"]["id"], "author_name": "Di", "body": "Mine"}
    await tenant.create("comments", comment)
    members = {row["email"]: row["id"] for row in await rows(tenant, "blog_members")}
    await tenant.update("blog_members", members["ana@example.com"], {"name": "Ana"})
    records = tenant.world.parts.records
    members_of_site = tenant.world.collection("blog_members")
    await records.delete(system(tenant.id), members_of_site, members["bo@example.com"])

    report = await undone(tenant, log)

    assert {row["slug"] for row in await rows(tenant, "posts")} == {"post-1", "post-3"}
    assert [row["body"] for row in await rows(tenant, "comments")] == ["Mine"]
    assert [row["email"] for row in await rows(tenant, "blog_members")] == ["ana@example.com"]
    # The picture and the author of a post that stays, and the addresses that lead to both posts and
    # to the picture.
    assert len(await rows(tenant, "media")) == 1
    assert len(await rows(tenant, "redirects")) == 3
    assert report.undone.stayed == {EDITED: 2, IN_USE: 6, GONE: 1}


async def test_an_edit_that_is_not_published_yet_stays(tenant: TenantWorld) -> None:
    log = await new_run(tenant)
    await imported(tenant, export(), log=log)
    found = {row["slug"]: row["id"] for row in await rows(tenant, "posts")}
    desk = await desk_of(tenant, found["post-3"])
    await desk.save(title="Written anew")

    report = await undone(tenant, log)

    assert [row["slug"] for row in await rows(tenant, "posts")] == ["post-3"]
    [copy] = await rows(tenant, "post_working_copies")
    assert copy["title"] == "Written anew"
    assert report.undone.stayed[EDITED] == 1


async def test_a_member_who_was_deleted_here_does_not_come_back(tenant: TenantWorld) -> None:
    log = await new_run(tenant)
    await imported(tenant, export(), log=log)
    members = {row["email"]: row["id"] for row in await rows(tenant, "blog_members")}
    records, collection = tenant.world.parts.records, tenant.world.collection("blog_members")
    await records.delete(system(tenant.id), collection, members["bo@example.com"])
    await undone(tenant, log)
    await imported(tenant, export(), log=await new_run(tenant))
    assert [row["email"] for row in await rows(tenant, "blog_members")] == ["ana@example.com"]


async def test_pictures_that_the_library_describes_by_itself_are_gone(tenant: TenantWorld) -> None:
    """The worker makes copies of a picture, and takes its alternative text from the posts."""
    html = "".join(f'<p><img src="https://old.example/{n}.png" alt="Boat {n}"></p>' for n in (1, 2))
    files = {f"https://old.example/{n}.png": picture("PNG", (1300 + n, 4)) for n in (1, 2)}
    source = export(
        entries=[post(1, html=html), post(2, html=html.replace("Boat", "Ship"), kind="page")],
        files=files,
        words=[],
    )
    before = await without_traces(tenant)
    log = await new_run(tenant)
    await imported(tenant, source, log=log)
    await run_jobs(tenant.world)
    assert all(row["alt"] and row["picture_sizes"] for row in await rows(tenant, "media"))

    report = await undone(tenant, log)

    assert await without_traces(tenant) == before
    assert (report.undone.removed["media"], report.undone.stayed) == (2, {})


async def test_a_picture_that_someone_has_described_here_stays(tenant: TenantWorld) -> None:
    html = f'<p><img src="{PICTURE}" alt="A boat"></p>'
    log = await new_run(tenant)
    await imported(tenant, export(entries=[post(1, html=html)], words=[]), log=log)
    await run_jobs(tenant.world)
    (item,) = await rows(tenant, "media")
    await tenant.update("media", item["id"], {"alt": "The ferry at dusk"})

    report = await undone(tenant, log)

    (item,) = await rows(tenant, "media")
    assert item["alt"] == "The ferry at dusk"
    assert report.undone.stayed == {EDITED: 1, IN_USE: 1}
    assert report.undone.left == [
        Note("media", item["id"], item["filename"], reason=EDITED),
        Note("redirects", report.undone.left[1].source_id, "/a.png", reason=IN_USE),
    ]


async def test_one_undo_removes_what_came_before_and_after_an_interruption(
    tenant: TenantWorld,
) -> None:
    before = await without_traces(tenant)
    entries = [*export().entries, *(post(number) for number in range(4, 9))]
    first = await new_run(tenant)
    with pytest.raises(CutOff):
        await imported(tenant, export(entries=entries, breaks_after=6), log=first, batch_size=1)
    assert 0 < len(await rows(tenant, "posts")) < len(entries)
    second = await new_run(tenant)
    await imported(tenant, export(entries=entries), log=second)
    third = await new_run(tenant)
    await imported(tenant, export(entries=entries), log=third)
    runs = {row["id"]: row for row in await rows(tenant, "import_runs")}
    assert runs[first.run_id]["error"] == CONTINUED % {"id": second.run_id}

    report = await undone(tenant, second)

    assert await without_traces(tenant) == before
    assert report.undone.stayed == {}


async def test_an_import_that_ends_before_its_first_batch_can_be_undone(
    tenant: TenantWorld,
) -> None:
    log = await new_run(tenant)
    with pytest.raises(CutOff):
        await imported(tenant, export(breaks_after=0), log=log)
    await log.fail("It was interrupted.")
    run = await find_run(tenant.world.parts.records, tenant.id, log.run_id)
    assert possible_tasks(run) == {UNDO}


async def test_an_interrupted_import_of_another_site_is_not_continued(
    tenant: TenantWorld,
) -> None:
    sites = [
        {"platform": "wordpress", "site_url": f"https://{name}.example"} for name in ("a", "b")
    ]
    first = await new_run(tenant, "wordpress")
    entries = [post(number) for number in range(6)]
    source = export(**sites[0], entries=entries, breaks_after=5)
    with pytest.raises(CutOff):
        await imported(tenant, source, log=first, batch_size=1)
    written = await rows(tenant, "posts")
    assert written
    second = await new_run(tenant, "wordpress")
    await imported(tenant, export(**sites[1], entries=[post(9)], words=[]), log=second)

    await undone(tenant, second)

    assert await rows(tenant, "posts") == written


async def test_what_another_import_has_brought_stays(tenant: TenantWorld) -> None:
    await imported(tenant, export(entries=[post(1)]), log=await new_run(tenant))
    log = await new_run(tenant)
    await imported(tenant, export(entries=[post(1, title="Changed"), post(2)]), log=log)
    await undone(tenant, log)
    assert [row["title"] for row in await rows(tenant, "posts")] == ["Changed"]
    assert len(await rows(tenant, "blog_members")) == 2


async def test_the_charts_show_what_they_showed_before(tenant: TenantWorld) -> None:
    """An undo takes its counts from the days that it gave them to."""
    await tenant.create("blog_members", {"email": "dee@example.com"})
    before = await _daily_counts(tenant)
    readers = [
        SourceMember("ana@example.com", created="2026-11-10T10:00:00.000Z"),
        SourceMember("bo@example.com", created="2020-01-01T10:00:00.000Z"),
        SourceMember("cy@example.com"),
    ]
    log = await new_run(tenant)
    await imported(tenant, export(readers=readers), log=log)
    assert await _daily_counts(tenant) != before
    tenant.world.clock.advance(days=2)

    await undone(tenant, log)

    assert await _daily_counts(tenant) == before


async def _daily_counts(tenant: TenantWorld) -> dict[tuple[str, str], int]:
    return {
        (row["metric"], row["day"]): row["total"]
        for row in await rows(tenant, "daily_counts")
        if row["total"] and not row["subject"]
    }
