"""The state of database and queues, on both databases."""

from __future__ import annotations

from datetime import timedelta

from prometheus_client.parser import text_string_to_metric_families
from tests.service.cli.commands import Masthead

from masthead.base import clock
from masthead.service.app import metrics_page
from masthead.service.services import Services
from masthead.web.in_flight import InFlight


def samples(masthead: Masthead, now: clock.Clock = clock.now) -> dict[tuple[str, str], float]:
    """Returns the samples of the page, by name and kind."""

    async def work(parts: Services) -> str:
        return (await metrics_page(parts, InFlight()).answer("")).body.decode()

    families = text_string_to_metric_families(masthead.inside(work, now))
    return {
        (sample.name, sample.labels.get("kind", "")): sample.value
        for family in families
        for sample in family.samples
    }


def test_the_queue_and_the_database_are_shown(masthead: Masthead) -> None:
    masthead.tenant()
    before = samples(masthead)
    assert before["masthead_queue_depth", "mail.send"] == 0
    assert before["masthead_queue_oldest_seconds", "mail.send"] == 0
    assert masthead("owner", "invite", "--tenant", "acme", "--email", "n@example.com").code == 0
    found = samples(masthead, lambda: clock.now() + timedelta(minutes=10))
    assert found["masthead_queue_depth", "mail.send"] == 1
    assert 600 <= found["masthead_queue_oldest_seconds", "mail.send"] < 700
    assert found["masthead_queue_depth", "webhooks.deliveries"] == 0
    assert found["masthead_queue_depth", "mailings.recipients"] == 0
    assert found["masthead_jobs_given_up", ""] == 0
    assert found["masthead_database_up", ""] == 1
    assert found["masthead_database_bytes", ""] > 100_000
    assert found["masthead_database_connections", ""] >= 1
