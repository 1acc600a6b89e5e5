"""Each staff role and each collection, by direct requests: who may do what."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tests.world import PASSWORD, Account, TenantWorld, World, records_of

from masthead.base import clock
from masthead.base.caller import Caller, Kind, system
from masthead.base.errors import Forbidden
from masthead.engine.records.collection import Record
from masthead.features.mailings.collection import mailings
from masthead.features.members.mail_log import MemberMails
from masthead.service.schema import registry, tables

POSTS = records_of("posts")
STAFF = records_of("_superusers")
ROLES = ("editor", "author", "contributor")
WRITERS = ("author", "contributor")
VERBS = ("list", "view", "create", "update", "delete")

READ, ALL = {"list", "view"}, set(VERBS)
ALLOWED = {
    ("editor", "posts"): ALL,
    ("editor", "pages"): ALL,
    ("editor", "categories"): ALL,
    ("editor", "comments"): ALL,
    ("editor", "media"): ALL,
    ("editor", "blog_members"): READ,
    ("editor", "tiers"): READ,
    ("author", "categories"): READ,
    ("author", "tiers"): READ,
    ("author", "media"): READ | {"create"},
    ("contributor", "categories"): READ,
    ("contributor", "tiers"): READ,
    ("contributor", "tags"): READ,
    # What others have uploaded and nobody can see is not there.
    ("contributor", "media"): {"list", "create"},
    ("editor", "post_revisions"): READ,
    ("editor", "page_revisions"): READ,
    ("editor", "draft_links"): READ | {"delete"},
    ("editor", "snippets"): ALL,
    ("author", "snippets"): READ,
    ("contributor", "snippets"): READ,
    ("editor", "tags"): READ | {"update"},
    ("author", "tags"): READ,
    ("editor", "tag_changes"): READ,
    ("editor", "member_history"): READ,
    ("editor", "member_mails"): READ,
    ("editor", "newsletters"): READ,
    ("editor", "mailings"): READ | {"update"},
    ("editor", "trash"): READ | {"update", "delete"},
    ("editor", "post_working_copies"): READ | {"update", "delete"},
    ("editor", "page_working_copies"): READ | {"update", "delete"},
}
"""Rules for records that others have made; `_superusers`, a writer's posts and their copies have
tests of their own."""
BY_POST = ("posts", "post_revisions", "post_working_copies", "draft_links", "trash")

SNIPPET = {
    "name": "Note",
    "content_json": {"type": "doc", "content": [{"type": "paragraph"}]},
}
PNG = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f"
    b"\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xff\xff?\x00\x05\xfe\x02\xfe\xa7V\xbd\xfa\x00\x00"
    b"\x00\x00IEND\xaeB`\x82"
)


@pytest.fixture
async def editor(tenant: TenantWorld) -> Account:
    return await tenant.owner(role="editor", name="Edith Meyer")


@pytest.fixture
async def author(tenant: TenantWorld) -> Account:
    return await tenant.owner(role="author", name="Arthur Dent")


@pytest.fixture
async def colleague(tenant: TenantWorld) -> Account:
    return await tenant.owner(role="author", name="Ford Prefect")


@pytest.fixture
async def contributor(tenant: TenantWorld) -> Account:
    return await tenant.owner(role="contributor", name="Trillian")


@pytest.fixture
async def staff(
    owner: Account, editor: Account, author: Account, contributor: Account
) -> dict[str, Account]:
    return {"owner": owner, "editor": editor, "author": author, "contributor": contributor}


async def upload(account: Account) -> httpx.Response:
    return await account.api.post(records_of("media"), files={"file": ("dot.png", PNG)})


async def made_by_owner(owner: Account, tenant: TenantWorld, collection: str) -> str:
    """A record of the collection, or an id that none has where an owner can't make one."""
    post = await tenant.post()
    values: dict[str, dict[str, Any]] = {
        "posts": {"title": "Theirs"},
        "pages": {"title": "About"},
        "categories": {"name": "News"},
        "comments": {"post_id": post["id"], "author_name": "Zoe", "body": "Well said."},
        "blog_members": {"email": "reader@example.com"},
        "products": {"name": "Mug", "price": 1200},
        "tiers": {"name": "Supporter", "price": 400, "currency": "gbp"},
        "redirects": {"source": "/old", "destination": "/new"},
        "snippets": SNIPPET,
    }
    if collection.endswith(("_revisions", "_working_copies")):
        return await made_by_the_service(tenant, collection)
    if collection == "draft_links":
        link = await tenant.world.parts.records.create(
            system(tenant.id), tenant.world.collection(collection), {"post_id": post["id"]}
        )
        return str(link["id"])
    if collection == "tags":
        return str((await tenant.create(collection, {"name": "a"}))["id"])
    if collection == "tag_changes":
        return str((await tenant.create(collection, {"tag": "a", "new_tag": "b"}))["id"])
    if collection == "member_history":
        member = await tenant.member()
        await tenant.update("blog_members", member.id, {"tier": "paid"})
    if collection == "member_mails":
        member = await tenant.member()
        records = tenant.world.parts.records
        async with records.unit(system(tenant.id)) as unit:
            await MemberMails(records, tables).queued(unit, "a" * 15, member.email, "sign_in")
    if collection == "mailings":
        records = tenant.world.parts.records
        sent = {"post_id": post["id"], "newsletter": "main", "subject": "Hello"}
        return str((await records.create(system(tenant.id), mailings, {}, stamped=sent))["id"])
    if collection == "media":
        return str((await upload(owner)).json()["id"])
    if collection == "trash":
        await owner.api.delete(records_of("posts", post["id"]))
    if collection in values:
        answer = await owner.api.post(records_of(collection), json=values[collection])
        if answer.status_code == 200:
            return str(answer.json()["id"])
    found = (await owner.api.get(records_of(collection))).json()["items"]
    return str(found[0]["id"]) if found else "abcdefghij01234"


