"""Who may see and change what: guests, members, owners and operators, each in their own tenant."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.world import PASSWORD, Account, TenantWorld, World, records_of

from masthead.engine.records.collection import Record
from masthead.service.schema import registry

POSTS = records_of("posts")
LOCKED = sorted(
    {each.name for each in registry.collections} - {"posts", "blog_members", "tiers"},
)


def shown(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["items"]]


class TestLockedCollections:
    @pytest.mark.parametrize("collection", LOCKED)
    async def test_guests_and_members_are_refused(
        self, tenant: TenantWorld, member: Account, collection: str
    ) -> None:
        for api, status, code in (
            (tenant.guest, 401, "unauthorized"),
            (member.api, 403, "forbidden"),
        ):
            one = records_of(collection, "abcdefghij01234")
            for answer in (
                await api.get(records_of(collection)),
                await api.get(one),
                await api.post(records_of(collection), json={}),
                await api.patch(one, json={"password": "x" * 10}),
                await api.delete(one),
            ):
                assert (answer.status_code, answer.json()["code"]) == (status, code)
                body = answer.json()
                assert set(body) == {"status", "code", "message", "data"}
                assert (body["status"], body["data"]) == (status, {})

    @pytest.mark.parametrize("collection", LOCKED)
    async def test_an_owner_may_list_them(self, owner: Account, collection: str) -> None:
        assert (await owner.api.get(records_of(collection))).status_code == 200

    async def test_an_unknown_collection(self, owner: Account) -> None:
        answer = await owner.api.get(records_of("nope"))
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")

    async def test_a_collection_by_its_id(self, owner: Account, draft: Record) -> None:
        by_id = records_of(registry["posts"].id)
        assert shown(await owner.api.get(by_id)) == [draft["id"]]


class TestPosts:
    async def test_posts_visible_to_readers(
        self, app: World, tenant: TenantWorld, member: Account, owner: Account
    ) -> None:
        public = await tenant.published()
        hidden = [
            await tenant.post(),
            await tenant.published(visibility="members"),
            await tenant.published(visibility="paid"),
            await tenant.published(published_at="2030-01-01T00:00:00Z"),
        ]
        for api in (tenant.guest, member.api):
            assert shown(await api.get(POSTS)) == [public["id"]]
            assert (await api.get(f"{POSTS}/{public['id']}")).status_code == 200
            for post in hidden:
                answer = await api.get(f"{POSTS}/{post['id']}")
                assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert len(shown(await owner.api.get(POSTS))) == 5

    async def test_a_scheduled_post_becomes_visible_at_its_time(
        self, app: World, tenant: TenantWorld
    ) -> None:
        due = await tenant.published(published_at="2026-11-14T10:00:00Z")
        assert shown(await tenant.guest.get(POSTS)) == []
        app.clock.advance(hours=1)
        assert shown(await tenant.guest.get(POSTS)) == [due["id"]]

    async def test_the_services_own_host_shows_posts_of_all_tenants_without_tenant_id(
        self, app: World, tenant: TenantWorld, other_tenant: TenantWorld
    ) -> None:
        mine, theirs = await tenant.published(), await other_tenant.published()
        await tenant.post()
        wanted = {"filter": f"id = '{mine['id']}' || id = '{theirs['id']}'"}
        answer = await app.client().get(POSTS, params=wanted)
        assert shown(answer) == [theirs["id"], mine["id"]]
        assert all("tenant_id" not in item for item in answer.json()["items"])
        assert (await app.client().get(f"{POSTS}/{mine['id']}")).status_code == 200

    @pytest.mark.parametrize("who", ["guest", "member"])
    async def test_only_administrators_write(
        self, app: World, tenant: TenantWorld, published_post: Record, who: str
    ) -> None:
        account = await tenant.member()
        api = tenant.guest if who == "guest" else account.api
        path = f"{POSTS}/{published_post['id']}"
        answers = [
            await api.post(POSTS, json={"title": "x"}),
            await api.patch(path, json={"title": "x"}),
            await api.delete(path),
        ]
        expected = 401 if who == "guest" else 403
        assert {answer.status_code for answer in answers} == {expected}


class TestMembers:
    PATH = records_of("blog_members")

    async def test_a_member_sees_only_themselves(
        self, tenant: TenantWorld, member: Account
    ) -> None:
        other = await tenant.member()
        answer = await member.api.get(self.PATH)
        assert shown(answer) == [member.id]
        assert answer.json()["totalItems"] == 1
        assert (await member.api.get(f"{self.PATH}/{other.id}")).status_code == 404
        assert shown(await tenant.guest.get(self.PATH)) == []
        assert (await tenant.guest.get(f"{self.PATH}/{member.id}")).status_code == 404

    @pytest.mark.parametrize(
        ("sent", "status"),
        [
            ({"name": "Ann"}, 200),
            ({"newsletter": True}, 200),
            ({"tier": "free", "status": "active"}, 200),
            ({"tier": "paid"}, 403),
            ({"status": "cancelled"}, 403),
            ({"payment_customer_id": "cus_1"}, 403),
            ({"verified": True}, 403),
            ({"email": "no address"}, 400),
            ({"password": "another password"}, 400),
            ({"token_key": "x" * 40, "password_hash": "x"}, 200),
        ],
    )
    async def test_fields_that_a_member_may_change(
        self, member: Account, sent: dict[str, Any], status: int
    ) -> None:
        path = f"{self.PATH}/{member.id}"
        before = (await member.api.get(path)).json()
        answer = await member.api.patch(path, json=sent)
        assert answer.status_code == status, answer.text
        after = (await member.api.get(path)).json()
        known = sent.items() & before.items() if status != 200 else sent.items()
        assert all(after[name] == value for name, value in known if name in before)
        if status != 200:
            assert after == before

    async def test_a_member_can_not_change_or_delete_another(
        self, tenant: TenantWorld, member: Account
    ) -> None:
        other = await tenant.member()
        for api in (tenant.guest, other.api):
            for sent in ({"name": "x"}, {"password": "another password", "oldPassword": "x"}):
                answer = await api.patch(f"{self.PATH}/{member.id}", json=sent)
                assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert (await other.api.delete(f"{self.PATH}/{member.id}")).status_code == 403
        assert (await member.api.delete(f"{self.PATH}/{member.id}")).status_code == 403


class TestTenantsApart:
    async def test_an_owner_sees_nothing_of_another(
        self, owner: Account, other_tenant: TenantWorld
    ) -> None:
        post = await other_tenant.published()
        reader = await other_tenant.member()
        theirs = await other_tenant.owner()
        for collection, record_id in (
            ("posts", post["id"]),
            ("blog_members", reader.id),
            ("_superusers", theirs.id),
            ("tenants", other_tenant.id),
        ):
            path = records_of(collection, record_id)
            assert (await owner.api.get(path)).status_code == 404
            assert (await owner.api.patch(path, json={"name": "x"})).status_code == 404
            assert record_id not in shown(await owner.api.get(records_of(collection)))
        assert (await owner.api.delete(records_of("posts", post["id"]))).status_code == 404

    async def test_a_session_of_one_tenant_is_a_guest_at_another(
        self, app: World, tenant: TenantWorld, owner: Account, other_tenant: TenantWorld
    ) -> None:
        await other_tenant.post()
        public = await other_tenant.published()
        visiting = app.client(other_tenant.host, token=owner.token)
        assert shown(await visiting.get(POSTS)) == [public["id"]]
        assert (await visiting.post(POSTS, json={"title": "x"})).status_code == 401
        header = {"x-tenant-id": other_tenant.id}
        bare = app.client(token=owner.token)
        assert (await bare.post(POSTS, json={"title": "x"}, headers=header)).status_code == 401

    async def test_on_the_bare_host_an_owner_is_at_home(
        self, app: World, tenant: TenantWorld, owner: Account, draft: Record
    ) -> None:
        bare = app.client(token=owner.token)
        assert shown(await bare.get(POSTS)) == [draft["id"]]
        made = (await bare.post(POSTS, json={"title": "x"})).json()
        assert made["tenant_id"] == tenant.id

    async def test_a_body_cant_choose_another_tenant(
        self, tenant: TenantWorld, owner: Account, other_tenant: TenantWorld, draft: Record
    ) -> None:
        own = {"title": "x", "tenant_id": tenant.id}
        assert (await owner.api.post(POSTS, json=own)).status_code == 200
        for named in (other_tenant.id, "abcdefghij01234", 5, ["x"], "\u0000"):
            answer = await owner.api.post(POSTS, json={"title": "x", "tenant_id": named})
            assert answer.status_code == 400
        moved = await owner.api.patch(f"{POSTS}/{draft['id']}", json={"tenant_id": other_tenant.id})
        assert moved.status_code == 403
        guest = other_tenant.guest
        assert shown(await guest.get(POSTS)) == []


class TestOperators:
    async def test_an_operator_sees_every_tenant(
        self, operator: Account, tenant: TenantWorld, other_tenant: TenantWorld
    ) -> None:
        made = [await tenant.post(), await other_tenant.post()]
        wanted = {"filter": " || ".join(f"id = '{post['id']}'" for post in made)}
        items = (await operator.api.get(POSTS, params=wanted)).json()["items"]
        assert {item["tenant_id"] for item in items} == {tenant.id, other_tenant.id}

    async def test_on_a_tenants_host_it_is_that_tenant(
        self, app: World, operator: Account, tenant: TenantWorld, other_tenant: TenantWorld
    ) -> None:
        mine, _ = await tenant.post(), await other_tenant.post()
        visiting = app.client(tenant.host, token=operator.token)
        assert shown(await visiting.get(POSTS)) == [mine["id"]]

    async def test_a_body_names_the_tenant(self, operator: Account, tenant: TenantWorld) -> None:
        sent = {"title": "x", "tenant_id": tenant.id}
        made = await operator.api.post(POSTS, json=sent)
        assert made.json()["tenant_id"] == tenant.id
        path = f"{POSTS}/{made.json()['id']}"
        assert (await operator.api.patch(path, json={"title": "y"})).json()["title"] == "y"
        assert (await operator.api.delete(path)).status_code == 204

    @pytest.mark.parametrize("named", [{}, {"tenant_id": ""}, {"tenant_id": "abcdefghij01234"}])
    async def test_without_a_tenant_nothing_is_made(
        self, operator: Account, named: dict[str, str]
    ) -> None:
        answer = await operator.api.post(POSTS, json={"title": "x"} | named)
        assert answer.status_code == 400
        assert set(answer.json()["data"]) == {"tenant_id"}

    async def test_an_owner_sets_only_allowed_fields(
        self, tenant: TenantWorld, owner: Account, operator: Account
    ) -> None:
        path = records_of("tenants", tenant.id)
        assert (await owner.api.patch(path, json={"name": "New"})).status_code == 200
        assert (await owner.api.patch(path, json={"plan": "enterprise"})).status_code == 403
        assert (await operator.api.patch(path, json={"plan": "agency"})).status_code == 200
        assert (await owner.api.get(path)).json()["plan"] == "agency"
        assert (await owner.api.delete(path)).status_code == 403
        (settings,) = (await owner.api.get(records_of("site_settings"))).json()["items"]
        settings_path = records_of("site_settings", settings["id"])
        for sent in ({"custom_domain": "evil.example"}, {"read_only_mode": True}):
            assert (await owner.api.patch(settings_path, json=sent)).status_code == 403


class TestTheSameIdInSeveralTenants:
    """Tenants choose ids, so an id alone may name a record of each."""

    @pytest.fixture
    async def namesakes(self, tenant: TenantWorld, other_tenant: TenantWorld) -> str:
        post = await tenant.published(title="mine")
        await other_tenant.published(id=post["id"], title="theirs")
        record_id: str = post["id"]
        return record_id

    @pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
    async def test_an_operator_has_to_name_the_tenant(
        self, app: World, operator: Account, tenant: TenantWorld, namesakes: str, method: str
    ) -> None:
        body = {"title": "changed"} if method == "PATCH" else None
        answer = await operator.api.request(method, f"{POSTS}/{namesakes}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (400, "validation_invalid_data")
        assert "x-tenant-id" in answer.json()["message"]
        named = {"x-tenant-id": tenant.id}
        done = await operator.api.request(method, f"{POSTS}/{namesakes}", json=body, headers=named)
        assert done.status_code in (200, 204)

    async def test_the_other_tenants_record_stays_as_it_is(
        self,
        app: World,
        operator: Account,
        tenant: TenantWorld,
        other_tenant: TenantWorld,
        namesakes: str,
    ) -> None:
        visiting = app.client(tenant.host, token=operator.token)
        assert (await visiting.delete(f"{POSTS}/{namesakes}")).status_code == 204
        kept = await other_tenant.guest.get(f"{POSTS}/{namesakes}")
        assert kept.json()["title"] == "theirs"

    async def test_expanded_records_are_of_the_same_tenant(
        self,
        operator: Account,
        tenant: TenantWorld,
        other_tenant: TenantWorld,
        namesakes: str,
    ) -> None:
        for each, words in ((tenant, "to mine"), (other_tenant, "to theirs")):
            comment = {"post_id": namesakes, "author_name": "A", "body": words}
            await each.create("comments", comment)
        wanted = {
            "filter": f"post_id = '{namesakes}'",
            "expand": "post_id.comments_via_post_id,tenant_id",
        }
        items = (await operator.api.get(records_of("comments"), params=wanted)).json()["items"]
        assert len(items) == 2
        for item in items:
            post = item["expand"]["post_id"]
            assert item["body"] == f"to {post['title']}"
            assert [each["id"] for each in post["expand"]["comments_via_post_id"]] == [item["id"]]
            assert item["expand"]["tenant_id"]["id"] == item["tenant_id"] == post["tenant_id"]

    async def test_a_guests_expansion_shows_no_tenant(
        self, app: World, tenant: TenantWorld, namesakes: str
    ) -> None:
        wanted = {"filter": f"id = '{namesakes}'", "expand": "tenant_id,comments_via_post_id"}
        items = (await app.client().get(POSTS, params=wanted)).json()["items"]
        assert sorted(item["title"] for item in items) == ["mine", "theirs"]
        assert not any("tenant_id" in item for item in items)

    async def test_an_operator_signs_in_although_a_tenants_account_has_the_same_id(
        self, app: World, operator: Account, tenant: TenantWorld
    ) -> None:
        namesake = await tenant.owner(id=operator.id)
        account = {"identity": operator.email, "password": PASSWORD}
        path = "/api/collections/_superusers/auth-with-password"
        signed_in = await app.client().post(path, json=account)
        assert signed_in.json()["record"]["email"] == operator.email != namesake.email
