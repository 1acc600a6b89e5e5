"""Filters on the list endpoint: results, refused ones, and hostile ones."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.records.filter import expressions
from tests.tiers import representatives, rounds
from tests.work import thread_seconds
from tests.world import Account, TenantWorld, World, records_of

from masthead.engine.records.fields.base import Access
from masthead.identity.limits.read_limits import COSTLY_PER_MINUTE
from masthead.service.schema import registry

POSTS = records_of("posts")


async def titles(api: httpx.AsyncClient, expression: str) -> str:
    answer = await api.get(POSTS, params={"filter": expression, "sort": "title"})
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert body["totalItems"] == len(body["items"])
    return "".join(item["title"] for item in body["items"])


@pytest.fixture
async def shelf(tenant: TenantWorld) -> TenantWorld:
    """Four posts, a to d."""
    await tenant.published(title="a", tags=["x", "y"], excerpt="100%", content_json={"n": [1, "t"]})
    await tenant.published(title="b", tags=["y"], excerpt="1000", visibility="members")
    post = await tenant.post(title="c", tags=[], excerpt="under_score", featured_image="/c.png")
    await tenant.published(
        title="d", published_at="2020-01-02T03:04:05.678Z", excerpt="back\\slash"
    )
    for body in ("first", "second"):
        await tenant.create("comments", {"post_id": post["id"], "author_name": "A", "body": body})
    return tenant


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("title = 'a'", "a"),
        ("'a' = title", "a"),
        ("title != 'a'", "bcd"),
        ("title > 'b'", "cd"),
        ("title >= 'b' && title < 'd'", "bc"),
        ("title = 'a' || title = 'b' && status = 'draft'", "a"),
        ("(title = 'a' || title = 'b') && status = 'published'", "ab"),
        ("title ~ 'A'", "a"),
        ("title !~ 'a'", "bcd"),
        ("excerpt ~ '100'", "ab"),
        ("excerpt ~ '100\\%'", "a"),
        ("excerpt ~ '%00'", "b"),
        ("excerpt ~ 'r_s'", "c"),
        ("excerpt ~ 'k\\\\s'", "d"),
        ("excerpt ~ title", "c"),
        ("title ~ excerpt", ""),
        ("tags ?= 'x'", "a"),
        ("tags ?= 'y'", "ab"),
        ("tags ?~ 'Y'", "ab"),
        ("tags ?!= 'y'", "a"),
        ("tags ~ 'x'", "a"),
        ("featured_image = ''", "abd"),
        ("featured_image = null", "abd"),
        ("featured_image != null", "c"),
        ("published_at = null", "c"),
        ("published_at != ''", "abd"),
        ("published_at = '2020-01-02 03:04:05.678Z'", "d"),
        ("published_at < '2021-01-01'", "cd"),
        ("published_at <= @now && published_at > @todayStart", "ab"),
        ("content_json = null", "bcd"),
        ("content_json.n.0 = 1", "a"),
        ("content_json.n.1 = 't'", "a"),
        ("content_json.nope = null", "abcd"),
        ("comments_via_post_id.body ?= 'first'", "c"),
        ("comments_via_post_id.body = 'first'", ""),
        ("comments_via_post_id.body ~ 's'", "c"),
        ("comments_via_post_id.post_id.title ?= title", "c"),
        ("tenant_id.slug = 'nope'", ""),
        ("tenant_id = @request.auth.tenant_id", "abcd"),
        ("@request.auth.collectionName = '_superusers'", "abcd"),
        ("@day = 14 && @month = 11 && @year = 2026", "abcd"),
        ("1 = 1", "abcd"),
        ("1 = 2", ""),
        ("true = true", "abcd"),
        ("null = ''", "abcd"),
    ],
)
async def test_filters_find_records(shelf: TenantWorld, expression: str, found: str) -> None:
    owner = await shelf.owner()
    assert await titles(owner.api, expression) == found


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("active = true", "a"),
        ("active = 1", "a"),
        ("active != true", "b"),
        ("active = null", "b"),
        ("active > 0", "a"),
        ("active >= false", "ab"),
        ("price = 10", "a"),
        ("price = '10'", "a"),
        ("price > 10", "b"),
        ("price > '9' && price < 10.5", "a"),
        ("price = name", ""),
        ("price = 'abc'", ""),
        ("price != 'abc'", "ab"),
        ("price ~ 1", "a"),
        ("price > active", "ab"),
    ],
)
async def test_numbers_and_flags(
    tenant: TenantWorld, owner: Account, expression: str, found: str
) -> None:
    await tenant.create("products", {"name": "a", "price": 10, "active": True})
    await tenant.create("products", {"name": "b", "price": 25, "active": False})
    wanted = {"filter": expression, "sort": "name"}
    answer = await owner.api.get(records_of("products"), params=wanted)
    assert "".join(item["name"] for item in answer.json()["items"]) == found


async def test_a_number_that_is_not_there(tenant: TenantWorld, owner: Account) -> None:
    await owner.api.post(records_of("media"), files={"file": ("a.txt", b"text")})
    for expression, total in (
        ("width = null", 1),
        ("width = ''", 1),
        ("width != null", 0),
        ("width = 'abc'", 0),
        ("width > 0", 0),
    ):
        answer = await owner.api.get(records_of("media"), params={"filter": expression})
        assert answer.json()["totalItems"] == total, expression


@pytest.mark.parametrize(
    "expression",
    [
        "title",
        "title =",
        "nope = 1",
        "title = 'a",
        "title = 'a' and 1 = 1",
        "title = 'a'; DROP TABLE posts",
        "title:each = 'a'",
        "title.x = 'a'",
        "strftime('%Y', created) = '2026'",
        "@request.body.title = 'a'",
        "@request.auth.nope = 'a'",
        "@collection.posts.title = 'a'",
        "@nope = 1",
        "(" * 300 + "title = 'a'" + ")" * 300,
        "title = 'a' && " * 250 + "title = 'a'",
        "a" * 4000 + " = 1",
        'content_json."x = 1',
    ],
)
async def test_invalid_filters_are_refused(owner: Account, expression: str) -> None:
    answer = await owner.api.get(POSTS, params={"filter": expression})
    assert (answer.status_code, answer.json()["code"]) == (400, "validation_invalid_data")


@pytest.mark.parametrize(
    "value", representatives(["\0", "'", "%", "a\0b", "\ud7ff\ufffe", "😀" * 50, "\\", "_"], 3)
)
async def test_any_text_can_be_searched_for(
    tenant: TenantWorld, owner: Account, value: str
) -> None:
    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
    for field in ("status", "title", "id", "published_at", "tags", "content_json.a"):
        for op in ("=", "~", "?=", "!=", "<"):
            wanted = {"filter": f"{field} {op} '{quoted}'"}
            assert (await owner.api.get(POSTS, params=wanted)).status_code == 200
            assert (await tenant.guest.get(POSTS, params=wanted)).status_code == 200


class TestEveryExpression:
    async def test_is_answered(
        self, app: World, tenant: TenantWorld, owner: Account, member: Account
    ) -> None:
        for expression in expressions.every():
            for api, collection in (
                (owner.api, "posts"),
                (owner.api, "blog_members"),
                (tenant.guest, "posts"),
                # From an address of its own each time: so many refusals are limited.
                (app.client(tenant.host, token=member.token), "blog_members"),
            ):
                answer = await api.get(records_of(collection), params={"filter": expression})
                assert answer.status_code in (200, 400), (expression, answer.text)
                if answer.status_code == 400:
                    assert answer.json()["code"] == "validation_invalid_data"

    async def test_is_judged_right(self, owner: Account) -> None:
        judged = expressions.judged()
        for collection, valid in (("posts", judged["posts"]), ("blog_members", judged["members"])):
            for expression in valid:
                answer = await owner.api.get(records_of(collection), params={"filter": expression})
                assert answer.status_code == 200, (expression, answer.text)
        for expression in judged["refused"]:
            answer = await owner.api.get(POSTS, params={"filter": expression})
            assert answer.status_code == 400, expression


def _names() -> st.SearchStrategy[str]:
    fields = sorted({each.name for c in registry.collections for each in c.all_fields})
    backs = [
        f"{s.name}_via_{r.name}"
        for c in registry.collections
        for s, r in registry.referrers[c.name]
    ]
    step = st.sampled_from([*fields, *sorted(set(backs)), "nope", "0"])
    return st.lists(step, min_size=1, max_size=4).map(".".join)


_CALLERS = ("guest", "bare", "member", "owner")
_OPERANDS = st.one_of(
    _names(),
    st.sampled_from(["null", "true", "false", "''", "1", "-2.5", "99999999999999999999"]),
    st.sampled_from(["@now", "@day", "@monthEnd", "@request.auth.id", "'2026-11-14 09:30:00Z'"]),
    st.text(max_size=6).map(lambda text: "'" + text.replace("\\", "").replace("'", "") + "'"),
)
_SIGNS = st.sampled_from(["=", "!=", ">", ">=", "<", "<=", "~", "!~"]).flatmap(
    lambda sign: st.sampled_from([sign, "?" + sign])
)
_COMPARISONS = st.tuples(_OPERANDS, _SIGNS, _OPERANDS).map(" ".join)
_FILTERS = st.recursive(
    _COMPARISONS,
    lambda inner: st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(
        lambda parts: "(" + " ".join(parts) + ")"
    ),
    max_leaves=3,
)


@pytest.fixture(scope="module")
async def crowd(service: World) -> dict[str, Any]:
    """Two tenants full of data, and callers of every kind in the first."""
    mine, theirs = await service.new_tenant("mine"), await service.new_tenant("theirs")
    for each in (mine, theirs):
        post = await each.published(tags=["a"], content_json={"a": [1, {"b": None}]})
        parent = {"post_id": post["id"], "author_name": "A", "body": "b"}
        comment = await each.create("comments", parent)
        await each.create("comments", parent | {"parent_id": comment["id"]})
        reader = await each.member(name="R")
        await each.create("orders", {"email": reader.email, "member_id": reader.id, "total": 3})
        await each.create("products", {"name": "P", "price": 2})
    member, owner = await mine.member(), await mine.owner()
    return {
        "tenant": mine.id,
        "clock": service.clock,
        "guest": mine.guest,
        "bare": service.client(),
        "member": member.api,
        "owner": owner.api,
    }


class TestGenerated:
    @settings(
        max_examples=rounds(15, 360),
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(
        collection=st.sampled_from(
            ["posts", "posts", "blog_members", "comments", "orders", "products", "media", "tenants"]
        ),
        wanted=st.fixed_dictionaries(
            {"filter": _FILTERS},
            optional={
                "sort": _names().flatmap(lambda name: st.sampled_from([name, f"-{name}"])),
                "fields": _names(),
                "expand": _names(),
            },
        ),
    )
    async def test_no_list_breaks_or_shows_another_tenant(
        self, crowd: dict[str, Any], collection: str, wanted: dict[str, str]
    ) -> None:
        # An address gets a number of costly lists in a while.
        crowd["clock"].moment += timedelta(minutes=1)
        for who in _CALLERS:
            answer = await crowd[who].get(records_of(collection), params=wanted)
            assert answer.status_code in (200, 400, 401, 403), (who, wanted, answer.text)
            if answer.status_code == 200 and who in ("member", "owner"):
                _only_of(crowd["tenant"], answer.json()["items"])


def _only_of(tenant_id: str, value: Any) -> None:
    if isinstance(value, dict):
        named = value.get("tenant_id", tenant_id)
        # An expansion of the same name holds the tenant itself.
        assert isinstance(named, dict) or named == tenant_id
        for item in value.values():
            _only_of(tenant_id, item)
    elif isinstance(value, list):
        for item in value:
            _only_of(tenant_id, item)


def _by_kind() -> dict[tuple[str, str], tuple[str, str, str]]:
    """For any two kinds of field a collection that has both."""
    found: dict[tuple[str, str], tuple[str, str, str]] = {}
    for collection in registry.collections:
        for a in collection.readable(Access.ADMIN).values():
            for b in collection.readable(Access.ADMIN).values():
                found.setdefault((a.kind, b.kind), (collection.name, a.name, b.name))
    return found


_LITERALS = ("'a'", "1", "1.5", "true", "null", "@now", "@day", "@request.auth.id")


@pytest.mark.sweep
async def test_fields_of_any_two_kinds_compare(owner: Account) -> None:
    """PostgreSQL refuses comparisons between types that SQLite allows."""
    wanted = [(each[0], each[1], each[2]) for each in _by_kind().values()]
    alone = {kinds[0]: (each[0], each[1]) for kinds, each in _by_kind().items()}
    wanted += [(*each, literal) for each in alone.values() for literal in _LITERALS]
    for collection, left, right in wanted:
        for op in ("=", "!=", "<", "~", "?="):
            asked = {"filter": f"{left} {op} {right}", "perPage": "1"}
            answer = await owner.api.get(records_of(collection), params=asked)
            assert answer.status_code == 200, (collection, asked, answer.text)


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("'1000' ~ excerpt && excerpt != ''", "b"),
        ("'a 100% b' ~ excerpt && excerpt != ''", "a"),
        ("'underXscore' ~ excerpt && excerpt != ''", ""),
        ("'under_score' ~ excerpt && excerpt != ''", "c"),
        ("'back\\\\slash' ~ excerpt && excerpt != ''", "d"),
    ],
)
async def test_wildcards_in_stored_text_are_literal(
    shelf: TenantWorld, expression: str, found: str
) -> None:
    assert await titles((await shelf.owner()).api, expression) == found


@pytest.mark.parametrize(
    "expression",
    [
        " || ".join(f"content_html ~ '{'a' * 10}{n}'" for n in range(100)),
        " || ".join(f"content_json.k{n} = 'x'" for n in range(100)),
    ],
)
async def test_a_filter_over_long_texts_does_not_block_other_requests(
    tenant: TenantWorld, owner: Account, expression: str
) -> None:
    document = {"type": "doc", "content": [{"text": "x" * 50}] * 10_000}
    await tenant.published(title="long", content_html="a" * 200_000, content_json=document)
    turns = 0

    async def watch() -> None:
        nonlocal turns
        while True:
            # No wait: it counts the iterations of the loop.
            await asyncio.sleep(0.001)
            turns += 1

    watching = asyncio.create_task(watch())
    answer = await owner.api.get(POSTS, params={"filter": expression})
    watching.cancel()
    assert answer.json()["totalItems"] == 0
    # Each query takes some tenths of a second: a blocked loop has few iterations.
    assert turns > 20


@pytest.mark.parametrize("name", ["id", "email", "collectionName", "collectionId", "tenant_id"])
async def test_of_a_guest_nothing_is_known(tenant: TenantWorld, name: str) -> None:
    await tenant.published(title="a")
    assert await titles(tenant.guest, f"@request.auth.{name} = ''") == "a"
    assert await titles(tenant.guest, f"@request.auth.{name} > ''") == ""


async def test_a_member_is_of_the_tenant(tenant: TenantWorld, member: Account) -> None:
    await tenant.published(title="a")
    assert await titles(member.api, f"@request.auth.tenant_id = '{tenant.id}'") == "a"
    assert await titles(member.api, f"@request.auth.id = '{member.id}'") == "a"


@pytest.mark.parametrize(
    "name",
    [
        "@request.auth.password_hash",
        "@request.auth.token_key",
        "@request.auth.tenant_id.name",
        "@request.headers.host",
        "@request.query.filter",
        "@request.body.title",
        "@request.method",
        "@request.context",
        "@collection.tenants.id",
    ],
)
async def test_nothing_else_of_a_request_is_known(
    tenant: TenantWorld, owner: Account, name: str
) -> None:
    for api in (tenant.guest, owner.api):
        answer = await api.get(POSTS, params={"filter": f"{name} != ''"})
        assert (answer.status_code, answer.json()["code"]) == (400, "validation_invalid_data")


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("content_html ~ 'WORLD'", "ab"),
        ("content_html !~ 'hello'", "b"),
        ("content_html ~ '<p>h%d</p>'", "a"),
        ("content_html ~ '%_orld 100\\%%'", "b"),
        ("content_html ~ '100\\%'", "b"),
        ("content_html ~ title", "a"),
        ("content_html ~ excerpt", "ab"),
        ("content_html ~ content_html", "ab"),
        ("content_html !~ content_html", ""),
        ("content_html ~ ''", "ab"),
    ],
)
async def test_long_texts(tenant: TenantWorld, owner: Account, expression: str, found: str) -> None:
    await tenant.published(title="a", content_html="<p>Hello A wórld, world</p>")
    await tenant.published(title="b", content_html="World 100% c_d \\ %")
    assert await titles(owner.api, expression) == found


NAMES = ("slug", "excerpt", "tags", "status", "created", "updated", "published_at")


def conditions(count: int) -> str:
    return "||".join(f"title='?{number}'" for number in range(count))


class TestHowMuchAReaderMayAsk:
    async def test_guests_and_members_have_thirty_comparisons(
        self, tenant: TenantWorld, member: Account
    ) -> None:
        for api in (tenant.guest, member.api):
            assert await titles(api, conditions(30)) == ""
            refused = await api.get(POSTS, params={"filter": conditions(31)})
            assert (refused.status_code, refused.json()["code"]) == (400, "validation_invalid_data")
            assert "more than 30 comparisons" in refused.json()["message"]

    async def test_administrators_have_two_hundred(
        self, tenant: TenantWorld, owner: Account, operator: Account
    ) -> None:
        for api in (owner.api, operator.api):
            assert await titles(api, conditions(200)) == ""
            refused = await api.get(POSTS, params={"filter": conditions(201)})
            assert (refused.status_code, refused.json()["code"]) == (400, "validation_invalid_data")
            assert "more than 200 comparisons" in refused.json()["message"]

    @pytest.mark.parametrize(
        "wanted",
        [
            {"filter": "title = 'nothing'"},
            {"filter": "content_html ~ 'hello'"},
            {"filter": "title ="},
        ],
    )
    async def test_lists_that_are_empty_costly_or_broken_are_limited_by_address(
        self, app: World, tenant: TenantWorld, wanted: dict[str, str]
    ) -> None:
        await tenant.published(title="a", content_html="hello")
        # A list that nobody has asked for since the start would be costly too.
        assert (await tenant.guest.get(POSTS)).status_code == 200
        guest = tenant.guest
        for _ in range(COSTLY_PER_MINUTE):
            assert (await guest.get(POSTS, params=wanted)).status_code in (200, 400)
        for _ in range(2):
            refused = await guest.get(POSTS, params=wanted)
            assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
            assert 0 < int(refused.headers["retry-after"]) <= 60
        assert (await guest.get(POSTS)).status_code == 200
        assert (await tenant.guest.get(POSTS, params=wanted)).status_code in (200, 400)
        app.clock.advance(minutes=1)
        assert (await guest.get(POSTS, params=wanted)).status_code in (200, 400)

    async def test_a_new_shape_of_list_counts_each_time(self, tenant: TenantWorld) -> None:
        await tenant.published(title="a")
        guest, answers = tenant.guest, list[int]()
        for number in range(COSTLY_PER_MINUTE + 1):
            names = (name for bit, name in enumerate(NAMES) if number >> bit & 1)
            wanted = {"fields": ",".join(["id", "title", *names])}
            answers.append((await guest.get(POSTS, params=wanted)).status_code)
        assert set(answers) == {200, 429}

    async def test_one_network_of_ipv6_counts_as_one_address(
        self, app: World, tenant: TenantWorld
    ) -> None:
        wanted = {"filter": "title = 'nothing'"}
        for number in range(COSTLY_PER_MINUTE):
            guest = app.client(tenant.host, address=f"2001:db8:77:1::{number + 1:x}")
            assert (await guest.get(POSTS, params=wanted)).status_code == 200
        guest = app.client(tenant.host, address="2001:db8:77:1::ffff")
        assert (await guest.get(POSTS, params=wanted)).status_code == 429
        guest = app.client(tenant.host, address="2001:db8:77:2::1")
        assert (await guest.get(POSTS, params=wanted)).status_code == 200

    async def test_ordinary_lists_are_not_counted(
        self, tenant: TenantWorld, owner: Account
    ) -> None:
        await tenant.published(title="a")
        guest = tenant.guest
        for _ in range(COSTLY_PER_MINUTE + 20):
            assert await titles(guest, "title ~ 'a'") == "a"
            assert await titles(owner.api, "title = 'nothing'") == ""

    async def test_a_filter_of_many_comparisons_is_compiled_in_a_thread(
        self, tenant: TenantWorld
    ) -> None:
        assert await titles(tenant.guest, "") == ""  # what every request needs is compiled now
        shares = []
        for count in (15, 14, 13):
            in_threads, on_the_loop = thread_seconds("asyncio_"), time.thread_time()
            filter_ = " || ".join(["slug ~ 'x' && excerpt > title"] * count)
            assert await titles(tenant.guest, filter_) == ""
            in_threads = thread_seconds("asyncio_") - in_threads
            shares.append(in_threads / (time.thread_time() - on_the_loop))
        # Compiling takes several times as long as the rest of the request, of which a busy machine
        # may lengthen one.
        assert max(shares) > 1, shares
