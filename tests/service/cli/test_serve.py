"""`masthead serve` as a process: its output, its demo data, and its exit code."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from tests.forking import forked_program
from tests.service.cli.commands import COMMAND, plain_environment
from tests.service.cli.running import Running, serving
from tests.tiers import representatives

from masthead.base.version import running_version
from masthead.identity.api_keys import is_well_formed
from masthead.identity.scopes import SCOPES

ADMIN_LINE = r"admin: (http://demo\.localhost:\d+/admin) login: (\S+) password: (\S+)"


def sign_in(server: Running, admin_line: str) -> str:
    match = re.fullmatch(ADMIN_LINE, admin_line)
    assert match
    answer = server.post(
        "/api/collections/_superusers/auth-with-password",
        {"identity": match[2], "password": match[3]},
    )
    assert answer.status_code == 200, answer.text
    return answer.json()["token"]


def test_the_printed_admin_address_opens_and_the_printed_login_works(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--demo") as server:
        _, printed, _ = (server.line() for _ in range(3))
        match = re.fullmatch(ADMIN_LINE, printed)
        assert match
        address = urlsplit(match[1])
        # Only browsers find every name that ends in localhost.
        headers = {"host": address.netloc, "sec-fetch-site": "same-origin"}
        origin = f"http://127.0.0.1:{address.port}"
        with httpx.Client(base_url=origin, headers=headers, timeout=120) as browser:
            asked = browser.get(address.path)
            assert asked.status_code == 303
            form = browser.get(asked.headers["location"])
            assert "Sign in to Tideline" in form.text
            login = {"email": match[2], "password": match[3], "next": "/admin"}
            signed_in = browser.post("/admin/sign-in", data=login)
            assert signed_in.status_code == 303
            session = signed_in.headers["set-cookie"].partition(";")[0]
            home = browser.get(signed_in.headers["location"], headers={"cookie": session})
            assert home.status_code == 200
            assert match[2] in home.text or "Continue writing" in home.text
        assert server.terminate() == 0


@pytest.mark.slow("starts a service with the demo twice")
def test_the_demo_is_seeded_once_and_its_credentials_are_printed_each_time(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data, "--demo") as server:
        blog, admin, key = (server.line() for _ in range(3))
        assert blog == f"blog: http://demo.localhost:{server.port}"
        assert is_well_formed(key.removeprefix("api key: "))
        assert server.get("/api/health").json()["status"] == "ok"
        token = sign_in(server, admin)
        counts = {
            name: server.get(f"/api/collections/{name}/records", Authorization=token).json()
            for name in ("posts", "blog_members", "comments", "api_keys", "tenants")
        }
        assert counts["posts"]["totalItems"] >= 12
        assert counts["blog_members"]["totalItems"] >= 25
        assert counts["comments"]["totalItems"] >= 30
        assert counts["tenants"]["items"][0]["plan"] == "business"
        assert set(counts["api_keys"]["items"][0]["scopes"]) == set(SCOPES)
        public = server.get("/api/collections/posts/records").json()
        assert 0 < public["totalItems"] < counts["posts"]["totalItems"]
        sold = server.get("/api/collections/tiers/records").json()["items"]
        assert len(sold) >= 2
        # A name that is reserved: nobody is sent to a real payment.
        assert all(each["payment_url"].startswith("https://pay.example.com/") for each in sold)
        assert server.terminate() == 0
    assert (data / "demo.json").stat().st_mode & 0o777 == 0o600
    with serving(data, "--demo") as server:
        _, admin_again, key_again = (server.line() for _ in range(3))
        assert key_again == key
        token = sign_in(server, admin_again)
        again = server.get("/api/collections/posts/records", Authorization=token).json()
        assert again["totalItems"] == counts["posts"]["totalItems"]
        assert server.terminate() == 0


def test_the_demo_leaves_a_database_with_tenants_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    arguments = (
        "--slug acme --name A --plan pro --owner-email a@b.example --owner-password a-long-word"
    )
    subprocess.run(
        [forked_program(), "tenant", "create", *arguments.split(), "--data-dir", data],
        env=plain_environment(),
        check=True,
        capture_output=True,
    )
    with serving(data, "--demo") as server:
        assert server.get("/api/collections/posts/records", slug="acme").status_code == 200
        assert server.get("/api/collections/posts/records", slug="demo").status_code == 404
        assert server.terminate() == 0
        assert server.line() == "<the end>"


@pytest.mark.slow("starts a service of two processes")
def test_several_processes_share_the_port_and_end_together(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--demo", "--workers", "2", program=COMMAND) as server:
        lines = [server.line() for _ in range(3)]
        assert lines[0] == f"blog: http://demo.localhost:{server.port}"
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        if children.exists():
            assert len(children.read_text().split()) == 2
        for _ in range(20):
            assert server.get("/api/health").status_code == 200
        assert server.terminate() == 0
    lines = map(json.loads, (tmp_path / "data.log").read_text().splitlines())
    started = [each for each in lines if each["event"] == "server.started"]
    version = running_version()
    assert [(each["version"], each["commit"]) for each in started] == [version, version]


def test_a_taken_port_is_an_error_of_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = subprocess.run(
            [
                forked_program(),
                "serve",
                "--port",
                str(taken.getsockname()[1]),
                "--data-dir",
                tmp_path,
            ],
            env=plain_environment(),
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert re.fullmatch(
        r"masthead: Can't listen on 127\.0\.0\.1:\d+: another program listens there\. .*\n",
        ended.stderr,
    )


def test_a_worker_stops_on_sigterm(tmp_path: Path) -> None:
    with subprocess.Popen(
        [COMMAND, "worker", "--data-dir", tmp_path],
        env=plain_environment(MASTHEAD_LOG="json"),
        stderr=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stderr is not None
        started = json.loads(worker.stderr.readline())
        worker.terminate()
        assert worker.wait(timeout=120) == 0
    version = running_version()
    assert (started["event"], started["commit"]) == ("worker.started", version.commit)


def _health(host: str, port: int) -> int:
    return httpx.get(f"http://{host}:{port}/api/health", timeout=120).status_code


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("workers", representatives(["1", "2"]))
def test_each_host_is_served_on_the_same_port(tmp_path: Path, workers: str) -> None:
    hosts = ("--host", "127.0.0.1", "--host", "::1")
    with serving(tmp_path / "data", *hosts, "--workers", workers) as server:
        assert server.address == f"http://127.0.0.1:{server.port}"
        assert server.line() == f"listening on http://[::1]:{server.port}"
        assert _health("127.0.0.1", server.port) == 200
        assert _health("[::1]", server.port) == 200
        assert server.terminate() == 0
        for host in ("127.0.0.1", "[::1]"):
            with pytest.raises(httpx.ConnectError):
                _health(host, server.port)