async def made_by_the_service(tenant: TenantWorld, collection: str) -> str:
    """A copy of a post or page."""
    kind = collection.partition("_")[0]
    text = await tenant.create(f"{kind}s", {"title": "Theirs"})
    if collection.endswith("_working_copies"):
        copy = {f"{kind}_id": text["id"], "title": "Theirs"}
        return str((await tenant.create(collection, copy))["id"])
    tenant.world.clock.advance(hours=1)
    await tenant.update(f"{kind}s", text["id"], {"title": "Theirs, changed"})
    records = tenant.world.parts.records
    found = await records.find(tenant.world.collection(collection), {}, tenant_id=tenant.id)
    return str(found[0]["id"])


async def tried(
    account: Account, tenant: TenantWorld, collection: str, record: str
) -> dict[str, int]:
    """The status of each verb, forged: whether there is anything to change or not."""
    one = records_of(collection, record)
    bodies: dict[str, dict[str, Any]] = {
        "posts": {"title": "New"},
        "pages": {"title": "New"},
        "categories": {"name": "New"},
        "snippets": {**SNIPPET, "name": "New"},
    }
    body = bodies.get(collection, {})
    if collection == "comments":
        post = await tenant.post()
        body = {"post_id": post["id"], "author_name": "Ada", "body": "New"}
    api = account.api
    created = (
        await upload(account)
        if collection == "media"
        else await api.post(records_of(collection), json=body)
    )
    return {
        "list": (await api.get(records_of(collection))).status_code,
        "view": (await api.get(one)).status_code,
        "create": created.status_code,
        "update": (await api.patch(one, json={"alt": "A dot"})).status_code,
        "delete": (await api.delete(one)).status_code,
    }


CLOSED_OR_OPEN = [
    (role, each.name)
    for role in ROLES
    for each in registry.collections
    if each.name != "_superusers" and not (role in WRITERS and each.name in BY_POST)
]


@pytest.mark.parametrize(("role", "collection"), CLOSED_OR_OPEN)
async def test_a_role_has_exactly_the_rights_of_its_row(
    tenant: TenantWorld, staff: dict[str, Account], role: str, collection: str
) -> None:
    record = await made_by_owner(staff["owner"], tenant, collection)
    allowed = ALLOWED.get((role, collection), set())
    statuses = await tried(staff[role], tenant, collection, record)
    # Writers change files of their own; others' are not found for that.
    refused = 404 if role in WRITERS and collection == "media" else 403
    expected = {verb: refused for verb in VERBS if verb not in allowed}
    expected |= {verb: 204 if verb == "delete" else 200 for verb in allowed}
    assert statuses == expected


