"""`/metrics` of a service that runs: its places, its sums over processes, what it counts."""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil  # type: ignore[import-untyped]
import pytest
from tests.forking import forked_program
from tests.service.cli.commands import COMMAND, plain_environment
from tests.service.cli.running import serving
from tests.service.metrics.scraping import Scraped, scraped

TOKEN = "a-token-for-prometheus"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
COUNTED = "masthead_requests_total"
STANDARD = (
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_max_fds",
    "python_info",
    "python_gc_collections_total",
)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def command(data_dir: Path, *arguments: str) -> str:
    done = subprocess.run(
        [forked_program(), *arguments, "--data-dir", data_dir],
        env=plain_environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


def tenant(data_dir: Path) -> None:
    owner = ("--owner-email", "owner@example.com", "--owner-password", "a-long-word")
    site = ("--slug", "acme", "--name", "Acme", "--plan", "pro")
    command(data_dir, "tenant", "create", *site, *owner)


def eventually(look: Callable[[], Scraped], is_there: Callable[[Scraped], bool]) -> Scraped:
    deadline = time.monotonic() + 60
    while not is_there(found := look()):
        assert time.monotonic() < deadline, found.samples
        time.sleep(0.2)
    return found


def wait_until_shared(folder: Path, process_id: int, since: float) -> None:
    """A process's counts survive its death once it has written them."""
    deadline = time.monotonic() + 60
    while not any(each.stat().st_mtime > since for each in folder.rglob(f"{process_id}.json")):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_token_opens_it_on_the_port_of_the_service_at_any_host(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--no-worker", MASTHEAD_METRICS=f"token:{TOKEN}") as running:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}):
            refused = httpx.get(f"{running.address}/metrics", headers=headers)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
            assert "masthead_" not in refused.text
        named = {"Host": "prometheus.internal", **BEARER}
        assert "masthead_build_info" in scraped(running.address, **named).names


def test_it_has_a_port_of_its_own_and_is_not_on_the_other(tmp_path: Path) -> None:
    port = free_port()
    with serving(tmp_path / "data", "--no-worker", MASTHEAD_METRICS=f"127.0.0.1:{port}") as running:
        assert "masthead_build_info" in scraped(f"http://127.0.0.1:{port}").names
        assert httpx.get(f"http://127.0.0.1:{port}/other").status_code == 404
        assert httpx.get(f"{running.address}/metrics", headers=BEARER).status_code == 404


def test_without_the_setting_there_is_none(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--no-worker") as running:
        assert httpx.get(f"{running.address}/metrics", headers=BEARER).status_code == 404


def test_routes_are_templates_and_no_client_makes_up_a_label(tmp_path: Path) -> None:
    tenant(tmp_path / "data")
    with serving(tmp_path / "data", "--no-worker", MASTHEAD_METRICS=f"token:{TOKEN}") as running:
        host = {"Host": "acme.localhost"}
        for path in ("/api/v1/posts/abc", "/api/v1/posts/def", "/secret-post", "/a/b/c"):
            httpx.get(running.address + path, headers=host)
        httpx.request("BREW", f"{running.address}/", headers=host)
        httpx.get(f"{running.address}/", headers={"Host": "unknown.example"})
        found = scraped(running.address, **BEARER)
        routes = found.labels(COUNTED, "route")
        assert "/api/v1/posts/{id}" in routes
        assert found.total(COUNTED, route="/api/v1/posts/{id}", status="401", face="v1") == 2
        assert not [each for each in routes if "secret" in each or "abc" in each or "a/b" in each]
        assert found.total(COUNTED, route="other", status="404") == 1
        assert found.labels(COUNTED, "method") == {"GET", "other"}
        timed = found.total("masthead_request_seconds_count", route="/api/v1/posts/{id}")
        assert timed == 2
        last = found.total("masthead_request_seconds_bucket", route="/api/v1/posts/{id}", le="+Inf")
        assert last == 2


@pytest.mark.slow("starts a service of two processes, and another one when the first dies")
def test_the_processes_of_a_service_are_summed_and_one_that_dies_leaves_its_counts(
    tmp_path: Path,
) -> None:
    port, requests = free_port(), 60
    own = {"MASTHEAD_METRICS": f"127.0.0.1:{port}", "TMPDIR": str(tmp_path)}
    options = ("--workers", "2", "--no-worker")
    with serving(tmp_path / "data", *options, program=COMMAND, **own) as running:

        def look() -> Scraped:
            return scraped(f"http://127.0.0.1:{port}")

        for _ in range(requests):
            # A new connection each, so that both processes get some.
            assert httpx.get(f"{running.address}/api/health").status_code == 200
        health = {"route": "/api/health", "status": "200"}
        found = eventually(look, lambda each: each.total(COUNTED, **health) == requests)
        assert found.total("masthead_processes") == 2
        children = {str(each.pid) for each in psutil.Process(running.process.pid).children()}
        assert all(found.labels(name, "pid") == children for name in STANDARD)
        memory = found.total("process_resident_memory_bytes")
        assert memory == pytest.approx(found.total("masthead_process_memory_bytes"), rel=0.1)
        child = psutil.Process(running.process.pid).children()[0]
        wait_until_shared(tmp_path, child.pid, since=time.time())
        child.kill()
        # Its gauges end with it, and its successor's begin.
        found = eventually(look, lambda each: each.total("masthead_processes") == 2)
        assert found.total(COUNTED, **health) == requests


@pytest.mark.slow("starts a service twice, with and without its worker")
def test_what_waits_is_counted_by_kind(tmp_path: Path) -> None:
    tenant(tmp_path / "data")
    invite = ("owner", "invite", "--tenant", "acme", "--email", "new@example.com")
    command(tmp_path / "data", *invite)
    with serving(tmp_path / "data", "--no-worker", MASTHEAD_METRICS=f"token:{TOKEN}") as running:
        found = scraped(running.address, **BEARER)
        assert found.total("masthead_queue_depth", kind="mail.send") == 1
        assert found.total("masthead_queue_oldest_seconds", kind="mail.send") > 0
        assert found.total("masthead_queue_depth") == 1
        kinds = found.labels("masthead_queue_depth", "kind")
        assert {"webhooks.deliveries", "mailings.recipients", "imports.run"} <= kinds
        assert found.total("masthead_database_up") == 1
        assert found.total("masthead_database_bytes") > 100_000
    with serving(tmp_path / "data", MASTHEAD_METRICS=f"token:{TOKEN}") as running:

        def is_done(found: Scraped) -> bool:
            return found.total("masthead_jobs_total", kind="mail.send", result="done") == 1

        found = eventually(lambda: scraped(running.address, **BEARER), is_done)
        assert found.total("masthead_mails_total", kind="account", result="sent") == 1
        assert found.total("masthead_queue_depth", kind="mail.send") == 0


def test_a_worker_of_its_own_has_its_own_metrics(tmp_path: Path) -> None:
    tenant(tmp_path / "data")
    port = free_port()
    process = subprocess.Popen(
        [forked_program(), "worker", "--data-dir", tmp_path / "data"],
        env=plain_environment(MASTHEAD_METRICS=f"127.0.0.1:{port}"),
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        assert b"worker.started" in process.stderr.readline()
        deadline = time.monotonic() + 60
        while True:
            try:
                found = scraped(f"http://127.0.0.1:{port}")
                break
            except httpx.TransportError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        assert found.total("masthead_processes") == 1
        assert set(STANDARD) <= found.names
    finally:
        process.terminate()
        assert process.wait(timeout=120) == 0
        process.stderr.close()


@pytest.mark.slow("waits for the lock of a database that another process keeps")
def test_every_503_has_a_line_at_level_error_with_its_cause(tmp_path: Path) -> None:
    data = tmp_path / "data"
    tenant(data)
    key = json.loads(
        command(
            data,
            *("key", "create", "--tenant", "acme", "--name", "k", "--scope", "posts:write"),
            "--json",
        )
    )["key"]
    with serving(data, "--no-worker", MASTHEAD_LOG="json") as running:
        blocking = sqlite3.connect(data / "masthead.db", isolation_level=None)
        blocking.execute("BEGIN IMMEDIATE")
        bearer = {"Authorization": f"Bearer {key}"}
        answer = running.post("/api/v1/posts", {"title": "Never"}, "acme", **bearer)
        blocking.close()
        assert answer.status_code == 503, answer.text
        request_id = answer.headers["x-request-id"]
        running.terminate()
    lines = [json.loads(each) for each in (tmp_path / "data.log").read_text().splitlines()]
    (found,) = [
        each
        for each in lines
        if each.get("request_id") == request_id and each["event"] == "request.failed"
    ]
    assert (found["level"], found["status"], found["path"]) == ("error", 503, "/api/v1/posts")
    assert "locked" in found["cause"]
