"""`make dist` makes a release that is complete, and that installs and runs in a bare folder."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import httpx
import pytest
from release.package_version import package_version
from tests.install.bare import ROOT, Bare
from tests.service.cli.running import serving

# One process builds and installs, for all tests here.
pytestmark = [pytest.mark.sweep, pytest.mark.xdist_group("install")]

PACKAGE = ROOT / "src" / "masthead"
NOT_IN_THE_WHEEL = ("faces/admin/editor/", "__pycache__/")
VERSION = package_version().version


def pins(dist: Path) -> dict[str, str]:
    text = (dist / "constraints.txt").read_text()
    found = re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", text, re.MULTILINE)
    return {name: version for name, version in found if name != "masthead"}


def test_it_consists_of_these_files(dist: Path) -> None:
    assert {path.name for path in dist.iterdir()} == {
        f"masthead-{VERSION}-py3-none-any.whl",
        f"masthead-{VERSION}.tar.gz",
        f"masthead-{VERSION}.cdx.json",
        "constraints.txt",
        "SHA256SUMS",
    }


def test_the_checksums_are_right(dist: Path) -> None:
    checked = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=dist, capture_output=True)
    assert checked.returncode == 0
    assert checked.stdout.count(b": OK\n") == 4


def test_the_wheel_has_every_file_of_the_package(dist: Path) -> None:
    there = {
        path.relative_to(PACKAGE.parent).as_posix() for path in PACKAGE.rglob("*") if path.is_file()
    }
    expected = {path for path in there if not any(part in path for part in NOT_IN_THE_WHEEL)}
    expected.add("masthead/base/version.txt")
    with zipfile.ZipFile(dist / f"masthead-{VERSION}-py3-none-any.whl") as wheel:
        packed = {name for name in wheel.namelist() if name.startswith("masthead/")}
    assert packed == expected
    assert "masthead/faces/admin/static/vendor/editor.js" in packed
    assert any(name.startswith("masthead/storage/migrations/versions/") for name in packed)


def test_the_source_archive_builds_the_same_wheel(dist: Path, tmp_path: Path) -> None:
    with tarfile.open(dist / f"masthead-{VERSION}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    source = tmp_path / f"masthead-{VERSION}"
    for name in ("Makefile", "requirements-build.lock", "operations/alerts.yml", "docs/README.md"):
        assert (source / name).is_file()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "again"]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    name = f"masthead-{VERSION}-py3-none-any.whl"
    assert (tmp_path / "again" / name).read_bytes() == (dist / name).read_bytes()


def test_every_pin_has_hashes_and_nothing_builds_only(dist: Path) -> None:
    text = (dist / "constraints.txt").read_text()
    blocks = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(blocks) == len(pins(dist)) + 1
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in blocks)
    assert "hatchling" not in pins(dist)


def test_what_is_installed_is_what_is_pinned(bare: Bare) -> None:
    listed = bare.run("venv/bin/python", "-m", "pip", "list", "--format", "json", check=True)
    installed = {normalized(each["name"]): each["version"] for each in json.loads(listed.stdout)}
    assert installed.pop("masthead") == VERSION
    of_python = {"pip", "setuptools"}
    assert {
        name: version for name, version in installed.items() if name not in of_python
    }.items() <= pins(bare.dist).items()


def test_the_sbom_lists_what_is_installed_with_licences(bare: Bare) -> None:
    sbom = json.loads((bare.dist / f"masthead-{VERSION}.cdx.json").read_text())
    about = sbom["metadata"]["component"]
    assert (sbom["bomFormat"], about["name"]) == ("CycloneDX", "masthead")
    assert about["version"] == VERSION
    listed = {normalized(each["name"]): each["version"] for each in sbom["components"]}
    asked = bare.run("venv/bin/python", "-m", "pip", "list", "--format", "json", check=True)
    installed = {normalized(each["name"]): each["version"] for each in json.loads(asked.stdout)}
    without = {"masthead", "pip", "setuptools"}
    assert listed == {name: each for name, each in installed.items() if name not in without}
    # The package has a licence file, and no field that names it.
    unnamed = {each["name"] for each in sbom["components"] if not each.get("licenses")}
    assert unnamed <= {"py_svg_hush"}
    assert all(each["purl"].startswith("pkg:pypi/") for each in sbom["components"])


def test_the_dashboard_and_the_alerts_come_with_it(bare: Bare) -> None:
    for name in ("alerts.yml", "grafana-dashboard.json"):
        installed = bare.folder / "venv" / "share" / "masthead" / name
        assert installed.read_bytes() == (ROOT / "operations" / name).read_bytes()


def test_it_runs_in_a_bare_folder(bare: Bare) -> None:
    shown = bare.run(str(bare.masthead), "--version", check=True)
    assert shown.stdout == f"masthead {VERSION}\n"
    options = {"program": bare.masthead, "HOME": bare.environ["HOME"]}
    with serving(bare.folder / "data", "--demo", **options) as running:
        health = httpx.get(f"{running.address}/api/health").json()
        assert (health["status"], health["build"]) == ("ok", package_version().commit)
        # A page with its style sheet, a page of the admin and the editor's bundle.
        for path in ("/", "/admin/sign-in", "/api/v1/docs"):
            page = running.get(path)
            assert page.status_code == 200
            assets = re.findall(r'(?:href|src)="(/[^"]+\.(?:css|js)(?:\?[^"]*)?)"', page.text)
            assert assets
            for asset in assets:
                assert running.get(asset).status_code == 200


def test_uv_installs_it_as_a_tool(dist: Path, wheelhouse: Path, tmp_path: Path) -> None:
    uv = str(Path(sys.executable).with_name("uv"))
    own = Bare(tmp_path, dist, wheelhouse)
    constraints = str(dist / "constraints.txt")
    wheel = str(dist / f"masthead-{VERSION}-py3-none-any.whl")
    command = (uv, "tool", "install", "-q", wheel, "--constraints", constraints)
    offline = ("--no-index", "--find-links", str(wheelhouse), "--python", sys.executable)
    own.run(*command, *offline, check=True)
    program = tmp_path / "home" / ".local" / "bin" / "masthead"
    assert own.run(str(program), "--version").stdout == f"masthead {VERSION}\n"


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
