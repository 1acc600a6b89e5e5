"""The version names the commit, also where git can't be asked."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.install.dockerfile import copy_context

from masthead.base.version import NUMBER, Version, commit_of, running_version

ROOT = Path(__file__).parents[2]
WITHOUT_GIT = {"PATH": "/nonexistent"}


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@b.example")
    command = ["git", *who, *words]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def head_of(folder: Path) -> str:
    return git(folder, "rev-parse", "HEAD")[:12]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "First")
    return folder


def test_the_commit_of_a_branch_is_read(repository: Path) -> None:
    assert commit_of(repository) == head_of(repository)
    git(repository, "switch", "-q", "-c", "feature/other")
    git(repository, "commit", "-q", "--allow-empty", "-m", "Second")
    assert commit_of(repository) == head_of(repository)


def test_the_commit_is_read_after_git_has_packed_its_branches(repository: Path) -> None:
    git(repository, "branch", "zmain")
    git(repository, "commit", "-q", "--allow-empty", "-m", "Second")
    git(repository, "pack-refs", "--all")
    assert commit_of(repository) == head_of(repository)


def test_the_commit_is_read_without_a_branch(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    assert commit_of(repository) == head_of(repository)


def test_the_commit_of_a_worktree_is_its_own(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    git(tmp_path / "tree", "commit", "-q", "--allow-empty", "-m", "Second")
    assert commit_of(tmp_path / "tree") == head_of(tmp_path / "tree") != head_of(repository)


def test_without_a_repository_or_a_commit_there_is_none(tmp_path: Path) -> None:
    assert commit_of(tmp_path) == ""
    git(tmp_path, "init", "-q")
    assert commit_of(tmp_path) == ""


def test_a_checkout_names_its_commit() -> None:
    commit = head_of(ROOT)
    version = f"{NUMBER}+g{commit}" if ".dev" in NUMBER else NUMBER
    assert running_version() == Version(version, commit)


@pytest.mark.parametrize(
    ("version", "shown"),
    [
        (Version("0.2.0", "1a2b3c4d5e6f"), "0.2.0 (1a2b3c4d5e6f)"),
        (Version("0.2.0.dev7+g1a2b3c4d5e6f", "1a2b3c4d5e6f"), "0.2.0.dev7+g1a2b3c4d5e6f"),
        (Version("0.2.0", ""), "0.2.0"),
    ],
)
def test_a_release_shows_its_commit_in_parentheses(version: Version, shown: str) -> None:
    assert str(version) == shown


_BUILT = "from release.package_version import package_version; print(package_version().version)"


def built_version(folder: Path, environ: dict[str, str] | None = None) -> str:
    command = [sys.executable, "-c", _BUILT]
    done = subprocess.run(command, cwd=folder, env=environ, check=True, capture_output=True)
    return done.stdout.decode().strip()


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of the newest commit, as shallow as continuous integration may make it."""
    folder = tmp_path_factory.mktemp("clone") / "masthead"
    git(folder.parent, "clone", "-q", "--no-tags", "--depth=1", f"file://{ROOT}", str(folder))
    set_number(folder, "9.9.0.dev0")
    return folder


def set_number(clone: Path, number: str) -> None:
    file = clone / "src/masthead/base/version.py"
    text = re.sub(r'^NUMBER = ".*"$', f'NUMBER = "{number}"', file.read_text(), flags=re.MULTILINE)
    file.write_text(text)
    git(clone, "commit", "-q", "-a", "-m", number)


class TestBuilt:
    def test_every_commit_and_every_change_has_its_own(self, clone: Path) -> None:
        first = built_version(clone)
        assert first == f"9.9.0.dev2+g{head_of(clone)}"
        (clone / "README.md").write_text("Changed")
        changed = built_version(clone)
        assert changed.startswith(f"{first}.d")
        (clone / "README.md").write_text("Changed again")
        assert built_version(clone) not in (first, changed)
        git(clone, "commit", "-q", "-a", "-m", "Change")
        assert built_version(clone) == f"9.9.0.dev3+g{head_of(clone)}"

    def test_the_builder_of_an_image_has_no_git(self, clone: Path, tmp_path: Path) -> None:
        copy_context(clone, tmp_path)
        assert built_version(tmp_path, WITHOUT_GIT) == f"9.9.0.dev0+g{head_of(clone)}"

    def test_a_release_has_its_number_only(self, clone: Path) -> None:
        set_number(clone, "9.9.0")
        assert built_version(clone) == "9.9.0"
