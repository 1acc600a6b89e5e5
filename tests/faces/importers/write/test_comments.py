"""Comments of an export stand under their posts, in their threads, once; and go with the person."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.faces.importers.write.exports import (
    WrittenExport,
    everything,
    imported,
    new_run,
    post,
    rows,
)
from tests.features.privacy.requests import DELETE, member_deletion, run_jobs
from tests.world import Account, TenantWorld

from masthead.faces.importers.source import Skipped, SourceComment, SourceMember
from masthead.faces.importers.write.batches import DELETED, EDITED, UNCHANGED
from masthead.faces.importers.write.comment_batches import NO_PARENT, NO_POST
from masthead.faces.importers.write.pipeline import COMMENTS_OFF


def comment(number: int, **values: Any) -> SourceComment:
    given: dict[str, Any] = {
        "source_id": str(number),
        "post_key": "post:id-1",
        "author_name": "Ada",
        "author_email": "ada@example.com",
        "body": f"Words {number}",
        "status": "approved",
        "created": "2020-06-01T00:00:00.000Z",
    }
    return SourceComment(**given | values)


def export(*words: SourceComment | Skipped) -> WrittenExport:
    return WrittenExport([post(1), post(2)], words=words)


async def by_body(tenant: TenantWorld) -> dict[str, dict[str, Any]]:
    return {row["body"]: row for row in await rows(tenant, "comments")}


async def test_a_thread_comes_over_with_its_states(tenant: TenantWorld) -> None:
    source = export(
        comment(1),
        comment(2, parent_id="1", status="pending"),
        comment(3, parent_id="2", status="spam", author_email=""),
        comment(4, parent_id="99"),
        comment(5, post_key="post:id-7"),
        Skipped("comment", "6", "trashed"),
    )
    dry = await imported(tenant, source, dry_run=True)
    assert await rows(tenant, "comments") == []
    report = await imported(tenant, source)

    found = await by_body(tenant)
    (first,) = (row for row in await rows(tenant, "posts") if row["slug"] == "post-1")
    assert {row["post_id"] for row in found.values()} == {first["id"]}
    assert found["Words 2"]["parent_id"] == found["Words 1"]["id"]
    assert found["Words 3"]["parent_id"] == found["Words 2"]["id"]
    assert not found["Words 4"]["parent_id"]
    assert [found[f"Words {each}"]["status"] for each in (1, 2, 3)] == [
        "approved",
        "pending",
        "spam",
    ]
    assert {row["created"] for row in found.values()} == {"2020-06-01T00:00:00.000Z"}
    assert report.comments.skipped == {NO_POST: 1, "trashed": 1}
    assert [note.reason for note in report.warnings] == [NO_PARENT]
    assert report.summary()["comments"] == {
        "imported": 4,
        "skipped": 2,
        "failed": 0,
        "updated": 0,
    }
    assert dry.comments == report.comments
    assert "comment.posted" not in await tenant.event_names()


async def test_a_second_run_changes_no_comment(tenant: TenantWorld) -> None:
    source = export(*(comment(number) for number in range(450)))
    log = await new_run(tenant)
    await imported(tenant, source, log=log)
    before = await everything(tenant)
    assert len(before["comments"]) == 450
    report = await imported(tenant, source)
    assert report.comments.skipped == {UNCHANGED: 450}
    assert await everything(tenant) == before


async def test_a_changed_comment_follows_and_one_that_was_touched_here_stays(
    tenant: TenantWorld,
) -> None:
    await imported(tenant, export(comment(1), comment(2), comment(3)))
    found = await by_body(tenant)
    await tenant.update("comments", found["Words 2"]["id"], {"body": "Mine"})
    owner = await tenant.owner()
    await owner.api.delete(f"/api/collections/comments/records/{found['Words 3']['id']}")

    changed = [comment(number, body=f"New {number}") for number in (1, 2, 3)]
    report = await imported(tenant, export(*changed))
    assert set(await by_body(tenant)) == {"New 1", "Mine"}
    assert report.comments.updated == 1
    assert report.comments.skipped == {EDITED: 1, DELETED: 1}


async def test_an_answer_in_a_later_export_finds_its_thread(tenant: TenantWorld) -> None:
    await imported(tenant, export(comment(1)))
    await imported(tenant, export(comment(1), comment(2, parent_id="1")))
    found = await by_body(tenant)
    assert found["Words 2"]["parent_id"] == found["Words 1"]["id"]


async def test_a_site_without_comments_counts_them_with_the_reason(
    tenant: TenantWorld,
) -> None:
    owner = await tenant.owner()
    (settings,) = await rows(tenant, "site_settings")
    await owner.api.patch(
        f"/api/collections/site_settings/records/{settings['id']}",
        json={"comments_enabled": False},
    )
    report = await imported(tenant, export(comment(1)))
    assert report.comments.skipped == {COMMENTS_OFF: 1}
    assert len(await rows(tenant, "posts")) == 2
    assert await rows(tenant, "comments") == []


async def test_an_erased_person_leaves_imported_comments_without_their_data(
    tenant: TenantWorld, owner: Account
) -> None:
    source = WrittenExport([post(1)], [SourceMember("ada@example.com", name="Ada")], [comment(1)])
    await imported(tenant, source, log=await new_run(tenant))
    (member,) = await rows(tenant, "blog_members")
    answer = await owner.api.post(DELETE, json=member_deletion(member["id"]))
    assert answer.status_code == 202, answer.text
    tenant.world.clock.advance(days=31)
    await run_jobs(tenant.world)

    (left,) = await rows(tenant, "comments")
    assert "ada@example.com" not in msgspec.json.encode(left).decode()
    assert left["author_name"] != "Ada"
    for table in ("import_runs", "import_items"):
        assert "ada@example.com" not in msgspec.json.encode(await rows(tenant, table)).decode()