class TestAuthorsPosts:
    async def test_a_new_post_is_the_authors_own(self, author: Account) -> None:
        for body in ({"title": "One"}, {"title": "Two", "authors": [author.id]}):
            answer = await author.api.post(POSTS, json=body)
            assert (answer.status_code, answer.json()["authors"]) == (200, [author.id])

    async def test_own_posts_are_read_changed_and_deleted(
        self, author: Account, tenant: TenantWorld
    ) -> None:
        mine = await tenant.post(authors=[author.id])
        one = f"{POSTS}/{mine['id']}"
        assert (await author.api.get(one)).status_code == 200
        changed = await author.api.patch(one, json={"title": "Better", "status": "published"})
        assert (changed.status_code, changed.json()["title"]) == (200, "Better")
        whole = await author.api.patch(one, json=changed.json())
        assert whole.status_code == 200
        assert (await author.api.delete(one)).status_code == 204

    async def test_others_posts_are_not_there(
        self, author: Account, colleague: Account, tenant: TenantWorld
    ) -> None:
        mine = await tenant.post(authors=[colleague.id, author.id])
        theirs = [await tenant.published(), await tenant.post(authors=[colleague.id])]
        listed = (await author.api.get(POSTS)).json()
        assert ([each["id"] for each in listed["items"]], listed["totalItems"]) == ([mine["id"]], 1)
        for post in theirs:
            one = f"{POSTS}/{post['id']}"
            for answer in (
                await author.api.get(one),
                await author.api.patch(one, json={"title": "Mine now"}),
                await author.api.patch(one, json={"authors": [author.id]}),
                await author.api.patch(one, json={"authors+": author.id}),
                await author.api.delete(one),
            ):
                assert answer.status_code == 404

    async def test_filters_tell_nothing_of_others_posts(
        self, author: Account, colleague: Account, tenant: TenantWorld
    ) -> None:
        await tenant.post(title="Secret", authors=[colleague.id])
        for wanted in ("title ~ 'Secret'", f"authors ?= '{colleague.id}'", "authors.id ?!= ''"):
            answer = await author.api.get(POSTS, params={"filter": wanted})
            assert (answer.status_code, answer.json()["totalItems"]) == (200, 0), wanted

    @pytest.mark.parametrize("named", [["colleague"], ["author", "colleague"], []])
    async def test_an_author_does_not_say_who_else_wrote_a_post(
        self,
        author: Account,
        colleague: Account,
        tenant: TenantWorld,
        owner: Account,
        named: list[str],
    ) -> None:
        ids = {"author": author.id, "colleague": colleague.id}
        body = {"title": "Ours", "authors": [ids[each] for each in named]}
        if named:
            assert (await author.api.post(POSTS, json=body)).status_code == 403
        mine = await tenant.post(authors=[author.id])
        one = f"{POSTS}/{mine['id']}"
        assert (await author.api.patch(one, json=body)).status_code == 403
        assert (await author.api.patch(one, json={"authors-": author.id})).status_code == 403
        unchanged = (await owner.api.get(one)).json()
        assert (unchanged["title"], unchanged["authors"]) == (mine["title"], [author.id])
        assert (await owner.api.get(POSTS)).json()["totalItems"] == 1

    async def test_an_editor_says_it(
        self, editor: Account, author: Account, colleague: Account
    ) -> None:
        body = {"title": "Theirs", "authors": [colleague.id, author.id]}
        made = (await editor.api.post(POSTS, json=body)).json()
        assert made["authors"] == [colleague.id, author.id]
        one = f"{POSTS}/{made['id']}"
        assert (await editor.api.patch(one, json={"authors": []})).json()["authors"] == []
        assert (await author.api.get(one)).status_code == 404

    async def test_a_large_text_is_accepted(self, author: Account) -> None:
        body = {"title": "Long", "content_html": "<p>" + "word " * 40_000 + "</p>"}
        assert (await author.api.post(POSTS, json=body)).status_code == 200


def caller_of(contributor: Account, tenant: TenantWorld) -> Caller:
    return Caller(Kind.CONTRIBUTOR, tenant.id, contributor.id, contributor.email, "_superusers")


