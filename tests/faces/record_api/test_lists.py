"""Lists: the envelope, paging, order, chosen fields and expanded relations."""

from __future__ import annotations

from typing import Any

import pytest
from tests.world import Account, TenantWorld, records_of

from masthead.engine.records.collection import Record
from masthead.engine.records.read import page as pages
from masthead.engine.records.read.record_reader import RecordReader
from masthead.web.query_string import parse_query_string

POSTS = records_of("posts")


class TestEnvelope:
    async def test_it_is_pocketbases(self, tenant: TenantWorld, published_post: Record) -> None:
        answer = await tenant.guest.get(POSTS)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        body = answer.json()
        assert list(body) == ["page", "perPage", "totalItems", "totalPages", "items"]
        assert [body[name] for name in list(body)[:4]] == [1, 30, 1, 1]
        (item,) = body["items"]
        assert item["id"] == published_post["id"]
        assert item["collectionId"] == "pbc_1125843985"
        assert item["collectionName"] == "posts"
        assert item["published_at"] == published_post["published_at"]
        assert item["created"].endswith("Z")
        assert item["created"][10] == "T"

    async def test_an_empty_list_has_no_pages(self, tenant: TenantWorld) -> None:
        body = (await tenant.guest.get(POSTS)).json()
        assert (body["totalItems"], body["totalPages"], body["items"]) == (0, 0, [])

    async def test_the_total_leaves_out_what_is_not_due_yet(
        self, tenant: TenantWorld, published_post: Record
    ) -> None:
        await tenant.published(title="Later", published_at="2100-01-01T00:00:00Z")
        for wanted in ({}, {"filter": "published_at <= @now"}):
            body = (await tenant.guest.get(POSTS, params=wanted)).json()
            assert (body["totalItems"], len(body["items"])) == (1, 1)

    async def test_a_page_past_the_end_is_empty(
        self, tenant: TenantWorld, published_post: Record
    ) -> None:
        for page in ("2", "999", "9" * 40):
            body = (await tenant.guest.get(POSTS, params={"page": page})).json()
            assert (body["page"], body["items"]) == (int(page), [])
            assert (body["totalItems"], body["totalPages"]) == (1, 1)

    @pytest.mark.parametrize("said", ["1", "true"])
    async def test_skip_total(self, tenant: TenantWorld, said: str) -> None:
        await tenant.published()
        body = (await tenant.guest.get(POSTS, params={"skipTotal": said})).json()
        assert (body["totalItems"], body["totalPages"], len(body["items"])) == (-1, -1, 1)


