"""Real proxies with the files that `masthead init` writes, on ports of their own."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import trustme

_PATH = f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin"
CADDY, NGINX = shutil.which("caddy", path=_PATH), shutil.which("nginx", path=_PATH)
needs_caddy = pytest.mark.skipif(
    CADDY is None, reason="caddy is missing: install caddy, as .ci/run does"
)
needs_nginx = pytest.mark.skipif(
    NGINX is None, reason="nginx is missing: install nginx-light, as .ci/run does"
)
START_SECONDS = 120


@dataclass(frozen=True)
class Proxy:
    http_port: int
    https_port: int
    authority: Path

    def get(self, url: str, **headers: str) -> httpx.Response:
        """`https://name/path`, from this proxy."""
        asked = httpx.URL(url)
        port = self.https_port if asked.scheme == "https" else self.http_port
        verify = ssl.create_default_context(cafile=self.authority)
        with httpx.Client(verify=verify, trust_env=False, timeout=120) as client:
            return client.get(
                asked.copy_with(host="127.0.0.1", port=port),
                headers={"Host": f"{asked.host}:{port}", **headers},
                extensions={"sni_hostname": asked.host},
            )


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def running_caddy(file: Path, folder: Path) -> Iterator[Proxy]:
    """With its own authority instead of a public one, which could not reach this machine."""
    http_port, https_port = free_ports(2)
    options = f"""{{
	local_certs
	skip_install_trust
	admin off
	http_port {http_port}
	https_port {https_port}
	storage file_system {folder}
"""
    text = file.read_text()
    assert text.count("\n{\n") == 1
    adapted = folder / "Caddyfile"
    adapted.write_text(text.replace("\n{\n", f"\n{options}"))
    command = [str(CADDY), "run", "--config", str(adapted), "--adapter", "caddyfile"]
    authority = folder / "pki" / "authorities" / "local" / "root.crt"
    with _running(command, folder, https_port):
        _until(authority.exists)
        yield Proxy(http_port, https_port, authority)


@contextlib.contextmanager
def running_nginx(file: Path, folder: Path, *names: str) -> Iterator[Proxy]:
    """With a certificate of those names."""
    http_port, https_port = free_ports(2)
    issuer = trustme.CA()
    issuer.cert_pem.write_to_path(folder / "authority.pem")
    issued = issuer.issue_cert(*names)
    live = folder / "live" / names[0]
    live.mkdir(parents=True)
    (live / "fullchain.pem").write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(live / "privkey.pem")
    text = file.read_text().replace("/etc/letsencrypt", str(folder))
    for old, port in (("80", http_port), ("443", https_port)):
        text = text.replace(f"listen {old}", f"listen 127.0.0.1:{port}")
        text = text.replace(f"    listen [::]:{old}", f"    # listen [::]:{old}")
    (folder / "masthead.conf").write_text(text)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;\n"
        f"events {{}}\nhttp {{ access_log off;\n{temporary}include {folder}/masthead.conf; }}\n"
    )
    command = [str(NGINX), "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with _running(command, folder, https_port):
        yield Proxy(http_port, https_port, folder / "authority.pem")


@contextlib.contextmanager
def _running(command: list[str], folder: Path, port: int) -> Iterator[None]:
    log = folder / "log"
    with log.open("w") as output:
        environ = {**os.environ, "HOME": str(folder)}
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environ)

    def listens() -> bool:
        assert process.poll() is None, log.read_text()
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", port)) == 0

    try:
        _until(listens)
        yield
    finally:
        process.terminate()
        process.wait()


def _until(holds: object) -> None:
    assert callable(holds)
    deadline = time.monotonic() + START_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
