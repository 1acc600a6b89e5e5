"""A span of each request and of each job, sent by OpenTelemetry's own thread.

Its queue is bounded: when the collector is slow or away, spans are dropped and requests go on. The
usual `OTEL_*` variables say where they are sent, and which of them. A span holds no path, no query,
no address and no text of an error, because these may have personal data."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from functools import partial
from threading import Thread
from time import time_ns
from typing import Final

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from masthead.base.logs import log
from masthead.base.version import running_version
from masthead.engine.jobs.runner import Handler, Job
from masthead.web.request import Request
from masthead.web.request_counts import METHODS

FLUSH_SECONDS: Final = 5.0
"""How long the end of a process waits for the collector."""
_SERVICE = "masthead"
_NO_PARENT = Context()
_PARENTS = TraceContextTextMapPropagator()


class Traces:
    def __init__(self) -> None:
        # Not the global provider: a library that we use must not send its own spans.
        self._provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer(_SERVICE, running_version().version)

    def note_answer(self, request: Request, status: int, seconds: float) -> None:
        method = request.method if request.method in METHODS else "_OTHER"
        attributes: dict[str, str | int] = {
            "http.request.method": method,
            "http.response.status_code": status,
            # Also in each log line of the request.
            "masthead.request.id": request.id,
        }
        if request.route:
            attributes["http.route"] = request.route
        if request.tenant:
            attributes["masthead.tenant.id"] = request.tenant.id
        ended = time_ns()
        span = self._tracer.start_span(
            f"{method} {request.route}".rstrip(),
            _parent_of(request),
            SpanKind.SERVER,
            attributes,
            start_time=ended - int(seconds * 1e9),
        )
        if status >= 500:
            _mark_failed(span, type(request.error).__name__ if request.error else str(status))
        span.end(ended)

    def wrap_handlers(self, handlers: Mapping[str, Handler]) -> dict[str, Handler]:
        """Gives each attempt at a job a span of its own."""
        return {kind: partial(self._run, handler) for kind, handler in handlers.items()}

    async def _run(self, handler: Handler, job: Job) -> None:
        attributes: dict[str, str | int] = {
            "masthead.job.id": job.id,
            "masthead.job.attempt": job.attempts,
            "masthead.tenant.id": job.tenant_id,
        }
        span = self._tracer.start_span(job.kind, _NO_PARENT, SpanKind.CONSUMER, attributes)
        try:
            await handler(job)
        except BaseException as error:
            _mark_failed(span, type(error).__name__)
            raise
        finally:
            span.end()

    async def close(self) -> None:
        """Sends the waiting spans. A collector that does not answer can't keep the process
        from ending."""
        closing = Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        await asyncio.to_thread(closing.join, FLUSH_SECONDS)
        if closing.is_alive():
            log.warning("traces.not_flushed", seconds=FLUSH_SECONDS)


def _resource() -> Resource:
    found = Resource.create(
        {"service.version": running_version().version, "process.pid": os.getpid()}
    )
    # What OpenTelemetry names a service without OTEL_SERVICE_NAME.
    if str(found.attributes["service.name"]).startswith("unknown_service"):
        return found.merge(Resource({"service.name": _SERVICE}))
    return found


def _parent_of(request: Request) -> Context:
    given = request.header(b"traceparent")
    return _PARENTS.extract({"traceparent": given}, _NO_PARENT) if given else _NO_PARENT


def _mark_failed(span: Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)
