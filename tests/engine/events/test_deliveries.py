"""Real deliveries of every event: as described, and genuine to the verifiers that we document."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError
from tests.clients.node import run_node
from tests.engine.events.conftest import Post
from tests.engine.events.described import check_delivery
from tests.outside.outbound.conftest import LOOPBACK
from tests.tiers import representatives
from tests.tls import Authority, Receiver

from masthead.base.config.values import RETRY_POLICIES
from masthead.engine.events.names import EVENT_NAMES
from masthead.features.webhooks.signing import sign
from masthead.outside.outbound.client import OutboundClient

PAGE = (Path(__file__).parents[3] / "docs" / "webhooks.md").read_text()


def block(language: str, word: str) -> str:
    """The one block of code on the page that has the word in it."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (found,) = (each for each in blocks if word in each)
    assert isinstance(found, str)
    return found


def documented(word: str) -> Any:
    """A function of the page, by name."""
    names: dict[str, Any] = {}
    exec(block("python", word), names)
    return names[word]


def test_every_event_is_delivered_as_described(post: Post) -> None:
    delivered = [check_delivery(each.headers, each.body) for each in post.received]
    assert set(delivered) == set(EVENT_NAMES)
    # One of the two test events went elsewhere.
    assert Counter(post.events) - Counter(delivered) == Counter(["test.ping"])
    ids = [each.headers["x-service-delivery"] for each in post.received]
    assert len(set(ids)) == len(ids)


def without_payload(headers: dict[str, str], content: dict[str, Any]) -> None:
    content["payload"] = {}


def with_another_event(headers: dict[str, str], content: dict[str, Any]) -> None:
    content["event"] = "post.exploded"


def with_another_id(headers: dict[str, str], content: dict[str, Any]) -> None:
    headers["webhook-id"] = "k3v9q0x7m2c8b1d"


def unsigned(headers: dict[str, str], content: dict[str, Any]) -> None:
    del headers["x-service-signature"]


@pytest.mark.parametrize(
    "spoil", representatives([unsigned, without_payload, with_another_event, with_another_id], 2)
)
async def test_a_receiver_detects_a_payload_that_differs_from_its_description(
    post: Post, tmp_path: Path, spoil: Callable[..., None]
) -> None:
    genuine = post.received[0]
    headers, content = dict(genuine.headers), json.loads(genuine.body)
    spoil(headers, content)
    with pytest.raises(ExceptionGroup, match="not as described"):
        await received(tmp_path, headers, json.dumps(content).encode())


async def received(folder: Path, headers: dict[str, str], body: bytes) -> None:
    authority = Authority(folder)
    client = OutboundClient(allow=LOOPBACK, ca_file=authority.ca_file)
    headers["content-length"] = str(len(body))
    async with Receiver(authority.certificate()) as receiver:
        await client.post(receiver.url(), body, headers)
        await client.close()


class TestPython:
    def test_every_deliverys_signature_is_valid(self, post: Post) -> None:
        is_genuine = documented("is_genuine")
        for each in post.received:
            timestamp = each.headers["x-service-timestamp"]
            signature = each.headers["x-service-signature"]
            assert is_genuine(post.secret, timestamp, signature, each.body)
            assert not is_genuine("0" * 64, timestamp, signature, each.body)
            assert not is_genuine(post.secret, timestamp, signature, each.body + b" ")
            assert not is_genuine(post.secret, timestamp, signature[3:], each.body)
            assert not is_genuine(post.secret, "soon", signature, each.body)

    def test_an_old_signature_is_refused(self, post: Post) -> None:
        is_genuine = documented("is_genuine")
        for age, expected in ((0, True), (290, True), (310, False), (-310, False)):
            timestamp = str(int(time.time()) - age)
            signature = sign(post.secret, timestamp, b"{}")
            assert is_genuine(post.secret, timestamp, signature, b"{}") is expected


async def test_javascript(post: Post, tmp_path: Path) -> None:
    """All deliveries, each also with a wrong secret, a changed body and without a signature."""
    (tmp_path / "verifier.mjs").write_text(block("js", "isGenuine"))
    script = tmp_path / "check.mjs"
    script.write_text(
        """
        import { readFileSync } from "node:fs";
        import { isGenuine } from "./verifier.mjs";
        const calls = JSON.parse(readFileSync(process.argv[2], "utf8"));
        console.log(JSON.stringify(calls.map(([secret, timestamp, signature, body]) =>
            isGenuine(secret, timestamp, signature ?? undefined, Buffer.from(body)))));
        """
    )
    old = str(int(time.time()) - 310)
    calls: list[tuple[str, str, str | None, str]] = [
        (post.secret, old, sign(post.secret, old, b"{}"), "{}")
    ]
    for each in post.received:
        timestamp = each.headers["x-service-timestamp"]
        signature, body = each.headers["x-service-signature"], each.body.decode()
        calls += [
            (post.secret, timestamp, signature, body),
            ("0" * 64, timestamp, signature, body),
            (post.secret, timestamp, signature, body + " "),
            (post.secret, timestamp, None, body),
        ]
    (tmp_path / "calls.json").write_text(json.dumps(calls))
    finished = await run_node(script, str(tmp_path / "calls.json"))
    assert finished.code == 0, finished.errors
    expected = [False, *([True, False, False, False] * len(post.received))]
    assert json.loads(finished.output) == expected


def test_standard_webhooks(post: Post) -> None:
    event_of = documented("event_of")
    for each in post.received:
        event = event_of(post.secret, each.headers, each.body)
        assert event["event"] == each.headers["x-service-event"]
        with pytest.raises(WebhookVerificationError):
            Webhook("0" * 64).verify(each.body, each.headers)


class TestPages:
    def test_the_vector_holds(self) -> None:
        rows = re.findall(
            r"^\| (secret|timestamp|body|signature) \| `(.+)` \|$", PAGE, re.MULTILINE
        )
        vector = dict(rows)
        expected = sign(vector["secret"], vector["timestamp"], vector["body"].encode())
        assert vector["signature"] == expected

    def test_the_policies_are_those_of_the_code(self) -> None:
        rows = dict(re.findall(r"^\| `([ab])`[^|]* \| (\d+ \| [^|]+) \|", PAGE, re.MULTILINE))
        units = {"s": 1, "minute": 60, "minutes": 60, "hour": 3600, "hours": 3600}
        for name, policy in RETRY_POLICIES.items():
            attempts, _, waits = rows[name].partition(" | ")
            assert int(attempts) == len(policy.delays_seconds) + 1
            written = [wait.split() for wait in waits.split(", ")]
            assert tuple(int(n) * units[unit] for n, unit in written) == policy.delays_seconds
