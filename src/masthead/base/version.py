"""The version of this code, and the commit that it comes from.

A build stores both in the package (`release/package_version.py`). A checkout reads them here, from
the files of its repository: an image is built without git, and git refuses to read the repository
of another user, as with `sudo pip install`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

NUMBER = "0.2.0.dev0"
"""The next release, until it is one: a release has no `.dev0`."""

STORED = "version.txt"
"""Next to this file, in a package: the version, and in a second line the commit."""

_HERE = Path(__file__).parent
_COMMIT_LENGTH = 12


class Version(NamedTuple):
    version: str
    commit: str
    """Shortened; empty if it is not known."""

    @property
    def build(self) -> str:
        return self.commit or self.version

    def __str__(self) -> str:
        """A version of development names the commit; a release does not."""
        if not self.commit or self.commit in self.version:
            return self.version
        return f"{self.version} ({self.commit})"


@cache
def running_version() -> Version:
    stored = _HERE / STORED
    if stored.exists():
        text, commit = stored.read_text().split("\n")[:2]
        return Version(text, commit)
    commit = commit_of(_HERE.parents[2])
    is_release = ".dev" not in NUMBER
    return Version(NUMBER if is_release or not commit else f"{NUMBER}+g{commit}", commit)


def commit_of(checkout: Path) -> str:
    try:
        return _read_head(checkout / ".git")[:_COMMIT_LENGTH]
    except OSError:
        return ""


def _read_head(repository: Path) -> str:
    if repository.is_file():  # a worktree, whose repository is elsewhere
        repository = repository.parent / repository.read_text().removeprefix("gitdir:").strip()
    head = (repository / "HEAD").read_text().strip()
    if not head.startswith("ref:"):
        return head
    branch = head.removeprefix("ref:").strip()
    shared = repository / "commondir"
    if shared.exists():
        repository = repository / shared.read_text().strip()
    if (repository / branch).exists():
        return (repository / branch).read_text().strip()
    packed = (repository / "packed-refs").read_text().splitlines()
    return next((line.split()[0] for line in packed if line.endswith(f" {branch}")), "")
