"""ETags, preconditions, idempotency keys and cached answers."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import httpx
import pytest
from tests.v1.keys import key_client
from tests.world import TenantWorld, World

from masthead.base.caller import system

pytestmark = pytest.mark.both_databases

POSTS = "/api/v1/posts"


@pytest.fixture
async def tenant(app: World) -> TenantWorld:
    # Without limits: these tests call more often than any plan allows.
    return await app.new_tenant("busy", plan="enterprise")


@pytest.fixture
async def api(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant)


async def new_post(api: httpx.AsyncClient) -> tuple[str, str]:
    answer = await api.post(POSTS, json={"title": "x"})
    return f"{POSTS}/{answer.json()['data']['id']}", answer.headers["etag"]


async def version_of(tenant: TenantWorld) -> int:
    return (await tenant.world.parts.versions.of(tenant.id)).content


class TestETags:
    async def test_an_unchanged_record_is_not_sent_again(self, api: httpx.AsyncClient) -> None:
        path, etag = await new_post(api)
        first = await api.get(path)
        assert first.headers["etag"] == etag
        again = await api.get(path, headers={"if-none-match": f'"other", {etag}'})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == etag
        await api.patch(path, json={"title": "y"})
        changed = await api.get(path, headers={"if-none-match": etag})
        assert changed.status_code == 200
        assert changed.headers["etag"] != etag

    async def test_a_list_is_fresh_after_any_change(self, api: httpx.AsyncClient) -> None:
        path, _ = await new_post(api)
        first = await api.get(POSTS)
        tag = {"if-none-match": first.headers["etag"]}
        assert (await api.get(POSTS, headers=tag)).status_code == 304
        await api.patch(path, json={"title": "Changed"})
        second = await api.get(POSTS, headers=tag)
        assert second.status_code == 200
        assert second.json()["items"][0]["title"] == "Changed"
        await api.delete(path)
        assert (await api.get(POSTS)).json()["total"] == 0

    async def test_a_tag_of_one_site_is_not_anothers(
        self, app: World, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        """The path is the same for the keys of all sites."""
        other = await key_client(await app.new_tenant("other", plan="enterprise"))
        path, tag = await new_post(api)
        other_path, other_tag = await new_post(other)
        assert tag != other_tag
        changed = await other.patch(other_path, json={"title": "y"}, headers={"if-match": tag})
        assert changed.status_code == 412
        for accepted in (tag, '"2"'):
            sent = await api.patch(path, json={"title": "y"}, headers={"if-match": accepted})
            assert sent.status_code == 200

    async def test_cached_answers_are_not_shared_between_tenants(
        self, app: World, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        await new_post(api)
        narrow = await key_client(tenant, "comments:read")
        other_tenant = await app.new_tenant("other", plan="enterprise")
        other = await key_client(other_tenant)
        # An answer is good for a version: only where both have the same one does the rest count.
        while await version_of(other_tenant) < await version_of(tenant):
            async with app.parts.records.unit(system(other_tenant.id)):
                pass
        assert await version_of(other_tenant) == await version_of(tenant)
        assert (await api.get(POSTS)).json()["total"] == 1
        assert (await other.get(POSTS)).json()["total"] == 0
        assert (await narrow.get(POSTS)).status_code == 403


class TestPreconditions:
    async def test_of_two_changes_of_the_same_version_one_is_made(
        self, api: httpx.AsyncClient
    ) -> None:
        path, etag = await new_post(api)
        answers = await asyncio.gather(
            *(
                api.patch(path, json={"title": f"By {who}"}, headers={"if-match": etag})
                for who in ("one", "two")
            )
        )
        assert sorted(answer.status_code for answer in answers) == [200, 412]
        refused = next(answer for answer in answers if answer.status_code == 412)
        assert refused.json()["error"]["code"] == "PRECONDITION_FAILED"

    @pytest.mark.parametrize("method", ["PATCH", "PUT", "DELETE"])
    async def test_a_stale_version_is_refused(self, api: httpx.AsyncClient, method: str) -> None:
        path, etag = await new_post(api)
        await api.patch(path, json={"title": "y"})
        body = None if method == "DELETE" else {"title": "z"}
        for stale in (etag, '"999"', '"nonsense"', "nonsense"):
            answer = await api.request(method, path, json=body, headers={"if-match": stale})
            assert answer.status_code == 412
        assert (await api.get(path)).json()["title"] == "y"
        answer = await api.request(method, path, json=body, headers={"if-match": "*"})
        assert answer.status_code in (200, 204)

    async def test_two_lines_of_the_header_are_one_list(self, api: httpx.AsyncClient) -> None:
        """A condition that came twice is not as good as none."""
        path, tag = await new_post(api)
        headers = [("if-match", '"7"'), ("if-match", tag)]
        answer = await api.patch(path, json={"title": "y"}, headers=headers)
        assert answer.status_code == 412
        unchanged = await api.get(path, headers=[("if-none-match", '"7"'), ("if-none-match", tag)])
        assert unchanged.status_code == 304


class TestIdempotencyKeys:
    async def test_a_key_that_came_twice_counts(self, api: httpx.AsyncClient) -> None:
        headers = [("idempotency-key", "k0"), ("idempotency-key", "k0")]
        for _ in range(2):
            await api.post(POSTS, json={"title": "One"}, headers=headers)
        assert (await api.get(POSTS)).json()["total"] == 1

    async def test_fifty_at_once_make_one_post(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        answers = await asyncio.gather(
            *(
                api.post(POSTS, json={"title": "Once"}, headers={"idempotency-key": "k1"})
                for _ in range(50)
            )
        )
        assert {answer.status_code for answer in answers} == {201}
        assert len({answer.text for answer in answers}) == 1
        assert (await api.get(POSTS)).json()["total"] == 1
        assert await tenant.event_names() == ["post.created"]

    async def test_a_repeated_call_is_marked_and_has_the_version_of_its_body(
        self, api: httpx.AsyncClient
    ) -> None:
        headers, body = {"idempotency-key": "k"}, {"title": "One", "writers": ["x"]}
        first = await api.post(POSTS, json=body, headers=headers)
        path = f"{POSTS}/{first.json()['data']['id']}"
        assert first.headers["etag"] == (await api.get(path)).headers["etag"]
        assert "idempotent-replayed" not in first.headers
        changed = await api.patch(path, json={"title": "Two"})
        again = await api.post(POSTS, json=body, headers=headers)
        assert (again.status_code, again.content) == (201, first.content)
        assert again.headers["idempotent-replayed"] == "true"
        assert again.headers["etag"] == first.headers["etag"] != changed.headers["etag"]
        assert again.headers["x-ignored"] == first.headers["x-ignored"] == "writers"
        late = {"if-match": again.headers["etag"]}
        assert (await api.patch(path, json={"title": "3"}, headers=late)).status_code == 412

    async def test_a_repeated_answer_without_a_version_has_no_tag(
        self, api: httpx.AsyncClient
    ) -> None:
        body = {"name": "x", "url": "https://hooks.invalid/", "events": ["post.created"]}
        for replayed in (None, "true"):
            headers = {"idempotency-key": "k"}
            answer = await api.post("/api/v1/webhooks", json=body, headers=headers)
            assert answer.headers.get("idempotent-replayed") == replayed
            assert "etag" not in answer.headers
            assert answer.headers["content-type"] == "application/json"

    async def test_the_same_key_with_another_body(self, api: httpx.AsyncClient) -> None:
        headers = {"idempotency-key": "k2"}
        await api.post(POSTS, json={"title": "One"}, headers=headers)
        answer = await api.post(POSTS, json={"title": "Two"}, headers=headers)
        assert answer.status_code == 422
        assert answer.json()["error"]["details"].keys() == {"Idempotency-Key"}
        spelled_otherwise = await api.post(
            POSTS,
            content=b'{ "title" : "One" }',
            headers=headers | {"content-type": "application/json"},
        )
        assert spelled_otherwise.status_code == 201

    async def test_a_key_lives_for_a_day(self, tenant: TenantWorld, api: httpx.AsyncClient) -> None:
        headers = {"idempotency-key": "k3"}
        await api.post(POSTS, json={"title": "One"}, headers=headers)
        tenant.world.clock.moment += timedelta(hours=23)
        await api.post(POSTS, json={"title": "One"}, headers=headers)
        assert (await api.get(POSTS)).json()["total"] == 1
        tenant.world.clock.moment += timedelta(hours=2)
        await api.post(POSTS, json={"title": "One"}, headers=headers)
        assert (await api.get(POSTS)).json()["total"] == 2

    async def test_a_failed_call_is_not_remembered(self, api: httpx.AsyncClient) -> None:
        headers = {"idempotency-key": "k4"}
        await api.post(POSTS, json={"title": "x", "slug": "taken"})
        body = {"title": "x", "slug": "taken"}
        assert (await api.post(POSTS, json=body, headers=headers)).status_code == 422
        listed = (await api.get(POSTS)).json()["items"]
        await api.delete(f"{POSTS}/{listed[0]['id']}")
        assert (await api.post(POSTS, json=body, headers=headers)).status_code == 201

    async def test_one_clients_key_is_not_anothers(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        other = await key_client(tenant)
        headers = {"idempotency-key": "k5"}
        await api.post(POSTS, json={"title": "One"}, headers=headers)
        answer = await other.post(POSTS, json={"title": "Two"}, headers=headers)
        assert answer.status_code == 201

    @pytest.mark.parametrize("key", ["", "x" * 256])
    async def test_a_key_has_a_length(self, api: httpx.AsyncClient, key: str) -> None:
        answer = await api.post(POSTS, json={"title": "x"}, headers={"idempotency-key": key})
        assert answer.status_code == (201 if key == "" else 400)
