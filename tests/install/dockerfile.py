"""Reads a Dockerfile, and runs its steps in a folder instead of an image, without a daemon."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Step:
    name: str
    flags: dict[str, str]
    value: str

    @property
    def words(self) -> list[str]:
        """The words in brackets, or as a shell splits them."""
        if self.value.startswith("["):
            found: list[str] = json.loads(self.value)
            return found
        return shlex.split(self.value)


@dataclass(frozen=True)
class Stage:
    image: str
    name: str
    steps: list[Step]

    def last(self, name: str) -> Step:
        return [each for each in self.steps if each.name == name][-1]


def read_dockerfile(path: Path) -> list[Stage]:
    text = re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE)
    stages: list[Stage] = []
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if not line.strip():
            continue
        name, _, rest = line.partition(" ")
        flags = {}
        while found := re.match(r"--([a-z-]+)=(\S+)\s+", rest):
            flags[found[1]] = found[2]
            rest = rest[found.end() :]
        if name == "FROM":
            image, _, stage_name = rest.partition(" AS ")
            stages.append(Stage(image, stage_name, []))
        else:
            stages[-1].steps.append(Step(name, flags, rest.strip()))
    return stages


@dataclass
class Built:
    """A stage as a folder."""

    root: Path
    mounts: dict[str, Path]
    """Folders of this machine that its steps may read."""
    environ: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = "0:0"

    def command(
        self, words: Sequence[str], *, writable: dict[str, Path] | None = None
    ) -> list[str]:
        """Runs the words in the folder as its user; with `writable`, nothing else can be written.
        The mounts end with the process."""
        root = shlex.quote(str(self.root))
        lines = ["set -e", f"mount --bind {root} {root}"]
        for inside, folder in {**self.mounts, **(writable or {})}.items():
            lines.append(f"mkdir -p {root}{inside}")
            lines.append(f"mount --bind {shlex.quote(str(folder))} {root}{inside}")
        lines += [f"mount -t proc proc {root}/proc", f"mount --rbind /dev {root}/dev"]
        if writable is not None:
            lines += [f"mount -t tmpfs tmpfs {root}/tmp", f"mount -o remount,bind,ro {root}"]
        environ = [f"{name}={value}" for name, value in self.environ.items()]
        inner = ["env", "-i", *environ, "sh", "-c", f'cd {self.workdir}; exec "$@"', "sh", *words]
        lines.append(f"exec chroot --userspec={self.user} {root} {shlex.join(inner)}")
        return ["unshare", "--mount", "sh", "-c", "\n".join(lines)]

    def run(self, words: Sequence[str]) -> None:
        done = subprocess.run(self.command(words), capture_output=True, text=True)
        assert done.returncode == 0, f"{words}:\n{done.stdout}{done.stderr}"


def build(
    stages: list[Stage], base: Path, context: Path, folder: Path, mounts: dict[str, Path]
) -> Built:
    """The last stage; each begins as a copy of `base`."""
    built: dict[str, Built] = {}
    for number, stage in enumerate(stages):
        made = Built(folder / f"stage{number}", mounts, {"PATH": _PATH})
        subprocess.run(["cp", "-a", "--reflink=auto", base, made.root], check=True)
        for step in stage.steps:
            _take(step, made, context, built)
        built[stage.name or str(number)] = made
    return made


def _take(step: Step, made: Built, context: Path, built: dict[str, Built]) -> None:
    if step.name == "RUN":
        made.run(["sh", "-c", step.value])
    elif step.name == "COPY":
        source = built[step.flags["from"]].root if "from" in step.flags else context
        _copy(step.words, source, made)
    elif step.name == "ENV":
        made.environ.update(word.split("=", 1) for word in step.words)
    elif step.name == "WORKDIR":
        made.workdir = step.value
        (made.root / step.value.lstrip("/")).mkdir(parents=True, exist_ok=True)
    elif step.name == "USER":
        made.user = step.value
    else:
        # Nothing that is done while it is built.
        assert step.name in ("VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"), step.name


def _copy(words: list[str], source: Path, made: Built) -> None:
    *names, last = words
    target = made.root / made.workdir.lstrip("/") / last if last[0] != "/" else made.root / last[1:]
    for name in names:
        path = source / name.lstrip("/")
        if path.is_dir():
            shutil.copytree(path, target, symlinks=True, dirs_exist_ok=True)
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)


def copy_context(root: Path, folder: Path) -> None:
    """Copies what Docker would be sent: .dockerignore leaves out everything but a few names."""
    text = re.sub(r"^#.*\n", "", (root / ".dockerignore").read_text(), flags=re.MULTILINE)
    first, *lines = text.split()
    assert first == "*"
    left_out = [line.removeprefix("**/") for line in lines if not line.startswith("!")]
    for name in (line[1:] for line in lines if line.startswith("!")):
        if (root / name).is_dir():
            shutil.copytree(
                root / name,
                folder / name,
                ignore=lambda at, names: _ignored(root, at, names, left_out),
            )
        elif (root / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)


def _ignored(root: Path, at: str, names: list[str], left_out: list[str]) -> set[str]:
    here = Path(at).relative_to(root)
    return {name for name in names if name in left_out or str(here / name) in left_out}
