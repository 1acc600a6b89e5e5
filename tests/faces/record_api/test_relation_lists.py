"""A field that names several records: a post's authors."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.v1.keys import key_client
from tests.world import Account, TenantWorld, World, records_of

from masthead.engine.records.fields.relation_list import RelationList
from masthead.features.posts.collection import posts

POSTS = records_of("posts")
STAFF = records_of("_superusers")
AUTHORS = posts.by_name["authors"]
assert isinstance(AUTHORS, RelationList)


@pytest.fixture
async def ada(tenant: TenantWorld) -> Account:
    return await tenant.owner(role="author", name="Ada Lovelace")


@pytest.fixture
async def bob(tenant: TenantWorld) -> Account:
    return await tenant.owner(role="author", name="Bob")


async def found(owner: Account, **wanted: str) -> list[str]:
    answer = await owner.api.get(POSTS, params={"sort": "created", **wanted})
    assert answer.status_code == 200, answer.text
    assert answer.json()["totalItems"] == len(answer.json()["items"])
    return [each["title"] for each in answer.json()["items"]]


async def created(owner: Account, authors: Any) -> httpx.Response:
    return await owner.api.post(POSTS, json={"title": "Ours", "authors": authors})


class TestValues:
    async def test_ids_stay_in_the_order_given_and_once_each(
        self, owner: Account, ada: Account, bob: Account
    ) -> None:
        made = await created(owner, [bob.id, ada.id, bob.id])
        assert made.json()["authors"] == [bob.id, ada.id]
        one = f"{POSTS}/{made.json()['id']}"
        assert (await owner.api.get(one)).json()["authors"] == [bob.id, ada.id]
        turned = await owner.api.patch(one, json={"authors": [ada.id, bob.id]})
        assert turned.json()["authors"] == [ada.id, bob.id]
        assert (await owner.api.get(one)).json()["authors"] == [ada.id, bob.id]

    async def test_nothing_is_an_empty_list(self, owner: Account) -> None:
        for value in (None, [], ""):
            assert (await created(owner, value)).json()["authors"] == []

    @pytest.mark.parametrize("role", ["owner", "editor", "author"])
    async def test_the_person_who_begins_a_post_is_its_author(
        self, tenant: TenantWorld, owner: Account, ada: Account, role: str
    ) -> None:
        person = await tenant.owner(role=role, name="Bea")
        made = await person.api.post(POSTS, json={"title": "Mine"})
        assert made.json()["authors"] == [person.id]
        one = f"{POSTS}/{made.json()['id']}"
        for authors in ([ada.id], []):
            await owner.api.patch(one, json={"authors": authors})
            changed = await owner.api.patch(one, json={"title": f"By {len(authors)}"})
            assert changed.json()["authors"] == authors

    async def test_operators_and_keys_are_nobodys_author(
        self, tenant: TenantWorld, owner: Account, operator: Account
    ) -> None:
        given = {"title": "Theirs", "tenant_id": tenant.id}
        assert (await operator.api.post(POSTS, json=given)).json()["authors"] == []
        key = await key_client(tenant)
        made = await key.post("/api/v1/posts", json={"title": "The key's"})
        one = f"{POSTS}/{made.json()['data']['id']}"
        assert (await owner.api.get(one)).json()["authors"] == []

    async def test_one_is_added_and_removed(
        self, owner: Account, ada: Account, bob: Account
    ) -> None:
        one = f"{POSTS}/{(await created(owner, ada.id)).json()['id']}"
        added = await owner.api.patch(one, json={"authors+": bob.id})
        assert added.json()["authors"] == [ada.id, bob.id]
        removed = await owner.api.patch(one, json={"authors-": [ada.id]})
        assert removed.json()["authors"] == [bob.id]

    async def test_an_id_that_is_no_record_of_the_tenant_is_refused(
        self, owner: Account, ada: Account, other_tenant: TenantWorld, member: Account
    ) -> None:
        stranger = await other_tenant.owner()
        for wrong in ("abcdefghij01234", "not an id", stranger.id, member.id, owner.email):
            for answer in (
                await created(owner, [ada.id, wrong]),
                await owner.api.patch(
                    f"{POSTS}/{(await created(owner, [])).json()['id']}",
                    json={"authors": [ada.id, wrong]},
                ),
            ):
                assert answer.status_code == 400
                problem = answer.json()["data"]["authors"]
                assert problem["code"] == "validation_missing_rel_records"

    async def test_there_is_a_most(self, owner: Account) -> None:
        many = [f"abcdefghij{number:05}" for number in range(AUTHORS.max_items + 1)]
        answer = await created(owner, many)
        code = answer.json()["data"]["authors"]["code"]
        assert (answer.status_code, code) == (400, "validation_max_items_constraint")

    @pytest.mark.parametrize("value", [7, {"id": 1}, [7], [None], [["x"]]])
    async def test_other_values_are_refused(self, owner: Account, value: Any) -> None:
        answer = await created(owner, value)
        assert (answer.status_code, list(answer.json()["data"])) == (400, ["authors"])


class TestFilters:
    @pytest.fixture(autouse=True)
    async def _posts(self, tenant: TenantWorld, ada: Account, bob: Account) -> None:
        await tenant.post(title="Ada's", authors=[ada.id])
        await tenant.post(title="Both's", authors=[bob.id, ada.id])
        await tenant.post(title="Nobody's")

    async def test_by_id_as_tags_are(self, owner: Account, ada: Account, bob: Account) -> None:
        assert await found(owner, filter=f"authors ?= '{ada.id}'") == ["Ada's", "Both's"]
        assert await found(owner, filter=f"authors ?= '{bob.id}'") == ["Both's"]
        assert await found(owner, filter=f"authors ?!= '{ada.id}'") == ["Both's"]
        assert await found(owner, filter=f"authors ~ '{bob.id}'") == ["Both's"]
        assert await found(owner, filter="authors = '[]'") == ["Nobody's"]

    async def test_filtering_by_fields_of_the_authors(self, owner: Account) -> None:
        assert await found(owner, filter="authors.name ?= 'Bob'") == ["Both's"]
        assert await found(owner, filter="authors.name ?~ 'lovelace'") == ["Ada's", "Both's"]
        # Without `?` every author must match, as PocketBase has it.
        assert await found(owner, filter="authors.name = 'Ada Lovelace'") == ["Ada's"]
        both = "authors.name ?= 'Bob' && title ~ 'ada'"
        assert await found(owner, filter=both) == []

    async def test_from_the_other_side(self, owner: Account, ada: Account, bob: Account) -> None:
        wanted = {"filter": "posts_via_authors.title ?= 'Both\\'s'", "sort": "name"}
        answer = await owner.api.get(STAFF, params=wanted)
        assert [each["name"] for each in answer.json()["items"]] == ["Ada Lovelace", "Bob"]

    async def test_guests_can_not_filter_by_them(self, tenant: TenantWorld) -> None:
        for params in ({"filter": "authors.email ?~ '@'"}, {"sort": "authors.email"}):
            answer = await tenant.guest.get(POSTS, params=params)
            assert answer.status_code == 400

    async def test_sorting_by_the_first_author(self, owner: Account) -> None:
        assert await found(owner, sort="authors.name") == ["Nobody's", "Ada's", "Both's"]
        assert await found(owner, sort="-authors.name") == ["Both's", "Ada's", "Nobody's"]


class TestExpand:
    async def test_the_records_are_in_the_lists_order(
        self, tenant: TenantWorld, owner: Account, ada: Account, bob: Account
    ) -> None:
        post = await tenant.post(authors=[bob.id, ada.id])
        for params in ({"expand": "authors"}, {"expand": "authors", "fields": "id,expand"}):
            answer = await owner.api.get(f"{POSTS}/{post['id']}", params=params)
            shown = answer.json()["expand"]["authors"]
            assert [each["name"] for each in shown] == ["Bob", "Ada Lovelace"]
            assert not {"password_hash", "token_key"} & set(shown[0])

    async def test_a_list_of_one_is_a_list(
        self, tenant: TenantWorld, owner: Account, ada: Account
    ) -> None:
        await tenant.post(authors=[ada.id])
        await tenant.post()
        items = (await owner.api.get(POSTS, params={"expand": "authors"})).json()["items"]
        assert ["expand" in each for each in items] == [False, True]
        assert [each["id"] for each in items[1]["expand"]["authors"]] == [ada.id]

    async def test_from_the_other_side(
        self, tenant: TenantWorld, owner: Account, ada: Account, bob: Account
    ) -> None:
        for title, authors in (("One", [ada.id]), ("Two", [bob.id, ada.id])):
            await tenant.post(title=title, authors=authors)
        expand = {"expand": "posts_via_authors"}
        answer = await owner.api.get(f"{STAFF}/{ada.id}", params=expand)
        titles = [each["title"] for each in answer.json()["expand"]["posts_via_authors"]]
        assert titles == ["One", "Two"]

    async def test_guests_get_ids_and_no_accounts(self, tenant: TenantWorld, ada: Account) -> None:
        post = await tenant.published(authors=[ada.id])
        answer = await tenant.guest.get(f"{POSTS}/{post['id']}", params={"expand": "authors"})
        assert answer.json()["authors"] == [ada.id]
        assert "expand" not in answer.json()
        assert ada.email not in answer.text


class TestDeletion:
    async def test_a_deleted_author_is_removed_from_the_posts(
        self, tenant: TenantWorld, owner: Account, ada: Account, bob: Account
    ) -> None:
        both = await tenant.published(authors=[bob.id, ada.id])
        hers = await tenant.post(authors=[ada.id])
        assert (await owner.api.delete(f"{STAFF}/{ada.id}")).status_code == 204
        after = [(await owner.api.get(f"{POSTS}/{each['id']}")).json() for each in (both, hers)]
        assert [each["authors"] for each in after] == [[bob.id], []]
        assert await found(owner, filter=f"authors ?= '{ada.id}'") == []
        name, payload = (await tenant.events())[-1]
        assert (name, payload["changed"]) == ("post.updated", ["authors"])

    async def test_a_new_account_of_the_same_id_has_none_of_the_posts(
        self, app: World, tenant: TenantWorld, owner: Account, ada: Account
    ) -> None:
        post = await tenant.post(authors=[ada.id])
        await owner.api.delete(f"{STAFF}/{ada.id}")
        again = await tenant.owner(id=ada.id, role="author")
        assert (await again.api.get(f"{POSTS}/{post['id']}")).status_code == 404


class TestAddresses:
    async def test_a_name_becomes_a_slug_of_its_own(self, tenant: TenantWorld) -> None:
        made = [
            await tenant.create("_superusers", {"email": f"{n}@example.com", "name": "Ann Ö"})
            for n in range(3)
        ]
        assert [each["slug"] for each in made] == ["ann-o", "ann-o-2", "ann-o-3"]

    async def test_without_a_name_there_is_none_until_there_is_one(
        self, tenant: TenantWorld, owner: Account
    ) -> None:
        nameless = [await tenant.owner(role="author") for _ in range(2)]
        for each, slug in zip(nameless, ("zoe", "zoe-2"), strict=True):
            assert (await each.api.get(f"{STAFF}/{each.id}")).json()["slug"] == ""
            named = await each.api.patch(f"{STAFF}/{each.id}", json={"name": "Zoë"})
            assert (named.status_code, named.json()["slug"]) == (200, slug)
            renamed = await each.api.patch(f"{STAFF}/{each.id}", json={"name": "Else"})
            assert renamed.json()["slug"] == slug
        taken = await owner.api.patch(f"{STAFF}/{nameless[0].id}", json={"slug": "zoe-2"})
        assert (taken.status_code, list(taken.json()["data"])) == (400, ["slug"])
