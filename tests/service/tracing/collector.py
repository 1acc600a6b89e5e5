"""A collector of OpenTelemetry on a port of this machine."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector:
    def __init__(self) -> None:
        self.received: list[bytes] = []
        self.answers = threading.Event()
        """Cleared: it takes a request and does not answer."""
        self.answers.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.received.append(body)
                outer.answers.wait()
                self.send_response(200 if self.path == "/v1/traces" else 404)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *_: Any) -> None:
                """The service has gone before it was answered."""

        self._server = Server(("127.0.0.1", 0), Handler)

    def __enter__(self) -> Collector:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.answers.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def environment(self) -> dict[str, str]:
        endpoint = f"http://127.0.0.1:{self._server.server_port}"
        return {"MASTHEAD_TRACES": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}

    @property
    def resources(self) -> list[dict[str, str]]:
        return [attributes_of(each.resource) for each in self._groups()]

    @property
    def spans(self) -> list[Span]:
        return [
            span for group in self._groups() for scope in group.scope_spans for span in scope.spans
        ]

    def _groups(self) -> list[Any]:
        requests = [ExportTraceServiceRequest.FromString(each) for each in self.received]
        return [group for request in requests for group in request.resource_spans]


def attributes_of(described: Any) -> dict[str, Any]:
    """Returns the attributes of a span or a resource."""
    return {
        each.key: getattr(each.value, each.value.WhichOneof("value"))
        for each in described.attributes
    }
