"""The public API of webhook subscriptions, and polling for events.

Who is refused at which door is tested for every route in `test_matrix`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from tests.databases import fresh_url
from tests.tls import Authority, Receiver, answer, hang
from tests.v1.keys import key_client
from tests.world import TenantWorld, World, open_world, records_of

from masthead.base import clock
from masthead.base.caller import system
from masthead.engine.events.log import EventLog
from masthead.features.posts.collection import posts
from masthead.features.webhooks.signing import verify

PATH = "/api/v1/webhooks"
BODY = {
    "name": "Hook",
    # An IP address, so that no name is resolved.
    "url": "https://93.184.216.34/in",
    "events": ["post.published", "post.deleted"],
}


@pytest.fixture
async def api(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant, "webhooks:read", "webhooks:write")


async def subscribed(api: httpx.AsyncClient, **values: Any) -> dict[str, Any]:
    made = await api.post(PATH, json=BODY | values)
    assert made.status_code == 201, made.text
    subscription: dict[str, Any] = made.json()
    return subscription


def problems(answered: httpx.Response) -> set[str]:
    assert answered.status_code == 422
    return set(answered.json()["error"]["details"])


async def test_a_new_subscription(api: httpx.AsyncClient) -> None:
    made = await subscribed(api)
    secret = made.pop("secret")
    assert len(secret) == 64
    assert set(secret) <= set("0123456789abcdef")
    assert made.keys() == {
        "id",
        "name",
        "url",
        "events",
        "failure_count",
        "last_delivery_at",
        "disabled_at",
        "created",
    }
    assert BODY.items() <= made.items()
    assert (made["failure_count"], made["last_delivery_at"], made["disabled_at"]) == (0, None, None)
    assert (await api.get(PATH)).json() == {"items": [made], "total": 1}
    assert (await api.get(f"{PATH}/{made['id']}")).json() == made


async def test_the_secret_is_shown_once_and_never_again(
    api: httpx.AsyncClient, tenant: TenantWorld
) -> None:
    made = await subscribed(api)
    secret, path = made["secret"], f"{PATH}/{made['id']}"
    owner = await tenant.owner()
    seen = [
        await api.get(PATH),
        await api.get(path),
        await api.patch(path, json={"name": "Other"}),
        await owner.api.get(records_of("webhook_subscriptions")),
        await owner.api.get(records_of("webhook_subscriptions", made["id"])),
    ]
    assert [each.status_code for each in seen] == [200] * 5
    assert not any('"secret"' in each.text or secret in each.text for each in seen)
    filtered = await owner.api.get(
        records_of("webhook_subscriptions"), params={"filter": 'secret != ""'}
    )
    assert filtered.status_code == 400


async def test_rotating_the_secret(api: httpx.AsyncClient) -> None:
    made = await subscribed(api)
    rotated = await api.post(f"{PATH}/{made['id']}/rotate-secret")
    assert rotated.status_code == 200
    assert rotated.json().keys() == {"id", "secret"}
    assert rotated.json()["id"] == made["id"]
    assert len(rotated.json()["secret"]) == 64
    assert rotated.json()["secret"] != made["secret"]


@pytest.mark.parametrize("missing", list(BODY))
async def test_every_field_is_needed(api: httpx.AsyncClient, missing: str) -> None:
    body = {name: value for name, value in BODY.items() if name != missing}
    assert problems(await api.post(PATH, json=body)) == {missing}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", ""),
        ("name", "x" * 101),
        ("name", 5),
        ("events", []),
        ("events", ["post.exploded"]),
        ("events", "post.created"),
        ("events", ["post.created", 5]),
        ("url", ""),
        ("url", "hooks.example"),
        ("url", "/in"),
        ("url", "http://hooks.example/in"),
        ("url", "ftp://hooks.example/in"),
        ("url", "https://127.0.0.1/in"),
        ("url", "https://10.1.2.3/in"),
        ("url", "https://[::1]/in"),
        ("url", "https://[::ffff:192.168.0.1]/in"),
        ("url", "https://169.254.169.254/latest/meta-data"),
        ("url", "https://2130706433/in"),
        ("url", "https://localhost/in"),
        ("url", "https://user:password@hooks.example/in"),
        ("url", "https://93.184.216.34:22/in"),
        ("url", "https://hooks.example:25/in"),
        ("url", "https://v°😍"),
        ("url", "https://v°.example/in"),
        ("url", "https://xn--a.example/in"),
    ],
)
async def test_invalid_values_are_refused(api: httpx.AsyncClient, name: str, value: Any) -> None:
    assert problems(await api.post(PATH, json=BODY | {name: value})) == {name}
    made = await subscribed(api)
    changed = await api.patch(f"{PATH}/{made['id']}", json={name: value})
    assert problems(changed) == {name}


@pytest.mark.parametrize("port", [443, 8443, 3000, 9443, 65535])
async def test_a_host_without_an_address_is_accepted_on_every_good_port(
    api: httpx.AsyncClient, port: int
) -> None:
    url = f"https://not-there-yet.invalid:{port}/in"
    assert (await subscribed(api, url=url))["url"] == url


async def test_a_host_name_in_any_script_is_accepted(api: httpx.AsyncClient) -> None:
    await subscribed(api, url="https://bücher.invalid/in")


async def test_changing_a_subscription(api: httpx.AsyncClient) -> None:
    made = await subscribed(api)
    path = f"{PATH}/{made['id']}"
    changed = await api.patch(path, json={"name": "New name", "events": ["comment.posted"]})
    assert changed.status_code == 200
    shown = changed.json()["data"]
    assert (shown["name"], shown["events"]) == ("New name", ["comment.posted"])
    assert shown["url"] == made["url"]
    assert problems(await api.patch(path, json={"disabled": 1})) == {"disabled"}


async def test_pausing_and_going_on(api: httpx.AsyncClient, tenant: TenantWorld) -> None:
    made = await subscribed(api)
    path = f"{PATH}/{made['id']}"
    paused = (await api.patch(path, json={"disabled": True})).json()["data"]
    assert paused["disabled_at"] == clock.to_text(tenant.world.clock())
    tenant.world.clock.advance(hours=1)
    again = (await api.patch(path, json={"disabled": True, "name": "New"})).json()["data"]
    assert (again["disabled_at"], again["name"]) == (paused["disabled_at"], "New")
    enabled = (await api.patch(path, json={"disabled": False})).json()["data"]
    assert enabled["disabled_at"] is None


async def test_enabling_under_a_condition_that_does_not_hold_changes_nothing(
    api: httpx.AsyncClient, tenant: TenantWorld
) -> None:
    made = await subscribed(api)
    path = f"{PATH}/{made['id']}"
    await tenant.world.parts.records.update(
        system(tenant.id),
        tenant.world.collection("webhook_subscriptions"),
        made["id"],
        {},
        stamped={"disabled_at": "2026-11-14T09:00:00.000Z", "failure_count": 5},
    )
    stale = await api.patch(path, json={"disabled": False}, headers={"if-match": '"1"'})
    assert stale.status_code in (409, 412)
    assert (await api.get(path)).json()["failure_count"] == 5
    enabled = await api.patch(path, json={"disabled": False})
    assert enabled.json()["data"]["disabled_at"] is None
    assert enabled.json()["data"]["failure_count"] == 0


async def test_unsubscribing(api: httpx.AsyncClient) -> None:
    made = await subscribed(api)
    path = f"{PATH}/{made['id']}"
    assert (await api.delete(path)).status_code == 204
    assert (await api.get(path)).status_code == 404
    assert (await api.delete(path)).status_code == 404


@pytest.mark.both_databases
async def test_a_tenant_has_at_most_100(api: httpx.AsyncClient) -> None:
    for _ in range(95):
        await subscribed(api)
    answers = await asyncio.gather(*(api.post(PATH, json=BODY) for _ in range(10)))
    assert sorted(each.status_code for each in answers) == [201] * 5 + [422] * 5
    refused = next(each.json()["error"] for each in answers if each.status_code == 422)
    assert refused["message"] == "A site has at most 100 webhooks. Delete one first."
    assert refused["details"] == {}
    shown = (await api.get(PATH)).json()
    assert (len(shown["items"]), shown["total"]) == (100, 100)
    await api.delete(f"{PATH}/{shown['items'][0]['id']}")
    await subscribed(api)


async def test_a_subscription_with_an_idempotency_key_is_made_once(api: httpx.AsyncClient) -> None:
    headers = {"idempotency-key": "once"}
    first = await api.post(PATH, json=BODY, headers=headers)
    second = await api.post(PATH, json=BODY, headers=headers)
    assert first.json() == second.json()
    assert (await api.get(PATH)).json()["total"] == 1


async def test_the_record_store_makes_none(tenant: TenantWorld) -> None:
    """Nobody would know its secret."""
    owner = await tenant.owner()
    refused = await owner.api.post(records_of("webhook_subscriptions"), json=BODY)
    assert refused.status_code == 403


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
async def outbound_world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[World, Authority]]:
    """A service that may call loopback."""
    folder = tmp_path_factory.mktemp("outbound")
    authority = Authority(folder)
    world = await open_world(
        fresh_url(request.param, folder),
        folder,
        MASTHEAD_OUTBOUND_ALLOW="127.0.0.0/8",
        MASTHEAD_OUTBOUND_CA_FILE=str(authority.ca_file),
    )
    yield world, authority
    await world.parts.close()


@pytest.mark.parametrize(
    ("status", "is_success"), [(200, True), (204, True), (301, False), (404, False), (500, False)]
)
async def test_a_test_event(
    outbound_world: tuple[World, Authority], status: int, is_success: bool
) -> None:
    world, authority = outbound_world
    tenant = await world.new_tenant()
    api = await key_client(tenant)
    async with Receiver(authority.certificate()) as receiver:
        receiver.default = answer(status, b"" if status == 204 else b"internal detail")
        made = await subscribed(api, url=receiver.url())
        answered = await api.post(f"{PATH}/{made['id']}/test")
        (received,) = receiver.requests
    assert answered.status_code == 200
    assert "internal detail" not in answered.text
    report = answered.json()
    assert isinstance(report.pop("duration_ms"), int)
    assert report == {
        "webhook_id": made["id"],
        "event": "test.ping",
        "success": is_success,
        "status_code": status,
        "error": None if is_success else f"The receiver answered {status}.",
        "delivered_at": clock.to_text(world.clock()),
    }
    headers = received.headers
    stamp, signature = headers["x-service-timestamp"], headers["x-service-signature"]
    assert verify(made["secret"], signature, stamp, received.body, now=world.clock())
    await assert_logged_and_left_alone(tenant, api, made["id"], status)


async def assert_logged_and_left_alone(
    tenant: TenantWorld, api: httpx.AsyncClient, webhook_id: str, status: int
) -> None:
    parts = tenant.world.parts
    (delivery,) = await parts.webhooks.deliveries.log.list(tenant.id)
    assert (delivery.event, delivery.attempts) == ("test.ping", 1)
    assert delivery.state in ("delivered", "dropped")
    (attempt,) = await parts.webhooks.deliveries.log.attempts(tenant.id, delivery.id)
    assert attempt.status == status
    shown = (await api.get(f"{PATH}/{webhook_id}")).json()
    assert (shown["failure_count"], shown["last_delivery_at"]) == (0, None)
    (item,) = (await api.get(f"{PATH}/events", params={"event": "test.ping"})).json()["items"]
    assert item["id"] == delivery.event_id
    assert item["data"]["webhook_id"] == webhook_id


async def test_a_test_event_to_a_closed_port(outbound_world: tuple[World, Authority]) -> None:
    world, authority = outbound_world
    api = await key_client(await world.new_tenant())
    async with Receiver(authority.certificate(), default=hang) as receiver:
        made = await subscribed(api, url=receiver.url())
        await receiver.refuse()
        report = (await api.post(f"{PATH}/{made['id']}/test")).json()
    assert (report["success"], report["status_code"]) == (False, 0)
    assert report["error"] == "The host does not accept connections."


async def test_a_test_of_a_read_only_site_sends_nothing(
    outbound_world: tuple[World, Authority],
) -> None:
    world, authority = outbound_world
    tenant = await world.new_tenant()
    api = await key_client(tenant)
    async with Receiver(authority.certificate()) as receiver:
        made = await subscribed(api, url=receiver.url())
        await tenant.settings(read_only_mode=True)
        refused = await api.post(f"{PATH}/{made['id']}/test")
        assert (refused.status_code, receiver.requests) == (403, [])


async def polled(api: httpx.AsyncClient, **query: str) -> list[dict[str, Any]]:
    answered = await api.get(f"{PATH}/events", params=query)
    assert answered.status_code == 200, answered.text
    items: list[dict[str, Any]] = answered.json()["items"]
    return items


async def test_polling(api: httpx.AsyncClient, tenant: TenantWorld) -> None:
    first = await tenant.post(title="First")
    created = tenant.world.clock()
    await tenant.published(title="Second")
    items = await polled(api)
    assert [each["event"] for each in items] == ["post.published", "post.created", "post.created"]
    assert items[-1].keys() == {"id", "event", "created", "data"}
    assert items[-1]["data"]["post_id"] == first["id"]
    assert items[-1]["created"] == int(created.timestamp())
    assert await polled(api) == items
    assert await polled(api, event="post.published") == items[:1]
    assert await polled(api, since=clock.to_text(created)) == items[:2]
    assert await polled(api, since="2026-11-14T09:30:00+02:00") == items
    assert await polled(api, since="2027-01-01T00:00:00Z") == []
    both = {"event": "post.created", "since": clock.to_text(created)}
    assert await polled(api, **both) == items[1:2]
    assert await polled(api, after=items[-1]["id"]) == items[1::-1]


async def test_a_since_made_from_an_item_s_created_loses_nothing_of_that_second(
    api: httpx.AsyncClient, tenant: TenantWorld
) -> None:
    now = tenant.world.clock
    now.moment = now.moment.replace(microsecond=0)
    async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
        await unit.create(posts, {"title": "On the second", "slug": "a"})
    now.advance(milliseconds=300)
    (seen,) = await polled(api)
    async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
        await unit.create(posts, {"title": "Later in it", "slug": "b"})
    since = datetime.fromtimestamp(seen["created"], UTC).isoformat()
    later, again = await polled(api, since=since)
    assert (later["data"]["title"], again) == ("Later in it", seen)
    # Each is returned once, by its id.
    assert await polled(api, after=seen["id"]) == [later]
    assert await polled(api, since=clock.to_text(now())) == []


async def test_at_most_100_at_a_time_and_the_rest_after_them(
    api: httpx.AsyncClient, tenant: TenantWorld
) -> None:
    async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
        for number in range(230):
            await unit.create(posts, {"title": f"Post {number}", "slug": f"post-{number}"})
    newest = await polled(api)
    assert len(newest) == 100
    assert newest[0]["data"]["title"] == "Post 229"
    everything = await followed(api, newest[-1]["id"])
    assert [each["id"] for each in everything] == [each["id"] for each in newest[-2::-1]]


@pytest.mark.parametrize(
    "query",
    [{"event": "post.exploded"}, {"since": "yesterday"}, {"after": "nosuchevent0000"}],
    ids=lambda query: next(iter(query)),
)
async def test_questions_that_make_no_sense(api: httpx.AsyncClient, query: dict[str, str]) -> None:
    assert problems(await api.get(f"{PATH}/events", params=query)) == set(query)


async def test_an_event_of_another_tenant_is_no_starting_point(
    api: httpx.AsyncClient, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    await other_tenant.post()
    theirs = (await polled(await key_client(other_tenant)))[0]["id"]
    await tenant.post()
    assert problems(await api.get(f"{PATH}/events", params={"after": theirs})) == {"after"}
    assert theirs not in [each["id"] for each in await polled(api)]


async def followed(api: httpx.AsyncClient, event_id: str) -> list[dict[str, Any]]:
    """Everything after the event, as a consumer that wants no gaps reads it."""
    found: list[dict[str, Any]] = []
    while items := await polled(api, after=found[-1]["id"] if found else event_id):
        found += items
    return found


@pytest.mark.both_databases
async def test_a_consumer_misses_nothing_that_is_written_at_the_same_time(
    api: httpx.AsyncClient, tenant: TenantWorld
) -> None:
    """Several writers, and a reader that polls after the last event it has seen: on
    PostgreSQL a change that began earlier may well commit later."""
    await tenant.post(title="Start")
    start = (await polled(api))[0]["id"]
    records, written = tenant.world.parts.records, list[str]()

    async def write(writer: int) -> None:
        for number in range(30):
            async with records.unit(system(tenant.id)) as unit:
                for part in range(1 + number % 3):
                    slug = f"post-{writer}-{number}-{part}"
                    record = await unit.create(posts, {"title": slug, "slug": slug})
                    written.append(record["id"])

    log, seen = EventLog(tenant.world.parts.database), [start]

    async def read() -> int:
        found = await log.after(tenant.id, seen[-1])
        assert found is not None
        seen.extend(event.id for event in found)
        return len(found)

    writing = asyncio.gather(*(write(number) for number in range(6)))
    while not writing.done():
        await read()
        await asyncio.sleep(0)
    await writing
    while await read():
        pass
    names = [event["id"] for event in await followed(api, start)]
    assert seen[1:] == names
    assert len(set(names)) == len(names) == len(written)
