"""`python -m tests.planted`: plants faults in a copy of the tree and runs the tests of their rooms.

A suite is worth what it finds, and `make test` alone must find each. Exits with 1 if a fault is not
found, or if the same tests fail without it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.planted.faults import FAULTS, MISSPELT, ROOT, Fault

PASSED, FAILED = 0, 1
"""Exit codes of pytest. Any other says that the tests did not run."""
_FAILURE = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


def main() -> int:
    options = _options()
    faults = [each for each in FAULTS if options.only in each.what or options.only in each.file]
    with tempfile.TemporaryDirectory(prefix="planted-") as name:
        tree = Path(name)
        copy_tree(tree)
        for fault in faults:
            fault.planted_in((tree / fault.path).read_text())
        if not options.faults_only and not _passes(tree, faults):
            return 1
        found = sum(_is_found(tree, fault) for fault in faults)
        names = [] if options.only else [each.fault for each in MISSPELT]
        found += len(misspelt_found(tree, names))
    planted = len(faults) + len(names)
    _say(f"{found} of {planted} found")
    return 0 if planted and found == planted else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.planted", description=__doc__)
    parser.add_argument("--only", default="", help="faults with this in their name or file")
    parser.add_argument(
        "--faults-only", action="store_true", help="don't run the tests without a fault first"
    )
    return parser.parse_args()


def copy_tree(tree: Path) -> None:
    """Copies what belongs to the project, as it is here."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def _passes(tree: Path, faults: Sequence[Fault]) -> bool:
    # A fault proves nothing where the tests fail without it.
    selection = dict.fromkeys(each for fault in faults for each in fault.selection)
    began = time.monotonic()
    done = _run(tree, [*selection, "-n", "auto", "--dist", "loadgroup"])
    if done.returncode == PASSED:
        _say(f"without a fault: passed ({time.monotonic() - began:.0f} s)")
        return True
    _say(done.stdout)
    _say(f"The tests fail without a fault: pytest has ended with {done.returncode}.")
    return False


def _is_found(tree: Path, fault: Fault) -> bool:
    file = tree / fault.path
    sound = file.read_text()
    began = time.monotonic()
    file.write_text(fault.planted_in(sound))
    try:
        done = _run(tree, fault.selection)
    finally:
        file.write_text(sound)
    is_found = done.returncode == FAILED
    if is_found:
        by = _FAILURE.search(done.stdout)
        said = f"found by {by[1]}" if by else "found"
    else:
        said = f"NOT FOUND, pytest has ended with {done.returncode}"
        if done.returncode != PASSED:
            _say(done.stdout)
    _say(f"{fault.file}, {fault.what}: {said} ({time.monotonic() - began:.0f} s)")
    return is_found


def misspelt_found(tree: Path, faults: Sequence[Fault]) -> list[Fault]:
    """Those that the type checker names, of all that are planted at once."""
    if not faults:
        return []
    lines = {}
    for fault in faults:
        file = tree / fault.path
        sound = file.read_text()
        file.write_text(fault.planted_in(sound))
        lines[fault] = sound[: sound.index(fault.old)].count("\n") + 1
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary"],
        cwd=tree,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    found = [each for each in faults if names_misspelt(done.stdout, each.path, lines[each])]
    for each in faults:
        said = "found by mypy" if each in found else "NOT FOUND"
        _say(f"{each.file}, {each.what}: {said}")
    return found


def names_misspelt(output: str, path: object, line: int) -> bool:
    """Whether mypy says that the name in this line is none of the view's fields. Any other error
    of the file does not count."""
    wrong_name = r'No overload variant of "__getitem__" of "\w+Record" matches'
    found = rf"^{re.escape(str(path))}:{line}: error: {wrong_name}.*\[call-overload\]$"
    return re.search(found, output, re.MULTILINE) is not None


def _run(tree: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "--tier", "test"),
            *arguments,
        ],
        cwd=tree,
        # Before the installed package, which is that of the sound tree.
        env={**os.environ, "PYTHONPATH": str(tree / "src")},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
