"""The version of a package that is built, and its catalogs as gettext reads them: hatchling asks
for both and stores them in the package.

Between two releases every commit has a version of its own. Otherwise pip would take a package of
another commit for the one that is installed. The repository needs no tags.
"""

from __future__ import annotations

import hashlib
import runpy
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parents[1]
# Not imported: that could be the installed package, which is about to be replaced.
_IN_SOURCE = runpy.run_path(str(ROOT / "src" / "masthead" / "base" / "version.py"))
NUMBER, STORED, Version = (_IN_SOURCE[each] for each in ("NUMBER", "STORED", "Version"))
_CATALOGS = ROOT / "src" / "masthead" / "base" / "languages" / "catalogs"
_PACKAGE = {"wheel": "masthead/base", "sdist": "src/masthead/base"}


def package_version() -> Any:
    """A `Version`. Without git, as in the builder of an image, commits are not counted."""
    known = _IN_SOURCE["running_version"]()
    if not known.version.startswith(NUMBER + "+"):
        return known
    try:
        count = _git("rev-list", "--count", "HEAD").decode().strip()
        changes = _git("diff", "--no-ext-diff", "HEAD")
    except (OSError, subprocess.CalledProcessError):
        return known
    local = f".d{hashlib.sha256(changes).hexdigest()[:8]}" if changes else ""
    return Version(f"{NUMBER.removesuffix('0')}{count}+g{known.commit}{local}", known.commit)


def _git(*words: str) -> bytes:
    # The repository may belong to another user than the one who installs; its code runs anyway.
    command = ["git", "-c", "safe.directory=*", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout


def _compile(source: Path, compiled: Path) -> None:
    # Imported here: whoever only asks for the version needs no Babel.
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    with source.open("rb") as file:
        catalog = read_po(file)
    with compiled.open("wb") as file:
        write_mo(file, catalog)


class BuiltFiles(BuildHookInterface[Any]):
    """Puts the version and the compiled catalogs into the package. An editable installation reads
    the version of the repository, and gets its catalogs compiled next to their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            for source in sorted(_CATALOGS.glob("*/*.po")):
                _compile(source, source.with_suffix(".mo"))
            return
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        stored = folder / STORED
        stored.write_text(f"{self.metadata.version}\n{package_version().commit}\n")
        build_data["force_include"][str(stored)] = f"{_PACKAGE[self.target_name]}/{STORED}"
        if self.target_name == "wheel":
            for source in sorted(_CATALOGS.glob("*/*.po")):
                compiled = folder / f"{source.parent.name}-{source.stem}.mo"
                _compile(source, compiled)
                there = source.with_suffix(".mo").relative_to(ROOT / "src")
                build_data["force_include"][str(compiled)] = there.as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()
