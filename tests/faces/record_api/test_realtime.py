"""Realtime: who is told of which change, in which order, and what a connection ends with."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import quote

import httpx
import pytest
from tests.faces.record_api.listener import Message, listening
from tests.features.media.test_uses import path_of, uploaded
from tests.served import serving
from tests.waiting import until
from tests.world import Account, TenantWorld, World, records_of

from masthead.base.caller import guest, system
from masthead.base.config.keyring import KeyRing
from masthead.base.errors import RateLimited
from masthead.engine.records.accounts import credentials
from masthead.engine.records.change_log import ChangeLog
from masthead.engine.records.filter.ast import Comparison, Expression, Identifier
from masthead.engine.records.filter.parser import parse
from masthead.engine.records.write.unit_changes import LogPlace
from masthead.faces.record_api.realtime import watcher
from masthead.faces.record_api.realtime.connection import Connection
from masthead.faces.record_api.realtime.connections import RealtimeLimits
from masthead.faces.record_api.realtime.hub import Hub
from masthead.faces.record_api.realtime.relay import Relay, Request
from masthead.features.members.collection import blog_members
from masthead.identity.tenants import superusers
from masthead.service.app import http_app
from masthead.web.asgi import Receive, Scope, Send


@pytest.fixture
async def url(app: World) -> AsyncIterator[str]:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await app.http(scope, receive, send)

    async with serving(answer) as address:
        yield address
        app.parts.realtime.end_all()
        app.parts.realtime._is_closing = False


@asynccontextmanager
async def limited(app: World, limits: RealtimeLimits) -> AsyncIterator[Hub]:
    """The service with a hub of other limits."""
    usual = app.parts.realtime, app.http
    app.parts.realtime = hub = Hub(app.parts, app.parts.changes, limits)
    app.http = http_app(app.parts)
    try:
        yield hub
    finally:
        app.parts.realtime, app.http = usual
        await hub.stop()


def options(topic: str, **query: str) -> str:
    return f"{topic}?options=" + quote(json.dumps({"query": query, "headers": {}}))


async def test_the_first_event_names_the_client(url: str, tenant: TenantWorld) -> None:
    async with listening(url, tenant.host) as listener:
        assert listener.hello.name == "PB_CONNECT"
        assert listener.hello.data == {"clientId": listener.hello.id}
        headers = listener.response.headers
        assert headers["content-type"] == "text/event-stream"
        assert headers["cache-control"] == "no-store"


async def test_a_guest_is_told_of_what_it_may_read(url: str, tenant: TenantWorld) -> None:
    async with listening(url, tenant.host) as guest:
        await guest.subscribe("posts/*")
        await tenant.post(title="A draft")
        post = await tenant.published(title="Out", content_html="<p>Words</p>", tags=["a"])
        created = await guest.next()
        assert (created.name, created.action) == ("posts/*", "create")
        seen = (await tenant.guest.get(f"/api/collections/posts/records/{post['id']}")).json()
        assert created.record == seen
        await tenant.update("posts", post["id"], {"title": "Changed"})
        updated = await guest.next()
        assert (updated.action, updated.record["title"]) == ("update", "Changed")
        await tenant.update("posts", post["id"], {"status": "draft", "title": "Secret"})
        gone = await guest.next()
        assert (gone.action, gone.record["id"]) == ("delete", post["id"])
        assert gone.record["title"] == "Changed"
        await tenant.update("posts", post["id"], {"title": "Still secret"})
        await tenant.update("posts", post["id"], {"status": "published"})
        back = await guest.next()
        assert (back.action, back.record["title"]) == ("update", "Still secret")
        await tenant.world.parts.records.delete(
            system(tenant.id), tenant.world.collection("posts"), post["id"]
        )
        assert (await guest.next()).action == "delete"
        await guest.nothing_more()


async def test_topics_and_options(url: str, tenant: TenantWorld) -> None:
    post = await tenant.published(title="First")
    topics = [
        "posts",
        f"posts/{post['id']}",
        options("posts/*", filter="title ~ 'wanted'", fields="id,title"),
        options("posts/*", filter="nope = 1"),
        "nope",
        "posts?options=bad",
        "",
    ]
    async with listening(url, tenant.host) as guest:
        await guest.subscribe(*topics)
        await tenant.update("posts", post["id"], {"title": "Not this one"})
        names = [each.name for each in await guest.some(3)]
        assert sorted(names) == sorted(["posts", f"posts/{post['id']}", "posts?options=bad"])
        await tenant.update("posts", post["id"], {"title": "The wanted"})
        found = {each.name: each.record for each in await guest.some(4)}
        assert found[topics[2]] == {"id": post["id"], "title": "The wanted"}
        await guest.nothing_more()


async def test_roles_and_sites_are_told_of_their_own(
    url: str, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    """Drafts, posts for members and by email only, accounts, orders: each to those who may read
    them."""
    owner, member = await tenant.owner(), await tenant.member()
    author, stranger = await tenant.owner(role="author"), await other_tenant.owner()
    topics = ("posts", "blog_members", "orders", "products", "_superusers", "site_settings")
    async with AsyncExitStack() as stack:
        heard = {
            name: await stack.enter_async_context(listening(url, at.host))
            for name, at in (
                ("guest", tenant),
                ("member", tenant),
                ("author", tenant),
                ("owner", tenant),
                ("stranger", other_tenant),
            )
        }
        tokens = {"owner": owner, "member": member, "author": author, "stranger": stranger}
        for name, listener in heard.items():
            await listener.subscribe(*topics, token=tokens[name].token if name in tokens else "")
        await tenant.post(title="draft")
        await tenant.published(title="by email", email_only=True)
        await tenant.published(title="for members", visibility="members")
        await tenant.post(title="the author's", authors=[author.id])
        await tenant.update("blog_members", member.id, {"name": "Mem"})
        await tenant.member(name="Another")
        await tenant.create("products", {"name": "Mug", "slug": "mug", "price": 100})
        await tenant.update("_superusers", author.id, {"bio": "Writes"})
        await tenant.published(title="last")
        told = [await heard["owner"].next() for _ in range(9)]
        found = {name: [_said(each) for each in await heard[name].so_far()] for name in heard}
    assert [_said(each) for each in told] == [
        "draft",
        "by email",
        "for members",
        "the author's",
        "Mem",
        "Another",
        "Mug",
        author.email,
        "last",
    ]
    assert found == {
        "owner": [],
        "stranger": [],
        "guest": ["last"],
        "member": ["Mem", "last"],
        "author": ["the author's", author.email],
    }


def _said(message: Message) -> str:
    record = message.record
    return str(record.get("title") or record.get("name") or record["email"])


@pytest.mark.both_databases
async def test_the_changes_of_a_batch_come_in_order_once_it_commits(
    url: str, tenant: TenantWorld
) -> None:
    owner = await tenant.owner()
    posts = records_of("posts")
    made = [{"method": "POST", "url": posts, "body": {"title": str(n)}} for n in range(3)]
    async with listening(url, tenant.host) as listener:
        await listener.subscribe("posts", "post_revisions", token=owner.token)
        failing = {"requests": [*made, {"method": "POST", "url": posts, "body": {}}]}
        assert (await owner.api.post("/api/batch", json=failing)).status_code == 400
        assert (await owner.api.post("/api/batch", json={"requests": made})).status_code == 200
        messages = await listener.some(3)
        assert [each.record["title"] for each in messages] == ["0", "1", "2"]
        await listener.nothing_more()


async def test_a_guest_may_sign_in_and_nobody_becomes_another(
    url: str, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    owner, member = await tenant.owner(), await tenant.member()
    async with listening(url, tenant.host) as listener:
        await listener.subscribe("posts")
        await tenant.post(title="unseen")
        await listener.subscribe("posts", token=member.token)
        await listener.subscribe("posts", token=member.token)
        for token in (owner.token, ""):
            refused = await listener.post("posts", token=token)
            assert refused.status_code == 403
            assert refused.json()["message"] == (
                "The current and the previous request authorization don't match."
            )
        # A connection of one site is none of another's.
        async with httpx.AsyncClient(base_url=url, headers={"host": other_tenant.host}) as other:
            body = {"clientId": listener.client_id, "subscriptions": ["posts"]}
            assert (await other.post("/api/realtime", json=body)).status_code == 403
        await listener.nothing_more()
    async with listening(url, tenant.host) as listener:
        await listener.subscribe("posts", token=owner.token)
        await tenant.post(title="seen")
        assert (await listener.next()).record["title"] == "seen"


async def _end_sign_in(tenant: TenantWorld, owner: Account) -> None:
    accounts = tenant.world.parts.accounts
    [record] = await tenant.world.parts.records.find(superusers, {"id": owner.id})
    [sign_in] = await accounts.sign_ins.of(superusers, record)
    assert await accounts.sign_ins.end(superusers, record, sign_in.id)


async def _new_password(tenant: TenantWorld, owner: Account) -> None:
    records, sign_ins = tenant.world.parts.records, tenant.world.parts.accounts.sign_ins
    [record] = await records.find(superusers, {"id": owner.id})
    await sign_ins.set_password(system(tenant.id), superusers, record, credentials("a hash"))


async def _suspension(tenant: TenantWorld, owner: Account) -> None:
    await tenant.update("tenants", tenant.id, {"status": "suspended"})


async def _the_tokens_end(tenant: TenantWorld, owner: Account) -> None:
    tenant.world.clock.advance(hours=25)


@pytest.mark.parametrize("cause", [_end_sign_in, _new_password, _suspension, _the_tokens_end])
async def test_a_connection_ends_with_its_session(
    url: str, tenant: TenantWorld, cause: Callable[[TenantWorld, Account], Awaitable[None]]
) -> None:
    owner = await tenant.owner()
    async with listening(url, tenant.host) as listener:
        await listener.subscribe("posts", token=owner.token)
        await cause(tenant, owner)
        began = time.monotonic()
        await listener.end()
        assert time.monotonic() - began < 5


@pytest.mark.both_databases
@pytest.mark.parametrize("cause", [_end_sign_in, _new_password, _suspension, _the_tokens_end])
async def test_what_is_committed_after_the_session_is_not_sent(
    url: str,
    app: World,
    tenant: TenantWorld,
    monkeypatch: pytest.MonkeyPatch,
    cause: Callable[[TenantWorld, Account], Awaitable[None]],
) -> None:
    """Even if the regular check of the sessions is still to come."""
    for name in ("LOOK_SECONDS", "POLL_SECONDS", "FILE_SECONDS"):
        monkeypatch.setattr(watcher, name, 3600.0)
    owner = await tenant.owner()
    async with limited(app, RealtimeLimits()) as hub, listening(url, tenant.host) as listener:
        monkeypatch.setattr(app.parts.records, "_on_changes", hub.note_changes)
        await listener.subscribe("posts", token=owner.token)
        await tenant.post(title="before")
        assert (await listener.next()).record["title"] == "before"
        await cause(tenant, owner)
        await tenant.post(title="after")
        await listener.end()


@pytest.mark.both_databases
async def test_what_was_missed_comes_once_and_in_order(url: str, tenant: TenantWorld) -> None:
    """Also where a change has several messages, of which the client got some."""
    topics = ("posts", "posts/*")
    async with listening(url, tenant.host) as listener:
        await listener.subscribe(*topics)
        for n in range(3):
            await tenant.published(title=str(n))
        whole = await listener.some(6)
    for missed in range(1, 6):
        async with listening(url, tenant.host, last_id=whole[-missed - 1].id) as listener:
            assert "gap" not in listener.hello.data
            await listener.subscribe(*topics)
            assert await listener.some(missed) == whole[-missed:]
            await listener.nothing_more()
    async with listening(url, tenant.host, last_id=whole[-1].id) as listener:
        await listener.subscribe(*topics)
        await tenant.published(title="new")
        assert [each.record["title"] for each in await listener.some(2)] == ["new", "new"]


@pytest.mark.both_databases
async def test_a_gap_is_told(url: str, tenant: TenantWorld) -> None:
    async with listening(url, tenant.host) as listener:
        await listener.subscribe("posts")
        await tenant.published(title="first")
        place = (await listener.next()).id
        await tenant.published(title="second")
        await listener.next()
    changes = tenant.world.parts.changes
    tenant.world.clock.advance(hours=1)
    await changes.sweep()
    async with listening(url, tenant.host, last_id=place) as listener:
        assert "gap" not in listener.hello.data
    tenant.world.clock.advance(hours=4)
    await changes.sweep()
    for last_id in (place, "vffffff-0-0", "nonsense"):
        async with listening(url, tenant.host, last_id=last_id) as listener:
            assert listener.hello.data["gap"] is True
            await listener.subscribe("posts")
            await tenant.published(title="new")
            assert (await listener.next()).record["title"] == "new"


@pytest.mark.parametrize("hours", [1, -1, 5])
async def test_a_clock_that_jumps_ends_no_connection(
    url: str, tenant: TenantWorld, hours: int
) -> None:
    """The regular cleaner looks at once, before any watch is renewed."""
    owner, post = await tenant.owner(), await tenant.published()
    live = {"path": "/admin/live?topics=comments", "cookie": f"pb_auth={owner.token}"}
    async with (
        listening(url, tenant.host) as listener,
        listening(url, tenant.host, **live) as page,
    ):
        await listener.subscribe("posts", token=owner.token)
        tenant.world.clock.advance(hours=hours)
        await tenant.world.parts.changes.sweep()
        await tenant.published(title="after")
        assert (await listener.next()).record["title"] == "after"
        comment = {"post_id": post["id"], "author_name": "Ana", "body": "Hm"}
        made = await tenant.create("comments", comment)
        assert (await page.next()).record == {"id": made["id"]}


@pytest.mark.both_databases
async def test_nothing_is_logged_where_nobody_listens(app: World) -> None:
    quiet = await app.new_tenant("quiet")
    await quiet.published()
    log = app.parts.changes
    assert await log.after(quiet.id, LogPlace(0, 0)) == []
    await log.watch(quiet.id)
    await quiet.published(title="heard")
    [change] = await log.after(quiet.id, LogPlace(0, 0))
    assert (change.action, change.state["title"]) == ("create", "heard")
    # Long texts, personal data and secrets are not in the log.
    assert "content_html" not in change.state
    await quiet.member(email="someone@example.com")
    assert "email" not in (await log.after(quiet.id, change.place))[-1].state
    app.clock.advance(hours=5)
    await ChangeLog(app.parts.database, app.clock, over_seconds=0.0).sweep()
    await quiet.published(title="unheard")
    assert await log.after(quiet.id, LogPlace(0, 0)) == []


async def test_a_client_that_does_not_read_is_cut_off() -> None:
    connection = Connection("id", None, "127.0.0.1")
    connection.offer([b"x" * 8 * 1024 * 1024])
    assert not connection.is_closed
    assert not connection.has_room
    assert len(connection.take()) == 8 * 1024 * 1024
    connection.offer([b"x" * 1024] * 900)
    assert not connection.is_closed
    connection.offer([b"x" * 1024] * 200)
    assert connection.is_closed
    assert connection.take() == b""


async def test_a_silent_connection_ends(url: str, app: World, tenant: TenantWorld) -> None:
    async with (
        limited(app, RealtimeLimits(idle_seconds=0.3)),
        listening(url, tenant.host) as listener,
    ):
        await listener.end()


async def test_a_silent_connection_gets_comments(url: str, app: World, tenant: TenantWorld) -> None:
    async with (
        limited(app, RealtimeLimits(comment_seconds=0.05, idle_seconds=30)),
        listening(url, tenant.host) as listener,
    ):
        await listener.subscribe("posts")
        assert await listener.comments.get() == ":"
        post = await tenant.published()
        assert (await listener.next()).record["id"] == post["id"]
        while not listener.comments.empty():
            listener.comments.get_nowait()
        assert await listener.comments.get() == ":"


async def test_comments_do_not_hold_a_silent_connection_open(
    url: str, app: World, tenant: TenantWorld
) -> None:
    async with (
        limited(app, RealtimeLimits(comment_seconds=0.05, idle_seconds=0.3)),
        listening(url, tenant.host) as listener,
    ):
        await listener.end()
        assert not listener.comments.empty()


async def test_no_connection_lasts_for_ever(url: str, app: World, tenant: TenantWorld) -> None:
    async with (
        limited(app, RealtimeLimits(whole_seconds=2)),
        listening(url, tenant.host) as listener,
    ):
        await listener.subscribe("posts")
        await tenant.published()
        await listener.next()
        await listener.end()


async def test_a_guest_is_not_told_of_private_files(
    url: str, tenant: TenantWorld, owner: Account, member: Account
) -> None:
    hidden = await uploaded(owner, private="true")
    async with listening(url, tenant.host) as guest, listening(url, tenant.host) as reader:
        await guest.subscribe("posts/*")
        await reader.subscribe("posts/*", token=member.token)
        image = f'<p>Words</p><img src="{path_of(hidden)}">'
        post = await tenant.published(content_html=image, featured_image=path_of(hidden))
        told = (await guest.next()).record
        assert hidden["id"] not in json.dumps(told)
        assert told == (await tenant.guest.get(records_of("posts", post["id"]))).json()
        assert hidden["id"] in (await reader.next()).record["content_html"]


async def test_connections_are_limited(url: str, app: World, tenant: TenantWorld) -> None:
    async with (
        limited(app, RealtimeLimits(per_site=1)),
        listening(url, tenant.host),
        httpx.AsyncClient(base_url=url) as api,
    ):
        refused = await api.get("/api/realtime", headers={"host": tenant.host})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
    async with limited(app, RealtimeLimits(per_address=1)) as realtime:
        opened = realtime.open(tenant.id, "203.0.113.9")
        with pytest.raises(RateLimited):
            realtime.open(tenant.id, "203.0.113.9")
        realtime.close(opened)
        realtime.close(realtime.open(tenant.id, "203.0.113.9"))


@pytest.mark.both_databases
async def test_a_request_that_a_newer_root_secret_sealed_holds_nothing_up(
    url: str, app: World, tenant: TenantWorld
) -> None:
    member = await tenant.member()
    process = app.parts.realtime.ids.process
    newer = Relay(app.parts.database, KeyRing(["n" * 40]), process, app.clock)
    request = Request("x" * 40, [], tenant.id, "")

    async def has_arrived() -> bool:
        return bool(await newer.pending())

    async with listening(url, tenant.host) as listener:
        await listener.subscribe("posts/*", token=member.token)
        asked = asyncio.create_task(newer.ask(process, request))
        await until(has_arrived)
        records = app.parts.records
        [account] = await records.find(blog_members, {"id": member.id}, tenant_id=tenant.id)
        await app.parts.accounts.sign_ins.end_all(blog_members, account)
        await listener.end()
        assert not asked.done()
        assert await asked == ""


@pytest.mark.parametrize(
    "hides",
    [
        {"status": "draft"},
        {"visibility": "members"},
        {"visibility": "paid"},
        {"email_only": True},
    ],
    ids=lambda each: next(iter(each.values())),
)
async def test_a_filter_tells_nothing_of_what_a_record_has_become(
    url: str, tenant: TenantWorld, hides: dict[str, object]
) -> None:
    post = await tenant.published(title="Out", content_html="<p>Open words</p>")
    async with listening(url, tenant.host) as guest:
        await guest.subscribe(
            options("posts/*", filter="content_html ~ 'needle'"),
            options("posts/*", filter="title = 'Out'"),
        )
        hidden = {**hides, "content_html": "<p>A needle</p>"}
        await tenant.update("posts", post["id"], hidden)
        gone = await guest.next()
        assert (gone.action, "title" in gone.name) == ("delete", True)
        assert "needle" not in str(gone.record)
        await guest.nothing_more()


async def test_a_reader_has_few_different_options(
    url: str, tenant: TenantWorld, owner: Account
) -> None:
    topics = [options("posts/*", filter=f"title ~ 'a{n}'") for n in range(21)]
    async with listening(url, tenant.host) as guest:
        refused = await guest.post(*topics)
        assert refused.status_code == 400
        assert "20 different options" in refused.text
        await guest.subscribe(*topics[:20], *(f"posts/{n:015}" for n in range(900)))
        refused = await guest.post(*(f"posts/*?{n}{'a' * 2000}" for n in range(35)))
        assert refused.status_code == 413
        assert "65,536 bytes" in refused.text
    async with listening(url, tenant.host) as staff:
        await staff.subscribe(*topics, token=owner.token)


async def test_the_different_options_of_an_address_are_limited(
    app: World, tenant: TenantWorld
) -> None:
    realtime, caller = app.parts.realtime, guest(tenant.id)
    topics = [options("posts/*", filter=f"title ~ 'a{n}'") for n in range(201)]
    opened = [realtime.open(tenant.id, "203.0.113.9") for _ in range(11)]
    last = opened[-1]
    for number, each in enumerate(opened[:-1]):
        await realtime.subscribe(each.id, topics[20 * number : 20 * number + 20], caller, "")
    with pytest.raises(RateLimited):
        await realtime.subscribe(last.id, topics[200:], caller, "")
    # The same ones cost nothing more.
    await realtime.subscribe(last.id, topics[:20], caller, "")
    for each in opened:
        realtime.close(each)


async def test_copies_of_a_record_do_not_fill_the_memory(url: str, tenant: TenantWorld) -> None:
    async with listening(url, tenant.host) as guest:
        await guest.subscribe(*(f"posts/*?{n}" for n in range(100)))
        text = "word " * 40_000
        await tenant.published(title="Long", content_html=f"<p>{text}</p>")
        await guest.end()


def test_the_log_has_what_the_read_rules_ask(app: World) -> None:
    """Otherwise nobody could say who might read the record before."""
    for collection in app.parts.records.registry.collections:
        known = {"id", "tenant_id", *collection.logged_fields}
        for rules in (
            collection.rules,
            collection.editors,
            collection.authors,
            collection.contributors,
        ):
            for name in _fields_of(rules.read or ""):
                assert name in known, (collection.name, name)


def _fields_of(rule: str) -> set[str]:
    if not rule:
        return set()
    operands = [operand for each in _compared(parse(rule)) for operand in (each.left, each.right)]
    names = {each.path[0] for each in operands if isinstance(each, Identifier)}
    return {name for name in names if not name.startswith("@")}


def _compared(rule: Expression) -> Iterator[Comparison]:
    if isinstance(rule, Comparison):
        yield rule
        return
    for each in rule.items:
        yield from _compared(each)
