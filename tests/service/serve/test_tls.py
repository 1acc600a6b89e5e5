"""`MASTHEAD_TLS_CERT` and `MASTHEAD_TLS_KEY`: the service without a proxy in front of it."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import httpx
import pytest
import trustme
from tests.forking import forked_program
from tests.service.cli.commands import plain_environment
from tests.service.cli.running import serving
from tests.tiers import representatives


class Files:
    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        issued = self.authority.issue_cert("demo.localhost", "127.0.0.1")
        self.cert, self.key = folder / "cert.pem", folder / "key.pem"
        self.cert.write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))
        issued.private_key_pem.write_to_path(self.key)

    @property
    def variables(self) -> dict[str, str]:
        return {"MASTHEAD_TLS_CERT": str(self.cert), "MASTHEAD_TLS_KEY": str(self.key)}

    def client(self, *, http2: bool) -> httpx.Client:
        trust = ssl.create_default_context()
        self.authority.configure_trust(trust)
        return httpx.Client(verify=trust, http2=http2, timeout=120)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.mark.parametrize("workers", representatives(["1", "2"]))
def test_browsers_are_served_over_https_with_http_2(
    files: Files, tmp_path: Path, workers: str
) -> None:
    options = ("--demo", "--workers", workers)
    with serving(tmp_path / "data", *options, **files.variables) as server:
        blog, _, key = (server.line() for _ in range(3))
        assert server.address == f"https://127.0.0.1:{server.port}"
        assert blog == f"blog: https://demo.localhost:{server.port}"
        named = {
            "Host": f"demo.localhost:{server.port}",
            "Authorization": f"Bearer {key.removeprefix('api key: ')}",
        }
        for http2 in (True, False):
            with files.client(http2=http2) as client:
                answer = client.get(f"{server.address}/api/v1/posts", headers=named)
            assert answer.status_code == 200
            assert answer.http_version == ("HTTP/2" if http2 else "HTTP/1.1")
        assert server.terminate() == 0


def test_required_https_accepts_calls_over_tls(files: Files, tmp_path: Path) -> None:
    variables = {**files.variables, "MASTHEAD_REQUIRE_HTTPS": "1"}
    with serving(tmp_path / "data", "--demo", **variables) as server:
        _, _, key = (server.line() for _ in range(3))
        named = {
            "Host": f"demo.localhost:{server.port}",
            "Authorization": f"Bearer {key.removeprefix('api key: ')}",
        }
        with files.client(http2=True) as client:
            assert client.get(f"{server.address}/api/v1/posts", headers=named).status_code == 200


def refusal(tmp_path: Path, **variables: str) -> str:
    ended = subprocess.run(
        [forked_program(), "serve", "--port", "0", "--data-dir", tmp_path / "data"],
        env=plain_environment(**variables),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    return ended.stderr


def test_a_certificate_without_its_key_is_refused(files: Files, tmp_path: Path) -> None:
    said = refusal(tmp_path, MASTHEAD_TLS_CERT=str(files.cert))
    assert said == (
        "masthead: MASTHEAD_TLS_KEY is missing: TLS needs both a certificate and its key.\n"
    )


def test_a_key_of_another_certificate_is_refused(files: Files, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    trustme.CA().issue_cert("demo.localhost").private_key_pem.write_to_path(other)
    said = refusal(tmp_path, MASTHEAD_TLS_CERT=str(files.cert), MASTHEAD_TLS_KEY=str(other))
    assert said.startswith("masthead: MASTHEAD_TLS_CERT and MASTHEAD_TLS_KEY must be")
    assert said.count("\n") == 1