class TestPaging:
    @pytest.mark.parametrize(
        ("sent", "page", "per_page"),
        [
            ("", 1, 30),
            ("page=0&perPage=0", 1, 30),
            ("page=-3&perPage=-1", 1, 30),
            ("page=&perPage=", 1, 30),
            ("page=2&perPage=7", 2, 7),
            ("perPage=1000", 1, 1000),
            ("perPage=5000", 1, 1000),
            ("page=3&page=4", 3, 30),
        ],
    )
    async def test_numbers(self, tenant: TenantWorld, sent: str, page: int, per_page: int) -> None:
        body = (await tenant.guest.get(f"{POSTS}?{sent}")).json()
        assert (body["page"], body["perPage"]) == (page, per_page)

    @pytest.mark.parametrize("sent", ["page=abc", "perPage=abc", "page=1.5", "perPage=0x10"])
    async def test_an_invalid_number_is_refused(self, tenant: TenantWorld, sent: str) -> None:
        answer = await tenant.guest.get(f"{POSTS}?{sent}")
        assert answer.status_code == 400
        assert answer.json()["code"] == "validation_invalid_data"

    async def test_pages_hold_every_record_once(self, tenant: TenantWorld) -> None:
        made = [(await tenant.published(title=f"Post {n}"))["id"] for n in range(7)]
        seen = []
        for page in (1, 2, 3):
            body = (await tenant.guest.get(POSTS, params={"page": page, "perPage": 3})).json()
            assert (body["totalItems"], body["totalPages"]) == (7, 3)
            seen += [item["id"] for item in body["items"]]
        assert seen == made[::-1]

    @pytest.mark.parametrize("wanted", ["", "title ~ 'b'", "tags ?= 'news'"])
    async def test_pages_that_are_read_from_the_end(
        self, tenant: TenantWorld, owner: Account, monkeypatch: pytest.MonkeyPatch, wanted: str
    ) -> None:
        for title, tags in zip("bbabcbb", (["a", "news"], ["news"]) * 4, strict=False):
            authors = [owner.id] if title == "b" else []
            await tenant.post(title=title, tags=tags, authors=authors, content_json={"n": title})
        for sort in ("", "title", "-title,created", "authors.email", "-tags", "content_json.n"):
            query = {"filter": wanted, "sort": sort, "fields": "id"}
            whole = (await owner.api.get(POSTS, params=query)).json()["items"]
            monkeypatch.setattr(pages, "FAR_OFFSET", 1)
            for number in range(1, 6):
                paged = query | {"page": number, "perPage": 2}
                body = (await owner.api.get(POSTS, params=paged)).json()
                assert body["items"] == whole[2 * number - 2 : 2 * number]
                assert body["totalItems"] == len(whole)
            monkeypatch.undo()

    async def test_the_last_page_of_many_skips_few_rows(
        self, tenant: TenantWorld, owner: Account, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(9):
            await tenant.post(title=f"{number}")
        monkeypatch.setattr(pages, "FAR_OFFSET", 1)
        fetch, skipped = RecordReader._fetch, list[int]()

        async def counted(*given: Any, **options: Any) -> Any:
            skipped.append(given[3].get("offset", 0))
            return await fetch(*given, **options)

        monkeypatch.setattr(RecordReader, "_fetch", counted)
        for number in range(1, 7):
            query = {"page": number, "perPage": 2}
            assert (await owner.api.get(POSTS, params=query)).status_code == 200
        # The sixth page is past the end: nothing is read.
        assert skipped == [0, 2, 3, 1, 0]


class TestOrder:
    async def test_the_newest_is_first_without_a_sort(self, tenant: TenantWorld) -> None:
        made = [(await tenant.published(title=title))["id"] for title in "bca"]
        items = (await tenant.guest.get(POSTS)).json()["items"]
        assert [item["id"] for item in items] == made[::-1]

    @pytest.mark.parametrize(
        ("sort", "expected"),
        [
            ("title", "abc"),
            ("-title", "cba"),
            ("+title", "abc"),
            ("created", "bca"),
            ("@rowid", "bca"),
            ("-@rowid", "acb"),
            ("visibility,-title", "cba"),
        ],
    )
    async def test_by_fields(self, tenant: TenantWorld, sort: str, expected: str) -> None:
        for title in "bca":
            await tenant.published(title=title)
        items = (await tenant.guest.get(POSTS, params={"sort": sort})).json()["items"]
        assert "".join(item["title"] for item in items) == expected

    async def test_at_random_is_a_permutation(self, tenant: TenantWorld) -> None:
        made = {(await tenant.published(title=f"{n}"))["id"] for n in range(5)}
        items = (await tenant.guest.get(POSTS, params={"sort": "@random"})).json()["items"]
        assert {item["id"] for item in items} == made

    async def test_an_empty_value_is_first_on_both_databases(
        self, tenant: TenantWorld, owner: Account
    ) -> None:
        for name in ("Zoe", "Ann"):
            reader = await tenant.member(name=name)
            await tenant.create("orders", {"email": reader.email, "member_id": reader.id})
        await tenant.create("orders", {"email": "guest@example.com"})
        for sort, expected in (
            ("member_id.name", ["", "Ann", "Zoe"]),
            ("-member_id.name", ["Zoe", "Ann", ""]),
        ):
            wanted = {"sort": sort, "expand": "member_id"}
            items = (await owner.api.get(records_of("orders"), params=wanted)).json()["items"]
            readers = [item.get("expand", {}).get("member_id", {}) for item in items]
            assert [reader.get("name", "") for reader in readers] == expected

    @pytest.mark.parametrize("sort", ["nope", "title;drop", "comments_via_post_id.nope", "-"])
    async def test_an_invalid_sort(self, owner: Account, sort: str) -> None:
        assert (await owner.api.get(POSTS, params={"sort": sort})).status_code == 400


class TestFields:
    async def test_only_requested_fields_are_returned(
        self, tenant: TenantWorld, published_post: Record
    ) -> None:
        wanted = {"fields": "id,collectionName,nope"}
        body = (await tenant.guest.get(POSTS, params=wanted)).json()
        assert body["items"] == [{"id": published_post["id"], "collectionName": "posts"}]
        one = await tenant.guest.get(f"{POSTS}/{published_post['id']}", params=wanted)
        assert one.json() == body["items"][0]

    async def test_an_excerpt(self, tenant: TenantWorld) -> None:
        await tenant.published(content_html="<p>tier <b>quick</b> over</p><script>no</script>")
        wanted = {"fields": "content_html:excerpt(10,true)"}
        items = (await tenant.guest.get(POSTS, params=wanted)).json()["items"]
        assert items == [{"content_html": "tier quick..."}]

    async def test_a_part_of_a_document(self, tenant: TenantWorld, owner: Account) -> None:
        document = {"type": "doc", "meta": {"lang": "en", "depth": 2}, "content": []}
        post = await tenant.post(content_json=document)
        for fields, shown in (
            ("content_json.meta.lang", {"meta": {"lang": "en"}}),
            ("content_json.nope", {}),
            ("content_json", document),
        ):
            one = await owner.api.get(f"{POSTS}/{post['id']}", params={"fields": fields})
            assert one.json() == {"content_json": shown}

    async def test_fields_of_expanded_records(self, tenant: TenantWorld, owner: Account) -> None:
        post = await tenant.published(title="Under")
        await tenant.create("comments", _comment(post["id"]))
        wanted = {"expand": "post_id", "fields": "body,expand.post_id.title"}
        items = (await owner.api.get(records_of("comments"), params=wanted)).json()["items"]
        assert items == [{"body": "words", "expand": {"post_id": {"title": "Under"}}}]


class TestExpand:
    async def test_forward_nested_and_back(self, tenant: TenantWorld, owner: Account) -> None:
        post = await tenant.published()
        comment = await tenant.create("comments", _comment(post["id"]))
        reply = await tenant.create("comments", _comment(post["id"], parent_id=comment["id"]))
        path = records_of("comments", reply["id"])
        wanted = {"expand": "parent_id.post_id,post_id.comments_via_post_id,nope,tenant_id"}
        expanded = (await owner.api.get(path, params=wanted)).json()["expand"]
        assert set(expanded) == {"parent_id", "post_id", "tenant_id"}
        assert expanded["parent_id"]["expand"]["post_id"]["id"] == post["id"]
        assert expanded["parent_id"]["collectionName"] == "comments"
        under = expanded["post_id"]["expand"]["comments_via_post_id"]
        assert [each["id"] for each in under] == [comment["id"], reply["id"]]
        assert expanded["tenant_id"]["slug"] == tenant.slug

    async def test_a_guest_gets_nothing_that_is_locked(
        self, tenant: TenantWorld, published_post: Record
    ) -> None:
        await tenant.create("comments", _comment(published_post["id"]))
        for expand in ("comments_via_post_id", "tenant_id", "tenant_id.owner_id", "nope"):
            answer = await tenant.guest.get(POSTS, params={"expand": expand})
            assert "expand" not in answer.json()["items"][0]

    async def test_what_is_too_deep_is_left_out(self, tenant: TenantWorld, owner: Account) -> None:
        post = await tenant.published()
        await tenant.create("comments", _comment(post["id"]))
        deep = ".".join(["comments_via_post_id", "post_id"] * 4)
        for expand in (deep, ",".join(["nope"] * 60)):
            assert (await owner.api.get(POSTS, params={"expand": expand})).status_code == 200
        level = (await owner.api.get(POSTS, params={"expand": deep})).json()["items"][0]
        depth = 0
        while "expand" in level:
            (related,) = level["expand"].values()
            level, depth = related[0] if isinstance(related, list) else related, depth + 1
        assert depth == 6

    async def test_too_long_a_text_is_refused(self, owner: Account) -> None:
        expand = ",".join(["nope"] * 1_000)
        assert (await owner.api.get(POSTS, params={"expand": expand})).status_code == 400


def test_a_query_may_hold_text_that_is_not_escaped() -> None:
    raw = "filter=title~'Größe'".encode()
    assert parse_query_string(raw, "utf-8") == {"filter": "title~'Größe'"}
    assert parse_query_string(b"filter=%C3%B6%ff\xff", "utf-8") == {"filter": "ö\ufffd\ufffd"}


def _comment(post_id: str, **values: str) -> dict[str, str]:
    return {"post_id": post_id, "author_name": "Ann", "body": "words"} | values
