"""The trash: a deletion stays a deletion for everyone, and a restore brings everything back."""

from __future__ import annotations

import asyncio
import io
import zipfile
from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.every_row import rows_of_tenant
from tests.features.media.pictures import picture
from tests.v1.keys import key_client
from tests.world import TenantWorld

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.errors import NotFound
from masthead.engine.records.collection import Record
from masthead.engine.records.read.counts import SUM_LASTS
from masthead.features.privacy.archive import TenantArchive
from masthead.features.trash.emptying import delete_expired
from masthead.service.background import job_runner

TRASH = "/api/v1/trash"


@pytest.fixture
async def api(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant)


async def records_in(tenant: TenantWorld, name: str, **equals: Any) -> list[Record]:
    collection = tenant.world.collection(name)
    return await tenant.world.parts.records.find(
        collection, equals, tenant_id=tenant.id, limit=1_000
    )


async def without_versions(tenant: TenantWorld, *names: str) -> dict[str, list[Record]]:
    found = {name: await records_in(tenant, name) for name in names}
    return {
        name: [{k: v for k, v in each.items() if k != "version"} for each in records]
        for name, records in found.items()
    }


async def counts_of(tenant: TenantWorld) -> dict[str, list[str]]:
    """Totals, counts of days and lists, without totals that are zero and those of the trash."""
    rows = await rows_of_tenant(tenant.world.parts.database, tenant.id)
    return {
        name: sorted(
            repr(tuple(row)) for row in rows[name] if row[-1] != 0 and row[1] not in ("trash",)
        )
        for name in ("record_counts", "daily_counts", "listed_values")
    }


async def commented_post(tenant: TenantWorld, **values: Any) -> Record:
    """Published, renamed once, mentioned by a redirect, with a thread of three comments."""
    post = await tenant.published(title="Rain", tags=["weather"], **values)
    tenant.world.clock.advance(hours=1)
    post = await tenant.update("posts", post["id"], {"slug": "heavy-rain", "title": "Heavy rain"})
    first = await tenant.create("comments", comment(post, "First"))
    second = await tenant.create("comments", comment(post, "Second") | {"parent_id": first["id"]})
    await tenant.create("comments", comment(post, "Third") | {"parent_id": second["id"]})
    return post


def comment(post: Record, body: str) -> dict[str, Any]:
    return {
        "post_id": post["id"],
        "author_name": "Ada",
        "author_email": "ada@example.com",
        "body": body,
    }


async def restored(api: httpx.AsyncClient, entry_id: str) -> dict[str, Any]:
    answer = await api.post(f"{TRASH}/{entry_id}/restore")
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def entries(api: httpx.AsyncClient, **query: str) -> list[dict[str, Any]]:
    answer = await api.get(TRASH, params=query)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


OF_A_POST = ("posts", "post_revisions", "comments", "redirects")