class TestContributorsPosts:
    async def test_own_drafts_are_written_and_deleted(
        self, contributor: Account, tenant: TenantWorld
    ) -> None:
        made = await contributor.api.post(POSTS, json={"title": "One", "status": "draft"})
        assert (made.status_code, made.json()["authors"]) == (200, [contributor.id])
        one = f"{POSTS}/{made.json()['id']}"
        changed = await contributor.api.patch(one, json=made.json() | {"title": "Two"})
        assert (changed.status_code, changed.json()["title"]) == (200, "Two")
        assert (await contributor.api.delete(one)).status_code == 204
        (entry,) = (await contributor.api.get(records_of("trash"))).json()["items"]
        async with tenant.world.parts.records.unit(caller_of(contributor, tenant)) as unit:
            await unit.restore(entry["id"])
        assert (await contributor.api.get(one)).json()["title"] == "Two"

    async def test_nothing_is_published_or_scheduled(
        self, contributor: Account, tenant: TenantWorld
    ) -> None:
        mine = await tenant.post(authors=[contributor.id])
        later = clock.to_text(tenant.world.clock() + timedelta(hours=1))
        for given in (
            {"status": "published"},
            {"scheduled_for": later},
            {"status": "published", "published_at": later},
            {"review_note": "Well done."},
        ):
            for answer in (
                await contributor.api.post(POSTS, json={"title": "New", **given}),
                await contributor.api.patch(f"{POSTS}/{mine['id']}", json=given),
            ):
                assert answer.status_code == 403, (given, answer.text)
        (only,) = (await contributor.api.get(POSTS)).json()["items"]
        assert (only["id"], only["status"], only["scheduled_for"]) == (mine["id"], "draft", "")

    async def test_a_published_or_scheduled_post_is_read_and_not_changed(
        self, contributor: Account, tenant: TenantWorld
    ) -> None:
        later = clock.to_text(tenant.world.clock() + timedelta(hours=1))
        for values in ({"status": "published"}, {"scheduled_for": later}):
            post = await tenant.post(authors=[contributor.id], **values)
            one = f"{POSTS}/{post['id']}"
            assert (await contributor.api.get(one)).json()["title"] == post["title"]
            copy = await tenant.create(
                "post_working_copies", {"post_id": post["id"], "title": "New"}
            )
            copies = records_of("post_working_copies")
            assert (await contributor.api.get(f"{copies}/{copy['id']}")).status_code == 200
            for answer in (
                await contributor.api.patch(one, json={"title": "Other"}),
                await contributor.api.patch(one, json={"status": "draft"}),
                await contributor.api.delete(one),
                await contributor.api.patch(f"{copies}/{copy['id']}", json={"title": "Other"}),
                await contributor.api.delete(f"{copies}/{copy['id']}"),
            ):
                assert answer.status_code == 404, answer.text
            await tenant.world.parts.records.delete(
                system(tenant.id), tenant.world.collection("post_working_copies"), copy["id"]
            )
            again = await contributor.api.post(copies, json={"post_id": post["id"], "title": "X"})
            assert again.status_code == 403

    async def test_what_was_published_neither_comes_back_nor_goes_for_good(
        self, contributor: Account, owner: Account, tenant: TenantWorld
    ) -> None:
        post = await tenant.published(authors=[contributor.id])
        await owner.api.delete(f"{POSTS}/{post['id']}")
        (entry,) = (await contributor.api.get(records_of("trash"))).json()["items"]
        one = records_of("trash", entry["id"])
        assert (await contributor.api.delete(one)).status_code == 404
        with pytest.raises(Forbidden):
            async with tenant.world.parts.records.unit(caller_of(contributor, tenant)) as unit:
                await unit.restore(entry["id"])
        assert (await owner.api.get(f"{POSTS}/{post['id']}")).status_code == 404

    async def test_others_posts_are_not_there(
        self, contributor: Account, colleague: Account, tenant: TenantWorld
    ) -> None:
        for post in (await tenant.published(), await tenant.post(authors=[colleague.id])):
            assert (await contributor.api.get(f"{POSTS}/{post['id']}")).status_code == 404
        assert (await contributor.api.get(POSTS)).json()["totalItems"] == 0


