"""Logins, sessions and cookies, as PocketBase's clients and browsers use them."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from tests.world import PASSWORD, Account, TenantWorld, World, records_of

from masthead.engine.records.collection import Record
from masthead.identity.limits.sign_in_throttle import ATTEMPTS_PER_ACCOUNT, ATTEMPTS_PER_PAIR
from masthead.service.schema import registry

OLD_ADMIN = "/api/admins/auth-with-password"
ADMIN = "/api/collections/_superusers/auth-with-password"
MEMBER = "/api/collections/blog_members/auth-with-password"
POSTS = records_of("posts")


async def log_in(
    api: httpx.AsyncClient, path: str, identity: str, password: str = PASSWORD, **headers: str
) -> httpx.Response:
    sent = {"identity": identity, "password": password}
    return await api.post(path, json=sent, headers=headers)


def claims(token: str) -> dict[str, Any]:
    payload = token.split(".")[1]
    decoded: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=="))
    return decoded


class TestLogin:
    @pytest.mark.parametrize(
        ("path", "collection", "cookie"),
        [
            (OLD_ADMIN, "_superusers", "pb_auth"),
            (ADMIN, "_superusers", "pb_auth"),
            (MEMBER, "blog_members", "pb_member_auth"),
        ],
    )
    async def test_the_right_password(
        self,
        tenant: TenantWorld,
        owner: Account,
        member: Account,
        path: str,
        collection: str,
        cookie: str,
    ) -> None:
        account = owner if collection == "_superusers" else member
        answer = await log_in(tenant.guest, path, account.email.upper())
        assert answer.status_code == 200
        body = answer.json()
        assert set(body) == {"token", "record"} | ({"admin"} if path == OLD_ADMIN else set())
        assert body["record"]["id"] == account.id
        assert body["record"]["collectionName"] == collection
        assert not {"password_hash", "token_key", "password", "tokenKey"} & set(body["record"])
        said = claims(body["token"])
        assert said["id"] == account.id
        assert said["type"] == "auth"
        assert said["collectionId"] == registry[collection].id
        assert isinstance(said["exp"], int)
        (set_cookie,) = answer.headers.get_list("set-cookie")
        name, *attributes = set_cookie.split("; ")
        assert name == f"{cookie}={body['token']}"
        assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(attributes)
        assert not any(each.startswith(("Domain", "Secure")) for each in attributes)
        assert answer.headers["cache-control"] == "no-store"

    async def test_over_https_the_cookie_is_secure(
        self, app: World, tenant: TenantWorld, member: Account
    ) -> None:
        guest = tenant.guest
        guest.base_url = httpx.URL(f"https://{tenant.host}")
        answer = await log_in(guest, MEMBER, member.email)
        assert answer.headers["set-cookie"].endswith("; Secure")

    @pytest.mark.parametrize("identity", ["known", "unknown@example.com", "no address"])
    async def test_a_wrong_password_and_an_unknown_account_get_the_same_answer(
        self, tenant: TenantWorld, member: Account, identity: str
    ) -> None:
        known = await log_in(tenant.guest, MEMBER, member.email, "wrong password")
        answer = await log_in(
            tenant.guest, MEMBER, member.email if identity == "known" else identity, "wrong too"
        )
        assert (answer.status_code, answer.json()) == (400, known.json())
        assert answer.json()["code"] == "validation_invalid_data"
        assert "set-cookie" not in answer.headers

    @pytest.mark.parametrize(
        ("sent", "blank"),
        [
            ({}, {"identity", "password"}),
            ({"identity": "a@example.com"}, {"password"}),
            ({"identity": "", "password": "x"}, {"identity"}),
            ({"identity": ["a"], "password": {"b": 1}}, {"identity", "password"}),
        ],
    )
    async def test_blank_credentials(
        self, tenant: TenantWorld, sent: dict[str, Any], blank: set[str]
    ) -> None:
        answer = await tenant.guest.post(MEMBER, json=sent)
        assert answer.status_code == 400
        assert set(answer.json()["data"]) == blank

    async def test_a_collection_without_accounts(self, tenant: TenantWorld) -> None:
        answer = await log_in(tenant.guest, "/api/collections/posts/auth-with-password", "x")
        assert answer.status_code == 404

    async def test_the_two_kinds_of_account_are_never_mixed(
        self, tenant: TenantWorld, owner: Account, member: Account
    ) -> None:
        assert (await log_in(tenant.guest, MEMBER, owner.email)).status_code == 400
        assert (await log_in(tenant.guest, ADMIN, member.email)).status_code == 400

    async def test_an_account_is_its_tenants(
        self, tenant: TenantWorld, other_tenant: TenantWorld
    ) -> None:
        await tenant.member(email="same@example.com")
        assert (await log_in(other_tenant.guest, MEMBER, "same@example.com")).status_code == 400

    async def test_on_the_bare_host_the_address_finds_the_tenant(
        self, app: World, tenant: TenantWorld, owner: Account, draft: Any
    ) -> None:
        token = (await log_in(app.client(), ADMIN, owner.email)).json()["token"]
        items = (await app.client(token=token).get(POSTS)).json()["items"]
        assert [item["id"] for item in items] == [draft["id"]]

    async def test_an_operator_signs_in_anywhere(
        self, app: World, tenant: TenantWorld, operator: Account
    ) -> None:
        for api in (app.client(), tenant.guest):
            answer = await log_in(api, ADMIN, operator.email)
            assert answer.json()["record"]["id"] == operator.id
            again = await api.post(
                "/api/collections/_superusers/auth-refresh",
                headers={"authorization": answer.json()["token"]},
            )
            assert again.json()["record"]["id"] == operator.id

    async def test_too_many_failures_have_to_wait(
        self, app: World, tenant: TenantWorld, member: Account
    ) -> None:
        guest = tenant.guest
        for _ in range(10):
            assert (await log_in(guest, MEMBER, member.email, "no")).status_code == 400
        answer = await log_in(guest, MEMBER, member.email)
        assert (answer.status_code, answer.json()["code"]) == (429, "rate_limited")
        assert 0 < int(answer.headers["retry-after"]) <= 15 * 60
        app.clock.advance(seconds=int(answer.headers["retry-after"]))
        assert (await log_in(guest, MEMBER, member.email)).status_code == 200

    @pytest.mark.parametrize("path", [ADMIN, MEMBER])
    async def test_a_strangers_failures_do_not_lock_the_right_password_out(
        self, tenant: TenantWorld, owner: Account, member: Account, path: str
    ) -> None:
        account, stranger = owner if path == ADMIN else member, tenant.guest
        for _ in range(ATTEMPTS_PER_PAIR + 5):
            await log_in(stranger, path, account.email, "no")
        assert (await log_in(stranger, path, account.email)).status_code == 429
        assert (await log_in(tenant.guest, path, account.email)).status_code == 200

    @pytest.mark.parametrize("path", [ADMIN, MEMBER])
    async def test_strangers_everywhere_do_not_lock_out_who_has_signed_in_before(
        self, tenant: TenantWorld, owner: Account, member: Account, path: str
    ) -> None:
        account, home = owner if path == ADMIN else member, tenant.guest
        assert (await log_in(home, path, account.email)).status_code == 200
        for _ in range(ATTEMPTS_PER_ACCOUNT):
            # Too long for any password, so that nothing has to be hashed.
            assert (await log_in(tenant.guest, path, account.email, "x" * 2000)).status_code == 400
        refused = await log_in(tenant.guest, path, account.email)
        assert refused.status_code == 429
        assert "by email" in refused.json()["message"]
        assert (await log_in(home, path, account.email)).status_code == 200

    @pytest.mark.parametrize("exists", [True, False])
    async def test_an_account_has_one_count_on_all_hosts(
        self, app: World, tenant: TenantWorld, other_tenant: TenantWorld, exists: bool
    ) -> None:
        """Also one that does not exist: another count would tell."""
        email = f"{tenant.slug}@example.com"
        if exists:
            await tenant.member(email=email)
        place = f"198.51.100.{int(exists) + 7}"
        for number in range(ATTEMPTS_PER_PAIR + 3):
            host = ("localhost", tenant.host, other_tenant.host)[number % 3]
            answer = await log_in(app.client(host, address=place), MEMBER, email, "x" * 2000)
            assert answer.status_code == (400 if number < ATTEMPTS_PER_PAIR else 429)


class TestTokens:
    @pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", ""])
    async def test_with_or_without_bearer(
        self, tenant: TenantWorld, owner: Account, draft: Any, scheme: str
    ) -> None:
        header = {"authorization": f"{scheme}{owner.token}"}
        assert (await tenant.guest.get(POSTS, headers=header)).json()["totalItems"] == 1

    @pytest.mark.parametrize(
        "value",
        ["x", "Bearer", "Bearer x.y.z", "Basic abc", "Bearer {token}x", "Token {token}", "é"],
    )
    async def test_one_that_is_no_good_is_as_none(
        self, tenant: TenantWorld, owner: Account, draft: Any, value: str
    ) -> None:
        header = [(b"authorization", value.format(token=owner.token).encode("latin-1"))]
        answer = await tenant.guest.get(POSTS, headers=header)
        assert (answer.status_code, answer.json()["totalItems"]) == (200, 0)

    @pytest.mark.parametrize("account_id", ["a\0b", "a\ud800b", "", "x" * 15, "' OR 1=1 --"])
    async def test_a_forged_one_is_as_none(
        self, app: World, tenant: TenantWorld, draft: Any, account_id: str
    ) -> None:
        said = {
            "id": account_id,
            "type": "auth",
            "collectionId": registry["_superusers"].id,
            "exp": 4_000_000_000,
        }
        parts = ({"alg": "HS256", "typ": "JWT"}, said, "signature")
        token = ".".join(
            base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
            for part in parts
        )
        answer = await app.client(tenant.host, token=token).get(POSTS)
        assert (answer.status_code, answer.json()["totalItems"]) == (200, 0)

    async def test_it_ends_by_itself(
        self, app: World, tenant: TenantWorld, owner: Account, draft: Any
    ) -> None:
        assert (await owner.api.get(POSTS)).json()["totalItems"] == 1
        app.clock.advance(days=1, seconds=1)
        assert (await owner.api.get(POSTS)).json()["totalItems"] == 0

    async def test_a_new_password_ends_every_session(
        self, tenant: TenantWorld, member: Account
    ) -> None:
        path = records_of("blog_members", member.id)
        sent = {"password": "another password", "passwordConfirm": "another password"}
        wrong = await member.api.patch(path, json=sent | {"oldPassword": "wrong"})
        assert set(wrong.json()["data"]) == {"oldPassword"}
        right = await member.api.patch(path, json=sent | {"oldPassword": PASSWORD})
        assert right.status_code == 200
        assert (await member.api.get(path)).status_code == 404
        assert (await log_in(tenant.guest, MEMBER, member.email)).status_code == 400
        again = await log_in(tenant.guest, MEMBER, member.email, "another password")
        assert again.status_code == 200

    async def test_a_session_is_no_place_to_guess_the_password(
        self, tenant: TenantWorld, member: Account
    ) -> None:
        path = records_of("blog_members", member.id)
        sent = {"password": "another password", "passwordConfirm": "another password"}
        for _ in range(ATTEMPTS_PER_PAIR):
            wrong = await member.api.patch(path, json=sent | {"oldPassword": "wrong"})
            assert wrong.status_code == 400
        right = await member.api.patch(path, json=sent | {"oldPassword": PASSWORD})
        assert right.status_code == 429
        assert (await log_in(member.api, MEMBER, member.email)).status_code == 429

    async def test_an_owner_may_reset_a_members_password(
        self, tenant: TenantWorld, owner: Account, member: Account
    ) -> None:
        path = records_of("blog_members", member.id)
        answer = await owner.api.patch(path, json={"password": "another password"})
        assert answer.status_code == 200
        again = await log_in(tenant.guest, MEMBER, member.email, "another password")
        assert again.status_code == 200
        assert (await member.api.get(path)).status_code == 404

    @pytest.mark.parametrize(
        ("sent", "field"),
        [
            ({"password": "short"}, "password"),
            ({"password": 5}, "password"),
            ({"password": "long enough", "passwordConfirm": "other"}, "passwordConfirm"),
        ],
    )
    async def test_a_password_that_will_not_do(
        self, owner: Account, sent: dict[str, Any], field: str
    ) -> None:
        values = {"email": "new@example.com"} | sent
        answer = await owner.api.post(records_of("blog_members"), json=values)
        assert answer.status_code == 400
        assert set(answer.json()["data"]) == {field}

    async def test_a_refresh_gives_a_new_one(
        self, app: World, tenant: TenantWorld, member: Account
    ) -> None:
        app.clock.advance(hours=1)
        path = "/api/collections/blog_members/auth-refresh"
        body = (await member.api.post(path)).json()
        assert body["record"]["id"] == member.id
        assert claims(body["token"])["exp"] == claims(member.token)["exp"] + 3600
        assert (await tenant.guest.post(path)).status_code == 401
        admin = await member.api.post("/api/collections/_superusers/auth-refresh")
        assert admin.status_code == 403

    async def test_a_file_token_opens_nothing_else(
        self, app: World, tenant: TenantWorld, owner: Account, draft: Any
    ) -> None:
        assert (await tenant.guest.post("/api/files/token")).status_code == 401
        token = (await owner.api.post("/api/files/token")).json()["token"]
        assert claims(token)["type"] == "file"
        answer = await app.client(tenant.host, token=token).get(POSTS)
        assert answer.json()["totalItems"] == 0

    async def test_accounts_with_the_same_id_in_two_tenants_stay_apart(
        self, app: World, tenant: TenantWorld, member: Account, other_tenant: TenantWorld
    ) -> None:
        twin = await other_tenant.member(id=member.id)
        path = records_of("blog_members", member.id)
        for account, email in ((member, member.email), (twin, twin.email)):
            assert (await account.api.get(path)).json()["email"] == email
            refreshed = await account.api.post("/api/collections/blog_members/auth-refresh")
            assert refreshed.json()["record"]["email"] == email
            crossed = app.client(
                other_tenant.host if account is member else tenant.host, token=account.token
            )
            assert (await crossed.get(path)).status_code == 404

    async def test_a_members_id_is_no_key_to_an_owners_password(
        self, tenant: TenantWorld, owner: Account
    ) -> None:
        twin = await tenant.member(id=owner.id)
        sent = {"password": "another password", "oldPassword": PASSWORD}
        answer = await twin.api.patch(records_of("_superusers", owner.id), json=sent)
        assert answer.status_code == 403
        assert (await log_in(tenant.guest, ADMIN, owner.email)).status_code == 200


class TestCookies:
    async def test_each_carries_its_own_kind_of_session(
        self, tenant: TenantWorld, owner: Account, member: Account, draft: Any
    ) -> None:
        guest = tenant.guest
        for cookie, account, total in (
            ("pb_auth", owner, 1),
            ("pb_member_auth", owner, 0),
            ("pb_auth", member, 0),
        ):
            header = {"cookie": f"{cookie}={account.token}"}
            assert (await guest.get(POSTS, headers=header)).json()["totalItems"] == total
        own = await guest.get(
            records_of("blog_members"), headers={"cookie": f"pb_member_auth={member.token}"}
        )
        assert own.json()["totalItems"] == 1

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({}, 200),
            ({"origin": "http://{host}"}, 200),
            ({"sec-fetch-site": "same-origin"}, 200),
            ({"sec-fetch-site": "none"}, 200),
            ({"origin": "http://other.localhost"}, 401),
            ({"origin": "http://{host}:8080"}, 401),
            ({"origin": "http://{host}.evil.example"}, 401),
            ({"origin": "null"}, 401),
            ({"origin": "http://["}, 401),
            ({"sec-fetch-site": "same-site"}, 401),
            ({"sec-fetch-site": "cross-site", "origin": "http://{host}"}, 401),
        ],
    )
    async def test_a_change_by_cookie_must_come_from_the_same_origin(
        self, tenant: TenantWorld, owner: Account, headers: dict[str, str], status: int
    ) -> None:
        sent = {name: value.format(host=tenant.host) for name, value in headers.items()}
        sent["cookie"] = f"pb_auth={owner.token}"
        answer = await tenant.guest.post(POSTS, json={"title": "x"}, headers=sent)
        assert answer.status_code == status

    async def test_another_site_cant_sign_a_browser_in(
        self, tenant: TenantWorld, member: Account
    ) -> None:
        answer = await log_in(tenant.guest, MEMBER, member.email, **{"sec-fetch-site": "same-site"})
        assert answer.status_code == 200
        assert "set-cookie" not in answer.headers

    @pytest.mark.parametrize("name", ["pb_auth", "pb_member_auth"])
    @pytest.mark.parametrize(
        "value",
        [
            '{"token":' + "[" * 3_000,
            quote('{"a":' * 1_000),
            "a." + base64.urlsafe_b64encode(b'{"id":' + b"[" * 2_500).decode().rstrip("=") + ".c",
            "%00%ff%c3%28",
            "\xff\xfe",
        ],
    )
    async def test_a_broken_cookie_is_a_guests(
        self, tenant: TenantWorld, published_post: Record, name: str, value: str
    ) -> None:
        sent = {b"cookie": f"{name}={value}".encode("latin-1")}
        answer = await tenant.guest.get(POSTS, headers=sent)
        assert (answer.status_code, answer.json()["totalItems"]) == (200, 1)

    async def test_a_broken_token_in_the_header_is_a_guests(
        self, tenant: TenantWorld, published_post: Record
    ) -> None:
        payload = base64.urlsafe_b64encode(b'{"id":' + b"[" * 2_500).decode().rstrip("=")
        sent = {"authorization": f"Bearer eyJhbGciOiJIUzI1NiJ9.{payload}.c"}
        answer = await tenant.guest.get(POSTS, headers=sent)
        assert (answer.status_code, answer.json()["totalItems"]) == (200, 1)

    async def test_the_cookie_that_pocketbases_client_writes(
        self, tenant: TenantWorld, owner: Account, draft: Any
    ) -> None:
        value = json.dumps({"token": owner.token, "record": None})
        header = {"cookie": f"a=b; pb_auth={quote(value)}"}
        assert (await tenant.guest.get(POSTS, headers=header)).json()["totalItems"] == 1
