"""Servers are awaited, and ended whatever happens; data sets are built once and never spoiled."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bench import datasets, process

HEALTHY = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_a_server_is_ended_when_the_measurement_fails(tmp_path: Path) -> None:
    port = process.free_port()
    command = [sys.executable, "-c", HEALTHY, str(port)]
    started = []

    def fail() -> None:
        with process.running(command, port, tmp_path / "log") as server:
            started.append(server.pid)
            assert process.pss_megabytes(server.pid) > 1
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)


def test_a_server_that_dies_is_reported_with_its_last_words(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no such table')"]
    with (
        pytest.raises(RuntimeError, match="no such table"),
        process.running(command, process.free_port(), tmp_path / "log"),
    ):
        pass


def test_a_data_set_is_built_once_and_its_copies_are_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    built = []

    def build(folder: Path) -> None:
        built.append(folder)
        (folder / "posts").write_text("as loaded")

    for _ in range(2):
        with datasets.copy_of("set", build, is_fresh=False) as folder:
            assert (folder / "posts").read_text() == "as loaded"
            (folder / "posts").write_text("changed by the run")
    assert len(built) == 1
    with datasets.copy_of("set", build, is_fresh=True):
        assert len(built) == 2
    assert [path.name for path in datasets.cache_folder().iterdir()] == ["set"]


def test_a_failed_build_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def build(folder: Path) -> None:
        (folder / "posts").write_text("half")
        raise LookupError

    with pytest.raises(LookupError), datasets.copy_of("set", build, is_fresh=False):
        pass
    assert list(datasets.cache_folder().iterdir()) == []
