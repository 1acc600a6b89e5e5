"""The log line of each answer: it has the id that the answer has, and no secret."""

from __future__ import annotations

import errno
import io
import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.log_lines import own_logs
from tests.service.cli.running import serving
from tests.world import Account, TenantWorld, World, records_of

from masthead.base import access_log, logs
from masthead.base.access_log import AccessLog, Answered
from masthead.base.config.values import LogFormat
from masthead.base.logs import log
from masthead.identity.api_keys import create_key

POSTS = records_of("posts")


class Lines:
    """The lines logged so far, after flushing."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        logs.configure(LogFormat.JSON, stream=self.stream)
        # The tests' own client logs its calls too.
        logging.getLogger().handlers[0].addFilter(logging.Filter("masthead"))

    def read(self) -> list[dict[str, Any]]:
        logs.close_access_log()
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


@pytest.fixture
def lines() -> Iterator[Lines]:
    with own_logs():
        yield Lines()


async def test_a_line_has_the_id_of_its_answer(
    app: World, tenant: TenantWorld, lines: Lines
) -> None:
    answer = await tenant.guest.get(f"{POSTS}?perPage=1")
    (line,) = lines.read()
    assert line.pop("timestamp").endswith("Z")
    assert line.pop("duration_ms") > 0
    assert line == {
        "event": "request",
        "level": "info",
        "request_id": answer.headers["x-request-id"],
        "method": "GET",
        "path": POSTS,
        "status": 200,
        "tenant": tenant.id,
    }


async def test_a_key_names_the_site_on_every_host(
    app: World, tenant: TenantWorld, lines: Lines
) -> None:
    _, key = await create_key(app.parts.records, tenant.id, "test", ["posts:read"])
    bearer = {"authorization": f"Bearer {key}"}
    answer = await app.client("localhost").get("/api/v1/posts", headers=bearer)
    assert answer.status_code == 200
    (line,) = lines.read()
    assert (line["tenant"], line["path"]) == (tenant.id, "/api/v1/posts")


async def test_refusals_are_logged(app: World, tenant: TenantWorld, lines: Lines) -> None:
    answers = [
        await tenant.guest.post(POSTS, json={"title": "x"}),
        await tenant.guest.get("/nowhere"),
        await app.client("nobody.localhost").get(POSTS),
        await tenant.guest.get("/api/v1/posts"),
    ]
    logged = [(line["request_id"], line["status"]) for line in lines.read()]
    assert logged == [(each.headers["x-request-id"], each.status_code) for each in answers]


async def test_a_line_within_a_request_has_its_id_and_one_after_it_has_none(
    app: World, tenant: TenantWorld, owner: Account, lines: Lines
) -> None:
    answer = await owner.api.post("/api/gdpr/export", json={"type": "tenant"})
    assert answer.is_success, answer.text
    log.info("afterwards")
    logged = {line["event"]: line for line in lines.read()}
    request_id = answer.headers["x-request-id"]
    assert logged["privacy.export_requested"]["request_id"] == request_id
    assert logged["request"]["request_id"] == request_id
    assert "request_id" not in logged["afterwards"]


async def test_health_checks_are_not_logged(app: World, lines: Lines) -> None:
    await app.client().get("/api/health")
    assert lines.read() == []


async def test_lines_have_no_secrets_and_no_email_addresses(
    app: World, tenant: TenantWorld, owner: Account, lines: Lines
) -> None:
    secret = "hunter2-hunter2"
    await tenant.guest.get(
        f"{POSTS}?token={secret}&filter=title='{secret}'",
        headers={"authorization": f"Bearer {secret}", "cookie": f"pb_auth={secret}"},
    )
    await tenant.guest.post(
        "/api/collections/_superusers/auth-with-password",
        json={"identity": owner.email, "password": secret},
    )
    await tenant.guest.get(f"/api/v1/members/{owner.email}")
    text = json.dumps(lines.read())
    assert secret not in text
    assert owner.email not in text
    assert "/api/v1/members/***" in text
    assert owner.token not in text


async def test_a_path_can_not_forge_a_line(app: World, tenant: TenantWorld) -> None:
    stream = io.StringIO()
    log = AccessLog(stream, lambda event: str(event["path"]))
    log.add(_answered(path="/a\nrequest path=/b\x1b[2J"))
    log.add(_answered(path="/" + "x" * 1_000))
    log.close()
    forged, long = stream.getvalue().splitlines()
    assert forged == r"/a\nrequest path=/b\x1b[2J"
    assert len(long) == access_log.MAX_PATH


class BlockedStream(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.is_writing = threading.Event()
        self.unblocked = threading.Event()

    def write(self, text: str) -> int:
        self.is_writing.set()
        self.unblocked.wait(10)
        return super().write(text)


def test_a_blocked_log_delays_no_request() -> None:
    stream = BlockedStream()
    log = AccessLog(stream, json.dumps, max_queued=100)
    log.add(_answered())
    assert stream.is_writing.wait(10)
    for _ in range(150):
        log.add(_answered())
    stream.unblocked.set()
    log.close()
    written = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["event"] for line in written] == ["request"] * 101 + ["requests.unlogged"]
    assert written[-1]["count"] == 50


class RecordingStream(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []

    def write(self, text: str) -> int:
        self.written.append(text)
        return len(text)


def test_whole_lines_are_written_many_at_a_time() -> None:
    stream = RecordingStream()
    log = AccessLog(stream, json.dumps)
    for number in range(500):
        log.add(_answered(path=f"/{number}/ä"))
    log.close()
    assert len(stream.written) < 50
    # More is not atomic for processes that share a pipe.
    assert all(len(text.encode()) <= access_log.MAX_WRITE_BYTES for text in stream.written)
    assert all(text.endswith("\n") for text in stream.written)
    lines = "".join(stream.written).splitlines()
    assert [json.loads(line)["path"] for line in lines] == [f"/{n}/ä" for n in range(500)]


class FullDisk(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.was_full = threading.Event()

    def write(self, text: str) -> int:
        if not self.was_full.is_set():
            self.was_full.set()
            raise OSError(errno.ENOSPC, "no space left on device")
        return super().write(text)


def test_lines_are_written_again_after_a_full_disk() -> None:
    stream = FullDisk()
    log = AccessLog(stream, json.dumps)
    log.add(_answered(path="/lost"))
    assert stream.was_full.wait(10)
    log.add(_answered(path="/kept"))
    log.close()
    assert [json.loads(line)["path"] for line in stream.getvalue().splitlines()] == ["/kept"]


def test_a_server_that_ends_has_written_every_line(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as served:
        answer = served.get("/api/v1/posts?token=hunter2")
        assert served.terminate() == 0
    lines = [json.loads(line) for line in (tmp_path / "data.log").read_text().splitlines()]
    (logged,) = [line for line in lines if line["event"] == "request"]
    assert logged["request_id"] == answer.headers["x-request-id"]
    assert "hunter2" not in json.dumps(lines)


def _answered(path: str = "/") -> Answered:
    return Answered("0123456789abcdef", "GET", path, 200, 0.0012, "t" * 15, "", 1_795_000_000.25)
