"""Caddy and nginx with the files of `masthead init`: HTTPS, one address, and no stranger's name."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from tests.forking import forked_program
from tests.install.proxies import (
    Proxy,
    free_ports,
    needs_caddy,
    needs_nginx,
    running_caddy,
    running_nginx,
)
from tests.service.cli.commands import plain_environment
from tests.service.cli.running import serving

# One service for the file.
pytestmark = pytest.mark.xdist_group("proxies")

DOMAIN, OWN = "blogs.example", "garden.example"


@dataclass(frozen=True)
class Behind:
    """A service with a site at a domain of its own, and the file of each proxy in front of it."""

    caddyfile: Path
    nginx_conf: Path


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    folder = tmp_path_factory.mktemp("behind")
    [port] = free_ports(1)
    made = Behind(folder / "Caddyfile", folder / "nginx.conf")
    options = ("--domain", DOMAIN, "--dir", str(folder / "srv"), "--port", str(port))
    for kind, file in (("caddy", made.caddyfile), ("nginx", made.nginx_conf)):
        masthead("init", *options, "--proxy", kind, str(file))
    data = folder / "srv" / "data"
    masthead(
        *("tenant", "create", "--slug", "acme", "--name", "Acme", "--plan", "pro"),
        *("--owner-email", "anne@example.com", "--owner-password", "correct horse"),
        *("--custom-domain", OWN, "--data-dir", str(data)),
    )
    lines = (folder / "srv" / "masthead.env").read_text().splitlines()
    settings = dict(line.split("=", 1) for line in lines if line.startswith("MASTHEAD_"))
    with serving(data, "--port", str(port), "--no-worker", **settings):
        yield made


def masthead(*arguments: str) -> None:
    command = [str(forked_program()), *arguments]
    subprocess.run(command, env=plain_environment(), check=True, stdout=subprocess.DEVNULL)


def check_one_address(proxy: Proxy, *names: str) -> None:
    """`http` and all these names lead to the site's own domain, in one step."""
    home = f"https://{OWN}"
    for scheme in ("http", "https"):
        for name in names:
            answer = proxy.get(f"{scheme}://{name}/posts?page=2")
            assert (answer.status_code, answer.headers["location"]) == (
                301,
                f"{home}/posts?page=2",
            )
    plain = proxy.get(f"http://{OWN}/", **{"X-Forwarded-Proto": "https"})
    assert (plain.status_code, plain.headers["location"]) == (301, f"{home}/")
    assert proxy.get(f"http://{DOMAIN}/api/health").status_code == 200


@pytest.fixture(scope="module")
def caddy_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("caddy")


@pytest.fixture(scope="module")
def caddy(behind: Behind, caddy_folder: Path) -> Iterator[Proxy]:
    with running_caddy(behind.caddyfile, caddy_folder) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def nginx(behind: Behind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("nginx")
    names = (DOMAIN, f"*.{DOMAIN}", OWN, f"www.{OWN}")
    with running_nginx(behind.nginx_conf, folder, *names) as proxy:
        yield proxy


@needs_caddy
class TestCaddy:
    def test_a_site_has_a_certificate_as_soon_as_it_is_asked_for(self, caddy: Proxy) -> None:
        page = caddy.get(f"https://{OWN}/")
        assert page.status_code == 200
        assert "Acme" in page.text
        assert page.headers["strict-transport-security"] == "max-age=31536000"

    def test_other_names_lead_to_its_one_address(self, caddy: Proxy) -> None:
        check_one_address(caddy, f"acme.{DOMAIN}", f"www.{OWN}")

    def test_a_stranger_has_no_certificate_made(self, caddy: Proxy, caddy_folder: Path) -> None:
        for name in ("stranger.example", f"nobody.{DOMAIN}", f"a.b.{OWN}"):
            with pytest.raises(httpx.ConnectError):
                caddy.get(f"https://{name}/")
            assert list(caddy_folder.rglob(f"{name}*")) == []
        caddy.get(f"https://{OWN}/")
        assert list(caddy_folder.rglob(f"{OWN}.crt"))

    def test_caddy_formats_it_the_same_way(self, behind: Behind) -> None:
        done = subprocess.run(["caddy", "fmt", behind.caddyfile], capture_output=True, text=True)
        assert done.stdout.strip() == behind.caddyfile.read_text().strip()


@needs_nginx
class TestNginx:
    def test_a_site_is_served_over_https(self, nginx: Proxy) -> None:
        page = nginx.get(f"https://{OWN}/")
        assert (page.status_code, page.http_version) == (200, "HTTP/1.1")
        assert "Acme" in page.text
        assert page.headers["strict-transport-security"] == "max-age=31536000"

    def test_other_names_lead_to_its_one_address(self, nginx: Proxy) -> None:
        check_one_address(nginx, f"acme.{DOMAIN}", f"www.{OWN}")
