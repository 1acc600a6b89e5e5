"""`make audit` asks about every pinned dependency, and fails for a known fault.

The answers have the form of OSV's, and come over a real socket.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

ROOT = Path(__file__).parents[2]
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)
FAULT = {
    "id": "PYSEC-2019-217",
    "aliases": ["CVE-2019-10906", "GHSA-462w-v97r-4m45"],
    "summary": "The sandbox of Jinja can be left with str.format_map.",
    "details": "In Jinja before 2.10.1, str.format_map allows a sandbox escape.",
    "modified": "2021-11-22T04:57:52Z",
    "published": "2019-04-07T00:29:00Z",
    "affected": [
        {
            "package": {"name": "jinja2", "ecosystem": "PyPI", "purl": "pkg:pypi/jinja2"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "999.1"}]}],
        }
    ],
}
"""In the form of an answer of api.osv.dev. The fix was moved to a version of the future."""


@contextmanager
def faults(known: dict[str, Any]) -> Iterator[tuple[str, set[str]]]:
    """The address of a service with known faults by package, and the packages that it is asked."""
    asked: set[str] = set()

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = json.loads(self.rfile.read(int(self.headers["content-length"])))
            name, version = query["package"]["name"], query["version"]
            asked.add(f"{name}=={version}")
            body = json.dumps({"vulns": [known[name]]} if name in known else {}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/query", asked
        server.shutdown()


def audit(address: str, tmp_path: Path, lock: str) -> subprocess.CompletedProcess[str]:
    options = f"--vulnerability-service osv --osv-url {address} --cache-dir {tmp_path}"
    return subprocess.run(
        ["make", "-s", "audit", f"LOCKS={lock}", f"OPTIONS={options}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def pins_of(lock: str) -> set[str]:
    return {name.lower() for name, _ in _PIN.findall((ROOT / lock).read_text())}


def test_every_dependency_is_asked_about_and_a_fault_fails(tmp_path: Path) -> None:
    with faults({"jinja2": FAULT}) as (address, asked):
        found = audit(address, tmp_path, "requirements-test.lock")
    assert found.returncode != 0
    assert "PYSEC-2019-217" in found.stdout
    assert "999.1" in found.stdout
    # A few are for other systems or other versions of Python.
    pins = pins_of("requirements.lock")
    assert len(pins & {each.partition("==")[0].lower() for each in asked}) > 0.9 * len(pins)
    for lock in ("requirements.lock", "requirements-build.lock"):
        assert pins_of(lock) - pins_of("requirements-test.lock") <= pins_of(
            "requirements-build.lock"
        )


def test_without_a_fault_it_succeeds_and_a_silent_service_is_no_success(tmp_path: Path) -> None:
    lock = "requirements-build.lock"
    with faults({}) as (address, _):
        clean = audit(address, tmp_path, lock)
    assert clean.returncode == 0, clean.stderr
    assert "No known vulnerabilities found" in clean.stderr
    assert audit("http://127.0.0.1:1/", tmp_path, lock).returncode != 0


def test_no_lock_is_forgotten() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "*.lock"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    makefile = (ROOT / "Makefile").read_text()
    locks = re.search(r"^LOCKS := ((?:.*\\\n)*.*)$", makefile, re.MULTILINE)
    assert locks is not None
    named = set(locks[1].replace("\\\n", " ").split())
    assert set(listed.stdout.split()) - {"requirements.lock"} == named