class TestContributorsMedia:
    async def test_own_uploads_and_what_readers_see(
        self, contributor: Account, owner: Account, tenant: TenantWorld
    ) -> None:
        mine, public, unused, hidden = [
            (await upload(each)).json() for each in (contributor, owner, owner, owner)
        ]
        await tenant.published(featured_image=public["url"])
        await tenant.post(featured_image=hidden["url"])
        listed = (await contributor.api.get(records_of("media"))).json()["items"]
        assert {each["id"] for each in listed} == {mine["id"], public["id"]}
        for item, status in ((mine, 200), (public, 200), (unused, 404), (hidden, 404)):
            answer = await contributor.api.get(records_of("media", item["id"]))
            assert answer.status_code == status
        for item, status in ((mine, 200), (public, 200), (hidden, 404)):
            path = urlsplit(item["url"]).path
            assert (await contributor.api.get(path)).status_code == status, path
        theirs = records_of("media", public["id"])
        assert (await contributor.api.patch(theirs, json={"alt": "X"})).status_code == 404
        own = records_of("media", mine["id"])
        assert (await contributor.api.patch(own, json={"private": True})).status_code == 200
        assert (await contributor.api.get(urlsplit(mine["url"]).path)).status_code == 200


class TestStaff:
    @pytest.mark.parametrize("role", ROLES)
    async def test_staff_see_only_their_own_account(
        self, staff: dict[str, Account], role: str
    ) -> None:
        me, other = staff[role], staff["owner"]
        listed = (await me.api.get(STAFF)).json()
        assert [each["email"] for each in listed["items"]] == [me.email]
        answers = (
            await me.api.get(f"{STAFF}/{other.id}"),
            await me.api.patch(f"{STAFF}/{other.id}", json={"name": "Hacked"}),
            await me.api.patch(f"{STAFF}/{other.id}", json={"password": "a new password"}),
        )
        assert [each.status_code for each in answers] == [404, 404, 404]
        new = {"email": "new@example.com", "password": PASSWORD, "role": "owner"}
        assert (await me.api.post(STAFF, json=new)).status_code == 403
        for account in staff.values():
            assert (await me.api.delete(f"{STAFF}/{account.id}")).status_code == 403

    @pytest.mark.parametrize("role", ROLES)
    async def test_own_name_bio_picture_and_password_can_be_changed(
        self, staff: dict[str, Account], tenant: TenantWorld, role: str
    ) -> None:
        me = staff[role]
        one = f"{STAFF}/{me.id}"
        values = {"name": "New Name", "bio": "Writes.", "picture": "/media/x/y.png"}
        answer = await me.api.patch(one, json=values)
        assert answer.status_code == 200
        assert {name: answer.json()[name] for name in values} == values
        unknown = await me.api.patch(one, json={"password": "a new password"})
        assert list(unknown.json()["data"]) == ["oldPassword"]
        new = {"password": "a new password", "oldPassword": PASSWORD}
        assert (await me.api.patch(one, json=new)).status_code == 200
        credentials = {"identity": me.email, "password": "a new password"}
        signed_in = await tenant.guest.post("/api/admins/auth-with-password", json=credentials)
        assert (signed_in.status_code, signed_in.json()["record"]["role"]) == (200, role)

    @pytest.mark.parametrize("role", ROLES)
    @pytest.mark.parametrize(
        "value",
        [
            {"role": "owner"},
            {"email": "other@example.com"},
            {"verified": True},
            {"slug": "the-editor"},
            {"tenant_id": "abcdefghij01234"},
        ],
    )
    async def test_no_role_can_raise_its_own_rights(
        self, staff: dict[str, Account], role: str, value: dict[str, Any]
    ) -> None:
        me = staff[role]
        answer = await me.api.patch(f"{STAFF}/{me.id}", json={"name": "X", **value})
        assert answer.status_code == 403
        assert (await me.api.get(f"{STAFF}/{me.id}")).json()["name"] != "X"

    async def test_a_new_role_counts_from_the_next_request(
        self, owner: Account, editor: Account
    ) -> None:
        assert (await editor.api.get(records_of("pages"))).status_code == 200
        demoted = await owner.api.patch(f"{STAFF}/{editor.id}", json={"role": "author"})
        assert demoted.status_code == 200
        assert (await editor.api.get(records_of("pages"))).status_code == 403

    async def test_an_unknown_role_is_refused(self, owner: Account, editor: Account) -> None:
        answer = await owner.api.patch(f"{STAFF}/{editor.id}", json={"role": "system"})
        assert (answer.status_code, list(answer.json()["data"])) == (400, ["role"])

    async def test_the_last_owner_stays(
        self, app: World, tenant: TenantWorld, owner: Account, editor: Account, operator: Account
    ) -> None:
        everyone = (await owner.api.get(STAFF, params={"filter": "role = 'owner'"})).json()["items"]
        for each in everyone:
            if each["id"] != owner.id:
                assert (await owner.api.delete(f"{STAFF}/{each['id']}")).status_code == 204
        for account in (owner, operator):
            headers = {"x-tenant-id": tenant.id}
            one = f"{STAFF}/{owner.id}"
            answers = (
                await account.api.delete(one, headers=headers),
                await account.api.patch(one, json={"role": "editor"}, headers=headers),
            )
            assert [each.status_code for each in answers] == [400, 400]
            assert "last" in answers[0].json()["message"]
        assert (await owner.api.patch(f"{STAFF}/{editor.id}", json={"role": "owner"})).is_success
        assert (await owner.api.delete(f"{STAFF}/{owner.id}")).status_code == 204

    @pytest.mark.parametrize("role", ROLES)
    async def test_data_protection_is_for_owners(
        self, staff: dict[str, Account], tenant: TenantWorld, role: str
    ) -> None:
        api = staff[role].api
        body = {"type": "tenant", "tenant_id": tenant.id, "tenant_slug": tenant.slug}
        erase = {**body, "confirmation_phrase": "DELETE MY DATA"}
        for path, given in (("export", body), ("delete", erase)):
            answer = await api.post(f"/api/gdpr/{path}", json=given)
            assert answer.status_code == 401, answer.text

    @pytest.mark.parametrize("role", ROLES)
    async def test_a_session_is_no_api_key(self, staff: dict[str, Account], role: str) -> None:
        assert (await staff[role].api.get("/api/v1/posts")).status_code == 401

    @pytest.mark.parametrize("role", ROLES)
    async def test_nothing_of_another_tenant(
        self,
        app: World,
        staff: dict[str, Account],
        other_tenant: TenantWorld,
        role: str,
    ) -> None:
        theirs: Record = await other_tenant.post(authors=[])
        api = app.client(other_tenant.host, token=staff[role].token)
        assert (await api.get(f"{POSTS}/{theirs['id']}")).status_code == 404
        assert (await api.patch(f"{POSTS}/{theirs['id']}", json={"title": "X"})).status_code == 401
        assert (await api.get(STAFF)).status_code == 401

    @pytest.mark.parametrize("role", ROLES)
    async def test_secrets_are_out_of_reach_by_filter_sort_and_expand(
        self, staff: dict[str, Account], tenant: TenantWorld, role: str
    ) -> None:
        me = staff[role]
        await tenant.post(authors=[me.id, staff["owner"].id])
        for path in ("tenant_id.plan", "tenant_id.owner_id.email", "authors.password_hash"):
            for name in ("filter", "sort"):
                value = f"{path} != ''" if name == "filter" else path
                assert (await me.api.get(POSTS, params={name: value})).status_code == 400, path
        expanded = await me.api.get(POSTS, params={"expand": "tenant_id,authors"})
        (item,) = expanded.json()["items"]
        assert [each["id"] for each in item["expand"]["authors"]] == [me.id]
        assert list(item["expand"]) == ["authors"]


class TestWithoutPassword:
    async def test_neither_a_password_nor_a_link_lets_them_in(
        self, app: World, tenant: TenantWorld
    ) -> None:
        email = f"guest-{tenant.slug}@example.com"
        await tenant.create("_superusers", {"email": email, "role": "author", "name": "Guest"})
        for password in ("", "x", PASSWORD):
            answer = await tenant.guest.post(
                "/api/admins/auth-with-password", json={"identity": email, "password": password}
            )
            assert answer.status_code == 400
            assert "token" not in answer.json()
