"""Creating, updating and deleting records through the record store."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.world import Account, TenantWorld, World, records_of

from masthead.engine.records.collection import Record

pytestmark = pytest.mark.both_databases

POSTS = records_of("posts")


def problems(answer: httpx.Response) -> dict[str, str]:
    assert answer.status_code == 400, answer.text
    body = answer.json()
    assert (body["status"], body["code"]) == (400, "validation_invalid_data")
    return {name: problem["code"] for name, problem in body["data"].items()}


class TestCreate:
    async def test_it_answers_with_the_record(self, tenant: TenantWorld, owner: Account) -> None:
        answer = await owner.api.post(POSTS, json={"title": "Hello big world", "tags": ["a"]})
        assert answer.status_code == 200
        post = answer.json()
        assert (post["slug"], post["status"], post["visibility"], post["published_at"]) == (
            "hello-big-world",
            "draft",
            "public",
            "",
        )
        assert (post["tenant_id"], post["tags"]) == (tenant.id, ["a"])
        assert (await owner.api.get(f"{POSTS}/{post['id']}")).json() == post

    async def test_fields_and_expand_shape_the_answer(self, owner: Account) -> None:
        wanted = {"fields": "title,expand.tenant_id.plan", "expand": "tenant_id"}
        answer = await owner.api.post(POSTS, params=wanted, json={"title": "x"})
        assert answer.json() == {"title": "x", "expand": {"tenant_id": {"plan": "business"}}}

    @pytest.mark.parametrize("query", ["fields=a(b", "fields=title:nope(1)"])
    async def test_a_query_that_cant_be_read_changes_nothing(
        self, owner: Account, draft: Record, query: str
    ) -> None:
        assert (await owner.api.post(f"{POSTS}?{query}", json={"title": "x"})).status_code == 400
        path = f"{POSTS}/{draft['id']}?{query}"
        assert (await owner.api.patch(path, json={"title": "x"})).status_code == 400
        items = (await owner.api.get(POSTS)).json()["items"]
        assert [item["title"] for item in items] == ["A draft"]

    async def test_an_id_of_ones_own(self, owner: Account) -> None:
        chosen = {"title": "x", "id": "abcdefghij01234"}
        assert (await owner.api.post(POSTS, json=chosen)).json()["id"] == "abcdefghij01234"
        assert problems(await owner.api.post(POSTS, json=chosen)) == {"id": "validation_not_unique"}

    @pytest.mark.parametrize("chosen", ["short", "ABCDEFGHIJ01234", "../../../../etc/", 5, ["a"]])
    async def test_an_id_that_is_none(self, owner: Account, chosen: Any) -> None:
        answer = await owner.api.post(POSTS, json={"title": "x", "id": chosen})
        assert problems(answer) == {"id": "validation_invalid_format"}

    async def test_the_same_id_may_exist_in_another_tenant(
        self, owner: Account, other_tenant: TenantWorld, published_post: Record
    ) -> None:
        """Otherwise the answer would tell which ids others have."""
        other = await other_tenant.owner()
        answer = await other.api.post(POSTS, json={"title": "Mine", "id": published_post["id"]})
        assert answer.status_code == 200
        mine = await other.api.get(f"{POSTS}/{published_post['id']}")
        theirs = await owner.api.get(f"{POSTS}/{published_post['id']}")
        assert (mine.json()["title"], theirs.json()["title"]) == ("Mine", "Hello big world")

    async def test_unknown_fields_are_ignored(self, owner: Account) -> None:
        sent = {"title": "x", "nope": 1, "created": "2020-01-01", "version": 9, "collectionId": "?"}
        answer = await owner.api.post(POSTS, json=sent)
        assert answer.status_code == 200
        assert answer.json()["created"].startswith("2026-11-14T")
        assert "nope" not in answer.json()

    @pytest.mark.parametrize(
        ("sent", "field", "code"),
        [
            ({}, "title", "validation_required"),
            ({"title": ""}, "title", "validation_required"),
            ({"title": None}, "title", "validation_required"),
            ({"title": "x" * 256}, "title", "validation_max_text_constraint"),
            ({"title": ["x"]}, "title", "validation_invalid_type"),
            ({"title": "x", "status": "nope"}, "status", "validation_invalid_value"),
            ({"title": "x", "tags": [1]}, "tags", "validation_invalid_type"),
            ({"title": "x", "tags": ["x" * 101]}, "tags", "validation_max_text_constraint"),
            ({"title": "x", "published_at": "soon"}, "published_at", "validation_invalid_date"),
            ({"title": "x", "published_at": 5}, "published_at", "validation_invalid_date"),
            ({"title": "x", "featured_image": "js:x"}, "featured_image", "validation_invalid_url"),
            ({"title": "x", "seo_title": "x" * 61}, "seo_title", "validation_max_text_constraint"),
        ],
    )
    async def test_invalid_values_are_refused(
        self, owner: Account, sent: dict[str, Any], field: str, code: str
    ) -> None:
        assert problems(await owner.api.post(POSTS, json=sent)) == {field: code}

    async def test_all_problems_are_reported_together(self, owner: Account) -> None:
        sent = {"status": "nope", "visibility": "nope"}
        answer = await owner.api.post(POSTS, json=sent)
        assert set(problems(answer)) == {"title", "status", "visibility"}
        assert answer.json()["message"] == "Failed to create record."

    @pytest.mark.parametrize(
        "sent",
        ["2026-01-02 03:04:05.678Z", "2026-01-02T03:04:05.678Z", "2026-01-02T05:04:05.678+02:00"],
    )
    async def test_a_moment_in_any_spelling(self, owner: Account, sent: str) -> None:
        answer = await owner.api.post(
            POSTS, json={"title": "x", "status": "published", "published_at": sent}
        )
        assert answer.json()["published_at"] == "2026-01-02T03:04:05.678Z"

    async def test_a_form_is_as_good_as_json(self, owner: Account) -> None:
        form = {"title": (None, "x"), "tags": (None, '["a","b"]'), "content_json": (None, "{}")}
        post = (await owner.api.post(POSTS, files=form)).json()
        assert (post["title"], post["tags"], post["content_json"]) == ("x", ["a", "b"], {})


class TestSlugs:
    async def test_numbers_on_collision(self, owner: Account) -> None:
        slugs = [
            (await owner.api.post(POSTS, json={"title": "Ünïque title!"})).json()["slug"]
            for _ in range(4)
        ]
        base = "unique-title"
        assert slugs == [base, f"{base}-2", f"{base}-3", f"{base}-4"]

    async def test_a_given_slug_that_is_taken(self, owner: Account, draft: Record) -> None:
        taken = {"title": "x", "slug": draft["slug"]}
        expected = {"slug": "validation_not_unique"}
        assert problems(await owner.api.post(POSTS, json=taken)) == expected
        second = (await owner.api.post(POSTS, json={"title": "x"})).json()
        path = f"{POSTS}/{second['id']}"
        assert problems(await owner.api.patch(path, json={"slug": draft["slug"]})) == expected

    async def test_it_stays_when_the_title_changes(self, owner: Account, draft: Record) -> None:
        path = f"{POSTS}/{draft['id']}"
        for sent in ({"title": "Other"}, {"slug": ""}):
            assert (await owner.api.patch(path, json=sent)).json()["slug"] == "a-draft"


class TestUpdate:
    async def test_only_given_fields_change(
        self, app: World, owner: Account, draft: Record
    ) -> None:
        app.clock.advance(minutes=1)
        post = (await owner.api.patch(f"{POSTS}/{draft['id']}", json={"excerpt": "e"})).json()
        assert (post["title"], post["excerpt"]) == ("A draft", "e")
        assert post["updated"] > post["created"] == draft["created"]

    async def test_nothing_different_is_no_change(
        self, app: World, tenant: TenantWorld, owner: Account, published_post: Record
    ) -> None:
        before = await tenant.events()
        app.clock.advance(minutes=1)
        for sent in ({}, {"title": published_post["title"]}, {"nope": 1}):
            answer = await owner.api.patch(f"{POSTS}/{published_post['id']}", json=sent)
            assert answer.json()["updated"] == published_post["updated"]
        assert await tenant.events() == before

    async def test_a_whole_record_may_be_sent_back(
        self, owner: Account, published_post: Record
    ) -> None:
        path = f"{POSTS}/{published_post['id']}"
        whole = (await owner.api.get(path)).json()
        answer = await owner.api.patch(path, json=whole | {"title": "New"})
        assert answer.status_code == 200
        assert answer.json()["title"] == "New"

    async def test_the_id_stays(self, owner: Account, draft: Record) -> None:
        answer = await owner.api.patch(f"{POSTS}/{draft['id']}", json={"id": "abcdefghij01234"})
        assert problems(answer) == {"id": "validation_immutable"}

    async def test_a_comment_stays_under_its_post(
        self, tenant: TenantWorld, owner: Account, draft: Record, published_post: Record
    ) -> None:
        comment = await tenant.create("comments", _comment(draft["id"]))
        answer = await owner.api.patch(
            records_of("comments", comment["id"]), json={"post_id": published_post["id"]}
        )
        assert problems(answer) == {"post_id": "validation_immutable"}

    @pytest.mark.parametrize("record_id", ["abcdefghij01234", "nope", "a%00b", "%F0%9F%98%80"])
    async def test_an_unknown_record(self, owner: Account, record_id: str) -> None:
        path = f"{POSTS}/{record_id}"
        answers = [
            await owner.api.get(path),
            await owner.api.patch(path, json={"title": "x"}),
            await owner.api.delete(path),
        ]
        assert [answer.status_code for answer in answers] == [404, 404, 404]
        assert answers[0].json()["code"] == "not_found"


class TestModifiers:
    @pytest.mark.parametrize(
        ("before", "sent", "after"),
        [
            (10, {"price+": 5}, 15),
            (10, {"price-": 4}, 6),
            (10, {"price+": "5"}, 15),
            (10, {"price+": None}, 10),
            (0, {"price": 3, "price+": 4}, 4),
        ],
    )
    async def test_numbers(
        self, tenant: TenantWorld, owner: Account, before: int, sent: dict[str, Any], after: int
    ) -> None:
        product = await tenant.create("products", {"name": "Mug", "price": before})
        answer = await owner.api.patch(records_of("products", product["id"]), json=sent)
        assert answer.json()["price"] == after

    @pytest.mark.parametrize(
        ("sent", "after"),
        [
            ({"tags+": "c"}, ["a", "b", "c"]),
            ({"tags+": ["c", "a"]}, ["a", "b", "c"]),
            ({"+tags": "c"}, ["c", "a", "b"]),
            ({"+tags": ["c", "b"]}, ["c", "b", "a"]),
            ({"tags-": "a"}, ["b"]),
            ({"tags-": ["a", "b", "x"]}, []),
        ],
    )
    async def test_lists(
        self, tenant: TenantWorld, owner: Account, sent: dict[str, Any], after: list[str]
    ) -> None:
        post = await tenant.post(tags=["a", "b"])
        answer = await owner.api.patch(f"{POSTS}/{post['id']}", json=sent)
        assert answer.json()["tags"] == after

    async def test_at_creation_they_start_from_nothing(self, owner: Account) -> None:
        answer = await owner.api.post(records_of("products"), json={"name": "Mug", "price+": 5})
        assert answer.json()["price"] == 5

    @pytest.mark.parametrize("sent", [{"price-": 11}, {"price+": "x"}, {"price+": 2**60}])
    async def test_the_result_obeys_the_limits(
        self, tenant: TenantWorld, owner: Account, sent: dict[str, Any]
    ) -> None:
        product = await tenant.create("products", {"name": "Mug", "price": 10})
        path = records_of("products", product["id"])
        assert set(problems(await owner.api.patch(path, json=sent))) == {"price"}


class TestRelations:
    async def test_a_related_record_must_exist(
        self, owner: Account, other_tenant: TenantWorld
    ) -> None:
        elsewhere = await other_tenant.published()
        for post_id in ("abcdefghij01234", "nope", elsewhere["id"]):
            answer = await owner.api.post(records_of("comments"), json=_comment(post_id))
            assert problems(answer) == {"post_id": "validation_missing_rel_records"}

    async def test_a_reply_belongs_to_the_same_post(
        self, tenant: TenantWorld, owner: Account, draft: Record, published_post: Record
    ) -> None:
        parent = await tenant.create("comments", _comment(draft["id"]))
        sent = _comment(published_post["id"], parent_id=parent["id"])
        answer = await owner.api.post(records_of("comments"), json=sent)
        assert problems(answer) == {"parent_id": "validation_missing_rel_records"}

    async def test_comments_are_deleted_with_their_post_and_replies_outlive_their_parent(
        self, tenant: TenantWorld, owner: Account, published_post: Record
    ) -> None:
        parent = await tenant.create("comments", _comment(published_post["id"]))
        reply = await tenant.create(
            "comments", _comment(published_post["id"], parent_id=parent["id"])
        )
        assert (await owner.api.delete(records_of("comments", parent["id"]))).status_code == 204
        kept = (await owner.api.get(records_of("comments", reply["id"]))).json()
        assert kept["parent_id"] == ""
        answer = await owner.api.delete(f"{POSTS}/{published_post['id']}")
        assert (answer.status_code, answer.content) == (204, b"")
        listed = (await owner.api.get(records_of("comments"))).json()
        assert (listed["totalItems"], listed["items"]) == (0, [])
        again = await owner.api.delete(f"{POSTS}/{published_post['id']}")
        assert again.status_code == 404


class TestWhatASiteForbids:
    async def test_a_read_only_site_takes_no_changes(
        self, tenant: TenantWorld, owner: Account, draft: Record, operator: Account
    ) -> None:
        await tenant.settings(read_only_mode=True)
        path = f"{POSTS}/{draft['id']}"
        for answer in (
            await owner.api.post(POSTS, json={"title": "x"}),
            await owner.api.patch(path, json={"title": "x"}),
            await owner.api.delete(path),
        ):
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        assert (await owner.api.get(path)).status_code == 200
        assert (await operator.api.patch(path, json={"title": "x"})).status_code == 200

    async def test_a_guest_learns_first_that_they_are_one(
        self, tenant: TenantWorld, draft: Record
    ) -> None:
        await tenant.settings(read_only_mode=True)
        path = f"{POSTS}/{draft['id']}"
        answers = [
            await tenant.guest.post(POSTS, json={"title": "x"}),
            await tenant.guest.patch(path, json={"title": "x"}),
            await tenant.guest.delete(path),
        ]
        assert [answer.status_code for answer in answers] == [401, 401, 401]

    async def test_disabled_comments(
        self, tenant: TenantWorld, owner: Account, published_post: Record
    ) -> None:
        comment = await tenant.create("comments", _comment(published_post["id"]))
        await tenant.settings(comments_enabled=False)
        answer = await owner.api.post(records_of("comments"), json=_comment(published_post["id"]))
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        path = records_of("comments", comment["id"])
        assert (await owner.api.patch(path, json={"status": "spam"})).status_code == 200

    async def test_only_an_operator_deletes_the_settings(
        self, tenant: TenantWorld, owner: Account, member: Account, operator: Account
    ) -> None:
        (settings,) = (await owner.api.get(records_of("site_settings"))).json()["items"]
        path = records_of("site_settings", settings["id"])
        answers = [await api.delete(path) for api in (tenant.guest, member.api, owner.api)]
        assert [answer.status_code for answer in answers] == [401, 403, 403]
        assert (await operator.api.delete(path)).status_code == 204

    async def test_one_settings_record_is_enough(self, tenant: TenantWorld, owner: Account) -> None:
        sent = {"site_name": "Second"}
        answer = await owner.api.post(records_of("site_settings"), json=sent)
        assert answer.status_code in (400, 403)
        assert (await owner.api.get(records_of("site_settings"))).json()["totalItems"] == 1


async def test_a_file_keeps_its_name(tenant: TenantWorld, owner: Account) -> None:
    """The name is the key of the bytes: another one would reach for another's file."""
    made = await owner.api.post(records_of("media"), files={"file": ("a.txt", b"text")})
    path = records_of("media", made.json()["id"])
    for name in ("../../x/media/y/z.txt", "b.txt", ""):
        answer = await owner.api.patch(path, json={"file": name})
        assert set(problems(answer)) == {"file"}
    assert (await owner.api.patch(path, json={"alt": "words"})).json()["file"] == made.json()[
        "file"
    ]


def _comment(post_id: str, **values: str) -> dict[str, str]:
    return {"post_id": post_id, "author_name": "Ann", "body": "words"} | values


@pytest.mark.parametrize(
    "collection", ["api_keys", "webhook_subscriptions", "webhook_deliveries", "gdpr_requests"]
)
async def test_some_records_are_created_by_other_endpoints_only(
    owner: Account, collection: str
) -> None:
    answer = await owner.api.post(records_of(collection), json={"name": "x"})
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert "Only these create such a record: " in answer.json()["message"]
