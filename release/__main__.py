"""`python -m release FOLDER`: builds what a release consists of, as `make dist` does.

The wheel, the source archive, the pinned dependencies with their hashes, the list of what is in it
(SBOM), and the checksums of all of them.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from release.package_version import ROOT, package_version

TOOLS = ROOT / ".venv" / "release-tools" / "bin"
CONSTRAINTS, CHECKSUMS = "constraints.txt", "SHA256SUMS"
_HEADER = """\
# What Masthead {version} was tested with. In the folder of the release:
#   pip install --find-links . -r constraints.txt
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument("folder", type=Path, help="is emptied first")
    folder: Path = parser.parse_args().folder.absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    build_packages(folder)
    write_constraints(folder)
    _write_sbom(folder)
    _write_checksums(folder)
    sys.stdout.write("".join(f"{path}\n" for path in sorted(folder.iterdir())))


def build_packages(folder: Path) -> None:
    """Both from the checkout, in an environment that `make install` has pinned."""
    _run(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=ROOT)


def write_constraints(folder: Path) -> None:
    version = package_version().version
    own = [f"    --hash=sha256:{_sha256(path)}" for path in _packages(folder)]
    text = _HEADER.format(version=version) + (ROOT / "requirements.lock").read_text()
    text += " \\\n".join([f"masthead=={version}", *own]) + "\n"
    (folder / CONSTRAINTS).write_text(text)


def _write_sbom(folder: Path) -> None:
    """Describes an environment that has only the release: licences and dependencies are in the
    packages, not in the lock."""
    version = package_version().version
    target = folder / f"masthead-{version}.cdx.json"
    with tempfile.TemporaryDirectory() as temporary:
        project = Path(temporary) / "pyproject.toml"
        text = (ROOT / "pyproject.toml").read_text()
        project.write_text(text.replace('dynamic = ["version"]', f'version = "{version}"'))
        venv.create(temporary, with_pip=False)
        python = Path(temporary) / "bin" / "python"
        pip = (sys.executable, "-m", "pip", "-q", "--disable-pip-version-check")
        options = ("--no-deps", "--no-compile", "--find-links", folder, "-r", folder / CONSTRAINTS)
        _run(*pip, "--python", python, "install", *options)
        # Masthead is what the list is about, not a part of it.
        _run(*pip, "--python", python, "uninstall", "-y", "masthead")
        _run(
            TOOLS / "cyclonedx-py",
            *("environment", python, "--pyproject", project),
            *("--mc-type", "application", "--output-reproducible", "--no-validate"),
            *("--spec-version", "1.6", "--output-format", "JSON", "--output-file", target),
        )


def _write_checksums(folder: Path) -> None:
    lines = [f"{_sha256(path)}  {path.name}\n" for path in sorted(folder.iterdir())]
    (folder / CHECKSUMS).write_text("".join(lines))


def _packages(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _run(*command: object, cwd: Path | None = None) -> None:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(str(part) for part in command)}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
