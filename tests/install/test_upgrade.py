"""The steps of docs/install.md bring the code of a newer commit into an installation."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.install.bare import ROOT, Bare

pytestmark = [pytest.mark.sweep, pytest.mark.xdist_group("install")]

PAGE = (ROOT / "docs" / "install.md").read_text()
HELP = "Masthead: a self-hosted blog"
# `make dist` without what an upgrade does not read: the list of contents and the checksums.
_RELEASE = (
    "from pathlib import Path; from release.__main__ import build_packages, write_constraints; "
    "folder = Path('dist').absolute(); folder.mkdir(exist_ok=True); "
    "build_packages(folder); write_constraints(folder)"
)


def steps() -> list[str]:
    section = PAGE.partition("## Upgrade from a clone\n")[2].partition("\n## ")[0]
    block = re.search(r"```console\n(.*?)```", section, re.DOTALL)
    assert block
    return re.findall(r"^\$ (.*)$", block[1], re.MULTILINE)


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@b.example")
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)
    return done.stdout.decode().strip()


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    git(tmp_path, "clone", "-q", "--shared", str(ROOT), "upstream")
    return tmp_path / "upstream"


def test_an_upgrade_from_a_clone_changes_the_code(
    bare: Bare, upstream: Path, tmp_path: Path
) -> None:
    installed = tmp_path / "venv"
    shutil.copytree(bare.folder / "venv", installed, symlinks=True)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--shared", str(upstream), str(clone))
    change = upstream / "src/masthead/service/cli/main.py"
    change.write_text(change.read_text().replace(HELP, "The new code"))
    git(upstream, "commit", "-q", "-a", "-m", "Change")

    pull, build, install, restart = steps()
    assert (build, restart) == ("make dist", "sudo systemctl restart masthead")
    bare.run("sh", "-c", pull, cwd=clone, check=True)
    bare.run(sys.executable, "-c", _RELEASE, cwd=clone, check=True)
    # The programs of a copied environment name the first one.
    pip = install.replace("/opt/masthead/bin/pip", f"{installed}/bin/python -m pip")
    bare.run("sh", "-c", pip, cwd=clone, check=True)

    masthead = (f"{installed}/bin/python", "-m", "masthead")
    assert "The new code" in bare.run(*masthead, "--help", check=True).stdout
    commit = git(upstream, "rev-parse", "HEAD")[:12]
    assert f"+g{commit}\n" in bare.run(*masthead, "--version", check=True).stdout
