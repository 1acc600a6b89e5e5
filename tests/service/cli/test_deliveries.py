"""`masthead deliveries`: lists deliveries and retries dead ones."""

from __future__ import annotations

from typing import Any

import pytest
from tests.service.cli.commands import Masthead

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.records.read.page import ListRequest
from masthead.features.posts.collection import posts
from masthead.features.webhooks.collection import DEAD, webhook_deliveries, webhook_subscriptions
from masthead.features.webhooks.signing import new_secret

FIELDS = {
    "id",
    "webhook_id",
    "event",
    "event_id",
    "state",
    "attempts",
    "last_status",
    "next_attempt_at",
    "created",
}


class Shop:
    """A tenant with two subscriptions to published posts."""

    def __init__(self, masthead: Masthead) -> None:
        self.masthead = masthead
        self.tenant_id = TenantId(masthead.tenant()["tenant_id"])
        self.caller = system(self.tenant_id)
        self.webhooks: list[str] = masthead.inside(self._subscribe)

    async def _subscribe(self, parts: Any) -> list[str]:
        made = [
            await parts.records.create(
                self.caller,
                webhook_subscriptions,
                {"name": name, "url": "https://example.com/", "events": ["post.published"]},
                stamped={"secret": new_secret()},
            )
            for name in ("One", "Two")
        ]
        return [each["id"] for each in made]

    def publish(self, *, dead: bool) -> None:
        """A post and its deliveries; with `dead`, those to the first webhook are dead."""

        async def work(parts: Any) -> None:
            await parts.records.create(
                self.caller, posts, {"title": "Hello", "status": "published"}
            )
            wanted = ListRequest(filter=f"webhook_id = '{self.webhooks[0]}' && state = 'pending'")
            page = await parts.records.page(self.caller, webhook_deliveries, wanted)
            ended = {"state": DEAD, "attempts": 6, "last_status": 500, "next_attempt_at": ""}
            for each in page.items if dead else ():
                await parts.records.update(
                    self.caller, webhook_deliveries, each["id"], {}, stamped=ended
                )

        self.masthead.inside(work)

    def list(self, *options: str) -> Any:
        return self.masthead.json("deliveries", "list", "--tenant", "acme", *options)

    def retry(self, *options: str) -> Any:
        return self.masthead.json("deliveries", "retry", "--tenant", "acme", *options)


@pytest.fixture
def shop(masthead: Masthead) -> Shop:
    return Shop(masthead)


def test_are_listed_newest_first(shop: Shop) -> None:
    assert shop.list() == []
    shop.publish(dead=True)
    shop.publish(dead=False)
    listed = shop.list()
    assert [set(each) for each in listed] == [FIELDS] * 4
    assert [each["created"] for each in listed] == sorted(
        (each["created"] for each in listed), reverse=True
    )
    (dead,) = shop.list("--state", "dead")
    assert (dead["webhook_id"], dead["event"]) == (shop.webhooks[0], "post.published")
    assert (dead["attempts"], dead["last_status"], dead["next_attempt_at"]) == (6, 500, None)
    pending = shop.list("--state", "pending", "--webhook", shop.webhooks[1])
    assert [each["webhook_id"] for each in pending] == [shop.webhooks[1]] * 2
    assert all(each["next_attempt_at"] for each in pending)
    assert "post.published" in shop.masthead("deliveries", "list", "--tenant", "acme").out


def test_a_dead_one_is_retried_by_its_id(shop: Shop) -> None:
    shop.publish(dead=True)
    shop.publish(dead=True)
    first, second = (each["id"] for each in shop.list("--state", "dead"))
    pending = shop.list("--state", "pending")[0]["id"]
    assert shop.retry(first, pending, "nosuchdelivery1") == {"retried": 1}
    assert [each["id"] for each in shop.list("--state", "dead")] == [second]
    (revived,) = shop.list("--state", "pending", "--webhook", shop.webhooks[0])
    assert (revived["id"], revived["attempts"]) == (first, 0)
    assert revived["next_attempt_at"]


def test_all_dead_ones_of_a_webhook_and_a_time_are_retried(shop: Shop) -> None:
    for _ in range(3):
        shop.publish(dead=True)
    newest, middle, _ = shop.list("--state", "dead")
    assert shop.retry("--all-dead", "--webhook", shop.webhooks[1]) == {"retried": 0}
    times = ("--since", middle["created"], "--until", newest["created"])
    assert shop.retry("--all-dead", *times) == {"retried": 1}
    assert middle["id"] not in [each["id"] for each in shop.list("--state", "dead")]
    assert shop.retry("--all-dead") == {"retried": 2}
    assert shop.list("--state", "dead") == []


def test_another_tenants_deliveries_are_not_accessible(shop: Shop) -> None:
    shop.publish(dead=True)
    (dead,) = shop.list("--state", "dead")
    shop.masthead.tenant("other")
    retried = shop.masthead.json("deliveries", "retry", "--tenant", "other", dead["id"])
    assert retried == {"retried": 0}
    assert shop.masthead.json("deliveries", "list", "--tenant", "other") == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("retry --tenant acme", "either their ids or --all-dead"),
        ("retry --tenant acme abc --all-dead", "either their ids or --all-dead"),
        ("retry --tenant acme abc --since 2026-01-01", "go with --all-dead"),
        ("retry --tenant acme --all-dead --until soon", "is not a date"),
        ("list --tenant acme --state lost", "'lost' is not one of"),
        ("list", "Missing option '--tenant'"),
    ],
)
def test_wrong_usage(masthead: Masthead, arguments: str, sentence: str) -> None:
    outcome = masthead("deliveries", *arguments.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert sentence in outcome.err