class TestPosts:
    async def test_a_restored_post_is_as_it_was(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        post = await commented_post(tenant)
        before = await without_versions(tenant, *OF_A_POST)
        counts = await counts_of(tenant)
        assert [len(before[name]) for name in OF_A_POST] == [1, 1, 3, 1]
        tenant.world.clock.advance(days=1)
        assert (await api.delete(f"/api/v1/posts/{post['id']}")).status_code == 204
        gone = await without_versions(tenant, *OF_A_POST)
        assert [len(gone[name]) for name in OF_A_POST] == [0, 0, 0, 1]
        assert (await api.get(f"/api/v1/posts/{post['id']}")).status_code == 404
        tenant.world.clock.advance(days=29)
        entry = await restored(api, post["id"])
        assert (entry["type"], entry["slug"], entry["title"]) == (
            "posts",
            "heavy-rain",
            "Heavy rain",
        )
        assert await without_versions(tenant, *OF_A_POST) == before
        assert await counts_of(tenant) == counts
        assert await entries(api) == []

    async def test_it_is_on_the_site_again(self, tenant: TenantWorld) -> None:
        api = await key_client(tenant)
        post = await commented_post(tenant)
        address = "/posts/heavy-rain"
        assert "Third" in (await tenant.guest.get(address)).text
        await api.delete(f"/api/v1/posts/{post['id']}")
        assert (await tenant.guest.get(address)).status_code == 404
        assert "Heavy rain" not in (await tenant.guest.get("/")).text
        await restored(api, post["id"])
        page = (await tenant.guest.get(address)).text
        assert all(text in page for text in ("First", "Second", "Third"))
        assert "Heavy rain" in (await tenant.guest.get("/")).text
        old = await tenant.guest.get("/posts/rain")
        assert (old.status_code, old.headers["location"]) in ((301, address), (308, address))

    async def test_the_search_finds_it_again(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        post = await commented_post(tenant)
        await api.delete(f"/api/v1/posts/{post['id']}")
        assert (await api.get("/api/v1/posts", params={"q": "heavy"})).json()["items"] == []
        await restored(api, post["id"])
        found = (await api.get("/api/v1/posts", params={"q": "heavy"})).json()["items"]
        assert [each["id"] for each in found] == [post["id"]]

    async def test_a_slug_that_was_taken_meanwhile_gets_a_number(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        post = await tenant.published(title="Rain")
        await api.delete(f"/api/v1/posts/{post['id']}")
        other = await api.post("/api/v1/posts", json={"title": "Rain"})
        assert other.json()["data"]["slug"] == "rain"
        assert (await restored(api, post["id"]))["slug"] == "rain-2"
        assert (await api.get(f"/api/v1/posts/{post['id']}")).json()["slug"] == "rain-2"

    async def test_events_tell_of_it_in_order(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        post = await commented_post(tenant)
        before = len(await tenant.events())
        await api.delete(f"/api/v1/posts/{post['id']}")
        await restored(api, post["id"])
        events = (await tenant.events())[before:]
        names = [name for name, _ in events]
        assert sorted(names) == sorted(
            [
                *["comment.deleted"] * 3,
                "post.deleted",
                "post.created",
                "post.published",
                *["comment.posted", "comment.approved"] * 3,
            ]
        )
        assert names.index("post.deleted") < names.index("post.created")
        of_post = [payload for name, payload in events if name.startswith("post.")]
        assert [each["sequence"] for each in of_post] == [3, 4, 4]
        assert [each.get("restored") for each in of_post] == [None, True, True]
        changed = await api.patch(f"/api/v1/posts/{post['id']}", json={"title": "Drizzle"})
        assert changed.status_code == 200
        assert (await tenant.events())[-1][1]["sequence"] == 5

    async def test_a_restore_sends_no_email_about_old_comments(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        author = await tenant.owner()
        post = await commented_post(tenant, authors=[author.id])
        mails = len((await rows_of_tenant(tenant.world.parts.database, tenant.id))["mails"])
        await api.delete(f"/api/v1/posts/{post['id']}")
        await restored(api, post["id"])
        rows = await rows_of_tenant(tenant.world.parts.database, tenant.id)
        assert len(rows["mails"]) == mails

    async def test_unpublished_changes_and_mailings_come_back(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        post = await tenant.published(title="Rain")
        records, registry = tenant.world.parts.records, tenant.world.parts.records.registry
        copy = {"post_id": post["id"], "title": "Rain?", "slug": "rain"}
        async with records.unit(system(tenant.id)) as unit:
            await unit.create(registry["post_working_copies"], copy)
            stamped = {"post_id": post["id"], "newsletter": "news", "subject": "Rain"}
            await unit.create(registry["mailings"], {}, stamped=stamped)
        names = ("post_working_copies", "mailings")
        await api.delete(f"/api/v1/posts/{post['id']}")
        assert await records_in(tenant, "post_working_copies") == []
        [mailing] = await records_in(tenant, "mailings")
        assert mailing["post_id"] == ""
        await restored(api, post["id"])
        found = await without_versions(tenant, *names)
        assert [each["title"] for each in found["post_working_copies"]] == ["Rain?"]
        assert [each["post_id"] for each in found["mailings"]] == [post["id"]]

    async def test_a_missed_schedule_does_not_publish_it(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        moments = [tenant.world.clock() + timedelta(hours=n) for n in (1, 48)]
        late, early = [await tenant.post(scheduled_for=clock.to_text(each)) for each in moments]
        for each in (late, early):
            await api.delete(f"/api/v1/posts/{each['id']}")
        tenant.world.clock.advance(hours=24)
        for each in (late, early):
            await restored(api, each["id"])
        posts = {each["id"]: each for each in await records_in(tenant, "posts")}
        assert {each["status"] for each in posts.values()} == {"draft"}
        assert posts[late["id"]]["scheduled_for"] == ""
        assert posts[early["id"]]["scheduled_for"] == early["scheduled_for"]

    async def test_an_author_who_left_is_not_named_again(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        stays, leaves = await tenant.owner(), await tenant.owner(role="author")
        post = await tenant.post(authors=[leaves.id, stays.id])
        await api.delete(f"/api/v1/posts/{post['id']}")
        records = tenant.world.parts.records
        await records.delete(system(tenant.id), records.registry["_superusers"], leaves.id)
        await restored(api, post["id"])
        [post] = await records_in(tenant, "posts")
        assert post["authors"] == [stays.id]

    async def test_an_id_that_was_used_again_is_told(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        post = await tenant.post()
        await api.delete(f"/api/v1/posts/{post['id']}")
        again = await tenant.post(id=post["id"], title="Another")
        answer = await api.post(f"{TRASH}/{post['id']}/restore")
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "CONFLICT")
        await api.delete(f"/api/v1/posts/{again['id']}")
        second, first = await entries(api)
        assert {each["record_id"] for each in (first, second)} == {post["id"]}
        assert first["id"] == post["id"] != second["id"]
        assert (await restored(api, second["id"]))["title"] == "Another"


class TestPages:
    async def test_a_page_comes_back(self, tenant: TenantWorld, api: httpx.AsyncClient) -> None:
        page = await tenant.create("pages", {"title": "About", "status": "published"})
        records = tenant.world.parts.records
        before = await without_versions(tenant, "pages")
        await records.delete(system(tenant.id), records.registry["pages"], page["id"])
        assert (await tenant.guest.get("/about")).status_code == 404
        [entry] = await entries(api, type="pages")
        await restored(api, entry["id"])
        assert await without_versions(tenant, "pages") == before
        assert (await tenant.guest.get("/about")).status_code == 200


class TestMedia:
    async def test_a_file_is_not_served_and_comes_back(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        item = await uploaded(api)
        await tenant.published(content_html=f'<img src="{item["url"]}">')
        before = await without_versions(tenant, "media")
        assert before["media"][0]["uses"] == 1
        await api.delete(f"/api/v1/media/{item['id']}")
        assert (await tenant.guest.get(item["url"])).status_code == 404
        await run_jobs(tenant)
        [entry] = await entries(api, type="media")
        assert entry["title"] == item["filename"]
        assert "files" not in entry
        await restored(api, item["id"])
        assert await without_versions(tenant, "media") == before
        assert (await tenant.guest.get(item["url"])).status_code == 200

    async def test_the_sweep_of_interrupted_uploads_spares_it(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        item = await uploaded(api)
        await api.delete(f"/api/v1/media/{item['id']}")
        tenant.world.clock.advance(days=2)
        await run_jobs(tenant)
        await restored(api, item["id"])
        assert (await tenant.guest.get(item["url"])).status_code == 200

    async def test_the_file_is_deleted_after_thirty_days(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        item = await uploaded(api)
        await api.delete(f"/api/v1/media/{item['id']}")
        parts = tenant.world.parts
        [entry] = await records_in(tenant, "trash")
        [key] = entry["files"]
        tenant.world.clock.advance(days=30, seconds=-1)
        await delete_expired(parts.records)
        await run_jobs(tenant)
        assert (await parts.objects.head(key)).size > 0
        tenant.world.clock.advance(seconds=1)
        await delete_expired(parts.records)
        await run_jobs(tenant)
        with pytest.raises(NotFound):
            await parts.objects.head(key)
        assert await records_in(tenant, "trash") == await records_in(tenant, "trash_items") == []
        assert (await api.post(f"{TRASH}/{item['id']}/restore")).status_code == 404

    async def test_an_entry_that_is_new_again_meanwhile_stays(
        self, tenant: TenantWorld, api: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The process is stopped for a while after it has found an old entry."""
        item = await uploaded(api)
        await api.delete(f"/api/v1/media/{item['id']}")
        tenant.world.clock.advance(days=30)
        records = tenant.world.parts.records
        due, found_due = records.due, []

        async def find_and_stop(*args: Any) -> Any:
            found = await due(*args)
            if tenant.id in found and not found_due:
                found_due.append(found)
                await restored(api, item["id"])
                await api.delete(f"/api/v1/media/{item['id']}")
            return found

        with monkeypatch.context() as patched:
            patched.setattr(records, "due", find_and_stop)
            await delete_expired(records)
        assert found_due
        await run_jobs(tenant)
        await restored(api, item["id"])
        assert (await tenant.guest.get(item["url"])).status_code == 200

    async def test_the_bytes_of_a_site_follow(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        counts, media = tenant.world.parts.records.counts, tenant.world.collection("media")
        item, other = await uploaded(api), await uploaded(api)
        both = item["size"] + other["size"]
        assert await counts.by_tenant(media, [tenant.id], summed="size") == {tenant.id: both}
        await api.delete(f"/api/v1/media/{item['id']}")
        left = other["size"]
        trash = tenant.world.collection("trash")
        thrown_away = {tenant.id: item["size"]}
        assert await counts.by_tenant(trash, [tenant.id], summed="size") == thrown_away
        assert await counts.by_tenant(media, [tenant.id], summed="size") == {tenant.id: left}
        await restored(api, item["id"])
        assert await counts.by_tenant(media, [tenant.id], summed="size") == {tenant.id: both}
        assert await counts.by_tenant(media, [tenant.id]) == {tenant.id: 2}
        assert await counts.by_tenant(trash, [tenant.id], summed="size") == {tenant.id: 0}
        # Known for a while, here or from another test that the time is set back to.
        await counts.sum_of_all(trash, "size")
        await api.delete(f"/api/v1/media/{other['id']}")
        tenant.world.clock.moment += 2 * SUM_LASTS
        assert await counts.sum_of_all(trash, "size") >= other["size"]

    async def test_a_copy_of_the_site_has_the_file(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        item = await uploaded(api)
        await api.delete(f"/api/v1/media/{item['id']}")
        parts = tenant.world.parts
        archive = TenantArchive(parts.records, parts.objects, tenant.id, tenant.slug)
        content = b"".join([chunk async for chunk in archive.chunks()])
        with zipfile.ZipFile(io.BytesIO(content)) as copy:
            files = [name for name in copy.namelist() if name.startswith("files/media/")]
            assert [name.split("/")[2] for name in files] == [item["id"]]
            assert copy.read(files[0])[1:4] == b"PNG"
            assert "Rain" in copy.read("data/trash_items.json").decode()


class TestAccess:
    async def test_scopes_are_those_of_the_records(self, tenant: TenantWorld) -> None:
        writer = await key_client(tenant)
        post, item = await tenant.post(), await uploaded(writer)
        await writer.delete(f"/api/v1/posts/{post['id']}")
        await writer.delete(f"/api/v1/media/{item['id']}")
        of_posts = await key_client(tenant, "posts:read", "posts:write")
        of_media = await key_client(tenant, "media:read", "media:write")
        assert [each["type"] for each in await entries(of_posts)] == ["posts"]
        assert [each["type"] for each in await entries(of_media)] == ["media"]
        for client, other, entry in (
            (of_posts, "media", item["id"]),
            (of_media, "posts", post["id"]),
        ):
            listed = await client.get(TRASH, params={"type": other})
            back = await client.post(f"{TRASH}/{entry}/restore")
            for answer in (listed, back):
                assert answer.status_code == 403
                assert answer.json()["error"]["code"] == "INVALID_SCOPE"
        reader = await key_client(tenant, "comments:read")
        assert (await reader.get(TRASH)).status_code == 403
        assert (await writer.get(TRASH, params={"type": "members"})).status_code == 422
        await restored(of_media, item["id"])
        await restored(of_posts, post["id"])

    async def test_another_site_sees_none_of_it(self, tenant: TenantWorld) -> None:
        api = await key_client(tenant)
        post = await tenant.post()
        await api.delete(f"/api/v1/posts/{post['id']}")
        other = await key_client(await tenant.world.new_tenant("other"))
        assert await entries(other) == []
        assert (await other.post(f"{TRASH}/{post['id']}/restore")).status_code == 404

    async def test_authors_restore_only_their_own(self, tenant: TenantWorld) -> None:
        parts = tenant.world.parts
        author, colleague = await tenant.owner(role="author"), await tenant.owner(role="author")
        own = await tenant.post(authors=[author.id], title="Own")
        others = await tenant.post(authors=[colleague.id], title="Of another")
        for each in (own, others):
            await parts.records.delete(
                system(tenant.id), parts.records.registry["posts"], each["id"]
            )
        listed = (await author.api.get("/api/collections/trash/records")).json()["items"]
        assert [each["title"] for each in listed] == ["Own"]
        changed = await author.api.patch(
            f"/api/collections/trash/records/{own['id']}", json={"title": "New"}
        )
        assert changed.json().get("title") == "Own"
        assert (
            await author.api.delete(f"/api/collections/trash/records/{others['id']}")
        ).status_code == 404

    async def test_a_read_only_site_restores_nothing(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        post = await tenant.post()
        await api.delete(f"/api/v1/posts/{post['id']}")
        await tenant.settings(read_only_mode=True)
        answer = await api.post(f"{TRASH}/{post['id']}/restore")
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")
        await tenant.settings(read_only_mode=False)
        await restored(api, post["id"])

    async def test_of_two_restores_at_once_one_is_answered(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        post = await commented_post(tenant)
        await api.delete(f"/api/v1/posts/{post['id']}")
        answers = await asyncio.gather(
            *(api.post(f"{TRASH}/{post['id']}/restore") for _ in range(5))
        )
        assert sorted(each.status_code for each in answers) == [200, 404, 404, 404, 404]
        assert len(await records_in(tenant, "comments")) == 3

    async def test_pages_of_the_list_follow_each_other(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        made = [await tenant.post(title=f"Post {n}") for n in range(3)]
        for each in made:
            tenant.world.clock.advance(seconds=1)
            await api.delete(f"/api/v1/posts/{each['id']}")
        first = await api.get(TRASH, params={"type": "posts", "per_page": "2"})
        assert first.json()["total"] == 3
        assert "etag" not in first.headers
        next_cursor = first.links["next-cursor"]["url"]
        second = await api.get(next_cursor)
        titles = [each["title"] for answer in (first, second) for each in answer.json()["items"]]
        assert titles == ["Post 2", "Post 1", "Post 0"]


async def uploaded(api: httpx.AsyncClient) -> dict[str, Any]:
    files = {"file": ("rain.png", picture("png", (40, 30)))}
    answer = await api.post("/api/v1/media", files=files, data={"alt": "Rain"})
    assert answer.status_code == 201, answer.text
    item: dict[str, Any] = answer.json()["data"]
    return item


async def run_jobs(tenant: TenantWorld) -> None:
    runner = job_runner(tenant.world.parts)
    while await runner.run_due():
        pass
