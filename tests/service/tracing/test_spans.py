"""Spans of requests and jobs, as a collector receives them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from tests.forking import forked_program
from tests.service.cli.commands import COMMAND, plain_environment
from tests.service.cli.running import serving
from tests.service.tracing.collector import Collector, attributes_of
from tests.tiers import representatives
from tests.world import World

from masthead.base.ids import TenantId
from masthead.engine.jobs.runner import Job
from masthead.service.app import http_app

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
HOSTILE = ("", "x", f"00-{'0' * 32}-{PARENT}-01", f"ff-{TRACE}-{PARENT}-01", "00-\xff" * 500)
# Nothing is sent before the end.
LATE = {"OTEL_BSP_SCHEDULE_DELAY": "600000"}
SECRET = "token=very-secret"


def run(data_dir: Path, *arguments: str) -> None:
    command = [forked_program(), *arguments, "--data-dir", data_dir]
    subprocess.run(command, env=plain_environment(), check=True, timeout=120)


def site_with_a_job(data_dir: Path) -> None:
    owner = ("--owner-email", "owner@example.com", "--owner-password", "a-long-word")
    site = ("--slug", "acme", "--name", "Acme", "--plan", "pro")
    run(data_dir, "tenant", "create", *site, *owner)
    run(data_dir, "owner", "invite", "--tenant", "acme", "--email", "new@example.com")


def spans_named(collector: Collector, name: str) -> list[Span]:
    return [span for span in collector.spans if span.name == name]


def test_a_service_sends_its_requests_and_jobs_until_its_end(
    tmp_path: Path, collector: Collector
) -> None:
    data = tmp_path / "data"
    site_with_a_job(data)
    own = {**collector.environment, **LATE, "MASTHEAD_METRICS": "token:metrics"}
    with serving(data, **own) as running:
        began = time.time_ns()
        path = f"/api/v1/posts/private-path?{SECRET}"
        refused = running.get(path, "acme", traceparent=TRACEPARENT)
        assert refused.status_code == 401
        for each in HOSTILE:
            headers = {"Host": "acme.localhost", "traceparent": each.encode("latin-1")}
            assert httpx.get(f"{running.address}/", headers=headers).status_code == 200
        running.get("/", "nobody")
        httpx.request("BREW", f"{running.address}/", headers={"Host": "acme.localhost"})
        metrics = running.get("/metrics", "acme", Authorization="Bearer metrics").text
        assert 'route="/api/v1/posts/{id}",status="401"' in metrics
        wait_for_mail(data)
        assert running.terminate() == 0

    (found,) = spans_named(collector, "GET /api/v1/posts/{id}")
    assert (found.trace_id.hex(), found.parent_span_id.hex()) == (TRACE, PARENT)
    assert found.kind == Span.SPAN_KIND_SERVER
    assert began < found.start_time_unix_nano < found.end_time_unix_nano < time.time_ns()
    attributes = attributes_of(found)
    tenant_id = attributes.pop("masthead.tenant.id")
    assert attributes == {
        "http.request.method": "GET",
        "http.response.status_code": 401,
        "http.route": "/api/v1/posts/{id}",
        "masthead.request.id": refused.headers["x-request-id"],
    }
    home = spans_named(collector, "GET /")
    assert len(home) == len(HOSTILE)
    assert {span.parent_span_id for span in home} == {b""}
    assert len({span.trace_id for span in home} - {bytes.fromhex(TRACE)}) == len(HOSTILE)
    # Its host is of no site, so that no route was looked for.
    (unknown,) = spans_named(collector, "GET")
    assert attributes_of(unknown)["http.response.status_code"] == 404
    assert not [key for key in attributes_of(unknown) if "tenant" in key or "route" in key]
    assert [span.name for span in collector.spans if "BREW" in str(span)] == []

    (sent,) = spans_named(collector, "mail.send")
    assert (sent.kind, sent.status.code) == (Span.SPAN_KIND_CONSUMER, Status.STATUS_CODE_UNSET)
    assert attributes_of(sent)["masthead.job.attempt"] == 1
    assert attributes_of(sent)["masthead.tenant.id"] == tenant_id
    assert {each["service.name"] for each in collector.resources} == {"masthead"}
    everything = b"".join(collector.received)
    for private in (SECRET, "private-path", "example.com", "127.0.0.1", "python-httpx"):
        assert private.encode() not in everything


def wait_for_mail(data: Path) -> None:
    deadline = time.monotonic() + 60
    while not list((data / "mail").glob("*.eml")):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_collector_that_does_not_answer_holds_up_no_request_and_no_end(
    tmp_path: Path, collector: Collector
) -> None:
    collector.answers.clear()
    few = {"OTEL_BSP_MAX_QUEUE_SIZE": "8", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "4"}
    with serving(tmp_path / "data", "--no-worker", **collector.environment, **few) as running:
        with httpx.Client(base_url=running.address) as client:
            for _ in range(100):
                assert client.get("/api/health").status_code == 200
        assert collector.received
        began = time.monotonic()
        assert running.terminate() == 0
        assert time.monotonic() - began < 20
    # The rest was dropped: the queue is bounded.
    assert len(collector.spans) < 20


@pytest.mark.parametrize("command", representatives([("serve", "--port", "0"), ("worker",)]))
def test_without_the_extra_the_start_says_what_to_install(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    # Hides the installed one.
    (tmp_path / "hiding" / "opentelemetry").mkdir(parents=True)
    (tmp_path / "hiding" / "opentelemetry" / "__init__.py").touch()
    run(tmp_path / "data", "migrate")
    done = subprocess.run(
        [COMMAND, *command, "--data-dir", tmp_path / "data"],
        env=plain_environment(MASTHEAD_TRACES="1", PYTHONPATH=str(tmp_path / "hiding")),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "pip install 'masthead[otel]'" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


async def test_a_job_that_fails_has_a_span_without_the_text_of_its_error(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    from masthead.service.tracing.spans import Traces

    for name, value in {**collector.environment, "OTEL_SERVICE_NAME": "our-blogs"}.items():
        monkeypatch.setitem(os.environ, name, value)

    async def fail(_: Job) -> None:
        raise LookupError("ada@example.com")

    traces = Traces()
    handler = traces.wrap_handlers({"some.kind": fail})["some.kind"]
    with pytest.raises(LookupError):
        await handler(Job(TenantId("t1"), "j1", "some.kind", {}, 3))
    await traces.close()
    (span,) = collector.spans
    assert (span.name, span.status.code) == ("some.kind", Status.STATUS_CODE_ERROR)
    assert attributes_of(span) == {
        "error.type": "LookupError",
        "masthead.job.attempt": 3,
        "masthead.job.id": "j1",
        "masthead.tenant.id": "t1",
    }
    assert b"ada@" not in b"".join(collector.received)
    assert [each["service.name"] for each in collector.resources] == ["our-blogs"]


class TestSwitchedOff:
    def test_nothing_of_it_is_imported(self) -> None:
        code = (
            "import sys, masthead.service.app\n"
            "import masthead.service.cli.commands.serve, masthead.service.cli.commands.worker\n"
            "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
        )
        subprocess.run([sys.executable, "-c", code], check=True, timeout=120)

    async def test_a_request_tells_only_those_who_count_views(self, app: World) -> None:
        assert http_app(app.parts).observer is app.parts.views
